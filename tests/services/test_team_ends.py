"""A team ends: at once for everybody in it, later for all that it had, and never for another team."""

import gzip
import json
from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from sessions_app.engine.bundle_checks import examine_bundle
from sessions_app.engine.bundle_reader import read_bundle
from sessions_app.engine.signatures import public_text, signing_key
from sessions_app.engine.team_folders import read_manifest, write_manifest
from sessions_app.models import WorkSession
from sessions_app.services.bundles.signing import own_signers
from sessions_app.services.expiry import collection, ended_teams
from sessions_app.services.expiry.ended_teams import SETTLED, empty_ended_teams, end_team
from sessions_app.services.expiry.retention import hold_session
from sessions_app.services.upkeep import ledger
from sessions_app.services.upkeep.verification import verify_all
from teams_app import selectors
from teams_app.engine.actors import NO_TEAM, Door, TokenGrant, TokenScope, system_actor
from teams_app.engine.errors import (
    ForbiddenError,
    HumanRequiredError,
    InvalidInputError,
    KeyRevokedError,
    NotFoundError,
    PreconditionFailedError,
)
from teams_app.models import Membership, Team
from teams_app.services.first_run import prepare_first_run
from teams_app.services.keys import authenticate_key
from teams_app.services.roles import UPKEEP_ROLE
from tests import run_cast
from tests.as_web import as_role, as_web, grant
from tests.cast import issue
from tests.furnished import furnish
from tests.kept_rows import rows_in_tables
from tests.run_cast import NOW, begin, plain_steps, session_id
from tests.workflow_cast import seated
from traces_app.services.retention import keep_traces

pytestmark = pytest.mark.django_db(transaction=True)

SYSTEM = system_actor(team_id=NO_TEAM, door=Door.TASK)
NAME = "Alice's team"
# What tells of the team when it is gone.
STAYS = {"teams_app_auditentry", "teams_app_audithead", "sessions_app_ledger", "sessions_app_ledgerentry"}


@pytest.fixture
def furnished():
    made = furnish()
    ledger.enter_sessions(actor=SYSTEM, now=NOW)
    return made


def owner_of(desk):
    return replace(desk.owner, door=Door.STUDIO)


def emptied(now=NOW + SETTLED * 2, most=2000, **more):
    deleted = empty_ended_teams(actor=SYSTEM, now=now, most=most, **more)
    keep_traces(actor=SYSTEM, now=now)
    collection.collect_unreferenced(actor=SYSTEM)
    return deleted


def sound():
    return [str(finding) for finding in verify_all(actor=SYSTEM)]


def test_nobody_acts_in_it_from_then_on(furnished):
    desk = furnished.desk
    key = issue(desk.owner)
    end_team(actor=owner_of(desk), name=NAME, now=NOW)

    with pytest.raises(KeyRevokedError):
        authenticate_key(text=key.text, door=Door.MCP, now=NOW)
    assert not Membership.objects.filter(team_id=desk.team_id).exists()
    with pytest.raises(NotFoundError):
        selectors.find_team(actor=SYSTEM, named=NAME)
    with pytest.raises(NotFoundError):
        end_team(actor=owner_of(desk), name=NAME, now=NOW)


def test_all_that_it_had_goes_and_nothing_of_another_team(furnished):
    desk = furnished.desk
    other = run_cast.published(
        replace(desk, person=replace(desk.person, team_id=desk.stranger.team_id)), *plain_steps(2)
    )
    run_cast.start(desk, other, actor=desk.stranger)
    ledger.enter_sessions(actor=SYSTEM, now=NOW)
    theirs = rows_in_tables(desk.stranger.team_id)
    assert len({table for table, _ in rows_in_tables(desk.team_id)}) > 25

    end_team(actor=owner_of(desk), name=NAME, now=NOW)
    assert empty_ended_teams(actor=SYSTEM, now=NOW + SETTLED / 2, most=9) == 0
    assert emptied() > 0

    assert {table for table, _ in rows_in_tables(desk.team_id)} <= STAYS
    assert rows_in_tables(desk.stranger.team_id) == theirs
    assert sound() == []
    assert emptied() == 0


def test_what_nobody_else_has_of_its_workflows_goes_too(furnished):
    end_team(actor=owner_of(furnished.desk), name=NAME, now=NOW)
    emptied()

    for table in ("revision", "revisionfile", "blob", "program", "content"):
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM workflows_app_{table}")
            assert cursor.fetchone() == (0,), table


def test_the_audit_log_and_the_ledger_tell_of_it(furnished):
    desk = furnished.desk
    end_team(actor=owner_of(desk), name=NAME, now=NOW)
    deleted = emptied()

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT action, actor_name, details FROM teams_app_auditentry WHERE team_id = %s ORDER BY number DESC LIMIT 2",
            [desk.team_id],
        )
        last, before = cursor.fetchall()
        cursor.execute(
            "SELECT count(*) FROM sessions_app_ledgerentry WHERE team_id = %s AND kind = 'deleted' AND reason = %s",
            [desk.team_id, ended_teams.REASON],
        )
        assert cursor.fetchone() == (deleted,)
    assert (last[0], before[0], before[1]) == ("team.emptied", "team.ended", desk.owner.name)
    assert f'"sessions": {deleted}' in last[2]


