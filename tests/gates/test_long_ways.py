"""However many rounds stand on the way, nobody is passed by who is asked behind them, and nothing is overlooked that is set there."""

import pytest

from tests.activity_folders import activity, checkpoint, equals, folder, step as activity_step, workflow
from tests.checkpoint_cast import publish_folder
from tests.gate_play import (
    APPROVAL,
    COMPLETE,
    FOLDER,
    HANDED_OVER,
    STEPS,
    hand_in,
    nav,
    nav_start,
    person_answers,
    reached,
    said,
)
from tests.run_cast import notes_free, published
from tests.step_documents import loop

pytestmark = pytest.mark.django_db(transaction=True)

NEVER = {"var": "mood", "equals": "never"}
ASKED_NEVER = {"requireConfirmation": APPROVAL | {"condition": NEVER}}
LEFT_OUT = {"runCondition": NEVER}
# The rounds are as many as the agent says, and in each of them so many steps, done or left out.
ROUNDS = {
    "long": (1, 900, {}),
    "nested": (3, 190, LEFT_OUT),
    "long, and might ask": (1, 900, ASKED_NEVER),
    "nested, and might ask": (2, 190, ASKED_NEVER),
    "nested, left out, and might ask": (3, 190, ASKED_NEVER | LEFT_OUT),
}


def publish(desk, depth, asked):
    body = [notes_free(f"turn-{number}", **asked) for number in range(3)]
    for level in range(depth):
        body = [loop(f"rounds-{level}", body, type="for", count="many", maxIterations=1000)]
    published(
        desk,
        notes_free("before"),
        *body,
        notes_free("gated", requireConfirmation=APPROVAL),
        notes_free("after"),
        workflow_id=STEPS,
    )


def tell(floor, dialect, token, target, *entries):
    manifest = [{"step_id": name, "output": f"Did {name}.", **more} for name, more in entries]
    return said(
        floor[dialect].raw("next_activity", session_token=token, activity_id=target, step_manifest=manifest or None)
    )


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_no_rounds_hide_who_is_asked_behind_them(floor, dialect, rounds):
    depth, many, asked = ROUNDS[rounds]
    publish(floor.desk, depth, asked)
    token = hand_in(floor, dialect, STEPS, "main")
    before = ("before", {"context": {"many": many}})

    replies = [
        tell(floor, dialect, token, "workflow-end", before, *more)
        for more in ([], [("after", {})], [("turn-0", {}), ("after", {})])
    ]

    assert not reached() & {"after", COMPLETE}
    assert {reply["code"] for reply in replies} <= {"CHECKPOINT_OPEN", "STEP_NOT_DONE"}


@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_no_long_value_hides_who_is_asked(floor, dialect):
    """Conditions are asked for so many parts, and long values count for many: what is not asked for is not passed by."""
    looked_for = [{"var": "notes", "contains": f"word-{number}"} for number in range(900)]
    skipped = [notes_free(f"turn-{number}", runCondition={"or": looked_for[number::4]}) for number in range(4)]
    gated = notes_free("gated", requireConfirmation=APPROVAL)
    published(floor.desk, notes_free("before"), *skipped, gated, notes_free("after"), workflow_id=STEPS)
    token = hand_in(floor, dialect, STEPS, "main")
    before = ("before", {"context": {"notes": "." * 250_000}})

    for more in ([], [("after", {})]):
        told = tell(floor, dialect, token, "workflow-end", before, *more)
        assert told["code"] in {"CHECKPOINT_OPEN", "STEP_NOT_DONE"}, told
    assert not reached() & {"after", COMPLETE}


@pytest.mark.parametrize("rounds", ["long", "nested", "long, and might ask"])
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_rounds_may_be_summed_up_where_nobody_is_asked_in_them(floor, dialect, rounds):
    depth, many, asked = ROUNDS[rounds]
    publish(floor.desk, depth, asked)
    token = hand_in(floor, dialect, STEPS, "main")
    turns = [("turn-0", {}), ("turn-1", {}), ("turn-2", {})]

    tell(floor, dialect, token, "workflow-end", ("before", {"context": {"many": many}}), *turns, ("gated", {}))
    person_answers(floor, "approve")
    tell(floor, dialect, token, "workflow-end", ("after", {}))

    assert COMPLETE in reached()


