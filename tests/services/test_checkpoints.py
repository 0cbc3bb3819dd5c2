"""People answer what runs ask: the run goes on with it, the agent is told, and nobody else can pass."""

from dataclasses import replace
from datetime import timedelta

import pytest

from sessions_app.engine.checkpoints import (
    CheckpointAnsweredError,
    CheckpointClaimedError,
    CheckpointStaleError,
    CheckpointTooEarlyError,
)
from sessions_app.engine.decisions import PreferenceChange
from sessions_app.engine.steering_refusals import OptionNotFoundError
from sessions_app.engine.stops import RunEndedError
from sessions_app.models import CheckpointRequest, Event, Output, Run
from sessions_app.selectors.checkpoints import Wanted, list_checkpoints, read_checkpoint
from sessions_app.selectors.integrity import verify_session
from sessions_app.services.moves.runs import change_preferences
from sessions_app.services.people import checkpoints
from sessions_app.services.upkeep import tables
from teams_app.engine.actors import Door, Role, system_actor
from teams_app.engine.errors import ForbiddenError, HumanRequiredError, InvalidInputError, NotFoundError
from teams_app.engine.pages import PageRequest
from teams_app.models import AuditEntry
from tests import run_cast
from tests.activity_folders import activity, checkpoint, folder, step
from tests.cast import audited
from tests.checkpoint_cast import ABOUT, SOON, answer, at_question, only_row, publish_folder, relayed, rows
from tests.run_cast import (
    advance,
    advanced,
    assert_healthy,
    begin,
    bookmark,
    events,
    notes_free,
    rehydrate,
    run_id,
    session_id,
    words_of,
)
from tests.workflow_cast import NOW
from workflows_app.engine.program import Autonomy
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk():
    return run_cast.make_desk()


def inbox(actor, **wanted):
    found = list_checkpoints(actor=actor, page=PageRequest(), wanted=Wanted(**wanted), now=SOON)
    return [(value.checkpoint_id, value.state.value) for value in found.items]


def test_a_question_for_people_waits_in_the_inbox_as_it_is_shown(desk):
    value = at_question(desk, human=True, context={"goal": "the roof"})

    row = only_row(value)

    assert (row.state, row.authority, row.message) == ("open", "human", "Is the plan for the roof right?")
    assert [option["id"] for option in row.options] == ["yes", "no"]
    assert inbox(desk.viewer) == [("agreed", "open")]
    assert_healthy(value)


def test_the_answer_of_a_person_moves_the_run_and_the_agent_goes_on_from_there(desk):
    value = at_question(desk, human=True)

    told = answer(desk.person, only_row(value), "yes", reason="Looks right.")
    then = advanced(desk.agent, value, "")

    assert (told.state.value, told.option_id, told.answered_by) == ("answered", "yes", desk.person.id)
    assert then["pending"]["stepId"] == "work"
    assert then["answered"] == {
        "checkpointId": "agreed",
        "optionId": "yes",
        "label": "Yes",
        "authority": "human",
        "reason": "Looks right.",
    }
    said = events(value, "checkpoint_answered")[0]["data"]
    assert (said["authority"], said["actor"], said["door"], said["reason"]) == (
        "human",
        desk.person.id,
        "rest",
        "Looks right.",
    )
    assert inbox(desk.person) == []
    assert_healthy(value)


def test_the_effect_of_the_option_that_a_person_chose_is_applied(desk):
    value = at_question(desk, human=True)

    answer(desk.person, only_row(value), "no")

    assert advanced(desk.agent, value, "")["pending"]["stepId"] == "again"


def test_the_continuation_is_answered_byte_for_byte_ever_after(desk):
    value = at_question(desk, human=True)
    answer(desk.person, only_row(value))

    first = advance(desk.agent, value)
    count = Event.objects.count()
    again = [advance(desk.agent, value) for _ in range(3)]

    assert {reply.data for reply in again} == {first.data}
    assert Event.objects.count() == count
    assert first.value["warnings"][0]["code"] == "ANSWERED_BY_PERSON"


