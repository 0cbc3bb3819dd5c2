"""A person's question in a loop: each round asks anew, also where an agent has no call of its own to ask it with."""

import pytest

from sessions_app.models import Node
from sessions_app.selectors.checkpoints import read_checkpoint
from sessions_app.selectors.evidence import read_evidence
from tests.activity_folders import activity, checkpoint, equals, folder, step as activity_step, workflow
from tests.checkpoint_cast import publish_folder
from tests.gate_play import FOLDER, HANDED_OVER, hand_in, hand_next, person_answers, questions, reached, said

pytestmark = pytest.mark.django_db(transaction=True)

ASKED = {
    "authority": "human",
    "options": [
        {"id": "yes", "label": "Yes", "effect": {"setVariable": {"approved": True}}},
        {"id": "no", "label": "No", "effect": {"setVariable": {"approved": False}}},
    ],
}
ROUNDS = {"each": {"loopType": "forEach", "over": "items", "variable": "item", "maxIterations": 5}} | {
    kind: {"loopType": kind, "condition": equals("approved", value=False), "maxIterations": 5}
    for kind in ("while", "doWhile")
}


def publish(desk, kind):
    """Two rounds: of two items, or while the answer is no."""
    rounds = {"kind": "loop", "id": "rounds", "name": "Rounds", **ROUNDS[kind]}
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", message="Is it right?", **ASKED)],
        steps=[
            activity_step("begin"),
            {**rounds, "steps": [activity_step("draft", checkpoint="agreed"), activity_step("tidy")]},
            activity_step("after"),
        ],
        transitions=[{"to": "build"}],
    )
    variables = [
        {"name": "items", "type": "array", "defaultValue": ["one", "two"]},
        {"name": "approved", "type": "boolean", "defaultValue": False},
    ]
    about = workflow(id=FOLDER, description="Asks in each round.", initialActivity="plan", variables=variables)
    publish_folder(desk, folder(plan, activity("build", steps=[activity_step("make")]), about=about), FOLDER)


TOLD = ("begin", "draft", "tidy", "draft", "tidy", "after")


@pytest.mark.parametrize("kind", ROUNDS)
def test_a_session_asks_for_the_next_round_when_it_comes_to_it(floor, kind):
    publish(floor.desk, kind)
    token = hand_in(floor, "session", FOLDER, "plan")
    person_answers(floor, "no")

    asked = hand_next(floor, "session", token, "build", *TOLD)

    assert (asked["status"], asked["recorded_steps"], asked["pending_checkpoints"]) == ("waiting", 0, ["agreed"])
    assert [row.state for row in questions()].count("open") == 1
    assert asked["waits_for_person"][0]["checkpoint_id"] == "agreed"
    assert "make" not in reached()
    refused = hand_next(floor, "session", asked["session_token"], "build", *TOLD)
    assert refused["code"] == "CHECKPOINT_OPEN"

    person_answers(floor, "yes")
    assert hand_next(floor, "session", asked["session_token"], "build", *TOLD)["id"] == "build"
    assert "make" in reached()


def test_whoever_is_asked_in_a_later_round_is_shown_what_the_agent_told(floor):
    """And nothing of it counts as done by that."""
    publish(floor.desk, "each")
    token = hand_in(floor, "session", FOLDER, "plan")
    person_answers(floor, "no")
    before = reached()

    asked = hand_next(floor, "session", token, "build", *TOLD)

    (open_,) = [row for row in questions() if row.state == "open"]
    question = read_checkpoint(actor=floor.desk.person, request_id=open_.id)
    evidence = read_evidence(actor=floor.desk.person, question=question)
    (shown,) = evidence.brought
    assert all(f"- {name}: " in shown.body for name in TOLD)
    assert reached() == before
    person_answers(floor, "yes")
    assert hand_next(floor, "session", asked["session_token"], "build", *TOLD)["id"] == "build"


