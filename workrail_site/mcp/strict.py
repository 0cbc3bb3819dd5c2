"""Schemas of arguments in the forms that two makers of models ask for. What an agent sends in them is read as any other call."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

_AS_TEXT = "As JSON text."


class Form(StrEnum):
    """`openai` is strict mode: closed objects, every property required, null for what is left out. `gemini` is the subset of
    OpenAPI 3.0 that Gemini takes for functions.
    """

    PLAIN = "plain"
    OPENAI = "openai"
    GEMINI = "gemini"


def in_form(schema: Mapping[str, Any], form: Form) -> dict[str, Any]:
    if form is Form.PLAIN:
        return dict(schema)
    return _node(schema, form, optional=False)


def _node(node: Mapping[str, Any], form: Form, *, optional: bool) -> dict[str, Any]:
    said = {"description": node["description"]} if "description" in node else {}
    match node:
        case {"enum": values}:
            return said | _typed("string", form, optional=optional, enum=list(values))
        case {"type": "object", "properties": properties} if properties and not _is_open(node):
            return said | _object(node, form, optional=optional)
        case {"type": "array", "items": {"type": "string" | "integer" | "number" | "boolean"} as items}:
            return said | _typed("array", form, optional=optional) | {"items": _node(items, form, optional=False)}
        case {"type": "array", "items": {"type": "object", "properties": properties} as items} if (
            properties and not _is_open(items)
        ):
            return said | _typed("array", form, optional=optional) | {"items": _node(items, form, optional=False)}
        case {"type": "string" | "integer" | "number" | "boolean" as kind}:
            return said | _typed(kind, form, optional=optional)
        case {"type": "object"} if not node.get("properties") and node.get("additionalProperties") is False:
            return said | _object(node, form, optional=optional)
        case _:
            # Any object, or a list of any: neither maker has a form for it, and arguments are read from text as well.
            words = " ".join(filter(None, [said.get("description", ""), _AS_TEXT]))
            return {"description": words} | _typed("string", form, optional=optional)


def _is_open(node: Mapping[str, Any]) -> bool:
    """An object that takes other keys than those it names."""
    return node.get("additionalProperties", True) is not False


def _object(node: Mapping[str, Any], form: Form, *, optional: bool) -> dict[str, Any]:
    needed = set(node.get("required", ()))
    properties = node.get("properties", {})
    said = _typed("object", form, optional=optional)
    said["properties"] = {name: _node(each, form, optional=name not in needed) for name, each in properties.items()}
    if form is Form.OPENAI:
        return said | {"required": list(properties), "additionalProperties": False}
    return said | ({"required": sorted(needed)} if needed else {})


def _typed(kind: str, form: Form, *, optional: bool, enum: list[Any] | None = None) -> dict[str, Any]:
    if form is Form.OPENAI and optional:
        return {"type": [kind, "null"], **({"enum": [*enum, None]} if enum else {})}
    nullable = {"nullable": True} if optional else {}
    return {"type": kind, **({"enum": enum} if enum else {}), **nullable}
