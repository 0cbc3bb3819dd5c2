import pytest

from sessions_app.engine.handover_refusals import SuspendedError
from sessions_app.engine.runs import Dialect
from sessions_app.engine.tokens import (
    TokenBadSignatureError,
    TokenInvalidFormatError,
    TokenScopeMismatchError,
    TokenUnknownNodeError,
)
from sessions_app.models import Event, Handle, Run, WorkSession
from sessions_app.selectors.integrity import verify_session
from sessions_app.services.moves.session_tokens import read_held
from sessions_app.services.upkeep.tables import rebuild_projections
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import InvalidInputError
from tests.checkpoint_cast import publish_folder
from tests.handover_cast import (
    LATER,
    WORKFLOW,
    answered,
    begun,
    child_files,
    entered,
    handed,
    question,
    triggering,
    two_activities,
    yielded,
)
from tests.key_turns import rotate_long_ago
from tests.run_cast import make_desk
from tests.workflow_cast import NOW
from workflows_app.services import extensions
from workrail_site.dialects.activities.status import status_of

pytestmark = pytest.mark.django_db(transaction=True)

ORCHESTRATOR = Dialect.ORCHESTRATOR
SYSTEM = system_actor(team_id=NO_TEAM, door=Door.CLI)


def rotate(times):
    rotate_long_ago(times)


def status(desk, token):
    return status_of(actor=desk.agent, held=read_held(actor=desk.agent, token=token, dialect=ORCHESTRATOR))


def test_a_token_is_short_and_the_same_while_nothing_happens():
    desk = make_desk()
    held = handed(desk)

    again = read_held(actor=desk.agent, token=held.token, dialect=Dialect.SESSION)

    assert again.token == held.token
    assert held.token.startswith("ses.v1.")
    assert len(held.token) <= 64


def test_each_character_of_a_token_counts():
    desk = make_desk()
    held = handed(desk)

    for place in range(len("ses.v1."), len(held.token)):
        other = "x" if held.token[place] != "x" else "y"
        forged = held.token[:place] + other + held.token[place + 1 :]
        with pytest.raises((TokenBadSignatureError, TokenInvalidFormatError)):
            read_held(actor=desk.agent, token=forged, dialect=Dialect.SESSION)


def test_a_token_of_another_team_is_the_same_as_one_of_no_session():
    desk = make_desk()
    held = handed(desk)

    with pytest.raises(TokenUnknownNodeError):
        entered(desk, held.token, "plan", actor=desk.stranger)
    with pytest.raises(TokenUnknownNodeError):
        begun(desk, dialect=ORCHESTRATOR, parent_token=held.token, actor=desk.stranger)


def test_a_token_is_of_one_dialect():
    desk = make_desk()
    held = handed(desk)

    with pytest.raises(TokenScopeMismatchError, match="session dialect"):
        read_held(actor=desk.agent, token=held.token, dialect=ORCHESTRATOR)


def test_whoever_joins_a_run_later_is_the_last_who_worked_on_it():
    desk = make_desk()
    held = handed(desk)

    begun(desk, session_token=held.token, agent_id="worker-1", now=LATER)

    assert Run.objects.get().last_activity_at == LATER
    assert [str(finding) for finding in verify_session(held.handle.session_id)] == []


def test_a_worker_inherits_the_run_under_its_own_name_and_joins_once():
    desk = make_desk()
    held = handed(desk)
    at = entered(desk, held.token, "plan")

    joined = begun(desk, session_token=at["session_token"], agent_id="worker-1")
    again = begun(desk, session_token=at["session_token"], agent_id="worker-1")

    assert (joined.inherited, joined.held.handle.agent_id) == (True, "worker-1")
    assert joined.held.handle.run_id == held.handle.run_id
    assert joined.held.snapshot.position.activity == "plan"
    assert again.held.handle == joined.held.handle
    assert Handle.objects.count() == 2
    assert entered(desk, joined.held.token, "build", "draft", "review")["activity_id"] == "build"
    assert verify_session(held.handle.session_id) == []


def test_without_a_name_whoever_inherits_keeps_the_name_of_the_token():
    desk = make_desk()
    held = handed(desk, agent_id="lead")

    assert begun(desk, session_token=held.token).held.handle.agent_id == "lead"


def test_the_workflow_that_a_token_is_checked_against_is_its_own():
    desk = make_desk()
    held = handed(desk)

    with pytest.raises(InvalidInputError, match=r"not of 'team\.other'"):
        begun(desk, session_token=held.token, workflow_id="team.other")


