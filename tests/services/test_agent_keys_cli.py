"""`./workrail agent_keys …`: what it prints, and what it leaves."""

import io
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from teams_app.engine.actors import Door, Scope
from teams_app.engine.errors import KeyExpiredError, KeyRevokedError
from teams_app.services.keys import authenticate_key
from tests.cast import audited, team_id

pytestmark = pytest.mark.django_db


def run(*arguments):
    out = io.StringIO()
    call_command("agent_keys", *arguments, stdout=out)
    return out.getvalue()


def test_a_key_is_made_listed_used_and_revoked_by_whoever_runs_the_server(house):
    of_team = ["--team", team_id(house.team)]
    told = run("issue", "the builder", "--days", "3", "--scope", "runs:read", "--scope", "runs:write", *of_team)
    text = told.splitlines()[-1]

    actor = authenticate_key(text=text, door=Door.REST, now=timezone.now())
    assert (actor.team_id, actor.scopes) == (house.team.pk, {Scope.RUNS_READ, Scope.RUNS_WRITE})
    with pytest.raises(KeyExpiredError):
        authenticate_key(text=text, door=Door.REST, now=timezone.now() + timedelta(days=4))
    (line,) = run("list", *of_team).splitlines()
    assert "the builder  runs:read, runs:write" in line
    assert text not in line

    assert run("revoke", line.split()[0], *of_team) == "the builder is revoked.\n"
    # A process remembers a key that was good for some seconds.
    with pytest.raises(KeyRevokedError):
        authenticate_key(text=text, door=Door.REST, now=timezone.now() + timedelta(hours=1))
    assert run("list", *of_team).rstrip().endswith("revoked")
    assert audited(house.team) == ["key.issued", "key.revoked"]


def test_without_scopes_a_key_may_what_an_agent_needs(house):
    text = run("issue", "an agent", "--team", team_id(house.team)).splitlines()[-1]

    actor = authenticate_key(text=text, door=Door.REST, now=timezone.now())
    assert actor.scopes == {Scope.WORKFLOWS_READ, Scope.RUNS_READ, Scope.RUNS_WRITE}


def test_a_rotated_key_is_shown_once_and_the_old_one_goes_on_for_a_day(house):
    of_team = ["--team", team_id(house.team)]
    old = run("issue", "the builder", "--scope", "runs:read", *of_team).splitlines()[-1]
    key = run("list", *of_team).split()[0]

    told = run("rotate", key, *of_team)
    new = told.splitlines()[-1]

    now = timezone.now()
    assert "goes on until" in told
    assert authenticate_key(text=new, door=Door.REST, now=now).scopes == {Scope.RUNS_READ}
    assert authenticate_key(text=old, door=Door.REST, now=now).scopes == {Scope.RUNS_READ}
    with pytest.raises(KeyExpiredError):
        authenticate_key(text=old, door=Door.REST, now=now + timedelta(days=2))
    assert audited(house.team) == ["key.issued", "key.issued", "key.rotated"]
    with pytest.raises(CommandError, match="ends within a day"):
        run("rotate", key, *of_team)


def test_what_cannot_be_done_is_refused_in_words(house):
    with pytest.raises(CommandError, match="no such key"):
        run("revoke", "key_nothing", "--team", team_id(house.team))
    with pytest.raises(CommandError, match="no such key"):
        run("rotate", "key_nothing", "--team", team_id(house.team))
    with pytest.raises(CommandError, match="Name one with --team: "):
        run("list")
