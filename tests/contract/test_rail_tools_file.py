"""The rail's tools as the file that is committed: closed, flat, and described for whoever calls them."""

import json
from pathlib import Path

import pytest

TOOLS = json.loads((Path(__file__).parents[2] / "docs" / "contracts" / "rail.tools.json").read_bytes())["tools"]
READ_ONLY = {"list_workflows", "inspect_workflow", "resume_session"}


def nodes(schema):
    yield schema
    for child in schema.get("properties", {}).values():
        yield from nodes(child)
    if isinstance(schema.get("items"), dict):
        yield from nodes(schema["items"])


def test_the_file_is_what_the_code_declares():
    from workrail_site.mcp.toolsets import tools_document

    assert json.loads(tools_document(dialect="rail"))["tools"] == TOOLS, "run: ./workrail export_contracts"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool["name"])
def test_an_argument_that_is_not_named_is_refused(tool):
    named = [node for node in nodes(tool["inputSchema"]) if node.get("properties") and node.get("required") != ["kind"]]

    assert [node for node in named if node.get("additionalProperties") is not False] == []


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool["name"])
def test_every_argument_says_what_it_is_for(tool):
    arguments = tool["inputSchema"]["properties"]

    assert tool["description"]
    assert [name for name, node in arguments.items() if not node.get("description")] == []


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool["name"])
def test_schemas_need_nothing_that_clients_do_not_have(tool):
    """No references, no choices, no nulls, and no titles that say the name once more."""
    hard = {"$ref", "$defs", "anyOf", "oneOf", "allOf", "title"}

    assert [node for node in nodes(tool["inputSchema"]) if hard & set(node) or node.get("type") == "null"] == []


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool["name"])
def test_a_tool_that_changes_nothing_says_so_and_no_other(tool):
    assert tool["annotations"].get("readOnlyHint", False) is (tool["name"] in READ_ONLY)
    assert tool["annotations"].get("destructiveHint", False) is False


def test_no_tool_has_an_output_schema():
    assert [tool["name"] for tool in TOOLS if "outputSchema" in tool] == []
