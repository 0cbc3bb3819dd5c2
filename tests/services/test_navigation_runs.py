"""Runs driven by hand, from the call to the rows: what is answered, replayed, refused, and kept from others."""

import os
from datetime import timedelta

import orjson
import pytest

from sessions_app.engine.actions import AdvanceLoop, CompleteStep, RespondToCheckpoint, TakeTransition
from sessions_app.engine.runs import Dialect
from sessions_app.engine.tokens import TokenBadSignatureError, TokenInvalidFormatError, TokenUnknownNodeError
from sessions_app.models import Attempt, CheckpointRequest, Event, Node, Run
from sessions_app.services.moves import steered
from sessions_app.services.moves.beginning import Beginning, start_run
from tests import run_cast
from tests.activity_folders import activity, checkpoint, equals, folder, step
from tests.checkpoint_cast import answer
from tests.key_turns import rotate_long_ago
from tests.run_cast import published as published_steps
from tests.workflow_cast import NOW, publish
from workflows_app.engine.source import Source, SourceFormat
from workflows_app.services import workflows
from workrail_site.dialects.navigation.situations import NAVIGATION, pending_checkpoint

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk():
    return run_cast.make_desk()


def published(desk, *activities, **about):
    files = folder(*activities, about={"id": "team.plan", "version": "1.0.0", "title": "Plan", **about})
    source = Source(format=SourceFormat.ACTIVITY_FOLDER, files=files)
    saved = workflows.create_workflow(actor=desk.person, source=source, message="", now=NOW)
    assert [problem for problem in saved.revision.problems if problem.severity == "error"] == []
    publish(desk.person, "team.plan", saved.revision.number)
    return "team.plan"


def start(desk, workflow_id="team.plan", *, actor=None, **variables):
    beginning = Beginning(workflow_id=workflow_id, context=variables, dialect=Dialect.NAVIGATION)
    return start_run(
        actor=actor or desk.agent, beginning=beginning, now=NOW, entropy=os.urandom, speech=NAVIGATION
    ).value


def act(desk, value, action, *, actor=None):
    return steered.steer_run(
        actor=actor or desk.agent,
        state_token=value["state"],
        action=action,
        now=NOW + timedelta(minutes=1),
        entropy=os.urandom,
        speech=NAVIGATION,
    )


def complete(desk, value, step_id):
    return act(desk, value, CompleteStep(step_id=step_id)).value


def required(value):
    return value["availableActions"]["required"]


GATED = activity(
    steps=[step("do"), step("look")],
    checkpoints=[checkpoint("sure", required=True)],
)


def assert_healthy():
    from sessions_app.selectors.integrity import verify_session

    for session_id in Run.objects.values_list("session_id", flat=True):
        assert [str(finding) for finding in verify_session(session_id)] == []


def test_a_start_tells_the_position_with_its_step_and_what_is_required(desk):
    published(desk, activity(steps=[step("do"), step("look")]))

    value = start(desk)

    assert list(value) == ["success", "position", "message", "availableActions", "checkpoint", "state"]
    assert value["position"]["step"] == {"id": "do", "index": 1, "name": "Do"}
    assert value["checkpoint"] is None
    assert required(value) == [{"action": "complete_step", "step": "do", "name": "Do"}]
    assert value["message"] == "Started workflow 'Plan' at activity 'work'"
    assert Run.objects.get().dialect == "navigation"
    assert_healthy()


def test_the_same_action_on_the_same_state_is_answered_byte_for_byte_and_writes_nothing(desk):
    published(desk, activity(steps=[step("do"), step("look")]))
    value = start(desk)
    first = act(desk, value, CompleteStep(step_id="do"))
    before = (Event.objects.count(), Node.objects.count(), Attempt.objects.count())

    again = act(desk, value, CompleteStep(step_id="do"))

    assert (again.data, again.replayed) == (first.data, True)
    assert (Event.objects.count(), Node.objects.count(), Attempt.objects.count()) == before


def test_another_action_on_an_old_state_is_a_fork_that_says_so(desk):
    published(desk, GATED)
    value = start(desk)
    yes = act(desk, value, RespondToCheckpoint(checkpoint_id="sure", option_id="yes")).value

    no = act(desk, value, RespondToCheckpoint(checkpoint_id="sure", option_id="no")).value

    assert no["state"] != yes["state"]
    assert [warning["code"] for warning in no["warnings"]] == ["FORKED"]
    assert len(set(Node.objects.exclude(parent_id=None).values_list("parent_id", flat=True))) == 1
    assert_healthy()


def test_a_refused_action_leaves_the_state_as_it_was(desk):
    published(desk, GATED)
    value = start(desk)
    events = Event.objects.count()

    refused = act(desk, value, CompleteStep(step_id="do")).value

    assert refused["success"] is False
    assert refused["error"]["code"] == "CHECKPOINT_BLOCKING"
    assert refused["message"].startswith("Action failed: ")
    assert refused["state"] == value["state"]
    assert Event.objects.count() == events