SET = {"action": "set", "target": "review", "value": True}
COUNTS = {"action": "set", "target": "seen", "value": True}


@pytest.mark.parametrize("count", [10, 600])
@pytest.mark.parametrize("turn", [[], [COUNTS]])
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_what_is_set_behind_many_rounds_leads_on_whoever_leaves_it_out(floor, dialect, turn, count):
    turns = {"kind": "action", "id": "turn", "name": "Turn", **({"actions": turn} if turn else {})}
    rounds = {"loopType": "forEach", "over": "items", "variable": "item", "maxIterations": 1000, "steps": [turns]}
    plan = activity(
        "plan",
        steps=[
            activity_step("draft"),
            {"kind": "loop", "id": "rounds", "name": "Rounds", **rounds},
            {"kind": "action", "id": "sets", "name": "Sets", "actions": [SET]},
        ],
        transitions=[{"to": "asks", "condition": equals("review", value=True)}, {"to": "build", "isDefault": True}],
    )
    asks = activity(
        "asks",
        checkpoints=[checkpoint("agreed", message="May it go on?", authority="human")],
        steps=[activity_step("asked", checkpoint="agreed")],
        transitions=[{"to": "build"}],
    )
    about = workflow(
        id=FOLDER,
        description="Asks before it goes on.",
        initialActivity="plan",
        variables=[{"name": "review", "type": "boolean", "defaultValue": False}],
    )
    publish_folder(
        floor.desk, folder(plan, asks, activity("build", steps=[activity_step("make")]), about=about), FOLDER
    )
    token = hand_in(floor, dialect, FOLDER, "plan")
    listed = {"context": {"items": ["one"] * count}}

    for done in ([], [("draft", listed)], [("draft", listed), ("turn", {})]):
        told = tell(floor, dialect, token, "build", *done)
        assert "code" in told, told
        assert not reached() & {"make", COMPLETE}
    told = tell(floor, dialect, token, "asks", ("draft", listed), ("turn", {}), ("sets", {}))
    assert "code" not in told


def test_no_long_value_opens_another_way_than_the_one_that_holds(floor):
    """To enter what asks takes more looks than one call does: it is no dead end for that."""
    looked_for = [{**equals("notes", f"word-{number}"), "operator": "contains"} for number in range(900)]
    skipped = [
        activity_step(f"turn-{number}", condition={"type": "or", "conditions": looked_for[number::18]})
        for number in range(18)
    ]
    plan = activity(
        "plan",
        steps=[activity_step("draft")],
        transitions=[
            {"to": "asks", "condition": {**equals("fine", value=True), "operator": "!="}},
            {"to": "build", "condition": equals("fine", value=True)},
        ],
    )
    asks = activity(
        "asks",
        checkpoints=[checkpoint("agreed", message="May it go on?", authority="human")],
        steps=[*skipped, activity_step("asked", checkpoint="agreed")],
        transitions=[{"to": "build"}],
    )
    extra = activity("extra", steps=[activity_step("more")], transitions=[{"to": "build"}])
    fast = {"id": "fast", "name": "Fast", "description": "Leaves out.", "activationVariable": "fast"}
    about = workflow(
        id=FOLDER,
        description="Asks before it goes on.",
        initialActivity="plan",
        variables=[{"name": "fine", "type": "boolean", "defaultValue": False}],
        modes=[{**fast, "recognition": ["fast"], "skipActivities": ["extra"]}],
    )
    publish_folder(
        floor.desk, folder(plan, asks, extra, activity("build", steps=[activity_step("make")]), about=about), FOLDER
    )
    state = nav_start(floor, FOLDER)["state"]
    done = nav(floor, state, "complete_step", step_id="draft", context={"notes": "." * 250_000})

    for target in ("build", "end-workflow"):
        assert not nav(floor, done["state"], "transition", activity_id=target)["success"]
    assert not reached() & {"make", COMPLETE}
