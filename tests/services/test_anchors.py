"""An anchor outside tells what even the owner of the database, with the keys of the server, has rewritten since."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from celery.exceptions import Retry
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from sessions_app.services.store import appends
from sessions_app.services.upkeep import anchors, ledger
from sessions_app.tasks import keep_anchor
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.services.audit import record_audit
from teams_app.services.outgoing import NotDeliveredError
from tests import logs, run_cast
from tests.notice_board import OK, NoticeBoard
from tests.run_cast import NOW, advanced, begin, plain_steps, session_id

pytestmark = pytest.mark.django_db(transaction=True)

SYSTEM = system_actor(team_id=NO_TEAM, door=Door.CLI)


@pytest.fixture
def desk():
    return run_cast.make_desk()


@pytest.fixture
def value(desk):
    begun = advanced(desk.agent, begin(desk, *plain_steps(4)))
    with transaction.atomic():
        record_audit(actor=desk.owner, action="thing.made", target="thing", now=NOW)
    ledger.enter_sessions(actor=SYSTEM, now=NOW)
    return begun


@pytest.fixture
def anchor(value, tmp_path):
    path = tmp_path / "anchor.jsonl"
    anchors.write_anchor(actor=SYSTEM, path=path, now=NOW)
    return path


def reasons(path):
    with path.open("rb") as source:
        return [finding.reason for finding in anchors.verify_anchor(actor=SYSTEM, source=source)]


def rolled_back(value, keep):
    """Everything after an event is undone, and the head is sealed anew: as whoever has database and key can do."""
    from sessions_app.engine.log import Head
    from sessions_app.models import Event, WorkSession

    at = session_id(value)
    logs.spread(at)
    row = Event.objects.get(session_id=at, index=keep)
    head = Head(next_index=keep + 1, digest=row.digest)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE sessions_app_event DISABLE TRIGGER USER")
        cursor.execute("DELETE FROM sessions_app_event WHERE session_id = %s AND index > %s", [at, keep])
        cursor.execute("ALTER TABLE sessions_app_event ENABLE TRIGGER USER")
    WorkSession.objects.filter(pk=at).update(
        next_event_index=head.next_index,
        head_digest=head.digest,
        head_seal=appends.head_seal(session_id=at, team_id=row.team_id, head=head),
    )


def test_what_has_only_grown_since_is_all_there(desk, value, anchor):
    advanced(desk.agent, value)
    run_cast.start(desk)
    ledger.enter_sessions(actor=SYSTEM, now=NOW + timedelta(minutes=1))

    assert reasons(anchor) == []


def test_a_log_that_was_rolled_back_and_sealed_anew_is_told(value, anchor):
    rolled_back(value, keep=2)

    assert reasons(anchor) == ["anchor_mismatch"]


@pytest.mark.parametrize(
    ("table", "statement"),
    [
        ("sessions_app_event", "DELETE FROM sessions_app_event"),
        ("sessions_app_ledgerentry", "DELETE FROM sessions_app_ledgerentry"),
        ("teams_app_auditentry", "DELETE FROM teams_app_auditentry"),
        ("sessions_app_event", "UPDATE sessions_app_event SET digest = reverse(digest)"),
        ("teams_app_auditentry", "UPDATE teams_app_auditentry SET digest = reverse(digest)"),
    ],
)
def test_whatever_is_gone_or_another_is_told(anchor, table, statement):
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        cursor.execute(statement)
        cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")

    assert set(reasons(anchor)) == {"anchor_mismatch"}


def test_a_deletion_that_the_ledger_tells_of_is_none_to_wonder_about(value, anchor):
    with transaction.atomic(), connection.cursor() as cursor:
        ledger.enter_deletion(actor=SYSTEM, session_id=session_id(value), reason="over its time", now=NOW)
        cursor.execute("ALTER TABLE sessions_app_event DISABLE TRIGGER USER")
        cursor.execute("DELETE FROM sessions_app_event")
        cursor.execute("ALTER TABLE sessions_app_event ENABLE TRIGGER USER")

    assert reasons(anchor) == []


# As whoever owns the database, or serves requests, can write one: the key of seals is with neither.
FORGED = """
INSERT INTO sessions_app_ledgerentry (team_id, number, kind, session_id, next_event_index, head_digest, reason, entered_at, digest, seal)
SELECT e.team_id, l.next_number, 'deleted', e.session_id, e.next_event_index, e.head_digest, 'over its time', {at}, e.digest, e.seal
FROM sessions_app_ledgerentry e JOIN sessions_app_ledger l ON l.team_id = {team} WHERE e.session_id = %s
"""


@pytest.mark.parametrize("team", ["e.team_id", "'00000000-0000-0000-0000-000000000000'"])
@pytest.mark.parametrize("at", ["e.entered_at", "'infinity'"])
def test_a_deletion_that_somebody_wrote_into_the_ledger_hides_nothing(value, anchor, team, at):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(FORGED.format(team=team, at=at), [session_id(value)])
        cursor.execute("ALTER TABLE sessions_app_event DISABLE TRIGGER USER")
        cursor.execute("DELETE FROM sessions_app_event")
        cursor.execute("ALTER TABLE sessions_app_event ENABLE TRIGGER USER")

    assert reasons(anchor) == ["anchor_mismatch"]


CHANGES = {
    "a line less": lambda lines: lines[:1] + lines[2:],
    "a line twice": lambda lines: lines[:2] + lines[1:],
    "two lines the other way round": lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
    "another number": lambda lines: [lines[0], lines[1].replace("1", "2"), *lines[2:]],
    "no end": lambda lines: lines[:-1],
    "nothing": lambda lines: [],
    "another time": lambda lines: [*lines[:-1], json.dumps(json.loads(lines[-1]) | {"atMs": 1})],
    "another signer": lambda lines: [*lines[:-1], json.dumps(json.loads(lines[-1]) | {"signer": "A" * 43})],
    "no text": lambda lines: ["\0" * 20],
}


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_an_anchor_that_was_changed_is_refused(anchor, change):
    lines = CHANGES[change](anchor.read_text().splitlines())
    anchor.write_text("".join(f"{line}\n" for line in lines))

    with pytest.raises(CommandError, match=str(anchor)):
        call_command("verify_store", "--anchor", str(anchor), stdout=StringIO())


def test_the_commands_write_one_and_check_it(value, tmp_path):
    path, out = tmp_path / "today.jsonl", StringIO()

    call_command("anchor", str(path), stdout=out)
    call_command("verify_store", "--anchor", str(path), stdout=out)

    assert "signed by" in out.getvalue()
    assert "The anchor checked, 0 promises broken." in out.getvalue()
    rolled_back(value, keep=2)
    with pytest.raises(SystemExit):
        call_command("verify_store", "--anchor", str(path), stdout=out)


def test_an_anchor_outlives_two_changes_of_the_key_that_signed_it(anchor, settings):
    for key in (b"n" * 32, b"m" * 32):
        settings.RETIRED_KEYS = (settings.TOKEN_KEY, *settings.RETIRED_KEYS)
        settings.TOKEN_KEY, settings.TOKEN_KEY_PREVIOUS = key, settings.TOKEN_KEY

    assert reasons(anchor) == []


def test_a_worker_keeps_one_each_day(value, tmp_path, settings):
    settings.ANCHOR_DIR = tmp_path / "anchors"

    assert keep_anchor() == keep_anchor()

    (path,) = settings.ANCHOR_DIR.iterdir()
    assert reasons(path) == []


def test_nothing_is_written_where_no_folder_is_named(value, settings):
    settings.ANCHOR_DIR = None

    assert keep_anchor() == ""


@pytest.fixture
def board(tmp_path, monkeypatch, settings):
    settings.WEBHOOK_PRIVATE_HOSTS = ("localhost",)
    opened = NoticeBoard(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(opened.certificate))
    settings.ANCHOR_URL = opened.url
    yield opened
    opened.close()


def taken(board, tmp_path):
    """What the address was sent last, as a file."""
    path = tmp_path / "taken.jsonl"
    path.write_bytes(board.received[-1][2])
    return path


@pytest.mark.parametrize("has_folder", [True, False])
def test_an_address_is_sent_an_anchor_that_tells_what_was_rewritten(value, board, tmp_path, settings, has_folder):
    settings.ANCHOR_DIR = tmp_path / "anchors" if has_folder else None
    keep_anchor()

    assert board.received[0][1]["Content-Type"] == "application/x-ndjson"
    assert reasons(taken(board, tmp_path)) == []
    rolled_back(value, keep=2)
    assert reasons(taken(board, tmp_path)) == ["anchor_mismatch"]


def test_an_address_is_told_of_each_day_once_and_until_it_has_taken_it(value, board, tmp_path, settings):
    settings.ANCHOR_DIR = tmp_path / "anchors"
    board.reply = b"HTTP/1.1 503 Busy\r\n\r\n"
    for _ in range(2):
        with pytest.raises(NotDeliveredError):
            anchors.keep_anchor(actor=SYSTEM, now=NOW)
    board.reply = OK
    for later in (1, 2, 24):
        anchors.keep_anchor(actor=SYSTEM, now=NOW + timedelta(hours=later))

    first, second, third, next_day = (body for _, _, body in board.received)
    assert first == second == third == (settings.ANCHOR_DIR / f"anchor-{NOW:%Y-%m-%d}.jsonl").read_bytes()
    assert next_day != first


def test_a_worker_tries_again_when_the_address_took_nothing(value, board, tmp_path, settings):
    settings.ANCHOR_DIR = tmp_path / "anchors"
    board.reply = b"HTTP/1.1 503 Busy\r\n\r\n"

    with pytest.raises(Retry) as again:
        keep_anchor.apply()

    # What waits in a worker that is killed is handed out again after an hour, so it does not wait for longer.
    assert 0 < again.value.when * keep_anchor.max_retries < 3600