def test_whoever_ends_it_is_an_owner_who_is_there_and_writes_its_name(furnished):
    desk = furnished.desk
    grant_ = TokenGrant(id="pat_x", name="laptop", scopes=frozenset(TokenScope), answers_human=True)
    for actor, refusal in (
        (desk.person, ForbiddenError),
        (desk.agent, ForbiddenError),
        (owner_of(desk).by_token(grant_), HumanRequiredError),
    ):
        with pytest.raises(refusal):
            end_team(actor=actor, name=NAME, now=NOW)
    for name in ("", "alice's team", "Charlie's team"):
        with pytest.raises(InvalidInputError):
            end_team(actor=owner_of(desk), name=name, now=NOW)
    assert Team.objects.get(pk=desk.team_id).ended_at is None


def test_what_is_held_holds_the_team():
    desk = run_cast.make_desk()
    value = begin(desk, *plain_steps(2))
    hold_session(actor=desk.person, session_id=session_id(value), reason="A case.", now=NOW)

    with pytest.raises(PreconditionFailedError, match="1 session of the team is held"):
        end_team(actor=owner_of(desk), name=NAME, now=NOW)

    assert Team.objects.get(pk=desk.team_id).ended_at is None
    assert run_cast.advance(desk.agent, value).value["kind"] == "ok"


class DiedError(Exception):
    pass


@pytest.mark.parametrize("at", range(8))
def test_it_may_die_anywhere_and_goes_on(at):
    desk = run_cast.make_desk()
    begin(desk, *plain_steps(2))
    for _ in range(4):
        run_cast.start(desk)
    ledger.enter_sessions(actor=SYSTEM, now=NOW)
    end_team(actor=owner_of(desk), name=NAME, now=NOW)
    left = at

    def fail(_where):
        nonlocal left
        if left == 0:
            raise DiedError
        left -= 1

    try:
        emptied(fail=fail)
    except DiedError:
        assert sound() == []
    emptied(most=2)
    emptied()

    assert {table for table, _ in rows_in_tables(desk.team_id)} <= STAYS
    assert sound() == []


def test_the_roles_that_serve_and_keep_the_store_do_it(furnished):
    grant()
    desk = furnished.desk
    with as_web(desk.team_id):
        end_team(actor=owner_of(desk), name=NAME, now=NOW)
    with as_role(UPKEEP_ROLE):
        assert emptied() > 0
        assert sound() == []
    assert {table for table, _ in rows_in_tables(desk.team_id)} <= STAYS


def test_a_server_whose_teams_have_all_ended_begins_anew(furnished):
    desk = furnished.desk
    for team in Team.objects.filter(ended_at__isnull=True):
        end_team(actor=seated(replace(owner_of(desk), team_id=team.pk)), name=team.name, now=NOW)

    assert prepare_first_run(actor=SYSTEM, now=NOW + timedelta(days=1)).created
    assert selectors.find_team(actor=SYSTEM, named="").name


def command(*arguments):
    out = StringIO()
    call_command("teams", *arguments, stdout=out)
    return out.getvalue()


def test_all_that_a_team_has_is_written_to_a_folder_before_it_ends(tmp_path):
    desk = run_cast.make_desk()
    value = begin(desk, *plain_steps(2))
    folder = tmp_path / "left"

    told = command("end", NAME, "--name", NAME, "--export", str(folder))

    assert "Wrote 4 files" in told
    with gzip.open(folder / "sessions" / f"{value['session']['sessionId']}.json.gz") as bundle:
        examine_bundle(read_bundle(read_line=bundle.readline))
    assert (folder / "workflows" / "team.sample.json").read_bytes()
    assert '"workflow.published"' in (folder / "audit.jsonl").read_text()
    assert NAME not in command("list")


def test_a_team_with_a_session_that_cannot_be_written_is_told_of_it_and_does_not_end(tmp_path):
    desk = run_cast.make_desk()
    values = [begin(desk, *plain_steps(2)), run_cast.start(desk).value]
    folder, (damaged, sound) = tmp_path / "left", [value["session"]["sessionId"] for value in values]
    WorkSession.objects.filter(pk=session_id(values[0])).update(head_seal="x")

    with pytest.raises(CommandError, match=f"(?s){damaged}.*verify_store"):
        command("end", NAME, "--name", NAME, "--export", str(folder))

    assert [path.name for path in (folder / "sessions").iterdir()] == [f"{sound}.json.gz"]
    assert (folder / "audit.jsonl").exists()
    assert NAME in command("list")


def test_a_folder_that_cannot_be_written_and_another_name_end_nothing(tmp_path):
    desk = run_cast.make_desk()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").touch()
    (tmp_path / "file").touch()

    for arguments, words in (
        (["--name", NAME, "--export", str(tmp_path / "full")], "is not empty"),
        (["--name", NAME, "--export", str(tmp_path / "file" / "x")], "cannot be written"),
        (["--name", "Other", "--export", str(tmp_path / "new")], "not the name"),
    ):
        with pytest.raises(CommandError, match=words):
            command("end", NAME, *arguments)
    assert not (tmp_path / "new").exists()
    assert Team.objects.get(pk=desk.team_id).ended_at is None


