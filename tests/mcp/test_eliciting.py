"""Questions that a client puts to its user: as a form, as an address, or in words where it can do neither."""

import contextlib
import os

import pytest

from sessions_app.models import CheckpointRequest
from sessions_app.services.people import checkpoints
from tests import checkpoint_cast, run_cast
from tests.cast import issue
from tests.checkpoint_cast import asking, publish_folder
from tests.run_cast import published
from tests.step_documents import step
from workrail_site.mcp.messages import RpcError, request_of
from workrail_site.mcp.stdio.serving import ServedDialect
from workrail_site.mcp.stdio.talks import DialectTalk

pytestmark = pytest.mark.django_db(transaction=True)
META = "io.modelcontextprotocol/"
BOTH = {"elicitation": {"form": {}, "url": {}}}


@pytest.fixture
def desk(transactional_db):
    return run_cast.make_desk()


@pytest.fixture
def talk(desk, settings):
    settings.PUBLIC_URL = "https://rails.example.com"
    settings.CHECKPOINT_MIN_RESPONSE_MS = 50
    settings.ANSWER_WAIT_SECONDS = 0
    key = issue(desk.owner).text
    with contextlib.closing(ServedDialect("rail", key=key, text_only=False)) as served:
        yield DialectTalk("rail", load=lambda: served)


