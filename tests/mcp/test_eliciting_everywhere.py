"""Questions that the client puts to its user, in every dialect that has questions, by lines and by HTTP."""

import contextlib
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from django.db import connection

from sessions_app.models import CheckpointRequest
from sessions_app.services.people import checkpoints, stops
from teams_app.engine.actors import Scope
from tests import checkpoint_cast
from tests.cast import issue
from tests.checkpoint_cast import asking, publish_folder
from tests.mcp.conftest import agent_of, running_site
from tests.run_cast import notes_free, published
from workrail_site.mcp.messages import RpcError, request_of
from workrail_site.mcp.stdio.serving import ServedDialect
from workrail_site.mcp.stdio.talks import DialectTalk
from workrail_site.mcp.waiting import watch_by

pytestmark = pytest.mark.django_db(transaction=True)
META = "io.modelcontextprotocol/"
PUBLIC_URL = "https://rails.example.com"
BOTH = {"elicitation": {"form": {}, "url": {}}}
MODERN, GREETED = "2026-07-28", "2025-11-25"
DIALECTS = ["rail", "navigation", "session", "orchestrator"]


class Lines:
    """A process's half of a conversation, without the process."""

    def __init__(self, dialect, key, version):
        self.version = version
        self.served = ServedDialect(dialect, key=key, text_only=False)
        self.talk = DialectTalk(dialect, load=lambda: self.served)
        if version != MODERN:
            self.send("initialize", {"protocolVersion": version, "capabilities": BOTH})

    def send(self, method, params):
        return self.talk.answer(request_of({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))

    def call(self, params):
        try:
            return self.send("tools/call", params)
        except RpcError as error:
            return {"error": error.as_json()}

    def close(self):
        self.served.close()


class Http:
    """A client of the address, which keeps the id that it was given as the protocol asks."""

    def __init__(self, dialect, wire, version):
        self.wire = wire
        self.version = version
        self.path = f"/mcp/{dialect}"
        self.session = {}
        if version != MODERN:
            params = {"protocolVersion": version, "capabilities": BOTH, "clientInfo": {"name": "t", "version": "1"}}
            greeted = self.wire.send("initialize", params, version=version, path=self.path)
            self.session = {"Mcp-Session-Id": greeted.headers["mcp-session-id"], "MCP-Protocol-Version": version}

    def call(self, params):
        # Its own envelope, with what this client is able to.
        routing = (
            {"Mcp-Method": "tools/call", "Mcp-Name": params["name"], "MCP-Protocol-Version": MODERN}
            if self.version == MODERN
            else {}
        )
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        said = self.wire.send("tools/call", message=message, version="", path=self.path, **self.session, **routing)
        told = said.json()
        return told.get("result", told)

    def close(self):
        pass


@pytest.fixture(scope="session")
def open_site(django_db_setup, tmp_path_factory):
    """A site whose questions have addresses, and which lets answers come at once."""
    environ = {
        "WORKRAIL_PUBLIC_URL": PUBLIC_URL,
        "WORKRAIL_ALLOWED_HOSTS": "127.0.0.1,rails.example.com",
        "WORKRAIL_INSECURE_COOKIES": "1",
        "WORKRAIL_CHECKPOINT_MIN_RESPONSE_MS": "50",
        "WORKRAIL_ANSWER_WAIT_SECONDS": "0",
    }
    with running_site(tmp_path_factory.mktemp("asking"), environ) as found:
        yield found


@pytest.fixture(params=["lines", "http"])
def client(request, desk, open_site, settings):
    settings.PUBLIC_URL = PUBLIC_URL
    settings.CHECKPOINT_MIN_RESPONSE_MS = 50
    settings.ANSWER_WAIT_SECONDS = 0
    wire = agent_of(open_site, desk.owner)
    with contextlib.ExitStack() as stack:

        def make(dialect, version, key=""):
            agent = replace(wire, key=key or wire.key)
            made = Lines(dialect, agent.key, version) if request.param == "lines" else Http(dialect, agent, version)
            stack.callback(made.close)
            return Caller(made)

        yield make


class Caller:
    def __init__(self, door):
        self.door = door

    def __call__(self, tool, *, responses=None, **arguments):
        params = {"name": tool, "arguments": arguments}
        if self.door.version == MODERN:
            params["_meta"] = {
                f"{META}protocolVersion": MODERN,
                f"{META}clientCapabilities": BOTH,
                f"{META}clientInfo": {"name": "t", "version": "1"},
            }
        if responses is not None:
            params["inputResponses"] = responses
        return self.door.call(params)

    def value(self, tool, **arguments):
        told = self(tool, **arguments)
        assert not told.get("isError"), told
        return told["structuredContent"]


def led_to(dialect, client, desk, **fields):
    """The call at which the client is to be asked: its tool and its arguments."""
    workflow = publish_folder(desk, asking(**fields))
    if dialect == "rail":
        first = client.value("start_workflow", workflowId=workflow)
        tokens = {"stateToken": first["stateToken"], "ackToken": first["ackToken"]}
        return "continue_workflow", {**tokens, "output": {"notesMarkdown": "Did what the step says."}}
    if dialect == "navigation":
        first = client.value("nav_start", workflow_id=workflow)
        action = {"action": "complete_step", "step_id": "ask", "notes": "Asked."}
        if first["checkpoint"] is None:
            return "nav_action", {"state": first["state"], **action}
        return "nav_situation", {"state": first["state"]}
    begun = client.value("start_session", workflow_id=workflow, agent_id="lead")
    entered = client.value("next_activity", session_token=begun["session_token"], activity_id="plan")
    if dialect == "session":
        named = {"activity_id": "plan", "checkpoint_id": "agreed"}
        return "get_checkpoint", {"session_token": entered["session_token"], **named}
    asked = client.value("yield_checkpoint", session_token=entered["session_token"], checkpoint_id="agreed")
    return "present_checkpoint", {"checkpoint_handle": asked["checkpoint_handle"]}


def answer_as_a_person(desk, option_id="yes", *, reason=""):
    row = CheckpointRequest.objects.get()
    checkpoints.answer_checkpoint(
        actor=desk.person,
        request_id=row.pk,
        option_id=option_id,
        digest=row.digest,
        reason=reason,
        now=checkpoint_cast.SOON,
        entropy=os.urandom,
    )


def is_past_the_question(dialect, value):
    match dialect:
        case "rail":
            return value["pending"]["stepId"] == "work"
        case "navigation":
            return value["checkpoint"] is None and not value.get("error")
        case _:
            answered = value.get("answered", {}).get("optionId")
            return (value.get("resolved_option") or answered) == "yes"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_relayed_question_is_a_form_and_its_answer_the_users(dialect, client, desk):
    call = client(dialect, MODERN)
    tool, arguments = led_to(dialect, call, desk)

    asked = call(tool, **arguments)
    ((key, request),) = asked["inputRequests"].items()
    told = call(tool, responses={key: {"action": "accept", "content": {"answer": "yes"}}}, **arguments)

    assert asked["resultType"] == "input_required"
    assert request["params"]["mode"] == "form"
    assert [each["const"] for each in request["params"]["requestedSchema"]["properties"]["answer"]["oneOf"]] == [
        "yes",
        "no",
    ]
    assert is_past_the_question(dialect, told["structuredContent"])
    row = CheckpointRequest.objects.get()
    assert (row.option_id, row.door, row.answered_as) == ("yes", "client_form", "relayed")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_human_question_is_an_address(dialect, client, desk):
    call = client(dialect, MODERN)
    tool, arguments = led_to(dialect, call, desk, human=True)

    asked = call(tool, **arguments)
    ((key, request),) = asked["inputRequests"].items()
    waiting = call(tool, responses={key: {"action": "accept"}}, **arguments)
    answer_as_a_person(desk)
    told = call(tool, responses={key: {"action": "accept"}}, **arguments)

    assert request["params"]["mode"] == "url"
    assert request["params"]["url"].startswith(f"{PUBLIC_URL}/studio/")
    assert not waiting.get("isError")
    # The leader of the orchestrator dialect has nothing to show any more; the worker is told of the answer.
    if dialect != "orchestrator":
        assert is_past_the_question(dialect, told["structuredContent"])
    assert CheckpointRequest.objects.get().answered_as == "human"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_before_that_revision_an_address_is_an_error_that_names_it(dialect, client, desk):
    call = client(dialect, GREETED)
    tool, arguments = led_to(dialect, call, desk, human=True)

    asked = call(tool, **arguments)
    answer_as_a_person(desk)
    told = call(tool, **arguments)

    (elicitation,) = asked["error"]["data"]["elicitations"]
    assert asked["error"]["code"] == -32042
    assert (elicitation["mode"], elicitation["url"].startswith(f"{PUBLIC_URL}/studio/")) == ("url", True)
    assert "error" not in told


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_relayed_question_of_that_revision_stands_in_the_reply(dialect, client, desk):
    call = client(dialect, GREETED)
    tool, arguments = led_to(dialect, call, desk)

    told = call(tool, **arguments)

    assert "Is the plan for" in told["content"][0]["text"]
    assert CheckpointRequest.objects.get().option_id == ""


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_person_who_answers_soon_is_waited_for_within_the_same_call(dialect, client, desk, settings, request):
    if request.node.callspec.params["client"] == "http":
        pytest.skip("the process of the site does not tell how often it has looked")
    settings.ANSWER_WAIT_SECONDS = 60
    call = client(dialect, MODERN)
    tool, arguments = led_to(dialect, call, desk, human=True)
    (key,) = call(tool, **arguments)["inputRequests"]
    watch = watch_by(call.door.served._workers)
    looked = watch.ticks

    with ThreadPoolExecutor(1) as thread:
        answered = thread.submit(answer_when, lambda: watch.ticks > looked, desk)
        told = call(tool, responses={key: {"action": "accept"}}, **arguments)
        answered.result()

    assert not told.get("isError"), told
    if dialect != "orchestrator":
        assert is_past_the_question(dialect, told["structuredContent"])
    assert not watch._viewers


def answer_when(is_time, desk):
    """In a thread of its own, with a connection of its own."""
    ends_at = time.monotonic() + 50
    while not is_time() and time.monotonic() < ends_at:
        time.sleep(0.01)
    try:
        answer_as_a_person(desk)
    finally:
        connection.close()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_that_a_client_says_answers_for_a_signed_in_person(dialect, client, desk):
    """Whatever it claims that its user has filled in, accepted, or done at the address."""
    call = client(dialect, MODERN)
    tool, arguments = led_to(dialect, call, desk, human=True)
    ((key, request),) = call(tool, **arguments)["inputRequests"].items()
    claims = [
        {key: {"action": "accept", "content": {"answer": "yes"}}},
        {key: {"action": "accept", "content": {"answer": "yes", "optionId": "yes", "digest": "sha256:x"}}},
        {
            key: {"action": "accept", "content": {}},
            "checkpoint-other": {"action": "accept", "content": {"answer": "yes"}},
        },
        {"checkpoint-agreed": {"action": "accept", "content": {"answer": "yes"}}},
        {request["params"]["url"]: {"action": "accept"}},
        {},
    ]

    told = [call(tool, responses=claim, **arguments) for claim in claims]
    bare = call(tool, responses=claims[0], **arguments)

    row = CheckpointRequest.objects.get()
    assert (row.option_id, row.answered_as, row.state) == ("", "", "open")
    for each in [*told, bare]:
        assert "structuredContent" not in each or not is_past_safely(dialect, each["structuredContent"])


def is_past_safely(dialect, value):
    return dialect != "orchestrator" and "pending" in value and is_past_the_question(dialect, value)


YES = {"answer": "yes"}
ODD_ANSWERS = [
    *({"action": "accept", "content": content} for content in (None, {}, {"Answer": "yes"}, "yes", ["yes"])),
    *(
        {"action": "accept", "content": {"answer": answer}}
        for answer in (None, 1, True, ["yes"], {"a": "yes"}, "YES", "yes ", "", "\u0000", "perhaps", "x" * 100_000)
    ),
    *({"action": action, "content": YES} for action in ("decline", "cancel", "ACCEPT", 1, None)),
    *({"content": YES}, "yes", None, [], {"role": "user", "model": "m", "content": {"type": "text", "text": "yes"}}),
]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_after_answers_that_are_none_the_right_one_still_counts(dialect, client, desk):
    call = client(dialect, MODERN)
    tool, arguments = led_to(dialect, call, desk)
    (key,) = call(tool, **arguments)["inputRequests"]

    for responses in (*({key: answer} for answer in ODD_ANSWERS), {"other": YES}, {"other": None}, [], "yes", 1):
        told = call(tool, responses=responses, **arguments)
        assert told.get("resultType") != "input_required", responses
        assert len(str(told)) < 10_000, responses
        assert CheckpointRequest.objects.get().state == "open", responses
    told = call(tool, responses={key: {"action": "accept", "content": {**YES, "more": 1}}}, **arguments)
    again = call(tool, responses={key: {"action": "accept", "content": {"answer": "no"}}}, **arguments)

    assert is_past_the_question(dialect, told["structuredContent"])
    assert again.get("resultType") != "input_required"
    row = CheckpointRequest.objects.get()
    assert (row.option_id, row.door, row.answered_as) == ("yes", "client_form", "relayed")


def filled_in(key, answer="yes"):
    return {key: {"action": "accept", "content": {"answer": answer}}}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_form_answers_for_whoever_may_drive_and_sees_the_run(dialect, client, desk):
    """A key that only reads, and a key of another team, bring the answer to what somebody else was asked."""
    call = client(dialect, MODERN)
    tool, arguments = led_to(dialect, call, desk)
    (key,) = call(tool, **arguments)["inputRequests"]
    strangers = replace(desk.owner, team_id=desk.stranger.team_id)

    for owner, scopes in ((desk.owner, {Scope.RUNS_READ, Scope.WORKFLOWS_READ}), (strangers, frozenset(Scope))):
        other = client(dialect, MODERN, key=issue(owner, scopes=frozenset(scopes)).text)
        told = other(tool, responses=filled_in(key), **arguments)
        assert told.get("isError"), told
        assert CheckpointRequest.objects.get().state == "open"


@pytest.mark.parametrize("stop", [stops.pause_run, stops.cancel_run])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_form_that_comes_after_a_person_has_stopped_the_run_answers_nothing(dialect, client, desk, stop):
    call = client(dialect, MODERN)
    tool, arguments = led_to(dialect, call, desk)
    (key,) = call(tool, **arguments)["inputRequests"]
    row = CheckpointRequest.objects.get()
    stop(actor=desk.person, run_id=row.run_id, reason="Wait.", now=checkpoint_cast.SOON, entropy=os.urandom)

    for responses in (filled_in(key), None):
        assert call(tool, responses=responses, **arguments).get("resultType") != "input_required"
    assert CheckpointRequest.objects.get().option_id == ""


@pytest.mark.parametrize("said", [{"action": "accept", "content": {"answer": "yes"}}, {"action": "decline"}])
@pytest.mark.parametrize("human", [True, False])
@pytest.mark.parametrize("stop", [stops.pause_run, stops.cancel_run])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_whoever_comes_back_after_a_person_has_stopped_the_run_is_told_so(dialect, client, desk, stop, human, said):
    call = client(dialect, MODERN)
    tool, arguments = led_to(dialect, call, desk, human=human)
    (key,) = call(tool, **arguments)["inputRequests"]
    row = CheckpointRequest.objects.get()
    stop(actor=desk.person, run_id=row.run_id, reason="Wait for Zoe.", now=checkpoint_cast.SOON, entropy=os.urandom)

    told = call(tool, responses={key: said}, **arguments)

    assert "Wait for Zoe." in told["content"][0]["text"]


@pytest.mark.parametrize("said", [{"action": "decline"}, {"action": "cancel"}, None])
@pytest.mark.parametrize("human", [True, False])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_nobody_is_asked_or_told_of_a_question_that_a_person_has_answered_meanwhile(dialect, client, desk, human, said):
    call = client(dialect, MODERN)
    tool, arguments = led_to(dialect, call, desk, human=human)
    (key,) = call(tool, **arguments)["inputRequests"]
    answer_as_a_person(desk)

    told = call(tool, responses=said and {key: said}, **arguments)

    assert told.get("resultType") != "input_required"
    # The leader of the orchestrator dialect has nothing to show any more.
    if dialect != "orchestrator":
        assert is_past_the_question(dialect, told["structuredContent"])


def led_to_approval(dialect, call, desk):
    """The call that hands in what a person has to approve."""
    steps = (notes_free("one", requireConfirmation={"kind": "human_approval"}), notes_free("two"))
    workflow = published(desk, *steps, workflow_id="team.steps")
    if dialect == "rail":
        first = call.value("start_workflow", workflowId=workflow)
        return "continue_workflow", {"stateToken": first["stateToken"], "ackToken": first["ackToken"]}
    if dialect == "navigation":
        first = call.value("nav_start", workflow_id=workflow)
        return "nav_action", {"state": first["state"], "action": "complete_step", "step_id": "one"}
    begun = call.value("start_session", workflow_id=workflow, agent_id="lead")
    entered = call.value("next_activity", session_token=begun["session_token"], activity_id="main")
    manifest = [{"step_id": "one", "output": "Built."}, {"step_id": "two", "output": "Tested."}]
    arguments = {"session_token": entered["session_token"], "activity_id": "end-workflow", "step_manifest": manifest}
    return "next_activity", arguments


def responses_of(asked):
    """What a client sends with the repeated call: before the newest revision nothing."""
    return {key: {"action": "accept"} for key in asked.get("inputRequests", ())} or None


@pytest.mark.parametrize("version", [MODERN, GREETED])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_call_goes_on_when_a_person_has_approved(dialect, client, desk, version):
    call = client(dialect, version)
    tool, arguments = led_to_approval(dialect, call, desk)
    asked = call(tool, **arguments)
    answer_as_a_person(desk, "approve")

    told = call(tool, responses=responses_of(asked), **arguments)["structuredContent"]

    if dialect in {"session", "orchestrator"}:
        assert (told["resolved_option"], told["remaining_checkpoints"]) == ("approve", [])
        assert "next_activity" in told["message"]
        told = call.value(tool, **{**arguments, "session_token": told["session_token"]})
        assert told["status"] == "completed"
    elif dialect == "rail":
        assert told["pending"]["stepId"] == "two"
    else:
        assert told["position"]["step"]["id"] == "two"


@pytest.mark.parametrize("version", [MODERN, GREETED])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_call_tells_why_a_person_has_sent_the_work_back(dialect, client, desk, version):
    call = client(dialect, version)
    tool, arguments = led_to_approval(dialect, call, desk)
    asked = call(tool, **arguments)
    answer_as_a_person(desk, "send_back", reason="Zoe wants tests.")

    told = call(tool, responses=responses_of(asked), **arguments)

    assert "Zoe wants tests." in told["content"][0]["text"]


@pytest.mark.parametrize("version", [MODERN, GREETED])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_call_tells_that_a_person_has_ended_the_run(dialect, client, desk, version):
    call = client(dialect, version)
    tool, arguments = led_to_approval(dialect, call, desk)
    asked = call(tool, **arguments)
    row = CheckpointRequest.objects.get()
    stops.cancel_run(
        actor=desk.person, run_id=row.run_id, reason="Zoe says no.", now=checkpoint_cast.SOON, entropy=os.urandom
    )

    told = call(tool, responses=responses_of(asked), **arguments)

    assert "Zoe says no." in told["content"][0]["text"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_form_that_comes_after_a_persons_answer_changes_nothing(dialect, client, desk):
    call = client(dialect, MODERN)
    tool, arguments = led_to(dialect, call, desk)
    (key,) = call(tool, **arguments)["inputRequests"]
    answer_as_a_person(desk, "no")

    told = call(tool, responses=filled_in(key), **arguments)

    assert told.get("resultType") != "input_required"
    row = CheckpointRequest.objects.get()
    assert (row.option_id, row.answered_as) == ("no", "human")


@pytest.mark.parametrize("dialect", ["rail", "navigation"])
def test_a_key_that_drives_and_reads_no_runs_is_asked_all_the_same(dialect, client, desk):
    scopes = frozenset({Scope.WORKFLOWS_READ, Scope.RUNS_WRITE})
    call = client(dialect, MODERN, key=issue(desk.owner, scopes=scopes).text)
    tool, arguments = led_to(dialect, call, desk)

    (key,) = call(tool, **arguments)["inputRequests"]
    told = call(tool, responses=filled_in(key), **arguments)

    assert is_past_the_question(dialect, told["structuredContent"])


@pytest.mark.parametrize("dialect", ["rail", "navigation"])
def test_such_a_key_may_ask_again_whether_a_person_has_answered(dialect, client, desk):
    scopes = frozenset({Scope.WORKFLOWS_READ, Scope.RUNS_WRITE})
    call = client(dialect, MODERN, key=issue(desk.owner, scopes=scopes).text)
    tool, arguments = led_to(dialect, call, desk, human=True)

    (key,) = call(tool, **arguments)["inputRequests"]
    waits = call(tool, responses={key: {"action": "accept"}}, **arguments)
    answer_as_a_person(desk)
    told = call(tool, responses={key: {"action": "accept"}}, **arguments)

    assert not waits.get("isError"), waits
    assert is_past_the_question(dialect, told["structuredContent"])


def test_such_a_key_is_told_why_an_action_is_refused(client, desk):
    scopes = frozenset({Scope.WORKFLOWS_READ, Scope.RUNS_WRITE})
    call = client("navigation", MODERN, key=issue(desk.owner, scopes=scopes).text)
    tool, arguments = led_to("navigation", call, desk)

    told = call("nav_action", **{**arguments, "step_id": "nothing"})

    assert told["structuredContent"]["error"]["code"] == "STEP_NOT_FOUND"
    assert tool == "nav_action"