def publish_of_items(desk, *, around=()):
    """Two items, each of them asked about in its own words, in a loop that may stand in another."""
    asked = checkpoint("agreed", message="Is {{item}} right?", **ASKED)
    rounds = {"kind": "loop", "id": "rounds", "name": "Rounds", **ROUNDS["each"]}
    body = {**rounds, "steps": [activity_step("draft", checkpoint="agreed"), activity_step("tidy")]}
    for number, count in enumerate(around):
        repeated = {"loopType": "forEach", "over": "turns", "variable": "turn", "maxIterations": count}
        body = {"kind": "loop", "id": f"around-{number}", "name": "Around", **repeated, "steps": [body]}
    plan = activity("plan", checkpoints=[asked], steps=[body], transitions=[{"to": "build"}])
    variables = [
        {"name": "items", "type": "array", "defaultValue": ["one", "two"]},
        {"name": "turns", "type": "array", "defaultValue": [1, 2]},
        {"name": "approved", "type": "boolean", "defaultValue": False},
    ]
    about = workflow(id=FOLDER, description="Asks about each item.", initialActivity="plan", variables=variables)
    publish_folder(desk, folder(plan, activity("build", steps=[activity_step("make")]), about=about), FOLDER)


@pytest.mark.parametrize("around", [(), (2,)], ids=["alone", "within"])
def test_a_session_asks_in_the_words_of_the_round(floor, around):
    publish_of_items(floor.desk, around=around)
    rounds = ["one", "two"] * (around[0] if around else 1)
    manifest = ("draft", "tidy") * len(rounds)
    token = hand_in(floor, "session", FOLDER, "plan")
    for _ in rounds[1:]:
        person_answers(floor, "yes")
        token = hand_next(floor, "session", token, "build", *manifest)["session_token"]
    person_answers(floor, "yes")

    assert [row.message for row in questions()] == [f"Is {name} right?" for name in rounds]
    assert hand_next(floor, "session", token, "build", *manifest)["id"] == "build"


@pytest.mark.parametrize("further", [0, 1])
def test_rounds_of_an_inner_loop_are_those_of_a_run_that_is_led(floor, further):
    """What is told beyond all rounds is one more of the loop that it was told in last."""
    publish_of_items(floor.desk, around=(2,))
    token = hand_in(floor, "session", FOLDER, "plan")
    told = {}
    while "make" not in reached():
        assert len(questions()) <= 4 + further
        person_answers(floor, "yes")
        told = hand_next(floor, "session", token, "build", *(("draft", "tidy") * (4 + further)))
        token = told["session_token"]

    keys = Node.objects.exclude(pending_key="").order_by("event_index").values_list("pending_key", flat=True)
    rounds = [f"plan@0/around-0@{outer}/rounds@{inner}" for outer in range(2) for inner in range(2 + further * outer)]
    assert list(dict.fromkeys(key for key in keys if "rounds@" in key)) == [
        f"{each}::{name}" for each in rounds for name in ("draft", "tidy")
    ]


def test_a_worker_asks_in_the_words_of_the_round(floor):
    publish_of_items(floor.desk)
    token = hand_in(floor, "orchestrator", FOLDER, "plan")
    for _ in range(2):
        asked = said(floor.orchestrator.raw("yield_checkpoint", session_token=token, checkpoint_id="agreed"))
        person_answers(floor, "yes")
        token = said(floor.orchestrator.raw("resume_checkpoint", session_token=asked["checkpoint_handle"]))[
            "session_token"
        ]

    assert [row.message for row in questions()] == ["Is one right?", "Is two right?"]


@pytest.mark.parametrize("manifest", [(), TOLD[:3], TOLD], ids=len)
def test_nobody_is_asked_more_often_than_the_rounds_ask(floor, manifest):
    publish(floor.desk, "each")
    token = hand_in(floor, "session", FOLDER, "plan")
    person_answers(floor, "no")
    for number in range(3):
        told = hand_next(floor, "session", token, "build", *manifest)
        token = told.get("session_token", token)
        if [row for row in questions() if row.state == "open"]:
            assert number == 0
            person_answers(floor, "yes")

    assert len(questions()) == 2
    assert "make" in reached()


