from datetime import timedelta

import pytest

from sessions_app.engine.checkpoints import CheckpointTooEarlyError
from sessions_app.engine.decisions import AnswerMode, EnterActivity
from sessions_app.engine.handover_refusals import (
    AutoAdvanceError,
    CheckpointNotPendingError,
    CheckpointOpenError,
    ConditionHoldsError,
    StepNotDoneError,
)
from sessions_app.engine.manifests import ManifestEntry
from sessions_app.engine.runs import Dialect
from sessions_app.engine.steering_refusals import CheckpointNotFoundError, OptionNotFoundError
from sessions_app.engine.stops import RunEndedError
from sessions_app.models import CheckpointRequest, Gap, Output
from sessions_app.selectors.integrity import verify_session
from sessions_app.services.moves import handed_over
from sessions_app.services.moves.session_tokens import read_held
from sessions_app.services.upkeep.tables import rebuild_projections
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import HumanRequiredError, InvalidInputError
from tests.activity_folders import activity, equals, folder, step, workflow
from tests.checkpoint_cast import answer
from tests.handover_cast import (
    LATER,
    WORKFLOW,
    answered,
    begun,
    call,
    entered,
    handed,
    question,
    two_activities,
    yielded,
)
from tests.run_cast import make_desk, notes_free, published
from tests.step_documents import loop
from tests.workflow_cast import NOW
from workrail_site.dialects.activities.beginning import refuse_two_tokens

pytestmark = pytest.mark.django_db(transaction=True)

ORCHESTRATOR = Dialect.ORCHESTRATOR
CONTRACT = {"outputContract": {"contractRef": "wr.contracts.coordinator_signal"}}
NEEDED = {"waits": False, "blocking": False, "defaultOption": "yes", "autoAdvanceMs": 10_000}


def soon(milliseconds):
    return NOW + timedelta(milliseconds=milliseconds)


def variables(desk, token, dialect=Dialect.SESSION):
    return read_held(actor=desk.agent, token=token, dialect=dialect).snapshot.variables


def test_a_timer_answers_with_the_default_when_all_of_it_has_run():
    desk = make_desk()
    held = handed(desk, two_activities(question(blocking=False, defaultOption="yes", autoAdvanceMs=10_000)))
    at = entered(desk, held.token, "plan")["session_token"]

    with pytest.raises(CheckpointTooEarlyError) as refused:
        answered(desk, at, "agreed", mode=AnswerMode.AUTO_ADVANCE, now=soon(9_999))
    done = answered(desk, at, "agreed", mode=AnswerMode.AUTO_ADVANCE, now=soon(10_000))

    assert refused.value.retry.after_ms == 1
    assert done["resolved_option"] == "yes"
    assert variables(desk, done["session_token"]) == {"agreed": "true"}
    assert CheckpointRequest.objects.get().answered_as == "default"


@pytest.mark.parametrize(
    "fields",
    [{"defaultOption": "yes", "autoAdvanceMs": 1_000}, {"blocking": False}, {"blocking": False, "autoAdvanceMs": 5}],
)
def test_only_a_checkpoint_that_says_so_answers_itself(fields):
    desk = make_desk()
    held = handed(desk, two_activities(question(**fields)))
    at = entered(desk, held.token, "plan")["session_token"]

    with pytest.raises(AutoAdvanceError):
        answered(desk, at, "agreed", mode=AnswerMode.AUTO_ADVANCE)


def test_a_condition_that_is_false_dismisses_its_checkpoint_without_a_wait():
    desk = make_desk()
    files = two_activities(question(condition=equals("small", "true")), entryActions=[set_action("small", "false")])
    at = entered(desk, handed(desk, files).token, "plan")["session_token"]

    done = answered(desk, at, "agreed", mode=AnswerMode.NOT_MET, now=NOW)

    assert (done["dismissed"], done["warnings"]) == (True, [])
    assert entered(desk, done["session_token"], "build", "draft", "review", now=LATER)["activity_id"] == "build"


