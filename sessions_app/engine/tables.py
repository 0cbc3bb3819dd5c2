"""The tables that are kept beside the log, each declared once: the columns of a row, their types, and what the log says of them.

A column that is added here is written by a transition, told by the log, rebuilt, verified and imported. `Table.beside` are the
columns that no transition writes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from operator import attrgetter
from typing import Annotated, Any, Generic, TypeVar, get_type_hints
from uuid import UUID

import orjson

from sessions_app.engine.projections import (
    GapView,
    HandleView,
    OutputView,
    ProjectedNode,
    ProjectedRun,
    ProjectedSession,
    QuestionView,
)
from sessions_app.engine.session_tokens import Handle
from workflows_app.engine import canonical

TITLE_CHARACTERS = 256
GOAL_CHARACTERS = 2048
KIND_CHARACTERS = 128


@dataclass(frozen=True, slots=True)
class Column:
    """`given` names the value of the transition that every row of it shares. A `digested` text is checked by its digest."""

    sql: str
    given: str = ""
    digested: bool = False
    # The log does not tell it.
    untold: bool = False
    name: str = ""

    @property
    def reading(self) -> str:
        """What a check reads of the column."""
        if self.digested:
            return f"'sha256:' || encode(sha256(convert_to(t.{self.name}, 'UTF8')), 'hex') AS {self.name}"
        return f"t.{self.name}::text AS {self.name}" if self.sql == "jsonb" else f"t.{self.name}"

    def is_same(self, value: Any, other: Any) -> bool:
        """The log keeps milliseconds."""
        return to_ms(value) == to_ms(other) if self.sql == "timestamptz" else bool(value == other)

    def is_told(self, read: Any, told: Any) -> bool:
        """Whether what was read as above is what the log tells."""
        if self.digested:
            told = canonical.digest(told.encode())
        return self.is_same(orjson.loads(read) if self.sql == "jsonb" else read, told)


Id = Annotated[UUID, Column("uuid")]
MaybeId = Annotated[UUID | None, Column("uuid")]
Text = Annotated[str, Column("text")]
Untold = Annotated[str, Column("text", untold=True)]
Index = Annotated[int, Column("int")]
MaybeAt = Annotated[datetime | None, Column("timestamptz")]
OfRun = Annotated[UUID, Column("uuid", given="run")]
Now = Annotated[datetime, Column("timestamptz", given="now")]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """What a run begins with; where it stands then is told of the transition."""

    workflow_id: Text
    workflow_title: Text
    workflow_hash: Text
    dialect: Untold
    goal: Text
    # People give it later.
    name: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow(NewRun):
    id: OfRun
    status: Annotated[str, Column("text", given="status")]
    tip_node_id: Annotated[UUID, Column("uuid", given="tip")]
    started_at: Now
    last_activity_at: Now
    completed_at: Annotated[datetime | None, Column("timestamptz", given="completed")]
    created_by: Annotated[str, Column("text", given="actor", untold=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    id: Id
    run_id: OfRun
    parent_id: MaybeId
    kind: Text
    edge_kind: Text
    edge_cause: Text
    snapshot_digest: Text
    pending_key: Text
    pending_title: Untold
    autonomy: Text
    risk_policy: Text
    event_index: Index
    created_at: Now


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputRow:
    id: Id
    run_id: Annotated[UUID | None, Column("uuid", given="run")]
    node_id: MaybeId
    to_node_id: MaybeId
    channel: Text
    body: Annotated[str, Column("text", digested=True)]
    artifact_kind: Text
    sha256: Text
    supersedes_id: MaybeId
    event_index: Index
    created_at: Now


@dataclass(frozen=True, slots=True, kw_only=True)
class GapRow:
    id: Id
    run_id: OfRun
    node_id: Id
    severity: Text
    category: Text
    detail: Text
    summary: Text
    resolved_by_id: MaybeId
    event_index: Index
    created_at: Now


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRow:
    """The part of a question's row that its answer changes."""

    state: Text
    answered_at: MaybeAt
    answered_by: Text
    answered_as: Text
    option_id: Text
    reason: Text
    door: Text
    to_node_id: MaybeId


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRow(AnswerRow):
    id: Id
    run_id: OfRun
    checkpoint_id: Text
    instance_key: Text
    title: Text
    message: Text
    options: Annotated[list[dict[str, str]], Column("jsonb")]
    authority: Text
    digest: Text
    event_index: Index
    presented_at: Now
    due_at: MaybeAt


