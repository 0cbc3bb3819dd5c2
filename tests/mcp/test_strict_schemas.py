"""Schemas as OpenAI's strict mode and Gemini take them, and calls in those forms."""

import json

import pytest

from tests import run_cast
from tests.handover_play import caller
from tests.step_documents import step
from workrail_site.mcp.strict import Form, in_form
from workrail_site.mcp.toolsets import all_servers

DIALECTS = ("rail", "navigation", "session", "orchestrator", "lookup")
# What their guides for structured outputs and for function calling name.
OPENAI_KEYWORDS = {"type", "properties", "required", "additionalProperties", "description", "enum", "items", "anyOf"}
GEMINI_KEYWORDS = {"type", "properties", "required", "description", "enum", "items", "nullable"}
OPENAI_MOST_PROPERTIES, OPENAI_MOST_LEVELS = 5_000, 10


def nodes(node, level=1):
    yield node, level
    for child in node.get("properties", {}).values():
        yield from nodes(child, level + 1)
    if "items" in node:
        yield from nodes(node["items"], level + 1)


@pytest.fixture(scope="module", params=DIALECTS)
def schemas(request):
    return [tool.declaration()["inputSchema"] for tool in all_servers()[request.param].tools()]


def test_the_strict_form_follows_the_rules_of_strict_mode(schemas):
    for schema in schemas:
        found = list(nodes(in_form(schema, Form.OPENAI)))
        assert len(found) < OPENAI_MOST_PROPERTIES
        for node, level in found:
            assert level <= OPENAI_MOST_LEVELS
            assert set(node) <= OPENAI_KEYWORDS, node
            if "properties" in node:
                assert node["additionalProperties"] is False
                assert node["required"] == list(node["properties"])
            if "object" in node["type"]:
                assert "properties" in node


def test_what_may_be_left_out_may_be_null_in_the_strict_form(schemas):
    for schema in schemas:
        strict = in_form(schema, Form.OPENAI)
        for name, child in strict["properties"].items():
            assert ("null" in child["type"]) is (name not in schema.get("required", ())), name


def test_the_other_form_has_one_type_each_and_nothing_that_gemini_does_not_know(schemas):
    for schema in schemas:
        for node, _level in nodes(in_form(schema, Form.GEMINI)):
            assert set(node) <= GEMINI_KEYWORDS, node
            assert isinstance(node["type"], str)
            assert all(isinstance(value, str) for value in node.get("enum", ()))


@pytest.mark.django_db(transaction=True)
def test_a_call_in_the_strict_form_is_understood():
    desk = run_cast.make_desk()
    run_cast.published(desk, step("one"), step("two"))
    call = caller("rail", desk.agent)
    nulls = dict.fromkeys(("goal", "title", "sessionId", "preferences", "observations"))

    first = call.raw("start_workflow", workflowId="team.sample", context=json.dumps({"size": "small"}), **nulls)
    tokens = {name: first["structuredContent"][name] for name in ("stateToken", "ackToken")}
    output = {"notesMarkdown": "Done.", "artifacts": json.dumps([{"kind": "team.finding", "place": "a.py"}])}
    told = call("continue_workflow", **tokens, output=output)

    assert told["pending"]["stepId"] == "two"
