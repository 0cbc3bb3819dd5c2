"""What the tables keep beside the log, as a function of the log alone."""

from uuid import UUID

import pytest
from hypothesis import given, settings, strategies as st

from sessions_app.engine.drafts import gap_draft, gap_name, session_output_draft
from sessions_app.engine.log import Head, NodeKind, StoredEvent, seal, verify_chain
from sessions_app.engine.observations import check_observations, observation_drafts
from sessions_app.engine.projections import project
from sessions_app.engine.reasons import Detail, Gap, GapCategory, GapSeverity
from sessions_app.engine.runs import ObservationKey, OutputChannel, RunStatus
from teams_app.engine.errors import InvalidInputError
from tests.engine_play import NEVER_STOP, RUN, SESSION, Play, built, do, played, steps_program
from tests.step_documents import step
from workflows_app.engine import canonical
from workflows_app.engine.contracts import BUILT_IN

PROGRAM = built(do("a"), do("b"), do("c"))
NOTED = steps_program(step("first-step"), step("second-step"))
VERDICT = "wr.contracts.review_verdict"


def view_of(play):
    return project(play.bodies)


def run_of(play):
    return view_of(play).runs[RUN]


def tip_and_status(play):
    run = run_of(play)
    return run.tip.node_id, run.status


def test_a_session_is_its_title_its_runs_and_its_count_of_events():
    play, at = played(PROGRAM)

    view = view_of(play)

    assert (view.title, view.event_count) == ("Play", len(play.bodies))
    assert set(view.runs) == {RUN}
    assert tip_and_status(play) == (at.node_id, RunStatus.IN_PROGRESS)


def test_the_tip_is_the_leaf_last_worked_on():
    play, at = played(PROGRAM)
    older = play.advance(play.advance(at))
    newer = play.advance(at)

    assert run_of(play).tip.node_id == newer.node_id

    again = play.advance(older)

    assert run_of(play).tip.node_id == again.node_id


def test_a_bookmark_is_no_tip_and_makes_its_branch_the_one_last_worked_on():
    play, at = played(PROGRAM)
    one = play.advance(at)
    other = play.advance(at)
    assert run_of(play).tip.node_id == other.node_id

    play.bookmark(one)

    assert run_of(play).tip.node_id == one.node_id


def test_a_bookmark_above_a_fork_takes_the_leaf_that_was_made_last():
    play, at = played(PROGRAM)
    root = play.advance(at)
    play.advance(root)
    newest = play.advance(root)

    play.bookmark(root)

    assert run_of(play).tip.node_id == newest.node_id


def test_the_status_is_that_of_the_tip():
    play, at = played(NOTED)
    stuck = play.advance(at, "")
    assert tip_and_status(play) == (stuck.node_id, RunStatus.BLOCKED)

    end = play.advance(play.advance(stuck))

    assert tip_and_status(play) == (end.node_id, RunStatus.COMPLETE)
    assert run_of(play).completed_ms == play.clock_ms

    play.advance(at)
    assert run_of(play).status is RunStatus.IN_PROGRESS
    assert run_of(play).completed_ms is None


def test_a_critical_gap_stands_until_it_is_closed():
    play, at = played(NOTED, preferences=NEVER_STOP)
    then = play.advance(at, "")
    play.advance(then)
    assert run_of(play).status is RunStatus.COMPLETE_WITH_GAPS

    close(play, then)

    run = run_of(play)
    assert run.status is RunStatus.COMPLETE
    assert run.gaps[0].resolved_by == UUID(int=555)
    assert not any(gap.stands for gap in run.gaps)


def close(play, at):
    gap = Gap(
        severity=GapSeverity.INFO,
        category=GapCategory.CONTRACT_VIOLATION,
        detail=Detail.MISSING_REQUIRED_NOTES,
        summary="Notes were supplied.",
        resolves=gap_name(at.decision.gaps[0].gap_id),
    )
    node_id = at.place.node_id
    play._write([gap_draft(gap_id=UUID(int=555), gap=gap, run_id=RUN, node_id=node_id)])


def test_closing_a_gap_does_not_move_the_tip():
    play, at = played(NOTED, preferences=NEVER_STOP)
    one = play.advance(at, "")
    other = play.advance(at)
    assert run_of(play).tip.node_id == other.node_id

    close(play, one)

    assert run_of(play).tip.node_id == other.node_id


