"""The same tokens again are answered the same, for ever, and nothing is written."""

import os

import pytest

from sessions_app.engine.submissions import Submission
from sessions_app.engine.tokens import TokenBadSignatureError
from sessions_app.services.moves import runs
from sessions_app.services.moves.beginning import Beginning, start_run
from sessions_app.services.store import signing_keys
from tests import run_cast
from tests.database_watch import read_only, rows_written
from tests.key_turns import rotate_long_ago
from tests.run_cast import (
    NOW,
    advance,
    advanced,
    assert_healthy,
    begin,
    bookmark,
    events,
    plain_steps,
    rehydrate,
    words_of,
)
from tests.step_documents import step
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk():
    return run_cast.make_desk()


def rotate(times=1):
    rotate_long_ago(times)


def test_a_hundred_replays_are_byte_for_byte_the_first_answer(desk):
    value = begin(desk, *plain_steps(2))
    first = advance(desk.agent, value)

    replays = [advance(desk.agent, value, "Other notes.", context={"x": 1}) for _ in range(100)]

    assert {reply.data for reply in replays} == {first.data}
    assert {words_of(reply) for reply in replays} == {words_of(first)}
    assert not first.replayed
    assert all(reply.replayed for reply in replays)
    assert len(events(value, "advance_recorded")) == 1
    assert_healthy(value)


def test_a_block_is_replayed_as_well_and_is_not_a_second_block(desk):
    value = begin(desk, step("first-step"))
    first = advance(desk.agent, value, "")

    assert advance(desk.agent, value, "Now there are notes.").data == first.data
    assert len(events(value, "advance_recorded")) == 1


def test_a_bookmark_is_replayed_and_recorded_once(desk):
    value = begin(desk, *plain_steps(2))
    first = bookmark(desk.agent, value)

    told = len(events(value))

    assert bookmark(desk.agent, value, "Other notes.").data == first.data
    assert len(events(value)) == told
    kinds = [event["kind"] for event in events(value)]
    assert [kinds.count(kind) for kind in ("node_output_appended", "node_created", "edge_created")] == [1, 2, 1]
    assert_healthy(value)


@pytest.mark.parametrize("notes", ["", run_cast.NOTES], ids=["blocked", "advanced"])
def test_a_replay_decides_nothing_for_what_would_decide_it_is_gone(desk, notes):
    from sessions_app.models import Node, Snapshot

    value = begin(desk, step("first-step"), step("next-step"))
    first = advance(desk.agent, value, notes)
    Snapshot.objects.all().delete()
    Node.objects.filter(parent_id__isnull=False).delete()

    again = advance(desk.agent, value, "Now there are notes.")

    assert (again.data, words_of(again), again.replayed) == (first.data, words_of(first), True)


def test_an_ack_is_answered_the_same_long_after_the_run_has_gone_on(desk):
    value = begin(desk, *plain_steps(6))
    first = advance(desk.agent, value)
    at = first.value
    while not at["isComplete"]:
        at = advanced(desk.agent, at)

    assert advance(desk.agent, value).data == first.data


def test_replays_write_nothing(desk):
    value = begin(desk, *plain_steps(3))
    first = advance(desk.agent, value)
    kept = bookmark(desk.agent, value)
    before = rows_written()

    with read_only():
        assert advance(desk.agent, value).data == first.data
        assert bookmark(desk.agent, value).data == kept.data

    assert rows_written() == before


def test_the_watch_sees_what_an_advance_writes(desk):
    value = begin(desk, *plain_steps(3))
    before = rows_written()

    advance(desk.agent, value)

    assert rows_written() > before + 5


def test_rehydrating_writes_nothing_whatever_the_node(desk):
    value = begin(desk, step("first-step"), *plain_steps(3))
    stuck = advanced(desk.agent, value, "")
    tip = advanced(desk.agent, stuck)
    bookmark(desk.agent, tip)
    before = rows_written()

    with read_only():
        told = [rehydrate(desk.agent, at).value for at in (value, stuck, tip)]

    assert rows_written() == before
    assert [at["nextIntent"] for at in told] == ["rehydrate_only"] * 3
    assert len(events(value)) == len(events(tip))


# Rotation


def test_after_one_rotation_replays_keep_their_bytes_and_tokens_go_on_working(desk):
    value = begin(desk, *plain_steps(3))
    first = advance(desk.agent, value)

    rotate()

    assert advance(desk.agent, value).data == first.data
    assert advanced(desk.agent, first.value)["pending"]["stepId"] == "step-2"


