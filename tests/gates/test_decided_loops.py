"""A loop that an artifact decides, with a person in it: the word that ends it ends it in every dialect, once its round is done."""

import pytest

from tests.gate_play import (
    APPROVAL,
    COMPLETE,
    HANDED_OVER,
    STEPS,
    hand_in,
    person_answers,
    reached,
    said,
)
from tests.run_cast import notes_free, published
from tests.step_documents import loop, step

pytestmark = pytest.mark.django_db(transaction=True)

DECISION = {"outputContract": {"contractRef": "wr.contracts.loop_control"}}
STOP = {"kind": "wr.loop_control", "decision": "stop"}
GO_ON = {"kind": "wr.loop_control", "decision": "continue"}
# How often a person is asked in so many rounds, by what they approve: the work, the very step that decides, or the loop.
APPROVED = {
    "work": lambda rounds: rounds,
    "decide": lambda rounds: rounds,
    "both": lambda rounds: 2 * rounds,
    "loop": lambda _: 1,
}


def publish(desk, approved, *, around=0):
    """With a loop of so many rounds around it, if any."""

    def asked(name):
        return {"requireConfirmation": APPROVAL} if approved in (name, "both") else {}

    work = step("work", notesOptional=True, **asked("work"))
    decide = step("decide", notesOptional=True, **DECISION, **asked("decide"))
    rounds = loop(
        "rounds",
        [work, decide],
        type="while",
        maxIterations=4,
        conditionSource={"kind": "artifact_contract", "contractRef": "wr.contracts.loop_control", "loopId": "rounds"},
    ) | asked("loop")
    if around:
        rounds = loop("times", [rounds, notes_free("tidy")], type="for", count=around, maxIterations=around)
    published(desk, notes_free("before"), rounds, notes_free("after"), workflow_id=STEPS)


def tell(floor, dialect, token, *entries):
    manifest = [{"step_id": name, "output": f"Did {name}.", **more} for name, more in entries]
    return said(
        floor[dialect].raw(
            "next_activity", session_token=token, activity_id="workflow-end", step_manifest=manifest or None
        )
    )


def told_until_asked(floor, dialect, token, entries):
    """What is told of the entries: where a person is asked they approve, and the rest is told of."""
    rest, asked = list(entries), 0
    while rest:
        reply = tell(floor, dialect, token, *rest)
        if reply.get("status") != "waiting":
            return reply, asked
        person_answers(floor, "approve")
        asked += 1
        rest = rest[reply["recorded_steps"] :]
    return tell(floor, dialect, token), asked


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("approved", APPROVED)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_it_is_told_of_once_where_activities_are_handed_over(floor, dialect, approved, rounds):
    publish(floor.desk, approved)
    token = hand_in(floor, dialect, STEPS, "main")
    said_so = [*[GO_ON] * (rounds - 1), STOP]
    entries = [("before", {})]
    for word in said_so:
        entries += [("work", {}), ("decide", {"artifacts": [word]})]

    reply, asked = told_until_asked(floor, dialect, token, [*entries, ("after", {})])

    assert COMPLETE in reached(), reply
    assert asked == APPROVED[approved](rounds)


@pytest.mark.parametrize("times_told", [1, 2])
@pytest.mark.parametrize("approved", APPROVED)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_it_ends_the_loop_that_it_speaks_of_and_none_around_that(floor, dialect, approved, times_told):
    publish(floor.desk, approved, around=2)
    token = hand_in(floor, dialect, STEPS, "main")
    once = [("work", {}), ("decide", {"artifacts": [STOP]}), ("tidy", {})]
    times = once * times_told

    reply, asked = told_until_asked(floor, dialect, token, [("before", {}), *times, ("after", {})])

    assert asked == APPROVED[approved](1) * times_told
    assert (COMPLETE in reached()) is (times_told == 2), reply


@pytest.mark.parametrize("approved", ["work", "decide", "both"])
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_without_the_word_the_next_round_is_to_be_told_of(floor, dialect, approved):
    publish(floor.desk, approved)
    token = hand_in(floor, dialect, STEPS, "main")
    entries = [("before", {}), ("work", {}), ("decide", {"artifacts": [GO_ON]}), ("after", {})]

    reply, _ = told_until_asked(floor, dialect, token, entries)

    assert reply["code"] == "CHECKPOINT_OPEN"
    assert not reached() & {"after", COMPLETE}