def test_an_attempt_that_was_blocked_goes_on_from_the_answer_too(desk):
    value = at_question(desk, human=True)
    stuck = advanced(desk.agent, value, artifacts=relayed("yes"))
    assert stuck["kind"] == "blocked"

    answer(desk.person, only_row(value))

    assert advanced(desk.agent, stuck, "")["pending"]["stepId"] == "work"
    assert advanced(desk.agent, value)["kind"] == "blocked"
    assert_healthy(value)


def test_every_blocked_branch_of_one_question_goes_on_from_its_answer(desk):
    value = at_question(desk, human=True)
    first = advanced(desk.agent, value)
    second = advanced(desk.agent, rehydrate(desk.agent, value).value)

    answer(desk.person, only_row(value))

    for stuck in (first, second):
        assert advanced(desk.agent, stuck, "")["pending"]["stepId"] == "work"
    assert_healthy(value)


def test_a_new_chat_is_told_what_was_answered(desk):
    value = at_question(desk, human=True)
    answer(desk.person, only_row(value), reason="Go.")

    reply = rehydrate(desk.agent, value)

    assert (reply.value["pending"]["stepId"], reply.value["answered"]["reason"]) == ("work", "Go.")
    assert "A signed-in person answered agreed: Yes [yes]" in words_of(reply)
    assert advanced(desk.agent, reply.value)["pending"]["stepId"] == "last"


def test_the_answer_is_told_once_and_not_with_later_steps(desk):
    value = at_question(desk, human=True)
    answer(desk.person, only_row(value))

    then = advanced(desk.agent, advanced(desk.agent, value, ""))

    assert "answered" not in then


def test_what_was_collected_after_others_went_on_moves_no_tip(desk):
    value = at_question(desk, human=True)
    fresh = rehydrate(desk.agent, value).value
    answer(desk.person, only_row(value))
    then = advanced(desk.agent, advanced(desk.agent, value, ""))

    late = advanced(desk.agent, fresh, "")

    assert (late["pending"]["stepId"], then["pending"]["stepId"]) == ("work", "last")
    assert_healthy(value)


def test_a_changed_mode_keeps_the_question_open(desk):
    value = at_question(desk, human=True)
    change_preferences(
        actor=desk.person,
        run_id=run_cast.run_id(value),
        change=PreferenceChange(autonomy=Autonomy.STOP_ON_USER_DEPS),
        now=SOON,
        entropy=lambda count: b"\x01" * count,
        speech=RAIL,
    )

    answer(desk.person, only_row(value))

    assert advanced(desk.agent, value, "")["pending"]["stepId"] == "work"
    assert_healthy(value)


# Relayed answers


def test_a_relayed_answer_closes_the_question(desk):
    value = at_question(desk)

    then = advanced(desk.agent, value, artifacts=relayed("yes"))

    row = only_row(value)
    assert then["pending"]["stepId"] == "work"
    assert (row.state, row.answered_as, row.answered_by, row.door) == ("answered", "relayed", desk.agent.id, "mcp")
    assert_healthy(value)


@pytest.mark.parametrize("milliseconds", [0, 1, 2_999])
def test_a_relayed_answer_that_nobody_can_have_given_is_refused_and_leaves_no_trace(desk, milliseconds):
    value = at_question(desk)
    count = Event.objects.count()

    with pytest.raises(CheckpointTooEarlyError) as refused:
        advance(desk.agent, value, artifacts=relayed("yes"), now=NOW + timedelta(milliseconds=milliseconds))

    assert refused.value.retry.after_ms == 3_000 - milliseconds
    assert Event.objects.count() == count


def test_a_relayed_answer_is_taken_when_its_time_has_passed(desk):
    value = at_question(desk)

    then = advanced(desk.agent, value, artifacts=relayed("yes"), now=NOW + timedelta(milliseconds=3_000))

    assert then["pending"]["stepId"] == "work"


