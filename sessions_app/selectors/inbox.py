"""Questions as the inbox lists them: each with its run, what came with it, and how often it was asked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Count, Exists, F, Func, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, JSONObject, Length

from sessions_app.engine.checkpoints import Authority, CheckpointState
from sessions_app.engine.reasons import Detail, GapSeverity
from sessions_app.engine.runs import OutputChannel
from sessions_app.models import CheckpointRequest, Gap, Node, Output, Run, WorkSession
from sessions_app.selectors.checkpoints import MOST_COUNTED, CheckpointValue, checkpoint_value, position_after
from sessions_app.selectors.evidence import SEND_BACK
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.pages import Page, PageRequest, cut_page

MOST_WALKED = 1_000
LONGEST_LISTED_DIFF_CHARACTERS = 32_768
_MOST_LISTED_DIFFS = 100


class InboxView(StrEnum):
    """`mine`: claimed by whoever looks, or for people only and free."""

    OPEN = "open"
    MINE = "mine"
    CLAIMED = "claimed"
    ANSWERED = "answered"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxRow:
    """`asked` counts how often it was asked, `sent_back_by` who sent the last one back, `with_it` what came with it,
    of which `diffs` are the artifacts that hold one and are short enough to be counted for a list.
    """

    value: CheckpointValue
    session_title: str
    ticket: str
    started_by: str
    asked: int
    sent_back_by: str
    open_gaps: int
    with_it: int
    diffs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxCounts:
    open: int
    mine: int
    claimed: int
    overdue: int


_COUNTS = """
SELECT count(*),
       count(*) FILTER (WHERE claimed_by = %(me)s OR (claimed_by = '' AND authority = 'human')),
       count(*) FILTER (WHERE claimed_by <> ''),
       count(*) FILTER (WHERE due_at < %(now)s)
FROM (SELECT claimed_by, authority, due_at FROM sessions_app_checkpointrequest
      WHERE team_id = %(team)s AND state = 'open' LIMIT %(most)s) q
