"""Workflows, activities, skills and resources as the orchestrator dialect tells them."""

import pytest
import toon_format

from tests import run_cast
from tests.activity_folders import activity, folder, skill, step, toon, workflow
from tests.checkpoint_cast import publish_folder

pytestmark = pytest.mark.django_db(transaction=True)


# Definitions


def test_a_workflow_begins_with_its_primary_skill_and_then_its_summary(call, token):
    skill_text, told = call.text("get_workflow", session_token=token).split("\n\n---\n\n")

    assert skill_text == toon(skill("leading", resources=["01", "meta/04"])).decode()
    summary = toon_format.loads(told)
    assert list(summary) == [
        "id",
        "version",
        "title",
        "description",
        "rules",
        "variables",
        "executionModel",
        "modes",
        "initialActivity",
        "activities",
        "session_token",
    ]
    assert summary["modes"][0]["id"] == "fast"
    assert summary["activities"][0] == {"id": "draft", "name": "Draft", "required": True}
    assert summary["session_token"] == token


def test_the_whole_definition_is_told_when_it_is_asked_for(call, token):
    whole = toon_format.loads(call.text("get_workflow", session_token=token, summary=False).split("\n\n---\n\n")[1])

    assert [each["id"] for each in whole["activities"]] == ["draft", "build", "redo"]
    assert [each["id"] for each in whole["activities"][0]["steps"]] == ["write", "polish", "prove", "ask"]


def test_a_whole_definition_too_long_for_a_reply_comes_summarised(desk, call):
    long = "Read this with care. " * 400
    files = folder(
        *(activity(f"work-{n}", steps=[step("do", description=long)]) for n in range(20)),
        about=workflow(id="team.long", initialActivity="work-0"),
    )
    publish_folder(desk, files, "team.long")
    token = call("start_session", workflow_id="team.long")["session_token"]

    told = call("get_workflow", session_token=token, summary=False)

    assert told["summarized"] is True
    assert told["next_action"]["tool"] == "next_activity"
    token = call("next_activity", **told["next_action"]["parameters"])["session_token"]
    assert call("get_workflow", session_token=token, summary=False)["next_action"]["tool"] == "get_activity"


def test_entering_an_activity_confirms_it_and_does_not_tell_it(call, token):
    told = call("next_activity", session_token=token, activity_id="draft")

    assert (told["activity_id"], told["name"]) == ("draft", "Draft")
    assert not {"steps", "checkpoints", "transitions"} & set(told)


def test_the_worker_reads_the_whole_activity(call, drafting):
    header, _, told = call.text("get_activity", session_token=drafting).partition("\n\n")

    assert header == f"session_token: {drafting}"
    whole = toon_format.loads(told)
    assert [each["id"] for each in whole["steps"]] == ["write", "polish", "prove", "ask"]
    assert [each["id"] for each in whole["loops"][0]["steps"]] == ["inner"]
    assert [each["id"] for each in whole["checkpoints"]] == ["sure", "soft", "odd", "later"]
    assert [each["to"] for each in whole["transitions"]] == ["build", "build", "redo"]
    assert whole["rules"] == ["Write it down"]
    assert whole["skills"] == {"primary": "drafting"}
    assert whole["artifactPrefix"] == "01"


def test_there_is_no_activity_before_one_was_entered(call, token):
    assert call.refused("get_activity", session_token=token)["code"] == "ACTIVITY_REQUIRED"


@pytest.mark.usefixtures("library")
def test_an_activity_that_was_borrowed_from_another_workflow_is_read_as_well(desk, call):
    """The original entered it and could not load it."""
    about = workflow(
        id="team.borrows", initialActivity="own", activities=["work-package/01-intake.toon"], activitiesDir="activities"
    )
    publish_folder(desk, folder(activity("own", steps=[step("do")]), about=about), "team.borrows")
    token = call("start_session", workflow_id="team.borrows")["session_token"]
    token = call("next_activity", session_token=token, activity_id="intake")["session_token"]

    told = call("get_activity", session_token=token)
    assert told["steps"][0]["id"] == "read-issue"
    assert call("get_skill", session_token=token)["skill"]["id"] == "issue-intake"


@pytest.mark.parametrize("end", ["workflow-end", "__terminal__", "end-workflow"])
def test_a_session_ends_under_any_name_of_the_end(call, approved, end):
    """The original knew no such activity."""
    assert call("next_activity", session_token=approved, activity_id=end)["status"] == "completed"


def test_the_same_call_again_is_answered_the_same_byte_for_byte(call, token):
    first = call.text("next_activity", session_token=token, activity_id="draft")

    assert call.text("next_activity", session_token=token, activity_id="draft") == first


# Skills and resources


def test_the_primary_skill_is_told_as_it_was_written_between_fences(call, token):
    told = call.text("get_skills", session_token=token)

    assert told == (
        f"scope: workflow\nsession_token: {token}\n\n---\n\n"
        f"{toon(skill('leading', resources=['01', 'meta/04'])).decode()}\n\n---"
    )


