"""What a run has left behind, in pages: nodes, outputs, gaps and events, each in the order of the log."""

from itertools import islice
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from sessions_app.engine.values import EventValue, GapValue, NodeValue, OutputValue
from sessions_app.models import Gap, Node, Output
from sessions_app.selectors.gaps import gaps_of
from sessions_app.selectors.log_reading import read_log
from sessions_app.selectors.rows import event_value, gap_value, node_value, output_value
from sessions_app.selectors.runs import find_run
from sessions_app.selectors.sessions import no_session, team_sessions
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError
from teams_app.engine.pages import Page, PageRequest, cut_page


def list_nodes(*, actor: Actor, run_id: UUID, page: PageRequest) -> Page[NodeValue]:
    actor.require(Permission.READ_RUNS)
    rows = Node.objects.filter(run_id=find_run(actor, run_id).id)
    if page.after is not None:
        rows = rows.filter(event_index__gt=int(page.after))
    return cut_page(
        rows=rows.order_by("event_index", "id")[: page.limit + 1],
        limit=page.limit,
        value_of=node_value,
        position_of=lambda row: str(row.event_index),
    )


def list_outputs(*, actor: Actor, run_id: UUID, page: PageRequest) -> Page[OutputValue]:
    """Notes and artifacts of a run, also those that later ones stand for."""
    actor.require(Permission.READ_RUNS)
    return _outputs(outputs_of(run_id=find_run(actor, run_id).id), page)


def list_session_outputs(*, actor: Actor, session_id: UUID, page: PageRequest) -> Page[OutputValue]:
    """What was noted on the session itself, outside of any run."""
    actor.require(Permission.READ_RUNS)
    _require_session(actor, session_id)
    rows = Output.objects.filter(team_id=actor.team_id, session_id=session_id, run_id__isnull=True)
    return _outputs(rows.annotate(is_superseded=_superseded()), page)


def list_gaps(*, actor: Actor, run_id: UUID, page: PageRequest) -> Page[GapValue]:
    actor.require(Permission.READ_RUNS)
    rows = gaps_of(run_id=find_run(actor, run_id).id)
    return cut_page(
        rows=_after(rows, page).order_by("event_index", "id")[: page.limit + 1],
        limit=page.limit,
        value_of=lambda row: gap_value(row, closes=row.closes),
        position_of=_position,
    )


def list_events(*, actor: Actor, session_id: UUID, page: PageRequest, run_id: UUID | None = None) -> Page[EventValue]:
    """The session's log, or what of it speaks of one run."""
    actor.require(Permission.READ_RUNS)
    _require_session(actor, session_id)
    after = -1 if page.after is None else int(page.after)
    events = read_log(session_id=session_id, after=after, rows_at_once=page.limit + 1)
    wanted = events if run_id is None else (event for event in events if event.run_id == run_id)
    return cut_page(
        rows=islice(wanted, page.limit + 1),
        limit=page.limit,
        value_of=event_value,
        position_of=lambda event: str(event.index),
    )


def list_run_events(*, actor: Actor, run_id: UUID, page: PageRequest) -> Page[EventValue]:
    actor.require(Permission.READ_RUNS)
    run = find_run(actor, run_id)
    return list_events(actor=actor, session_id=run.session_id, page=page, run_id=run.id)


def read_event(*, actor: Actor, session_id: UUID, index: int) -> EventValue:
    actor.require(Permission.READ_RUNS)
    _require_session(actor, session_id)
    event = next(read_log(session_id=session_id, after=min(index, 2**31 - 1) - 1, rows_at_once=1), None)
    if event is None or event.index != index:
        raise NotFoundError(
            f"The session has no event {index}.", suggestion="Events count from 0; the session tells how many it has."
        )
    return event_value(event)


def outputs_of(*, run_id: UUID) -> QuerySet[Any]:
    """Whoever asks has read the run, and with it whether it may be seen."""
    return Output.objects.filter(run_id=run_id).annotate(is_superseded=_superseded())


def _superseded() -> Exists:
    return Exists(Output.objects.filter(run_id=OuterRef("run_id"), supersedes_id=OuterRef("pk")))


def _outputs(rows: QuerySet[Output], page: PageRequest) -> Page[OutputValue]:
    return cut_page(
        rows=_after(rows, page).order_by("event_index", "id")[: page.limit + 1],
        limit=page.limit,
        value_of=lambda row: output_value(row, is_superseded=row.is_superseded),
        position_of=_position,
    )


def _after(rows: QuerySet[Any], page: PageRequest) -> QuerySet[Any]:
    """Several rows may come of one event, so the id settles which of them was the last."""
    if page.after is None:
        return rows
    index, _, row_id = page.after.partition(" ")
    return rows.filter(Q(event_index__gt=int(index)) | Q(event_index=int(index), pk__gt=UUID(row_id)))


def _position(row: Output | Gap) -> str:
    return f"{row.event_index} {row.id}"


def _require_session(actor: Actor, session_id: UUID) -> None:
    if not team_sessions(actor).filter(pk=session_id).exists():
        raise no_session()
