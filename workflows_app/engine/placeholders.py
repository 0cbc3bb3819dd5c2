"""Values in text: `{{name.path}}` in prompts, `{name.path}` in the messages of activities. Nothing is ever evaluated."""

import json
import re
from collections.abc import Mapping
from typing import Any

from workflows_app.engine import canonical
from workflows_app.engine.conditions import MISSING, lookup

MAX_VALUE_CHARS = 16_384
_NAME = r"[^\W\d][\w-]*(?:\.[\w-]+)*"
_DOUBLE = re.compile(r"\{\{\s*(?!wr\.)(" + _NAME + r")\s*\}\}")
_SINGLE = re.compile(r"(?<!\{)\{(" + _NAME + r")\}(?!\})")
_ANY_DOUBLE = re.compile(r"\{\{([^{}]{1,200})\}\}")

Variables = Mapping[str, Any]


def render(text: str, *, variables: Variables) -> str:
    """The prompt with its values in place. One that is not set shows as `[unset: name]`; an expression stays as written.

    What a value says is not looked at again, so a value cannot bring in another.
    """

    def value_of(found: re.Match[str]) -> str:
        said = _said(found[1], variables)
        return f"[unset: {found[1]}]" if said is None else said

    return _DOUBLE.sub(value_of, text) if "{{" in text else text


def render_single(text: str, *, variables: Variables) -> str:
    """The message with its values in place. Its braces may also be examples, so one that is not set stays as written."""

    def value_of(found: re.Match[str]) -> str:
        said = _said(found[1], variables)
        return found[0] if said is None else said

    return _SINGLE.sub(value_of, text) if "{" in text else text


def names_in(text: str) -> frozenset[str]:
    """The dotted names that `render` would put values for."""
    return frozenset(_DOUBLE.findall(text))


def expressions_in(text: str) -> tuple[str, ...]:
    """What stands in double braces and is no name: it will be shown as written, which its author hardly meant."""
    inside = (found[1].strip() for found in _ANY_DOUBLE.finditer(text) if not _DOUBLE.fullmatch(found[0]))
    return tuple(dict.fromkeys(said for said in inside if not said.startswith("wr.")))


def _said(name: str, variables: Variables) -> str | None:
    value = lookup(tuple(name.split(".")), variables=variables)
    if value is None or value is MISSING:
        return None
    text = value if isinstance(value, str) else _as_json(value)
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}…"


def _as_json(value: Any) -> str:
    try:
        return canonical.canonical_bytes(value).decode()
    except canonical.NotCanonicalError:
        return json.dumps(value, default=str)
