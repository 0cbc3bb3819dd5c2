"""What the endpoints of this app are sent and answer."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec

from teams_app.api.endpoints import PageQuery, Shape
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.ids import Prefix, to_text
from workflows_app.engine.packing import detect_format
from workflows_app.engine.problems import Problem, ProblemCode, Severity
from workflows_app.engine.program import Family, WorkflowKind
from workflows_app.engine.source import Origin, Source, SourceFormat, StepsSchema, Strictness
from workflows_app.engine.values import (
    BindingValue,
    Change,
    Checked,
    FileDiff,
    IdStatus,
    Imported,
    Include,
    ProgramDiff,
    Publication,
    RevisionValue,
    Saved,
    SourceFiles,
    TeamContractValue,
    WorkflowDetail,
    WorkflowDiff,
    WorkflowState,
    WorkflowValue,
)
from workflows_app.services.importing import ImportOptions

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
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


class ProblemAnswer(Shape, frozen=True):
    code: ProblemCode
    severity: Severity
    message: str
    path: str
    file: str
    line: int | None
    suggestion: str

    @staticmethod
    def of(value: Problem) -> "ProblemAnswer":
        return ProblemAnswer(
            code=value.code,
            severity=value.severity,
            message=value.message,
            path=value.path,
            file=value.file,
            line=value.line,
            suggestion=value.suggestion,
        )


class ProblemCounts(Shape, frozen=True):
    errors: int
    warnings: int


class WorkflowAnswer(Shape, frozen=True):
    """`problems` counts those of the latest revision; the words are the published one's, if there is one."""

    id: str
    row_id: str
    title: str
    description: str
    version: str
    kind: WorkflowKind
    family: Family
    state: WorkflowState
    id_status: IdStatus
    tags: list[str]
    bundled: bool
    problems: ProblemCounts
    latest_revision: int
    published_revision: int | None
    forked_from: str | None
    updated_at: Moment

    @staticmethod
    def of(value: WorkflowValue) -> "WorkflowAnswer":
        return WorkflowAnswer(
            id=value.workflow_id,
            row_id=to_text(Prefix.WORKFLOW, value.id),
            title=value.title,
            description=value.description,
            version=value.version,
            kind=value.kind,
            family=value.family,
            state=value.state,
            id_status=value.id_status,
            tags=list(value.tags),
            bundled=value.bundled,
            problems=ProblemCounts(errors=value.error_count, warnings=value.warning_count),
            latest_revision=value.latest_number,
            published_revision=value.published_number,
            forked_from=value.forked_from or None,
            updated_at=value.updated_at,
        )


class RevisionAnswer(Shape, frozen=True):
    number: int
    format: SourceFormat
    origin: Origin
    strictness: Strictness
    schema: StepsSchema | None
    version: str
    source_digest: str
    workflow_hash: str | None
    problems: list[ProblemAnswer]
    message: str
    author: str
    created_at: Moment
    published_at: Moment | None

    @staticmethod
    def of(value: RevisionValue) -> "RevisionAnswer":
        return RevisionAnswer(
            number=value.number,
            format=value.format,
            origin=value.origin,
            strictness=value.strictness,
            schema=value.schema,
            version=value.version,
            source_digest=value.source_digest,
            workflow_hash=value.workflow_hash,
            problems=[ProblemAnswer.of(problem) for problem in value.problems],
            message=value.message,
            author=value.author_name,
            created_at=value.created_at,
            published_at=value.published_at,
        )


class SourceAnswer(Shape, frozen=True):
    """The text of each file by its path; what is not UTF-8 comes only in an archive."""

    format: SourceFormat
    digest: str
    files: dict[str, str]

    @staticmethod
    def of(value: SourceFiles) -> "SourceAnswer":
        return SourceAnswer(format=value.format, digest=value.source_digest, files=_text_of(value.files))


class WorkflowDetailAnswer(Shape, frozen=True):
    """`program` is null for a revision with errors; `history` is the newest revisions."""

    workflow: WorkflowAnswer
    requested_id: str
    aliases: list[str]
    warnings: list[ProblemAnswer]
    revision: RevisionAnswer
    published: RevisionAnswer | None
    source: SourceAnswer | None
    program: dict[str, Any] | None
    history: list[RevisionAnswer]

    @staticmethod
    def of(value: WorkflowDetail) -> "WorkflowDetailAnswer":
        return WorkflowDetailAnswer(
            workflow=WorkflowAnswer.of(value.workflow),
            requested_id=value.requested_id,
            aliases=list(value.aliases),
            warnings=[ProblemAnswer.of(problem) for problem in value.warnings],
            revision=RevisionAnswer.of(value.revision),
            published=None if value.published is None else RevisionAnswer.of(value.published),
            source=None if value.source is None else SourceAnswer.of(value.source),
            program=None if value.program is None else msgspec.to_builtins(value.program),
            history=[RevisionAnswer.of(revision) for revision in value.history],
        )


