"""What a run has left behind, in pages: nodes, outputs, gaps and events, each in the order of the log."""

from collections.abc import Sequence
from itertools import islice
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from sessions_app.engine.values import EventValue, GapValue, NodeValue, OutputValue
from sessions_app.models import Gap, Node, Output
from sessions_app.selectors.gaps import gaps_of
from sessions_app.selectors.log_reading import LoggedEvent, read_log
from sessions_app.selectors.rows import event_value, gap_value, node_value, output_value
from sessions_app.selectors.runs import find_run
from sessions_app.selectors.sessions import no_session, team_sessions
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError
from teams_app.engine.pages import Page, PageRequest, cut_page

# No transition writes more events than this; by it the events of an attempt are found from the index of its first.
MAX_EVENTS_OF_ATTEMPT = 127
_MOST_LOOKED_AT = 5_000


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


def list_events(*, actor: Actor, session_id: UUID, page: PageRequest) -> Page[EventValue]:
    """The session's log."""
    actor.require(Permission.READ_RUNS)
    _require_session(actor, session_id)
    after = -1 if page.after is None else int(page.after)
    return cut_page(
        rows=islice(read_log(session_id=session_id, after=after, rows_at_once=page.limit + 1), page.limit + 1),
        limit=page.limit,
        value_of=event_value,
        position_of=lambda event: str(event.index),
    )


def list_run_events(*, actor: Actor, run_id: UUID, page: PageRequest) -> Page[EventValue]:
    """What the log of its session says of the run. For one page so much of the log is looked at and no more, so that a page may hold
    less than was asked for, or nothing, and be followed by another.
    """
    actor.require(Permission.READ_RUNS)
    run = find_run(actor, run_id)
    after = _before_first_of(run_id) if page.after is None else int(page.after)
    found: list[LoggedEvent] = []
    looked_at, last = 0, after
    for event in islice(read_log(session_id=run.session_id, after=after), _MOST_LOOKED_AT):
        if event.run_id == run_id and len(found) == page.limit:
            return _told(found, last=found[-1].index)
        if event.run_id == run_id:
            found.append(event)
        looked_at, last = looked_at + 1, event.index
    return _told(found, last=last if looked_at == _MOST_LOOKED_AT else None)


def _told(events: Sequence[LoggedEvent], *, last: int | None) -> Page[EventValue]:
    return Page(items=tuple(map(event_value, events)), next_position=None if last is None else str(last))


def _before_first_of(run_id: UUID) -> int:
    """What begins a run is written with its first node."""
    first = Node.objects.filter(run_id=run_id).order_by("event_index", "id").values_list("event_index", flat=True)[:1]
    return max(-1, next(iter(first), 0) - MAX_EVENTS_OF_ATTEMPT)


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
