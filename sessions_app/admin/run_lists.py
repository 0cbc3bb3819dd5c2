"""The list of runs: tabs, one query box whose parts can be taken out again, and rows that say where each run stands."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone

from sessions_app.admin import naming, pages, showing, sorting, states, view_acts
from sessions_app.engine.run_query import MAX_QUERY_CHARACTERS, RunQuery, RunSort, ViewedList, read_query
from sessions_app.selectors import run_list
from sessions_app.selectors.run_list import ListedRun, RunCounts
from teams_app import selectors
from teams_app.admin.pages import words_of
from teams_app.admin.parts import State, Tab
from teams_app.engine.actors import Actor
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.pages import Page, PageRequest

PER_PAGE = 50
VIEW_ACTS = view_acts.acts_of(ViewedList.RUNS)
_TABS = (("Open", "status:open"), ("Waiting", "status:waiting"), ("Stuck", "status:stuck"), ("All", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRun:
    row: ListedRun
    id: UUID
    public_id: str
    name: str
    url: str
    state: State
    now_at: str
    agent: str
    branches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTerm:
    text: str
    without_url: str


def context_of(*, request: HttpRequest, actor: Actor, session_id: UUID | None) -> dict[str, Any]:
    """A query that cannot be read is refused aloud, and shows nothing rather than all."""
    now = timezone.now()
    text = text_of(request)
    # The runs of one session stay those of one, however they are sorted and searched; the tabs are of all.
    beside = {} if session_id is None else {"session_id": str(session_id)}
    refusal, query = "", RunQuery()
    try:
        query = read_query(text=text, now=now)
    except InvalidInputError as wrong:
        refusal = words_of(wrong)
    found: Page[ListedRun] = Page(items=())
    if not refusal:
        found = pages.from_position(
            request,
            lambda after: run_list.list_run_rows(
                actor=actor,
                query=query,
                page=PageRequest(after=after, limit=PER_PAGE),
                now=now,
                idle_after=states.IDLE_AFTER,
                session_id=session_id,
            ),
        )
    counts = run_list.count_runs(actor=actor, now=now, idle_after=states.IDLE_AFTER)
    return {
        "query": text,
        "typed": " ".join(query.words) if not refusal else text,
        "kept": " ".join(term.text for term in query.terms),
        "query_refusal": refusal,
        "terms": [ShownTerm(text=term.text, without_url=sorting.asked(term.rest, beside)) for term in query.terms],
        "tabs": _tabs(text, counts),
        "views": view_acts.shown_views(
            actor=actor, viewed=ViewedList.RUNS, acts=VIEW_ACTS, text=text, known=[query for _, query in _TABS]
        ),
        "headings": sorting.headings(text=text, query=query, sorts=tuple(RunSort), beside=beside),
        "beside": beside,
        "rows": shown_rows(actor, found.items, now),
        "following": pages.position_url(request, found.next_position),
        "is_later": bool(request.GET.get("after")),
        "first_url": sorting.asked(text, beside),
        "clear_url": sorting.asked("", beside),
    }


def text_of(request: HttpRequest) -> str:
    """What stands in the box, with the terms beside it that were kept."""
    parts = (request.GET.get("kept", ""), request.GET.get("q", ""))
    return " ".join(" ".join(parts).replace("\x00", "").split())[: 2 * MAX_QUERY_CHARACTERS]


def shown_rows(actor: Actor, rows: Iterable[ListedRun], now: datetime) -> list[ShownRun]:
    """With the names of who began them, and how many branches they have, in two queries."""
    found = list(rows)
    ids = {row.run.created_by for row in found}
    names = selectors.name_actors(actor=actor, ids=ids) if ids else {}
    branches = run_list.count_branches(actor=actor, ids=[row.run.id for row in found])
    return [shown_run(row, names, now, branches=branches.get(row.run.id, 0)) for row in found]


def shown_run(row: ListedRun, names: Mapping[str, str], now: datetime, *, branches: int = 0) -> ShownRun:
    run = row.run
    name = naming.run_name(
        goal=run.goal, name=run.name, session_title=row.session_title, workflow_title=run.workflow_title
    )
    is_over = run.status.value in states.ENDED
    return ShownRun(
        row=row,
        id=run.id,
        public_id=to_text(Prefix.RUN, run.id),
        name=name if not row.ticket or row.ticket in name else f"{row.ticket} {name}",
        url=showing.run_url(run.id),
        state=states.run_state(run.status, last_activity_at=run.last_activity_at, now=now, waits=row.waits),
        now_at="" if is_over else row.now_at,
        agent=names.get(run.created_by, ""),
        branches=branches,
    )


def _tabs(text: str, counts: RunCounts) -> list[Tab]:
    counted = {"status:open": counts.open, "status:waiting": counts.waiting, "status:stuck": counts.stuck}
    return [
        Tab(
            label=label,
            url=sorting.asked(query, {}),
            is_here=text == query,
            count=counted.get(query),
            is_urgent=query == "status:waiting" and counts.waiting > 0,
        )
        for label, query in _TABS
    ]
