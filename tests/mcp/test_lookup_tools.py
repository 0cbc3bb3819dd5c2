"""What each tool of the lookup dialect answers and refuses, without a transport and on the wire."""

import json

import pytest
from django.utils import timezone

from sessions_app.engine.runs import Dialect
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests import run_cast
from tests.activity_folders import activity, folder
from tests.checkpoint_cast import publish_folder
from tests.mcp_play import HANDSHAKE, MODERN
from tests.step_documents import loop, step
from tests.workflow_cast import create
from traces_app.models import TraceEvent
from traces_app.services.recording import flush_calls
from workflows_app.engine.json_schemas import SCHEMAS
from workflows_app.services.bundled import load_bundled
from workrail_site.mcp.calling import Caller, calls_as
from workrail_site.mcp.toolsets import all_servers

pytestmark = pytest.mark.django_db(transaction=True)

SEED = {
    "workflow_list": ([], []),
    "workflow_get": (["id"], ["id"]),
    "workflow_next": (["workflowId", "currentStep", "completedSteps", "context"], ["workflowId", "completedSteps"]),
    "workflow_validate": (["workflowId", "stepId", "output"], ["workflowId", "stepId", "output"]),
}
NEAR = {"workflow_validate_json", "workflow_get_schema"}


@pytest.fixture
def library(served):
    load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())


@pytest.fixture
def raw(served, desk):
    tools = {tool.name: tool for tool in all_servers()["lookup"].tools()}

    def call(tool, **arguments):
        calls_as(Caller(actor=desk.agent))
        return tools[tool].call(arguments)

    return call


@pytest.fixture
def call(raw):
    def told(tool, **arguments):
        result = raw(tool, **arguments)
        assert not result.get("isError"), result
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return result["structuredContent"]

    return told


def test_the_dialect_has_the_tools_of_its_contract_and_their_near_successors():
    tools = {tool.name: tool.declaration() for tool in all_servers()["lookup"].tools()}

    assert set(tools) == set(SEED) | NEAR
    for name, (arguments, required) in SEED.items():
        schema = tools[name]["inputSchema"]
        assert set(arguments) <= set(schema["properties"])
        assert schema.get("required", []) == required
        assert schema["additionalProperties"] is False
        assert tools[name]["outputSchema"]["type"] == "object"
        assert tools[name]["examples"]["request"]["method"] == name


def test_every_published_workflow_is_listed(library, call):
    listed = {each["id"]: each for each in call("workflow_list")["workflows"]}

    assert {"wr.code-review", "work-package"} <= set(listed)
    assert all(set(each) == {"id", "name", "description", "category", "version"} for each in listed.values())


@pytest.mark.parametrize("workflow_id", ["wr.code-review", "work-package"])
def test_a_workflow_of_either_format_is_told_and_walked(library, call, workflow_id):
    told = call("workflow_get", id=workflow_id)
    first = call("workflow_next", workflowId=workflow_id, completedSteps=[])
    key = first["step"]["id"]
    then = call("workflow_next", workflowId=workflow_id, completedSteps=[key], currentStep=key)

    assert told["id"] == workflow_id
    assert told["steps"]
    assert first["isComplete"] is False
    assert first["guidance"]["prompt"]
    assert then["step"]["id"] != key


def test_a_workflow_is_found_by_either_name_of_its_argument_and_in_parts(library, call):
    named = call("workflow_get", workflowId="wr.code-review", mode="metadata")
    preview = call("workflow_get", id="wr.code-review", mode="preview")

    assert "steps" not in named
    assert preview["totalSteps"] == named["totalSteps"]
    assert preview["firstStep"]["prompt"]


def test_two_names_of_one_argument_are_taken_where_they_agree_and_refused_where_they_differ(library, raw, wire):
    for given in (
        {"id": "meta", "workflowId": "meta"},
        {"id": "meta", "workflowId": None},
        {"id": None, "workflowId": "meta"},
    ):
        assert raw("workflow_get", **given)["structuredContent"]["name"]
    for given in ({"id": "wr.code-review", "workflowId": "meta"}, {"workflowId": "meta", "id": "wr.code-review"}):
        refused = raw("workflow_get", **given)["structuredContent"]
        by_http = wire.send("workflow_get", given, version=HANDSHAKE, path="/mcp/lookup").json()["error"]

        assert (refused["code"], refused["details"]["parameter"]) == ("VALIDATION_ERROR", "workflowId")
        assert refused["details"]["suggestion"] == "Send id alone."
        assert (by_http["code"], "Send id alone." in by_http["data"]["details"]) == (-32602, True)


