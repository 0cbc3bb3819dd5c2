"""What an answer has set is nobody's to overwrite before the run has gone by it: no child's, no loop's and no manifest's."""

import os
from datetime import timedelta

import pytest
from msgspec.structs import replace

from sessions_app.engine.actions import AdvanceLoop, CompleteStep, RespondToCheckpoint
from sessions_app.engine.children import given_back
from sessions_app.engine.decisions import EnterActivity
from sessions_app.engine.manifests import ManifestEntry
from sessions_app.engine.runs import Dialect
from sessions_app.engine.state import snapshot_from_bytes
from sessions_app.models import Run
from sessions_app.selectors.standings import read_tip
from sessions_app.services.moves import handed_over, steered
from sessions_app.services.moves.session_tokens import read_held
from teams_app.engine.errors import InvalidInputError
from tests import run_cast
from tests.activity_folders import activity, checkpoint, equals, folder, program_of, step, workflow
from tests.hand_play import begun
from tests.handover_cast import LATER, WORKFLOW, answered, call, entered, handed, question, two_activities
from tests.run_cast import make_desk
from tests.trigger_play import publish_folder, start
from tests.workflow_cast import NOW
from workrail_site.dialects.navigation.situations import NAVIGATION

pytestmark = pytest.mark.django_db(transaction=True)

SETS_LIST = [
    {"id": "short", "label": "Only one", "effect": {"setVariable": {"tasks": '["one"]'}}},
    {"id": "none", "label": "None"},
]
EACH = {"id": "each", "name": "Each", "type": "forEach", "over": "tasks", "steps": [step("turn")]}


def refused_keys(call_it):
    with pytest.raises(InvalidInputError) as refused:
        call_it()
    assert refused.value.details["reason"] == "SET_BY_ANSWER"
    return refused.value.details["keys"]


def do(desk, state, action, *, now=LATER):
    return steered.steer_run(
        actor=desk.agent, state_token=state, action=action, now=now, entropy=os.urandom, speech=NAVIGATION
    ).value


def test_a_child_gives_nothing_back_into_what_an_answer_has_set():
    declared = [{"name": "agreed", "type": "string"}, {"name": "outcome", "type": "string"}]
    program = program_of(
        folder(activity("plan", steps=[step("draft")]), about=workflow(initialActivity="plan", variables=declared))
    )
    child = begun(program, agreed="false", outcome="merged")
    before = begun(program, agreed="true")

    held = given_back(
        parent=program, trigger=None, program=program, before=replace(before, settled=("agreed",)), child=child
    )

    assert held == {"outcome": "merged"}
    assert given_back(parent=program, trigger=None, program=program, before=before, child=child) == {
        "agreed": "false",
        "outcome": "merged",
    }


LEADS_BACK = [
    {"id": "go", "label": "Go", "effect": {"setVariable": {"approved": "yes"}}},
    {"id": "mend", "label": "Mend it", "effect": {"setVariable": {"approved": "no"}, "transitionTo": "repair"}},
]
ON = {"to": "build", "condition": equals("approved", "yes")}


def led_elsewhere(workflow_id="team.plan"):
    """An answer leads around the transition that reads what it sets, to an activity behind which another one does."""
    plan = activity(
        "plan",
        checkpoints=[checkpoint("which", message="Go on?", options=LEADS_BACK)],
        steps=[{**step("draft"), "checkpoint": "which"}],
        transitions=[ON],
    )
    repair = activity("repair", steps=[step("mend")], transitions=[ON, {"to": "plan", "isDefault": True}])
    return folder(
        plan, repair, activity("build", steps=[step("make")]), about=workflow(id=workflow_id, initialActivity="plan")
    )


def test_an_answer_that_leads_elsewhere_is_not_overwritten_there_in_a_run_that_is_led():
    desk = make_desk()
    publish_folder(desk, led_elsewhere(), "team.plan")
    at = run_cast.advanced(desk.agent, run_cast.start(desk, "team.plan").value, now=NOW)
    answer = {"kind": "wr.checkpoint_answer", "checkpointId": "which", "optionId": "mend"}
    at = run_cast.advanced(desk.agent, at, artifacts=[answer], now=LATER)
    assert at["pending"]["stepId"] == "mend"

    def finish(**context):
        return run_cast.advance(desk.agent, at, context=context, now=LATER)

    assert refused_keys(lambda: finish(approved="yes")) == ["approved"]
    assert finish(approved="no").value["pending"]["stepId"] == "draft"


@pytest.mark.parametrize("dialect", [Dialect.SESSION, Dialect.ORCHESTRATOR])
def test_an_answer_that_leads_elsewhere_is_not_overwritten_there_where_activities_are_handed_over(dialect):
    from tests.handover_cast import yielded

    desk = make_desk()
    held = handed(desk, led_elsewhere(WORKFLOW), dialect=dialect)
    at = entered(desk, held.token, "plan", dialect=dialect)["session_token"]
    at = yielded(desk, at, "which")["session_token"] if dialect is Dialect.ORCHESTRATOR else at
    at = answered(desk, at, "which", option="mend", dialect=dialect)["session_token"]

    def enter(activity_id, step_id, **context):
        done = (ManifestEntry(step_id=step_id, output="Did it.", context=context),)
        command = EnterActivity(activity_id=activity_id, manifest=done, asks_on_entry=False)
        return handed_over.enter_activity(call(desk, at, dialect=dialect), command)

    enter("repair", "draft")

    assert refused_keys(lambda: enter("build", "mend", approved="yes")) == ["approved"]


