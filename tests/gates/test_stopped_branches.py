"""A run that people have stopped stays so on every branch and for every handle: also where it waits for a run that has ended."""

import pytest
from django.utils import timezone

from sessions_app.models import Event, Node, Run
from sessions_app.selectors.integrity import verify_session
from sessions_app.services.moves.asked import questions_at_state
from teams_app.engine.ids import Prefix, to_text
from tests.checkpoint_cast import answer, publish_folder
from tests.gate_play import (
    approval_steps,
    asking_folder,
    hand_next,
    nav,
    nav_start,
    nav_step,
    questions,
    rail_ack,
    rail_at_gate,
    rail_read,
    rail_start,
    said,
)
from tests.handover_cast import WORKFLOW, child_files as handed_child, triggering
from tests.run_doors import V1
from tests.trigger_play import child_files, parent_files

pytestmark = pytest.mark.django_db(transaction=True)

CODES = {"pause": "RUN_PAUSED", "cancel": "RUN_ENDED"}
REASON = "The plan has changed."
PARENT = "team.parent"


def stop(doors, run, act):
    told = doors.person.post(
        f"{V1}/runs/{to_text(Prefix.RUN, run.id)}/{act}", {"reason": REASON} if act in CODES else {}
    )
    assert told.status_code in {200, 204}, told.content


def code_of(told):
    return told.get("code") or told.get("error", {}).get("code")


def as_it_stands():
    return list(Run.objects.order_by("id").values()), Node.objects.count(), Event.objects.count()


def assert_sound():
    for session_id in Run.objects.values_list("session_id", flat=True):
        assert [str(found) for found in verify_session(session_id)] == []


# A run that the server leads or that the agent steers: it waits on one branch, and another is the tip


def begun(floor, dialect):
    if dialect == "rail":
        return rail_start(floor, PARENT)["stateToken"]
    return nav_start(floor, PARENT)["state"]


def waiting_elsewhere(doors, floor, dialect):
    """The states of the first step, of where it waits, and of the tip of the other branch; the run waited for has ended."""
    publish_folder(doors.desk, child_files(), "team.child")
    publish_folder(doors.desk, parent_files(), PARENT)
    first = begun(floor, dialect)
    other = nav_step(floor, first, "draft")["state"]
    child = nav_start(floor, "team.child", parent_state=first, ticket="T-1")["state"]
    waiting = floor.navigation("nav_situation", state=first)["state"]
    tip = nav_step(floor, other, "check")["state"]
    assert nav_step(floor, nav_step(floor, child, "do")["state"], "end")["complete"]
    return first, waiting, tip


def rail_calls(floor, state):
    told = rail_read(floor, {"stateToken": state})
    noted = {"stateToken": told["stateToken"], "checkpointToken": told["checkpointToken"]}
    yield said(floor.rail.raw("checkpoint_workflow", **noted, output={"notesMarkdown": "A note."}))
    if "ackToken" in told:
        yield rail_ack(floor, told, "Other work.")
        yield rail_ack(floor, told, preferences={"preset": "full_auto_never_stop"})


def navigation_calls(floor, state):
    for step_id in ("draft", "check", "make"):
        yield nav(floor, state, "complete_step", step_id=step_id, notes="Once more.")
    yield nav(floor, state, "transition", activity_id="build")
    yield nav(floor, state, "advance_loop", loop_id="rounds")
    yield nav(floor, state, "respond_to_checkpoint", checkpoint_id="agreed", option_id="yes")
    start = {"workflow_id": "team.child", "initial_variables": {"parent_state": state}}
    yield said(floor.navigation.raw("nav_start", **start))


@pytest.mark.parametrize("act", CODES)
@pytest.mark.parametrize("dialect", ["rail", "navigation"])
def test_no_call_moves_it_from_any_branch_and_each_is_told_why(doors, doored, dialect, act):
    states = waiting_elsewhere(doors, doored, dialect)
    run = Run.objects.get(workflow_id=PARENT)
    stop(doors, run, act)
    before = as_it_stands()

    told = [each for state in states for calls in (rail_calls, navigation_calls) for each in calls(doored, state)]

    assert [code_of(each) for each in told] == [CODES[act]] * len(told), told
    assert all(REASON in str(each) for each in told)
    for state in states:
        look = doored.navigation("nav_situation", state=state)
        assert (look["stopped"]["reason"], REASON in look["message"]) == (REASON, True)
        assert look["availableActions"] == {"required": [], "optional": [], "blocked": []}
        assert rail_read(doored, {"stateToken": state})["stopped"]["reason"] == REASON
    assert as_it_stands() == before
    assert_sound()