def call(talk, tool, arguments, capabilities=None, **params):
    """On the revision without sessions, when the client says what it can in each message; else as it greeted."""
    meta = {
        f"{META}protocolVersion": "2026-07-28",
        f"{META}clientCapabilities": capabilities,
        f"{META}clientInfo": {"name": "t", "version": "1"},
    }
    said = {"name": tool, "arguments": arguments, **params, **({} if capabilities is None else {"_meta": meta})}
    return talk.answer(request_of({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": said}))


def greet(talk, version, capabilities):
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}}
    talk.answer(request_of({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}))


def before_the_question(desk, talk, capabilities, **fields):
    """The arguments of the call that leads to the question."""
    publish_folder(desk, asking(**fields))
    first = call(talk, "start_workflow", {"workflowId": "team.plan"}, capabilities)["structuredContent"]
    output = {"notesMarkdown": "Did what the step says."}
    return {"stateToken": first["stateToken"], "ackToken": first["ackToken"], "output": output}


def accepted(key, **content):
    return {key: {"action": "accept", "content": content}}


def test_a_question_of_the_user_is_a_form_and_its_answer_is_the_users(desk, talk):
    arguments = before_the_question(desk, talk, BOTH)

    asked = call(talk, "continue_workflow", arguments, BOTH)
    ((key, request),) = asked["inputRequests"].items()
    told = call(talk, "continue_workflow", arguments, BOTH, inputResponses=accepted(key, answer="yes"))
    again = call(talk, "continue_workflow", arguments, BOTH, inputResponses=accepted(key, answer="yes"))

    assert asked["resultType"] == "input_required"
    assert request["params"]["mode"] == "form"
    assert request["params"]["requestedSchema"]["properties"]["answer"]["oneOf"] == [
        {"const": "yes", "title": "Yes"},
        {"const": "no", "title": "No"},
    ]
    assert told["structuredContent"]["pending"]["stepId"] == "work"
    assert again["structuredContent"] == told["structuredContent"]
    row = CheckpointRequest.objects.get()
    assert (row.option_id, row.door) == ("yes", "client_form")


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_form_that_is_not_filled_in_leaves_the_question_in_words(desk, talk, action):
    arguments = before_the_question(desk, talk, BOTH)
    (key,) = call(talk, "continue_workflow", arguments, BOTH)["inputRequests"]

    told = call(talk, "continue_workflow", arguments, BOTH, inputResponses={key: {"action": action}})

    assert told["structuredContent"]["pending"]["checkpoint"]["checkpointId"] == "agreed"
    assert CheckpointRequest.objects.get().option_id == ""


def test_an_option_that_there_is_not_is_refused(desk, talk):
    arguments = before_the_question(desk, talk, BOTH)
    (key,) = call(talk, "continue_workflow", arguments, BOTH)["inputRequests"]

    told = call(talk, "continue_workflow", arguments, BOTH, inputResponses=accepted(key, answer="perhaps"))

    assert CheckpointRequest.objects.get().option_id == ""
    assert told["structuredContent"].get("kind") != "ok" or told.get("isError")


def answer_as_a_person(desk, option_id="yes"):
    row = CheckpointRequest.objects.get()
    checkpoints.answer_checkpoint(
        actor=desk.person,
        request_id=row.pk,
        option_id=option_id,
        digest=row.digest,
        reason="",
        now=checkpoint_cast.SOON,
        entropy=os.urandom,
    )


def test_a_question_for_a_signed_in_person_is_an_address(desk, talk):
    arguments = before_the_question(desk, talk, BOTH, human=True)

    asked = call(talk, "continue_workflow", arguments, BOTH)
    ((key, request),) = asked["inputRequests"].items()
    waiting = call(talk, "continue_workflow", arguments, BOTH, inputResponses=accepted(key))
    answer_as_a_person(desk)
    told = call(talk, "continue_workflow", arguments, BOTH, inputResponses=accepted(key))

    assert request["params"]["mode"] == "url"
    assert request["params"]["url"].startswith("https://rails.example.com/studio/")
    assert waiting["structuredContent"]["pending"]["checkpoint"]["authority"] == "human"
    assert told["structuredContent"]["pending"]["stepId"] == "work"


def test_before_that_revision_an_address_is_an_error_that_names_it(desk, talk):
    greet(talk, "2025-11-25", BOTH)
    arguments = before_the_question(desk, talk, None, human=True)

    with pytest.raises(RpcError) as asked:
        call(talk, "continue_workflow", arguments)
    answer_as_a_person(desk)
    told = call(talk, "continue_workflow", arguments)

    (elicitation,) = asked.value.data["elicitations"]
    assert asked.value.code == -32042
    assert elicitation["mode"] == "url"
    assert elicitation["url"].startswith("https://rails.example.com/studio/")
    assert told["structuredContent"]["pending"]["stepId"] == "work"


@pytest.mark.parametrize("human", [True, False])
@pytest.mark.parametrize("capabilities", [{}, None])
def test_a_client_that_asks_nobody_is_told_in_words(desk, talk, capabilities, human):
    if capabilities is None:
        greet(talk, "2025-06-18", BOTH)
    arguments = before_the_question(desk, talk, capabilities, human=human)

    told = call(talk, "continue_workflow", arguments, capabilities)

    assert told["structuredContent"]["pending"]["checkpoint"]["checkpointId"] == "agreed"


def on_two_branches(desk, talk, **fields):
    """The calls that lead to the question, of two branches: each speaks of another goal."""
    publish_folder(desk, asking(**fields))
    first = call(talk, "start_workflow", {"workflowId": "team.plan"}, BOTH)["structuredContent"]
    anew = call(talk, "continue_workflow", {"stateToken": first["stateToken"]}, BOTH)["structuredContent"]
    output = {"notesMarkdown": "Did what the step says."}
    return [
        {"stateToken": first["stateToken"], "ackToken": at["ackToken"], "context": {"goal": goal}, "output": output}
        for goal, at in (("this", first), ("that", anew))
    ]


def test_each_of_two_branches_is_asked_its_own_question(desk, talk):
    calls = on_two_branches(desk, talk)

    for arguments in (*calls, *calls):
        ((_key, request),) = call(talk, "continue_workflow", arguments, BOTH)["inputRequests"].items()
        assert f"the plan for {arguments['context']['goal']} right" in request["params"]["message"]


def test_an_answer_to_one_question_is_none_to_another_of_the_same_name(desk, talk):
    this, that = on_two_branches(desk, talk)
    (key,) = call(talk, "continue_workflow", this, BOTH)["inputRequests"]
    (other,) = call(talk, "continue_workflow", that, BOTH)["inputRequests"]

    told = call(talk, "continue_workflow", that, BOTH, inputResponses=accepted(key, answer="yes"))

    assert other != key
    assert told["structuredContent"]["pending"]["checkpoint"]["checkpointId"] == "agreed"
    assert not CheckpointRequest.objects.exclude(option_id="").exists()


def test_an_answer_of_a_person_on_one_branch_lets_that_branch_go_on(desk, talk):
    this, that = on_two_branches(desk, talk, human=True)
    asked = [call(talk, "continue_workflow", each, BOTH)["inputRequests"] for each in (this, that)]
    row = CheckpointRequest.objects.order_by("event_index").first()

    checkpoint_cast.answer(desk.person, row)
    goes_on = call(talk, "continue_workflow", this, BOTH)
    waits = call(talk, "continue_workflow", that, BOTH)

    assert len({request["params"]["url"] for each in asked for request in each.values()}) == 2
    assert goes_on["structuredContent"]["pending"]["stepId"] == "work"
    assert waits["resultType"] == "input_required"


def before_approval(desk, talk, capabilities, output):
    published(desk, step("build", requireConfirmation={"kind": "human_approval"}), step("after"))
    first = call(talk, "start_workflow", {"workflowId": "team.sample"}, capabilities)["structuredContent"]
    return {"stateToken": first["stateToken"], "ackToken": first["ackToken"], "output": output}


def test_work_that_waits_for_an_approval_is_an_address_and_goes_on_when_it_is_given(desk, talk):
    arguments = before_approval(desk, talk, BOTH, {"notesMarkdown": "Did it."})

    ((key, request),) = call(talk, "continue_workflow", arguments, BOTH)["inputRequests"].items()
    claimed = call(talk, "continue_workflow", arguments, BOTH, inputResponses=accepted(key, answer="approve"))
    row = CheckpointRequest.objects.get()
    checkpoint_cast.answer(desk.person, row, row.options[0]["id"])
    told = call(talk, "continue_workflow", arguments, BOTH, inputResponses=accepted(key))

    assert request["params"]["mode"] == "url"
    assert claimed["structuredContent"]["kind"] == "blocked"
    assert row.state == "open"
    assert told["structuredContent"]["pending"]["stepId"] == "after"


def test_before_that_revision_an_approval_is_an_error_that_names_it(desk, talk):
    greet(talk, "2025-11-25", BOTH)
    arguments = before_approval(desk, talk, None, {"notesMarkdown": "Did it."})

    with pytest.raises(RpcError) as asked:
        call(talk, "continue_workflow", arguments)
    row = CheckpointRequest.objects.get()
    checkpoint_cast.answer(desk.person, row, row.options[0]["id"])
    told = call(talk, "continue_workflow", arguments)

    assert asked.value.code == -32042
    assert told["structuredContent"]["pending"]["stepId"] == "after"


def test_what_the_agent_can_mend_itself_is_told_before_anybody_is_asked(desk, talk):
    arguments = before_approval(desk, talk, BOTH, {})

    told = call(talk, "continue_workflow", arguments, BOTH)

    assert told["structuredContent"]["blockers"][0]["code"] == "MISSING_REQUIRED_NOTES"