def test_a_condition_that_holds_dismisses_nothing():
    desk = make_desk()
    files = two_activities(question(condition=equals("small", "true")), entryActions=[set_action("small", "true")])
    at = entered(desk, handed(desk, files).token, "plan")["session_token"]

    with pytest.raises(ConditionHoldsError, match="its condition holds"):
        answered(desk, at, "agreed", mode=AnswerMode.NOT_MET)


def test_a_condition_that_the_server_cannot_judge_is_taken_on_the_agents_word_with_a_warning():
    desk = make_desk()
    at = entered(desk, handed(desk, two_activities(question(condition=equals("small", "true")))).token, "plan")

    done = answered(desk, at["session_token"], "agreed", mode=AnswerMode.NOT_MET)

    assert "on your word" in done["warnings"][0]


def test_what_has_no_condition_is_not_dismissed():
    desk = make_desk()
    at = entered(desk, handed(desk, two_activities(question())).token, "plan")

    with pytest.raises(ConditionHoldsError, match="no condition"):
        answered(desk, at["session_token"], "agreed", mode=AnswerMode.NOT_MET)


def test_an_option_is_one_of_the_checkpoint():
    desk = make_desk()
    at = entered(desk, handed(desk, two_activities(question())).token, "plan")

    with pytest.raises(OptionNotFoundError, match="Valid options: yes, stop"):
        answered(desk, at["session_token"], "agreed", option="maybe")


def test_a_checkpoint_that_nobody_waits_for_is_named_with_those_that_wait():
    desk = make_desk()
    at = entered(desk, handed(desk, two_activities(question())).token, "plan")

    with pytest.raises(CheckpointNotPendingError, match=r"Pending checkpoints: \[agreed\]"):
        answered(desk, at["session_token"], "other")


def test_an_option_that_leads_elsewhere_makes_later_questions_needless():
    desk = make_desk()
    held = handed(desk, two_activities(question("first"), question("second")))
    at = entered(desk, held.token, "plan")["session_token"]

    done = answered(desk, at, "first", option="stop")
    on = entered(desk, done["session_token"], "wrap", "draft", "review", now=LATER)

    assert (done["effect"], done["remaining_checkpoints"]) == ({"transitionTo": "wrap"}, [])
    assert (on["activity_id"], on["warnings"]) == ("wrap", [])
    states = CheckpointRequest.objects.order_by("checkpoint_id").values_list("checkpoint_id", "state")
    assert list(states) == [("first", "answered"), ("second", "withdrawn")]
    assert verify_session(held.handle.session_id) == []


def test_entering_another_activity_than_an_option_leads_to_is_warned_of():
    desk = make_desk()
    at = entered(desk, handed(desk, two_activities(question())).token, "plan")["session_token"]

    done = answered(desk, at, "agreed", option="stop")
    on = entered(desk, done["session_token"], "build", "draft", "review", now=LATER)

    assert on["activity_id"] == "build"
    assert any("leads to 'wrap'" in warning for warning in on["warnings"])


def test_an_activity_that_is_entered_again_asks_again():
    desk = make_desk()
    files = folder(
        activity(
            "plan",
            checkpoints=[question()],
            steps=[step("draft")],
            transitions=[{"to": "plan", "condition": equals("ticket", "again")}, {"to": "wrap", "isDefault": True}],
        ),
        activity("wrap", steps=[step("end")]),
        about=workflow(id=WORKFLOW, initialActivity="plan", variables=[{"name": "ticket", "type": "string"}]),
    )
    at = entered(desk, handed(desk, files).token, "plan")["session_token"]
    done = answered(desk, at, "agreed")

    again = entered(desk, done["session_token"], "plan", "draft", now=LATER)

    assert again["pending_checkpoints"] == ["agreed"]
    assert list(CheckpointRequest.objects.order_by("event_index").values_list("instance_key", flat=True)) == [
        "plan@0::agreed",
        "plan@1::agreed",
    ]


def test_reading_an_activity_again_neither_asks_again_nor_writes():
    desk = make_desk()
    at = entered(desk, handed(desk, two_activities(question())).token, "plan")["session_token"]
    done = answered(desk, at, "agreed")["session_token"]

    again = entered(desk, done, "plan", now=LATER)

    assert (again["session_token"], again["pending_checkpoints"]) == (done, [])


