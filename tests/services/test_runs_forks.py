"""Rewinds, forks and what an agent that lost its chat is told; bookmarks; a mode that is changed under way."""

import pytest

from sessions_app.engine.decisions import PreferenceChange
from sessions_app.services.moves import runs
from tests import run_cast
from tests.engine_play import AGGRESSIVE, NEVER_STOP
from tests.run_cast import (
    advance,
    advanced,
    assert_healthy,
    begin,
    bookmark,
    events,
    notes_free,
    plain_steps,
    rehydrate,
    run_id,
    warning_codes,
    words_of,
)
from tests.step_documents import step
from workflows_app.engine.program import Autonomy
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk():
    return run_cast.make_desk()


def run_row(value):
    from sessions_app.models import Run

    return Run.objects.get(pk=run_id(value))


def tip_of(value):
    from teams_app.engine.ids import Prefix, to_text

    return to_text(Prefix.NODE, run_row(value).tip_node_id)


def node_of(value):
    """The node that a reply stands at, from its token."""
    from sessions_app.engine import tokens
    from sessions_app.services.store.signing_keys import current_keys
    from teams_app.engine.ids import Prefix, to_text

    token = tokens.read(keyring=current_keys().ring, kind=tokens.TokenKind.STATE, text=value["stateToken"])
    return to_text(Prefix.NODE, token.node_id)


def again(desk, value):
    """Fresh tokens of an older node."""
    return rehydrate(desk.agent, value).value


# Forks


def test_an_older_state_forks_without_being_asked_and_the_reply_says_so(desk):
    value = begin(desk, *plain_steps(3))
    advanced(desk.agent, advanced(desk.agent, value, "Took the left way."), "Went far.")

    fork = advanced(desk.agent, again(desk, value), "Took the right way.")

    assert warning_codes(fork) == ["FORKED"]
    assert fork["branch"]["forked"]
    assert [(s["title"], s["summary"]) for s in fork["branch"]["siblings"]] == [
        ("Title of step-1", "Took the left way."),
    ]
    assert [entry["notes"] for entry in fork["branch"]["downstreamRecap"]["entries"]] == [
        "Took the left way.",
        "Went far.",
    ]
    assert tip_of(fork) == node_of(fork)
    assert_healthy(fork)


def test_an_advance_of_the_tip_says_nothing_of_forks(desk):
    value = advanced(desk.agent, begin(desk, *plain_steps(3)))

    assert value["warnings"] == []
    assert "branch" not in value


def test_a_fork_does_not_see_the_context_of_its_siblings(desk):
    value = begin(
        desk,
        notes_free("step-a"),
        notes_free("step-b", runCondition={"var": "flag", "equals": True}),
        notes_free("step-c"),
    )
    with_flag = advanced(desk.agent, value, context={"flag": True})

    without = advanced(desk.agent, again(desk, value))

    assert (with_flag["pending"]["stepId"], without["pending"]["stepId"]) == ("step-b", "step-c")


def test_each_fresh_token_of_a_node_makes_a_branch_of_its_own(desk):
    value = begin(desk, *plain_steps(3))
    nodes = {node_of(advanced(desk.agent, value))} | {
        node_of(advanced(desk.agent, again(desk, value))) for _ in range(4)
    }

    assert len(nodes) == 5
    assert len(events(value, "advance_recorded")) == 5
    assert_healthy(value)


def test_of_many_successors_the_newest_are_told_and_the_others_counted(desk):
    value = begin(desk, *plain_steps(2))
    for number in range(23):
        advanced(desk.agent, again(desk, value), f"Try {number}.")

    fork = advanced(desk.agent, again(desk, value))

    assert [sibling["summary"] for sibling in fork["branch"]["siblings"]] == [f"Try {n}." for n in range(3, 23)]
    assert fork["branch"]["omittedSiblings"] == 3
    assert "(23 times)" in fork["warnings"][0]["message"]