def test_a_state_from_before_a_gate_never_passes_it(desk):
    published(desk, GATED)
    before = start(desk)
    act(desk, before, RespondToCheckpoint(checkpoint_id="sure", option_id="yes"))

    said = complete(desk, before, "do")

    assert said["error"]["code"] == "CHECKPOINT_BLOCKING"


def test_no_character_of_a_state_can_be_altered(desk):
    published(desk, GATED)
    token = start(desk)["state"]
    alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

    for index in range(len("st.v1."), len(token)):
        other = alphabet[(alphabet.find(token[index]) + 1) % len(alphabet)]
        forged = token[:index] + other + token[index + 1 :]
        with pytest.raises((TokenBadSignatureError, TokenInvalidFormatError)):
            steered.read_situation(actor=desk.agent, state_token=forged, speech=NAVIGATION)


def test_the_state_of_another_team_is_the_same_as_none(desk):
    published(desk, GATED)
    value = start(desk)

    with pytest.raises(TokenUnknownNodeError):
        steered.read_situation(actor=desk.stranger, state_token=value["state"], speech=NAVIGATION)
    with pytest.raises(TokenUnknownNodeError):
        act(desk, value, RespondToCheckpoint(checkpoint_id="sure", option_id="yes"), actor=desk.stranger)


def test_a_look_writes_nothing_and_returns_the_same_state(desk):
    published(desk, GATED)
    value = start(desk)
    events = Event.objects.count()

    seen = steered.read_situation(actor=desk.agent, state_token=value["state"], speech=NAVIGATION).value

    assert seen["state"] == value["state"]
    assert seen["message"] == "Activity: Work | Checkpoint: Go on?"
    assert Event.objects.count() == events


def waiting_at(desk, value):
    at = steered.read_standing(actor=desk.agent, state_token=value["state"])
    return pending_checkpoint(at.program, at.snapshot)


def test_a_checkpoint_is_told_with_its_options_and_then_no_more(desk):
    published(desk, GATED)
    value = start(desk)

    active = waiting_at(desk, value)
    after = act(desk, value, RespondToCheckpoint(checkpoint_id="sure", option_id="yes")).value
    passive = waiting_at(desk, after)

    assert [option["id"] for option in active["checkpoint"]["options"]] == ["yes", "no"]
    assert passive["active"] is False


def test_the_effect_of_an_option_is_applied_and_returned(desk):
    asked = checkpoint("sure", required=True)
    asked["options"][0]["effect"] = {"setVariable": {"speed": "high"}}
    published(
        desk,
        activity(
            "work",
            steps=[step("do")],
            checkpoints=[asked],
            transitions=[{"to": "quick", "condition": equals("speed", "high")}, {"to": "slow", "isDefault": True}],
        ),
        activity("quick", steps=[step("run")]),
        activity("slow", steps=[step("walk")]),
        variables=[{"name": "speed", "type": "string", "defaultValue": "low"}],
        initialActivity="work",
    )
    answered = act(desk, start(desk), RespondToCheckpoint(checkpoint_id="sure", option_id="yes")).value

    done = complete(desk, answered, "do")

    assert answered["effects"] == {"setVariable": {"speed": "high"}}
    assert [way["activity"] for way in required(done)] == ["quick"]
    assert [way["activity"] for way in done["availableActions"]["blocked"]] == ["slow"]
    moved = act(desk, done, TakeTransition(activity_id="quick")).value
    assert moved["message"] == "Transitioned to activity 'quick'"
    assert complete(desk, moved, "run")["complete"] is True
    assert_healthy()


def test_the_items_of_a_loop_come_with_the_call_that_begins_it(desk):
    loop = {"id": "each", "name": "Each", "type": "forEach", "variable": "task", "over": "tasks", "steps": [step("do")]}
    published(
        desk,
        activity(steps=[step("plan")], loops=[loop]),
        variables=[{"name": "tasks", "type": "array"}],
    )
    value = complete(desk, start(desk), "plan")
    assert required(value) == [{"action": "advance_loop", "loop": "each", "name": "Each", "needs": ["loop_items"]}]

    value = act(desk, value, AdvanceLoop(loop_id="each", items=("a", "b"))).value
    assert value["position"]["loop"] == {
        "id": "each",
        "name": "Each",
        "iteration": 1,
        "atMost": 100,
        "total": 2,
        "item": "a",
    }
    assert value["position"]["step"] == {"id": "do", "index": 1, "name": "Do"}
    value = act(desk, complete(desk, value, "do"), AdvanceLoop(loop_id="each")).value
    assert value["message"] == "Advanced loop 'each' to iteration 2"
    value = act(desk, complete(desk, value, "do"), AdvanceLoop(loop_id="each")).value

    assert value["message"] == "Finished loop 'each'; the workflow is complete"
    assert value["complete"] is True
    assert value["availableActions"] == {"required": [], "optional": [], "blocked": []}
    assert Run.objects.get().status == "complete"
    assert_healthy()


