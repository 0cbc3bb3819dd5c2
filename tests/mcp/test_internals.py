"""Which steps come later is for authors and people: no door tells it to a key that only reads and drives."""

import pytest

from teams_app.engine.actors import Scope
from tests.cast import Api
from tests.mcp_play import HANDSHAKE
from tests.run_cast import plain_steps, published

DRIVES = frozenset(Scope) - {Scope.WORKFLOWS_WRITE}
LATER = "MARK-OF-A-LATER-STEP"
PARTS = ["metadata", "preview", "source", "program", "pinned", "skill"]
ADDRESSES = [
    *("", "?include=source", "?include=program", "?include=history", "?include=source,program"),
    *("/diff?number=1", "/diff", "/export", "/export?number=1", "/revisions"),
]


@pytest.fixture
def hidden(desk):
    first, second, third = plain_steps(3)
    return published(desk, first, second, {**third, "prompt": LATER, "title": LATER})


@pytest.fixture
def driver(agent):
    return agent(scopes=DRIVES)


@pytest.mark.parametrize("part", PARTS)
def test_a_key_that_only_drives_is_shown_no_later_step_by_any_part(wire, driver, hidden, part):
    begun = wire.value("start_workflow", workflowId=hidden, goal="Try it")
    more = {"workflowHash": begun["workflowHash"]} if part == "pinned" and "workflowHash" in begun else {}

    answer = driver("inspect_workflow", workflowId=hidden, part=part, **more)

    assert LATER not in answer.text
    assert LATER not in str(answer.value)
    if part in {"source", "program"}:
        assert (answer.code, answer.details["permission"]) == ("FORBIDDEN", "read_internals")
        assert Scope.WORKFLOWS_WRITE.value in answer.details["suggestion"]


@pytest.mark.parametrize("part", ["source", "program"])
def test_a_key_of_an_author_is_shown_them(wire, hidden, part):
    assert LATER in wire("inspect_workflow", workflowId=hidden, part=part).text


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_address_of_rest_tells_it(client, driver, hidden, address):
    api = Api(client, Authorization=f"Bearer {driver.key}")

    response = api.get(f"/api/v1/workflows/{hidden}{address}")

    assert response.status_code in {200, 400, 403}
    assert LATER.encode() not in b"".join(response) if response.streaming else LATER.encode() not in response.content


@pytest.fixture
def writer(agent):
    return agent(scopes=frozenset({Scope.WORKFLOWS_WRITE}))


@pytest.mark.parametrize("part", PARTS)
def test_a_key_that_only_writes_is_shown_nothing_by_any_part(writer, hidden, part):
    answer = writer("inspect_workflow", workflowId=hidden, part=part)

    assert LATER not in answer.text
    if part in {"source", "program", "preview", "metadata"}:
        assert (answer.code, answer.details["permission"]) == ("FORBIDDEN", "read_workflows")
        assert Scope.WORKFLOWS_READ.value in answer.details["suggestion"]


@pytest.mark.parametrize("address", [*ADDRESSES, "/diff?revision=1", "/simulate"])
def test_a_key_that_only_writes_is_told_nothing_at_any_address(client, writer, hidden, address):
    api = Api(client, Authorization=f"Bearer {writer.key}")
    address = f"/api/v1/workflows/{hidden}{address}"

    response = api.post(address, {}) if address.endswith("/simulate") else api.get(address)

    assert response.status_code in {400, 403}
    assert LATER not in response.content.decode()


def test_no_resource_tells_it(driver, hidden):
    revision = {"version": HANDSHAKE, "MCP-Protocol-Version": HANDSHAKE}
    listed = driver.send("resources/list", **revision).json()["result"]["resources"]
    told = [driver.send("resources/read", {"uri": resource["uri"]}, **revision).text for resource in listed]

    assert LATER not in "".join(told)


def test_a_person_who_looks_is_shown_them(client, desk, hidden):
    from tests.run_doors import signed_in

    viewer = signed_in(desk.viewer)

    assert LATER.encode() in viewer.get(f"/api/v1/workflows/{hidden}?include=source").content