def test_outputs_are_those_that_no_later_one_replaced():
    program = steps_program(step("hand-in", outputContract={"contractRef": VERDICT}))
    play, at = played(program)
    good = BUILT_IN[VERDICT].example
    stuck = play.advance(at, "First.", artifacts=[{**good, "verdict": "?"}])
    then = play.advance(stuck, "Second.", artifacts=[good])

    outputs = run_of(play).outputs

    assert [(out.channel.value, out.superseded) for out in outputs] == [
        ("recap", True),
        ("artifact", True),
        ("recap", False),
        ("artifact", False),
    ]
    assert [out.to_node_id for out in outputs] == [stuck.node_id] * 2 + [then.node_id] * 2
    drafts = [*stuck.decision.outputs, *then.decision.outputs]
    assert [(out.output_id, out.body, out.sha256) for out in outputs] == [
        (draft.output_id, draft.body, draft.sha256) for draft in drafts
    ]


def test_a_node_says_its_place_its_edge_and_its_preferences():
    play, at = played(PROGRAM)
    play.bookmark(at)
    then = play.advance(at, preferences=NEVER_STOP)

    node = run_of(play).nodes[then.node_id]

    assert (node.parent_id, node.kind, node.edge_kind, node.edge_cause) == (
        at.node_id,
        NodeKind.STEP,
        "acked_step",
        "tip_advance",
    )
    assert (node.autonomy, node.snapshot, node.pending) == (
        "full_auto_never_stop",
        then.decision.snapshot_digest,
        "b",
    )


def test_the_last_word_on_a_capability_counts():
    play, at = played(PROGRAM)
    for status in ("unknown", "available"):
        seen = {"kind": "wr.capability_observation", "capability": "delegation", "status": status}
        at = play.advance(at, artifacts=[seen])

    assert run_of(play).capabilities == {"delegation": "available"}


# Observations


BRANCH = ObservationKey.GIT_BRANCH


def observe(play, value, known):
    current = view_of(play).observed if play.bodies else {}
    drafts = observation_drafts(
        session_id=SESSION, observations={BRANCH: value}, current=current, next_index=len(play.bodies)
    )
    known.extend(draft.dedupe for draft in drafts)
    play._write(drafts)
    return len(drafts)


def test_a_value_that_returns_is_a_further_event_and_the_same_again_is_none():
    play, known = Play(program=PROGRAM), []

    written = [observe(play, value, known) for value in ("main", "main", "fix", "main", "fix", "main")]

    assert written == [1, 0, 1, 1, 1, 1]
    assert len(set(known)) == 5
    assert view_of(play).observed == {BRANCH: "main"}


@pytest.mark.parametrize("value", ["", "  ", "x" * 257, "two\nlines", "a\x00b"])
def test_an_observation_is_one_line_of_text_of_bounded_length(value):
    with pytest.raises(InvalidInputError) as refusal:
        check_observations({BRANCH: value})

    assert refusal.value.details["maxCharacters"] == 256


# Whatever happens


MOVES = st.lists(
    st.tuples(st.sampled_from(["advance", "block", "bookmark", "change"]), st.integers(0, 99)), max_size=25
)


def as_stored(index, body):
    return StoredEvent(index=index, body=body, digest=canonical.digest(body))


@settings(max_examples=60, deadline=None)
@given(MOVES)
def test_a_log_of_any_moves_verifies_and_its_tip_is_a_leaf(moves):
    play, at = played(NOTED)
    stands = [at]
    for move, pick in moves:
        here = stands[pick % len(stands)]
        if here.snapshot.is_complete and move in {"advance", "block"}:
            continue
        if move == "bookmark":
            play.bookmark(here)
        elif move == "change":
            stands.append(play.change(here, NEVER_STOP))
        elif here.snapshot.consecutive_blocks < 9:
            stands.append(play.advance(here, "Done." if move == "advance" else ""))

    stored = [as_stored(index, body) for index, body in enumerate(play.bodies)]
    assert verify_chain(stored).faults == ()
    run = run_of(play)
    assert run.tip.node_id in {stand.node_id for stand in stands}
    assert run.tip.node_id not in {node.parent_id for node in run.nodes.values() if node.kind is not NodeKind.BOOKMARK}


def test_a_projection_of_nothing_is_empty():
    view = project([])

    assert (view.event_count, view.runs, list(view.every_output())) == (0, {}, [])


def test_notes_of_a_session_belong_to_no_run():
    draft = session_output_draft(
        output_id=UUID(int=9), channel=OutputChannel.RECAP, body="Remember.", sha256="sha256:0"
    )
    sealed = seal(drafts=[draft], session_id=SESSION, head=Head(), event_ids=[UUID(int=1)], timestamp_ms=1)

    (output,) = project([sealed.events[0].body]).outputs

    assert (output.run_id, output.body) == (None, "Remember.")
