"""What the endpoints of this app answer."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec

from teams_app.api.endpoints import Shape
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.ids import Prefix, to_text
from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem
from workflows_app.engine.program import Family, WorkflowKind
from workflows_app.engine.source import Origin, SourceFormat, StepsSchema, Strictness
from workflows_app.engine.values import (
    BindingValue,
    Change,
    Checked,
    FileDiff,
    IdStatus,
    ImportedWorkflow,
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

Moment = Annotated[datetime, msgspec.Meta(tz=True)]


class ProblemAnswer(Shape, frozen=True):
    code: ProblemCode
    severity: Severity
    message: str
    path: str
    file: str
    line: int | None
    suggestion: str

    @staticmethod
    def of(value: WorkflowProblem) -> "ProblemAnswer":
        return ProblemAnswer.taken(value)


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
        return WorkflowAnswer.taken(
            value,
            id=value.workflow_id,
            row_id=to_text(Prefix.WORKFLOW, value.id),
            tags=list(value.tags),
            problems=ProblemCounts(errors=value.error_count, warnings=value.warning_count),
            latest_revision=value.latest_number,
            published_revision=value.published_number,
            forked_from=value.forked_from or None,
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
        return RevisionAnswer.taken(
            value, problems=[ProblemAnswer.of(problem) for problem in value.problems], author=value.author_name
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

    @property
    def numbered(self) -> str:
        """Its tag begins with the revision that a change builds upon."""
        return str(self.workflow.latest_revision)

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
    def of(value: ImportedWorkflow) -> "ImportedAnswer":
        return ImportedAnswer(
            workflows=[SavedAnswer.of(saved) for saved in value.workflows], ignored=list(value.read_by_nobody)
        )


class FileDiffAnswer(Shape, frozen=True):
    path: str
    change: Change
    text: str

    @staticmethod
    def of(value: FileDiff) -> "FileDiffAnswer":
        return FileDiffAnswer.taken(value)


class ProgramDiffAnswer(Shape, frozen=True):
    path: str
    change: Change
    before: Any
    after: Any

    @staticmethod
    def of(value: ProgramDiff) -> "ProgramDiffAnswer":
        return ProgramDiffAnswer.taken(value)


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
        return BindingAnswer.taken(value, workflow=value.workflow_id or None)


class BindingsAnswer(Shape, frozen=True):
    items: list[BindingAnswer]


def _text_of(files: Mapping[str, bytes]) -> dict[str, str]:
    try:
        return {path: data.decode("utf-8") for path, data in files.items()}
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            "A file of the source is not UTF-8.", suggestion="Export the workflow as an archive."
        ) from error
