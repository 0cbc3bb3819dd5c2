"""A JSON value written as TOON that old and new readers read alike.

The notation grew: current encoders nest headers in headers, table the values of an object, and write an empty list as
`key: []`, which readers of the third edition take for something else. Here only what all editions share is written: plain
keys, lists of plain values in a line, tables of plain values, and lists of items with a plain value first. Texts are quoted
whenever any edition might ask for it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What begins as a number may be one, in some edition.
_PLAIN_TEXT = re.compile(r"[^\W\d](?:[^\x00-\x1f\x7f-\xa0\u2028\u2029,:\"\\\[\]{}|#]*[^\s\x00-\x20,:\"\\\[\]{}|#])?")
# The third edition takes `[1]` in a text for the length of a list when a colon follows, unless the key is quoted.
_LIKE_HEADER = re.compile(r"\[\s*\d")
_WORDS = frozenset({"true", "false", "null"})
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def toon_text(value: Mapping[str, Any]) -> str:
    """Without a line end at the end. Reading it gives the value; of an item of a list the keys may come in another order."""
    return "\n".join(_fields(value, ""))


def _fields(value: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, inner in value.items():
        yield from _field(key, inner, indent, indent)


def _field(key: str, value: Any, head: str, indent: str) -> Iterator[str]:
    """`head` stands before the key, and what belongs to it stands one level deeper than `indent`."""
    name = head + _key(key, misread=isinstance(value, str) and _LIKE_HEADER.search(value) is not None)
    match value:
        case Mapping():
            yield f"{name}:"
            yield from _fields(value, f"{indent}  ")
        case list() | tuple():
            yield from _list(name, value, indent)
        case _:
            yield f"{name}: {_plain(value)}"


def _list(name: str, items: Sequence[Any], indent: str) -> Iterator[str]:
    # Behind a hyphen the editions disagree where the rows of a table stand.
    columns = () if name.lstrip(" ").startswith("- ") else _columns(items)
    if columns:
        yield f"{name}[{len(items)}]{{{','.join(map(_key, columns))}}}:"
        yield from (f"{indent}  {_line(item[column] for column in columns)}" for item in items)
    elif all(map(_is_plain, items)):
        yield f"{name}[{len(items)}]: {_line(items)}".rstrip(" ")
    else:
        yield f"{name}[{len(items)}]:"
        for item in items:
            yield from _item(item, f"{indent}  ")


def _item(item: Any, indent: str) -> Iterator[str]:
    match item:
        case Mapping() if item:
            first, *rest = sorted(item, key=lambda key: not _is_plain(item[key]))
            yield from _field(first, item[first], f"{indent}- ", f"{indent}  ")
            for key in rest:
                yield from _field(key, item[key], f"{indent}  ", f"{indent}  ")
        case Mapping():
            yield f"{indent}-"
        case list() | tuple():
            yield from _list(f"{indent}- ", item, indent)
        case _:
            yield f"{indent}- {_plain(item)}"


def _columns(items: Sequence[Any]) -> tuple[str, ...]:
    """Of a table: every item has these keys, and nothing but plain values."""
    first = items[0] if items else None
    if not isinstance(first, Mapping) or not first:
        return ()
    if all(isinstance(item, Mapping) and item.keys() == first.keys() for item in items):
        return tuple(first) if all(_is_plain(value) for item in items for value in item.values()) else ()
    return ()


def _is_plain(value: Any) -> bool:
    return not isinstance(value, Mapping | list | tuple)


def _line(values: Iterator[Any] | Sequence[Any]) -> str:
    return ",".join(map(_plain, values))


def _plain(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _number(value)
        case _:
            return _text(str(value))


def _number(value: float) -> str:
    """Without an exponent, which one edition reads as text."""
    return str(int(value)) if value.is_integer() else format(Decimal(repr(value)), "f")


def _text(text: str) -> str:
    if _PLAIN_TEXT.fullmatch(text) and text not in _WORDS:
        return text
    return f'"{text.translate(_ESCAPES)}"'


def _key(key: str, *, misread: bool = False) -> str:
    return key if _PLAIN_KEY.fullmatch(key) and not misread else f'"{key.translate(_ESCAPES)}"'
