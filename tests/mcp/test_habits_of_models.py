"""What models do to the calls that stand ready for them: each is understood, or answered so that the next call is right."""

import json

import pytest

from tests import run_cast
from tests.handover_play import caller
from tests.step_documents import step

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def call():
    desk = run_cast.make_desk()
    run_cast.published(desk, step("one", prompt="Look.\n\nSet in context: `size` = small or large."), step("two"))
    return caller("rail", desk.agent)


@pytest.fixture
def tokens(call):
    first = call("start_workflow", workflowId="team.sample")
    return {name: first[name] for name in ("stateToken", "ackToken")}


OUTPUT = {"notesMarkdown": "Did what the step says."}


@pytest.mark.parametrize("quoted", ['"{}"', "`{}`", "'{}'", " {}\n", "\u201c{}\u201d", "{}\u200b", "**{}**"])
def test_tokens_that_come_in_quotes_are_understood(call, tokens, quoted):
    given = {name: quoted.format(text) for name, text in tokens.items()}

    answer = call.raw("continue_workflow", **given, output=OUTPUT)

    if answer.get("isError"):
        assert "exactly" in json.dumps(answer["structuredContent"]), answer
    else:
        assert answer["structuredContent"]["pending"]["stepId"] == "two"


@pytest.mark.parametrize("quoted", ["`{}`", '"{}"', " {} "])
def test_ids_that_come_in_quotes_are_understood_or_the_right_one_is_named(call, quoted):
    answer = call.raw("start_workflow", workflowId=quoted.format("team.sample"))

    assert not answer.get("isError") or "team.sample" in answer["content"][0]["text"]


def test_arguments_as_json_text_are_understood(call, tokens):
    told = call("continue_workflow", **tokens, output=json.dumps(OUTPUT), context=json.dumps({"size": "small"}))

    assert told["pending"]["stepId"] == "two"


def test_artifacts_as_json_text_within_the_output_are_understood(call, tokens):
    output = {**OUTPUT, "artifacts": json.dumps([{"kind": "team.finding"}])}

    assert call("continue_workflow", **tokens, output=output)["pending"]["stepId"] == "two"


def test_a_context_that_is_missing_is_named_with_the_call_that_has_a_place_for_it(call):
    first = call("start_workflow", workflowId="team.sample")

    assert first["nextCall"]["params"]["context"] == {"size": "<size>"}


def test_a_misspelt_argument_is_answered_with_the_right_call(call, tokens):
    refused = call.refused("continue_workflow", state_token=tokens["stateToken"], ack_token=tokens["ackToken"])

    assert refused["details"]["correctTemplate"] == tokens