def test_steps_workflows_are_driven_by_hand_too(desk):
    published_steps(desk, *run_cast.plain_steps(2))
    value = start(desk, "team.sample")

    last = complete(desk, complete(desk, value, "step-0"), "step-1")

    assert last["complete"] is True
    assert_healthy()


def test_a_step_that_asks_for_a_persons_approval_waits_for_it_and_so_does_what_follows(desk):
    asked = run_cast.notes_free("ship", requireConfirmation={"kind": "human_approval"})
    published_steps(desk, asked, run_cast.notes_free("after"))
    value = start(desk, "team.sample")

    around = complete(desk, value, "after")
    said = complete(desk, value, "ship")
    again = complete(desk, said, "ship")

    assert (around["success"], around["error"]["code"]) == (False, "STEP_NOT_FOUND")
    assert [action["step"] for action in required(value)] == ["ship"]
    assert (said["success"], said["blockers"][0]["code"]) == (False, "USER_ONLY_DEPENDENCY")
    assert required(said) == []
    assert again["state"] == said["state"]
    assert CheckpointRequest.objects.get().state == "open"


def test_an_approval_takes_a_steered_run_on_and_its_driver_is_told(desk):
    asked = run_cast.notes_free("ship", requireConfirmation={"kind": "human_approval"})
    published_steps(desk, asked, run_cast.notes_free("after"))
    said = complete(desk, start(desk, "team.sample"), "ship")

    answer(desk.person, CheckpointRequest.objects.get(), "approve", reason="Fine.")
    told = steered.read_situation(actor=desk.agent, state_token=said["state"], speech=NAVIGATION).value

    assert (told["position"]["step"]["id"], told["answered"]["reason"]) == ("after", "Fine.")
    assert complete(desk, told, "after")["complete"]


def test_what_was_replayed_after_two_rotations_is_signed_anew(desk):
    published(desk, activity(steps=[step("do"), step("look")]))
    value = start(desk)
    first = act(desk, value, CompleteStep(step_id="do"))
    rotate_long_ago(2)

    again = act(desk, value, CompleteStep(step_id="do"))

    assert again.value["state"] != first.value["state"]
    assert (
        steered.read_situation(actor=desk.agent, state_token=again.value["state"], speech=NAVIGATION).value["success"]
        is True
    )
    assert orjson.loads(again.data)["position"] == first.value["position"]


def test_names_are_told_with_the_values_of_the_run(desk):
    from tests.step_documents import loop, step as plain

    rounds = loop("rounds", [plain("inner", title="Take {{item}}")], type="forEach", items="items", itemVar="item")
    published_steps(desk, plain("work", title="Do the {{kind}}"), {**rounds, "title": "Each {{kind}}"})

    value = start(desk, "team.sample", kind="bug", items=["one"])

    assert (value["position"]["step"]["name"], required(value)[0]["name"]) == ("Do the bug", "Do the bug")
    before = complete(desk, value, "work")
    assert [each["name"] for each in required(before)] == ["Each bug"]
    inside = act(desk, before, AdvanceLoop(loop_id="rounds")).value
    assert (inside["position"]["loop"]["name"], required(inside)[0]["name"]) == ("Each bug", "Take one")
    told = steered.read_situation(actor=desk.agent, state_token=inside["state"], speech=NAVIGATION).value
    assert "{{" not in str(told)


def told_after_answer(desk, option):
    """The state from before a person answered what the agent might have answered, with the question of that state."""
    yes = {"id": "yes", "label": "Yes", "effect": {"setVariable": {"on": True}}}
    no = {"id": "no", "label": "No", "effect": {"transitionTo": "other"}}
    asks = activity(steps=[step("look")], checkpoints=[checkpoint("sure", options=[yes, no])])
    published(desk, asks, activity("other", steps=[step("again")]), initialActivity="work")
    before = start(desk)
    answer(desk.person, CheckpointRequest.objects.get(), option)
    return before


@pytest.mark.parametrize(("option", "offered"), [("yes", "look"), ("no", "again")])
def test_who_holds_the_state_from_before_a_persons_answer_is_shown_what_follows_it(desk, option, offered):
    before = told_after_answer(desk, option)

    situation = steered.read_situation(actor=desk.agent, state_token=before["state"], speech=NAVIGATION).value
    refused = act(desk, before, RespondToCheckpoint(checkpoint_id="sure", option_id="yes")).value
    done = complete(desk, before, offered)

    for told in (situation, refused):
        assert told["checkpoint"] is None
        assert [each["step"] for each in required(told)] == [offered]
        assert told["answered"]["optionId"] == option
    assert refused["error"]["code"] in {"CHECKPOINT_ALREADY_RESPONDED", "CHECKPOINT_NOT_FOUND"}
    assert done["success"]
    assert waiting_at(desk, before)["active"] is False
    assert_healthy()
