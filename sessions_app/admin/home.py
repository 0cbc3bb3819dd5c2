"""The first page: whether anybody has to act, what is stuck, what goes on, and how the last days were."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone

from sessions_app.admin import checkpoints, run_lists, states
from sessions_app.admin.places import ShownPlaces, places_of
from sessions_app.engine.run_query import RunQuery, RunWord
from sessions_app.selectors import inbox, run_list
from sessions_app.selectors.home import Sums, read_sums
from sessions_app.selectors.inbox import InboxCounts, InboxRow
from sessions_app.selectors.run_list import ListedRun
from teams_app import selectors
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.counting import counted
from teams_app.engine.markdown import plain_words
from teams_app.engine.pages import PageRequest
from teams_app.engine.times import date_words
from workflows_app.engine.program import Program
from workflows_app.selectors.programs import load_programs

_SHOWN = 3
_DAYS = 14
_BAR_WIDTH = 96
_HEIGHT, _TOP, _STEP, _BAR = 74, 8, 20.7, 15
_KINDS = (("complete", "done"), ("complete_with_gaps", "gaps"), ("rejected", "other"), ("cancelled", "other"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    kind: str
    x: float
    y: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsDone:
    """Which step a run is at; the bar is as wide as the steps before it."""

    says: str
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    bars: Sequence[Bar]
    lines: Sequence[tuple[float, int]]
    first: str
    label: str


def context_of(*, actor: Actor, now: datetime) -> dict[str, Any]:
    midnight = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    today = midnight.date()
    counts = inbox.count_inbox(actor=actor, now=now)
    runs = run_list.count_runs(actor=actor, now=now, idle_after=states.IDLE_AFTER)
    sums = read_sums(actor=actor, midnights=[midnight - timedelta(days=_DAYS - 1 - place) for place in range(_DAYS)])
    mine = inbox.first_of_mine(actor=actor, limit=_SHOWN)
    stuck, running = _rows(actor, RunWord.STUCK, now), _rows(actor, RunWord.RUNNING, now)
    names = _names(actor, mine, [*stuck, *running])
    waiting = [checkpoints.shown_row(actor, row, names, now) for row in mine]
    reasons = run_list.read_reasons(actor=actor, runs=[row.run for row in stuck])
    programs = load_programs(row.run.workflow_hash for row in running)
    finished_today = {kind: _of_day(sums, today, kind) for kind in ("done", "gaps")}
    return {
        "title": _eye(actor, counts) if runs.open or sums.workflows else "No agent has called yet",
        "here": "Home",
        "subtitle": f"{today:%A} {today.day} {today:%B}, {timezone.localtime(now):%H:%M}",
        "counts": counts,
        "runs": runs,
        "running_count": max(0, runs.open - runs.waiting - runs.stuck),
        "done_today": sum(finished_today.values()),
        "gaps_today": finished_today["gaps"],
        "waiting": waiting,
        "stuck": [(run_lists.shown_run(row, names, now), plain_words(reasons.get(row.run.id, ""))) for row in stuck],
        "running": [(run_lists.shown_run(row, names, now), _step_of(row, programs)) for row in running],
        "chart": chart(sums, today, now) if sums.finished else None,
        "sums": sums,
        "first_url": waiting[0].url if waiting and actor.may(Permission.ANSWER_CHECKPOINTS) else "",
        "is_new": not (runs.open or sums.workflows),
        "may_answer": actor.may(Permission.ANSWER_CHECKPOINTS),
        "may_connect": actor.may(Permission.MANAGE_TEAM),
        "live_url": reverse("admin:live_team"),
        "watch_url": reverse("admin:watch_team"),
    }


def chart(sums: Sums, today: date, now: datetime) -> Chart:
    """A column for each day, done below, with gaps above it, rejected and cancelled on top."""
    days = [today - timedelta(days=_DAYS - 1 - place) for place in range(_DAYS)]
    totals = [sum(_of_day(sums, day, kind) for kind in ("done", "gaps", "other")) for day in days]
    top = _round_up(max(totals))
    bars: list[Bar] = []
    for place, day in enumerate(days):
        y = float(_HEIGHT + _TOP)
        for kind in ("done", "gaps", "other"):
            height = round(_HEIGHT * _of_day(sums, day, kind) / top, 1)
            if height:
                y = round(y - height, 1)
                bars.append(Bar(kind=kind, x=round(2 + _STEP * place, 1), y=y, height=height))
    lines = [(_TOP + _HEIGHT - _HEIGHT * part / 2, top * part // 2) for part in range(3)]
    return Chart(
        bars=bars,
        lines=lines,
        first=date_words(timezone.localtime(now) - timedelta(days=_DAYS - 1), now=timezone.localtime(now)),
        label=f"Runs finished in each of the last {_DAYS} days: at most {max(totals)}, {totals[-1]} today",
    )


def _of_day(sums: Sums, day: date, kind: str) -> int:
    return sum(sums.finished.get((day, status), 0) for status, drawn in _KINDS if drawn == kind)


def _round_up(most: int) -> int:
    """Even, so that half of it is a number too."""
    return max(2, most + most % 2)


def _rows(actor: Actor, word: RunWord, now: datetime) -> Sequence[ListedRun]:
    found = run_list.list_run_rows(
        actor=actor,
        query=RunQuery(status=word),
        page=PageRequest(limit=_SHOWN),
        now=now,
        idle_after=states.IDLE_AFTER,
    )
    return found.items


def _names(actor: Actor, questions: Sequence[InboxRow], runs: Sequence[ListedRun]) -> Mapping[str, str]:
    ids = {text for row in questions for text in checkpoints.people_in(row)} | {row.run.created_by for row in runs}
    return selectors.name_actors(actor=actor, ids=ids) if ids else {}


def _step_of(row: ListedRun, programs: Mapping[str, Program]) -> StepsDone | None:
    """“Step 4 of 10”, as the program of the run counts them."""
    program = programs.get(row.run.workflow_hash)
    places = places_of(program=program, state=None) if program else ShownPlaces()
    said = places.of_step(row.pending_key)
    if not said:
        return None
    number = places.numbers[row.pending_key.rpartition("::")[2]]
    return StepsDone(says=said.lower(), width=round(_BAR_WIDTH * (number - 1) / len(places.numbers), 1))


def _eye(actor: Actor, counts: InboxCounts) -> str:
    if not counts.open:
        return "Nothing waits for you"
    if not actor.may(Permission.ANSWER_CHECKPOINTS):
        return f"{counted(counts.open, 'question')} {'waits' if counts.open == 1 else 'wait'} for people"
    if not counts.mine:
        return "Nothing waits for you"
    verb = "waits" if counts.mine == 1 else "wait"
    late = f", {counts.overdue} {'is' if counts.overdue == 1 else 'are'} overdue" if counts.overdue else ""
    return f"{counted(counts.mine, 'question')} {verb} for you{late}"
