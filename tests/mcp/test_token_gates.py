"""Session tokens as agents keep, mangle, invent and pass them on: none leads past a gate, or into another team's session."""

from uuid import uuid4

import pytest
import time_machine
from django.utils import timezone

from sessions_app.engine import session_tokens
from sessions_app.models import Event, Node, Run
from sessions_app.selectors.integrity import verify_session
from sessions_app.services.store.signing_keys import current_keys
from tests import run_cast
from tests.activity_folders import activity, folder, step, workflow
from tests.checkpoint_cast import publish_folder
from tests.handover_play import caller, manifest, plan_files

pytestmark = pytest.mark.django_db(transaction=True)

DIALECTS = ["session", "orchestrator"]
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
CHILD = "team.child"


@pytest.fixture
def clock():
    with time_machine.travel(timezone.now(), tick=False) as moved:
        yield moved


@pytest.fixture
def desk(transactional_db, clock):
    desk = run_cast.make_desk()
    publish_folder(desk, plan_files())
    return desk


def begun(call, dialect, **arguments):
    """Every token of a session up to its gate, the oldest first: its start, a worker's, those of reads, and the gate's own."""
    token = call("start_session", workflow_id="team.plan", **arguments)["session_token"]
    tokens = [token, call("get_workflow", session_token=token)["session_token"]]
    tokens.append(joined(call, dialect, token))
    tokens.append(call("next_activity", session_token=token, activity_id="draft")["session_token"])
    tokens.append(joined(call, dialect, tokens[-1]))
    if dialect == "orchestrator":
        tokens.append(call("yield_checkpoint", session_token=tokens[-1], checkpoint_id="sure")["checkpoint_handle"])
    return tokens


def joined(call, dialect, token):
    workflow_id = "team.plan" if dialect == "session" else None
    return call("start_session", workflow_id=workflow_id, session_token=token, agent_id="worker")["session_token"]


def uses_of(dialect, token):
    """A call of each tool that takes a token, with arguments that are in order."""
    step = manifest("write", "polish", "ask", "inner")
    common = {
        "get_workflow": {},
        "next_activity": {"activity_id": "build", "step_manifest": step},
        "get_skills": {},
        "get_skill": {"step_id": "write"},
        "get_trace": {},
    }
    own = {
        "session": {
            "get_checkpoint": {"activity_id": "draft", "checkpoint_id": "sure"},
            "respond_checkpoint": {"checkpoint_id": "sure", "option_id": "yes"},
            "get_resource": {"resource_index": "01"},
        },
        "orchestrator": {
            "get_workflow_status": {},
            "get_activity": {},
            "yield_checkpoint": {"checkpoint_id": "soft"},
            "resume_checkpoint": {},
            "present_checkpoint": {},
            "respond_checkpoint": {"option_id": "yes"},
            "get_resource": {"resource_id": "01"},
        },
    }
    return {tool: {"session_token": token, **arguments} for tool, arguments in (common | own[dialect]).items()}


