"""The documents of workflows that are compiled together: each is read once, and so much of all."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from workflows_app.engine import canonical
from workflows_app.engine.activities.documents import (
    DecodedTogether,
    Document,
    Markdown,
    read_document,
    read_markdown,
    suffix_of,
)
from workflows_app.engine.problems import ProblemCode, WorkflowProblem
from workflows_app.engine.source import Strictness

# What describes a workflow, and what it asks of others, is far below this; what is packed well may become much more.
MAX_READ_BYTES = 8 * 1024 * 1024
MAX_ROUTINE_BYTES = 1024 * 1024

_FRONT_MATTER = b"---"
_Problems = tuple[WorkflowProblem, ...]
_Made = TypeVar("_Made")


def read_json(*, data: bytes) -> Any | None:
    """The document of a routine; None for what cannot be read."""
    try:
        return canonical.loads_strict(data, max_bytes=MAX_ROUTINE_BYTES)
    except canonical.UnreadableJsonError:
        return None


class SharedReading:
    """Mutable, and alive while workflows are compiled that belong together."""

    def __init__(self) -> None:
        self._left = MAX_READ_BYTES
        self._together = DecodedTogether()
        self._documents: dict[tuple[bytes, str, Strictness], tuple[Document | None, _Problems]] = {}
        self._made: dict[Hashable, Any] = {}
        self._json: dict[bytes, Any | None] = {}
        self._markdown: dict[bytes, tuple[Markdown | None, _Problems]] = {}

    def document(self, *, data: bytes, file: str, strictness: Strictness) -> tuple[Document | None, _Problems]:
        """As `read_document`; what goes beyond the bound is a problem."""
        key = (data, suffix_of(file), strictness)
        if key not in self._documents:
            self._documents[key] = (
                read_document(data=data, file=file, strictness=strictness, together=self._together)
                if self._take(len(data))
                else (None, (_too_much(file),))
            )
        document, problems = self._documents[key]
        return None if document is None else replace(document, file=file), _at(file, problems)

    def markdown(self, *, data: bytes, file: str) -> tuple[Markdown | None, _Problems]:
        """As `read_markdown`. Text costs little; what may be front matter counts."""
        if data not in self._markdown:
            is_read = not data.startswith(_FRONT_MATTER) or self._take(len(data))
            self._markdown[data] = (
                read_markdown(data=data, file=file, together=self._together) if is_read else (None, (_too_much(file),))
            )
        markdown, problems = self._markdown[data]
        return None if markdown is None else replace(markdown, file=file), _at(file, problems)

    def json(self, *, data: bytes) -> Any | None:
        """As `read_json`."""
        if data not in self._json:
            self._json[data] = read_json(data=data)
        return self._json[data]

    def once(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """What is made of a document, which is the same for every workflow that arrives with it."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]  # type: ignore[no-any-return]  # what was made under this key

    def _take(self, size: int) -> bool:
        self._left -= size
        return self._left >= 0


def _at(file: str, problems: Iterable[WorkflowProblem]) -> _Problems:
    return tuple(replace(problem, file=file) for problem in problems)


def _too_much(file: str) -> WorkflowProblem:
    message = f"With the files before it there are more than {MAX_READ_BYTES} bytes of documents; it is not read."
    hint = "Make the documents smaller: what agents read as it is may be Markdown. Import fewer workflows at once."
    return WorkflowProblem(code=ProblemCode.TOO_LARGE, message=message, file=file, suggestion=hint)