# Workers


def in_a_loop():
    body = [{"id": "code", "name": "Code", "checkpoint": "agreed"}, step("check")]
    loop = {"id": "tasks", "name": "Tasks", "type": "while", "condition": equals("more", "true"), "steps": body}
    return folder(
        activity("plan", checkpoints=[question()], steps=[step("draft")], loops=[loop], transitions=[{"to": "wrap"}]),
        activity("wrap", steps=[step("tidy")]),
        about=workflow(id=WORKFLOW, initialActivity="plan"),
    )


def test_each_round_of_a_loop_asks_again():
    desk = make_desk()
    held = handed(desk, in_a_loop(), dialect=ORCHESTRATOR)
    at = entered(desk, held.token, "plan", dialect=ORCHESTRATOR)["session_token"]

    first = answered(desk, yielded(desk, at)["checkpoint_handle"], dialect=ORCHESTRATOR)["session_token"]
    second = yielded(desk, first, now=LATER)
    assert second["status"] == "yielded"
    done = answered(desk, second["checkpoint_handle"], dialect=ORCHESTRATOR, now=LATER + timedelta(minutes=1))
    on = entered(
        desk, done["session_token"], "wrap", "draft", "code", "check", "code", "check", dialect=ORCHESTRATOR, now=LATER
    )

    assert on["warnings"] == []
    keys = CheckpointRequest.objects.order_by("event_index").values_list("instance_key", flat=True)
    assert list(keys) == ["plan@0::agreed", "plan@0::agreed#2"]
    assert verify_session(held.handle.session_id) == []


def test_a_persons_answer_serves_one_round_of_a_loop():
    desk = make_desk()
    body = [{"id": "code", "name": "Code", "checkpoint": "agreed"}, step("check")]
    loop = {"id": "tasks", "name": "Tasks", "type": "forEach", "variable": "task", "over": "task_list", "steps": body}
    tasks = {"name": "task_list", "type": "array", "defaultValue": ["one", "two"]}
    files = folder(
        activity("plan", checkpoints=[question(authority="human")], loops=[loop], transitions=[{"to": "wrap"}]),
        activity("wrap", steps=[step("tidy")]),
        about=workflow(id=WORKFLOW, initialActivity="plan", variables=[tasks]),
    )
    held = handed(desk, files, dialect=ORCHESTRATOR)
    at = entered(desk, held.token, "plan", dialect=ORCHESTRATOR)["session_token"]
    done = ("code", "check", "code", "check")

    for minutes in (1, 2):
        entered(desk, at, "wrap", *done, dialect=ORCHESTRATOR, refused=CheckpointOpenError, now=LATER)
        at = yielded(desk, at, now=LATER)["checkpoint_handle"]
        answer(desk.person, CheckpointRequest.objects.latest("event_index"), now=LATER + timedelta(minutes=minutes))

    on = entered(desk, at, "wrap", *done, dialect=ORCHESTRATOR, now=LATER)

    assert on["activity_id"] == "wrap"
    assert verify_session(held.handle.session_id) == []


def test_a_blocking_checkpoint_that_no_worker_yielded_is_warned_of():
    desk = make_desk()
    at = entered(
        desk, handed(desk, two_activities(question()), dialect=ORCHESTRATOR).token, "plan", dialect=ORCHESTRATOR
    )

    on = entered(desk, at["session_token"], "build", "draft", "review", dialect=ORCHESTRATOR)

    assert any("'agreed'" in warning and "without being asked" in warning for warning in on["warnings"])


def test_beside_people_who_need_not_be_asked_an_agents_question_is_still_only_warned_of():
    desk = make_desk()
    signed = question("signed", authority="human", condition=equals("risky", "true"))
    at = entered(
        desk, handed(desk, two_activities(question(), signed), dialect=ORCHESTRATOR).token, "plan", dialect=ORCHESTRATOR
    )

    on = entered(desk, at["session_token"], "build", "draft", "review", dialect=ORCHESTRATOR)

    assert on["activity_id"] == "build"
    assert any("'agreed'" in warning and "without being asked" in warning for warning in on["warnings"])