def test_a_person_may_answer_a_relayed_question_and_no_agent_passes_the_answer(desk):
    value = at_question(desk)
    answer(desk.person, only_row(value), "no")

    then = advanced(desk.agent, value, artifacts=relayed("yes"))

    assert then["pending"]["stepId"] == "again"
    assert_healthy(value)


# Approvals


def approval(desk, *, condition=None, context=None):
    confirmation = {"kind": "human_approval", **({"condition": condition} if condition else {})}
    return begin(desk, notes_free("ship", requireConfirmation=confirmation), notes_free("after"), context=context)


def test_a_step_for_approval_passes_when_a_person_has_approved_it(desk):
    value = approval(desk)
    stuck = advanced(desk.agent, value, "A safe plan.")
    assert stuck["kind"] == "blocked"

    answer(desk.person, only_row(value), "approve")
    told = rehydrate(desk.agent, stuck).value

    assert (told["pending"]["stepId"], told["answered"]["optionId"]) == ("after", "approve")
    assert [output.body for output in Output.objects.all()] == ["A safe plan."]
    assert_healthy(value)


def test_nobody_is_asked_before_there_is_something_to_approve(desk):
    value = approval(desk)

    assert rows(value) == []
    assert status_of(value) == "in_progress"
    advanced(desk.agent, value)
    assert status_of(value) == "waiting"


def test_what_was_approved_is_what_the_run_goes_on_with(desk):
    value = approval(desk)
    stuck = advanced(desk.agent, value, "A safe plan.")
    answer(desk.person, only_row(value), "approve")

    then = advanced(desk.agent, stuck, "An evil plan.")

    assert then["pending"]["stepId"] == "after"
    assert [warning["code"] for warning in then["warnings"]] == ["ANSWERED_BY_PERSON"]
    assert not Output.objects.filter(body="An evil plan.").exists()
    assert_healthy(value)


def test_other_work_than_was_shown_is_asked_again(desk):
    value = approval(desk)
    stuck = advanced(desk.agent, value, "A safe plan.")
    first = only_row(value)

    again = advanced(desk.agent, stuck, "An evil plan.")

    assert again["kind"] == "blocked"
    assert [row.state for row in rows(value)] == ["stale", "open"]
    with pytest.raises(CheckpointStaleError):
        answer(desk.person, first, "approve")
    assert_healthy(value)


def test_an_approval_holds_on_one_branch_only(desk):
    value = approval(desk)
    fresh = rehydrate(desk.agent, value).value
    advanced(desk.agent, value, "One way.")
    answer(desk.person, only_row(value), "approve")

    other = advanced(desk.agent, fresh, "Another way.")

    assert other["kind"] == "blocked"
    assert [row.state for row in rows(value)] == ["answered", "open"]
    assert_healthy(value)


def test_asking_whether_a_person_has_answered_writes_nothing(desk):
    value = approval(desk)
    stuck = advanced(desk.agent, value, "A safe plan.")
    count = Event.objects.count()

    for notes in ("", "A safe plan."):
        assert advanced(desk.agent, stuck, notes)["kind"] == "blocked"

    assert Event.objects.count() == count
    answer(desk.person, only_row(value), "approve")
    assert advanced(desk.agent, stuck, "A safe plan.")["pending"]["stepId"] == "after"


def test_work_that_is_sent_back_is_open_again_with_the_reason(desk):
    value = approval(desk)
    stuck = advanced(desk.agent, value, "First words.")
    answer(desk.person, only_row(value), "send_back", reason="Say why.")

    told = advanced(desk.agent, stuck, "First words.")
    again = advanced(desk.agent, told, "Last words.")

    assert (told["pending"]["stepId"], told["answered"]["optionId"], told["answered"]["reason"]) == (
        "ship",
        "send_back",
        "Say why.",
    )
    assert again["kind"] == "blocked"
    assert [row.state for row in rows(value)] == ["answered", "open"]
    superseded = Output.objects.get(body="Last words.").supersedes_id
    assert superseded == Output.objects.get(body="First words.").id
    answer(desk.person, rows(value)[-1], "approve")
    assert rehydrate(desk.agent, again).value["pending"]["stepId"] == "after"
    assert_healthy(value)


