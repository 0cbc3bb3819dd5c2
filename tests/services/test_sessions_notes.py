"""Sessions without a run: notes that last, and what an agent sees around it."""

import os
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.engine.runs import ObservationKey
from sessions_app.engine.submissions import Submission
from sessions_app.engine.tokens import TokenBadSignatureError
from sessions_app.services.moves import sessions
from sessions_app.services.store import signing_keys
from teams_app.engine.errors import ForbiddenError, InvalidInputError, NotFoundError
from tests import run_cast
from tests.key_turns import rotate_long_ago
from tests.run_cast import NOW, advanced, assert_healthy, events, plain_steps, session_id, words_of
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db

BRANCH, TICKET = ObservationKey.GIT_BRANCH, ObservationKey.TICKET


@pytest.fixture
def desk():
    return run_cast.make_desk()


def begun(desk, *, title="A chat", observations=None, actor=None):
    return sessions.start_session(
        actor=actor or desk.agent,
        title=title,
        observations=observations or {},
        now=NOW,
        entropy=os.urandom,
        speech=RAIL,
    ).value


def keep(desk, value, notes="Remember.", *, artifacts=(), actor=None):
    return sessions.bookmark_session(
        actor=actor or desk.agent,
        session_token=value["sessionToken"],
        submission=Submission(notes=notes, artifacts=tuple(artifacts)),
        now=NOW + timedelta(minutes=1),
        entropy=os.urandom,
        speech=RAIL,
    )


def observe(desk, value, observations, *, actor=None):
    sessions.observe(
        actor=actor or desk.agent,
        session_id=session_id(value),
        observations=observations,
        now=NOW + timedelta(minutes=2),
        entropy=os.urandom,
    )


def row(value):
    from sessions_app.models import WorkSession

    return WorkSession.objects.get(pk=session_id(value))


def outputs(value):
    from sessions_app.models import Output

    return list(Output.objects.filter(session_id=session_id(value)).order_by("event_index"))


def test_a_session_begins_with_its_title_and_what_was_seen(desk):
    value = begun(desk, observations={BRANCH: "main", TICKET: "A-1"})

    assert (row(value).title, row(value).git_branch, row(value).ticket) == ("A chat", "main", "A-1")
    assert [event["kind"] for event in events(value)] == ["session_created"] + ["observation_recorded"] * 2
    assert value["nextCall"]["tool"] == "checkpoint_workflow"
    assert_healthy(value)


def test_notes_of_a_session_are_kept_once_for_each_token(desk):
    value = begun(desk)

    first = keep(desk, value, artifacts=[{"kind": "own.a"}])
    again = keep(desk, value, "Other.")

    assert (again.data, again.replayed) == (first.data, True)
    assert [(out.channel, out.run_id) for out in outputs(value)] == [("recap", None), ("artifact", None)]
    assert keep(desk, first.value, "More.").value["sessionToken"] != first.value["sessionToken"]
    assert_healthy(value)


def test_a_run_can_begin_in_the_session_and_its_notes_still_belong_to_no_run(desk):
    value = begun(desk)
    keep(desk, value)
    run_cast.published(desk, *plain_steps(2))

    run = run_cast.start(desk, session_id=session_id(value)).value
    advanced(desk.agent, run)

    assert run["session"]["sessionId"] == value["session"]["sessionId"]
    assert_healthy(run)


def test_a_session_holds_several_runs_on_one_log(desk):
    run_cast.published(desk, *plain_steps(3))
    first = run_cast.start(desk).value
    second = run_cast.start(desk, session_id=session_id(first)).value

    advanced(desk.agent, second)
    advanced(desk.agent, first)
    advanced(desk.agent, advanced(desk.agent, second))

    assert [event["eventIndex"] for event in events(first)] == list(range(len(events(first))))
    assert_healthy(first)