def test_what_was_noted_below_a_fork_keeps_to_its_budget_and_says_so(desk):
    value = at = begin(desk, *plain_steps(6))
    for number in range(5):
        at = advanced(desk.agent, at, f"{number} " + "é" * 2000)

    below = again(desk, value)["branch"]["downstreamRecap"]

    assert [entry["notes"][0] for entry in below["entries"]] == ["3", "4"]
    assert (below["truncated"], below["omitted"]) == (True, 3)
    assert below["policy"]


# Rehydration


def test_a_tip_is_told_with_what_was_noted_on_the_way_to_it(desk):
    value = begin(desk, *plain_steps(3))
    tip = advanced(desk.agent, advanced(desk.agent, value, "First."), "Second.")

    told = again(desk, tip)

    assert [(entry["step"], entry["notes"]) for entry in told["recap"]["entries"]] == [
        ("step-0", "First."),
        ("step-1", "Second."),
    ]
    assert "branch" not in told
    assert told["pending"]["stepId"] == "step-2"


def test_an_older_node_is_told_with_what_was_noted_on_it(desk):
    value = begin(desk, *plain_steps(3))
    advanced(desk.agent, value, "First.")

    told = again(desk, value)

    assert not told["branch"]["forked"]
    assert [entry["notes"] for entry in told["branch"]["downstreamRecap"]["entries"]] == ["First."]


def test_notes_of_another_branch_are_not_in_the_recap(desk):
    value = begin(desk, *plain_steps(3))
    left = advanced(desk.agent, value, "Left.")
    right = advanced(desk.agent, again(desk, value), "Right.")

    assert [entry["notes"] for entry in again(desk, left)["recap"]["entries"]] == ["Left."]
    assert [entry["notes"] for entry in again(desk, right)["recap"]["entries"]] == ["Right."]


def test_notes_that_were_superseded_are_not_told(desk):
    value = begin(
        desk,
        step("first-step", validationCriteria={"type": "contains", "value": "Risks", "message": "Risks!"}),
        step("next-step"),
    )
    stuck = advanced(desk.agent, value, "Forgot them.")

    told = again(desk, advanced(desk.agent, stuck, "Risks: none."))

    assert [entry["notes"] for entry in told["recap"]["entries"]] == ["Risks: none."]


def test_a_recap_beyond_its_budget_keeps_the_newest_and_says_how_many_it_left_out(desk):
    value = begin(desk, *plain_steps(10))
    for number in range(9):
        value = advanced(desk.agent, value, f"{number:02} " + "x" * 3990)

    reply = rehydrate(desk.agent, value)

    recap = reply.value["recap"]
    assert [entry["notes"][:2] for entry in recap["entries"]] == ["03", "04", "05", "06", "07", "08"]
    assert (recap["truncated"], recap["omitted"]) == (True, 3)
    assert sum(len(entry["notes"].encode()) for entry in recap["entries"]) <= 24 * 1024
    assert "[TRUNCATED: 3 earlier entries left out" in words_of(reply)


def test_a_recap_of_a_very_long_run_says_that_nobody_counted_its_beginning(desk):
    body = [step("inside-step")]
    loop = {
        "id": "the-loop",
        "type": "loop",
        "title": "L",
        "loop": {"type": "for", "count": 200, "maxIterations": 200},
        "body": body,
    }
    value = begin(desk, loop)
    for number in range(105):
        value = advanced(desk.agent, value, f"N{number}")

    recap = again(desk, value)["recap"]

    assert recap["truncated"]
    assert "omitted" not in recap
    assert (recap["entries"][-1]["notes"], recap["entries"][0]["notes"]) == ("N104", "N4")


