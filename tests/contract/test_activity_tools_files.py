"""The tools of the dialects that hand activities over, as the files that are committed."""

import json
from pathlib import Path

import pytest

CONTRACTS = Path(__file__).parents[2] / "docs" / "contracts"
READ_ONLY = {
    "session": {
        "discover",
        "list_workflows",
        "health_check",
        "get_workflow",
        "get_checkpoint",
        "get_skills",
        "get_skill",
        "get_resource",
        "get_trace",
    },
    "orchestrator": {
        "discover",
        "list_workflows",
        "health_check",
        "get_workflow_status",
        "get_workflow",
        "get_activity",
        "resume_checkpoint",
        "present_checkpoint",
        "get_skills",
        "get_skill",
        "get_resource",
        "get_trace",
    },
}
TOOLS = [
    (dialect, tool)
    for dialect in READ_ONLY
    for tool in json.loads((CONTRACTS / f"{dialect}.tools.json").read_bytes())["tools"]
]
each_tool = pytest.mark.parametrize(("dialect", "tool"), TOOLS, ids=[f"{name}-{tool['name']}" for name, tool in TOOLS])


def nodes(schema):
    yield schema
    for child in schema.get("properties", {}).values():
        yield from nodes(child)
    if isinstance(schema.get("items"), dict):
        yield from nodes(schema["items"])


@pytest.mark.parametrize("dialect", sorted(READ_ONLY))
def test_the_file_of_a_dialect_is_what_its_code_declares(dialect):
    from workrail_site.mcp.toolsets import tools_document

    committed = [tool for name, tool in TOOLS if name == dialect]
    assert json.loads(tools_document(dialect=dialect))["tools"] == committed, "run: ./workrail export_contracts"


@each_tool
def test_every_argument_is_described_and_no_other_is_taken(dialect, tool):
    arguments = tool["inputSchema"]["properties"]

    assert tool["description"]
    assert [name for name, node in arguments.items() if not node.get("description")] == []
    # A map from names that the caller chooses has no properties of ours.
    closed = [node for node in nodes(tool["inputSchema"]) if "properties" in node]
    assert [node for node in closed if node.get("additionalProperties") is not False] == []


@each_tool
def test_a_schema_needs_nothing_that_clients_do_not_have(dialect, tool):
    hard = {"$ref", "$defs", "anyOf", "oneOf", "allOf", "title"}

    assert [node for node in nodes(tool["inputSchema"]) if hard & set(node) or node.get("type") == "null"] == []


@each_tool
def test_a_tool_says_whether_it_changes_anything(dialect, tool):
    assert tool["annotations"].get("readOnlyHint", False) is (tool["name"] in READ_ONLY[dialect])
    assert tool["annotations"].get("destructiveHint", False) is False
