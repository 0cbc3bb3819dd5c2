"""What a person has waived and taken back is waived nowhere in the run, from whichever of its steps an agent goes on."""

import pytest

from tests.activity_folders import step as activity_step
from tests.gate_play import (
    APPROVAL,
    COMPLETE,
    NEVER_STOP,
    STEPS,
    asking_folder,
    nav_step,
    rail_ack,
    rail_read,
    rail_start,
    reached,
)
from tests.gate_walks import unhealthy
from tests.run_cast import notes_free, published
from tests.run_doors import V1
from tests.step_documents import step

pytestmark = pytest.mark.django_db(transaction=True)

BEHIND = {"after", "make", COMPLETE}


def approved(desk):
    gated = step("gated", notesOptional=True, requireConfirmation=APPROVAL)
    published(desk, notes_free("before"), notes_free("more"), gated, notes_free("after"), workflow_id=STEPS)
    return STEPS


def answered(desk):
    steps = [activity_step("draft"), activity_step("more", checkpoint="agreed"), activity_step("after")]
    return asking_folder(desk, authority="human", steps=steps)


def choose(doors, at, preset):
    """What a signed-in person chooses for the run, and where it stands then."""
    changed = doors.person("PUT", f"{V1}/runs/{at['session']['runId']}/preferences", {"preset": preset})
    assert changed.status_code == 200, changed.content
    return changed.json()


def waived_twice(doors, floor, workflow_id):
    """Two branches of a run that a person has told never to stop."""
    begun = choose(doors, rail_start(floor, workflow_id), "full_auto_never_stop")
    one = rail_ack(floor, begun)
    return one, rail_ack(floor, rail_read(floor, begun), notes="In another way.")


def go_on(floor, at, dialect, **more):
    if dialect == "rail":
        at = rail_read(floor, at)
        for number in range(4):
            told = rail_ack(floor, at, notes=f"Did {number}.", **more)
            at = told if "ackToken" in told else at
        return
    at = {"state": at["stateToken"]}
    for name in ("more", "gated", "after"):
        told = nav_step(floor, at["state"], name)
        at = told if told.get("state") else at


@pytest.mark.parametrize("more", [{}, {"preferences": NEVER_STOP}])
@pytest.mark.parametrize("is_noted", [False, True])
@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("dialect", ["rail", "navigation"])
@pytest.mark.parametrize("makes", [approved, answered])
def test_no_step_before_is_a_way_past_people(doors, doored, makes, dialect, elsewhere, is_noted, more):
    one, other = waived_twice(doors, doored, makes(doors.desk))
    if not elsewhere:
        other = rail_ack(doored, one)
    choose(doors, other, "guided")
    if is_noted:
        tokens = {"stateToken": one["stateToken"], "checkpointToken": one["checkpointToken"]}
        doored.rail("checkpoint_workflow", **tokens, output={"notesMarkdown": "Noted."})
    ended = reached() & BEHIND

    go_on(doored, one, dialect, **more)

    assert reached() & BEHIND == ended
    assert unhealthy() == []


@pytest.mark.parametrize("dialect", ["rail", "navigation"])
@pytest.mark.parametrize("makes", [approved, answered])
def test_what_is_waived_anew_is_waived(doors, doored, makes, dialect):
    _, other = waived_twice(doors, doored, makes(doors.desk))
    choose(doors, other, "guided")
    choose(doors, other, "full_auto_never_stop")

    go_on(doored, other, dialect)

    assert reached() & BEHIND
