"""How secrets look: ours, those of other issuers, and what a word before one gives away. `redaction` looks for them."""

import re
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from teams_app.engine.own_keys import FEWEST_LETTERS, HIDDEN, OWN_MARKS


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """`begins` are the texts, in small letters, without one of which the pattern cannot match: looking for each in turn is
    thirty times as quick as one pattern of alternatives, and most texts hold none. Of a key whose beginning stands in many
    words `first` is more of it, a pattern without a look around itself. `is_begun`: what it finds begins with one of them.
    `instead` is put for what is found: texts, and groups that stay.
    """

    begins: tuple[str, ...] = ()
    first: str = ""
    pattern: re.Pattern[str]
    instead: tuple[str | int, ...] = (HIDDEN,)
    is_begun: bool = False

    def put_for(self, found: re.Match[str]) -> str:
        return "".join(part if isinstance(part, str) else found[part] or "" for part in self.instead)


# What may stand before a key that no word ends: a name, and what a text becomes inside of another, as `\\n` and `%3D`.
_BEFORE = r"(?:\b|(?<=_)|(?<=\\[bfnrt])|(?<=%[0-9a-f][0-9a-f]))"
# Of a key without a beginning of its own no word's end stands for one.
_BEFORE_THE_WHOLE = r"(?:(?<![0-9a-z])|(?<=\\[bfnrt])|(?<=%[0-9a-f][0-9a-f]))"
_AFTER = r"(?![0-9a-z])"
# Much of a made key is digits, and a word has none.
_MADE = r"(?=[a-z_-]{0,60}[0-9])"
# Words with joints between them, as names of branches are, have a digit as well: of what was made much stands in one.
_MADE_IN_PART = r"(?=(?:[a-z0-9]{0,60}[_.=-]){0,8}(?=[a-z]{0,60}[0-9])[a-z0-9]{10,})"
# No joint either: what begins as names in code may.
_IN_ONE = r"(?=[a-z]{0,60}[0-9])[a-z0-9]{20,}"
# Letters of both kinds and no digit, as Hugging Face makes all of its keys and chance a few of others': as many as a key has.
_LETTERS = r"(?-i:(?=[a-z]{0,60}[A-Z])(?=[A-Z]{0,60}[a-z])[A-Za-z]{%d}(?![A-Za-z0-9_]))"
_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
# Letters of both kinds and digits.
_MIXED = r"(?=[a-z+/_-]{0,60}[0-9])(?-i:(?=[a-z0-9+/_-]{0,60}[A-Z])(?=[A-Z0-9+/_-]{0,60}[a-z]))"
_VALUE = rf"(?:{_UUID}|{_MIXED}[a-z0-9+/_-]{{20,}}={{0,2}}|[0-9a-f]{{32,}})"
# A value that a machine made: mixed, or a long number in hex, or a UUID.
MADE_VALUE = re.compile(_VALUE, re.IGNORECASE)


def _key(*words: str, rest: str = r"[a-z0-9_-]{8,}") -> Look:
    """A key that its issuer made to be recognised by how it begins, in one of the words."""
    begins = tuple(" ".join(words).split())
    alternatives = "|".join(re.escape(each) for each in begins)
    pattern = re.compile(rf"{_BEFORE}(?:{alternatives}){rest}", re.IGNORECASE)
    return Look(begins=begins, pattern=pattern, is_begun=True)


def _one(pattern: str) -> Look:
    """A key that is known by the whole of it alone."""
    return Look(first=pattern, pattern=re.compile(rf"{_BEFORE_THE_WHOLE}{pattern}{_AFTER}", re.IGNORECASE))


def _after(*begins: str, pattern: str, first: str = "", instead: tuple[str | int, ...] = (1, HIDDEN)) -> Look:
    """What stands after a text that stays."""
    return Look(begins=begins, first=first, pattern=re.compile(pattern, re.IGNORECASE), instead=instead)


# Where what is encoded goes on in another line, also in a text that quotes it; in hex bytes stand apart besides.
_BREAK = r"(?:(?:\\+[rn]|[\r\n])(?:\\+[rnt]|[\s>|])*)?"
_GAP = r"(?:[\s:,>|-]|\\+[rnt]|0x|00)*"
_NUL = r"(?:\x00|\\+u0000)"
_KEY_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyz234567")
_NOTHING = frozenset({0})
_BASE64 = string.ascii_letters.swapcase() + string.digits + "+/"


