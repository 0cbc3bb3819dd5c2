"""What a fresh installation is given, once."""

import json

import pytest

from teams_app.engine.actors import NO_TEAM, ActorKind, Door, Scope, system_actor
from tests.cast import NOW, audited

pytestmark = pytest.mark.django_db


def run():
    from teams_app.services.first_run import prepare_first_run

    return prepare_first_run(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=NOW)


def test_the_first_run_makes_a_team_its_owner_and_a_key_with_every_scope():
    from teams_app.models import Membership, Team
    from teams_app.services.keys import authenticate_key

    done = run()

    membership = Membership.objects.select_related("person", "team").get()
    assert (membership.person.username, membership.role, membership.team.name) == ("owner", "owner", done.team)
    assert membership.person.check_password(done.password)
    actor = authenticate_key(text=done.key, door=Door.MCP, now=NOW)
    assert (actor.kind, actor.scopes) == (ActorKind.AGENT_KEY, frozenset(Scope))
    assert audited(Team.objects.get()) == ["team.created", "key.issued"]


def test_a_second_run_makes_nothing_and_shows_nothing():
    from teams_app.models import AgentKey, Team

    first = run()

    second = run()

    assert (second.created, second.password, second.key) == (False, None, None)
    assert (second.team, second.username) == (first.team, first.username)
    assert (Team.objects.count(), AgentKey.objects.count()) == (1, 1)


def test_the_command_prints_one_line_of_json(capsys):
    from django.core.management import call_command

    call_command("first_run")

    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    told = json.loads(printed)
    assert sorted(told) == ["created", "key", "password", "team", "username"]
    assert told["created"] is True
