"""What a person is shown is what they answer: in the words of now, and whatever is said after it was shown."""

import pytest
from django.utils import timezone

from sessions_app.engine.checkpoints import CheckpointStaleError
from sessions_app.models import CheckpointRequest, Run
from tests.activity_folders import activity, checkpoint, equals, folder, step as activity_step
from tests.checkpoint_cast import answer, publish_folder
from tests.gate_play import FOLDER, HANDED_OVER, hand_in, hand_next, reached, said
from tests.gate_walks import unhealthy
from tests.gates.test_what_leads_past_people import about, responded, told

pytestmark = pytest.mark.django_db(transaction=True)

CHILD = "team.child"
WHERE = [{"name": "where", "type": "string", "defaultValue": "the test"}]
PUTS = {"setVariable": {"where": "the world"}}
BUILD = activity("build", steps=[activity_step("make")])


def waiting(name="agreed"):
    """The question of that name that waits for a person."""
    return CheckpointRequest.objects.get(checkpoint_id=name, state="open")


def agrees(floor, row, option_id="yes"):
    floor.read_it()
    return answer(floor.desk.person, row, option_id, now=timezone.now())


def asking(*, order=("other", "agreed"), **more):
    names = {"other": "first", "agreed": "second"}
    other = checkpoint("other", options=[{"id": "go", "label": "Go", "effect": PUTS}])
    agreed = checkpoint("agreed", message="Shall it go to {{where}}?", authority="human", **more)
    return activity(
        "plan",
        checkpoints=[other, agreed],
        steps=[activity_step(names[name], checkpoint=name) for name in order],
        triggers=[{"workflow": CHILD}],
        transitions=[{"to": "build"}],
    )


@pytest.mark.parametrize("order", [("other", "agreed"), ("agreed", "other")])
def test_a_question_is_asked_anew_that_reads_otherwise_with_another_answer(floor, order):
    publish_folder(floor.desk, folder(asking(order=order), BUILD, about=about(variables=WHERE)), FOLDER)
    token = hand_in(floor, "session", FOLDER, "plan")
    before = waiting()

    floor.read_it()
    reply = said(floor.session.raw("respond_checkpoint", session_token=token, checkpoint_id="other", option_id="go"))

    assert (before.message, waiting().message) == ("Shall it go to the test?", "Shall it go to the world?")
    assert "asked anew: agreed" in reply["warnings"][0]
    with pytest.raises(CheckpointStaleError):
        agrees(floor, before)
    agrees(floor, waiting())
    assert hand_next(floor, "session", token, "build", "first", "second")["id"] == "build"
    before.refresh_from_db()
    assert (before.state, unhealthy()) == ("stale", [])


def publish_asking(floor, **more):
    publish_folder(floor.desk, folder(asking(**more), BUILD, about=about(variables=WHERE)), FOLDER)
    only = activity("only", steps=[activity_step("do")])
    publish_folder(floor.desk, folder(only, about={**about(), "id": CHILD, "initialActivity": "only"}), CHILD)
    return FOLDER


def begun_child(floor, token):
    floor.clock.shift(1)
    begun = floor.orchestrator("start_session", workflow_id=CHILD, agent_id="works", parent_session_token=token)
    return hand_next(floor, "orchestrator", begun["session_token"], "only")["session_token"]


@pytest.mark.parametrize("first", ["child", "question"])
def test_what_a_child_gives_back_dismisses_nothing_that_was_shown(floor, first):
    token = hand_in(floor, "orchestrator", publish_asking(floor, condition=equals("where", "the test")), "plan")
    if first == "child":
        child = begun_child(floor, token)
    asked = floor.orchestrator("yield_checkpoint", session_token=token, checkpoint_id="agreed")["session_token"]
    if first == "question":
        child = begun_child(floor, token)

    told(floor, "orchestrator", child, "workflow-end", ("do", {"context": {"where": "the world"}}))
    dismissed = said(floor.orchestrator.raw("respond_checkpoint", session_token=asked, condition_not_met=True))
    hand_next(floor, "orchestrator", token, "build", "first", "second")
    assert (dismissed["code"], reached(Run.objects.get(workflow_id=FOLDER)) & {"make"}) == (
        "CHECKPOINT_CONDITION_HOLDS",
        set(),
    )

    agrees(floor, waiting())
    token = floor.orchestrator("resume_checkpoint", session_token=asked)["session_token"]
    assert hand_next(floor, "orchestrator", token, "build", "first", "second")["activity_id"] == "build"


