"""The pages of workflows and of the team, on two weeks of work: photographed, and without a complaint."""

import os
from pathlib import Path

import pytest
from django.utils import timezone

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests.chromium import CHROMIUM, browse, photograph

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]

WORKFLOWS, TEAMS = "/studio/workflows_app", "/studio/teams_app"


@pytest.fixture
def demo(house):
    from teams_app.models import Membership, Team
    from workrail_site.demo.play import play_demo

    play_demo(system=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())
    Membership.objects.filter(team=house.team, person=house.alice.person).delete()
    return Team.objects.get(name="Demo")


def pages_of(team):
    from traces_app.models import TraceEvent
    from workflows_app.models import Resource, Workflow

    def row(workflow_id):
        return Workflow.objects.get(team=team, workflow_id=workflow_id).pk

    hotfix, release = row("team.hotfix"), row("team.release")
    return {
        "workflows": f"{WORKFLOWS}/workflow/",
        "workflow-steps": f"{WORKFLOWS}/workflow/{hotfix}/change/",
        "workflow-folder": f"{WORKFLOWS}/workflow/{release}/change/",
        "workflow-source": f"{WORKFLOWS}/workflow/{hotfix}/change/?tab=source",
        "workflow-revisions": f"{WORKFLOWS}/workflow/{hotfix}/change/?tab=revisions",
        "workflow-compare": f"{WORKFLOWS}/workflow/{hotfix}/compare/?base=1&revision=2",
        "workflow-edit": f"{WORKFLOWS}/workflow/{hotfix}/edit/",
        "workflow-edit-folder": f"{WORKFLOWS}/workflow/{release}/edit/?file=activities/01-prepare.yaml",
        "workflow-import": f"{WORKFLOWS}/workflow/import/",
        "skills": f"{WORKFLOWS}/skill/",
        "members": f"{TEAMS}/membership/",
        "invite": f"{TEAMS}/membership/invite/",
        "agent-keys": f"{TEAMS}/agentkey/",
        "audit": f"{TEAMS}/auditentry/",
        "settings": f"{TEAMS}/team/",
        "health": "/studio/health/",
        "resources": f"{WORKFLOWS}/resource/",
        "resource": f"{WORKFLOWS}/resource/{Resource.objects.filter(text__contains='Release note').get().pk}/change/",
        "start": f"{WORKFLOWS}/workflow/{hotfix}/start/",
        "traces": "/studio/traces_app/traceevent/",
        "call": f"/studio/traces_app/traceevent/{TraceEvent.objects.filter(team_id=team.pk).latest('id').pk}/change/",
        "workflow-table": f"{WORKFLOWS}/workflow/{hotfix}/change/?as=table",
        "workflow-new": f"{WORKFLOWS}/workflow/new/",
        "workflow-copy": f"{WORKFLOWS}/workflow/{hotfix}/fork/",
        "workflow-retire": f"{WORKFLOWS}/workflow/{hotfix}/retire/",
        "templates": f"{WORKFLOWS}/template/",
        "contracts": f"{WORKFLOWS}/teamcontract/",
        "slots": f"{WORKFLOWS}/binding/",
        "names": f"{WORKFLOWS}/alias/",
        "where-notices-go": f"{TEAMS}/endpoint/",
        "your-notices": f"{TEAMS}/membership/notices/",
        "token-new": f"{TEAMS}/personaltoken/issue/",
        "password": "/studio/password_change/",
        "team-rename": f"{TEAMS}/team/{team.pk}/rename/",
        "kept": "/studio/sessions_app/retention/",
        "exports": "/studio/sessions_app/bundlejob/",
        "find": "/studio/find/",
        "tokens": f"{TEAMS}/personaltoken/",
    }


def test_every_page_is_drawn_in_both_themes_and_widths(house, demo, live_server, tmp_path):
    paths = pages_of(demo)
    to = Path(os.environ.get("WORKRAIL_PICTURES", tmp_path))

    faults, complaints = browse(live_server.url, house.alice.person, lambda page: photograph(page, paths, to))

    assert complaints == []
    assert faults == []