def test_a_second_checkpoint_is_not_yielded_while_one_is_open():
    desk = make_desk()
    files = two_activities(question(), question("second"))
    at = entered(desk, handed(desk, files, dialect=ORCHESTRATOR).token, "plan", dialect=ORCHESTRATOR)["session_token"]
    yielded(desk, at)

    with pytest.raises(CheckpointOpenError, match="Cannot yield checkpoint 'second'"):
        yielded(desk, at, "second")
    assert yielded(desk, at, "agreed", now=LATER)["status"] == "yielded"
    assert CheckpointRequest.objects.count() == 1


def test_only_a_checkpoint_of_the_activity_is_yielded():
    desk = make_desk()
    at = entered(
        desk, handed(desk, two_activities(question()), dialect=ORCHESTRATOR).token, "plan", dialect=ORCHESTRATOR
    )

    with pytest.raises(CheckpointNotFoundError, match="It has: agreed"):
        yielded(desk, at["session_token"], "agred")


def resumed(desk, token):
    return handed_over.resume_checkpoint(actor=desk.agent, token=token, dialect=ORCHESTRATOR)


def test_a_worker_resumes_only_what_was_resolved():
    desk = make_desk()
    at = entered(
        desk, handed(desk, two_activities(question()), dialect=ORCHESTRATOR).token, "plan", dialect=ORCHESTRATOR
    )
    token = at["session_token"]

    with pytest.raises(CheckpointNotPendingError):
        resumed(desk, token)
    handle = yielded(desk, token)["checkpoint_handle"]
    with pytest.raises(CheckpointOpenError, match="Cannot resume"):
        resumed(desk, token)
    answered(desk, handle, dialect=ORCHESTRATOR)

    assert resumed(desk, token).pending == ()


# Persons


def test_what_asks_for_a_person_is_answered_in_the_studio_only_and_the_run_goes_on():
    desk = make_desk()
    held = handed(desk, two_activities(question(authority="human")))
    at = entered(desk, held.token, "plan")["session_token"]
    row = CheckpointRequest.objects.get()
    assert row.authority == "human"

    with pytest.raises(HumanRequiredError):
        answered(desk, at, "agreed")
    answer(desk.person, row, "yes", reason="Looks right.", now=LATER)
    told = answered(desk, at, "agreed", option="stop")
    on = entered(desk, told["session_token"], "build", "draft", "review", now=LATER)

    assert (told["resolved_option"], told["authority"], told["reason"]) == ("yes", "human", "Looks right.")
    assert on["activity_id"] == "build"
    assert variables(desk, on["session_token"]) == {"agreed": "true"}
    assert verify_session(held.handle.session_id) == []
    assert (
        rebuild_projections(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), session_id=held.handle.session_id) == 0
    )


@pytest.mark.parametrize("dialect", [Dialect.SESSION, ORCHESTRATOR])
def test_a_step_that_a_person_approves_waits_when_its_work_is_told_of(dialect):
    desk = make_desk()
    published(
        desk,
        notes_free("one", requireConfirmation={"kind": "human_approval"}),
        notes_free("two"),
        workflow_id="team.steps",
    )
    held = begun(desk, workflow_id="team.steps", dialect=dialect).held
    at = entered(desk, held.token, "main", dialect=dialect)

    waiting = entered(desk, at["session_token"], "end-workflow", "one", "two", dialect=dialect)
    again = entered(desk, waiting["session_token"], "end-workflow", "two", dialect=dialect, refused=CheckpointOpenError)
    answer(desk.person, CheckpointRequest.objects.get(), "approve", now=LATER)
    end = entered(desk, waiting["session_token"], "end-workflow", "one", "two", dialect=dialect, now=LATER)

    assert (waiting["status"], waiting["activity_id"], waiting["pending_checkpoints"]) == ("waiting", "main", ["one"])
    assert again is None
    assert end["status"] == "completed"
    assert not Gap.objects.filter(detail="needs_user_approval").exists()
    assert [output.body for output in Output.objects.order_by("event_index")] == ["Did it. (one)", "Did it. (two)"]
    assert verify_session(held.handle.session_id) == []