@pytest.mark.usefixtures("library")
def test_a_workflow_of_steps_is_led_by_the_universal_skill(call):
    token = call("start_session", workflow_id="wr.code-review")["session_token"]

    assert list(call("get_skills", session_token=token)["skills"]) == ["orchestrator-management"]


def test_a_skill_is_told_as_it_was_written_under_the_token(call, drafting):
    told = call.text("get_skill", session_token=drafting, step_id="write")

    assert told.startswith(f"session_token: {drafting}\n")
    assert told.endswith(toon(skill("drafting", description="As this workflow drafts.")).decode())


def test_without_a_step_the_skill_is_that_of_the_activity_or_before_it_of_the_workflow(call, token, drafting):
    fresh = call("start_session", workflow_id="team.plan")["session_token"]

    assert call("get_skill", session_token=fresh)["skill"]["id"] == "leading"
    assert call("get_skill", session_token=drafting)["skill"]["id"] == "drafting"


def test_a_step_is_not_asked_for_before_its_activity(call, token):
    refusal = call.refused("get_skill", session_token=token, step_id="write")

    assert refusal["message"] == "Cannot provide step_id when no activity is active."


@pytest.mark.usefixtures("library")
def test_a_step_of_a_loop_and_a_skill_of_another_workflow_are_found(call, drafting):
    assert call("get_skill", session_token=drafting, step_id="inner")["skill"]["id"] == "session-protocol"


@pytest.mark.usefixtures("library")
def test_a_skill_that_the_workflow_lacks_is_the_universal_one(desk, call):
    """Promised by the original and not done."""
    about = workflow(id="team.own", initialActivity="work")
    steps = [step("one", skill="evidence-protocol")]
    publish_folder(desk, folder(activity("work", steps=steps), about=about), "team.own")
    token = call("start_session", workflow_id="team.own")["session_token"]
    token = call("next_activity", session_token=token, activity_id="work")["session_token"]

    assert call("get_skill", session_token=token, step_id="one")["skill"]["id"] == "evidence-protocol"


def test_a_skill_that_was_not_written_as_toon_is_told_as_toon(call, drafting):
    told = call.text("get_skill", session_token=drafting, step_id="prove").partition("\n\n")[2]

    assert toon_format.loads(told) == {
        "id": "as-yaml",
        "version": "1.0.0",
        "capability": "Proves",
        "protocol": {"look": ["Look twice"]},
    }


def test_a_step_of_a_workflow_of_steps_is_its_own_skill(desk, call):
    run_cast.published(desk, run_cast.notes_free("look", prompt="Look twice.", guidance=["Slowly"]))
    token = call("start_session", workflow_id="team.sample")["session_token"]
    token = call("next_activity", session_token=token, activity_id="main")["session_token"]

    told = toon_format.loads(call.text("get_skill", session_token=token, step_id="look").partition("\n\n")[2])

    assert told["id"] == "look"
    assert "Look twice." in told["instructions"]
    assert told["guidance"] == ["Slowly"]


@pytest.mark.parametrize(
    ("step_id", "said"),
    [
        ("nope", "Step 'nope' not found in activity 'draft'. Available steps: [write, polish, prove, ask, inner]"),
        ("ask", "Step 'ask' in activity 'draft' has no associated skill."),
        ("polish", "Skill not found: universal-only"),
    ],
)
def test_a_skill_that_cannot_be_told_says_why(call, drafting, step_id, said):
    refusal = call.refused("get_skill", session_token=drafting, step_id=step_id)

    assert (refusal["code"], refusal["message"]) == ("NOT_FOUND", said)


@pytest.mark.parametrize("resource_id", ["01", "1", "guide"])
def test_a_resource_is_told_under_its_id_and_version(call, token, resource_id):
    head, _, body = call.text("get_resource", session_token=token, resource_id=resource_id).partition("\n\n")

    assert head.splitlines() == [
        f"resource_id: {resource_id}",
        "id: guide",
        "version: 2.1.0",
        f"session_token: {token}",
    ]
    assert body == "# Guide\n\nMeasure twice.\n"


@pytest.mark.usefixtures("library")
def test_a_prefixed_resource_is_of_the_workflow_that_it_names(call, token):
    assert call("get_resource", session_token=token, resource_id="meta/04")["id"] == "checkpoint-presentation"


def test_a_bare_number_is_not_that_of_another_workflow(call, token):
    assert call.refused("get_resource", session_token=token, resource_id="04")["code"] == "NOT_FOUND"


def test_a_long_resource_comes_in_parts_that_make_the_whole(call, token):
    parts, resource_id = [], "02"
    while resource_id:
        reply = call("get_resource", session_token=token, resource_id=resource_id)
        parts.append(reply["content"])
        resource_id = reply.get("next_action", {}).get("parameters", {}).get("resource_id", "")

    assert "".join(parts) == "# Long\n\n" + "A line of a long guide.\n" * 4_000
