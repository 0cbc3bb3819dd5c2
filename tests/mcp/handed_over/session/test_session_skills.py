"""Skills and resources as the session dialect tells them."""

import re

import pytest
from django.utils import timezone

from tests.activity_folders import activity, folder, skill, step, workflow
from tests.checkpoint_cast import publish_folder
from tests.handover_play import caller, load_library, text_of
from workflows_app.engine.source import Source, SourceFormat
from workflows_app.services import workflows

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.usefixtures("library")
def test_the_skills_of_the_workflow_list_their_resources_and_do_not_tell_them(call, token):
    told = call("get_skills", session_token=token)

    assert told["scope"] == "workflow"
    assert list(told["skills"]) == ["leading"]
    leading = told["skills"]["leading"]
    assert "resources" not in leading
    assert leading["_resources"] == [
        {"index": "01", "id": "guide", "version": "2.1.0"},
        {"index": "meta/04", "id": "checkpoint-presentation", "version": "1.0.0"},
    ]


def test_a_skill_that_the_workflow_names_and_nobody_has_is_said_to_be_missing(desk, call):
    about = workflow(id="team.gap", skills=["nowhere"], initialActivity="work")
    publish_folder(desk, folder(activity("work", steps=[step("do")]), about=about), "team.gap")
    token = call("start_session", workflow_id="team.gap")["session_token"]

    told = call("get_skills", session_token=token)

    assert told["failed_skills"] == ["nowhere"]
    assert told["skills"] == {}


def test_a_step_has_the_skill_that_it_names(call, drafting):
    skill = call("get_skill", session_token=drafting["session_token"], step_id="write")["skill"]

    assert skill["description"] == "As this workflow drafts."


@pytest.mark.usefixtures("library")
def test_a_step_within_a_loop_has_its_skill_and_a_prefix_names_another_workflow(call, drafting):
    skill = call("get_skill", session_token=drafting["session_token"], step_id="inner")["skill"]

    assert skill["id"] == "session-protocol"


@pytest.mark.usefixtures("library")
def test_a_skill_is_looked_for_in_the_workflow_and_then_among_the_universal_ones(desk, call):
    steps = [step("own", skill="session-protocol"), step("other", skill="execute-activity")]
    about = workflow(id="team.own", initialActivity="work")
    own = {"skills__00-session-protocol.toon": skill("session-protocol", description="Ours.")}
    publish_folder(desk, folder(activity("work", steps=steps), about=about, **own), "team.own")
    token = call("start_session", workflow_id="team.own")["session_token"]
    token = call("next_activity", session_token=token, activity_id="work")["session_token"]

    assert call("get_skill", session_token=token, step_id="own")["skill"]["description"] == "Ours."
    assert call("get_skill", session_token=token, step_id="other")["skill"]["id"] == "execute-activity"


def test_no_step_has_a_skill_before_an_activity_is_entered(call, token):
    assert call.refused("get_skill", session_token=token, step_id="write")["code"] == "ACTIVITY_REQUIRED"


def test_a_skill_longer_than_a_reply_is_told_by_its_beginning_and_says_so(desk, call):
    about = workflow(id="team.wordy", initialActivity="work")
    long = skill("wordy", description="Read this with care. " * 6_000)
    files = folder(activity("work", steps=[step("do", skill="wordy")]), about=about, **{"skills__00-wordy.toon": long})
    publish_folder(desk, files, "team.wordy")
    token = call("start_session", workflow_id="team.wordy")["session_token"]
    token = call("next_activity", session_token=token, activity_id="work")["session_token"]

    told = call("get_skill", session_token=token, step_id="do")

    assert told["skill"]["part"] == 1
    assert told["skill"]["parts"] > 2
    assert re.fullmatch(r"do#part-2-of-[0-9a-f]{8}", told["skill"]["next_action"]["parameters"]["step_id"])
    assert told["skill"]["text"].startswith("id: wordy")
    assert told["session_token"] == token


@pytest.mark.parametrize(
    ("step_id", "said"),
    [
        ("nope", "Step 'nope' not found in activity 'draft'. Available steps: [write, polish, prove, ask, inner]"),
        ("ask", "Step 'ask' in activity 'draft' has no associated skill."),
        ("polish", "Skill not found: universal-only"),
    ],
)
def test_a_skill_that_cannot_be_told_says_why(call, drafting, step_id, said):
    refusal = call.refused("get_skill", session_token=drafting["session_token"], step_id=step_id)

    assert (refusal["code"], refusal["message"]) == ("NOT_FOUND", said)
    assert refusal["details"]["suggestion"]


@pytest.mark.parametrize("index", ["01", "1", "001", "guide"])
def test_a_bare_index_is_of_the_workflow_however_it_is_written(call, token, index):
    told = call("get_resource", session_token=token, resource_index=index)["resource"]

    assert (told["index"], told["id"], told["version"]) == (index, "guide", "2.1.0")
    assert told["content"] == "# Guide\n\nMeasure twice.\n"