@dataclass(frozen=True, slots=True, kw_only=True)
class HandleRow:
    id: Id
    run_id: OfRun
    dialect: Text
    agent_id: Text
    parent_run_id: MaybeId
    parent_session_id: MaybeId
    parent_workflow_id: Text
    parent_activity: Text
    parent_version: Text
    event_index: Index
    created_at: Now


Row = TypeVar("Row")


@dataclass(frozen=True, kw_only=True)
class Table(Generic[Row]):
    """`told` are the rows that the log amounts to. `beside` are columns that no transition writes, with what they begin with."""

    name: str
    row: type[Row]
    told: Callable[[ProjectedSession], Iterator[Row]]
    beside: Mapping[str, str | None] = field(default_factory=dict)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return _columns(self.row)

    @cached_property
    def own(self) -> dict[str, str]:
        """The columns in which rows of one transition differ, with their types."""
        return {column.name: column.sql for column in self.columns if not column.given}

    @cached_property
    def given(self) -> Mapping[str, str]:
        return {column.name: column.given for column in self.columns if column.given}

    @cached_property
    def checked(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if not column.untold)

    @cached_property
    def born(self) -> str:
        """The column that has the moment of the event which made the row; empty where rows tell of no one event."""
        return (
            next((name for name, given in self.given.items() if given == "now"), "")
            if "event_index" in self.own
            else ""
        )

    @cached_property
    def is_told_whole(self) -> bool:
        """Whether a row that is gone can be made again from the log alone."""
        return len(self.checked) == len(self.columns)

    def params(self, row: Any) -> Sequence[object]:
        """The values of the own columns, in their order."""
        values: tuple[object, ...] = self._own_values(row)
        if "jsonb" not in self.own.values():
            return values
        return [
            orjson.dumps(value).decode() if sql == "jsonb" else value
            for value, sql in zip(values, self.own.values(), strict=True)
        ]

    @cached_property
    def _own_values(self) -> Callable[[Any], Any]:
        return attrgetter(*self.own)

    def differing(self, stored: Any, told: Row) -> list[str]:
        """The columns in which a stored row, as a check reads it, is not what the log tells."""
        return [
            column.name
            for column in self.checked
            if not column.is_told(getattr(stored, column.name), getattr(told, column.name))
        ]


def _columns(row: type) -> tuple[Column, ...]:
    hints = get_type_hints(row, include_extras=True)
    return tuple(replace(hints[each.name].__metadata__[0], name=each.name) for each in fields(row))


def to_ms(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)


def moment(unix_ms: int) -> datetime:
    return datetime.fromtimestamp(unix_ms / 1000, tz=UTC)


def _maybe(unix_ms: int | None) -> datetime | None:
    return None if unix_ms is None else moment(unix_ms)


# What the log tells


def _runs(view: ProjectedSession) -> Iterator[RunRow]:
    for run in view.runs.values():
        tip = run.tip
        if tip is not None:
            yield RunRow(
                id=run.run_id,
                workflow_id=run.workflow_id,
                workflow_title=run.workflow_title[:TITLE_CHARACTERS],
                workflow_hash=run.workflow_hash,
                dialect="",
                goal=run.goal[:GOAL_CHARACTERS],
                name=run.name[:TITLE_CHARACTERS],
                status=run.status.value,
                tip_node_id=tip.node_id,
                started_at=moment(run.started_ms),
                last_activity_at=moment(run.last_activity_ms),
                completed_at=_maybe(run.completed_ms),
                created_by="",
            )


def _nodes(view: ProjectedSession) -> Iterator[NodeRow]:
    for run in view.runs.values():
        for node in run.nodes.values():
            yield node_row(run, node)


def node_row(run: ProjectedRun, node: ProjectedNode, *, title: str = "") -> NodeRow:
    return NodeRow(
        id=node.node_id,
        run_id=run.run_id,
        parent_id=node.parent_id,
        kind=node.kind.value,
        edge_kind=node.edge_kind,
        edge_cause=node.edge_cause,
        snapshot_digest=node.snapshot,
        pending_key=node.pending,
        pending_title=title,
        autonomy=node.autonomy,
        risk_policy=node.risk_policy,
        event_index=node.event_index,
        created_at=moment(node.created_ms),
    )