@pytest.mark.parametrize("dialect", [Dialect.SESSION, ORCHESTRATOR])
def test_a_token_is_of_its_workflow_by_each_of_its_names(dialect):
    desk = make_desk()
    held = handed(desk, dialect=dialect)
    extensions.set_alias(actor=desk.person, alias="team.former", workflow_id=WORKFLOW, now=NOW)

    joined = begun(desk, dialect=dialect, session_token=held.token, workflow_id="team.former")

    assert (joined.inherited, joined.warning) == (True, "")


def test_an_orchestrators_token_goes_on_with_its_own_workflow_and_says_so():
    desk = make_desk()
    held = handed(desk, dialect=ORCHESTRATOR)

    joined = begun(desk, dialect=ORCHESTRATOR, session_token=held.token, workflow_id="team.other")

    assert joined.inherited
    assert "goes on with its own workflow" in joined.warning


def test_a_token_of_a_retired_key_is_taken_up_where_the_run_stands():
    desk = make_desk()
    held = handed(desk, dialect=ORCHESTRATOR)
    at = entered(desk, held.token, "plan", dialect=ORCHESTRATOR)
    rotate(2)

    with pytest.raises(TokenBadSignatureError, match="no longer trusted"):
        entered(desk, at["session_token"], "build", dialect=ORCHESTRATOR, now=LATER)
    adopted = begun(desk, dialect=ORCHESTRATOR, session_token=at["session_token"], agent_id="orchestrator")

    assert adopted.adopted
    assert "retired" in adopted.warning
    assert adopted.held.handle == held.handle
    assert adopted.held.snapshot.position.activity == "plan"


def test_what_was_answered_is_answered_again_with_a_token_that_is_trusted():
    desk = make_desk()
    held = handed(desk)
    first = entered(desk, held.token, "plan")
    rotate(2)

    again = entered(desk, held.token, "plan", now=LATER)

    assert {**again, "session_token": ""} == {**first, "session_token": ""}
    assert read_held(actor=desk.agent, token=again["session_token"], dialect=Dialect.SESSION).activity.id == "plan"


@pytest.mark.parametrize("text", ["ses.v1.0000", "eyJ3ZiI6Im1ldGEifQ.deadbeef", "no token at all"])
def test_what_is_no_token_gives_a_fresh_session_and_inherits_nothing(text):
    desk = make_desk()
    handed(desk, dialect=ORCHESTRATOR)

    recovered = begun(desk, dialect=ORCHESTRATOR, session_token=text)

    assert recovered.recovered
    assert "not inherited" in recovered.warning
    assert recovered.held.activity is None
    with pytest.raises(TokenInvalidFormatError):
        begun(desk, session_token=text)


def test_a_forged_token_never_becomes_a_session():
    desk = make_desk()
    held = handed(desk, dialect=ORCHESTRATOR)
    entered(desk, held.token, "plan", dialect=ORCHESTRATOR)

    forged = held.token[:-1] + ("0" if held.token[-1] != "0" else "1")
    recovered = begun(desk, dialect=ORCHESTRATOR, session_token=forged)

    assert recovered.recovered
    assert recovered.held.handle.session_id != held.handle.session_id


# Children


def with_child(desk):
    held = handed(desk, triggering(), dialect=ORCHESTRATOR)
    publish_folder(desk, child_files(), "team.child")
    at = entered(desk, held.token, "plan", dialect=ORCHESTRATOR)
    child = begun(desk, dialect=ORCHESTRATOR, workflow_id="team.child", parent_token=at["session_token"]).held
    return at["session_token"], child


def test_a_triggered_child_suspends_its_parent_and_gives_its_variables_back():
    desk = make_desk()
    token, child = with_child(desk)

    assert child.snapshot.variables == {"ticket": "T-1"}
    assert (child.handle.parent.activity, child.handle.parent.workflow_id) == ("plan", WORKFLOW)
    waiting = status(desk, token)
    assert (waiting["status"], waiting["children"][0]["workflow_id"]) == ("blocked", "team.child")
    with pytest.raises(SuspendedError) as refused:
        entered(desk, token, "build", "draft", dialect=ORCHESTRATOR)
    assert [each[:4] for each in refused.value.details["waitsFor"]] == ["run_"]

    at = entered(desk, waiting["children"][0]["session_token"], "only", dialect=ORCHESTRATOR)
    entered(desk, at["session_token"], "end-workflow", "do", dialect=ORCHESTRATOR)

    back = read_held(actor=desk.agent, token=token, dialect=ORCHESTRATOR)
    assert back.snapshot.variables == {"ticket": "T-1", "outcome": "merged"}
    assert status(desk, token)["status"] == "active"
    assert entered(desk, token, "build", "draft", dialect=ORCHESTRATOR)["activity_id"] == "build"
    for session in WorkSession.objects.all():
        assert verify_session(session.id) == []


