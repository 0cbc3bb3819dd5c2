"""Thousands of requests by HTTP that are no messages, or nearly: never a 5xx, a hang, or a word of internals."""

import random

import httpx
import pytest

from tests import run_cast
from tests.cast import issue
from tests.mcp.conftest import running_site
from tests.mcp.test_malformed_lines import INTERNALS, odd_line

pytestmark = pytest.mark.django_db(transaction=True)
VERSIONS = [None, "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1999-01-01", ""]
PATHS = [f"/mcp/{dialect}" for dialect in ("rail", "navigation", "session", "orchestrator", "lookup")]
MOST = str(10**7)


@pytest.fixture
def patient_site(transactional_db, tmp_path):
    environ = {"WORKRAIL_THROTTLE_ACTOR_PER_MINUTE": MOST, "WORKRAIL_THROTTLE_TEAM_PER_MINUTE": MOST}
    with running_site(tmp_path, environ) as found:
        yield found


def odd_headers(chance):
    version = chance.choice(VERSIONS)
    said = {} if version is None else {"MCP-Protocol-Version": version}
    if chance.random() < 0.2:
        said |= {"Mcp-Method": chance.choice(["tools/call", "nope", ""]), "Mcp-Name": "workflow_list"}
    if chance.random() < 0.1:
        said["Mcp-Session-Id"] = chance.choice(["asks-by-address.x", "0" * 32, "?"])
    return said


@pytest.mark.parametrize("count", [400, pytest.param(20_000, marks=pytest.mark.slow)])
def test_no_request_gets_a_5xx_or_tells_of_internals(patient_site, count):
    desk = run_cast.make_desk()
    chance = random.Random(11)
    fixed = {"Authorization": f"Bearer {issue(desk.owner).text}", "Content-Type": "application/json"}
    fixed["Accept"] = "application/json, text/event-stream"
    wrong = []

    with httpx.Client(base_url=patient_site.url, headers=fixed, timeout=20) as http:
        for _ in range(count):
            body, headers = odd_line(chance), odd_headers(chance)
            answer = http.post(chance.choice(PATHS), content=body, headers=headers)
            if answer.status_code >= 500 or any(word in answer.text for word in INTERNALS):
                wrong.append((answer.status_code, body[:300], headers, answer.text[:300]))
        alive = http.post("/mcp/rail", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})

    assert wrong == []
    assert alive.json()["result"] == {}
    assert "Traceback" not in patient_site.logged()
