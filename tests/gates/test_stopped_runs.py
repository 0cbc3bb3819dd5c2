"""A run that people have paused, cancelled or rejected is moved by no call of any dialect and of no endpoint."""

import pytest
from django.utils import timezone

from sessions_app.models import Run
from tests import logs
from tests.checkpoint_cast import answer, publish_folder
from tests.gate_kinds import KINDS, PARENT, Kind, publish_parent
from tests.gate_play import (
    HANDED_OVER,
    STEPS,
    hand_next,
    hand_start,
    nav,
    nav_start,
    nav_step,
    questions,
    rail_ack,
    rail_read,
    said,
)
from tests.gate_scenes import Mode, Scene, set_scene
from tests.handover_cast import WORKFLOW, child_files, triggering
from tests.run_doors import V1

pytestmark = pytest.mark.django_db(transaction=True)

CODES = {"paused": "RUN_PAUSED", "cancelled": "RUN_ENDED", "rejected": "RUN_ENDED"}
REASON = "The plan has changed."


def rail_calls(scene, told):
    """With the tokens of the block, and of the step before it."""
    floor, before = scene.floor, rail_read(scene.floor, scene.held[0])
    tokens = {"stateToken": told["stateToken"], "checkpointToken": told["checkpointToken"]}
    yield rail_ack(floor, told, "Other work.")
    yield rail_ack(floor, told, preferences={"preset": "full_auto_never_stop"})
    yield rail_ack(floor, before, "Again, from before.")
    yield said(floor.rail.raw("checkpoint_workflow", **tokens, output={"notesMarkdown": "A note."}))


def navigation_calls(scene, told):
    floor = scene.floor
    for state in (told["state"], scene.held[0]):
        yield nav_step(floor, state, "gated")
        yield nav_step(floor, state, "after")
        yield nav(floor, state, "transition", activity_id="workflow-end")
        yield nav(floor, state, "advance_loop", loop_id="rounds")
        yield nav(floor, state, "respond_to_checkpoint", checkpoint_id="gated", option_id="approve")


def handed_over_calls(scene, told):
    caller, token = scene.floor[scene.dialect], told["session_token"]
    named = {"checkpoint_id": "gated"} if scene.dialect == "session" else {}
    yield hand_next(scene.floor, scene.dialect, token, "workflow-end", "gated", "after")
    yield hand_next(scene.floor, scene.dialect, scene.held[0], "workflow-end")
    yield said(caller.raw("respond_checkpoint", session_token=token, option_id="approve", **named))
    if scene.dialect == "orchestrator":
        yield said(caller.raw("yield_checkpoint", session_token=token, checkpoint_id="gated"))


CALLS = {"rail": rail_calls, "navigation": navigation_calls} | dict.fromkeys(HANDED_OVER, handed_over_calls)


def stop(scene, kind):
    if kind == "rejected":
        (row,) = [row for row in questions(scene.run) if row.state == "open"]
        scene.floor.read_it()
        answer(scene.doors.desk.person, row, "reject", reason=REASON, now=timezone.now())
        return
    act = {"paused": "pause", "cancelled": "cancel"}[kind]
    told = scene.doors.person.post(f"{scene.run_path}/{act}", {"reason": REASON})
    assert told.status_code in {200, 204}, told.content


def code_of(told):
    return told.get("code") or told.get("error", {}).get("code")


def as_it_stands(run):
    return [event.envelope["dedupeKey"] for event in logs.logged(session_id=run.session_id) if event.run_id == run.id]


@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize("dialect", CALLS)
def test_no_call_of_a_dialect_moves_it_and_each_is_told_why(doors, doored, dialect, kind):
    workflow_id = KINDS[Kind.APPROVAL].publish(doors.desk, STEPS)
    scene = set_scene(doored, doors, Kind.APPROVAL, dialect, Mode.GUIDED, workflow_id)
    waiting = scene.move()
    stop(scene, kind)
    before = as_it_stands(scene.run)

    told = list(CALLS[dialect](scene, waiting))

    assert [code_of(each) for each in told] == [CODES[kind]] * len(told)
    assert all(REASON in str(each) for each in told)
    assert as_it_stands(scene.run) == before


@pytest.mark.parametrize("kind", CODES)
def test_no_endpoint_moves_it(doors, doored, kind):
    workflow_id = KINDS[Kind.APPROVAL].publish(doors.desk, STEPS)
    scene = set_scene(doored, doors, Kind.APPROVAL, "rail", Mode.GUIDED, workflow_id)
    blocked = rail_ack(scene.floor, scene.at)
    (row,) = questions(scene.run)
    stop(scene, kind)
    before = as_it_stands(scene.run)
    state = {"stateToken": blocked["stateToken"]}
    notes = {"output": {"notesMarkdown": "More."}}

    told = [
        doors.agent.post(f"{V1}/runs/continue", {**state, "ackToken": blocked["ackToken"], **notes}),
        doors.person.post(f"{V1}/runs/continue", {**state, "ackToken": blocked["ackToken"], **notes}),
        doors.agent.post(f"{V1}/runs/checkpoint", {**state, "checkpointToken": blocked["checkpointToken"], **notes}),
        doors.person("PUT", f"{scene.run_path}/preferences", {"preset": "full_auto_never_stop"}),
    ]

    assert [(each.status_code, each.json()["code"]) for each in told] == [(409, CODES[kind])] * len(told)
    assert row.state in {"open", "answered"}
    assert as_it_stands(scene.run) == before