def test_notes_further_back_than_is_looked_are_told_to_be_left_out(desk):
    """Even when nothing was noted since."""
    loop = {
        "id": "the-loop",
        "type": "loop",
        "title": "L",
        "loop": {"type": "for", "count": 200, "maxIterations": 200},
        "body": [notes_free("inside-step")],
    }
    value = advanced(desk.agent, begin(desk, notes_free("first-step"), loop), "Long ago.")
    for _ in range(105):
        value = advanced(desk.agent, value, "")

    reply = rehydrate(desk.agent, value)

    assert (reply.value["recap"]["entries"], reply.value["recap"]["truncated"]) == ([], True)
    assert "earlier entries left out" in words_of(reply)


def test_rehydrating_a_block_tells_again_what_was_missing(desk):
    value = begin(desk, step("first-step"))
    stuck = advanced(desk.agent, value, "")

    told = again(desk, stuck)

    assert told["kind"] == "blocked"
    assert told["blockers"] == stuck["blockers"]
    assert advanced(desk.agent, told)["isComplete"]


def test_a_complete_run_is_told_as_complete(desk):
    end = advanced(desk.agent, begin(desk, *plain_steps(1)), "All done.")

    told = again(desk, end)

    assert (told["isComplete"], told["nextIntent"], told["nextCall"]) == (True, "complete", None)
    assert [entry["notes"] for entry in told["recap"]["entries"]] == ["All done."]


def test_a_key_that_may_only_drive_runs_is_not_asked_for_more(desk):
    from dataclasses import replace

    from teams_app.engine.actors import Scope

    value = begin(desk, *plain_steps(2))
    driver = replace(desk.agent, scopes=frozenset({Scope.RUNS_READ, Scope.RUNS_WRITE}))

    assert rehydrate(driver, value).value["pending"]["stepId"] == "step-0"
    assert advanced(driver, value)["pending"]["stepId"] == "step-1"


# The pinned workflow


def test_a_workflow_that_was_changed_does_not_change_its_runs_and_it_is_said(desk):
    from tests.step_documents import workflow
    from tests.workflow_cast import NOW, publish, source_of
    from workflows_app.services import workflows

    value = begin(desk, *plain_steps(2))
    revised = source_of(workflow(*plain_steps(5), id="team.sample"))
    workflows.revise_workflow(
        actor=desk.person, workflow_id="team.sample", source=revised, base_revision=1, message="", now=NOW
    )
    publish(desk.person, "team.sample", 2)

    told = again(desk, value)

    assert warning_codes(told) == ["WORKFLOW_CHANGED"]
    assert told["workflow"]["workflowHash"] == value["workflow"]["workflowHash"]
    onward = advanced(desk.agent, value)
    assert warning_codes(onward) == ["WORKFLOW_CHANGED"]
    assert advanced(desk.agent, onward)["isComplete"]


def test_a_workflow_that_was_retired_lets_its_runs_go_on(desk):
    from tests.workflow_cast import NOW
    from workflows_app.services import publishing

    value = begin(desk, *plain_steps(2))
    publishing.retire_workflow(actor=desk.person, workflow_id="team.sample", now=NOW)

    assert warning_codes(again(desk, value)) == ["WORKFLOW_CHANGED"]
    onward = advanced(desk.agent, value)
    assert onward["pending"]["stepId"] == "step-1"
    assert warning_codes(onward) == ["WORKFLOW_CHANGED"]


# Bookmarks


def test_a_bookmark_records_its_output_and_leaves_the_run_where_it_is(desk):
    value = begin(desk, *plain_steps(2))

    kept = bookmark(desk.agent, value, "Half of it.", artifacts=[{"kind": "own.draft"}]).value

    assert (kept["kind"], kept["pending"]["stepId"]) == ("ok", "step-0")
    assert tip_of(value) == node_of(value) == node_of(kept)
    assert len(events(value, "node_output_appended")) == 2
    assert_healthy(value)


