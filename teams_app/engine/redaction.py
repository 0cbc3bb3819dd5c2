"""What is a secret, by the name of its field and by its look. Logs and traces ask here, so that neither tells what the other hides.

Agents and libraries put secrets where they do not belong, so no text is trusted to hold none.
"""

import re
from functools import lru_cache

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

# One look that tells whether the patterns need to look at all: most texts hold none of these. Looking for each in turn is thirty
# times as quick as one pattern of alternatives.
_SUSPECTS = (
    *(
        "wr_key_",
        "wr_link_",
        "eyj",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
        "glpat-",
        "xox",
        "sk-",
        "akia",
        "asia",
    ),
    *("private key", "bearer", "basic", "://", "passw", "secret", "apikey", "api_key", "token", "cookie", "sessionid"),
)
_VERSION = re.compile(r"\.\s*v[0-9]")
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    # An agent key keeps the eight characters by which people recognise it.
    (re.compile(r"(wr_key_[a-z2-7]{0,8})[a-z0-9]*", re.IGNORECASE), rf"\1{HIDDEN}"),
    (re.compile(r"(wr_link_)[a-z0-9]+", re.IGNORECASE), rf"\1{HIDDEN}"),
    # st.v1.…, ack.v1.…, chk.v1.… and their kin keep kind and version, also when a chat put spaces around the dots.
    (
        re.compile(
            r"\b([a-z]{2,12}\s*\.\s*v[0-9]{1,2}\s*\.)\s*[a-z0-9_~-]{4,}(?:\.[a-z0-9_~-]+)*",
            re.IGNORECASE,
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"\beyj[a-z0-9_-]{8,}(?:\.[a-z0-9_-]*)*", re.IGNORECASE), HIDDEN),
    (re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|akia|asia)[a-z0-9_-]{8,}", re.IGNORECASE), HIDDEN),
    (re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*", re.DOTALL), HIDDEN),
    (re.compile(r"\b(bearer|basic)\s+[a-z0-9._~+/=-]{6,}", re.IGNORECASE), rf"\1 {HIDDEN}"),
    (re.compile(r"(://[^\s/:@]{0,200}:)[^\s/@]+@"), rf"\1{HIDDEN}@"),
    # Header lines and Set-Cookie in a text: everything up to the end of the line.
    (re.compile(r"\b((?:set-)?cookie['\"]?\s*[:=]\s*)[^\r\n]+", re.IGNORECASE), rf"\1{HIDDEN}"),
    (
        re.compile(
            r"\b([a-z_.-]{0,40}(?:password|passwd|secret|secret_?key|api_?key|sessionid|token)['\"]?\s*[=:]\s*)"
            r"(?:\"[^\"]*\"?|'[^']*'?|[^\s,;&'\"}\])]+)",
            re.IGNORECASE,
        ),
        rf"\1{HIDDEN}",
    ),
)


def hide_secrets(text: str) -> str:
    """The text without what looks like a secret."""
    if _is_suspicious(text):
        for pattern, instead in _PATTERNS:
            text = pattern.sub(instead, text)
    return text


def _is_suspicious(text: str) -> bool:
    folded = text.casefold()
    return any(suspect in folded for suspect in _SUSPECTS) or _VERSION.search(folded) is not None


@lru_cache(maxsize=2048)
def is_secret_name(name: str) -> bool:
    """`Set-Cookie`, `stateToken`, `new_password` and the like."""
    bare = bare_name(name)
    return bare in _WHOLE_NAMES or bare.endswith(_ENDINGS)


def bare_name(name: str) -> str:
    """The name as all ways to write it have in common."""
    return _NOT_IN_NAMES.sub("", name.lower())
