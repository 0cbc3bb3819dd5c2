"""What each tool of the navigation dialect answers and refuses."""

import json

import pytest
from django.utils import timezone

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests import checkpoint_cast, run_cast
from tests.activity_folders import activity, folder, skill, step, workflow
from tests.navigation_play import raw_caller, text_of, tool_caller
from tests.workflow_cast import NOW, publish
from workflows_app.engine.source import Source, SourceFormat
from workflows_app.services import workflows
from workflows_app.services.bundled import load_bundled
from workrail_site.mcp.answers import MAX_REPLY_BYTES
from workrail_site.mcp.toolsets import all_servers

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = {
    "nav_start": ["workflow_id", "initial_variables"],
    "nav_situation": ["state"],
    "nav_action": [
        "state",
        "action",
        "step_id",
        "checkpoint_id",
        "option_id",
        "activity_id",
        "loop_id",
        "loop_items",
        "notes",
        "artifacts",
        "context",
    ],
    "nav_checkpoint": ["state"],
    "list_workflows": [],
    "get_workflow": ["workflow_id", "state"],
    "get_workflow_activity": ["workflow_id", "activity_id", "state"],
    "get_checkpoint": ["workflow_id", "activity_id", "checkpoint_id", "state"],
    "validate_transition": ["workflow_id", "from_activity", "to_activity", "state"],
    "health_check": [],
    "get_activities": [],
    "get_activity": ["activity_id"],
    "get_rules": [],
    "get_skills": [],
    "list_skills": ["workflow_id", "state"],
    "get_skill": ["skill_id", "workflow_id", "state"],
    "list_workflow_resources": ["workflow_id", "state"],
    "get_resource": ["workflow_id", "index", "state"],
    "list_templates": ["workflow_id", "state"],
    "get_template": ["workflow_id", "index", "state"],
    "discover_resources": [],
}
REQUIRED = {
    "nav_start": ["workflow_id"],
    "nav_action": ["state", "action"],
    "list_skills": [],
    "get_skill": ["skill_id"],
}


@pytest.fixture
def desk(transactional_db):
    load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())
    return run_cast.make_desk()


@pytest.fixture
def call(desk):
    return tool_caller(desk.agent)


@pytest.fixture
def raw(desk):
    return raw_caller(desk.agent)


def code_of(result):
    return json.loads(text_of(result))["code"]


def test_the_dialect_has_exactly_its_tools_with_exactly_their_parameters():
    tools = {tool.name: tool.schema for tool in all_servers()["navigation"].tools()}

    assert {name: list(schema["properties"]) for name, schema in tools.items()} == NAMES
    for name, schema in tools.items():
        read = [given for given in NAMES[name] if given != "state" or name.startswith("nav_")]
        assert schema.get("required", []) == REQUIRED.get(name, read), name


def test_every_published_workflow_is_listed_with_its_title_and_version(call):
    listed = {each["id"]: each for each in call("list_workflows")}

    assert {"meta", "work-package", "work-packages", "wr.code-review"} <= set(listed)
    assert list(listed["meta"]) == ["id", "title", "version", "description"]


@pytest.mark.parametrize("workflow_id", ["meta", "work-package", "work-packages", "wr.feature-delivery"])
def test_a_whole_definition_fits_into_a_reply(raw, workflow_id):
    result = raw("get_workflow", workflow_id=workflow_id)

    definition = json.loads(text_of(result))
    assert len(text_of(result).encode()) <= MAX_REPLY_BYTES
    assert definition["id"] == workflow_id
    assert definition["initialActivity"] in [activity["id"] for activity in definition["activities"]]
    assert all("problem" in activity or "steps" in activity for activity in definition["activities"])


def test_a_definition_too_long_for_a_reply_is_summarised_and_says_how_to_read_on(desk, call):
    long = "Read this with care. " * 400 + "Then act."
    files = folder(*(activity(f"work-{n}", steps=[step("do", description=long)]) for n in range(20)))
    saved = workflows.create_workflow(
        actor=desk.person, source=Source(format=SourceFormat.ACTIVITY_FOLDER, files=files), message="", now=NOW
    )
    publish(desk.person, "team.plan", saved.revision.number)

    definition = call("get_workflow", workflow_id="team.plan")

    assert definition["summarized"] is True
    assert definition["next_action"]["tool"] == "get_workflow_activity"
    assert call("get_workflow_activity", **definition["next_action"]["parameters"])["id"] == "work-0"
    assert len(definition["activities"]) == 20
    assert (
        call("get_workflow_activity", workflow_id="team.plan", activity_id="work-7")["steps"][0]["description"] == long
    )