def test_the_skill_that_a_step_says_to_apply_can_be_read_as_the_guidance_says(library, call, raw):
    first = call("workflow_next", workflowId="work-package", completedSteps=[])
    said = first["guidance"]["prompt"].rpartition("Read the skill with workflow_get: ")[2]
    workflow_id, skill = said.removeprefix("id ").removesuffix(".").split(", skill ")

    told = call("workflow_get", id=workflow_id, skill=skill)
    misspelt = raw("workflow_get", id=workflow_id, skill="nowhere")

    assert (told["id"], told["skill"]["id"]) == ("work-package", skill)
    assert len(told["skill"]["text"]) > 100
    assert misspelt["structuredContent"]["code"] == "NOT_FOUND"
    assert "Read the skill" not in first["step"]["prompt"]


def test_the_end_is_told(desk, call):
    run_cast.published(desk, step("one"), step("two"))

    ended = call("workflow_next", workflowId="team.sample", completedSteps=["one", "two"])

    assert ended == {"step": None, "guidance": {"prompt": "Workflow complete."}, "isComplete": True}


def test_an_output_is_validated_and_what_to_change_is_said(desk, call):
    rule = {"type": "contains", "value": "exit 0", "message": "Show the command's result."}
    run_cast.published(desk, step("one", validationCriteria=[rule]))

    good = call("workflow_validate", workflowId="team.sample", stepId="one", output="exit 0")
    bad = call("workflow_validate", workflowId="team.sample", stepId="one", output="done")

    assert good == {"valid": True, "issues": [], "suggestions": []}
    assert bad["valid"] is False
    assert bad["issues"] == ["Show the command's result."]
    assert bad["suggestions"]


def test_a_document_is_validated_without_being_saved(call):
    sound = call("workflow_get_schema")["schema"]
    bad = call("workflow_validate_json", workflowJson='{"id": "team.new"}')

    assert {"id", "steps"} <= set(sound["required"])
    assert sound == SCHEMAS["steps-0.0.1"]()
    assert bad["valid"] is False
    assert any("steps" in issue for issue in bad["issues"])
    assert "team.new" not in [each["id"] for each in call("workflow_list")["workflows"]]


def test_a_call_is_traced_under_the_session_that_it_names(desk, call, raw):
    session_id = run_cast.begin(desk, step("one"))["session"]["sessionId"]

    call("workflow_next", workflowId="team.sample", completedSteps=[], sessionId=session_id)
    refused = raw("workflow_list", sessionId="sess_nobody")
    flush_calls()

    row = TraceEvent.objects.get(team_id=desk.team_id, tool="workflow_next")
    assert (row.dialect, row.session_id is not None) == (Dialect.LOOKUP.value, True)
    assert refused["structuredContent"]["code"] == "VALIDATION_ERROR"


FAULTS = [
    ("workflow_get", {"id": "no-such-workflow"}, -32001, "Workflow not found", {"workflowId": "no-such-workflow"}),
    (
        "workflow_validate",
        {"workflowId": "wr.code-review", "stepId": "nonexistent-step", "output": "x"},
        -32003,
        "Step not found",
        {"stepId": "nonexistent-step"},
    ),
    (
        "workflow_next",
        {"workflowId": "wr.code-review", "completedSteps": ["nonexistent-step"]},
        -32003,
        "Step not found",
        {"stepId": "nonexistent-step"},
    ),
    ("workflow_next", {"completedSteps": []}, -32602, "Invalid params", {"details": "workflowId is required"}),
]


@pytest.mark.parametrize(("tool", "params", "code", "message", "data"), FAULTS)
def test_a_refusal_is_the_error_of_the_contract_where_the_revision_has_room_for_it(
    library, wire, tool, params, code, message, data
):
    fault = {"code": code, "message": message, "data": data}

    bare = wire.send(tool, params, version=HANDSHAKE, path="/mcp/lookup").json()
    called = wire.send("tools/call", {"name": tool, "arguments": params}, version=HANDSHAKE, path="/mcp/lookup").json()
    modern = wire.send("tools/call", {"name": tool, "arguments": params}, version=MODERN, path="/mcp/lookup").json()

    assert bare["error"] == called["error"] == fault
    assert modern["result"]["isError"] is True
    assert modern["result"]["structuredContent"]["code"]


