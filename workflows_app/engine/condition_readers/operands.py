"""What conditions compare with, as JSON Schema: for editors, in the words of both formats."""

from typing import Any

from workflows_app.engine.condition_readers.reading import MAX_LIST, MAX_NAME_CHARS, ORDERING, TEXTUAL
from workflows_app.engine.program import Operator

VARIABLE_NAME: dict[str, Any] = {
    "type": "string",
    "maxLength": MAX_NAME_CHARS,
    "pattern": "^[^.]*[^.\\s][^.]*(?:\\.[^.]*[^.\\s][^.]*)*$",
}
NUMBER_AS_TEXT = {"type": "string", "pattern": "^\\s*-?[0-9]{1,15}(?:\\.[0-9]{1,15})?\\s*$"}
OPERANDS: tuple[tuple[frozenset[Operator], dict[str, Any]], ...] = (
    (ORDERING, {"anyOf": [{"type": "number"}, NUMBER_AS_TEXT]}),
    (TEXTUAL, {"type": ["string", "number", "boolean"]}),
    (frozenset({Operator.MATCHES}), {"type": "string"}),
    (frozenset({Operator.IN}), {"type": "array", "maxItems": MAX_LIST}),
    (frozenset({Operator.EXISTS, Operator.NOT_EXISTS}), {"type": "boolean"}),
)
