"""Thousands of lines that are no messages, or nearly: each is answered or let pass, in order, without a word of internals."""

import contextlib
import io
import json
import random
from copy import deepcopy

import pytest

from tests import run_cast
from tests.cast import issue
from workrail_site.mcp.stdio.lines import converse
from workrail_site.mcp.stdio.serving import ServedDialect
from workrail_site.mcp.stdio.talks import DialectTalk

pytestmark = pytest.mark.django_db(transaction=True)
ODD = [None, True, -1, 1.5, 10**30, "", "\u0000", "x" * 300, "ü", [], [[]], {}, {"a": {"b": []}}, "2.0", "tools/call"]
METHODS = [
    "tools/call",
    "tools/list",
    "initialize",
    "ping",
    "resources/read",
    "prompts/get",
    "workflow_get",
    "nope",
    "",
]
INTERNALS = ("Traceback", "pydantic", "psycopg", 'File "', "Error(", "site-packages", "django", "object at 0x")


def odd_line(chance):
    """A message with a part that is wrong, or bytes that are none."""
    message = {
        "jsonrpc": "2.0",
        "id": chance.randrange(1000),
        "method": chance.choice(METHODS),
        "params": {
            "name": chance.choice(["workflow_next", "workflow_list", "nope"]),
            "arguments": {"workflowId": "a-b"},
        },
    }
    for _ in range(chance.randrange(3)):
        place = chance.choice([message, message["params"] if isinstance(message.get("params"), dict) else message])
        if place:
            place[chance.choice(list(place))] = deepcopy(chance.choice(ODD))
    if chance.random() < 0.2:
        message.pop(chance.choice(list(message)))
    data = json.dumps([message] if chance.random() < 0.05 else message).encode()
    if chance.random() < 0.3:
        at = chance.randrange(len(data))
        data = data[:at] + bytes([chance.randrange(256)]) * chance.randrange(3) + data[at + chance.randrange(4) :]
    return data.replace(b"\n", b" ")


@pytest.mark.parametrize("dialect", ["lookup", "rail"])
@pytest.mark.parametrize("count", [1_000, pytest.param(25_000, marks=pytest.mark.slow)])
def test_no_line_stops_the_conversation_or_tells_of_internals(transactional_db, settings, dialect, count):
    settings.THROTTLE_ACTOR_PER_MINUTE = settings.THROTTLE_TEAM_PER_MINUTE = 10_000_000
    desk = run_cast.make_desk()
    version = "2024-11-05" if dialect == "lookup" else "2025-11-25"
    first = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": version, "capabilities": {}},
    }
    last = {"jsonrpc": "2.0", "id": "last", "method": "ping"}
    chance = random.Random(7)
    lines = [json.dumps(first).encode(), *(odd_line(chance) for _ in range(count)), json.dumps(last).encode()]
    sink = io.BytesIO()

    with contextlib.closing(ServedDialect(dialect, key=issue(desk.owner).text, text_only=False)) as served:
        talk = DialectTalk(dialect, load=lambda: served)
        status = converse(source=io.BytesIO(b"\n".join(lines) + b"\n"), sink=sink, talk=talk, max_bytes=1_000_000)

    answers = [json.loads(line) for line in sink.getvalue().splitlines()]
    flat = [each for answer in answers for each in (answer if isinstance(answer, list) else [answer])]
    assert status == 0
    assert answers[-1] == {"jsonrpc": "2.0", "id": "last", "result": {}}
    assert not [each for each in flat if any(word in json.dumps(each) for word in INTERNALS)]
    assert not [each for each in flat if each.get("error", {}).get("code") == -32603], "a defect"
