"""What the contract of the rail says of all its tools together, through the door that agents use."""

import json

import pytest

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests.run_cast import NOTES, notes_free, plain_steps, published

OUTPUT = {"notesMarkdown": NOTES}


@pytest.fixture
def begun(wire, desk):
    """A run of three steps at its first: the value of the reply."""
    published(desk, *plain_steps(3))
    return wire.value("start_workflow", workflowId="team.sample", goal="Try it")


def tokens_of(reply):
    return {"stateToken": reply["stateToken"], "ackToken": reply["ackToken"]}


def note_of(reply):
    return {"stateToken": reply["stateToken"], "checkpointToken": reply["checkpointToken"], "output": OUTPUT}


def rows():
    """How many rows sessions and workflows have, table by table."""
    from django.apps import apps

    models = [*apps.get_app_config("sessions_app").get_models(), *apps.get_app_config("workflows_app").get_models()]
    return {model.__name__: model.objects.count() for model in models}


def test_whatever_drives_a_run_answers_in_words_and_in_json(wire, begun):
    answers = {
        "start": wire("start_workflow", workflowId="team.sample"),
        "rehydrate": wire("continue_workflow", stateToken=begun["stateToken"]),
        "checkpoint": wire("checkpoint_workflow", **note_of(begun)),
        "advance": wire("continue_workflow", **tokens_of(begun), output=OUTPUT),
    }

    for name, answer in answers.items():
        assert not answer.text.startswith("{"), name
        assert answer.value["pending"]["prompt"] in answer.text, name
        assert answer.value["stateToken"] in answer.text.splitlines(), name


def test_no_reply_tells_by_which_template_its_words_are_drawn(wire, begun):
    session = wire.value("start_session", title="Notes")
    replies = [
        begun,
        session,
        wire.value("continue_workflow", stateToken=begun["stateToken"]),
        wire.value("checkpoint_workflow", **note_of(begun)),
        wire.value("checkpoint_workflow", sessionToken=session["sessionToken"], output=OUTPUT),
        wire.value("continue_workflow", **tokens_of(begun), output=OUTPUT),
    ]

    assert [reply for reply in replies if "template" in json.dumps(reply).lower()] == []


def test_choosing_and_looking_change_nothing(wire, begun):
    before = rows()

    wire.value("list_workflows", search="sample")
    for part in ("metadata", "preview", "source", "program"):
        wire.value("inspect_workflow", workflowId="team.sample", part=part)
    wire.value("resume_session", query="Try it")
    wire.value("continue_workflow", stateToken=begun["stateToken"])

    assert rows() == before


def test_a_run_needs_no_session_before_it_and_names_the_one_it_made(wire, begun):
    assert begun["session"]["sessionId"].startswith("sess_")
    again = wire.value("start_workflow", workflowId="team.sample", sessionId=begun["session"]["sessionId"])

    assert again["session"]["sessionId"] == begun["session"]["sessionId"]
    assert again["session"]["runId"] != begun["session"]["runId"]


def test_a_run_is_driven_by_its_tokens_alone(wire, begun):
    """The tools that go on take neither a workflow nor a session nor a step: the tokens say which."""
    tools = {tool["name"]: tool["inputSchema"] for tool in wire.send("tools/list").json()["result"]["tools"]}

    for name in ("continue_workflow", "checkpoint_workflow"):
        arguments = set(tools[name]["properties"])
        assert arguments.isdisjoint({"workflowId", "sessionId", "runId", "stepId", "nodeId", "completedSteps"})
    answer = wire("continue_workflow", **tokens_of(begun), workflowId="team.sample")
    assert answer.code == "VALIDATION_ERROR"
    assert wire.value("continue_workflow", **tokens_of(begun))["workflow"]["id"] == "team.sample"


@pytest.mark.parametrize("preferences", [{"tone": "kind"}, {"autonomy": "whatever"}, {"riskPolicy": "none"}])
def test_a_preference_that_there_is_not_is_refused_and_begins_nothing(wire, desk, preferences):
    published(desk, *plain_steps(1))
    before = rows()

    answer = wire("start_workflow", workflowId="team.sample", preferences=preferences)

    assert answer.code == "VALIDATION_ERROR"
    assert answer.details["validationErrors"][0]["path"].startswith("preferences.")
    assert rows() == before


