"""What a team has beyond what one reply tells of is said in every dialect, in both forms, and counted whole."""

from copy import copy

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from teams_app.services.ids import new_id
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