@pytest.mark.parametrize("dialect", ["rail", "navigation"])
def test_one_that_goes_on_takes_the_run_back_where_it_waited(doors, doored, dialect):
    first, waiting, _ = waiting_elsewhere(doors, doored, dialect)
    run = Run.objects.get(workflow_id=PARENT)
    stop(doors, run, "pause")
    stop(doors, run, "resume")

    told = rail_ack(doored, rail_read(doored, {"stateToken": waiting}))

    assert (told["kind"], told["pending"]["stepId"]) == ("ok", "check")
    assert code_of(nav_step(doored, first, "draft")) is None
    assert_sound()


# A run whose activities are handed over


def handed_over(doors, floor, dialect):
    """A parent that waits for a run, where the dialect begins one; and what ends that."""
    publish_folder(doors.desk, triggering(), WORKFLOW)
    publish_folder(doors.desk, handed_child(), "team.child")
    begun = floor[dialect]("start_session", workflow_id=WORKFLOW, agent_id="leads")["session_token"]
    held = hand_next(floor, dialect, begun, "plan")["session_token"]
    if dialect == "session":
        return begun, held, lambda: None
    child = floor[dialect]("start_session", workflow_id="team.child", agent_id="works", parent_session_token=held)
    child = hand_next(floor, dialect, child["session_token"], "only")["session_token"]
    return begun, held, lambda: hand_next(floor, dialect, child, "workflow-end", "do")


def handed_over_calls(floor, dialect, token):
    caller = floor[dialect]
    named = {"checkpoint_id": "agreed"} if dialect == "session" else {}
    yield hand_next(floor, dialect, token, "build", "draft")
    yield hand_next(floor, dialect, token, "plan", "draft")
    yield hand_next(floor, dialect, token, "workflow-end")
    yield said(caller.raw("respond_checkpoint", session_token=token, option_id="yes", **named))
    if dialect == "orchestrator":
        yield said(caller.raw("yield_checkpoint", session_token=token, checkpoint_id="agreed"))
        yield said(caller.raw("resume_checkpoint", session_token=token))
        yield said(caller.raw("start_session", workflow_id="team.child", parent_session_token=token))


@pytest.mark.parametrize("act", CODES)
@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_no_token_moves_one_that_is_handed_over_when_the_run_that_it_waits_for_has_ended(doors, doored, dialect, act):
    *tokens, end = handed_over(doors, doored, dialect)
    stop(doors, Run.objects.get(workflow_id=WORKFLOW), act)
    assert code_of(end() or {}) is None
    before = as_it_stands()

    told = [each for token in tokens for each in handed_over_calls(doored, dialect, token)]

    assert [code_of(each) for each in told] == [CODES[act]] * len(told), told
    assert all(REASON in str(each) for each in told)
    joined = doored[dialect]("start_session", workflow_id=WORKFLOW, agent_id="leads", session_token=tokens[0])
    assert REASON in joined["warning"]
    assert as_it_stands() == before
    assert_sound()


# A person has answered before another one stopped it


def test_an_answer_before_a_pause_is_told_when_the_run_goes_on(doors, doored):
    approval_steps(doors.desk)
    waiting = rail_ack(doored, rail_at_gate(doored))
    (row,) = questions()
    doored.read_it()
    answer(doors.desk.person, row, "approve", now=timezone.now())
    run = Run.objects.get()
    stop(doors, run, "pause")
    before = as_it_stands()

    assert code_of(rail_ack(doored, waiting)) == CODES["pause"]
    assert code_of(nav_step(doored, waiting["stateToken"], "after")) == CODES["pause"]
    assert as_it_stands() == before

    stop(doors, run, "resume")
    told = rail_ack(doored, waiting)
    assert (told["kind"], told["pending"]["stepId"], "stopped" in told) == ("ok", "after", False)


def test_nobody_is_asked_what_would_be_refused(doors, doored):
    asking_folder(doors.desk)
    state = nav_step(doored, nav_start(doored, "team.folder")["state"], "draft")["state"]
    assert len(questions_at_state(actor=doors.desk.agent, state_token=state)) == 1

    stop(doors, Run.objects.get(), "pause")

    assert questions_at_state(actor=doors.desk.agent, state_token=state) == ()
