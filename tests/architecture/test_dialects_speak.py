"""The engines decide and give facts; what a tool or a token is called, only its dialect knows."""

import ast
import re
from pathlib import Path

import pytest

from workrail_site.dialects.tokens import TOKENS_OF
from workrail_site.mcp.toolsets import all_servers

ROOT = Path(__file__).parents[2]
APPS = ("teams_app", "workflows_app", "sessions_app", "traces_app")
# Reads what REST and the rail are sent under the same names, once for both doors.
READS_REQUESTS = "sessions_app/services/moves/requests.py"
# A word of everyday: the navigation dialect calls its token so, and the engine the state of a run.
EVERYDAY = {"state"}


@pytest.fixture(scope="module")
def names():
    """Of every tool and every token, from the tables that the dialects are served by."""
    tools = {tool.name for server in all_servers().values() for tool in server.tools()}
    tokens = {name for known in TOKENS_OF.values() for name in known} - EVERYDAY
    listed = "|".join(re.escape(name) for name in sorted(tools | tokens))
    return re.compile(rf"(?<![\w-])(?:{listed})(?![\w-])")


def sources(room):
    return sorted(path for app in APPS for path in (ROOT / app / room).rglob("*.py"))


def found_in(path, texts, names):
    return [f"{path.relative_to(ROOT)}: {name}" for text in texts for name in names.findall(text)]


def test_no_engine_knows_a_tool_or_a_token_by_its_name(names):
    spoken = [each for path in sources("engine") for each in found_in(path, [path.read_text(encoding="utf-8")], names)]

    assert spoken == []


def test_no_service_says_the_name_of_a_tool_or_a_token(names):
    def texts(path):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        return (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))

    spoken = [
        each
        for path in sources("services")
        if path != ROOT / READS_REQUESTS
        for each in found_in(path, texts(path), names)
    ]

    assert spoken == []


def test_every_parameter_that_is_a_token_is_in_the_table_of_its_dialect():
    asked_for = {
        (dialect, name)
        for dialect, server in all_servers().items()
        for tool in server.tools()
        for name in tool.schema.get("properties", {})
        if re.search("token|handle", name, re.IGNORECASE)
    }

    assert asked_for <= {(dialect, name) for dialect, known in TOKENS_OF.items() for name in known}