def test_an_activity_is_told_with_steps_checkpoints_and_transitions(call):
    told = call("get_workflow_activity", workflow_id="work-package", activity_id="plan")

    assert told["id"] == "plan"
    assert {"id", "name", "required"} <= set(told["steps"][0])
    assert told["checkpoints"]


def test_a_checkpoint_is_told_with_the_effects_of_its_options(call):
    told = call("get_checkpoint", workflow_id="work-package", activity_id="analysis", checkpoint_id="approach")

    assert {"setVariable": {"approach": "recommended"}} in [option.get("effect") for option in told["options"]]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("get_workflow_activity", {"workflow_id": "meta", "activity_id": "nope"}, "Activity not found: nope"),
        (
            "get_checkpoint",
            {"workflow_id": "work-package", "activity_id": "plan", "checkpoint_id": "nope"},
            "Checkpoint not found: nope",
        ),
        ("get_activity", {"activity_id": "nope"}, "Activity not found: nope"),
        ("get_skill", {"skill_id": "nope"}, "Skill not found: nope"),
        ("get_resource", {"workflow_id": "meta", "index": "77"}, "Resource not found: 77 in workflow meta"),
        ("get_template", {"workflow_id": "meta", "index": "77"}, "Template not found: 77 in workflow meta"),
        ("get_workflow", {"workflow_id": "nope"}, "There is no workflow 'nope' in your team's library."),
    ],
)
def test_what_is_not_there_is_a_refusal_that_names_it(raw, tool, arguments, said):
    result = raw(tool, **arguments)

    refusal = json.loads(text_of(result))
    assert result["isError"]
    assert (refusal["code"], refusal["message"]) == ("NOT_FOUND", said)
    assert refusal["details"]["suggestion"]


def test_a_transition_of_the_definition_is_valid_and_any_other_says_why_not(call):
    def valid(source, target):
        return call("validate_transition", workflow_id="work-package", from_activity=source, to_activity=target)

    assert valid("analysis", "plan") == {"valid": True}
    assert valid("analysis", "research") == {"valid": True}
    assert valid("analysis", "complete")["reason"].startswith("No valid transition. Valid: ")
    assert valid("nope", "plan") == {"valid": False, "reason": "Source activity not found: nope"}
    assert valid("plan", "nope") == {"valid": False, "reason": "Target activity not found: nope"}


def test_health_tells_the_number_of_workflows(call):
    told = call("health_check")

    assert told["status"] == "healthy"
    assert list(told) == ["status", "server", "version", "workflows_available", "uptime_seconds"]
    assert told["workflows_available"] == len(call("list_workflows"))


def test_the_index_of_activities_leads_to_skills_that_exist(call):
    index = call("get_activities")

    assert list(index) == ["description", "usage", "next_action", "activities", "quick_match"]
    assert index["next_action"] == {"tool": "get_rules", "parameters": {}}
    assert {"start-workflow", "resume-workflow", "end-workflow"} <= {each["id"] for each in index["activities"]}
    assert set(index["quick_match"].values()) <= {each["id"] for each in index["activities"]}
    for each in index["activities"]:
        if each["next_action"]["tool"] == "get_skill":
            skill = call("get_skill", **each["next_action"]["parameters"])
            assert skill["id"] == each["next_action"]["parameters"]["skill_id"]


def test_the_skill_that_an_activity_leads_to_is_its_own_where_a_universal_one_is_called_like_it(desk, call):
    work = activity("guided", steps=[step("do")], skills={"primary": "workflow-execution"})
    own = {"skills__00-workflow-execution.toon": skill("workflow-execution", capability="Ours.")}
    checkpoint_cast.publish_folder(desk, folder(work, about=workflow(initialActivity="guided"), **own))

    indexed = next(each for each in call("get_activities")["activities"] if each["id"] == "guided")
    for said in (indexed, call("get_activity", activity_id="guided")):
        assert call("get_skill", **said["next_action"]["parameters"])["capability"] == "Ours."


def test_an_activity_is_found_by_its_id_alone(call):
    told = call("get_activity", activity_id="start-workflow")

    assert told["workflowId"] == "meta"
    assert told["next_action"]["tool"] == "get_skill"


def test_the_rules_of_every_workflow_are_read(call):
    told = call("get_rules")

    assert told["sections"]


def test_skills_are_universal_or_of_a_workflow(call):
    index = call("get_skills")

    assert {"activity-resolution", "workflow-execution"} <= {skill["id"] for skill in index["universal"]}
    assert "slice-plan" in {skill["id"] for skill in index["workflow_specific"]["work-package"]}
    assert "meta" not in index["workflow_specific"]