def test_what_was_approved_is_what_stands_whatever_is_told_of_it_afterwards():
    desk, waiting = waits_for_approval()
    answer(desk.person, CheckpointRequest.objects.get(), "approve", now=LATER)

    end = entered(desk, waiting["session_token"], "end-workflow", "one", output="Something else.", now=LATER)

    assert [output.body for output in Output.objects.all()] == ["Did it. (one)"]
    assert any("recorded of one before stands" in said for said in end["warnings"]), end


def test_work_that_is_sent_back_is_told_of_again_and_asked_again():
    desk, waiting = waits_for_approval()
    answer(desk.person, CheckpointRequest.objects.get(), "send_back", reason="No tests.", now=LATER)

    again = entered(desk, waiting["session_token"], "end-workflow", "one", output="With tests.", now=LATER)

    assert again["pending_checkpoints"] == ["one"]
    assert sorted(CheckpointRequest.objects.values_list("state", flat=True)) == ["answered", "open"]
    last = Output.objects.get(body="With tests. (one)")
    assert Output.objects.get(pk=last.supersedes_id).body == "Did it. (one)"


@pytest.mark.parametrize("dialect", [Dialect.SESSION, ORCHESTRATOR])
@pytest.mark.parametrize("done", [(), ("two",), ("one",), ("one", "two")])
def test_an_agent_that_goes_on_as_it_was_told_to_is_told_that_its_work_was_sent_back_and_asks_nobody_anew(
    dialect, done
):
    desk, waiting = waits_for_approval("two", dialect=dialect)
    answer(desk.person, CheckpointRequest.objects.get(), "send_back", reason="No tests.", now=LATER)

    with pytest.raises(StepNotDoneError, match="sent 'one' back: No tests") as refused:
        entered(desk, waiting["session_token"], "end-workflow", *done, dialect=dialect, now=LATER)

    assert refused.value.details["answered"] == {
        "checkpointId": "one",
        "optionId": "send_back",
        "label": "Send back",
        "authority": "human",
        "reason": "No tests.",
    }
    assert "needsPerson" not in refused.value.details
    assert CheckpointRequest.objects.get().state == "answered"
    again = entered(
        desk, waiting["session_token"], "end-workflow", "one", output="With tests.", dialect=dialect, now=LATER
    )
    assert again["pending_checkpoints"] == ["one"]


def test_work_that_is_rejected_ends_the_run():
    desk, waiting = waits_for_approval()
    answer(desk.person, CheckpointRequest.objects.get(), "reject", reason="Not this way.", now=LATER)

    with pytest.raises(RunEndedError, match="Not this way"):
        entered(desk, waiting["session_token"], "end-workflow", "one", now=LATER)


@pytest.mark.parametrize("done", [(), ("two",)])
@pytest.mark.parametrize("dialect", [Dialect.SESSION, ORCHESTRATOR])
def test_a_step_that_is_left_out_is_not_passed_by_when_a_person_approves_it(dialect, done):
    desk = make_desk()
    published(
        desk,
        notes_free("one", requireConfirmation={"kind": "human_approval"}),
        notes_free("two"),
        workflow_id="team.steps",
    )
    held = begun(desk, workflow_id="team.steps", dialect=dialect).held
    at = entered(desk, held.token, "main", dialect=dialect)["session_token"]

    with pytest.raises(CheckpointOpenError, match="signed-in person has to agree first: one"):
        entered(desk, at, "end-workflow", *done, dialect=dialect)
    with pytest.raises(CheckpointOpenError):
        entered(desk, held.token, "end-workflow", dialect=dialect)


def waits_for_approval(*following, dialect=Dialect.SESSION):
    desk = make_desk()
    approved = notes_free("one", requireConfirmation={"kind": "human_approval"})
    published(desk, approved, *map(notes_free, following), workflow_id="team.steps")
    held = begun(desk, workflow_id="team.steps", dialect=dialect).held
    at = entered(desk, held.token, "main", dialect=dialect)
    return desk, entered(desk, at["session_token"], "end-workflow", "one", dialect=dialect)