def lines_of(path):
    return path.read_bytes().splitlines(keepends=True)


LINES = {
    "changed": lambda lines: [lines[0].replace(b'"actor"', b'"acted"'), *lines[1:]],
    "dropped": lambda lines: lines[1:],
    "dropped at the end": lambda lines: lines[:-1],
    "reordered": lambda lines: [lines[1], lines[0], *lines[2:]],
    "added": lambda lines: [*lines, lines[-1]],
    "emptied": lambda lines: [],
}


def exported(folder):
    desk = run_cast.make_desk()
    begin(desk, *plain_steps(2))
    command("export", NAME, str(folder))
    return desk


def verified(folder, *arguments):
    out = StringIO()
    call_command("verify", str(folder), *arguments, stdout=out)
    return out.getvalue()


def test_whatever_is_done_to_a_file_of_a_team_that_was_written_is_told(tmp_path):
    folder = tmp_path / "left"
    exported(folder)
    assert f"Signed by {own_signers()[0]}" in verified(folder, f"--signer={own_signers()[0]}")
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json"]
    assert len(files) == 3

    for path in files:
        before = path.read_bytes()
        for other in {before + b"x", before[:-1], b""}:
            path.write_bytes(other)
            with pytest.raises(CommandError, match=f"BUNDLE_INTEGRITY_FAILED.*{path.name} was changed"):
                verified(folder)
        path.unlink()
        with pytest.raises(CommandError, match=f"BUNDLE_INTEGRITY_FAILED.*{path.name} is gone"):
            verified(folder)
        path.write_bytes(before)
        added = path.with_name("added")
        added.write_bytes(before)
        with pytest.raises(CommandError, match=r"BUNDLE_INTEGRITY_FAILED.*added was added"):
            verified(folder)
        added.unlink()
    verified(folder)


@pytest.mark.parametrize("change", LINES)
def test_a_line_of_the_audit_log_that_is_another_one_is_told(tmp_path, change):
    folder = tmp_path / "left"
    exported(folder)
    lines = lines_of(folder / "audit.jsonl")
    assert len(lines) >= 2

    (folder / "audit.jsonl").write_bytes(b"".join(LINES[change](lines)))

    with pytest.raises(CommandError, match=r"BUNDLE_INTEGRITY_FAILED.*audit\.jsonl was changed"):
        verified(folder)


def test_the_manifest_of_a_team_is_what_was_signed(tmp_path):
    folder = tmp_path / "left"
    exported(folder)
    manifest = folder / "manifest.json"
    signed = manifest.read_bytes()
    value = json.loads(signed)
    fewer = value | {"manifest": value["manifest"] | {"files": value["manifest"]["files"][1:]}}
    unvouched = value | {"manifest": value["manifest"] | {"notVouchedFor": ["audit.jsonl"]}}
    other = signing_key(secret=b"x" * 32)
    forged = value | {"signature": value["signature"] | {"publicKey": public_text(other)}}
    for data, code in (
        (json.dumps(fewer).encode(), "BUNDLE_SIGNATURE_INVALID"),
        (json.dumps(unvouched).encode(), "BUNDLE_SIGNATURE_INVALID"),
        (json.dumps(forged).encode(), "BUNDLE_SIGNATURE_INVALID"),
        (signed.replace(b"{", b"{ ", 1), "BUNDLE_SIGNATURE_INVALID"),
        (signed[:-1], "BUNDLE_INVALID_FORMAT"),
        (b"[" * 100_000, "BUNDLE_INVALID_FORMAT"),
        (b'{"manifest": {}}', "BUNDLE_INVALID_FORMAT"),
    ):
        manifest.write_bytes(data)
        with pytest.raises(CommandError, match=code):
            verified(folder)
    manifest.write_bytes(write_manifest(manifest=read_manifest(signed)[0], key=other))
    with pytest.raises(CommandError, match="It was not signed by"):
        verified(folder, f"--signer={own_signers()[0]}")
    manifest.unlink()
    with pytest.raises(CommandError, match=r"has no manifest\.json"):
        verified(folder)


def test_an_audit_log_that_somebody_changed_is_written_and_not_vouched_for(tmp_path):
    desk = run_cast.make_desk()
    begin(desk, *plain_steps(2))
    folder = tmp_path / "left"
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE teams_app_auditentry DISABLE TRIGGER USER")
        cursor.execute("UPDATE teams_app_auditentry SET actor_name = 'Other' WHERE team_id = %s", [desk.team_id])
        cursor.execute("ALTER TABLE teams_app_auditentry ENABLE TRIGGER USER")

    with pytest.raises(CommandError, match=r"(?s)audit\.jsonl.*verify_store"):
        command("end", NAME, "--name", NAME, "--export", str(folder))

    assert '"Other"' in (folder / "audit.jsonl").read_text()
    assert "Nobody vouches for audit.jsonl" in verified(folder)
    assert NAME in command("list")
