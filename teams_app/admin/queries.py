"""What a list of the Studio takes from its address: what it declares, and nothing else.

Django's own list takes every lookup of every declared field, `__regex` among them, which Postgres may spend minutes on. So
an address is read here first; what is not declared, or is no value of its kind, never reaches the database.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.contrib.admin import ModelAdmin
from django.contrib.admin.views.main import ALL_VAR, ERROR_FLAG, ORDER_VAR, PAGE_VAR, SEARCH_VAR
from django.core.exceptions import ValidationError
from django.db.models import Field
from django.http import HttpRequest, QueryDict

MAX_VALUE_CHARACTERS = 200
MAX_WORDS = 8
_MOST_PARAMETERS = 16
_SHOWN_CHARACTERS = 40

# Raises ValueError or ValidationError for what is no value of its kind.
Reader = Callable[[str], object]


def declared_query(request: HttpRequest, *, admin: "ModelAdmin[Any]") -> tuple[QueryDict, tuple[str, ...]]:
    """The part of the query that the list declares, and the names of what was left out, as they may be shown."""
    readers = dict(_readers(admin))
    kept, left_out = QueryDict(mutable=True), []
    for name, values in list(request.GET.lists())[:_MOST_PARAMETERS]:
        value = values[-1]
        if name in readers and _is_of_kind(value, readers[name]):
            kept[name] = value
        else:
            left_out.append(name[:_SHOWN_CHARACTERS])
    return kept, tuple(left_out)


def declared_lookups(admin: "ModelAdmin[Any]") -> frozenset[str]:
    return frozenset(name for name, _ in _readers(admin))


def _readers(admin: "ModelAdmin[Any]") -> Iterator[tuple[str, Reader]]:
    yield from _OWN.items()
    # The site's own list has no list to declare for; every list of ours is a StudioAdmin.
    lookups: Mapping[str, Reader] = getattr(admin, "lookups", {})
    yield from lookups.items()
    for declared in admin.list_filter:
        name = declared[0] if isinstance(declared, tuple | list) else declared
        if isinstance(name, str):
            yield f"{name}__exact", _reader_of(admin.opts.get_field(name))
            yield f"{name}__isnull", _flag
        else:
            yield str(getattr(name, "parameter_name")), str  # noqa: B009  the filter classes are of Django's making


def _reader_of(field: Any) -> Reader:
    if not isinstance(field, Field):
        return _nothing
    return lambda text: field.clean(text, None)


def _is_of_kind(value: str, read: Reader) -> bool:
    if len(value) > MAX_VALUE_CHARACTERS or "\x00" in value:
        return False
    try:
        read(value)
    except (ValueError, TypeError, ValidationError):
        return False
    return True


def _words(text: str) -> str:
    """Every word becomes a condition of its own in each column that is searched."""
    if len(text.split()) > MAX_WORDS:
        raise ValueError(text)
    return text


def _matching(pattern: str) -> Reader:
    expression = re.compile(pattern)

    def read(text: str) -> str:
        if not expression.fullmatch(text):
            raise ValueError(text)
        return text

    return read


def _nothing(text: str) -> str:
    raise ValueError(text)


_flag = _matching("0|1|True|False")
_OWN: Mapping[str, Reader] = {
    SEARCH_VAR: _words,
    PAGE_VAR: _matching("[0-9]{1,6}"),
    ORDER_VAR: _matching(r"-?[0-9]{1,2}(\.-?[0-9]{1,2}){0,3}"),
    ALL_VAR: _matching("1?"),
    ERROR_FLAG: _matching("1?"),
}