def test_context_that_came_with_work_does_not_lift_its_approval_when_it_is_sent_back(desk):
    value = approval(desk, condition={"var": "risky", "equals": True}, context={"risky": True})
    stuck = advanced(desk.agent, value, "First.", context={"risky": False})
    answer(desk.person, only_row(value), "send_back", reason="Say why.")

    assert advanced(desk.agent, stuck, "Second.")["kind"] == "blocked"


def test_work_that_is_rejected_ends_the_run_on_every_branch(desk):
    value = approval(desk)
    fresh = rehydrate(desk.agent, value).value
    stuck = advanced(desk.agent, value, "A plan.")
    answer(desk.person, only_row(value), "reject", reason="Not this way.")

    assert status_of(value) == "rejected"
    for tokens in (stuck, fresh):
        with pytest.raises(RunEndedError, match="Not this way") as refused:
            advance(desk.agent, tokens, "Another plan.")
        assert refused.value.details["stop"]["kind"] == "rejected"
    assert_healthy(value)


@pytest.mark.parametrize("reason", ["  ", "\u200b", "\u2800 \u3164", "\u3000\t\ufeff", "\U000e0041"])
@pytest.mark.parametrize("verb", ["send_back", "reject"])
def test_a_no_needs_a_reason(desk, verb, reason):
    value = approval(desk)
    advanced(desk.agent, value, "A plan.")

    with pytest.raises(InvalidInputError, match="needs a reason"):
        answer(desk.person, only_row(value), verb, reason=reason)

    assert only_row(value).state == "open"


def status_of(value):
    return Run.objects.get(pk=run_id(value)).status


# Refusals


def test_no_key_answers_whatever_its_scopes(desk):
    value = at_question(desk, human=True)
    row = only_row(value)

    for act in (
        lambda: answer(desk.agent, row),
        lambda: checkpoints.claim_checkpoint(actor=desk.agent, request_id=row.id, now=SOON),
        lambda: answer(system_actor(team_id=desk.team_id, door=Door.CLI), row),
    ):
        with pytest.raises(HumanRequiredError):
            act()
    assert only_row(value).state == "open"


def test_a_viewer_does_not_answer(desk):
    value = at_question(desk, human=True)

    with pytest.raises(ForbiddenError):
        answer(desk.viewer, only_row(value))


def test_another_team_finds_nothing(desk):
    value = at_question(desk, human=True)
    row = only_row(value)
    charlie = replace(desk.person, team_id=desk.stranger.team_id)

    with pytest.raises(NotFoundError):
        read_checkpoint(actor=charlie, request_id=row.id)
    with pytest.raises(NotFoundError):
        answer(charlie, row)
    with pytest.raises(NotFoundError):
        checkpoints.claim_checkpoint(actor=charlie, request_id=row.id, now=SOON)
    assert inbox(charlie) == []


def test_an_answer_to_something_else_than_what_is_asked_is_stale(desk):
    value = at_question(desk, human=True)

    with pytest.raises(CheckpointStaleError):
        answer(desk.person, only_row(value), digest="sha256:" + "0" * 64)


def test_a_question_that_reads_differently_now_is_asked_again(desk):
    value = at_question(desk, human=True, context={"goal": "the roof"})
    before = only_row(value)
    advanced(desk.agent, value, context={"goal": "the cellar"})

    stale, now = rows(value)

    assert (stale.state, now.state, now.message) == ("stale", "open", "Is the plan for the cellar right?")
    with pytest.raises(CheckpointStaleError):
        answer(desk.person, before)
    answer(desk.person, now)
    assert_healthy(value)


def test_an_option_that_there_is_not_is_refused(desk):
    value = at_question(desk, human=True)

    with pytest.raises(OptionNotFoundError) as refused:
        answer(desk.person, only_row(value), "perhaps")

    assert refused.value.details["options"] == ["yes", "no"]


