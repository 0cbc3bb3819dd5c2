"""Many at once on a real database: one acknowledgement is one advance, and no attempt is lost."""

import os

import pytest

from sessions_app.engine.runs import ObservationKey
from sessions_app.services.moves import runs, sessions
from tests import run_cast
from tests.crews import hiring
from tests.engine_play import NEVER_STOP
from tests.run_cast import NOW, advance, advanced, assert_healthy, bookmark, events, notes_free, rehydrate, run_id
from tests.step_documents import step
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db(transaction=True)

ACKS, ATTEMPTS = 32, 16
# What the suite repeats of the dearer races; all 200 are asked for with -m slow. The cheapest is always repeated so often.
IN_THE_SUITE, IN_FULL = 25, 200


@pytest.fixture
def desk():
    return run_cast.make_desk()


crew = pytest.fixture(hiring)


def nodes_of(value, kind="step"):
    from sessions_app.models import Node

    return Node.objects.filter(run_id=run_id(value), kind=kind)


def published_pair(desk):
    run_cast.published(desk, notes_free("first-step"), notes_free("next-step"))


REPETITIONS = pytest.mark.parametrize(
    "repetitions", [IN_THE_SUITE, pytest.param(IN_FULL, marks=pytest.mark.slow)], ids=["suite", "full"]
)


def test_one_ack_token_in_many_hands_is_one_advance_and_equal_replies(desk, crew):
    published_pair(desk)
    hands = crew(ACKS)

    for _ in range(IN_FULL):
        value = run_cast.start(desk).value
        replies = hands.race(*[lambda value=value: advance(desk.agent, value)] * ACKS)

        assert {getattr(reply, "data", reply) for reply in replies} == {replies[0].data}
        assert sum(not reply.replayed for reply in replies) == 1
        assert len(events(value, "advance_recorded")) == 1
        assert nodes_of(value).count() == 2
        assert_healthy(value)


@REPETITIONS
def test_many_attempts_on_one_node_are_as_many_siblings_and_none_is_lost(desk, crew, repetitions):
    published_pair(desk)
    hands = crew(ATTEMPTS)

    for _ in range(repetitions):
        value = run_cast.start(desk).value
        fresh = [rehydrate(desk.agent, value).value for _ in range(ATTEMPTS)]
        works = [
            lambda at=at, number=number: advance(desk.agent, at, f"By {number}.") for number, at in enumerate(fresh)
        ]
        replies = hands.race(*works)

        assert [reply for reply in replies if isinstance(reply, Exception)] == []
        assert len({reply.value["stateToken"] for reply in replies}) == ATTEMPTS
        assert nodes_of(value).count() == ATTEMPTS + 1
        notes = [event["data"]["payload"]["notesMarkdown"] for event in events(value, "node_output_appended")]
        assert sorted(notes) == sorted(f"By {number}." for number in range(ATTEMPTS))
        assert_healthy(value)


@REPETITIONS
def test_whatever_is_done_to_one_session_at_once_is_all_done(desk, crew, repetitions):
    run_cast.published(desk, step("first-step"), notes_free("next-step"))
    hands = crew(6)

    for number in range(repetitions):
        value = run_cast.start(desk).value
        kept, again = (rehydrate(desk.agent, value).value for _ in range(2))
        session = run_cast.session_id(value)
        results = hands.race(
            lambda at=value: advance(desk.agent, at),
            lambda at=again: advance(desk.agent, at, ""),
            lambda at=kept: bookmark(desk.agent, at),
            lambda here=session, number=number: sessions.observe(
                actor=desk.agent,
                session_id=here,
                observations={ObservationKey.GIT_BRANCH: f"branch-{number}"},
                now=NOW,
                entropy=os.urandom,
            ),
            lambda at=value: runs.change_preferences(
                actor=desk.person, run_id=run_id(at), change=NEVER_STOP, now=NOW, entropy=os.urandom, speech=RAIL
            ),
            lambda here=session: run_cast.start(desk, session_id=here),
        )

        assert [result for result in results if isinstance(result, Exception)] == []
        told = events(value)
        assert [event["eventIndex"] for event in told] == list(range(len(told)))
        kinds = [event["kind"] for event in told]
        assert (kinds.count("advance_recorded"), kinds.count("observation_recorded")) == (2, 1)
        assert (nodes_of(value, "checkpoint").count(), kinds.count("run_started")) == (1, 2)
        assert_healthy(value)


