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


# Each reads otherwise than it is written, or as nothing.
ODD = ["a\u200b", "\u200d\u202e", "\uff41\uff53", "%41%2d", "\\u0041", "&#65;", "e\u0301", "\U0001d400"]


@pytest.mark.parametrize("name", sorted(tools()))
def test_letters_that_read_otherwise_cost_little_more_than_others(caller, name):
    tool = tools()[name]
    each = LEAN * 5 // max(1, len(tool.schema["properties"]))
    plain = dict.fromkeys(tool.schema["properties"], "a b " * (each // 4))
    once = least(lambda: sum(1 for _ in range(LEAN * 5)))
    usual = least(lambda: answered(tool, plain))
    for unit in ODD:
        said = dict.fromkeys(tool.schema["properties"], unit * (each // len(unit.encode())))

        assert least(lambda said=said: answered(tool, said)) <= 0.01 + usual + 10 * once, unit


def least(work):
    """What is slow is slow each time."""
    times = []
    for _ in range(3):
        with Work() as measured:
            work()
        times.append(measured.seconds)
    return min(times)


def names_told_again(name):
    """Whatever tells somebody that there is nothing of the name that they sent."""
    from teams_app.engine.errors import NotFoundError
    from workflows_app.selectors.workflows import not_found
    from workrail_site.dialects.offers.prompts import _wrong
    from workrail_site.dialects.offers.reading import shown_address
    from workrail_site.mcp.calling import acting
    from workrail_site.mcp.doubled_keys import DoubledKeyError
    from workrail_site.mcp.toolsets import all_servers, no_such_method

    yield "a tool", lambda: all_servers()["rail"]._no_such_tool(name)
    yield "an address", lambda: shown_address(name)
    yield "a key that stands twice", lambda: DoubledKeyError(name, 1)
    yield "a method", lambda: no_such_method(name)
    yield "arguments of a prompt", lambda: _wrong([name] * 100, [])
    yield "a workflow", lambda: isinstance(not_found(acting(), name), NotFoundError)


@pytest.mark.parametrize("unit", ["\u200d", "\u202e", "\uff41", "a\u200b", "%41", "token=a ", "sk-"])
@pytest.mark.usefixtures("caller")
def test_a_name_that_is_told_again_is_looked_at_as_far_as_it_is_told(unit):
    plain = dict(names_told_again("a" * FULL))
    for where, tell in names_told_again(unit * (FULL // len(unit.encode()))):
        with Work() as usual:
            plain[where]()
        with Work() as work:
            tell()

        assert work.seconds <= 0.05 + 3 * usual.seconds, where


@pytest.mark.usefixtures("caller")
def test_a_key_in_a_name_that_is_told_again_is_hidden():
    from workrail_site.dialects.offers.reading import shown_address
    from workrail_site.mcp.doubled_keys import DoubledKeyError

    key = "ghp_" + "a1B2" * 9
    for said in (shown_address(f"{key} is none"), str(DoubledKeyError(f"x {key}", 1))):
        assert key[:12] not in said
        assert "[redacted]" in said