def test_the_call_that_had_a_question_asked_is_answered_the_same_again(floor):
    publish(floor.desk, "each")
    token = hand_in(floor, "session", FOLDER, "plan")
    person_answers(floor, "no")

    first = hand_next(floor, "session", token, "build", *TOLD)

    assert hand_next(floor, "session", token, "build", *TOLD) == first
    assert len(questions()) == 2


def test_a_worker_asks_for_each_round_itself(floor):
    publish(floor.desk, "each")
    token = hand_in(floor, "orchestrator", FOLDER, "plan")

    refused = hand_next(floor, "orchestrator", token, "build", *TOLD)

    assert refused["details"]["needsPerson"] == ["agreed"]
    assert questions() == []
    for _round in range(2):
        asked = said(floor.orchestrator.raw("yield_checkpoint", session_token=token, checkpoint_id="agreed"))
        person_answers(floor, "yes")
        resumed = said(floor.orchestrator.raw("resume_checkpoint", session_token=asked["checkpoint_handle"]))
        token = resumed["session_token"]
    hand_next(floor, "orchestrator", token, "build", *TOLD)
    assert "make" in reached()


def test_a_question_that_was_dismissed_is_asked_when_its_condition_holds_in_the_end(floor):
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", **ASKED, condition=equals("risk", value="high"))],
        steps=[activity_step("look"), activity_step("draft", checkpoint="agreed"), activity_step("after")],
        transitions=[{"to": "build"}],
    )
    variables = [{"name": "risk", "type": "string", "defaultValue": "low"}, {"name": "approved", "type": "boolean"}]
    about = workflow(id=FOLDER, description="Asks where it is risky.", initialActivity="plan", variables=variables)
    publish_folder(floor.desk, folder(plan, activity("build", steps=[activity_step("make")]), about=about), FOLDER)
    token = hand_in(floor, "session", FOLDER, "plan")
    dismissed = floor.session("respond_checkpoint", session_token=token, checkpoint_id="agreed", condition_not_met=True)
    manifest = [{"step_id": name, "output": f"Did {name}."} for name in ("look", "draft", "after")]
    manifest[0]["context"] = {"risk": "high"}
    call = {"activity_id": "build", "step_manifest": manifest}

    asked = said(floor.session.raw("next_activity", session_token=dismissed["session_token"], **call))

    assert (asked["status"], asked["pending_checkpoints"]) == ("waiting", ["agreed"])
    person_answers(floor, "yes")
    assert said(floor.session.raw("next_activity", session_token=asked["session_token"], **call))["id"] == "build"
    assert "make" in reached()


@pytest.mark.parametrize("order", ["before", "behind"])
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_a_question_that_stands_outside_of_a_loop_as_well_is_answered_for_both(floor, dialect, order):
    rounds = {"kind": "loop", "id": "rounds", "name": "Rounds", **ROUNDS["each"]}
    steps = [
        activity_step("whole", checkpoint="agreed"),
        {**rounds, "steps": [activity_step("draft", checkpoint="agreed")]},
    ]
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", message="Is it right?", **ASKED)],
        steps=steps if order == "before" else steps[::-1],
        transitions=[{"to": "build"}],
    )
    variables = [{"name": "items", "type": "array", "defaultValue": ["one", "two"]}]
    about = workflow(id=FOLDER, description="Asks in each round.", initialActivity="plan", variables=variables)
    publish_folder(floor.desk, folder(plan, activity("build", steps=[activity_step("make")]), about=about), FOLDER)
    token = hand_in(floor, dialect, FOLDER, "plan")
    rounds_told = ["draft", "draft"]
    told = ["whole", *rounds_told] if order == "before" else [*rounds_told, "whole"]

    for _ in range(3):
        assert "make" not in reached()
        asked = {}
        if dialect == "orchestrator":
            asked = said(floor.orchestrator.raw("yield_checkpoint", session_token=token, checkpoint_id="agreed"))
        person_answers(floor, "yes")
        if asked:
            resumed = said(floor.orchestrator.raw("resume_checkpoint", session_token=asked["checkpoint_handle"]))
            token = resumed["session_token"]
        token = hand_next(floor, dialect, token, "build", *told).get("session_token", token)

    assert "make" in reached()
    assert len(questions()) == 3