def test_a_bookmark_token_in_many_hands_is_one_bookmark(desk, crew):
    published_pair(desk)
    value = run_cast.start(desk).value

    replies = crew(8).race(*[lambda: bookmark(desk.agent, value)] * 8)

    assert {reply.data for reply in replies} == {replies[0].data}
    assert nodes_of(value, "checkpoint").count() == 1
    assert_healthy(value)


def test_a_block_in_many_hands_is_one_block(desk, crew):
    run_cast.published(desk, step("first-step"))
    value = run_cast.start(desk).value

    replies = crew(8).race(*[lambda: advance(desk.agent, value, "")] * 8)

    assert {reply.data for reply in replies} == {replies[0].data}
    assert nodes_of(value, "blocked_attempt").count() == 1


def test_one_request_to_start_in_many_hands_is_one_run(desk, crew):
    from sessions_app.models import Run, WorkSession

    published_pair(desk)

    replies = crew(8).race(*[lambda: run_cast.start(desk, request_key="once")] * 8)

    assert {reply.data for reply in replies} == {replies[0].data}
    assert (Run.objects.count(), WorkSession.objects.count()) == (1, 1)
    assert advanced(desk.agent, replies[0].value)["pending"]["stepId"] == "next-step"


def test_many_starts_at_once_are_as_many_runs(desk, crew):
    """Nothing that all sessions share is held while one begins."""
    from sessions_app.models import Run, WorkSession

    published_pair(desk)

    replies = crew(ACKS).race(*[lambda: run_cast.start(desk)] * ACKS)

    assert [reply for reply in replies if isinstance(reply, Exception)] == []
    assert (Run.objects.count(), WorkSession.objects.count()) == (ACKS, ACKS)
    for reply in replies:
        assert_healthy(reply.value)


def test_the_same_observation_by_many_is_told_once(desk, crew):
    published_pair(desk)
    value = run_cast.start(desk).value
    seen = {ObservationKey.TICKET: "A-1"}

    def observe():
        sessions.observe(
            actor=desk.agent,
            session_id=run_cast.session_id(value),
            observations=seen,
            now=NOW,
            entropy=os.urandom,
        )

    assert crew(8).race(*[observe] * 8) == [None] * 8
    assert len(events(value, "observation_recorded")) == 1
    assert_healthy(value)


def test_sessions_of_one_workflow_do_not_meet_though_their_states_are_the_same(desk, crew):
    """Their snapshots have one digest: the first to write it wins, and the others are none the worse."""
    published_pair(desk)

    def walk():
        return advanced(desk.agent, advanced(desk.agent, run_cast.start(desk).value))

    ends = crew(16).race(*[walk] * 16)

    assert [end for end in ends if isinstance(end, Exception)] == []
    assert all(end["isComplete"] for end in ends)
    for end in ends:
        assert_healthy(end)


class CrashError(Exception):
    pass


def test_of_many_some_of_whom_crash_between_read_and_write_one_advances(desk, crew):
    from sessions_app.engine.submissions import Submission

    published_pair(desk)
    value = run_cast.start(desk).value

    def crash(_count):
        raise CrashError

    def act(entropy):
        return runs.advance_run(
            actor=desk.agent,
            state_token=value["stateToken"],
            ack_token=value["ackToken"],
            submission=Submission(notes="Done."),
            now=NOW,
            entropy=entropy,
            speech=RAIL,
        )

    results = crew(8).race(*[lambda: act(crash)] * 4, *[lambda: act(os.urandom)] * 4)

    good = [result for result in results if not isinstance(result, CrashError)]
    assert len({reply.data for reply in good}) == 1
    assert sum(not reply.replayed for reply in good) == 1
    assert nodes_of(value).count() == 2
    assert_healthy(value)