def triggered_by_orchestrator(floor, workflow_id):
    """A parent that waits, and the child that it waits for, which waits for a person."""
    parent = hand_next(floor, "orchestrator", hand_start(floor, "orchestrator", PARENT), "plan")["session_token"]
    floor.clock.shift(1)
    begun = floor.orchestrator("start_session", workflow_id=workflow_id, parent_session_token=parent)["session_token"]
    child = hand_next(floor, "orchestrator", begun, "main")["session_token"]
    return parent, hand_next(floor, "orchestrator", child, "workflow-end", "before", "gated"), child


def triggered_by_navigation(floor, workflow_id):
    parent = nav_start(floor, PARENT)
    offers = parent["availableActions"]["optional"]
    offered = next(each for each in offers if each["action"] == "nav_start" and each["workflow"] == workflow_id)
    begun = nav_start(floor, workflow_id, **offered["initial_variables"])["state"]
    child = nav_step(floor, begun, "before")["state"]
    return parent["state"], {"state": child, **nav_step(floor, child, "gated")}, begun


def parents_move(floor, dialect, parent):
    if dialect == "orchestrator":
        return hand_next(floor, dialect, parent, "build", "draft")
    return nav_step(floor, floor.navigation("nav_situation", state=parent)["state"], "draft")


TRIGGERED = {"orchestrator": triggered_by_orchestrator, "navigation": triggered_by_navigation}


@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize("dialect", TRIGGERED)
def test_a_child_that_is_stopped_does_not_move_while_its_parent_waits(doors, doored, dialect, kind):
    workflow_id = KINDS[Kind.APPROVAL].publish(doors.desk, STEPS)
    publish_parent(doors.desk, workflow_id)
    parent, told, held = TRIGGERED[dialect](doored, workflow_id)
    scene = Scene(
        floor=doored,
        doors=doors,
        kind=Kind.APPROVAL,
        dialect=dialect,
        mode=Mode.GUIDED,
        workflow_id=workflow_id,
        run=Run.objects.get(workflow_id=workflow_id),
        held=[held],
    )
    assert code_of(parents_move(doored, dialect, parent)) == "RUN_SUSPENDED"
    stop(scene, kind)
    before = as_it_stands(scene.run)

    refused = list(CALLS[dialect](scene, {"session_token": held, **told}))

    assert [code_of(each) for each in refused] == [CODES[kind]] * len(refused)
    assert all(REASON in str(each) for each in refused)
    assert as_it_stands(scene.run) == before
    # It gives nothing back; and what has ended is waited for no longer.
    assert code_of(parents_move(doored, dialect, parent)) == ("RUN_SUSPENDED" if kind == "paused" else None)


def begun_child(floor, dialect="orchestrator"):
    """A parent that waits, and the child that it waits for, in its only activity."""
    publish_folder(floor.desk, triggering(), WORKFLOW)
    publish_folder(floor.desk, child_files(), "team.child")
    parent = floor[dialect]("start_session", workflow_id=WORKFLOW, agent_id="leads")["session_token"]
    parent = hand_next(floor, dialect, parent, "plan")["session_token"]
    begun = floor[dialect]("start_session", workflow_id="team.child", agent_id="works", parent_session_token=parent)[
        "session_token"
    ]
    return parent, hand_next(floor, dialect, begun, "only")["session_token"]


@pytest.mark.parametrize("kind", ["paused", "cancelled"])
def test_a_parent_that_is_stopped_does_not_move_when_its_child_has_ended(doors, doored, kind):
    from teams_app.engine.ids import Prefix, to_text

    parent, child = begun_child(doored)
    run = Run.objects.get(workflow_id=WORKFLOW)
    act = {"paused": "pause", "cancelled": "cancel"}[kind]
    doors.person.post(f"{V1}/runs/{to_text(Prefix.RUN, run.id)}/{act}", {"reason": REASON})

    assert code_of(hand_next(doored, "orchestrator", child, "workflow-end", "do")) is None
    before = as_it_stands(run)
    told = hand_next(doored, "orchestrator", parent, "build", "draft")

    assert (code_of(told), REASON in str(told)) == (CODES[kind], True)
    assert as_it_stands(run) == before