def test_the_activity_at_hand_is_not_read_again_past_an_open_question():
    desk = make_desk()
    at = entered(desk, handed(desk, two_activities(question())).token, "plan")["session_token"]

    with pytest.raises(CheckpointOpenError):
        entered(desk, at, "plan")


def test_a_session_that_goes_on_takes_no_other_parent():
    with pytest.raises(InvalidInputError, match="parent") as refused:
        refuse_two_tokens("ses.v1.one", "ses.v1.other")

    assert refused.value.details == {"parameter": "parent_session_token"}


def set_action(name, value):
    return {"action": "set", "target": name, "value": value}


@pytest.mark.parametrize("told", [1, 2])
def test_a_step_of_a_loop_that_lacks_something_is_told_with_its_round(told):
    desk = make_desk()
    rated = {"outputContract": {"contractRef": "wr.contracts.coordinator_signal"}}
    published(
        desk, loop("rounds", [notes_free("rate", **rated)], type="forEach", items="ships"), workflow_id="team.steps"
    )
    held = begun(desk, workflow_id="team.steps").held
    at = entered(desk, held.token, "main")
    signal = {"kind": "wr.coordinator_signal", "signalKind": "progress", "payload": {"summary": "S"}}
    first = ManifestEntry(step_id="rate", output="Did it.", artifacts=(signal,), context={"ships": ["Zoe", "Ada"]})
    second = ManifestEntry(step_id="rate", output="Did it.")
    command = EnterActivity(activity_id="end-workflow", manifest=(first, second)[:told], asks_on_entry=True)

    with pytest.raises(StepNotDoneError, match="in round 2 of the loop 'rounds'") as refused:
        handed_over.enter_activity(call(desk, at["session_token"]), command)

    assert refused.value.details["loop"] == {"id": "rounds", "round": 2, "atMost": 5, "total": 2, "item": "Ada"}


def test_the_rounds_around_it_are_told_as_well():
    desk = make_desk()
    rated = notes_free("rate", outputContract={"contractRef": "wr.contracts.coordinator_signal"})
    inner = loop("legs", [rated], type="for", count=1)
    published(desk, loop("ships-out", [inner], type="for", count=2), workflow_id="team.steps")
    at = entered(desk, begun(desk, workflow_id="team.steps").held.token, "main")
    signal = {"kind": "wr.coordinator_signal", "signalKind": "progress", "payload": {"summary": "S"}}
    first = ManifestEntry(step_id="rate", output="Did it.", artifacts=(signal,))
    command = EnterActivity(activity_id="end-workflow", manifest=(first,), asks_on_entry=True)

    with pytest.raises(
        StepNotDoneError, match="in round 1 of the loop 'legs' in round 2 of the loop 'ships-out'"
    ) as refused:
        handed_over.enter_activity(call(desk, at["session_token"]), command)

    assert refused.value.details["loop"]["within"] == {"id": "ships-out", "round": 2, "atMost": 5, "total": 2}


@pytest.mark.parametrize("rated", [{"requireConfirmation": {"kind": "human_approval"}}, CONTRACT])
def test_what_is_told_behind_what_follows_it_is_told_to_be_out_of_order(rated):
    desk = make_desk()
    published(desk, notes_free("rate", **rated), notes_free("sell"), workflow_id="team.steps")
    at = entered(desk, begun(desk, workflow_id="team.steps").held.token, "main")
    signal = {"kind": "wr.coordinator_signal", "signalKind": "progress", "payload": {"summary": "S"}}
    told = (
        ManifestEntry(step_id="sell", output="Did it."),
        ManifestEntry(step_id="rate", output="Did it.", artifacts=(signal,)),
    )
    command = EnterActivity(activity_id="end-workflow", manifest=told, asks_on_entry=True)

    with pytest.raises((StepNotDoneError, CheckpointOpenError)) as refused:
        handed_over.enter_activity(call(desk, at["session_token"]), command)

    assert "in the order in which they are done" in refused.value.suggestion
    assert "rate" in refused.value.suggestion
