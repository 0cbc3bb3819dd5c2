"""What the endpoints of this app are sent, in bodies and queries."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from teams_app.api.endpoints import PageQuery, Shape
from teams_app.engine.errors import InvalidInputError
from workflows_app.engine.packing import detect_format
from workflows_app.engine.program import WorkflowKind
from workflows_app.engine.source import Origin, Source, StepsSchema, Strictness
from workflows_app.engine.values import Include, WorkflowState
from workflows_app.services.importing import ImportOptions

WorkflowId = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
ShortText = Annotated[str, msgspec.Meta(max_length=200)]
Message = Annotated[str, msgspec.Meta(max_length=500)]
Number = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
NumberOrNone = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]

_DOCUMENT = "workflow.json"


class SourceBody(Shape, frozen=True):
    """Either `definition`, a workflow of steps as one JSON object, or `files`, the text of each file by its path."""

    definition: dict[str, Any] | None = None
    files: dict[str, str] | None = None
    strictness: Strictness = Strictness.STRICT
    schema: StepsSchema | None = None

    def __post_init__(self) -> None:
        if (self.definition is None) == (self.files is None):
            raise ValueError("Exactly one of `definition` and `files` must be sent")

    def source(self) -> Source:
        files = _encoded(self.files) if self.files is not None else {_DOCUMENT: _document(self.definition)}
        return Source(
            format=detect_format(files), files=files, strictness=self.strictness, schema=self.schema, origin=Origin.TEAM
        )


class CreateBody(SourceBody, frozen=True):
    message: Message = ""


class ReviseBody(SourceBody, frozen=True):
    """`baseRevision` is the latest revision that was read; the header If-Match may say it instead."""

    base_revision: NumberOrNone | None = None
    message: Message = ""


class ImportBody(Shape, frozen=True):
    """Either `archive`, a zip or tar in base64 with its `filename`, or `files`, the text of each file by its path."""

    archive: bytes | None = None
    filename: ShortText = ""
    files: dict[str, str] | None = None
    origin: Origin = Origin.TEAM
    strictness: Strictness = Strictness.STRICT
    rename: bool = False
    message: Message = ""

    def __post_init__(self) -> None:
        if (self.archive is None) == (self.files is None):
            raise ValueError("Exactly one of `archive` and `files` must be sent")

    def plain_files(self) -> dict[str, bytes]:
        return _encoded(self.files or {})


class ImportQuery(Shape, frozen=True):
    """The options of an import whose body is the archive itself; they go before those of any other body."""

    origin: Origin | None = None
    strictness: Strictness | None = None
    rename: bool | None = None
    message: Message | None = None

    def options(self, body: ImportBody) -> ImportOptions:
        return ImportOptions(
            origin=self.origin or body.origin,
            strictness=self.strictness or body.strictness,
            rename=body.rename if self.rename is None else self.rename,
            message=self.message or body.message,
        )


class PublishBody(Shape, frozen=True):
    """`base` is the published revision that `revision` was compared with, 0 for none; it must still be published."""

    revision: Number
    base: NumberOrNone | None = None


class ForkBody(Shape, frozen=True):
    id: WorkflowId
    revision: Number | None = None
    message: Message = ""


class AliasBody(Shape, frozen=True):
    workflow: WorkflowId


class ContractBody(Shape, frozen=True):
    artifact_kind: ShortText
    schema: dict[str, Any]
    example: dict[str, Any]
    summary: Message = ""


class BindingBody(Shape, frozen=True):
    """Without a workflow the binding holds in every one that has the slot."""

    slot: ShortText
    routine: ShortText
    workflow: Annotated[str, msgspec.Meta(max_length=64)] = ""


class ListQuery(PageQuery, frozen=True):
    """`tags` are separated by commas, and all must be there."""

    text: ShortText = ""
    tags: ShortText = ""
    kind: WorkflowKind | None = None
    state: WorkflowState | None = None

    def tag_list(self) -> tuple[str, ...]:
        return tuple(tag.strip() for tag in self.tags.split(",") if tag.strip())


class ReadQuery(Shape, frozen=True):
    """`include` names, separated by commas: source, program, history. `revision` is the latest when it is not given."""

    include: ShortText = ""
    revision: Number | None = None

    def included(self) -> frozenset[Include]:
        names = {name.strip() for name in self.include.split(",") if name.strip()}
        unknown = sorted(names - set(Include))
        if unknown:
            raise InvalidInputError(
                f"Nothing called {unknown[0]!r} can be included.", suggestion=f"Known: {', '.join(Include)}."
            )
        return frozenset(Include(name) for name in names)


class DiffQuery(Shape, frozen=True):
    """From revision `base`, 0 for nothing, to revision `revision`."""

    revision: Number
    base: NumberOrNone = 0


class ExportQuery(Shape, frozen=True):
    revision: Number | None = None


class BindingQuery(Shape, frozen=True):
    slot: ShortText
    workflow: Annotated[str, msgspec.Meta(max_length=64)] = ""


def _encoded(files: Mapping[str, str]) -> dict[str, bytes]:
    return {path: text.encode() for path, text in files.items()}


def _document(definition: Mapping[str, Any] | None) -> bytes:
    return json.dumps(definition, ensure_ascii=False, indent=2).encode() + b"\n"
