"""Canonical JSON (RFC 8785), its digest, and the strict reader that everything authored or sent passes through.

orjson with sorted keys writes the same bytes as RFC 8785 except for floats, integers beyond 2**53, and keys outside the
basic plane. `canonical_bytes` takes the fast road where none of these occurs and the reference library elsewhere.
"""

import hashlib
import json
from functools import partial
from typing import Any, NoReturn

import orjson
import rfc8785

MAX_SAFE_INTEGER = 2**53 - 1
# Of the numbers that a double has.
_LARGEST = 1.7976931348623157e308
DEFAULT_MAX_DEPTH = 64
# What one request may hold. A mebibyte has room for half a million zeros, each of which is looked at several times.
MAX_VALUES = 100_000
_SORTED = orjson.OPT_SORT_KEYS
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_ONE_KIND = bytes.maketrans(b"{}", b"[]")


class UnreadableJsonError(ValueError):
    """The bytes are not JSON that may be stored. `reason` is a short machine word, `offset` a byte when known."""

    def __init__(self, reason: str, message: str, *, offset: int | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.offset = offset


class NotCanonicalError(ValueError):
    """The value has no canonical form: NaN, an infinity, a lone surrogate, a key that is not text, or no JSON type."""


def canonical_bytes(value: Any) -> bytes:
    """The bytes of RFC 8785. Integers beyond 2**53 are written as the double that every JSON reader would see."""
    try:
        if _is_plain(value):
            return orjson.dumps(value, option=_SORTED)
        return rfc8785.dumps(_with_doubles(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise NotCanonicalError(str(error)) from error


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def canonical_digest(value: Any) -> str:
    return digest(canonical_bytes(value))


def loads_strict(
    data: bytes | str,
    *,
    max_bytes: int,
    max_depth: int = DEFAULT_MAX_DEPTH,
    max_values: int | None = None,
    doubled: list[str] | None = None,
) -> Any:
    """Read JSON that may be stored: UTF-8, no duplicate key, no NaN, no lone surrogate, no NUL, bounded.

    Where a list for `doubled` keys is given, they are told there, and the last of each counts.
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
    if len(raw) > max_bytes:
        raise UnreadableJsonError("too_large", f"The document has {len(raw)} bytes; at most {max_bytes} are read.")
    _refuse_deep(raw, max_depth)
    if max_values is not None and has_more_values(raw, max_values):
        raise too_many_values(max_values)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableJsonError("not_utf8", "The document is not UTF-8.", offset=error.start) from error
    try:
        value = json.loads(text, object_pairs_hook=partial(object_of, doubled=doubled), parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        message = f"Not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        raise UnreadableJsonError("not_json", message, offset=error.pos) from error
    except UnreadableJsonError:
        raise
    except ValueError as error:
        raise number_too_large() from error
    except RecursionError as error:
        raise UnreadableJsonError("not_json", f"Not JSON: {error}.") from error
    check_storable(value, max_depth=max_depth, max_values=max_values)
    return value


def check_storable(value: Any, *, max_depth: int = DEFAULT_MAX_DEPTH, max_values: int | None = None) -> int:
    """How many values there are. Refuses what Postgres or the canonical form cannot hold (NUL, lone surrogates, NaN, depth),
    or what is too much.
    """
    stack: list[tuple[Any, int]] = [(value, 0)]
    seen = 0
    while stack:
        item, depth = stack.pop()
        seen += 1
        if max_values is not None and seen > max_values:
            raise too_many_values(max_values)
        if isinstance(item, str):
            _check_text(item)
        elif isinstance(item, int | float):
            _check_number(item)
        elif isinstance(item, dict | list | tuple):
            if depth >= max_depth:
                raise UnreadableJsonError("too_deep", f"The document nests deeper than {max_depth} levels.")
            if isinstance(item, dict):
                for key in item:
                    _check_text(key)
                stack.extend((child, depth + 1) for child in item.values())
            else:
                stack.extend((child, depth + 1) for child in item)
    return seen


def _is_plain(value: Any) -> bool:
    """True when orjson's sorted output is RFC 8785: no float, no big integer, keys within the basic plane."""
    stack = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is str or item is None or kind is bool:
            continue
        if kind is int:
            if not -MAX_SAFE_INTEGER <= item <= MAX_SAFE_INTEGER:
                return False
        elif kind is dict:
            for key in item:
                if type(key) is not str or (not key.isascii() and max(key) > "\uffff"):
                    return False
            stack.extend(item.values())
        elif kind is list or kind is tuple:
            stack.extend(item)
        else:
            return False
    return True


def _with_doubles(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
        try:
            return float(value)
        except OverflowError as error:
            raise ValueError("An integer is beyond every double.") from error
    if isinstance(value, dict):
        return {key: _with_doubles(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_with_doubles(child) for child in value]
    return value


def object_of(pairs: list[tuple[str, Any]], *, doubled: list[str] | None = None) -> dict[str, Any]:
    """For readers of JSON that ask how its objects are made. Raises UnreadableJsonError for a key that stands twice."""
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]  # add returns None
        if doubled is None:
            raise UnreadableJsonError("duplicate_key", f"The key {twice!r} stands twice in one object.")
        doubled.append(twice)
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise UnreadableJsonError("not_a_number", f"{name} is not JSON.")


def _check_number(number: float) -> None:
    if number != number:  # noqa: PLR0124  NaN differs from itself
        _refuse_constant("NaN")
    if not -_LARGEST <= number <= _LARGEST:
        raise number_too_large()


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise UnreadableJsonError("nul_character", "The character U+0000 cannot be stored.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UnreadableJsonError("lone_surrogate", "A lone surrogate is not a character.") from None


def without_strings(raw: bytes, instead: bytes = b"") -> bytes:
    """JSON with something else for each of its strings. What is no JSON is read like it up to where it is none."""
    if b"\\" in raw:
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    return instead.join(raw.split(b'"')[::2])


def _refuse_deep(raw: bytes, max_depth: int) -> None:
    """Count brackets before the recursive parser sees them; brackets inside strings do not count."""
    if raw.count(b"[") + raw.count(b"{") <= max_depth:
        return
    # Each time the innermost go, so that there are as many times as the document is deep. What has no other half stays.
    brackets, depth = without_strings(raw).translate(_ONE_KIND, _NO_BRACKETS), 0
    while (without := brackets.replace(b"[]", b"")) != brackets:
        brackets, depth = without, depth + 1
        if depth > max_depth:
            break
    if depth + brackets.count(b"[") > max_depth:
        raise UnreadableJsonError("too_deep", f"The document nests deeper than {max_depth} levels.")


def has_more_values(raw: bytes, most: int) -> bool:
    """Told without making them: there are as many as there are commas, and one more for each object and list that has any."""
    if raw.count(b",") + raw.count(b"[") + raw.count(b"{") < most:
        return False
    bare = without_strings(raw, b"0").translate(None, b" \t\r\n")
    some = bare.count(b"[") + bare.count(b"{") - bare.count(b"[]") - bare.count(b"{}")
    return 1 + bare.count(b",") + some > most


def number_too_large() -> UnreadableJsonError:
    return UnreadableJsonError("not_a_number", "A number is beyond 1.7e308, the largest that is kept. Send it as text.")


def too_many_values(max_values: int) -> UnreadableJsonError:
    return UnreadableJsonError("too_many_values", f"The document has more than {max_values:,} values.")