def _in_base64(octets: Sequence[frozenset[int]]) -> str:
    """A pattern of such bytes in base64, wherever in what is encoded they stand: three ways, for the three bytes of a group."""
    ways = []
    for before in range(3):
        known = [_NOTHING] * before + [*octets, _NOTHING]
        # The first letter holds bits of what stands before, the last of what comes after.
        places = (divmod(bit, 8) for bit in range((8 * before + 5) // 6 * 6, 8 * (before + len(octets)) - 5, 6))
        found = [
            {_BASE64[(high << 8 | low) >> (10 - past) & 63] for high in known[place] for low in known[place + 1]}
            for place, past in places
        ]
        ways.append(_BREAK.join(map(_any_of, found)))
    return "|".join(ways)


def _in_hex(octets: Sequence[frozenset[int]]) -> str:
    return _GAP.join(f"(?:{'|'.join(f'{octet:02x}' for octet in sorted(each))})" for each in octets)


def _any_of(letters: Iterable[str]) -> str:
    return f"[{re.escape(''.join(sorted(letters)))}]"


def _octets_of(*texts: str) -> list[frozenset[int]]:
    """Of texts that go on in letters of a key."""
    columns = zip_longest(*(text.encode() for text in texts), fillvalue=-1)
    return [frozenset(column) - {-1} | (_KEY_LETTERS if -1 in column else frozenset()) for column in columns]


def _in_utf16(octets: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """Whichever of two bytes comes first."""
    return [each for octet in octets for each in (octet, _NOTHING)][:-1]


# Of the shortest mark one letter more stands there.
_OWN_OCTETS = [*_octets_of(*OWN_MARKS), *[_KEY_LETTERS] * (FEWEST_LETTERS - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Encoded:
    """Patterns of the same bytes."""

    base64: str
    hex: str
    utf16: str

    def __str__(self) -> str:
        return f"{self.base64}|{self.hex}|{self.utf16}"


def _encoded(octets: Sequence[frozenset[int]]) -> _Encoded:
    # In hex without the first, which reads as a letter where the whole stands behind `\x`.
    return _Encoded(
        base64=rf"(?-i:{_in_base64(octets)}|{_in_base64(_in_utf16(octets))})",
        hex=_in_hex(octets[1:]),
        utf16=_NUL.join(_any_of({chr(octet) for octet in each}) for each in octets),
    )


_OWN_ENCODED = _encoded(_OWN_OCTETS)
# A key of this product as a part of what is encoded; as it is, `own_keys` finds it.
OWN_ENCODED = str(_OWN_ENCODED)

OWN = (
    Look(
        # Much is nearly so, and what is looked for at once has to be short.
        first=str(_encoded(_OWN_OCTETS[:6])),
        pattern=re.compile(
            rf"{_OWN_ENCODED.base64}(?:{_BREAK}[a-z0-9+/_-]){{0,100}}[a-z0-9+/_-]*={{0,2}}"
            rf"|{_OWN_ENCODED.hex}(?:{_GAP}{_in_hex([_KEY_LETTERS])})*|{_OWN_ENCODED.utf16}(?:{_NUL}[a-z2-7])*",
            re.IGNORECASE,
        ),
    ),
)
_BY_BEGINNING = (
    _key(
        *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        rest=rf"(?:{_MADE_IN_PART}[a-z0-9_-]{{8,}}|{_LETTERS % 36})",
    ),
    _key(
        "glpat- gldt- glrt- glrtr- glptt- glcbt- glimt- glsoat- glagent- glft- glffct- gloas- gr1348941",
        rest=r"[a-z0-9_-]{8,}(?:\.[a-z0-9]{2}\.[a-z0-9]{7,})?",
    ),
    _key("xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxp-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-", "xwfp-"),
    # OpenAI, Anthropic, Stripe and who writes their keys alike
    _key("sk-", rest=rf"{_MADE_IN_PART}[a-z0-9_-]{{12,}}"),
    _key(
        "sk_live_", "sk_test_", "sk_org_", "rk_live_", "rk_test_", "whsec_", rest=rf"{_MADE_IN_PART}[a-z0-9_-]{{12,}}"
    ),
    # Aida and Asia are names of people, and what is typed as a login name is in small letters.
    Look(
        begins=("akia", "asia", "abia", "acca", "aroa", "aida"),
        pattern=re.compile(
            rf"{_BEFORE}(?:(?-i:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)(?-i:[A-Z0-9]{{12,}})"
            r"|(?:akia|asia|abia|acca|aroa|aida)(?=[a-z]{0,60}[0-9]{1,60}[a-z])[a-z0-9]{16,})",
            re.IGNORECASE,
        ),
        is_begun=True,
    ),
    # Google, npm, PyPI, Hugging Face, SendGrid, DigitalOcean, Databricks, Bedrock
    _key("aiza", rest=rf"{_MADE_IN_PART}[a-z0-9_-]{{30,}}"),
    _key("aq.ab8", "bedrock-api-key-", rest=r"[a-z0-9_-]{30,}"),
    _key("ya29.", "gocspx-", "1//0", rest=r"[a-z0-9_-]{16,}"),
    _key("pypi-age", rest=rf"{_MADE_IN_PART}[a-z0-9_-]{{16,}}"),
    _key(*("npm_", "hf_", "api_org_"), rest=rf"(?:(?=[a-z]*[0-9])[a-z0-9]{{20,}}|{_LETTERS % 34}|{_LETTERS % 36})"),
    _key("sg.", rest=rf"{_MADE_IN_PART}[a-z0-9_-]{{16,}}\.[a-z0-9_-]{{16,}}"),
    _key("dop_v1_", "dapi", "dose", rest=r"[a-f0-9]{24,}(?:-[0-9])?"),
    _key("absk", rest=r"[a-z0-9+/]{80,}={0,2}"),
    # Shopify, Atlassian, Vault, Docker, Grafana, Linear, Notion, Groq, xAI, Replicate, Perplexity, Supabase, PlanetScale,
    # RubyGems, Figma, New Relic, Postman, Sentry, Doppler, Pulumi, Fly, NVIDIA, Tavily, LangSmith, Pinecone, E2B, Cerebras,
    # Together, Weights & Biases, PostHog, Neon, Vercel, Netlify, Cloudflare, DigitalOcean, Heroku, Tailscale, Buildkite,
    # CircleCI, Snyk, Bitbucket, Square, Contentful, Dynatrace, JFrog, ReadMe, Prefect, Typeform, HubSpot, Brevo, Frame.io,
    # Apify, Elastic, Confluent, Clojars, Cursor, MongoDB Atlas, HeyGen, Meta, Sourcegraph
    _key(
        "shpat_ shpss_ shpca_ shppa_ atatt3x atctt3x atstt3x hvs. hvb. hvr. dckr_pat_ dckr_oat_ glsa_",
        "lin_api_ lin_oauth_ ntn_ vercel_blob_rw_ fo1_ pscale_oauth_ xkeysib- sess- gsk_ xai- r8_ pplx-",
        "sbp_ pscale_tkn_ pscale_pw_ rubygems_ figd_ nrak- pmak- sntrys_ sntryu_ dp.pt. dp.st. dp.ct.",
        "dp.sa. dp.scim. dp.audit. pul- fm2_ nvapi- tvly- lsv2_ ls__ pcsk_ xsmtpsib- fio-u- apify_api_",
        "essu_ cflt nrii- tgp_v1_ wandb_v1_ sb_secret_ dor_v1_ doo_v1_ hrku- tskey- ccipat_ snyk_uat.",
        "snyk_sat. atbb sq0atp- sq0csp- cfpat- dt0c01. dt0s16. dt0s01. cmvmdgtu rdme_ clojars_ crsr_",
        "mdb_sa_sk_ sk_v2_ eaacedeose0cba secret-live- secret-test- duffel_live_ duffel_test_",
        "shippo_live_ shippo_test_ flwseck_test- flwseck- sgp_",
        rest=rf"{_MADE_IN_PART}[a-z0-9_.=-]{{20,}}",
    ),
    _key("rzp_live_", "rzp_test_", "nrjs-", "wpl_ap1.", "sm_pat_", rest=rf"{_MADE}[a-z0-9.=]{{14,}}"),
    _key(
        "phx_ pnu_ tfp_ vcp_ nfp_ cfut_ napi_ csk- bkua_ bkct_ e2b_ jina_ rnd_ rpa_ fw_ esecret_ squ_",
        "sqp_ sqa_ hcaik_ hcbik_ jsr_ secret_ fk- akcp ezak eztk",
        rest=_IN_ONE,
    ),
    _key("pat-na1-", "pat-na2-", "pat-eu1-", "pat-ap1-", rest=rf"(?:{_UUID}|{_IN_ONE})"),
    _key("ctx7sk-", "sdk-", "sk-lf-", "amzn.mws.", rest=_UUID),
    _key("access-sandbox-", "access-development-", "access-production-", rest=_UUID),
    _key("access_token$", rest=r"(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    _key("sk_", rest=r"[a-f0-9]{40,}"),
    _key("_gitlab_session=", rest=r"[a-z0-9_-]{20,}"),
    _key("sha256~", rest=r"[a-z0-9_-]{43}"),
    _key("age-secret-key-1", rest=r"[a-z0-9]{20,}"),
    # JSON in base64, which no other letters begin.
    Look(
        begins=("eyj",),
        # What is typed as a login name is in small letters by the time that it is looked at.
        pattern=re.compile(
            rf"{_BEFORE}(?:(?-i:eyJ)[a-z0-9_-]{{8,}}|eyj[a-z0-9_-]{{8,200}}\.eyj[a-z0-9_-]{{8,}})(?:\.[a-z0-9_-]*)*",
            re.IGNORECASE,
        ),
        is_begun=True,
    ),
    # Addresses that let in whoever knows them
    _key("hooks.slack.com/", rest=r"(?:services|workflows|triggers)/[a-z0-9/]{8,}"),
    _key("discord.com/api/", "discordapp.com/api/", rest=r"(?:v[0-9]+/)?webhooks/[0-9]{15,}/[a-z0-9_-]{20,}"),
    _key("hooks.zapier.com/hooks/", "webhook.office.com/", rest=r"[a-z0-9@/-]{12,}"),
)
# By issuer as well: Resend, Voyage, Mailgun and Firecrawl, Cursor, Twilio, Airtable, ClickUp, Asana, Mailchimp, Infisical,
# Harness, Dropbox, Discord, Alibaba, Tencent, NuGet, Meta, Yandex.
_BY_THE_WHOLE = (
    _one(r"re_[a-z0-9]{8}_[a-z0-9]{24}"),
    _one(r"pa-(?-i:[A-Za-z0-9_-]{43})"),
    _one(r"(?:key|fc)-[0-9a-f]{32}"),
    _one(r"key_[0-9a-f]{64}"),
    _one(r"(?-i:(?:AC|SK)[0-9a-f]{32})"),
    _one(r"pat[a-z0-9]{14}\.[0-9a-f]{64}"),
    _one(r"pk_[0-9]{6,10}_[a-z0-9]{32}"),
    _one(r"[12]/[0-9]{13,20}(?:/[0-9]{13,20})?:[0-9a-f]{32}"),
    _one(r"[0-9a-f]{32}-us[0-9]{1,2}"),
    _one(r"st\.[0-9a-f-]{8,36}\.[0-9a-f]{32}"),
    _one(r"pat\.[a-z0-9_-]{20,24}\.[0-9a-f]{24}\.[a-z0-9]{20}"),
    _one(r"sl\.(?:u\.)?[a-z0-9_-]{100,}"),
    _one(r"(?-i:[MNO][A-Za-z0-9]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})"),
    _one(r"(?-i:LTAI[A-Za-z0-9]{16,26}|AKID[A-Za-z0-9]{32}|AQVN[A-Za-z0-9_-]{30,40})"),
    _one(r"(?-i:oy2[a-z0-9]{43}|EAA[A-Za-z0-9]{60,})"),
    # Telegram, Azure and Terraform, whose keys do not begin with what tells them
    Look(begins=(":aa",), pattern=re.compile(r"[0-9]{8,10}:aa[a-z0-9_-]{32,}", re.IGNORECASE)),
    Look(begins=("7q~", "8q~"), pattern=re.compile(r"[a-z0-9_.~-]{3}[78]q~[a-z0-9_.~-]{31,}", re.IGNORECASE)),
    Look(begins=(".atlasv1.",), pattern=re.compile(r"[a-z0-9]{14}\.atlasv1\.[a-z0-9_=-]{60,}", re.IGNORECASE)),
    Look(
        begins=("azfu", "azdo", "+ast", "acdb", "+acr", "acog", "accg", "azse", "azca", "apim", "aiot"),
        pattern=re.compile(
            r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{32,90}(?:AzFu|AZDO|\+ASt|ACDb|\+ACR|ACOG|ACCG|AzSe|AzCa|APIm|AIoT)"
            r"[A-Za-z0-9+/]{4,8}={0,2}(?![A-Za-z0-9+/=])"
        ),
    ),
)
_PRIVATE = (
    Look(
        begins=("private key",),
        pattern=re.compile(
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:.*?-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|.*)",
            re.DOTALL,
        ),
    ),
    Look(
        begins=("begin ssh2 encrypted private",),
        pattern=re.compile(
            r"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----(?:.*?---- END SSH2[A-Z ]{0,40}----|.*)", re.DOTALL
        ),
    ),
    _after(
        "private-lines:", pattern=r"(private-lines:[ \t]*[0-9]{1,3})(?:\s+[a-z0-9+/]{16,64}={0,2}(?![a-z0-9+/:-]))+"
    ),
    # The same in base64, as configurations of clusters hold them
    Look(
        first=rf"(?-i:LS0tLS1CRUdJTi[A-Za-z0-9+/]{{0,40}}(?:{_in_base64(_octets_of('PRIVATE KEY'))}))",
        pattern=re.compile(
            rf"LS0tLS1CRUdJTi[A-Za-z0-9+/]{{0,40}}(?:{_in_base64(_octets_of('PRIVATE KEY'))})[A-Za-z0-9+/]*={{0,2}}"
        ),
    ),
)
_IS = (
    r"(?:password|passwd|passphrase|secret|token|\bauth|_auth|(?:secret|api|access|account|shared|private|signing)[_-]?key)"
    r"(?:\\?['\"])?\s{0,9}(?:=>|[:=])\s{0,9}(?:\\?['\"])?"
)
_LETS_IN = r"\b(?:bearer|basic|authorization['\"]?\s{0,9}[:=]\s{0,9}['\"]?[a-z-]{1,20})\s+"
# What a word gives away whatever stands there is below; here what stands there was made by a machine.
_MADE_VALUES = (
    _after(first=rf"{_IS}[a-z0-9+/_-]{{20}}", pattern=rf"({_IS}){_VALUE}(?![a-z0-9.])"),
    _after(first=rf"{_LETS_IN}[a-z0-9+/_-]{{20}}", pattern=rf"({_LETS_IN}){_VALUE}(?![a-z0-9.])"),
    _after(
        first=r"://[^\s/:@]*:(?:[^\s/]{10,}|[a-z0-9+/_-]{20,}={0,2})@",
        pattern=rf"(://[^\s/:@]{{0,200}}:)(?:{_VALUE}|{_MADE}[^\s/]{{10,200}})(?=@)",
    ),
    _after(first=r"://[a-z0-9+/_-]{20,}(?::[a-z-]*)?@", pattern=rf"(://){_VALUE}(?=(?::[a-z-]{{0,40}})?@)"),
    _after(first=r"\blogin\s+[^\s]+\s+password\s+[^\s]", pattern=r"(\blogin\s+[^\s]{1,100}\s+password\s+)[^\s]+"),
    _after(
        *("sig=", "x-amz-signature=", "x-amz-security-token=", "x-goog-signature="),
        pattern=r"([?&;](?:sig|x-amz-signature|x-amz-security-token|x-goog-signature)=)[a-z0-9%+/_=-]{30,}",
    ),
    # By whomever it was issued: a name in small letters, a joint, and much that is mixed
    Look(
        first=r"[a-z0-9]_[a-z0-9]{32}",
        pattern=re.compile(
            r"(?<![A-Za-z0-9_.~-])[a-z][a-z0-9]{1,11}(?:_[a-z0-9]{1,8}){0,2}_"
            r"(?=(?:[A-Za-z]{0,20}[0-9]){3})(?=(?:[a-z0-9]{0,20}[A-Z]){3})(?=(?:[A-Z0-9]{0,20}[a-z]){3})[A-Za-z0-9]{32,}(?![A-Za-z0-9_])"
        ),
    ),
)
# What cannot be mistaken for anything else. Whatever text is kept loses these.
KEYS = (*OWN, *_BY_BEGINNING, *_BY_THE_WHOLE, *_PRIVATE, *_MADE_VALUES)
# What a word before it gives away. It may also be an example, so only what is kept for watching loses it.
WORDS = (
    # st.v1.…, ack.v1.…, chk.v1.… and their kin keep kind and version, also when a chat put spaces around the dots.
    _after(
        *(f"v{digit}" for digit in range(10)),
        pattern=r"\b([a-z]{2,12}\s*\.\s*v[0-9]{1,2}\s*\.)\s*[a-z0-9_~-]{4,}(?:\.[a-z0-9_~-]+)*",
    ),
    _after("bearer", "basic", pattern=r"\b(bearer|basic)\s+[a-z0-9._~+/=-]{6,}", instead=(1, f" {HIDDEN}")),
    _after("://", pattern=r"(://[^\s/:@]{0,200}:)[^\s/@]+(?:@[^\s/@]+)*@", instead=(1, f"{HIDDEN}@")),
    # Header lines and Set-Cookie in a text: everything up to the end of the line.
    _after("cookie", pattern=r"\b((?:set-)?cookie['\"]?\s*[:=]\s*)[^\r\n]+"),
    _after(
        *("passw", "secret", "key", "sessionid", "token", "passphrase"),
        # What stands before the word stays as it is, so it is not read.
        pattern=r"((?:password|passwd|passphrase|secret|(?:secret|api|access|account|shared)[_-]?key"
        r"|sessionid|token)['\"]?\s*[=:]\s*)"
        r"(?:\"[^\"]*\"?|'[^']*'?|[^\s,;&'\"}\])]+)",
    ),
)
