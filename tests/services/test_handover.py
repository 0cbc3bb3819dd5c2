import os

import pytest

from sessions_app.engine import tokens
from sessions_app.engine.actions import CompleteStep
from sessions_app.engine.checkpoints import CheckpointTooEarlyError
from sessions_app.engine.handover_refusals import (
    CheckpointNotPendingError,
    CheckpointOpenError,
)
from sessions_app.engine.runs import Dialect, RunStatus
from sessions_app.engine.tokens import TokenKind
from sessions_app.models import CheckpointRequest, Event, Node, Output, Run
from sessions_app.selectors.integrity import verify_session
from sessions_app.services.moves import runs
from sessions_app.services.moves.session_tokens import read_held
from sessions_app.services.moves.steered import steer_run
from sessions_app.services.store.signing_keys import current_keys
from teams_app.engine.errors import PreconditionFailedError
from tests.handover_cast import ABOUT, LATER, WORKFLOW, answered, entered, handed, question, two_activities, yielded
from tests.round_trips import counted_round_trips
from tests.run_cast import advanced, make_desk, words_of
from tests.workflow_cast import NOW, publish
from workflows_app.engine.source import Source, SourceFormat
from workflows_app.services import workflows
from workrail_site.dialects.navigation.situations import NAVIGATION
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db(transaction=True)


def publish_again(desk, files):
    source = Source(format=SourceFormat.ACTIVITY_FOLDER, files=files)
    saved = workflows.revise_workflow(
        actor=desk.person, workflow_id=WORKFLOW, source=source, message="", now=NOW, base_revision=1
    )
    publish(desk.person, WORKFLOW, saved.revision.number)


def notes_of(run_id):
    return list(Output.objects.filter(run_id=run_id).order_by("event_index").values_list("body", flat=True))


def pending_of(run_id):
    return list(Node.objects.filter(run_id=run_id).order_by("event_index").values_list("pending_key", flat=True))


def test_what_a_manifest_tells_becomes_a_node_for_each_step_with_its_output():
    desk = make_desk()
    held = handed(desk)

    first = entered(desk, held.token, "plan")
    second = entered(desk, first["session_token"], "build", "draft", "review", "code", "check", "code", "check")
    third = entered(desk, second["session_token"], "wrap", "make")
    end = entered(desk, third["session_token"], "end-workflow", "tidy")

    run_id = held.handle.run_id
    assert pending_of(run_id) == [
        "begin",
        "plan@0::draft",
        "plan@0::review",
        "plan@0/tasks@0::code",
        "plan@0/tasks@0::check",
        "plan@0/tasks@1::code",
        "plan@0/tasks@1::check",
        "build@0::make",
        "wrap@0::tidy",
        "",
    ]
    assert len(notes_of(run_id)) == 8
    assert end["status"] == "completed"
    assert [first["warnings"], second["warnings"], third["warnings"], end["warnings"]] == [[], [], [], []]
    assert Run.objects.get(pk=run_id).status == RunStatus.COMPLETE
    assert verify_session(held.handle.session_id) == []


def test_required_questions_stop_the_way_out_until_each_is_answered():
    desk = make_desk()
    held = handed(desk, two_activities(question(), question("second")))

    at = entered(desk, held.token, "plan")
    assert at["pending_checkpoints"] == ["agreed", "second"]
    with pytest.raises(CheckpointOpenError, match="2 unresolved"):
        entered(desk, at["session_token"], "build", "draft", "review", now=LATER)
    one = answered(desk, at["session_token"], "agreed")
    assert one["remaining_checkpoints"] == ["second"]
    assert one["effect"] == {"setVariable": {"agreed": "true"}}
    both = answered(desk, one["session_token"], "second")
    after = entered(desk, both["session_token"], "build", "draft", "review", now=LATER)

    assert after["activity_id"] == "build"
    states = CheckpointRequest.objects.filter(run_id=held.handle.run_id).values_list(
        "state", "answered_as", "option_id"
    )
    assert set(states) == {("answered", "relayed", "yes")}
    assert read_held(actor=desk.agent, token=after["session_token"], dialect=Dialect.SESSION).snapshot.variables == {
        "agreed": "true"
    }
    assert verify_session(held.handle.session_id) == []


def test_a_token_from_before_a_gate_does_not_pass_it():
    desk = make_desk()
    held = handed(desk, two_activities(question()))

    entered(desk, held.token, "plan")

    with pytest.raises(CheckpointOpenError):
        entered(desk, held.token, "build", "draft", now=LATER)


def test_the_same_call_with_the_same_token_is_answered_the_same_and_writes_nothing():
    desk = make_desk()
    held = handed(desk)

    first = entered(desk, held.token, "plan")
    count = Event.objects.count()
    again = entered(desk, held.token, "plan", now=LATER)

    assert again == first
    assert Event.objects.count() == count


