"""A run goes to its end in every drive, whatever a mode or an option leaves out of it and however few conditions hold."""

from dataclasses import replace
from itertools import product
from uuid import UUID

import pytest

from sessions_app.engine.actions import CompleteStep, TakeTransition
from sessions_app.engine.decide import decide
from sessions_app.engine.decisions import EnterActivity, Start
from sessions_app.engine.handover_refusals import InvalidTransitionError
from sessions_app.engine.landscape import Waiting, survey
from sessions_app.engine.runs import Drive
from sessions_app.engine.state import Preferences
from tests.engine_play import activities, asking, do
from tests.hand_play import begun, place, steered
from tests.walking import IS_ON, to
from workflows_app.engine import walker
from workflows_app.engine.program import Activity, Option, WorkflowMode

YES = Option(id="yes", label="Yes")
NAMES = ("one", "two", "three")
# Where each activity leads, by its index: nowhere while `on` is unset, or on.
WAYS = {
    "never": lambda at: (to(NAMES[(at + 1) % 3], condition=IS_ON),),
    "itself": lambda at: (to(NAMES[at], condition=IS_ON),),
    "the end": lambda _: (to("workflow-end", condition=IS_ON),),
    "on": lambda at: (to(NAMES[at + 1]),) if at < 2 else (),
}


def program_of(left_out, ways, *, human):
    """A mode leaves activities out that ask a person."""
    gate, checkpoint = asking("sure", YES, human=True)
    asked = {"body": (do("work"), gate), "checkpoints": (checkpoint,)}
    made = [
        Activity(
            id=name,
            title=name,
            transitions=WAYS[(*ways, "on")[at]](at),
            **(asked if human and name in left_out else {"body": (do("work"),)}),
        )
        for at, name in enumerate(NAMES)
    ]
    return activities(*made, modes=(WorkflowMode(id="m", name="M", activation_variable="m", skip_activities=left_out),))


def led(program):
    walk = walker.start(program=program, variables={"m": True})
    visited = []
    while not walk.position.complete:
        visited.append(walk.position.activity)
        walk = walker.complete_pending(program=program, position=walk.position, variables={"m": True})
    return visited


def by_hand(program):
    snapshot = begun(program, m=True)
    visited = []
    while (land := survey(program=program, snapshot=snapshot)).waiting is not Waiting.NOTHING:
        if land.may_do:
            visited.append(land.activity.id)
            snapshot = steered(program, snapshot, CompleteStep(step_id=land.may_do[0].id))
            continue
        way = next(way for way in land.ways if way.is_open and way.holds)
        snapshot = steered(program, snapshot, TakeTransition(activity_id=way.target))
    return visited


def handed_over(program):
    """An agent that goes where it is told to, and where a refusal sends it."""
    command = Start(goal="", context={"m": True}, baseline=Preferences(), drive=Drive.HANDED_OVER)
    snapshot = decide(program=program, snapshot=None, command=command, place=place()).snapshot
    target, visited, refused = program.initial_activity, [], set()
    for number in range(1, 20):
        entering = EnterActivity(activity_id=target)
        at = replace(place(1), next_node=UUID(int=100 * number), more_nodes=())
        try:
            snapshot = decide(program=program, snapshot=snapshot, command=entering, place=at).snapshot
        except InvalidTransitionError as refusal:
            refused.add(target)
            target = next(each for each in refusal.details["leadsTo"] if each not in refused)
            continue
        if snapshot.position.complete:
            return visited
        here = snapshot.position.activity
        visited.append(here)
        ways = [way.to for way in program.activity(here).transitions if way.condition is None]
        target = ways[0] if ways else "workflow-end"
    raise AssertionError((visited, refused))


@pytest.mark.parametrize("human", [False, True])
@pytest.mark.parametrize("left_out", [("one",), ("two",), ("one", "two"), NAMES])
def test_what_is_left_out_is_no_dead_end_in_any_drive(left_out, human):
    for ways in product(WAYS, repeat=2):
        program = program_of(left_out, ways, human=human)

        visited = led(program)

        assert by_hand(program) == visited, ways
        assert set(visited) <= set(handed_over(program)), ways


def test_a_way_to_what_is_no_activity_does_not_make_the_end_of_the_others():
    lost = Activity(id="one", title="one", body=(do("work"),), transitions=(to("nowhere"), to("two", condition=IS_ON)))
    program = activities(lost, Activity(id="two", title="two", body=(do("work"),)))
    snapshot = steered(program, begun(program), CompleteStep(step_id="work"))

    open_ways = [way.target for way in survey(program=program, snapshot=snapshot).ways if way.is_open]

    assert open_ways == ["two"]
