"""What is a secret, by the name of its field and by its look. Logs and traces ask here, so that neither tells what the other hides.

Agents and libraries put secrets where they do not belong, so no text is trusted to hold none.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
import re2

from teams_app.engine.errors import InvalidInputError

HIDDEN = "[redacted]"

_NOT_IN_NAMES = re.compile(r"[^a-z0-9]")
_ENDINGS = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "secretkey",
    "token",
    "tokens",
    "tokenkey",
    "apikey",
    "apikeys",
    "accesskey",
    "privatekey",
    "signingkey",
    "sshkey",
    "authorization",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "sessionindex",
    "checkpointhandle",
)
_WHOLE_NAMES = frozenset({"pwd", "pin", "auth", "bearer", "jwt"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """`begins` are the texts, in small letters, without one of which the pattern cannot match: looking for each in turn is
    thirty times as quick as one pattern of alternatives, and most texts hold none.
    """

    begins: tuple[str, ...]
    pattern: re.Pattern[str]
    instead: str = HIDDEN


# What may stand before a key that no word ends: a name, and what a text becomes inside of another, as `\\n` and `%3D`.
_BEFORE = r"(?:\b|(?<=_)|(?<=\\[bfnrt])|(?<=%[0-9a-f][0-9a-f]))"
# Much of a made key is digits, and a word has none.
_MADE = r"(?=[a-z_-]{0,60}[0-9])"


def _key(*begins: str, rest: str = r"[a-z0-9_-]{8,}") -> _Look:
    """A key that its issuer made to be recognised."""
    alternatives = "|".join(re.escape(each) for each in begins)
    return _Look(begins=begins, pattern=re.compile(rf"{_BEFORE}(?:{alternatives}){rest}", re.IGNORECASE))


# Ours, of which what names the kind is kept, and of what is listed with its beginning the eight characters by which people recognise it.
_OWN = (
    _Look(
        begins=("wr_",),
        pattern=re.compile(
            r"(wr_(?:key|pat)_[a-z2-7]{0,8})[a-z0-9]+|(wr_(?!key_|pat_)[a-z]{2,12}_)[a-z0-9]{8,}", re.IGNORECASE
        ),
        instead=rf"\1\2{HIDDEN}",
    ),
)
# What cannot be mistaken for anything else, by its issuer. Whatever text is kept loses these.
_KEYS = (
    *_OWN,
    _key("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    _key("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glimt-", "glsoat-", "glagent-", "glft-", "glffct-", "gloas-"),
    _key("xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxp-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-", "xwfp-"),
    _key("hooks.slack.com/", rest=r"(?:services|workflows|triggers)/[a-z0-9/]{8,}"),
    # OpenAI, Anthropic, Stripe
    _key("sk-", rest=rf"{_MADE}[a-z0-9_-]{{12,}}"),
    _key("sk_live_", "sk_test_", "sk_org_", "rk_live_", "rk_test_", "whsec_", rest=r"[a-z0-9_-]{12,}"),
    _key("akia", "asia", "abia", "acca", "aroa", "aida", rest=r"[a-z0-9]{12,}"),
    # Google, npm, PyPI, Hugging Face, SendGrid, DigitalOcean, Shopify, Databricks, age
    _key("aiza", rest=r"[a-z0-9_-]{30,}"),
    _key("ya29.", "gocspx-", "1//0", "pypi-age", rest=r"[a-z0-9_-]{16,}"),
    _key("npm_", "hf_", rest=r"(?=[a-z]*[0-9])[a-z0-9]{20,}"),
    _key("sg.", rest=r"[a-z0-9_-]{16,}\.[a-z0-9_-]{16,}"),
    _key("dop_v1_", "dapi", rest=r"[a-f0-9]{24,}"),
    # Shopify, Atlassian, Vault, Docker, Grafana, Linear, Notion, Groq, xAI, Replicate, Perplexity, Supabase, PlanetScale,
    # RubyGems, Figma, New Relic, Postman, Sentry, Doppler, Pulumi, Fly, NVIDIA, Tavily, LangSmith, Pinecone, E2B, Cerebras,
    # Together, Weights & Biases, PostHog, Neon, Vercel, Netlify, Cloudflare, DigitalOcean, Heroku, Tailscale, Buildkite,
    # CircleCI, Snyk, Bitbucket, Square, Contentful, Dynatrace, JFrog, ReadMe, Prefect, Typeform, HubSpot
    _key(
        *("shpat_", "shpss_", "shpca_", "shppa_", "atatt3x", "hvs.", "hvb.", "dckr_pat_", "glsa_", "lin_api_", "ntn_"),
        *("sess-", "gsk_", "xai-", "r8_", "pplx-", "sbp_", "pscale_tkn_", "pscale_pw_", "rubygems_", "figd_", "nrak-"),
        *("pmak-", "sntrys_", "sntryu_", "dp.pt.", "dp.st.", "pul-", "fm2_", "nvapi-", "tvly-", "lsv2_", "pcsk_"),
        *("tgp_v1_", "wandb_v1_", "sb_secret_", "dor_v1_", "doo_v1_", "hrku-", "tskey-", "ccipat_", "snyk_uat."),
        *("snyk_sat.", "atbb", "sq0atp-", "sq0csp-", "cfpat-", "dt0c01.", "cmvmdgtu", "rdme_", "pat-na1-", "pat-eu1-"),
        rest=rf"{_MADE}[a-z0-9_.=-]{{20,}}",
    ),
    # What begins as names in code may: no key of these has a joint.
    _key(
        *("phx_", "pnu_", "tfp_", "vcp_", "nfp_", "cfut_", "napi_", "csk-", "bkua_", "e2b_"),
        rest=r"(?=[a-z]{0,60}[0-9])[a-z0-9]{20,}",
    ),
    # ElevenLabs; Telegram, Azure and Terraform, whose keys do not begin with what tells them
    _key("sk_", rest=r"[a-f0-9]{40,}"),
    _Look(begins=(":aa",), pattern=re.compile(r"[0-9]{8,10}:aa[a-z0-9_-]{32,}", re.IGNORECASE)),
    _Look(begins=("7q~", "8q~"), pattern=re.compile(r"[a-z0-9_.~-]{3}[78]q~[a-z0-9_.~-]{31,}", re.IGNORECASE)),
    _Look(begins=(".atlasv1.",), pattern=re.compile(r"[a-z0-9]{14}\.atlasv1\.[a-z0-9_=-]{60,}", re.IGNORECASE)),
    _key("age-secret-key-1", rest=r"[a-z0-9]{20,}"),
    _key("eyj", rest=r"[a-z0-9_-]{8,}(?:\.[a-z0-9_-]*)*"),
    _Look(
        begins=("private key",),
        pattern=re.compile(
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:.*?-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|.*)",
            re.DOTALL,
        ),
    ),
)
# What a word before it gives away. It may also be an example, so only what is kept for watching loses it.
_WORDS = (
    # st.v1.…, ack.v1.…, chk.v1.… and their kin keep kind and version, also when a chat put spaces around the dots.
    _Look(
        begins=("v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9"),
        pattern=re.compile(
            r"\b([a-z]{2,12}\s*\.\s*v[0-9]{1,2}\s*\.)\s*[a-z0-9_~-]{4,}(?:\.[a-z0-9_~-]+)*",
            re.IGNORECASE,
        ),
        instead=rf"\1{HIDDEN}",
    ),
    _Look(
        begins=("bearer", "basic"),
        pattern=re.compile(r"\b(bearer|basic)\s+[a-z0-9._~+/=-]{6,}", re.IGNORECASE),
        instead=rf"\1 {HIDDEN}",
    ),
    _Look(begins=("://",), pattern=re.compile(r"(://[^\s/:@]{0,200}:)[^\s/@]+@"), instead=rf"\1{HIDDEN}@"),
    # Header lines and Set-Cookie in a text: everything up to the end of the line.
    _Look(
        begins=("cookie",),
        pattern=re.compile(r"\b((?:set-)?cookie['\"]?\s*[:=]\s*)[^\r\n]+", re.IGNORECASE),
        instead=rf"\1{HIDDEN}",
    ),
    _Look(
        begins=("passw", "secret", "key", "sessionid", "token", "passphrase"),
        pattern=re.compile(
            r"\b([a-z_.-]{0,40}(?:password|passwd|passphrase|secret|(?:secret|api|access|account|shared)[_-]?key"
            r"|sessionid|token)['\"]?\s*[=:]\s*)"
            r"(?:\"[^\"]*\"?|'[^']*'?|[^\s,;&'\"}\])]+)",
            re.IGNORECASE,
        ),
        instead=rf"\1{HIDDEN}",
    ),
)
_ALL = (*_KEYS, *_WORDS)
_OPTIONS = re2.Options()
_OPTIONS.case_sensitive = False
_OPTIONS.never_capture = True


def _any_of(looks: tuple[_Look, ...]) -> Any:
    """Finds in one pass, whatever the text holds, whether one of the patterns is worth trying."""
    begins = dict.fromkeys(begin for look in looks for begin in look.begins)
    return re2.compile("|".join(map(re2.escape, begins)), _OPTIONS)


_ANY_KEY, _ANY = _any_of(_KEYS), _any_of(_ALL)
_OWN_KEY = re.compile(r"wr_(?:key|pat|oat|ort|hook|link)_[a-z2-7]{16,}", re.IGNORECASE)


def hide_secrets(text: str) -> str:
    """The text without what looks like a secret."""
    return _hidden(text, _ALL, _ANY)


def hide_keys(text: str) -> str:
    """The text without what cannot be anything but a secret."""
    return _hidden(text, _KEYS, _ANY_KEY)


def may_hold_keys(text: str) -> bool:
    """Whether a closer look is worth it; of much text at once."""
    return _is_found(_ANY_KEY, text)


def holds_own_key(text: str) -> bool:
    """Whether a whole key of this product is in it; one that was hidden before is none."""
    return "wr_" in text.lower() and _OWN_KEY.search(text) is not None


def _is_found(pattern: Any, text: str) -> bool:
    """Half a character is none of a beginning, and no UTF-8, which the pattern reads."""
    try:
        return pattern.search(text) is not None
    except UnicodeEncodeError:
        return pattern.search(text.encode("utf-8", "replace").decode()) is not None


def _hidden(text: str, looks: tuple[_Look, ...], any_of: Any) -> str:
    if not _is_found(any_of, text):
        return text
    folded = text.casefold()
    for look in looks:
        for begin in look.begins:
            if begin in folded:
                text = look.pattern.sub(look.instead, text)
                break
    return text


@lru_cache(maxsize=2048)
def is_secret_name(name: str) -> bool:
    """`Set-Cookie`, `apiToken`, `new_password` and the like."""
    bare = bare_name(name)
    return bare in _WHOLE_NAMES or bare.endswith(_ENDINGS)


def bare_name(name: str) -> str:
    """The name as all ways to write it have in common."""
    return _NOT_IN_NAMES.sub("", name.lower())


_SHOWN_CHARACTERS = 100
_MOST_TOLD = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """`hidden` are the places where something was taken out."""

    value: Any
    hidden: tuple[str, ...] = ()


def read_kept(value: Any) -> Kept:
    """The value with keys of others hidden. Raises InvalidInputError for one of ours: it is to be revoked, not hidden;
    and for what nests deeper than it can be looked at.
    """
    if not _is_worth_a_look(value):
        return Kept(value=value)
    hidden: list[str] = []
    try:
        read = _read(value, "", hidden)
    except RecursionError:
        raise _too_deep() from None
    return Kept(value=read, hidden=tuple(dict.fromkeys(hidden))[:_MOST_TOLD])


def _is_worth_a_look(value: Any) -> bool:
    try:
        return may_hold_keys(orjson.dumps(value, default=str).decode())
    except TypeError:
        # A number beyond 64 bits, say: nothing may hide behind one.
        return True


def _read(value: Any, path: str, hidden: list[str]) -> Any:
    match value:
        case str():
            return _text(value, path, hidden)
        case Mapping():
            return {
                _text(str(key), path, hidden): _read(inner, f"{path}.{key}", hidden) for key, inner in value.items()
            }
        case list() | tuple():
            return [_read(inner, f"{path}[{place}]", hidden) for place, inner in enumerate(value)]
        case _:
            return value


def _text(text: str, path: str, hidden: list[str]) -> str:
    if holds_own_key(text):
        raise _own_key(hide_keys(path.removeprefix("."))[:_SHOWN_CHARACTERS])
    said = hide_keys(text)
    if said != text:
        hidden.append(hide_keys(path.removeprefix("."))[:_SHOWN_CHARACTERS])
    return said


def _too_deep() -> InvalidInputError:
    return InvalidInputError(
        "What was sent nests too deep to be read. Nothing was done.",
        suggestion="Send plain values with little nesting, and a file's path instead of its contents.",
        details={"reason": "too_deep"},
    )


def _own_key(path: str) -> InvalidInputError:
    return InvalidInputError(
        f"{path or 'The body'} holds a key of Workrail. Nothing was done.",
        suggestion="Leave the key out: it belongs in the Authorization header alone. An owner of the team should revoke it and "
        "issue another, because it has been written where it can be read.",
        details={"validationErrors": [{"path": path, "message": "It holds a key of Workrail."}]},
    )
