"""Whether a JSON Schema that somebody wrote may be run here: it reads nothing from elsewhere and cannot take for ever.

A validator follows `$ref` for every value it looks at. References that lead back to themselves, or that double at each step,
let a few lines cost more time than there is; both are refused before anything is compiled.
"""

from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote

from teams_app.engine.counting import read_count
from workflows_app.engine import canonical
from workflows_app.engine.patterns import MAX_PROGRAM_INSTRUCTIONS, BadPatternError, compile_pattern

MAX_SCHEMA_BYTES = 65_536
MAX_DEPTH = 40
MAX_WEIGHT = 2_000
_DEFINITIONS = frozenset({"$defs", "definitions"})
# What these hold is data, not schema.
_DATA = frozenset({"const", "enum", "default", "examples"})
_REFUSED = frozenset({"$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$recursiveAnchor"})


class UnsafeSchemaError(ValueError):
    pass


def weigh_safely(schema: dict[str, Any]) -> int:
    """How many schemas one value can meet; raises `UnsafeSchemaError` with a message for the author."""
    try:
        canonical.check_storable(schema, max_depth=MAX_DEPTH)
        size = len(canonical.canonical_bytes(schema))
    except (canonical.UnreadableJsonError, canonical.NotCanonicalError) as error:
        raise UnsafeSchemaError(f"The schema is not plain JSON: {error}") from error
    if size > MAX_SCHEMA_BYTES:
        raise UnsafeSchemaError(f"The schema has {size} bytes; at most {MAX_SCHEMA_BYTES} are read.")
    return _Weigher(schema, own=lambda _: 1, most=MAX_WEIGHT).weigh(schema)


def pattern_instructions(schema: dict[str, Any]) -> int:
    """How long the programs are, together, of all patterns that one text can meet, of a schema that may be run here."""
    return _Weigher(schema, own=_instructions, most=None).weigh(schema)


def _instructions(schema: Any) -> int:
    if not isinstance(schema, dict):
        return 0
    named = schema.get("patternProperties")
    patterns = [schema.get("pattern"), *(named if isinstance(named, dict) else ())]
    return sum(_program_size(pattern) for pattern in patterns if isinstance(pattern, str))


def _program_size(pattern: str) -> int:
    try:
        return int(compile_pattern(pattern).main.programsize)
    except BadPatternError:
        return MAX_PROGRAM_INSTRUCTIONS


class _Weigher:
    """Adds up what the schemas that one value can meet weigh by themselves, each reference counted as what it refers to."""

    def __init__(self, root: dict[str, Any], *, own: Callable[[Any], int], most: int | None) -> None:
        self.root = root
        self.own = own
        self.most = most
        self.known: dict[str, int] = {}
        self.open: list[str] = []

    def weigh(self, schema: Any, *, depth: int = 0) -> int:
        if depth > 2 * MAX_DEPTH:
            raise UnsafeSchemaError("The references of the schema nest too deep.")
        weight = self.own(schema) + sum(self.weigh(part, depth=depth + 1) for part in _parts(schema))
        if isinstance(schema, dict):
            weight += self._reference(schema, depth=depth)
        if self.most is not None and weight > self.most:
            raise UnsafeSchemaError(f"With its references followed, the schema has more than {MAX_WEIGHT} parts.")
        return weight

    def _reference(self, schema: dict[str, Any], *, depth: int) -> int:
        refused = sorted(_REFUSED & schema.keys())
        if refused:
            raise UnsafeSchemaError(
                f"{refused[0]!r} is not followed here; use $ref with a pointer such as #/$defs/name."
            )
        if schema is not self.root and isinstance(schema.get("$id"), str):
            raise UnsafeSchemaError("Only the schema as a whole may have an $id.")
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return 0
        if reference in self.open or reference == "#":
            raise UnsafeSchemaError(f"{reference!r} refers to itself; spell out the levels that are wanted.")
        if reference not in self.known:
            self.open.append(reference)
            self.known[reference] = self.weigh(self._target(reference), depth=depth + 1)
            self.open.pop()
        return self.known[reference]

    def _target(self, reference: str) -> Any:
        if not reference.startswith("#/"):
            raise UnsafeSchemaError(
                f"{reference!r} is not in this document; only pointers such as #/$defs/name are followed."
            )
        target: Any = self.root
        for part in reference[2:].split("/"):
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(target, dict) and key in target:
                target = target[key]
            elif isinstance(target, list) and (index := read_count(key)) is not None and index < len(target):
                target = target[index]
            else:
                raise UnsafeSchemaError(f"{reference!r} leads nowhere.")
        return target


def _parts(schema: Any) -> Iterable[Any]:
    if isinstance(schema, dict):
        return [part for key, part in schema.items() if key not in _DEFINITIONS and key not in _DATA]
    return schema if isinstance(schema, list) else ()