@pytest.mark.parametrize("dialect", [Dialect.SESSION, Dialect.ORCHESTRATOR])
def test_the_context_of_a_manifest_does_not_overwrite_it(dialect):
    from tests.handover_cast import yielded

    desk = make_desk()
    held = handed(desk, two_activities(question()), dialect=dialect)
    at = entered(desk, held.token, "plan", dialect=dialect)["session_token"]
    if dialect is Dialect.ORCHESTRATOR:
        at = yielded(desk, at)["session_token"]
    at = answered(desk, at, "agreed", dialect=dialect)["session_token"]

    def enter(**context):
        done = (
            ManifestEntry(step_id="draft", output="Did it.", context=context),
            ManifestEntry(step_id="review", output="Did it."),
        )
        command = EnterActivity(activity_id="build", manifest=done, asks_on_entry=dialect is Dialect.SESSION)
        return handed_over.enter_activity(call(desk, at, dialect=dialect), command)

    assert refused_keys(lambda: enter(agreed="false")) == ["agreed"]
    assert read_held(actor=desk.agent, token=at, dialect=dialect).snapshot.variables["agreed"] == "true"
    # What is not the answer's is taken, and so is the same value again.
    moved = enter(agreed="true", other="mine").held.snapshot
    assert (moved.variables["agreed"], moved.variables["other"]) == ("true", "mine")


def test_the_items_of_a_loop_do_not_overwrite_it():
    desk = make_desk()
    files = folder(
        activity(
            "plan",
            checkpoints=[checkpoint("which", message="Which tasks?", options=SETS_LIST)],
            steps=[{"id": "ask", "name": "Ask", "checkpoint": "which"}, step("draft")],
            loops=[EACH],
            transitions=[{"to": "plan", "condition": equals("again", "yes")}],
        ),
        about=workflow(initialActivity="plan"),
    )
    publish_folder(desk, files, "team.plan")
    value = start(desk, "team.plan")
    said = [
        CompleteStep(step_id="ask"),
        RespondToCheckpoint(checkpoint_id="which", option_id="short"),
        CompleteStep(step_id="draft"),
    ]
    for minutes, action in enumerate(said):
        value = do(desk, value["state"], action, now=NOW + timedelta(minutes=minutes))
        assert value["success"], value
    run = Run.objects.get()
    before = snapshot_from_bytes(read_tip(team_id=run.team_id, run_id=run.id).snapshot)
    assert "tasks" in before.settled

    told = do(desk, value["state"], AdvanceLoop(loop_id="each", items=("other", "more")))

    # Navigation answers a refusal with the state as it was.
    assert (told["success"], "An answer has set tasks" in told["message"]) == (False, True)
    after = snapshot_from_bytes(read_tip(team_id=run.team_id, run_id=run.id).snapshot)
    assert after.variables == before.variables


REPEATS = [
    {"id": "again", "label": "Again", "effect": {"setVariable": {"more": "yes"}}},
    {"id": "enough", "label": "Enough", "effect": {"setVariable": {"more": "no"}}},
]


def in_a_loop_by_answer(desk, *, actions=()):
    """The reply of a run whose loop goes on by what its user has answered, in the first of two rounds."""
    turn = step("turn", **({"actions": list(actions)} if actions else {}))
    loop = {"id": "rounds", "name": "Rounds", "type": "while", "condition": equals("more", "yes"), "maxIterations": 2}
    files = folder(
        activity(
            "plan",
            checkpoints=[checkpoint("which", options=REPEATS)],
            steps=[{"id": "ask", "name": "Ask", "checkpoint": "which"}],
            loops=[{**loop, "steps": [turn]}],
        ),
        about=workflow(initialActivity="plan", variables=[{"name": "more", "type": "string", "defaultValue": "no"}]),
    )
    publish_folder(desk, files, "team.plan")
    at = run_cast.advanced(desk.agent, run_cast.start(desk, "team.plan").value, now=NOW)
    answer = {"kind": "wr.checkpoint_answer", "checkpointId": "which", "optionId": "again"}
    at = run_cast.advanced(desk.agent, at, artifacts=[answer], now=LATER)
    assert at["pending"]["stepId"] == "turn"
    return at


def test_what_a_step_leaves_to_the_agent_it_may_change_though_an_answer_has_set_it():
    desk = make_desk()
    at = in_a_loop_by_answer(desk, actions=[{"action": "set", "target": "more", "message": "Whether to go on."}])

    done = run_cast.advanced(desk.agent, at, context={"more": "no"}, now=LATER)

    assert done["isComplete"]


def test_nobody_is_advised_to_change_what_an_answer_has_set():
    desk = make_desk()
    at = in_a_loop_by_answer(desk)
    at = run_cast.advanced(desk.agent, at, now=LATER)

    blocked = run_cast.advance(desk.agent, at, now=LATER).value

    assert refused_keys(lambda: run_cast.advance(desk.agent, blocked, context={"more": "no"}, now=LATER)) == ["more"]
    (blocker,) = blocked["blockers"]
    assert "has run its 2 rounds" in blocker["message"]
    assert "An answer has set more" in blocker["suggestedFix"]
    assert "Tell your user" in blocker["suggestedFix"]
