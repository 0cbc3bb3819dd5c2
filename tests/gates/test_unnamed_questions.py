"""A person's question that no step of its activity names is asked when the activity is entered, in every dialect."""

import pytest

from tests.activity_folders import activity, checkpoint, codes, compiled, folder, only, step as activity_step, workflow
from tests.checkpoint_cast import publish_folder
from tests.gate_play import (
    DIALECTS,
    FOLDER,
    hand_in,
    hand_next,
    nav,
    nav_start,
    person_answers,
    questions,
    rail_ack,
    rail_read,
    rail_start,
    reached,
    relayed,
    said,
)
from workflows_app.engine.problems import ProblemCode

NAMES = {"kind": "checkpoint", "id": "other", "message": "Go on?", "options": checkpoint("other")["options"]}
# What else the activity asks: how the other question is named, where there is one.
OTHERS = {
    "a step names another": ([activity_step("draft", checkpoint="other"), activity_step("after")], True),
    "a step is another": ([activity_step("draft"), NAMES, activity_step("after")], False),
    "a loop asks another": (
        [
            activity_step("draft"),
            {
                "kind": "loop",
                "id": "rounds",
                "name": "Rounds",
                "loopType": "forEach",
                "over": "files",
                "steps": [NAMES],
            },
            activity_step("after"),
        ],
        False,
    ),
    "nothing names any": ([activity_step("draft"), activity_step("after")], False),
}


def _folder(others, **question):
    steps, declares = OTHERS[others]
    asked = [checkpoint("agreed", **{"authority": "human", **question})]
    plan = activity(
        "plan",
        checkpoints=[*asked, *([checkpoint("other")] if declares else [])],
        steps=steps,
        transitions=[{"to": "build"}],
    )
    variables = [{"name": "files", "type": "array", "defaultValue": []}]
    about = workflow(id=FOLDER, description="Asks.", initialActivity="plan", variables=variables)
    return folder(plan, activity("build", steps=[activity_step("make")]), about=about)


def _by_rail(floor, begun=None):
    """Every step is acknowledged, and whatever an agent may answer is answered."""
    told = begun or rail_start(floor, FOLDER)
    for turn in range(6):
        floor.read_it()
        said_back = rail_ack(floor, told, f"Did it {turn}.", artifacts=[relayed("yes", "other"), relayed("yes")])
        told = said_back if "ackToken" in said_back else rail_read(floor, told)
        if not told.get("ackToken"):
            break
    return told


def _by_hand(floor, state=None):
    state = state or nav_start(floor, FOLDER)["state"]
    moves = [
        *(("complete_step", {"step_id": name}) for name in ("draft", "after")),
        *(("respond_to_checkpoint", {"checkpoint_id": name, "option_id": "yes"}) for name in ("agreed", "other")),
        ("transition", {"activity_id": "build"}),
    ]
    for action, arguments in moves * 3:
        floor.read_it()
        told = nav(floor, state, action, **arguments)
        state = told["state"] if told.get("success") else state
    return state


def _handed_over(floor, dialect, token=None):
    token = token or hand_in(floor, dialect, FOLDER, "plan")
    for name in ("other", "agreed"):
        token = _told_of(floor, dialect, token)
        if dialect == "orchestrator":
            asked = said(floor.orchestrator.raw("yield_checkpoint", session_token=token, checkpoint_id=name))
            token = asked.get("checkpoint_handle", token)
        floor.read_it()
        named = {"checkpoint_id": name} if dialect == "session" else {}
        said_back = said(floor[dialect].raw("respond_checkpoint", session_token=token, **named, option_id="yes"))
        token = said_back.get("session_token") or said_back.get("checkpoint_handle") or token
    return _told_of(floor, dialect, token)


def _told_of(floor, dialect, token):
    for done in ((), ("after",), ("draft", "after")):
        token = hand_next(floor, dialect, token, "build", *done).get("session_token", token)
    return token


TRIES = {
    "rail": _by_rail,
    "navigation": _by_hand,
    "session": lambda floor, token=None: _handed_over(floor, "session", token),
    "orchestrator": lambda floor, token=None: _handed_over(floor, "orchestrator", token),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_nobody_goes_past_a_persons_question_that_no_step_names(floor, dialect, others, required):
    publish_folder(floor.desk, _folder(others, required=required), FOLDER)

    at = TRIES[dialect](floor)

    assert "make" not in reached()
    assert {row.checkpoint_id: row.state for row in questions()}["agreed"] == "open"

    person_answers(floor, "yes")
    TRIES[dialect](floor, rail_read(floor, at) if dialect == "rail" else at)

    assert "make" in reached()


@pytest.mark.parametrize("authority", ["human", "relayed"])
@pytest.mark.parametrize("others", OTHERS)
def test_the_compiler_says_when_a_question_that_no_step_names_is_asked(others, authority):
    """Where steps name other questions, an author may think that this one is asked at its place in the list."""
    problems = compiled(_folder(others, authority=authority)).problems
    if others == "nothing names any":
        assert codes(problems) == []
        return

    told = only(problems, ProblemCode.UNNAMED_CHECKPOINT)

    assert ("on entry" in told.message) is (authority == "human")
    assert ("an agent raises it" in told.message) is (authority == "relayed")
    assert told.file == "activities/01-plan.toon"
    assert told.path == "checkpoints[0]"