def _outputs(view: ProjectedSession) -> Iterator[OutputRow]:
    return (output_row(output, output.body) for output in view.every_output())


def output_row(output: OutputView, body: str) -> OutputRow:
    return OutputRow(
        id=output.output_id,
        run_id=output.run_id,
        node_id=output.node_id,
        to_node_id=output.to_node_id,
        channel=output.channel.value,
        body=body,
        artifact_kind=output.artifact_kind[:KIND_CHARACTERS],
        sha256=canonical.digest(body.encode()),
        supersedes_id=output.supersedes,
        event_index=output.event_index,
        created_at=moment(output.created_ms),
    )


def _gaps(view: ProjectedSession) -> Iterator[GapRow]:
    return (_gap(run, gap) for run in view.runs.values() for gap in run.gaps)


def _gap(run: ProjectedRun, gap: GapView) -> GapRow:
    return GapRow(
        id=gap.gap_id,
        run_id=run.run_id,
        node_id=gap.node_id or run.run_id,
        severity=gap.severity.value,
        category=gap.category,
        detail=gap.detail,
        summary=gap.summary,
        resolved_by_id=gap.resolved_by,
        event_index=gap.event_index,
        created_at=moment(gap.created_ms),
    )


def _questions(view: ProjectedSession) -> Iterator[QuestionRow]:
    return (_question(run, each) for run in view.runs.values() for each in run.questions.values())


def _question(run: ProjectedRun, view: QuestionView) -> QuestionRow:
    shown = view.shown
    return QuestionRow(
        id=view.request_id,
        run_id=run.run_id,
        checkpoint_id=shown["checkpointId"],
        instance_key=shown["instance"],
        title=shown["title"],
        message=shown["message"],
        options=shown["options"],
        authority=shown["authority"],
        digest=shown["digest"],
        event_index=view.event_index,
        presented_at=moment(view.presented_ms),
        due_at=_maybe(view.due_ms),
        state=run.state_of(view).value,
        answered_at=_maybe(view.answered_ms),
        answered_by=view.answered_by,
        answered_as=view.answered_as,
        option_id=view.option_id,
        reason=view.reason,
        door=view.door,
        to_node_id=view.to_node_id,
    )


def _handles(view: ProjectedSession) -> Iterator[HandleRow]:
    return (_handle(each) for each in view.handles.values())


def _handle(view: HandleView) -> HandleRow:
    return handle_row(view.handle, event_index=view.event_index, created_at=moment(view.created_ms))


def handle_row(handle: Handle, *, event_index: int, created_at: datetime) -> HandleRow:
    parent = handle.parent
    return HandleRow(
        id=handle.id,
        run_id=handle.run_id,
        dialect=handle.dialect.value,
        agent_id=handle.agent_id,
        parent_run_id=parent.run_id if parent else None,
        parent_session_id=parent.session_id if parent else None,
        parent_workflow_id=parent.workflow_id if parent else "",
        parent_activity=parent.activity if parent else "",
        parent_version=parent.version if parent else "",
        event_index=event_index,
        created_at=created_at,
    )


RUNS = Table(name="sessions_app_run", row=RunRow, told=_runs)
NODES = Table(name="sessions_app_node", row=NodeRow, told=_nodes)
OUTPUTS = Table(name="sessions_app_output", row=OutputRow, told=_outputs)
GAPS = Table(name="sessions_app_gap", row=GapRow, told=_gaps)
QUESTIONS = Table(
    name="sessions_app_checkpointrequest",
    row=QuestionRow,
    told=_questions,
    beside={"claimed_by": "", "claimed_at": None, "announced_at": None, "overdue_told_at": None},
)
HANDLES = Table(name="sessions_app_handle", row=HandleRow, told=_handles)
# By the name under which their rows are read for a check. Those that hang on a node come after it.
TABLES: Mapping[str, Table[Any]] = {
    "runs": RUNS,
    "nodes": NODES,
    "outputs": OUTPUTS,
    "gaps": GAPS,
    "questions": QUESTIONS,
    "handles": HANDLES,
}
ANSWER: Mapping[str, str] = {column.name: column.sql for column in _columns(AnswerRow)}