def test_an_advance_after_a_bookmark_is_no_fork_and_recalls_it(desk):
    value = begin(desk, *plain_steps(2))
    bookmark(desk.agent, value, "Half of it.")

    then = advanced(desk.agent, value, "The rest.")

    assert then["warnings"] == []
    assert [entry["notes"] for entry in again(desk, then)["recap"]["entries"]] == ["Half of it.", "The rest."]
    assert events(then, "edge_created")[-1]["data"]["cause"]["kind"] == "tip_advance"


def test_a_bookmark_after_the_last_step_is_recalled_under_a_heading(desk):
    ended = advanced(desk.agent, begin(desk, *plain_steps(1)))
    noted = bookmark(desk.agent, ended, "The release went out.").value

    told = rehydrate(desk.agent, noted)

    last = told.value["recap"]["entries"][-1]
    assert (last["step"], last["title"], last["notes"]) == ("", "After the last step", "The release went out.")
    assert "### After the last step\nThe release went out." in words_of(told)


def test_the_tokens_of_a_bookmark_go_on_from_its_node(desk):
    value = begin(desk, *plain_steps(2))

    kept = bookmark(desk.agent, value).value

    assert advanced(desk.agent, kept)["pending"]["stepId"] == "step-1"
    assert bookmark(desk.agent, kept, "More.").value["pending"]["stepId"] == "step-0"


def test_a_bookmark_makes_the_branch_that_it_is_on_the_one_to_go_on_with(desk):
    value = begin(desk, *plain_steps(3))
    left = advanced(desk.agent, value, "Left.")
    right = advanced(desk.agent, again(desk, value), "Right.")
    assert tip_of(value) == node_of(right)

    bookmark(desk.agent, left, "Here after all.")

    assert tip_of(value) == node_of(left)
    assert_healthy(value)


def test_a_bookmark_on_another_branch_takes_the_status_along(desk):
    value = begin(desk, *plain_steps(2))
    open_branch = advanced(desk.agent, value)
    ended = advanced(desk.agent, advanced(desk.agent, again(desk, value)))
    assert run_row(value).status == "complete"
    completed_at = run_row(value).completed_at

    bookmark(desk.agent, open_branch)
    assert (run_row(value).status, run_row(value).completed_at) == ("in_progress", None)
    assert_healthy(value)

    bookmark(desk.agent, ended, now=run_cast.soon(99))
    assert (run_row(value).status, run_row(value).completed_at) == ("complete", completed_at)
    assert_healthy(value)


def test_a_bookmark_on_another_complete_branch_takes_the_time_of_its_end_along(desk):
    value = begin(desk, *plain_steps(1))
    fresh = again(desk, value)
    first = advanced(desk.agent, value, now=run_cast.soon(5))
    second = advanced(desk.agent, fresh, now=run_cast.soon(9))
    assert run_row(value).completed_at == run_cast.soon(9)

    bookmark(desk.agent, first, now=run_cast.soon(20))
    assert (tip_of(value), run_row(value).completed_at) == (node_of(first), run_cast.soon(5))
    assert_healthy(value)

    bookmark(desk.agent, second, now=run_cast.soon(21))
    assert (tip_of(value), run_row(value).completed_at) == (node_of(second), run_cast.soon(9))
    assert_healthy(value)


def test_a_bookmark_on_a_blocked_branch_says_blocked(desk):
    value = begin(desk, step("first-step"), step("next-step"))
    stuck = advanced(desk.agent, value, "")
    advanced(desk.agent, again(desk, value))

    bookmark(desk.agent, stuck)

    assert run_row(value).status == "blocked"
    assert_healthy(value)


def test_a_bookmark_above_branches_leads_to_the_one_that_was_made_last(desk):
    value = begin(desk, *plain_steps(3))
    advanced(desk.agent, value)
    newest = advanced(desk.agent, again(desk, value))
    bookmark(desk.agent, value)

    assert tip_of(value) == node_of(newest)
    assert_healthy(value)


