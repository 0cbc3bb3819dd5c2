"""The list of sessions: what each is called, where its runs stand, its ticket and its branch."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils import timezone

from sessions_app.admin import pages, run_lists, showing, sorting, states, view_acts
from sessions_app.engine.run_query import RunQuery, RunSort, RunWord, ViewedList, read_query
from sessions_app.engine.runs import RunStatus
from sessions_app.engine.values import SessionValue
from sessions_app.selectors.run_order import RunOrder
from sessions_app.selectors.sessions import SessionFilters, list_sessions
from teams_app.admin.pages import words_of
from teams_app.admin.parts import State, Tab
from teams_app.engine.actors import Actor
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.pages import Page, PageRequest

PER_PAGE = 50
# A session is asked for by the status that one of its runs has.
_STATUSES: Mapping[RunWord, str] = {
    RunWord.RUNNING: "in_progress",
    RunWord.WAITING: "waiting",
    RunWord.BLOCKED: "blocked",
    RunWord.PAUSED: "paused",
    RunWord.DONE: "complete",
    RunWord.GAPS: "complete_with_gaps",
    RunWord.REJECTED: "rejected",
    RunWord.CANCELLED: "cancelled",
}


VIEW_ACTS = view_acts.acts_of(ViewedList.SESSIONS)
_SORTS = frozenset({RunSort.CALL, RunSort.STARTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSession:
    value: SessionValue
    public_id: str
    name: str
    url: str
    runs: tuple[tuple[State, int], ...]


def context_of(*, request: HttpRequest, actor: Actor) -> dict[str, Any]:
    now = timezone.now()
    text = run_lists.text_of(request)
    refusal, query, filters = "", RunQuery(), SessionFilters()
    try:
        query = read_query(text=text, now=now)
        filters = _filters(query)
    except InvalidInputError as wrong:
        refusal = words_of(wrong)
    found: Page[SessionValue] = Page(items=())
    if not refusal:
        found = pages.from_position(
            request,
            lambda after: list_sessions(
                actor=actor, filters=filters, page=PageRequest(after=after, limit=PER_PAGE), order=_order(query)
            ),
        )
    return {
        "query": text,
        "typed": " ".join(query.words) if not refusal else text,
        "kept": " ".join(term.text for term in query.terms),
        "query_refusal": refusal,
        "terms": [
            run_lists.ShownTerm(text=term.text, without_url=f"?{urlencode({'q': term.rest})}") for term in query.terms
        ],
        "tabs": [Tab(label="All", url="?", is_here=not text)],
        "views": view_acts.shown_views(actor=actor, viewed=ViewedList.SESSIONS, acts=VIEW_ACTS, text=text, known=[""]),
        "headings": sorting.headings(text=text, query=query, sorts=_SORTS, beside={}),
        "rows": [_shown(value, now) for value in found.items],
        "following": pages.position_url(request, found.next_position),
        "is_later": bool(request.GET.get("after")),
        "clear_url": "?",
        "first_url": f"?{urlencode({'q': text})}",
    }


def _filters(query: RunQuery) -> SessionFilters:
    if query.agent or query.has_gap or query.since is not None or query.workflow.endswith("*"):
        raise InvalidInputError(
            "Sessions are asked for by status:, workflow:, ticket:, branch: and words.",
            suggestion="The list of runs takes agent:, gap: and since: too.",
        )
    if query.sort not in _SORTS:
        raise InvalidInputError(
            f"Sessions are not sorted by {query.sort.value}.", suggestion="Write sort:call or sort:started."
        )
    return SessionFilters(
        status=_status(query.status),
        workflow_id=query.workflow,
        ticket=query.ticket,
        git_branch=query.branch,
        text=" ".join(query.words),
        anywhere=True,
    )


def _order(query: RunQuery) -> RunOrder:
    return RunOrder(sort=query.sort, is_reversed=query.is_reversed)


def _status(word: RunWord | None) -> RunStatus | None:
    if word is None:
        return None
    try:
        return RunStatus(_STATUSES[word])
    except (KeyError, ValueError):
        raise InvalidInputError(
            f"Sessions are not asked for “{word.value}”.", suggestion="Ask the list of runs for it."
        ) from None


def _shown(value: SessionValue, now: datetime) -> ShownSession:
    order = list(RunStatus)
    counts = sorted(value.runs.items(), key=lambda each: order.index(each[0]))
    at = value.last_activity_at
    return ShownSession(
        value=value,
        public_id=to_text(Prefix.SESSION, value.id),
        name=value.title or value.ticket or "A session without a name",
        url=showing.session_url(value.id),
        runs=tuple((states.run_state(status, last_activity_at=at, now=now), count) for status, count in counts),
    )
