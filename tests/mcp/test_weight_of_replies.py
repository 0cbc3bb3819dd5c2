"""What a step costs a model beside what the author of the workflow wrote, and that the ready call lacks nothing."""

import pytest
from django.utils import timezone

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests import checkpoint_cast, logs, run_cast
from tests.handover_play import caller
from tests.mcp_play import CONTEXT, output_for
from tests.step_documents import step
from workflows_app.services.bundled import load_bundled

pytestmark = pytest.mark.django_db(transaction=True)
MOST_TOKENS = 200


def tokens(text):
    return len(text.encode()) / 4


def authored(pending):
    """What the workflow itself says of the step."""
    lists = (pending.get(name, []) for name in ("guidance", "workflowGuidance", "outputRequirements"))
    functions = [function["definition"] for function in pending.get("functions", ())]
    return [*functions, pending["prompt"], pending.get("agentRole", ""), *(text for texts in lists for text in texts)]


@pytest.fixture
def call():
    load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())
    return caller("rail", run_cast.make_desk().agent)


@pytest.mark.parametrize("workflow", ["wr.code-review", "wr.bug-investigation", "wr.research"])
def test_a_step_costs_little_beside_what_its_author_wrote(call, workflow):
    reply = call("start_workflow", workflowId=workflow, goal="Look at it", context=CONTEXT)
    costs = []
    for _ in range(6):
        given = {"stateToken": reply["stateToken"], "ackToken": reply["ackToken"]}
        raw = call.raw("continue_workflow", **given, output=output_for(reply))
        reply, text = raw["structuredContent"], raw["content"][0]["text"]
        if reply["kind"] == "ok" and reply["pending"] is not None:
            costs.append(tokens(text) - sum(map(tokens, authored(reply["pending"]))))
        if reply["pending"] is None:
            break

    assert costs
    assert max(costs) <= MOST_TOKENS, costs


def test_a_block_tells_what_is_missing_and_not_the_step_again(call):
    first = call("start_workflow", workflowId="wr.code-review", goal="Look at it", context=CONTEXT)
    given = {"stateToken": first["stateToken"], "ackToken": first["ackToken"]}
    second = call("continue_workflow", **given, output=output_for(first))

    given = {"stateToken": second["stateToken"], "ackToken": second["ackToken"]}
    raw = call.raw("continue_workflow", **given, output={})
    blocked = raw["structuredContent"]
    again = call("continue_workflow", stateToken=blocked["stateToken"])

    assert blocked["kind"] == "blocked"
    assert second["pending"]["prompt"] not in raw["content"][0]["text"]
    assert tokens(raw["content"][0]["text"]) <= 1.25 * MOST_TOKENS
    assert again["pending"]["prompt"] == second["pending"]["prompt"]
    assert blocked["nextCall"]["params"]["output"]["notesMarkdown"].startswith("<")


def test_the_ready_call_holds_what_the_step_asks_for(call):
    first = call("start_workflow", workflowId="wr.code-review", goal="Look at it")

    params = first["nextCall"]["params"]

    assert params["stateToken"] == first["stateToken"]
    assert params["output"]["notesMarkdown"].startswith("<")
    assert params["context"] == {"reviewScope": "<reviewScope>"}


def test_the_ready_call_of_a_question_has_its_options(call):
    desk = run_cast.make_desk()
    asked = checkpoint_cast.at_question(desk)

    (artifact,) = asked["nextCall"]["params"]["output"]["artifacts"]

    assert artifact == {"kind": "wr.checkpoint_answer", "checkpointId": "agreed", "optionId": "<yes | no>"}


def test_places_that_were_not_filled_in_say_nothing(call):
    desk = run_cast.make_desk()
    run_cast.published(desk, step("one", prompt="Look.\n\nSet in context: `size` = small or large."), step("two"))
    ask = caller("rail", desk.agent)
    first = ask("start_workflow", workflowId="team.sample")
    params = first["nextCall"]["params"]

    unfilled = ask("continue_workflow", **params)
    given = {"stateToken": unfilled["stateToken"], "ackToken": unfilled["ackToken"]}
    done = ask("continue_workflow", **given, context=params["context"], output={"notesMarkdown": "Done."})

    assert params["context"] == {"size": "<size>"}
    assert unfilled["kind"] == "blocked"
    assert done["kind"] == "ok"
    assert not any(b"<size>" in event.body for event in logs.logged())