@pytest.mark.usefixtures("library")
def test_a_prefixed_index_is_of_the_workflow_that_it_names(call, token):
    assert (
        call("get_resource", session_token=token, resource_index="meta/04")["resource"]["id"]
        == "checkpoint-presentation"
    )
    assert (
        call("get_resource", session_token=token, resource_index="work-package/01")["resource"]["id"] == "intake-guide"
    )


@pytest.mark.usefixtures("library")
def test_a_bare_index_is_not_that_of_another_workflow(call, token):
    refusal = call.refused("get_resource", session_token=token, resource_index="04")

    assert refusal["code"] == "NOT_FOUND"
    assert "01 guide" in refusal["details"]["suggestion"]


def test_a_long_resource_comes_in_parts_that_make_the_whole(call, token):
    parts, index = [], "02"
    while index:
        reply = call("get_resource", session_token=token, resource_index=index)["resource"]
        parts.append(reply["content"])
        index = reply.get("next_action", {}).get("parameters", {}).get("resource_index", "")

    assert reply["parts"] == len(parts) > 1
    assert "".join(parts) == "# Long\n\n" + "A line of a long guide.\n" * 4_000


@pytest.mark.parametrize("part", ["0", "99", "x", "", "01", "-1", "4\n"])
def test_a_part_that_a_resource_does_not_have_is_refused_and_not_answered_with_another(call, token, part):
    refused = call.refused("get_resource", session_token=token, resource_index=f"02#part-{part}")

    assert refused["code"] == "NOT_FOUND"
    assert "parts 1 to" in refused["message"]


OWN_META = folder(
    activity("work", steps=[step("do")]),
    about=workflow(id="team.meta"),
    **{
        "skills__00-execute-activity.toon": skill("execute-activity", resources=["04"]),
        "skills__01-guided.toon": skill("guided", resources=["04", "05"]),
        "resources__04-ours.md": b"---\nid: ours\nversion: 9.0.0\n---\nOurs.\n",
        "resources__05-more.md": b"---\nid: more\nversion: 9.0.0\n---\nMore of ours.\n",
        "resources__02-alone.md": b"---\nid: alone\nversion: 9.0.0\n---\nNothing refers to it.\n",
    },
)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("named", ["guided", "execute-activity", "session-protocol", ""])
def test_what_a_skill_lists_is_what_is_served_where_a_team_has_its_own_meta(desk, call, named):
    """Also what the program is not pinned with: the meta of the namespace is asked for it, not the bundled one."""
    publish_folder(desk, OWN_META, "team.meta")
    work = activity("work", steps=[step("own", **({"skill": named} if named else {}))])
    publish_folder(desk, folder(work, about=workflow(id="team.with", initialActivity="work")), "team.with")
    token = call("start_session", workflow_id="team.with")["session_token"]
    skills = call("get_skills", session_token=token)["skills"]
    token = call("next_activity", session_token=token, activity_id="work")["session_token"]
    if named in {"guided", "execute-activity"}:
        skills |= {"own": call("get_skill", session_token=token, step_id="own")["skill"]}

    for each in skills.values():
        for listed in each.get("_resources", []):
            served = call("get_resource", session_token=token, resource_index=listed["index"])["resource"]
            assert {key: served[key] for key in ("id", "version")} == {key: listed[key] for key in ("id", "version")}
    assert call("get_resource", session_token=token, resource_index="meta/05")["resource"]["id"] == "more"
    assert call("get_resource", session_token=token, resource_index="meta/02")["resource"]["id"] == "alone"


@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
@pytest.mark.parametrize("bundled", [True, False])
def test_a_meta_that_is_saved_and_not_published_changes_nothing_for_agents(desk, dialect, bundled):
    if bundled:
        load_library()
    step_with_skill = step("own", skill="session-protocol" if bundled else "team.meta/guided")
    work = activity("work", steps=[step_with_skill])
    publish_folder(desk, folder(work, about=workflow(id="team.with", initialActivity="work")), "team.with")
    call = caller(dialect, desk.agent)
    before = told_of_skills(call)

    source = Source(format=SourceFormat.ACTIVITY_FOLDER, files=OWN_META)
    workflows.create_workflow(actor=desk.person, source=source, message="", now=timezone.now())

    assert told_of_skills(call) == before


def told_of_skills(call):
    """What an agent reads of a workflow, and what it is refused, but for its token."""
    token = call("start_session", workflow_id="team.with", agent_id="me")["session_token"]
    entered = call("next_activity", session_token=token, activity_id="work")["session_token"]
    resource = {"resource_id" if "yield_checkpoint" in call.tools else "resource_index": "meta/04"}
    replies = [
        call.raw("get_workflow", session_token=token),
        call.raw("get_skills", session_token=token),
        call.raw("get_skill", session_token=entered, step_id="own"),
        call.raw("get_resource", session_token=entered, **resource),
    ]
    return [re.sub(r"ses\.v1\.\w+", "", text_of(reply)) for reply in replies]