def test_a_bookmark_of_nothing_is_refused_and_leaves_no_trace(desk):
    from teams_app.engine.errors import InvalidInputError

    value = begin(desk, *plain_steps(2))
    before = len(events(value))

    with pytest.raises(InvalidInputError):
        bookmark(desk.agent, value, " ")
    assert len(events(value)) == before


# Preferences that a person changes under way


def change(desk, value, wanted, actor=None):
    import os

    return runs.change_preferences(
        actor=actor or desk.person,
        run_id=run_id(value),
        change=wanted,
        now=run_cast.soon(2),
        entropy=os.urandom,
        speech=RAIL,
    )


def test_a_mode_that_is_changed_holds_for_the_tokens_that_the_agent_has(desk):
    value = begin(desk, step("first-step"), step("next-step"))

    change(desk, value, NEVER_STOP)
    then = advanced(desk.agent, value, "")

    assert (then["kind"], then["preferences"]["autonomy"]) == ("ok", "full_auto_never_stop")
    assert "branch" not in then
    assert warning_codes(then) == ["GAP_RECORDED"]
    assert events(then, "edge_created")[-1]["data"]["cause"]["kind"] == "tip_advance"
    assert_healthy(then)


def test_it_is_replayed_with_those_tokens(desk):
    value = begin(desk, *plain_steps(2))
    change(desk, value, NEVER_STOP)
    first = advance(desk.agent, value)

    assert advance(desk.agent, value).data == first.data


def test_several_changes_are_followed_to_the_last(desk):
    value = begin(desk, *plain_steps(2))
    for wanted in (NEVER_STOP, AGGRESSIVE, PreferenceChange(autonomy=Autonomy.GUIDED)):
        change(desk, value, wanted)

    told, then = again(desk, value), advanced(desk.agent, value)

    assert told["preferences"] == then["preferences"] == {"autonomy": "guided", "riskPolicy": "aggressive"}
    assert "branch" not in told


def test_a_change_at_a_block_holds_for_the_retry(desk):
    value = begin(desk, step("first-step"), step("next-step"))
    stuck = advanced(desk.agent, value, "")

    change(desk, value, NEVER_STOP)
    then = advanced(desk.agent, stuck, "")

    assert (then["kind"], then["pending"]["stepId"]) == ("ok", "next-step")
    assert_healthy(then)


def test_an_older_node_goes_on_with_the_preferences_that_it_had(desk):
    value = begin(desk, step("first-step"), step("next-step"), step("last-step"))
    tip = advanced(desk.agent, value)
    change(desk, tip, NEVER_STOP)

    older = advanced(desk.agent, again(desk, value), "")

    assert (older["kind"], older["preferences"]["autonomy"]) == ("blocked", "guided")


def test_once_the_run_has_gone_on_an_older_node_is_a_fork_and_not_followed(desk):
    value = begin(desk, *plain_steps(3))
    change(desk, value, NEVER_STOP)
    advanced(desk.agent, value)

    fork = advanced(desk.agent, again(desk, value))

    assert (warning_codes(fork), fork["preferences"]["autonomy"]) == (["FORKED"], "guided")
    assert_healthy(fork)


def test_a_change_to_what_is_so_already_writes_nothing(desk):
    value = begin(desk, *plain_steps(2))
    change(desk, value, NEVER_STOP)
    before = len(events(value))

    told = change(desk, value, NEVER_STOP).value

    assert len(events(value)) == before
    assert (told["nextIntent"], told["preferences"]["autonomy"]) == ("rehydrate_only", "full_auto_never_stop")


def test_the_change_is_recorded_on_a_node_of_its_own(desk):
    value = begin(desk, *plain_steps(2))

    changed = change(desk, value, NEVER_STOP).value

    assert tip_of(value) == node_of(changed) != node_of(value)
    assert events(value, "node_created")[-1]["data"]["preferences"]["autonomy"] == "full_auto_never_stop"
    assert_healthy(value)
