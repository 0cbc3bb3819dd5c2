"""The log is read event by event, however many of them a row holds."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.engine.tokens import SessionNotHealthyError
from sessions_app.selectors import records
from sessions_app.selectors.records import list_events, list_run_events, read_event
from teams_app.engine.errors import NotFoundError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.pages import PageRequest
from tests import logs, run_cast
from tests.bundle_play import export, take_in
from tests.run_cast import advanced, assert_healthy, begin, events, plain_steps, run_id, session_id

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk():
    return run_cast.make_desk()


@pytest.fixture
def value(desk):
    """What a release before wrote, and what was written since."""
    before = begin(desk, *plain_steps(3))
    logs.spread(session_id(before))
    return advanced(desk.agent, before)


def paged(ask, limit):
    found, after = [], None
    while True:
        page = ask(PageRequest(after=after, limit=limit))
        found += page.items
        after = page.next_position
        if after is None:
            return found


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_tell_every_event_once_in_order(desk, value, limit):
    found = paged(lambda page: list_events(actor=desk.viewer, session_id=session_id(value), page=page), limit)

    assert [event.index for event in found] == list(range(len(events(value))))
    assert [event.kind.value for event in found] == [event["kind"] for event in events(value)]
    assert [to_text(Prefix.EVENT, event.event_id) for event in found] == [event["eventId"] for event in events(value)]


def test_of_two_runs_in_one_session_each_has_its_own_events(desk, value):
    other = run_cast.start(desk, session_id=session_id(value)).value
    advanced(desk.agent, other)

    for of in (value, other):
        found = paged(lambda page, of=of: list_run_events(actor=desk.viewer, run_id=run_id(of), page=page), 2)
        told = [event for event in events(value) if event.get("scope", {}).get("runId") == of["session"]["runId"]]
        assert [event.index for event in found] == [event["eventIndex"] for event in told]
        assert {event.run_id for event in found} == {run_id(of)}


def test_a_page_of_a_run_looks_at_so_much_of_a_long_log_and_says_where_to_go_on(desk, value, monkeypatch):
    other = run_cast.start(desk, session_id=session_id(value)).value
    advanced(desk.agent, other)
    monkeypatch.setattr(records, "_MOST_LOOKED_AT", 3)

    pages = []
    for of in (value, other):

        def ask(page, of=of):
            with CaptureQueriesContext(connection) as queries:
                pages.append((list_run_events(actor=desk.viewer, run_id=run_id(of), page=page), len(queries)))
            return pages[-1][0]

        found = paged(ask, 2)
        told = [event for event in events(value) if event.get("scope", {}).get("runId") == of["session"]["runId"]]
        assert [event.index for event in found] == [event["eventIndex"] for event in told]
    assert max(queries for _page, queries in pages) <= 3
    assert any(len(page.items) < 2 and page.next_position is not None for page, _queries in pages)


def test_a_short_page_of_a_run_asks_no_more_of_a_long_log_than_a_long_one(desk, value):
    for _ in range(30):
        run_cast.start(desk, session_id=session_id(value))
    with CaptureQueriesContext(connection) as queries:
        list_run_events(actor=desk.viewer, run_id=run_id(value), page=PageRequest(limit=200))
    usual = len(queries)
    with CaptureQueriesContext(connection) as queries:
        list_run_events(actor=desk.viewer, run_id=run_id(value), page=PageRequest(limit=1))

    assert len(queries) <= usual


def test_each_event_is_found_by_its_index_and_no_other(desk, value):
    for told in events(value):
        index = told["eventIndex"]
        found = read_event(actor=desk.viewer, session_id=session_id(value), index=index)
        assert (found.index, found.kind.value) == (index, told["kind"])
    for index in (len(events(value)), 2**40):
        with pytest.raises(NotFoundError):
            read_event(actor=desk.viewer, session_id=session_id(value), index=index)


def test_a_log_of_both_forms_is_whole_and_leaves_and_comes_back_as_itself(desk, value):
    assert_healthy(value)
    done = take_in(desk.person, export(desk.person, session_id(value)))

    (taken,) = done.session_ids
    assert [event.kind for event in logs.logged(session_id=taken)] == [event["kind"] for event in events(value)]
    assert_healthy({"session": {"sessionId": to_text(Prefix.SESSION, taken)}})


def test_a_row_that_holds_no_events_is_told_and_not_broken_over(desk, value):
    cut = "UPDATE sessions_app_event SET body = substr(body, 1, length(body) - 5) WHERE session_id = %s AND count > 1"
    assert logs.without_guard(cut, [session_id(value)]) > 0

    with pytest.raises(SessionNotHealthyError):
        list_events(actor=desk.viewer, session_id=session_id(value), page=PageRequest(after=None, limit=100))