def test_after_two_rotations_replays_are_signed_anew_and_their_tokens_work(desk):
    value = begin(desk, *plain_steps(3))
    first = advance(desk.agent, value)

    rotate(2)
    again = advance(desk.agent, value)

    assert again.replayed
    assert again.data != first.data
    assert {**again.value, **_tokens(first.value)} == first.value | {"nextCall": again.value["nextCall"]}
    assert advanced(desk.agent, again.value)["pending"]["stepId"] == "step-2"
    assert_healthy(value)


def _tokens(value):
    return {name: value[name] for name in ("stateToken", "ackToken", "checkpointToken")}


def test_after_two_rotations_tokens_that_were_not_used_are_refused_for_anything_new(desk):
    value = begin(desk, *plain_steps(3))
    rotate(2)

    for use in (advance, bookmark):
        with pytest.raises(TokenBadSignatureError) as refusal:
            use(desk.agent, value)
        assert refusal.value.suggestion


def test_a_state_token_of_a_retired_key_still_finds_its_step(desk):
    value = begin(desk, *plain_steps(3))
    rotate(3)

    told = rehydrate(desk.agent, value).value

    assert told["pending"]["stepId"] == "step-0"
    assert advanced(desk.agent, told)["pending"]["stepId"] == "step-1"


def test_a_process_that_has_not_heard_of_a_rotation_reads_the_new_tokens(desk):
    """The other process rotates and mints; this one still remembers the keys of before."""
    value = begin(desk, *plain_steps(3))
    remembered = signing_keys.current_keys()
    rotate()
    minted_elsewhere = advanced(desk.agent, value)
    signing_keys._cache.keys, signing_keys._cache.read_at = (
        remembered,
        signing_keys.monotonic() - signing_keys._DOUBT_SECONDS,
    )

    assert advanced(desk.agent, minted_elsewhere)["pending"]["stepId"] == "step-2"


def test_a_forged_token_in_notes_is_not_signed_by_a_replay(desk):
    value = begin(desk, *plain_steps(2))
    forged = f"ack.v1.{'0' * len(value['ackToken'].rpartition('.')[2])}"
    told = start_run(
        actor=desk.agent,
        beginning=Beginning(workflow_id="team.sample", goal=f"Use {forged}", request_key="once"),
        now=NOW,
        entropy=os.urandom,
        speech=RAIL,
    )
    rotate(2)

    again = start_run(
        actor=desk.agent,
        beginning=Beginning(workflow_id="team.sample", goal=f"Use {forged}", request_key="once"),
        now=NOW,
        entropy=os.urandom,
        speech=RAIL,
    )

    assert told.value["goal"] == again.value["goal"] == f"Use {forged}"


# Starting once


def start_once(desk, key, actor=None):
    beginning = Beginning(workflow_id="team.sample", goal="Try it", request_key=key)
    return start_run(actor=actor or desk.agent, beginning=beginning, now=NOW, entropy=os.urandom, speech=RAIL)


def test_a_start_with_a_key_is_answered_once(desk):
    run_cast.published(desk, *plain_steps(2))

    first, again, other = start_once(desk, "k"), start_once(desk, "k"), start_once(desk, "l")

    assert (again.data, again.replayed) == (first.data, True)
    assert other.value["session"] != first.value["session"]
    assert_healthy(first.value)
    assert advanced(desk.agent, again.value)["pending"]["stepId"] == "step-1"


def test_the_key_of_a_start_is_the_callers_own(desk):
    run_cast.published(desk, *plain_steps(2))

    mine, theirs = start_once(desk, "k"), start_once(desk, "k", actor=desk.person)

    assert mine.value["session"] != theirs.value["session"]


def test_a_start_without_a_key_begins_a_run_each_time(desk):
    run_cast.published(desk, *plain_steps(2))

    assert run_cast.start(desk).value["session"] != run_cast.start(desk).value["session"]


def test_a_replay_does_not_look_at_what_is_handed_in(desk):
    value = begin(desk, *plain_steps(2))
    first = advance(desk.agent, value)

    again = runs.advance_run(
        actor=desk.agent,
        state_token=value["stateToken"],
        ack_token=value["ackToken"],
        submission=Submission(notes="a\x00b", context={"__proto__": 1}),
        now=NOW,
        entropy=os.urandom,
        speech=RAIL,
    )

    assert again.data == first.data