def test_a_list_of_skills_is_flat_or_beside_those_of_a_workflow(call):
    flat = call("list_skills")
    of_one = call("list_skills", workflow_id="work-package")

    assert list(flat[0])[:4] == ["index", "id", "name", "path"]
    assert {each["id"] for each in of_one["universal"]} >= {"workflow-execution"}
    assert {each["workflowId"] for each in of_one["workflow"]} == {"work-package"}


@pytest.mark.parametrize("workflow_id", [None, "work-package", "meta"])
def test_a_universal_skill_is_found_from_everywhere(call, workflow_id):
    assert call("get_skill", skill_id="workflow-execution", workflow_id=workflow_id)["id"] == "workflow-execution"


def test_the_skill_of_another_workflow_is_found_only_without_naming_one(call, raw):
    assert call("get_skill", skill_id="slice-plan")["id"] == "slice-plan"
    assert code_of(raw("get_skill", skill_id="slice-plan", workflow_id="work-packages")) == "NOT_FOUND"


@pytest.mark.parametrize("index", ["1", "01", "001", "intake-guide"])
def test_a_resource_answers_to_its_number_however_it_is_written(raw, index):
    text = text_of(raw("get_resource", workflow_id="work-package", index=index))

    assert text.startswith("# Intake") or "Intake" in text
    assert text == text_of(raw("get_resource", workflow_id="work-package", index="1"))


@pytest.mark.parametrize("index", ["0", "00"])
def test_the_first_resource_is_number_nought(raw, index):
    assert not raw("get_resource", workflow_id="meta", index=index).get("isError")


def test_resources_and_templates_are_listed_by_number(call):
    resources = call("list_workflow_resources", workflow_id="meta")
    templates = call("list_templates", workflow_id="work-package")

    assert [each["index"] for each in resources] == ["00", "01", "02", "03", "04", "05"]
    assert {each["format"] for each in resources} == {"markdown"}
    assert len(templates) == 10
    assert list(templates[0]) == ["index", "name", "title", "format"]


def test_a_template_is_read_as_it_was_written(raw):
    assert "{subject}" in text_of(raw("get_template", workflow_id="work-package", index="05"))


def test_everything_that_can_be_read_is_discovered(call):
    found = call("discover_resources")

    named = {"parameters": {"workflow_id": "work-package"}}
    assert found["work-package"]["resources"] == {"count": 11, "tool": "list_workflow_resources", **named}
    assert found["work-package"]["templates"] == {"count": 10, "tool": "list_templates", **named}
    assert "slice-plan" in found["work-package"]["skills"]
    assert {"meta", "wr.code-review"} <= {each["id"] for each in found["workflows"]}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"action": "complete_step"}, "step_id is required for complete_step action"),
        (
            {"action": "respond_to_checkpoint", "checkpoint_id": "x"},
            "checkpoint_id and option_id are required for respond_to_checkpoint action",
        ),
        ({"action": "transition"}, "activity_id is required for transition action"),
        ({"action": "advance_loop"}, "loop_id is required for advance_loop action"),
    ],
)
def test_an_action_without_its_argument_is_an_error_that_names_it(call, raw, arguments, said):
    state = call("nav_start", workflow_id="meta")["state"]

    result = raw("nav_action", state=state, **arguments)

    assert result["isError"]
    assert json.loads(text_of(result))["message"] == said


def test_a_refused_action_is_no_error_and_names_its_code(call):
    value = call("nav_start", workflow_id="meta")

    refused = call("nav_action", state=value["state"], action="complete_step", step_id="nope")

    assert (refused["success"], refused["error"]["code"]) == (False, "STEP_NOT_FOUND")
    assert refused["state"] == value["state"]


def test_a_workflow_that_nobody_has_is_refused(raw):
    assert code_of(raw("nav_start", workflow_id="nope")) == "NOT_FOUND"


def test_a_state_of_another_team_is_unknown_here(desk, call):
    state = call("nav_start", workflow_id="meta")["state"]

    result = raw_caller(desk.stranger)("nav_situation", state=state)

    assert code_of(result) == "TOKEN_UNKNOWN_NODE"


def test_the_same_in_text_and_in_structured_content(raw):
    result = raw("nav_start", workflow_id="meta")

    assert json.loads(text_of(result)) == result["structuredContent"]
    assert text_of(result).startswith('{\n  "success": true,\n  "position": {\n')