# What hands out or takes the work of an activity while one of its questions is open.
GATED = {
    "session": {"next_activity"},
    "orchestrator": {
        "get_workflow",
        "next_activity",
        "get_activity",
        "get_skills",
        "get_skill",
        "get_resource",
        "get_trace",
        "yield_checkpoint",
        "resume_checkpoint",
    },
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_token_of_a_session_passes_its_gate_however_old_it_is(desk, clock, dialect):
    call = caller(dialect, desk.agent)
    tokens = begun(call, dialect)
    clock.shift(10)
    events = Event.objects.count()

    codes = {
        (tool, call.refused(tool, **uses_of(dialect, token)[tool])["code"])
        for token in tokens
        for tool in GATED[dialect]
    }

    assert codes == {(tool, "CHECKPOINT_OPEN") for tool in GATED[dialect]}
    assert Event.objects.count() == events
    assert verify_session(Run.objects.get().session_id) == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_recorded_call_is_answered_again_at_a_gate_and_moves_nothing(desk, dialect):
    call = caller(dialect, desk.agent)
    token = call("start_session", workflow_id="team.plan")["session_token"]
    first = call("next_activity", session_token=token, activity_id="draft")
    if dialect == "orchestrator":
        call("yield_checkpoint", session_token=first["session_token"], checkpoint_id="sure")
    nodes = Node.objects.count()

    assert call("next_activity", session_token=token, activity_id="draft") == first
    assert Node.objects.count() == nodes
    assert call.refused("next_activity", session_token=token, activity_id="build")["code"] == "CHECKPOINT_OPEN"


def altered(token):
    """Each character replaced by two others that no chat mixes up with it, one left out, and one doubled."""
    for place, character in enumerate(token):
        at = ALPHABET.find(character)
        for step_ in (1, 16):
            yield token[:place] + ALPHABET[(at + step_) % len(ALPHABET)] + token[place + 1 :]
        yield token[:place] + token[place + 1 :]
        yield token[:place] + character + token[place:]


NO_TOKEN = {"TOKEN_BAD_SIGNATURE", "TOKEN_INVALID_FORMAT", "TOKEN_UNSUPPORTED_VERSION"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_token_with_any_character_altered_is_refused(desk, dialect):
    call = caller(dialect, desk.agent)
    token = begun(call, dialect)[-1]
    reads = "get_checkpoint" if dialect == "session" else "get_workflow_status"

    codes = {call.refused(reads, **uses_of(dialect, forged)[reads])["code"] for forged in set(altered(token)) - {token}}

    assert codes <= NO_TOKEN
    assert "TOKEN_BAD_SIGNATURE" in codes


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_tool_takes_a_forged_token(desk, dialect):
    call = caller(dialect, desk.agent)
    token = begun(call, dialect)[-1]
    events = Event.objects.count()

    for place in range(len("ses.v1."), len(token), 6):
        forged = token[:place] + ALPHABET[ALPHABET.find(token[place]) - 1] + token[place + 1 :]
        codes = {call.refused(tool, **given)["code"] for tool, given in uses_of(dialect, forged).items()}
        assert codes <= NO_TOKEN

    assert Event.objects.count() == events


def test_an_altered_token_never_joins_the_session_that_it_was_of(desk):
    """The orchestrator's contract goes on with a fresh session; the session dialect begins none."""
    call, strict = caller("orchestrator", desk.agent), caller("session", desk.agent)
    token, other = begun(call, "orchestrator")[-1], begun(strict, "session")[-1]
    session = call("get_workflow_status", session_token=token)["session_id"]

    for forged in sorted(set(altered(token)) - {token})[::12]:
        told = call("start_session", session_token=forged, workflow_id="team.plan")
        assert told["recovered"]
        assert call("get_workflow_status", session_token=told["session_token"])["session_id"] != session
    for forged in sorted(set(altered(other)) - {other})[::12]:
        refused = strict.refused("start_session", session_token=forged, workflow_id="team.plan")
        assert refused["code"] in NO_TOKEN


# Teams


def unknown_token():
    """Signed as it should be, and of nobody."""
    return session_tokens.mint(keyring=current_keys().ring, handle_id=uuid4(), index=3)


def dispatched(call):
    """The tokens of a parent and of its child."""
    token = call("start_session", workflow_id="team.plan")["session_token"]
    parent = call("next_activity", session_token=token, activity_id="draft")["session_token"]
    child = call("start_session", workflow_id=CHILD, parent_session_token=parent)["session_token"]
    return parent, call("next_activity", session_token=child, activity_id="only")["session_token"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_token_of_another_team_is_the_same_error_as_one_of_nobody(desk, dialect):
    token = begun(caller(dialect, desk.agent), dialect)[-1]
    stranger = caller(dialect, desk.stranger)
    events = Event.objects.count()

    for tool in uses_of(dialect, token):
        theirs = stranger.refused(tool, **uses_of(dialect, token)[tool])
        nobodys = stranger.refused(tool, **uses_of(dialect, unknown_token())[tool])
        assert theirs == nobodys
        assert theirs["code"] == "TOKEN_UNKNOWN_NODE"

    assert Event.objects.count() == events


def test_neither_a_child_nor_its_parent_is_open_to_another_team(desk):
    publish_folder(
        desk, folder(activity("only", steps=[step("do")]), about=workflow(id=CHILD, initialActivity="only")), CHILD
    )
    parent, child = dispatched(caller("orchestrator", desk.agent))
    stranger = caller("orchestrator", desk.stranger)
    events = Event.objects.count()

    for token in (parent, child):
        for tool, given in uses_of("orchestrator", token).items():
            assert stranger.refused(tool, **given) == stranger.refused(
                tool, **{**given, "session_token": unknown_token()}
            )

    assert Event.objects.count() == events
    assert {run.status for run in Run.objects.all()} == {"in_progress"}


def test_nobody_begins_a_child_of_another_teams_session(desk):
    parent = begun(caller("orchestrator", desk.agent), "orchestrator")[0]
    stranger = caller("orchestrator", desk.stranger)
    runs = Run.objects.count()

    theirs = stranger.refused("start_session", workflow_id="team.plan", parent_session_token=parent)
    nobodys = stranger.refused("start_session", workflow_id="team.plan", parent_session_token=unknown_token())

    assert theirs == nobodys
    assert Run.objects.count() == runs


def test_the_session_of_another_team_is_recovered_as_nothing_of_it(desk):
    """A stranger's key with a token that it has seen gets a session of its own team, or none."""
    token = begun(caller("orchestrator", desk.agent), "orchestrator")[0]
    stranger = caller("orchestrator", desk.stranger)

    refused = stranger.refused("start_session", session_token=token, workflow_id="team.plan")

    assert refused["code"] == "NOT_FOUND"
    assert set(Run.objects.values_list("team_id", flat=True)) == {desk.team_id}
