"""Input schemas as clients want them: one flat JSON Schema, without references, titles or nulls, and closed."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

_DEFINITIONS = "#/$defs/"
_NOT_SHOWN = frozenset({"minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "default"})


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of a tool's arguments. An unknown argument is refused, here and in every object below."""
    whole = model.model_json_schema(by_alias=True)
    schema = _plain(whole, whole.get("$defs", {}))
    schema.pop("$defs", None)
    return {"type": "object", "properties": {}, **schema, "additionalProperties": False}


def advertised(node: Mapping[str, Any]) -> dict[str, Any]:
    """The schema as clients are shown it: without bounds and defaults, which many of them refuse or show to no model. What
    goes beyond a bound is refused with words that say so.
    """
    kept = {key: value for key, value in node.items() if key not in _NOT_SHOWN}
    if "properties" in kept:
        kept["properties"] = {name: advertised(child) for name, child in kept["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(kept.get(key), dict):
            kept[key] = advertised(kept[key])
    return kept


def _plain(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    node = _without_null(node)
    if "$ref" in node:
        found = definitions[node["$ref"].removeprefix(_DEFINITIONS)]
        node = {**found, **{key: value for key, value in node.items() if key != "$ref"}}
    kept = {key: _child(key, value, definitions) for key, value in node.items() if key not in {"title", "$defs"}}
    if kept.get("default", ...) is None:
        del kept["default"]
    return kept


def _child(key: str, value: Any, definitions: Mapping[str, Any]) -> Any:
    if key == "properties":
        return {name: _plain(child, definitions) for name, child in value.items()}
    if key == "items" or (key == "additionalProperties" and isinstance(value, dict)):
        return _plain(value, definitions)
    return value


def _without_null(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """An optional argument is left out. Null is read as that, and not advertised."""
    choices = [choice for choice in node.get("anyOf", ()) if choice.get("type") != "null"]
    if len(choices) != 1:
        return node
    return {**choices[0], **{key: value for key, value in node.items() if key != "anyOf"}}