class CheckedAnswer(Shape, frozen=True):
    """`valid` is true when no problem is an error."""

    valid: bool
    id: str | None
    workflow_hash: str | None
    problems: list[ProblemAnswer]

    @staticmethod
    def of(value: Checked) -> "CheckedAnswer":
        return CheckedAnswer(
            valid=value.workflow_hash is not None,
            id=value.workflow_id or None,
            workflow_hash=value.workflow_hash,
            problems=[ProblemAnswer.of(problem) for problem in value.problems],
        )


class SavedAnswer(Shape, frozen=True):
    """`created` is false when the same source already was the latest revision."""

    workflow: WorkflowAnswer
    revision: RevisionAnswer
    created: bool
    renamed_from: str | None
    alias: str | None

    @staticmethod
    def of(value: Saved) -> "SavedAnswer":
        return SavedAnswer(
            workflow=WorkflowAnswer.of(value.workflow),
            revision=RevisionAnswer.of(value.revision),
            created=value.created,
            renamed_from=value.renamed_from or None,
            alias=value.alias or None,
        )


class ImportedAnswer(Shape, frozen=True):
    workflows: list[SavedAnswer]
    ignored: list[str]

    @staticmethod
    def of(value: Imported) -> "ImportedAnswer":
        return ImportedAnswer(
            workflows=[SavedAnswer.of(saved) for saved in value.workflows], ignored=list(value.ignored)
        )


class FileDiffAnswer(Shape, frozen=True):
    path: str
    change: Change
    text: str

    @staticmethod
    def of(value: FileDiff) -> "FileDiffAnswer":
        return FileDiffAnswer(path=value.path, change=value.change, text=value.text)


class ProgramDiffAnswer(Shape, frozen=True):
    path: str
    change: Change
    before: Any
    after: Any

    @staticmethod
    def of(value: ProgramDiff) -> "ProgramDiffAnswer":
        return ProgramDiffAnswer(path=value.path, change=value.change, before=value.before, after=value.after)


class DiffAnswer(Shape, frozen=True):
    """`omitted` counts changes of the program beyond those that are listed."""

    base: int
    revision: int
    files: list[FileDiffAnswer]
    program: list[ProgramDiffAnswer]
    omitted: int

    @staticmethod
    def of(value: WorkflowDiff) -> "DiffAnswer":
        return DiffAnswer(
            base=value.base or 0,
            revision=value.number,
            files=[FileDiffAnswer.of(item) for item in value.files],
            program=[ProgramDiffAnswer.of(item) for item in value.program],
            omitted=value.omitted,
        )


class PublicationAnswer(Shape, frozen=True):
    workflow: WorkflowAnswer
    revision: RevisionAnswer
    diff: DiffAnswer

    @staticmethod
    def of(value: Publication) -> "PublicationAnswer":
        return PublicationAnswer(
            workflow=WorkflowAnswer.of(value.workflow),
            revision=RevisionAnswer.of(value.revision),
            diff=DiffAnswer.of(value.diff),
        )


class ContractAnswer(Shape, frozen=True):
    id: str
    artifact_kind: str
    schema: dict[str, Any]
    example: dict[str, Any]
    summary: str
    bundled: bool
    updated_at: Moment | None

    @staticmethod
    def of(value: TeamContractValue) -> "ContractAnswer":
        return ContractAnswer(
            id=value.contract_id,
            artifact_kind=value.contract.artifact_kind,
            schema=value.contract.schema,
            example=value.contract.example,
            summary=value.contract.summary,
            bundled=value.bundled,
            updated_at=value.updated_at,
        )


class ContractsAnswer(Shape, frozen=True):
    items: list[ContractAnswer]


class BindingAnswer(Shape, frozen=True):
    workflow: str | None
    slot: str
    routine: str
    updated_at: Moment

    @staticmethod
    def of(value: BindingValue) -> "BindingAnswer":
        return BindingAnswer(
            workflow=value.workflow_id or None, slot=value.slot, routine=value.routine, updated_at=value.updated_at
        )


class BindingsAnswer(Shape, frozen=True):
    items: list[BindingAnswer]


class AliasAnswer(Shape, frozen=True):
    alias: str
    workflow: str


def _encoded(files: Mapping[str, str]) -> dict[str, bytes]:
    return {path: text.encode() for path, text in files.items()}


def _document(definition: Mapping[str, Any] | None) -> bytes:
    return json.dumps(definition, ensure_ascii=False, indent=2).encode() + b"\n"


def _text_of(files: Mapping[str, bytes]) -> dict[str, str]:
    try:
        return {path: data.decode("utf-8") for path, data in files.items()}
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            "A file of the source is not UTF-8.", suggestion="Export the workflow as an archive."
        ) from error