def test_an_answer_within_the_time_to_read_is_refused_to_the_millisecond():
    from datetime import timedelta

    desk = make_desk()
    held = handed(desk, two_activities(question()))
    at = entered(desk, held.token, "plan")

    with pytest.raises(CheckpointTooEarlyError):
        answered(desk, at["session_token"], "agreed", now=NOW + timedelta(milliseconds=2999))
    assert answered(desk, at["session_token"], "agreed", now=NOW + timedelta(milliseconds=3000))["resolved"]


def test_a_worker_yields_and_nothing_moves_until_the_answer():
    desk = make_desk()
    held = handed(desk, two_activities(question()), dialect=Dialect.ORCHESTRATOR)
    at = entered(desk, held.token, "plan", dialect=Dialect.ORCHESTRATOR)

    handle = yielded(desk, at["session_token"])["checkpoint_handle"]
    with pytest.raises(CheckpointOpenError):
        entered(desk, at["session_token"], "build", "draft", "review", dialect=Dialect.ORCHESTRATOR, now=LATER)
    done = answered(desk, handle, dialect=Dialect.ORCHESTRATOR)
    assert done["resolved_option"] == "yes"
    assert yielded(desk, done["session_token"], now=LATER)["status"] == "replayed"
    with pytest.raises(CheckpointNotPendingError):
        answered(desk, handle, option="stop", dialect=Dialect.ORCHESTRATOR)
    after = entered(desk, done["session_token"], "build", "draft", "review", dialect=Dialect.ORCHESTRATOR, now=LATER)
    assert (after["activity_id"], after["warnings"]) == ("build", [])
    assert verify_session(held.handle.session_id) == []


def test_a_workflow_that_was_changed_meanwhile_is_told_of_and_the_run_keeps_its_own():
    desk = make_desk()
    held = handed(desk)
    at = entered(desk, held.token, "plan")
    files = two_activities(about={**ABOUT, "version": "2.0.0"})
    publish_again(desk, files)

    on = entered(desk, at["session_token"], "build", "draft", "review", now=LATER)

    assert any("was changed since" in warning for warning in on["warnings"])
    assert any("'1.0.0'" in warning or "1.0.0" in warning for warning in on["warnings"])
    assert on["activity_id"] == "build"


def test_a_move_is_two_round_trips():
    desk = make_desk()
    held = handed(desk)
    at = entered(desk, held.token, "plan")

    with counted_round_trips() as trips:
        entered(desk, at["session_token"], "build", "draft", "review")

    assert trips.count == 2


def test_no_token_of_a_node_moves_a_run_past_its_questions():
    desk = make_desk()
    held = handed(desk, two_activities(question()))
    at = entered(desk, held.token, "plan")
    tip = read_held(actor=desk.agent, token=at["session_token"], dialect=Dialect.SESSION).standing.node_id
    state = tokens.mint(keyring=current_keys().ring, kind=TokenKind.STATE, node_id=tip)

    reply = runs.rehydrate_run(actor=desk.viewer, state_token=state, entropy=os.urandom, speech=RAIL)
    told, text = reply.value, words_of(reply)
    assert (told["nextCall"], told["movedElsewhere"]["code"]) == (None, "PRECONDITION_FAILED")
    assert "Go on with its session token" in text
    assert not any(said in text for said in ("When the step is done", told["ackToken"]))
    with pytest.raises(PreconditionFailedError, match="not moved step by step"):
        advanced(desk.agent, told)
    with pytest.raises(PreconditionFailedError, match="not moved step by step"):
        steer_run(
            actor=desk.agent,
            state_token=state,
            action=CompleteStep(step_id="draft"),
            now=LATER,
            entropy=os.urandom,
            speech=NAVIGATION,
        )


def test_the_list_of_nodes_says_where_a_run_rests():
    desk = make_desk()
    held = handed(desk)
    entered(desk, held.token, "plan")

    titles = (
        Node.objects.filter(run_id=held.handle.run_id).order_by("event_index").values_list("pending_title", flat=True)
    )
    assert list(titles) == ["Before the first activity", "Draft"]


def test_the_list_of_nodes_says_what_a_run_waits_for():
    desk = make_desk()
    held = handed(desk, two_activities(question(), question("second")))
    at = entered(desk, held.token, "plan")
    answered(desk, at["session_token"], "agreed")

    titles = (
        Node.objects.filter(run_id=held.handle.run_id).order_by("event_index").values_list("pending_title", flat=True)
    )
    assert list(titles)[1:] == ["Waits for an answer: agreed, second", "Waits for an answer: second"]