def test_a_second_answer_is_told_who_gave_the_first(desk):
    value = at_question(desk, human=True)
    row = only_row(value)
    answer(desk.person, row)

    with pytest.raises(CheckpointAnsweredError) as refused:
        answer(desk.owner, row, "no")

    assert refused.value.details == {"optionId": "yes", "answeredBy": desk.person.id}


# Claims


def test_a_claim_keeps_others_from_answering_until_it_is_released(desk):
    value = at_question(desk, human=True)
    row = only_row(value)
    checkpoints.claim_checkpoint(actor=desk.person, request_id=row.id, now=SOON)

    assert inbox(desk.person, mine=True) == [("agreed", "open")]
    assert inbox(desk.owner, mine=True) == []
    with pytest.raises(CheckpointClaimedError):
        checkpoints.claim_checkpoint(actor=desk.owner, request_id=row.id, now=SOON)
    with pytest.raises(CheckpointClaimedError):
        answer(desk.owner, row)
    checkpoints.release_checkpoint(actor=desk.owner, request_id=row.id, now=SOON)
    answer(desk.owner, row)

    assert audited(desk.team_id)[-3:] == ["checkpoint.claimed", "checkpoint.released", "checkpoint.answered"]
    assert_healthy(value)


# Where the run stands


def test_a_question_that_the_run_left_is_withdrawn_and_can_still_be_answered(desk):
    publish_folder(desk, two_steps())
    value = run_cast.start(desk, "team.plan").value
    asked = advanced(desk.agent, value)
    again = advanced(desk.agent, rehydrate(desk.agent, value).value)

    left, here = rows(value)
    assert (left.state, here.state) == ("withdrawn", "open")
    answer(desk.person, left)
    assert [row.state for row in rows(value)] == ["answered", "withdrawn"]
    assert advanced(desk.agent, asked, "")["pending"]["stepId"] == "after"
    assert advanced(desk.agent, again)["kind"] == "blocked"
    assert_healthy(value)


def test_a_question_is_open_again_when_the_run_comes_back_to_it(desk):
    publish_folder(desk, two_steps())
    value = run_cast.start(desk, "team.plan").value
    asked = advanced(desk.agent, value)
    advanced(desk.agent, rehydrate(desk.agent, value).value)

    bookmark(desk.agent, asked)

    assert [row.state for row in rows(value)] == ["open", "withdrawn"]
    assert_healthy(value)


def two_steps():
    return folder(
        activity(
            "plan",
            checkpoints=[checkpoint("agreed", human=True)],
            steps=[{"id": "ask", "name": "Ask", "checkpoint": "agreed"}, step("after")],
        ),
        about=ABOUT,
    )


def test_a_run_that_a_person_has_never_stop_leaves_the_question_behind(desk):
    value = at_question(desk, human=True)

    advanced(desk.person, value, preferences=PreferenceChange(autonomy=Autonomy.NEVER_STOP))

    assert only_row(value).state == "withdrawn"
    assert_healthy(value)


def test_what_is_due_is_overdue_when_its_time_has_passed(desk, settings):
    settings.CHECKPOINT_DUE_MS = 30_000
    value = at_question(desk, human=True)

    assert only_row(value).due_at == NOW + timedelta(seconds=30)
    assert inbox(desk.person, overdue=True) == [("agreed", "open")]
    assert_healthy(value)


def test_questions_are_written_again_from_the_log(desk):
    value = at_question(desk, human=True)
    answer(desk.person, only_row(value), reason="Fine.")
    told = CheckpointRequest.objects.values().get()
    CheckpointRequest.objects.all().delete()

    rebuild(desk, value)

    assert CheckpointRequest.objects.values().get() == told
    assert_healthy(value)


SPOILT = {
    "message": "Is all well?",
    "options": [{"id": "yes", "label": "No", "description": ""}, {"id": "no", "label": "Yes", "description": ""}],
    "presented_at": NOW - timedelta(hours=1),
    "due_at": NOW + timedelta(hours=1),
    "answered_at": NOW + timedelta(hours=2),
    "answered_by": "somebody",
    "option_id": "no",
}


