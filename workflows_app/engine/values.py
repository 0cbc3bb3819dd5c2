"""What selectors and services of this app hand out: plain values, never rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from workflows_app.engine.problems import WorkflowProblem
from workflows_app.engine.program import Contract, Family, Program, WorkflowKind
from workflows_app.engine.source import Origin, SourceFormat, StepsSchema, Strictness


class WorkflowState(StrEnum):
    """DRAFT was never published; RETIRED was, and starts no more runs. Only PUBLISHED runs."""

    DRAFT = "draft"
    PUBLISHED = "published"
    RETIRED = "retired"


class IdStatus(StrEnum):
    LEGACY = "legacy"
    NAMESPACED = "namespaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowValue:
    """A workflow as lists show it: described by its published revision, or by its latest while none is published.

    `error_count` and `warning_count` are of the latest revision, so that a broken one says so where it is listed.
    """

    id: UUID
    workflow_id: str
    title: str
    description: str
    version: str
    kind: WorkflowKind
    family: Family
    state: WorkflowState
    id_status: IdStatus
    tags: tuple[str, ...]
    bundled: bool
    error_count: int
    warning_count: int
    latest_number: int
    published_number: int | None
    forked_from: str
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionValue:
    id: UUID
    workflow_id: str
    number: int
    format: SourceFormat
    origin: Origin
    strictness: Strictness
    schema: StepsSchema | None
    version: str
    source_digest: str
    workflow_hash: str | None
    problems: tuple[WorkflowProblem, ...]
    message: str
    author_name: str
    created_at: datetime
    published_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFiles:
    """The files of a revision, byte for byte as they were authored."""

    workflow_id: str
    number: int
    format: SourceFormat
    files: Mapping[str, bytes]
    source_digest: str
    schema: StepsSchema | None = None


class Include(StrEnum):
    """What reading a workflow gives besides its description."""

    SOURCE = "source"
    PROGRAM = "program"
    HISTORY = "history"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowDetail:
    """`requested_id` differs from the workflow's when an alias led here; an old name without a namespace is a warning.

    `source`, `program` and the newest of `history` are there when they were asked for, and the revision has them.
    """

    workflow: WorkflowValue
    requested_id: str
    revision: RevisionValue
    published: RevisionValue | None
    aliases: tuple[str, ...]
    warnings: tuple[WorkflowProblem, ...]
    source: SourceFiles | None = None
    program: Program | None = None
    history: tuple[RevisionValue, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What a run is pinned to. `requested_id` differs from `workflow_id` when an alias led here."""

    workflow_id: str
    requested_id: str
    revision_id: UUID
    number: int
    workflow_hash: str
    kind: WorkflowKind
    title: str
    version: str
    bundled: bool
    warnings: tuple[WorkflowProblem, ...]


class Change(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """`text` is a unified diff, cut at a bound; it is empty for a file that is not text, and for those behind what one difference
    tells.
    """

    path: str
    change: Change
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramDiff:
    """`path` is a place in the program; items of a list are named by their id where they have one."""

    path: str
    change: Change
    before: Any = None
    after: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowDiff:
    """From one revision to another; `base` is None when everything is new. `unread` is one that has no program, for errors
    stand in it. `titles` are by the ids that the places of the program name.
    """

    workflow_id: str
    base: int | None
    number: int
    files: tuple[FileDiff, ...]
    program: tuple[ProgramDiff, ...]
    titles: Mapping[str, str] = field(default_factory=dict)
    omitted: int = 0
    unread: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamContractValue:
    contract_id: str
    contract: Contract
    updated_at: datetime | None
    bundled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasValue:
    alias: str
    workflow_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingValue:
    """`workflow_id` is empty for a binding that holds in every workflow that has the slot."""

    workflow_id: str
    slot: str
    routine: str
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What validation says about a source that was not saved."""

    workflow_id: str
    workflow_hash: str | None
    problems: tuple[WorkflowProblem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """`created` is false when the same source already was the latest revision and nothing was written.

    An import that renamed says the old id, and `alias` when that id goes on to lead to the workflow.
    """

    workflow: WorkflowValue
    revision: RevisionValue
    created: bool
    renamed_from: str = ""
    alias: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedWorkflow:
    """`ignored` are files that belong to no workflow, `unread` those that have no role in theirs and are kept with it."""

    workflows: tuple[Saved, ...]
    ignored: tuple[str, ...]
    unread: tuple[str, ...] = ()

    @property
    def read_by_nobody(self) -> tuple[str, ...]:
        return tuple(sorted((*self.ignored, *self.unread)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """`diff` is from what was published before to what is published now."""

    workflow: WorkflowValue
    revision: RevisionValue
    diff: WorkflowDiff


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What loading the bundled library did, by workflow id."""

    created: tuple[str, ...]
    revised: tuple[str, ...]
    retired: tuple[str, ...]
    unchanged: int
    broken: Mapping[str, tuple[WorkflowProblem, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedWorkflow:
    filename: str
    media_type: str
    data: bytes
