"""What a team has beyond what one reply tells of is said in every dialect, in both forms, and counted whole."""

import json
from copy import copy

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from teams_app.services.ids import new_id
from tests.activity_folders import activity, folder, skill, step, workflow
from tests.checkpoint_cast import publish_folder
from tests.handover_play import caller, text_of
from tests.run_cast import make_desk
from tests.workflow_cast import NOW, create, publish
from workflows_app.models import Revision, Workflow
from workflows_app.selectors.catalog import MAX_WORKFLOWS
from workrail_site.mcp.answers import MAX_REPLY_BYTES

pytestmark = pytest.mark.django_db

LISTS = {
    "lookup": "workflow_list",
    "navigation": "list_workflows",
    "session": "list_workflows",
    "orchestrator": "list_workflows",
}
MORE = 7


@pytest.fixture
def desk():
    found = make_desk()
    create(found.person, "team.w-0000", description="What it is good for, told at length. " * 12)
    publish(found.person, "team.w-0000")
    first = Workflow.objects.select_related("published").get(workflow_id="team.w-0000")
    made = [_copied(first, f"team.w-{number:04}") for number in range(1, MAX_WORKFLOWS + MORE)]
    Workflow.objects.bulk_create(made)
    Revision.objects.bulk_create(each.published for each in made)
    return found


def _copied(workflow, name):
    made, revision = copy(workflow), copy(workflow.published)
    made.pk, revision.pk = new_id(now=NOW), new_id(now=NOW)
    made.workflow_id, made.published, revision.workflow = name, revision, made
    return made


@pytest.mark.parametrize("dialect", LISTS)
def test_a_list_that_ends_early_says_how_many_more_there_are(desk, dialect):
    result = caller(dialect, desk.agent).raw(LISTS[dialect])

    told = result["structuredContent"]
    assert (len(told["workflows"]), told["_omitted"]) == (MAX_WORKFLOWS, MORE)
    assert str(MORE) in text_of(result)[-200:]
    assert len(text_of(result).encode()) <= MAX_REPLY_BYTES
    assert "_truncated" not in told


@pytest.mark.parametrize("dialect", ["navigation", "session", "orchestrator"])
def test_health_counts_all_of_them_and_reads_none(desk, dialect):
    call = caller(dialect, desk.agent)

    with CaptureQueriesContext(connection) as queries:
        told = call("health_check")

    assert told["workflows_available"] == MAX_WORKFLOWS + MORE
    assert len(queries) == 1


@pytest.mark.parametrize(("dialect", "tool"), [("session", "discover"), ("navigation", "discover_resources")])
def test_what_introduces_them_says_so_too(desk, dialect, tool):
    assert caller(dialect, desk.agent)(tool)["_omitted"] == MORE


@pytest.fixture
def long_names(desk):
    """As long as they may be, in letters of three bytes."""
    Workflow.objects.update(title="日" * 200, tags=["長" * 64] * 3)
    return desk


@pytest.mark.parametrize(
    ("dialect", "tool", "key"),
    [
        *((dialect, tool, "workflows") for dialect, tool in LISTS.items()),
        ("session", "discover", "available_workflows"),
        ("navigation", "discover_resources", "workflows"),
    ],
)
def test_a_list_that_is_longer_than_a_reply_is_told_from_its_beginning(long_names, dialect, tool, key):
    result = caller(dialect, long_names.agent).raw(tool)

    told = result["structuredContent"]
    assert "_truncated" not in told
    assert [each["id"] for each in told[key]] == [f"team.w-{number:04}" for number in range(len(told[key]))]
    assert told["_omitted"] == MAX_WORKFLOWS + MORE - len(told[key])
    assert len(told[key]) > 40
    without = {name: said for name, said in told.items() if name != "_omitted"}
    assert json.loads(text_of(result).partition("\n\n[OMITTED")[0]) in (told[key], told, without)
    assert len(text_of(result).encode()) <= MAX_REPLY_BYTES


@pytest.mark.parametrize(
    ("tool", "told_of"),
    [
        ("get_activities", lambda told: told["activities"]),
        (
            "get_skills",
            lambda told: [*told["universal"], *(each for own in told["workflow_specific"].values() for each in own)],
        ),
        ("list_skills", lambda told: told["skills"]),
    ],
)
def test_an_index_that_is_longer_than_a_reply_is_told_in_short_and_from_its_beginning(tool, told_of):
    desk, words, most = make_desk(), "What a user may want of it, told at length. " * 6, 12
    for number in range(most):
        acts = [
            activity(f"act-{each}", problem=words, recognition=[f"please {number} {each}"], steps=[step("do")])
            for each in range(60)
        ]
        skills = {
            f"skills__{each:02}-skill-{each}.toon": skill(f"skill-{each}", capability=words) for each in range(60)
        }
        publish_folder(
            desk,
            folder(*acts, about=workflow(id=f"team.w-{number}", initialActivity="act-0"), **skills),
            f"team.w-{number}",
        )

    result = caller("navigation", desk.agent).raw(tool)

    told = result["structuredContent"]
    assert "_truncated" not in told
    assert len(told_of(told)) + told.get("_omitted", 0) == most * 60
    assert len(told_of(told)) > 200
    assert told_of(told)[0]["id"] in {"act-0", "skill-0"}
    assert json.loads(text_of(result).partition("\n\n[OMITTED")[0])