@pytest.mark.parametrize("column", SPOILT)
def test_a_row_that_differs_from_the_log_is_found_and_mended(desk, column):
    value = at_question(desk, human=True, dueMs=60_000)
    answer(desk.person, only_row(value))
    told = CheckpointRequest.objects.values().get()
    CheckpointRequest.objects.update(**{column: SPOILT[column]})

    found = [finding.reason for finding in verify_session(session_id(value))]
    mended = rebuild(desk, value)

    assert (found[0], mended) == ("stale_projection", 1)
    assert CheckpointRequest.objects.values().get() == told
    assert_healthy(value)


def test_a_rebuild_of_what_is_right_changes_nothing(desk):
    """Rows keep microseconds, of which the log knows nothing."""
    value = at_question(desk, human=True, dueMs=60_000)
    answer(desk.person, only_row(value), now=SOON + timedelta(microseconds=789))
    told = CheckpointRequest.objects.values().get()

    assert rebuild(desk, value) == 0
    assert CheckpointRequest.objects.values().get() == told


def rebuild(desk, value):
    actor = system_actor(team_id=desk.team_id, door=Door.CLI)
    return tables.rebuild_projections(actor=actor, session_id=session_id(value))


def test_an_operator_may_answer(desk):
    value = at_question(desk, human=True)

    assert answer(replace(desk.person, role=Role.OPERATOR), only_row(value)).state.value == "answered"


# A person who acknowledges by tokens


def test_a_person_who_acknowledges_by_tokens_answers_and_is_on_record(desk):
    value = at_question(desk, human=True)

    then = advanced(desk.person, value, artifacts=relayed("yes"))

    row = only_row(value)
    assert then["pending"]["stepId"] == "work"
    assert (row.state, row.answered_as, row.answered_by) == ("answered", "human", desk.person.id)
    assert told_of_answers(desk) == [(desk.person.id, {"option": "yes", "digest": row.digest})]
    assert_healthy(value)


def test_a_person_who_approves_by_tokens_is_on_record(desk):
    value = approval(desk)

    then = advanced(desk.person, value)

    assert then["pending"]["stepId"] == "after"
    assert "step.approved" in audited(desk.team_id)
    assert_healthy(value)


def test_a_claim_keeps_others_from_acknowledging_by_tokens(desk):
    value = at_question(desk, human=True)
    row = only_row(value)
    checkpoints.claim_checkpoint(actor=desk.owner, request_id=row.id, now=SOON)
    count = Event.objects.count()

    with pytest.raises(CheckpointClaimedError):
        advance(desk.person, value, artifacts=relayed("yes"))

    assert (only_row(value).state, Event.objects.count()) == ("open", count)
    assert told_of_answers(desk) == []
    assert advanced(desk.owner, value, artifacts=relayed("yes"))["pending"]["stepId"] == "work"
    assert_healthy(value)


def test_a_claim_of_a_question_that_is_answered_keeps_nobody_from_another_branch(desk):
    value = at_question(desk)
    fresh = rehydrate(desk.agent, value).value
    checkpoints.claim_checkpoint(actor=desk.owner, request_id=only_row(value).id, now=SOON)
    advanced(desk.agent, value, artifacts=relayed("yes"))

    then = advanced(desk.person, fresh, artifacts=relayed("no"))

    assert then["pending"]["stepId"] == "again"
    assert (only_row(value).option_id, only_row(value).answered_as) == ("yes", "relayed")
    assert_healthy(value)


def test_an_agent_that_passes_an_answer_on_leaves_no_entry_of_a_person(desk):
    value = at_question(desk)

    advanced(desk.agent, value, artifacts=relayed("yes"))

    assert told_of_answers(desk) == []


def told_of_answers(desk):
    entries = AuditEntry.objects.filter(team_id=desk.team_id, action="checkpoint.answered").order_by("id")
    return [(entry.actor_id, entry.details) for entry in entries]