def test_a_question_is_asked_anew_that_reads_otherwise_with_what_a_child_gives_back(floor):
    token = hand_in(floor, "orchestrator", publish_asking(floor), "plan")
    child = begun_child(floor, token)
    asked = floor.orchestrator("yield_checkpoint", session_token=token, checkpoint_id="agreed")
    before = waiting()

    told(floor, "orchestrator", child, "workflow-end", ("do", {"context": {"where": "the world"}}))

    assert (before.message, waiting().message) == ("Shall it go to the test?", "Shall it go to the world?")
    agrees(floor, waiting())
    token = floor.orchestrator("resume_checkpoint", session_token=asked["session_token"])["session_token"]
    assert hand_next(floor, "orchestrator", token, "build", "first", "second")["activity_id"] == "build"
    before.refresh_from_db()
    assert (before.state, unhealthy()) == ("stale", [])


HIGH = equals("risk", "high")
# By what the person is asked: the condition of the question, of its step, or the rounds in which the step is done.
ASKED_BY = {"question": {}, "step": {"condition": HIGH}, "rounds": {}}
LOWERS = [{"id": "go", "label": "Go", "effect": {"setVariable": {"risk": "low", "items": []}}}]


def publish_lowering(floor, order, by):
    """Where the person is asked, and the question whose answer would have nobody ask them, in that order of work."""
    agreed = checkpoint(
        "agreed", message="May it go on?", authority="human", **({"condition": HIGH} if by == "question" else {})
    )
    asked = activity_step("asked", checkpoint="agreed", **ASKED_BY[by])
    if by == "rounds":
        over = {"loopType": "forEach", "over": "items", "variable": "item", "maxIterations": 2}
        asked = {"kind": "loop", "id": "rounds", "name": "Rounds", **over, "steps": [asked]}
    lowered = activity_step("lowered", checkpoint="other")
    plan = activity(
        "plan",
        checkpoints=[agreed, checkpoint("other", options=LOWERS)],
        steps=[asked, lowered] if order == "behind" else [lowered, asked],
        transitions=[{"to": "build"}],
    )
    variables = [
        {"name": "risk", "type": "string", "defaultValue": "high"},
        {"name": "items", "type": "array", "defaultValue": ["one"]},
    ]
    publish_folder(floor.desk, folder(plan, BUILD, about=about(variables=variables)), FOLDER)


@pytest.mark.parametrize("by", ASKED_BY)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_an_answer_told_out_of_turn_lifts_nobodys_question_before_it(floor, dialect, by):
    publish_lowering(floor, "behind", by)
    token = responded(floor, dialect, hand_in(floor, dialect, FOLDER, "plan"), "other", option_id="go")

    if dialect == "session" or by == "question":
        token = responded(floor, dialect, token, "agreed", condition_not_met=True)
    hand_next(floor, dialect, token, "build", "lowered")
    hand_next(floor, dialect, token, "build")
    assert not reached() & {"lowered", "make"}

    if dialect == "orchestrator":
        floor.orchestrator("yield_checkpoint", session_token=token, checkpoint_id="agreed")
    agrees(floor, waiting())
    if dialect == "orchestrator":
        token = floor.orchestrator("resume_checkpoint", session_token=token)["session_token"]
    hand_next(floor, dialect, token, "build", "lowered")
    assert "make" in reached()
    assert unhealthy() == []


@pytest.mark.parametrize("by", ["step", "rounds", "question"])
def test_an_answer_told_in_its_turn_lifts_what_it_lifts(floor, by):
    publish_lowering(floor, "before", by)
    token = hand_in(floor, "orchestrator", FOLDER, "plan")
    token = responded(floor, "orchestrator", token, "other", option_id="go")

    hand_next(floor, "orchestrator", token, "build", "lowered")

    assert "make" in reached()