@pytest.mark.parametrize("method", ["non_existent_tool", "no/such", "tasks/list", "logging/setLevel"])
@pytest.mark.parametrize("version", [MODERN, HANDSHAKE, "2025-03-26", "2024-11-05", None])
def test_a_method_that_there_is_not_is_named_as_the_contract_says_in_every_revision(wire, method, version):
    params = {"level": "info"} if method == "logging/setLevel" else {}

    fault = wire.send(method, params, version=version, path="/mcp/lookup").json()["error"]

    assert fault == {"code": -32601, "message": "Method not found", "data": {"method": method}}


def test_a_method_that_there_is_not_is_named_in_a_batch_too(wire):
    batch = json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "non_existent_tool"}]).encode()

    (told,) = wire.post(batch, path="/mcp/lookup", **{"MCP-Protocol-Version": "2025-03-26"}).json()

    assert told["error"] == {"code": -32601, "message": "Method not found", "data": {"method": "non_existent_tool"}}


@pytest.mark.parametrize("skill", ["nowhere", "drawing#part-9"])
def test_a_skill_or_a_part_that_is_not_there_is_no_workflow_that_is_not_found(desk, wire, skill):
    publish_folder(desk, folder(activity("work"), **{"skills__00-drawing.md": b"# Drawing\n"}))

    asked = {"id": "team.plan", "skill": skill}
    fault = wire.send("workflow_get", asked, version=HANDSHAKE, path="/mcp/lookup").json()["error"]

    assert (fault["code"], fault["message"]) == (-32602, "Invalid params")
    assert skill.partition("#")[0] in fault["data"]["details"]
    assert "drawing" in fault["data"]["suggestion"]


def test_where_a_loop_lacks_its_list_the_next_move_stands_in_the_error_of_the_contract(desk, wire):
    run_cast.published(desk, loop("each", [step("fix")], type="forEach", items="files"))

    asked = {"workflowId": "team.sample", "completedSteps": []}
    fault = wire.send("workflow_next", asked, version=HANDSHAKE, path="/mcp/lookup").json()["error"]

    assert fault["code"] == -32002
    assert "context that sets files" in fault["data"]["suggestion"]


def test_a_tool_is_a_method_as_well(wire):
    bare = wire.send("workflow_list", {}, version=HANDSHAKE, path="/mcp/lookup").json()
    called = wire.send(
        "tools/call", {"name": "workflow_list", "arguments": {}}, version=HANDSHAKE, path="/mcp/lookup"
    ).json()

    assert bare["result"] == called["result"]["structuredContent"]


def test_a_workflow_that_is_not_right_is_told_so(desk, wire):
    create(desk.person, "team.broken", steps=[])

    fault = wire.send("workflow_get", {"id": "team.broken"}, version=HANDSHAKE, path="/mcp/lookup").json()["error"]

    assert (fault["code"], fault["message"], fault["data"]["workflowId"]) == (-32002, "Invalid workflow", "team.broken")


def test_a_loop_without_its_list_says_what_is_missing(desk, raw):
    run_cast.published(desk, loop("each", [step("fix")], type="forEach", items="files"))

    refused = raw("workflow_next", workflowId="team.sample", completedSteps=[])["structuredContent"]

    assert refused["details"]["missingContext"] == ["files"]


def test_params_may_be_null_as_the_contract_writes_them(wire):
    message = {"jsonrpc": "2.0", "id": 1, "method": "workflow_list", "params": None}

    answer = wire.post(json.dumps(message).encode(), path="/mcp/lookup").json()

    assert answer["result"] == {"workflows": []}


@pytest.mark.parametrize("long", [False, True])
def test_a_step_is_named_back_as_it_was_printed_however_short_or_long_its_names_are(desk, raw, call, long):
    a, outer, inner, name = (letter * 128 if long else letter for letter in "abcd")
    work = {"kind": "action", "id": name, "name": "Do it"}
    rounds = {"kind": "loop", "loopType": "forEach", "over": "parts"}
    body = [
        {"kind": "action", "id": "first"},
        {**rounds, "id": outer, "steps": [{**rounds, "id": inner, "steps": [work]}]},
    ]
    publish_folder(desk, folder(activity(a, steps=body)))
    given = {"workflowId": "team.plan", "context": {"parts": [1]}}
    done = []

    while (told := call("workflow_next", **given, completedSteps=done, **_named(done)))["step"]:
        key = told["step"]["id"]
        assert call("workflow_validate", workflowId="team.plan", stepId=key, output="Done.")["valid"]
        done.append(key)

    assert told["isComplete"]
    assert [key.rpartition("::")[2] for key in done] == ["first", name]
    assert raw("workflow_validate", workflowId="team.plan", stepId=name, output="Done.")["structuredContent"]["valid"]


def _named(done):
    return {"currentStep": done[-1]} if done else {}