def test_an_old_name_without_a_namespace_runs_and_every_use_of_it_is_warned_of(wire, desk):
    from tests.workflow_cast import NOW
    from workflows_app.services.extensions import set_alias

    published(desk, *plain_steps(1))
    set_alias(actor=desk.person, alias="old-review", workflow_id="team.sample", now=NOW)

    begun = wire("start_workflow", workflowId="old-review")
    seen = wire("inspect_workflow", workflowId="old-review")

    assert begun.value["workflow"]["id"] == "team.sample"
    assert [warning["code"] for warning in begun.value["warnings"]] == ["LEGACY_WORKFLOW_ID"]
    assert "'team.sample'" in begun.value["warnings"][0]["message"]
    assert "[LEGACY_WORKFLOW_ID]" in begun.text
    assert [problem["code"] for problem in seen.value["problems"]] == ["legacy_id"]
    assert "'team.sample'" in seen.value["problems"][0]["suggestion"]


@pytest.fixture
def named_of_old(desk, tmp_path):
    """A workflow of the team, and one that comes with the server, both with an old name."""
    import shutil

    from tests.workflow_cast import NOW
    from workflows_app.selectors.bundled import BUNDLED_ROOT
    from workflows_app.services.bundled import load_bundled
    from workflows_app.services.extensions import set_alias

    folders = "activities/meta", "activities/work-package", "activities/work-packages"
    for folder in folders:
        shutil.copytree(BUNDLED_ROOT / folder, tmp_path / folder)
    load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=NOW, root=tmp_path)
    published(desk, *plain_steps(1))
    for old, target in {"old-own": "team.sample", "old-bundled": "work-package"}.items():
        set_alias(actor=desk.person, alias=old, workflow_id=target, now=NOW)


def test_each_part_is_inspected_by_an_old_name_with_a_warning(wire, named_of_old):
    named = {"old-own": "team.sample", "old-bundled": "work-package"}
    parts = [{"part": part} for part in ("metadata", "preview", "source", "program")]
    calls = [(old, part) for old in named for part in parts] + [
        ("old-bundled", {"part": "skill", "skill": "review-change"})
    ]

    for old, part in calls:
        seen = wire("inspect_workflow", workflowId=old, **part)
        by_its_own = wire("inspect_workflow", workflowId=named[old], **part)
        assert "legacy_id" in [problem["code"] for problem in seen.value["problems"]], (old, part)
        assert f"Call it '{named[old]}'" in seen.text, (old, part)
        assert "Call it" not in by_its_own.text, (old, part)


def test_an_old_name_of_a_bundled_workflow_begins_it_with_a_warning(wire, named_of_old):
    begun = wire("start_workflow", workflowId="old-bundled")

    assert begun.value["workflow"]["id"] == "work-package"
    assert [warning["code"] for warning in begun.value["warnings"]] == ["LEGACY_WORKFLOW_ID"]


def test_a_run_goes_on_right_after_its_start_however_often(wire, desk):
    """Nothing that a start leaves to do afterwards holds its session."""
    published(desk, *plain_steps(2))

    for _ in range(20):
        value = wire.value("start_workflow", workflowId="team.sample")
        assert wire.value("continue_workflow", **tokens_of(value))["pending"]["stepId"] == "step-1"


def test_what_one_process_hands_out_another_takes_that_ran_before(wire, desk):
    """Here the run is begun by the process of the tests, when the one that serves had long started."""
    from tests.run_cast import start

    published(desk, *plain_steps(2))
    assert wire.value("list_workflows")["workflows"]

    value = start(desk).value
    reply = wire.value("continue_workflow", **tokens_of(value))

    assert reply["pending"]["stepId"] == "step-1"
    assert wire.value("resume_session", runId=value["session"]["runId"])["candidates"]


def test_a_workflow_that_cannot_be_started_says_why(wire, desk):
    from tests.workflow_cast import create

    create(desk.person, "team.broken", steps=[{"id": "x", "title": "Too short an id"}])

    answer = wire("start_workflow", workflowId="team.broken")

    assert answer.code == "PRECONDITION_FAILED"
    assert "team.broken" in answer.value["message"]
    assert (answer.details["state"], bool(answer.details["suggestion"])) == ("draft", True)


def test_the_text_alone_is_enough_to_drive_a_run_and_to_record_beside_it(wire, desk):
    """For clients that show an agent nothing but the words: every token is in them."""
    published(desk, notes_free("first-step", agentRole="You are exact."), notes_free("next-step"))
    wire.headers = {"Workrail-Reply": "text"}

    text = wire("start_workflow", workflowId="team.sample").text
    kept = wire("checkpoint_workflow", **_labelled(text, "stateToken", "checkpointToken"), output=OUTPUT)
    then = wire("continue_workflow", **_labelled(text, "stateToken", "ackToken"))
    end = wire("continue_workflow", **_labelled(then.text, "stateToken", "ackToken"))

    assert "You are exact." in text
    assert kept.text.startswith("# Recorded\n")
    assert end.text.startswith("# Workflow complete")


def _labelled(text, *names):
    """What stands in the line below each label."""
    lines = text.splitlines()
    return {name: lines[lines.index(f"{name}:") + 1] for name in names}