def test_a_second_run_on_the_same_branch_is_no_second_observation(desk):
    run_cast.published(desk, *plain_steps(2))
    first = run_cast.start(desk, observations={BRANCH: "main"}).value

    second = run_cast.start(desk, session_id=session_id(first), observations={BRANCH: "main", TICKET: "A-1"}).value

    assert [event["data"]["value"] for event in events(second, "observation_recorded")] == ["main", "A-1"]
    assert (row(first).git_branch, row(first).ticket) == ("main", "A-1")
    assert_healthy(second)


def test_a_branch_that_comes_back_is_told_again(desk):
    value = begun(desk, observations={BRANCH: "main"})

    for branch in ("fix", "main", "main", "fix"):
        observe(desk, value, {BRANCH: branch})

    assert [event["data"]["value"] for event in events(value, "observation_recorded")] == ["main", "fix", "main", "fix"]
    assert row(value).git_branch == "fix"
    assert_healthy(value)


def test_what_is_seen_instead_of_something_else_is_recorded_without_reading_the_log(desk):
    run_cast.published(desk, *plain_steps(2))
    value = run_cast.start(desk, observations={BRANCH: "main"}).value
    with CaptureQueriesContext(connection) as asked:
        observe(desk, value, {BRANCH: "fix"})
        run_cast.start(desk, session_id=session_id(value), observations={BRANCH: "main"})

    assert [event["data"]["value"] for event in events(value, "observation_recorded")] == ["main", "fix", "main"]
    assert not [query["sql"] for query in asked if 'FROM "sessions_app_event"' in query["sql"]]
    assert_healthy(value)


def test_seeing_nothing_new_writes_nothing(desk):
    value = begun(desk, observations={BRANCH: "main"})
    before = (row(value).last_activity_at, len(events(value)))

    observe(desk, value, {BRANCH: "main"})

    assert (row(value).last_activity_at, len(events(value))) == before


@pytest.mark.parametrize("value", ["", "x" * 300, "a\nb", "a\x00b"])
def test_an_observation_that_no_column_holds_is_refused_everywhere(desk, value):
    run_cast.published(desk, *plain_steps(2))
    session = begun(desk)

    with pytest.raises(InvalidInputError):
        begun(desk, observations={BRANCH: value})
    with pytest.raises(InvalidInputError):
        observe(desk, session, {BRANCH: value})
    with pytest.raises(InvalidInputError):
        run_cast.start(desk, observations={BRANCH: value})


@pytest.mark.parametrize("fields", [{"title": "x" * 257}, {"goal": "x" * 2049}, {"title": "a\x00"}, {"goal": "\ud800"}])
def test_a_start_with_words_that_no_column_holds_is_refused(desk, fields):
    run_cast.published(desk, *plain_steps(2))

    with pytest.raises(InvalidInputError):
        run_cast.start(desk, **fields)


def test_nothing_to_remember_is_refused(desk):
    value = begun(desk)

    with pytest.raises(InvalidInputError, match="nothing to record"):
        keep(desk, value, "  ")
    with pytest.raises(InvalidInputError):
        keep(desk, value, "a\x00b")
    assert len(events(value)) == 1


def test_a_session_of_another_team_is_as_none(desk):
    value = begun(desk)

    with pytest.raises(NotFoundError):
        keep(desk, value, actor=desk.stranger)
    with pytest.raises(NotFoundError):
        observe(desk, value, {BRANCH: "main"}, actor=desk.stranger)


def test_a_viewer_begins_nothing(desk):
    with pytest.raises(ForbiddenError):
        begun(desk, actor=desk.viewer)


def test_after_two_rotations_a_session_token_repeats_and_records_nothing_new(desk):
    value, unused = begun(desk), begun(desk)
    keep(desk, value)
    rotate_long_ago(2)

    assert keep(desk, value).replayed
    with pytest.raises(TokenBadSignatureError):
        keep(desk, unused)
    signing_keys.forget_keys()


def test_the_text_of_a_session_has_its_token_on_a_line_of_its_own(desk):
    reply = sessions.start_session(
        actor=desk.agent, title="Notes", observations={}, now=NOW, entropy=os.urandom, speech=RAIL
    )

    assert reply.value["sessionToken"] in words_of(reply).splitlines()