"""


def count_inbox(*, actor: Actor, now: datetime) -> InboxCounts:
    """As far as anybody counts. One query."""
    actor.require(Permission.READ_RUNS)
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, {"me": actor.id, "now": now, "team": actor.team_id, "most": MOST_COUNTED})
        row = cursor.fetchone()
    return InboxCounts(open=row[0], mine=row[1], claimed=row[2], overdue=row[3])


def list_inbox(*, actor: Actor, view: InboxView, page: PageRequest, run_id: UUID | None = None) -> Page[InboxRow]:
    """What is due first comes first; what was answered, the latest first. Four queries."""
    actor.require(Permission.READ_RUNS)
    rows = _asked(actor).filter(_in_view(actor, view))
    if run_id is not None:
        rows = rows.filter(run_id=run_id)
    if view is InboxView.ANSWERED:
        return _answered(actor, rows, page)
    found = cut_page(
        rows=position_after(rows, page.after).order_by("due_at", "id")[: page.limit + 1],
        limit=page.limit,
        value_of=lambda row: row,
        position_of=lambda row: f"{row.due_at.isoformat() if row.due_at else ''} {to_text(Prefix.CHECKPOINT, row.id)}",
    )
    return _with_earlier(actor, found)


def first_of_mine(*, actor: Actor, limit: int) -> tuple[InboxRow, ...]:
    """The questions that are due first of those that wait for the actor, without what came before them. Two queries."""
    actor.require(Permission.READ_RUNS)
    rows = list(_asked(actor).filter(_in_view(actor, InboxView.MINE)).order_by("due_at", "id")[:limit])
    gaps = _open_gaps(actor, rows)
    return tuple(_inbox_row(row, (), (), gaps.get(row.run_id, 0)) for row in rows)


def rows_of(*, actor: Actor, ids: Iterable[UUID]) -> tuple[InboxRow, ...]:
    """Some questions of the team, in the order of the inbox. Four queries."""
    actor.require(Permission.READ_RUNS)
    rows = list(_asked(actor).filter(pk__in=list(ids)).order_by("due_at", "id"))
    return tuple(_with_earlier(actor, Page(items=tuple(rows), next_position=None)).items)


def walk_ids(*, actor: Actor) -> tuple[UUID, ...]:
    """The open questions that the actor may answer, in the order of the inbox. One query."""
    actor.require(Permission.READ_RUNS)
    rows = CheckpointRequest.objects.filter(
        team_id=actor.team_id, state=CheckpointState.OPEN.value, claimed_by__in=["", actor.id]
    )
    return tuple(rows.order_by("due_at", "id").values_list("id", flat=True)[:MOST_WALKED])


def _in_view(actor: Actor, view: InboxView) -> Q:
    is_open = Q(state=CheckpointState.OPEN.value)
    match view:
        case InboxView.OPEN:
            return is_open
        case InboxView.MINE:
            return is_open & (Q(claimed_by=actor.id) | Q(claimed_by="", authority=Authority.HUMAN.value))
        case InboxView.CLAIMED:
            return is_open & ~Q(claimed_by="")
        case InboxView.ANSWERED:
            return Q(state=CheckpointState.ANSWERED.value)
        case InboxView.ALL:
            return Q()


def _asked(actor: Actor) -> QuerySet[Any]:
    run = Run.objects.filter(pk=OuterRef("run_id")).values(
        found=JSONObject(
            title=F("workflow_title"), goal=F("goal"), name=F("name"), dialect=F("dialect"), by=F("created_by")
        )
    )
    session = WorkSession.objects.filter(pk=OuterRef("session_id")).values(
        found=JSONObject(title=F("title"), ticket=F("ticket"))
    )
    brought = Output.objects.filter(run_id=OuterRef("run_id"), channel=OutputChannel.ARTIFACT.value)
    # What was handed in at the question belongs to the nodes behind it, by which an index finds it.
    behind = Node.objects.filter(parent_id=OuterRef(OuterRef("pk"))).values("id")
    return CheckpointRequest.objects.filter(team_id=actor.team_id).annotate(
        of_run=Subquery(run[:1]),
        of_session=Subquery(session[:1]),
        with_it=_count(brought.filter(to_node_id=OuterRef("pk"))) + _count(brought.filter(to_node_id__in=behind)),
    )


def _open_gaps(actor: Actor, rows: Iterable[Any]) -> Mapping[UUID, int]:
    """Of each run, counted once however many of its questions are listed. One query."""
    closes = Gap.objects.filter(run_id=OuterRef("run_id"), resolved_by_id=OuterRef("pk"))
    # A step without notes that nobody asked for is no reason to look, as on the page of the question.
    unnoted = Q(detail=Detail.MISSING_REQUIRED_NOTES.value, severity=GapSeverity.INFO.value)
    gaps = Gap.objects.filter(
        ~Exists(closes),
        ~unnoted,
        team_id=actor.team_id,
        run_id__in={row.run_id for row in rows},
        resolved_by_id__isnull=True,
    )
    return dict(gaps.order_by().values_list("run_id").annotate(count=Count("pk")))


def _count(rows: QuerySet[Any]) -> Coalesce:
    counted = rows.order_by().annotate(count=Func(F("pk"), function="count")).values("count")
    return Coalesce(Subquery(counted), 0, output_field=IntegerField())


def _answered(actor: Actor, rows: QuerySet[Any], page: PageRequest) -> Page[InboxRow]:
    if page.after is not None:
        at, _, row_id = page.after.partition(" ")
        moment = datetime.fromisoformat(at)
        rows = rows.filter(Q(answered_at__lt=moment) | Q(answered_at=moment, id__lt=UUID(row_id)))
    found = cut_page(
        rows=rows.order_by("-answered_at", "-id")[: page.limit + 1],
        limit=page.limit,
        value_of=lambda row: row,
        position_of=lambda row: f"{row.answered_at.isoformat()} {row.id}",
    )
    return _with_earlier(actor, found)


def _with_earlier(actor: Actor, found: Page[Any]) -> Page[InboxRow]:
    earlier = _earlier(actor, found.items)
    diffs = _diffs(actor, [row for row in found.items if row.with_it])
    gaps = _open_gaps(actor, found.items)
    return found.map(
        lambda row: _inbox_row(
            row,
            earlier.get((row.run_id, row.instance_key), ()),
            tuple(diffs.get(row.pk, ())),
            gaps.get(row.run_id, 0),
        )
    )


def _diffs(actor: Actor, rows: Iterable[Any]) -> Mapping[UUID, list[str]]:
    """Those that came with these questions. One query, and none for none."""
    runs = {row.pk: row.run_id for row in rows}
    if not runs:
        return {}
    brought = Output.objects.filter(
        Q(to_node_id__in=runs) | Q(node_id__in=runs),
        team_id=actor.team_id,
        run_id__in=set(runs.values()),
        channel=OutputChannel.ARTIFACT.value,
        body__contains="@@ -",
    ).alias(characters=Length("body"))
    found: dict[UUID, list[str]] = {}
    for to_node, node, body in (
        brought.filter(characters__lte=LONGEST_LISTED_DIFF_CHARACTERS)
        .order_by("event_index")
        .values_list("to_node_id", "node_id", "body")[:_MOST_LISTED_DIFFS]
    ):
        for question in runs.keys() & {to_node, node}:
            found.setdefault(question, []).append(body)
    return found


def _earlier(actor: Actor, rows: Iterable[Any]) -> Mapping[tuple[UUID, str], list[tuple[int, str, str]]]:
    """When the same was asked in the runs of these questions and sent back, or has changed, and what was answered by whom."""
    runs = {row.run_id for row in rows}
    gone = Q(option_id=SEND_BACK) | Q(state=CheckpointState.STALE.value)
    same = CheckpointRequest.objects.filter(gone, team_id=actor.team_id, run_id__in=runs).order_by("event_index")
    found: dict[tuple[UUID, str], list[tuple[int, str, str]]] = {}
    for run_id, key, index, option, by in same.values_list(
        "run_id", "instance_key", "event_index", "option_id", "answered_by"
    ):
        found.setdefault((run_id, key), []).append((index, option, by))
    return found


def _inbox_row(row: Any, same: Iterable[tuple[int, str, str]], diffs: tuple[str, ...], open_gaps: int) -> InboxRow:
    before = [entry for entry in same if entry[0] < row.event_index]
    last = before[-1] if before else (0, "", "")
    return InboxRow(
        value=checkpoint_value(
            row,
            Run(
                workflow_title=row.of_run["title"],
                goal=row.of_run["goal"],
                name=row.of_run["name"],
                dialect=row.of_run["dialect"],
            ),
        ),
        session_title=row.of_session["title"],
        ticket=row.of_session["ticket"],
        started_by=row.of_run["by"],
        asked=1 + len(before),
        sent_back_by=last[2] if last[1] == SEND_BACK else "",
        open_gaps=open_gaps,
        with_it=row.with_it,
        diffs=diffs,
    )