def test_a_trigger_by_an_alias_suspends_and_gives_back_as_well():
    desk = make_desk()
    publish_folder(desk, child_files(), "team.child")
    extensions.set_alias(actor=desk.person, alias="team.errand", workflow_id="team.child", now=NOW)
    held = handed(desk, triggering("team.errand"), dialect=ORCHESTRATOR)
    token = entered(desk, held.token, "plan", dialect=ORCHESTRATOR)["session_token"]

    child = begun(desk, dialect=ORCHESTRATOR, workflow_id="team.child", parent_token=token).held
    assert status(desk, token)["status"] == "blocked"
    at = entered(desk, child.token, "only", dialect=ORCHESTRATOR)
    entered(desk, at["session_token"], "end-workflow", "do", dialect=ORCHESTRATOR)

    back = read_held(actor=desk.agent, token=token, dialect=ORCHESTRATOR)
    assert back.snapshot.variables == {"ticket": "T-1", "outcome": "merged"}


def test_children_of_children_know_their_parents():
    desk = make_desk()
    _token, child = with_child(desk)

    grandchild = begun(desk, dialect=ORCHESTRATOR, workflow_id="team.child", parent_token=child.token).held

    assert grandchild.handle.parent.run_id == child.handle.run_id
    assert WorkSession.objects.get(pk=grandchild.handle.session_id).parent_id == child.handle.session_id
    parent = status(desk, grandchild.token)["parent"]
    assert (parent["workflow_id"], parent["version"]) == ("team.child", "1.0.0")
    assert status(desk, child.token)["status"] == "active"


def test_a_failed_parent_token_begins_no_child():
    desk = make_desk()
    handed(desk, dialect=ORCHESTRATOR)
    count = Run.objects.count()

    with pytest.raises(TokenInvalidFormatError):
        begun(desk, dialect=ORCHESTRATOR, parent_token="nonsense")

    assert Run.objects.count() == count


# Status and upkeep


def test_status_is_told_by_the_log_alone():
    desk = make_desk()
    held = handed(desk, two_activities(question()), dialect=ORCHESTRATOR)
    assert (status(desk, held.token)["status"], status(desk, held.token)["current_activity"]) == ("active", "none")

    at = entered(desk, held.token, "plan", dialect=ORCHESTRATOR)
    yielded(desk, at["session_token"])

    told = status(desk, held.token)
    assert (told["status"], told["current_activity"], told["pending_checkpoints"]) == ("blocked", "plan", ["agreed"])
    assert "last_checkpoint" not in told

    done = answered(desk, told["session_token"], dialect=ORCHESTRATOR)
    entered(desk, done["session_token"], "build", "draft", "review", dialect=ORCHESTRATOR, now=LATER)
    told = status(desk, held.token)
    assert (told["status"], told["completed_activities"]) == ("active", ["plan"])
    last = told["last_checkpoint"]
    assert (last["activity_id"], last["checkpoint_id"], last["option_id"]) == ("plan", "agreed", "yes")


def test_holders_are_built_again_from_the_log():
    desk = make_desk()
    _, child = with_child(desk)
    before = list(Handle.objects.filter(session_id=child.handle.session_id).values())
    Handle.objects.filter(session_id=child.handle.session_id).delete()
    assert [found.reason for found in verify_session(child.handle.session_id)] == ["missing_row"]

    assert rebuild_projections(actor=SYSTEM, session_id=child.handle.session_id) == 1

    assert list(Handle.objects.filter(session_id=child.handle.session_id).values()) == before


def test_a_read_of_a_token_writes_nothing():
    desk = make_desk()
    held = handed(desk, dialect=ORCHESTRATOR)
    count = Event.objects.count()

    status(desk, held.token)
    read_held(actor=desk.agent, token=held.token, dialect=ORCHESTRATOR)

    assert Event.objects.count() == count
