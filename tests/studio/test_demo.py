"""`./workrail demo`: what it leaves, and that it does so once."""

import io
from datetime import timedelta

import pytest

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests.cast import NOW

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def played(house):
    from workrail_site.demo.play import play_demo

    return play_demo(system=system_actor(team_id=NO_TEAM, door=Door.CLI), now=NOW)


def test_the_demo_has_work_of_every_kind(house, played):
    from sessions_app.models import CheckpointRequest, Gap, Handle, Node, Run
    from sessions_app.selectors.integrity import verify_session
    from teams_app.models import Team
    from traces_app.models import TraceEvent
    from workflows_app.models import Workflow

    team = Team.objects.get(name="Demo")
    runs = Run.objects.filter(team_id=team.pk)

    assert played.owner == "alice"
    assert runs.count() > 20
    assert {"in_progress", "complete", "complete_with_gaps"} <= set(runs.values_list("status", flat=True))
    assert {"rail", "navigation"} == set(runs.values_list("dialect", flat=True))
    assert {"steps", "activities"} == set(Workflow.objects.filter(team=team).values_list("family", flat=True))
    assert len(set(runs.values_list("created_by", flat=True))) == 4
    assert Node.objects.filter(run_id__in=runs, kind="blocked_attempt").exists()
    assert Gap.objects.filter(run_id__in=runs).exists()
    assert {"open", "answered"} <= set(
        CheckpointRequest.objects.filter(team_id=team.pk).values_list("state", flat=True)
    )
    answers = CheckpointRequest.objects.filter(team_id=team.pk, state="answered").values_list("option_id", flat=True)
    assert {"approve", "send_back", "hold"} <= set(answers)
    assert runs.filter(workflow_id="team.hotfix", status__startswith="complete").count() > 4
    assert Handle.objects.filter(team_id=team.pk, parent_run_id__isnull=False).exists()
    assert TraceEvent.objects.filter(team_id=team.pk).exclude(error_code="").exists()
    assert runs.filter(started_at__lt=NOW - timedelta(days=10)).exists()
    assert [found for run in runs for found in verify_session(run.session_id)] == []


def test_the_store_is_sound_after_a_demo(house):
    from sessions_app.services.upkeep.ledger import enter_sessions
    from sessions_app.services.upkeep.verification import verify_all
    from workrail_site.demo.play import play_demo

    system = system_actor(team_id=NO_TEAM, door=Door.CLI)
    # As on a server that has been there for a while.
    enter_sessions(actor=system, now=NOW - timedelta(minutes=1))

    play_demo(system=system, now=NOW)

    assert [str(finding) for finding in verify_all(actor=system)] == []


def test_the_demo_is_made_once(house, played):
    from django.core.management import CommandError, call_command

    with pytest.raises(CommandError, match="There is a team Demo already"):
        call_command("demo", stdout=io.StringIO())


def test_a_demo_that_was_interrupted_is_put_away_and_the_next_is_whole(house):
    """Before anybody has joined, while people join, and in the midst of the work."""
    from django.db import connection

    from teams_app.models import Membership
    from workrail_site.demo.play import play_demo

    def play():
        return play_demo(system=system_actor(team_id=NO_TEAM, door=Door.CLI), now=NOW)

    def seen():
        return sorted(Membership.objects.filter(person__username="alice").values_list("team__name", flat=True))

    before = seen()
    for statements in (20, 60, 600):
        left = iter(range(statements))

        def interrupt(execute, sql, params, many, context, left=left):
            if next(left, None) is None:
                raise KeyboardInterrupt
            return execute(sql, params, many, context)

        with connection.execute_wrapper(interrupt), pytest.raises(KeyboardInterrupt):
            play()
        assert set(seen()) <= {*before, "Demo (unfinished)"}
        assert seen().count("Demo (unfinished)") <= 1

    play()

    assert seen() == sorted([*before, "Demo"])


def test_once_its_team_has_another_name_there_may_be_another_demo(house, played):
    from teams_app import selectors
    from teams_app.models import Membership, Person, Team
    from teams_app.services.teams import rename_team
    from workrail_site.demo.play import play_demo

    system = system_actor(team_id=NO_TEAM, door=Door.CLI)
    first = Team.objects.get(name="Demo")
    owner = Person.objects.get(username=played.owner)
    theirs = selectors.person_actor(person_id=owner.pk, team_id=first.pk, door=Door.STUDIO)
    rename_team(actor=theirs, name="Earlier", now=NOW)
    before = set(Membership.objects.filter(team=first).values_list("person__username", flat=True))

    play_demo(system=system, now=NOW)

    second = Team.objects.get(name="Demo")
    others = set(Membership.objects.filter(team=second).values_list("person__username", flat=True))
    assert before & others == {"alice"}
    assert len(others) == len(before)
    assert Membership.objects.filter(person__username__in=others - {"alice"}).count() == len(others) - 1
