"""`./workrail agent_keys …`: what it prints, and what it leaves."""

import io
import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from teams_app.engine.actors import Door, Scope
from teams_app.engine.errors import KeyExpiredError, KeyRevokedError
from teams_app.services.keys import authenticate_key
from tests.cast import audited, team_id
from tests.mcp.test_secrets_in_arguments import OTHERS, OWN, STRANGE, everything_kept
from tests.workflow_cast import document

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


# What a command keeps of its words, with the words last.
KEPT_WORDS = {
    "the name of a key": ["agent_keys", "issue"],
    "a login name": ["members", "invite"],
    "the note of a revision": ["workflows", "import", "--message"],
}


@pytest.mark.parametrize("kept", KEPT_WORDS)
def test_no_command_keeps_a_key_that_stands_in_its_words(house, tmp_path, kept):
    """No door looks at them: what is kept is looked at where it is kept."""
    command, *words = KEPT_WORDS[kept]
    file = tmp_path / "a.json"
    beside = {"members": ["viewer"], "workflows": [str(file)]}.get(command, [])
    taken = 0
    for place, secret in enumerate([*OTHERS, *STRANGE, *OWN]):
        file.write_text(json.dumps(document("team.short", name=f"The {place}th")))
        out, said, refused = io.StringIO(), secret if command == "members" else f"Use {secret}", ""
        try:
            call_command(command, *words, said, *beside, "--team", team_id(house.team), stdout=out)
        except CommandError as refusal:
            refused = str(refusal)
        taken += not refused
        assert refused or secret not in OWN
        assert secret not in out.getvalue() + refused

    assert taken == (0 if command == "members" else len(OTHERS) + len(STRANGE))
    all_kept = everything_kept().lower()
    assert ("[redacted]" in all_kept) is bool(taken)
    for secret in (*OTHERS, *STRANGE, *OWN):
        assert secret.lower() not in all_kept
