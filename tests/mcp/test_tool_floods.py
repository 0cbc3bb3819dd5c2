"""Every tool of every dialect with amplified arguments: an answer of ours, at a price in proportion to what was sent."""

import orjson
import pytest

from tests.flood_play import FULL, LEAN, Work, allowed, amplified
from tests.run_cast import make_desk, plain_steps, published

pytestmark = pytest.mark.django_db


def tools():
    from workrail_site.mcp.toolsets import all_servers

    return {f"{dialect}.{tool.name}": tool for dialect, server in all_servers().items() for tool in server.tools()}


@pytest.fixture
def caller():
    from workrail_site.mcp.calling import Caller, calls_as

    desk = make_desk()
    published(desk, *plain_steps(2))
    calls_as(Caller(actor=desk.agent))


def answered(tool, given):
    from mcp.shared.exceptions import MCPError

    try:
        return tool.call(given).get("structuredContent", {})
    except MCPError as error:
        return error.error.data or {}


def check(tool, size):
    needed = {"workflowId": "team.sample", "workflow_id": "team.sample", "id": "team.sample"}
    known = {name: value for name, value in needed.items() if name in tool.schema["properties"]}
    answered(tool, known)
    with Work() as plain:
        answered(tool, known)
    for name, given in amplified(tool.schema["properties"], size=size).items():
        for arguments in ({**known, **given}, {**given, **known}):
            length = len(orjson.dumps(arguments, default=str)) if name != "large numbers" else size
            with Work() as work:
                answer = answered(tool, arguments)

            assert answer.get("code") != "INTERNAL_ERROR", (name, answer)
            assert work.seconds <= allowed(plain=plain.seconds, size=length), name
            assert len(orjson.dumps(answer)) < 100_000, name


@pytest.mark.parametrize("name", sorted(tools()))
def test_a_flood_of_arguments_is_answered_in_proportion(caller, name):
    check(tools()[name], LEAN)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(tools()))
def test_a_flood_of_arguments_as_large_as_a_body_may_be_is_answered_in_proportion(caller, name):
    check(tools()[name], FULL)
