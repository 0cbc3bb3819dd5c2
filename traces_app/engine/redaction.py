"""What of a call's arguments may be kept: no secret, no long text, and never more than a few kilobytes.

Secrets are known by the name of their field and by their look, because agents put them where they do not belong. Whatever
comes out is plain JSON that Postgres takes: no U+0000, no lone surrogate, no number that JSON lacks.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

HIDDEN = "[redacted]"
MAX_ARGUMENTS_BYTES = 4096
MAX_TEXT_CHARACTERS = 200
MAX_NOTES_CHARACTERS = 80
_MAX_NAME_CHARACTERS = 64
_LONGEST_NAME = 200
_MAX_FIELDS = 32
_MAX_ITEMS = 16
_MAX_LEVELS = 6
# What is kept is cut from so many times its length; a secret that this cuts in two is known by its beginning.
_LOOKED_AT_TIMES = 3
_LARGEST_WHOLE = 2**53

_BARE = re.compile(r"[^a-z0-9]")
_SECRET_NAMES = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "tokens",
    "apikey",
    "apikeys",
    "accesskey",
    "privatekey",
    "secretkey",
    "signingkey",
    "sshkey",
    "tokenkey",
    "authorization",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "sessionindex",
    "checkpointhandle",
)
_SECRET_WHOLE_NAMES = frozenset({"key", "keys", "pwd", "pin", "auth", "bearer", "jwt"})
_LONG_NAMES = frozenset({"notes", "notesmarkdown", "output", "prompt", "summary", "rationale", "content"})
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff]")
# One look that tells whether the patterns need to look at all: most texts hold none of these.
_SUSPICIOUS = re.compile(
    r"wr_key_|\.\s*v[0-9]|eyj|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|akia|asia|private key|bearer|basic|://"
    r"|passw|secret|api_?key|token",
    re.IGNORECASE,
)
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"wr_key_[a-z0-9]*", re.IGNORECASE), HIDDEN),
    # Tokens of ours, also when a chat put spaces around the dots.
    (re.compile(r"\b[a-z]{2,12}\s*\.\s*v[0-9]{1,2}\s*\.\s*[a-z0-9_~-]{4,}(?:\.[a-z0-9_~-]+)*", re.IGNORECASE), HIDDEN),
    (re.compile(r"\beyj[a-z0-9_-]{8,}(?:\.[a-z0-9_-]*)*", re.IGNORECASE), HIDDEN),
    (re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|akia|asia)[a-z0-9_-]{8,}", re.IGNORECASE), HIDDEN),
    (re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*", re.DOTALL), HIDDEN),
    (re.compile(r"\b(bearer|basic)\s+[a-z0-9._~+/=-]{6,}", re.IGNORECASE), rf"\1 {HIDDEN}"),
    (re.compile(r"(://[^\s/:@]{0,200}:)[^\s/@]+@"), rf"\1{HIDDEN}@"),
    (
        re.compile(
            r"\b([a-z_.-]{0,40}(?:password|passwd|secret|secret_?key|api_?key|token)['\"]?\s*[=:]\s*)"
            r"(?:\"[^\"]*\"?|'[^']*'?|[^\s,;&'\"}\])]+)",
            re.IGNORECASE,
        ),
        rf"\1{HIDDEN}",
    ),
)


def redact_arguments(*, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the trace keeps them. Never raises; what is too much even so is told by its names alone."""
    kept = _mapping(arguments, 0)
    if len(orjson.dumps(kept)) <= MAX_ARGUMENTS_BYTES:
        return kept
    return {name: _kind(value) for name, value in kept.items()}


def redact_text(*, text: str, max_characters: int) -> str:
    """One text without what looks like a secret, cut with a word on how long it was."""
    looked_at = text[: _LOOKED_AT_TIMES * max_characters]
    if not looked_at.isascii() or "\x00" in looked_at:
        looked_at = _INVISIBLE.sub("", _UNSTORABLE.sub("\ufffd", looked_at))
    if _SUSPICIOUS.search(looked_at):
        for pattern, instead in _PATTERNS:
            looked_at = pattern.sub(instead, looked_at)
    if len(looked_at) <= max_characters and len(text) <= _LOOKED_AT_TIMES * max_characters:
        return looked_at
    return f"{looked_at[:max_characters]}… ({len(text)} characters)"


def _mapping(value: Mapping[str, Any], level: int) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, inner in list(value.items())[:_MAX_FIELDS]:
        name = _name(str(key)[:_LONGEST_NAME])
        kept[name.kept] = _field(name, inner, level)
    if len(value) > _MAX_FIELDS:
        kept["…"] = f"{len(value) - _MAX_FIELDS} more"
    return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class _Name:
    kept: str
    is_secret: bool
    is_long: bool


@lru_cache(maxsize=1024)
def _name(name: str) -> _Name:
    """The same few names come with every call."""
    bare = _BARE.sub("", name.lower())
    return _Name(
        kept=redact_text(text=name, max_characters=_MAX_NAME_CHARACTERS),
        is_secret=bare in _SECRET_WHOLE_NAMES or bare.endswith(_SECRET_NAMES),
        is_long=bare in _LONG_NAMES,
    )


def _field(name: _Name, value: Any, level: int) -> Any:
    if name.is_secret and value is not None and not isinstance(value, bool):
        return [HIDDEN] * min(len(value), _MAX_ITEMS) if isinstance(value, list) else HIDDEN
    return _value(value, level, MAX_NOTES_CHARACTERS if name.is_long else MAX_TEXT_CHARACTERS)


def _value(value: Any, level: int, max_characters: int) -> Any:
    match value:
        case None | bool():
            return value
        case str():
            return redact_text(text=value, max_characters=max_characters)
        case int() | float():
            return _number(value)
        case Mapping() if level < _MAX_LEVELS:
            return _mapping(value, level + 1)
        case list() | tuple() if level < _MAX_LEVELS:
            items = [_value(item, level + 1, max_characters) for item in value[:_MAX_ITEMS]]
            return [*items, f"… {len(value) - _MAX_ITEMS} more"] if len(value) > _MAX_ITEMS else items
        case _:
            return f"[{type(value).__name__}]"


def _number(value: float) -> float | str:
    """Beyond 2^53 as text; an infinity and what is no number at all as their names."""
    if -_LARGEST_WHOLE <= value <= _LARGEST_WHOLE:
        return value
    return "[number]" if isinstance(value, int) and value.bit_length() > 256 else str(value)


def _kind(value: Any) -> Any:
    match value:
        case str() if len(value) > MAX_NOTES_CHARACTERS:
            return f"[text of {len(value)} characters]"
        case Mapping():
            return f"[object of {len(value)} fields]"
        case list():
            return f"[list of {len(value)}]"
        case _:
            return value
