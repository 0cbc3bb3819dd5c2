"""The whole store is checked on one state of the tables: right while agents work, in time that grows with what is stored."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from threading import Event
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from sessions_app.models import Ledger
from sessions_app.services.moves import sessions
from sessions_app.services.upkeep import ledger
from sessions_app.services.upkeep.verification import verify_all
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import ForbiddenError
from teams_app.engine.ids import Prefix, to_text
from teams_app.models import AuditHead
from teams_app.services.audit import record_audit
from teams_app.services.roles import APP_ROLE
from tests import run_cast
from tests.checkpoint_cast import at_question
from tests.database_watch import rows_and_pages_read
from tests.run_cast import NOW, advanced, begin, plain_steps, session_id
from tests.services.test_plantings import World
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db(transaction=True)

SYSTEM = system_actor(team_id=NO_TEAM, door=Door.CLI)


@pytest.fixture
def desk():
    return run_cast.make_desk()


class KilledError(Exception):
    pass


def findings(**options):
    return [str(finding) for finding in verify_all(actor=SYSTEM, **options)]


def spoil(value):
    from sessions_app.models import WorkSession

    WorkSession.objects.filter(pk=session_id(value)).update(title="Other")


def run_command(*arguments):
    out = StringIO()
    try:
        call_command("verify_store", *arguments, stdout=out, stderr=StringIO())
    except SystemExit as end:
        return int(end.code), out.getvalue()
    return 0, out.getvalue()


def test_a_whole_store_has_no_finding_and_a_spoilt_one_names_the_session(desk):
    value = begin(desk, *plain_steps(3))
    advanced(desk.agent, value)
    assert run_command() == (0, "1 session checked, 0 promises broken.\n")

    spoil(value)

    code, out = run_command()
    assert code == 1
    assert value["session"]["sessionId"] in out
    assert "column_mismatch" in out


def test_it_is_right_while_agents_write(desk):
    """A writer goes on between any two rows that are read; what the check sees is what was there when it began."""
    begin(desk, *plain_steps(200))
    values = [run_cast.start(desk).value for _ in range(4)]
    stop = Event()

    def write():
        from django.db import connections

        try:
            while not stop.is_set():
                values[:] = [advanced(desk.agent, value) for value in values]
                run_cast.start(desk)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            found = [findings() for _ in range(5)]
        finally:
            stop.set()
        writing.result()

    assert found == [[]] * 5


def test_one_session_is_checked_as_it_is_at_one_moment(desk):
    """The agent goes on before each statement of the check."""
    standing = [begin(desk, *plain_steps(200))]

    def go_on():
        from django.db import connections

        try:
            standing[0] = advanced(desk.agent, standing[0])
        finally:
            connections.close_all()

    def beside(execute, sql, params, many, context):
        pool.submit(go_on).result()
        return execute(sql, params, many, context)

    with ThreadPoolExecutor(1) as pool, connection.execute_wrapper(beside):
        told = run_command("--session", standing[0]["session"]["sessionId"])

    assert told == (0, "1 session checked, 0 promises broken.\n")
    assert standing[0]["pending"]["stepId"] not in {"step-0", "step-1"}


REMAINS = ("event", "run", "node", "output", "attempt", "gap", "checkpointrequest", "handle")


def delete_by_hand(value, tables):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE sessions_app_event DISABLE TRIGGER USER")
        for table in tables:
            cursor.execute(f"DELETE FROM sessions_app_{table} WHERE session_id = %s", [session_id(value)])
        cursor.execute("DELETE FROM sessions_app_worksession WHERE id = %s", [session_id(value)])
        cursor.execute("ALTER TABLE sessions_app_event ENABLE TRIGGER USER")


@pytest.mark.parametrize(("tables", "reason"), [(REMAINS, "session_gone"), (REMAINS[2:], "session_row_gone")])
def test_the_check_of_one_session_tells_that_it_is_gone(desk, tables, reason):
    value = begin(desk, *plain_steps(3))
    ledger.enter_sessions(actor=SYSTEM, now=NOW)
    delete_by_hand(value, tables)

    code, out = run_command("--session", value["session"]["sessionId"])

    assert (code, reason in out) == (1, True)


def test_the_check_of_one_session_tells_that_nobody_entered_it(desk):
    value = begin(desk, *plain_steps(3))
    run_cast.start(desk, now=NOW + timedelta(hours=5))
    ledger.enter_sessions(actor=SYSTEM, now=NOW + timedelta(hours=5))
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE sessions_app_ledgerentry DISABLE TRIGGER USER")
        cursor.execute("DELETE FROM sessions_app_ledgerentry WHERE session_id = %s", [session_id(value)])
        cursor.execute("ALTER TABLE sessions_app_ledgerentry ENABLE TRIGGER USER")

    assert "session_not_entered" in run_command("--session", value["session"]["sessionId"])[1]


@pytest.mark.parametrize("table", ["node", "gap", "checkpointrequest", "handle", "run", "output", "attempt", "event"])
def test_the_check_of_one_session_misses_what_is_said_to_be_of_another(table):
    world = World()
    of = {"checkpointrequest": world.asked}.get(table, world.session)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE sessions_app_event DISABLE TRIGGER USER")
        if table == "handle":
            cursor.execute("SELECT session_id FROM sessions_app_handle LIMIT 1")
            (of,) = cursor.fetchone()
        moved = f"UPDATE sessions_app_{table} SET session_id = gen_random_uuid() WHERE session_id = %s"
        cursor.execute(moved, [of])
        assert cursor.rowcount
        cursor.execute("ALTER TABLE sessions_app_event ENABLE TRIGGER USER")

    assert run_command("--session", to_text(Prefix.SESSION, of))[0] == 1


def test_the_check_of_a_session_that_was_deleted_or_never_was_says_so(desk):
    from sessions_app.services.expiry.deletion import delete_session

    value = begin(desk, *plain_steps(3))
    delete_session(actor=desk.owner, session_id=session_id(value), reason="They asked for it.", now=NOW)

    with pytest.raises(CommandError, match=r"It was deleted, .*They asked for it\."):
        run_command("--session", value["session"]["sessionId"])
    with pytest.raises(CommandError, match="There is no such session"):
        run_command("--session", to_text(Prefix.SESSION, UUID(int=7)))


def test_a_role_that_is_shown_the_rows_of_one_team_finds_nothing_sound():
    """As where the command is run beside the web server, with what that is given."""
    from tests.as_web import as_role, grant

    grant()
    with as_role(APP_ROLE):
        assert "rows_may_be_hidden" in {text.split(": ")[1] for text in findings()}


def test_sessions_that_nobody_worked_on_since_are_left_out(desk):
    old, new = begin(desk, *plain_steps(3)), run_cast.start(desk, now=NOW + timedelta(days=3)).value
    spoil(old)

    assert len(findings()) == 1
    assert findings(since=NOW + timedelta(days=2)) == []
    spoil(new)
    assert len(findings(since=NOW + timedelta(days=2))) == 1


@pytest.mark.parametrize("since", ["2026-11-20", "2026-11-20T00:00", "30000d", "9h"])
def test_the_command_reads_times_and_spans(desk, since):
    begin(desk, *plain_steps(3))

    assert run_command("--since", since)[0] == 0


def test_the_command_refuses_what_is_no_time():
    with pytest.raises(CommandError, match="no time"):
        run_command("--since", "lately")


@pytest.mark.measures
def test_ten_times_as_many_sessions_are_read_with_ten_times_as_many_pages(desk):
    begin(desk, *plain_steps(5))

    def grown_by(count):
        for _ in range(count):
            value = run_cast.start(desk).value
            for _ in range(4):
                value = advanced(desk.agent, value)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        return rows_and_pages_read(findings)[1]

    few_rows, few_pages = grown_by(20)
    many_rows, many_pages = grown_by(180)

    assert many_rows <= 13 * few_rows
    assert many_pages <= 13 * few_pages


def test_how_far_it_is_is_told(desk):
    begin(desk, *plain_steps(3))
    told = []

    list(verify_all(actor=SYSTEM, progress=lambda checked: told.append((checked.sessions, checked.events > 0))))

    assert told[-1] == (1, True)


def test_only_the_server_checks_all_teams(desk):
    with pytest.raises(ForbiddenError):
        list(verify_all(actor=desk.owner))


# Ledgers


def test_sessions_are_entered_once_however_often_it_is_asked(desk):
    begin(desk, *plain_steps(3))
    run_cast.start(desk)

    entered = [ledger.enter_sessions(actor=SYSTEM, now=NOW + timedelta(minutes=turn)) for turn in range(3)]

    assert [each.begun for each in entered] == [2, 0, 0]
    assert findings() == []


def test_a_session_of_a_machine_with_a_wrong_clock_is_entered_by_the_look_at_all(desk):
    begin(desk, *plain_steps(3))
    ledger.enter_sessions(actor=SYSTEM, now=NOW)
    run_cast.start(desk, now=NOW - timedelta(hours=9))

    by_the_minute = ledger.enter_sessions(actor=SYSTEM, now=NOW + timedelta(minutes=1))
    told = findings()
    by_the_day = ledger.enter_sessions(actor=SYSTEM, now=NOW + timedelta(minutes=2), whole=True)

    assert (by_the_minute.begun, by_the_day.begun) == (0, 1)
    assert [finding.split(": ")[1] for finding in told] == ["session_not_entered"]
    assert findings() == []


def test_a_person_enters_a_session_of_a_machine_with_a_wrong_clock_by_the_command(desk):
    begin(desk, *plain_steps(3))
    ledger.enter_sessions(actor=SYSTEM, now=NOW)
    run_cast.start(desk, now=NOW - timedelta(days=9))
    assert "./workrail seal_store;" in findings()[0]

    out = StringIO()
    call_command("seal_store", stdout=out)

    assert "1 session entered" in out.getvalue()
    assert findings() == []


def test_a_line_that_somebody_wrote_into_one_ledger_stops_no_other(desk):
    """The role that serves requests may add lines; the next one of the task would have that number."""

    def begin_in_both():
        for agent in (desk.agent, desk.stranger):
            sessions.start_session(
                actor=agent, title="Notes", observations={}, now=NOW, entropy=os.urandom, speech=RAIL
            )

    begin_in_both()
    ledger.enter_sessions(actor=SYSTEM, now=NOW)
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO sessions_app_ledgerentry (team_id, number, kind, session_id, next_event_index, head_digest, reason, entered_at, digest, seal)
            SELECT team_id, number + 1, kind, gen_random_uuid(), next_event_index, head_digest, reason, entered_at, digest, seal
            FROM sessions_app_ledgerentry WHERE team_id = %s ORDER BY number DESC LIMIT 1""",
            [desk.team_id],
        )

    begin_in_both()
    entered = ledger.enter_sessions(actor=SYSTEM, now=NOW + timedelta(hours=4), whole=True)

    assert (entered.begun, entered.refused) == (1, 1)
    assert {text.split(": ")[1] for text in findings()} >= {"ledger_truncated", "session_not_entered"}


def test_two_runs_at_once_enter_each_session_once(desk):
    begin(desk, *plain_steps(3))
    for _ in range(5):
        run_cast.start(desk)

    def enter(_):
        from django.db import connections

        try:
            return ledger.enter_sessions(actor=SYSTEM, now=NOW).begun
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(enter, range(4))) == 6
    assert findings() == []


def test_a_deletion_that_is_entered_is_none_to_wonder_about(desk):
    value = begin(desk, *plain_steps(3))
    ledger.enter_sessions(actor=SYSTEM, now=NOW)

    with transaction.atomic(), connection.cursor() as cursor:
        ledger.enter_deletion(actor=SYSTEM, session_id=session_id(value), reason="over its time", now=NOW)
        cursor.execute("ALTER TABLE sessions_app_event DISABLE TRIGGER USER")
        for table in ("event", "run", "node", "output", "attempt"):
            cursor.execute(f"DELETE FROM sessions_app_{table} WHERE session_id = %s", [session_id(value)])
        cursor.execute("DELETE FROM sessions_app_worksession WHERE id = %s", [session_id(value)])
        cursor.execute("ALTER TABLE sessions_app_event ENABLE TRIGGER USER")

    assert findings() == []


def written_by_a_release_before(value):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE sessions_app_event DISABLE TRIGGER USER")
        cursor.execute("UPDATE sessions_app_event SET seal = NULL WHERE session_id = %s", [session_id(value)])
        cursor.execute("ALTER TABLE sessions_app_event ENABLE TRIGGER USER")
        cursor.execute("UPDATE sessions_app_worksession SET head_seal = '' WHERE id = %s", [session_id(value)])


def test_what_a_release_before_wrote_is_adopted_once_and_sealed_from_then_on(desk):
    old = begin(desk, *plain_steps(4))
    then = advanced(desk.agent, old)
    written_by_a_release_before(old)

    assert ledger.enter_sessions(actor=SYSTEM, now=NOW).adopted == 1
    assert findings() == []
    advanced(desk.agent, then)
    assert findings() == []

    late = run_cast.start(desk).value
    written_by_a_release_before(late)
    assert ledger.enter_sessions(actor=SYSTEM, now=NOW).refused == 1
    assert findings() != []
    assert ledger.enter_sessions(actor=SYSTEM, now=NOW, adopt=True).adopted == 1
    assert findings() == []


def old_sessions(desk, count):
    begun = [begin(desk, *plain_steps(3)), *(run_cast.start(desk).value for _ in range(count - 1))]
    for value in begun:
        written_by_a_release_before(value)
    return begun


@pytest.mark.parametrize("portions", range(1, 4))
def test_a_first_run_that_is_interrupted_goes_on_when_it_is_run_again(desk, monkeypatch, portions):
    old_sessions(desk, 5)
    monkeypatch.setattr(ledger, "_AT_ONCE", 1)
    left = [portions]

    def killed(execute, sql, params, many, context):
        if "NOT EXISTS" in str(sql):
            left[0] -= 1
            if left[0] < 0:
                raise KilledError
        return execute(sql, params, many, context)

    with connection.execute_wrapper(killed), pytest.raises(KilledError):
        ledger.enter_sessions(actor=SYSTEM, now=NOW)
    rest = ledger.enter_sessions(actor=SYSTEM, now=NOW + timedelta(hours=3))

    assert (rest.adopted, rest.refused) == (5 - portions, 0)
    assert findings() == []
    assert ledger.enter_sessions(actor=SYSTEM, now=NOW + timedelta(hours=4)) == ledger.Entered()


def old_audit_logs(desk):
    """Of the two teams, as a release before has written them."""
    for actor in (desk.owner, desk.stranger):
        for _ in range(3):
            record_in_a_transaction(record_audit, actor=actor, action="thing.done", target="x", now=NOW)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE teams_app_auditentry DISABLE TRIGGER USER")
        cursor.execute("UPDATE teams_app_auditentry SET number = NULL, digest = '', seal = ''")
        cursor.execute("DELETE FROM teams_app_audithead")
        cursor.execute("ALTER TABLE teams_app_auditentry ENABLE TRIGGER USER")


def test_nobody_waits_for_the_audit_logs_of_others_to_be_adopted(desk):
    """A long one takes a while; what has been adopted stays so when the run is killed there."""
    old_audit_logs(desk)
    adopted = []

    def act():
        from django.db import connections

        try:
            with transaction.atomic():
                connection.cursor().execute("SET LOCAL lock_timeout = '2s'")
                first = min((desk.owner, desk.stranger), key=lambda each: each.team_id)
                record_audit(actor=first, action="thing.done", target="x", now=NOW)
        finally:
            connections.close_all()

    def beside(execute, sql, params, many, context):
        if str(sql).startswith("INSERT") and "audithead" in str(sql):
            adopted.append(pool.submit(act).result() if adopted else None)
            if len(adopted) == 2:
                raise KilledError
        return execute(sql, params, many, context)

    with ThreadPoolExecutor(1) as pool, connection.execute_wrapper(beside), pytest.raises(KilledError):
        ledger.enter_sessions(actor=SYSTEM, now=NOW)
    ledger.enter_sessions(actor=SYSTEM, now=NOW + timedelta(hours=3))

    assert [end.adopted for end in AuditHead.objects.all()] == [3, 3]
    assert findings() == []


def entries_read(act):
    """How many rows of the audit log a call is given."""
    given = []

    def counted(execute, sql, params, many, context):
        result = execute(sql, params, many, context)
        if str(sql).startswith("SELECT") and "auditentry" in str(sql):
            given.append(context["cursor"].rowcount)
        return result

    with connection.execute_wrapper(counted):
        act()
    return sum(given)


def test_whoever_acts_first_after_an_upgrade_reads_nothing_of_what_was_audited_before(desk):
    """A log of years is adopted by upkeep, with what was entered since; nothing is lost and nobody waits."""
    old_audit_logs(desk)

    def act(action="thing.made"):
        record_in_a_transaction(record_audit, actor=desk.owner, action=action, target="x", now=NOW)

    assert entries_read(act) <= 1
    assert entries_read(act) == 0
    assert {text.split(": ")[1] for text in findings()} >= {"audit_not_entered"}

    ledger.enter_sessions(actor=SYSTEM, now=NOW)
    act()
    assert sorted((end.adopted, end.next_number) for end in AuditHead.objects.all()) == [(3, 0), (3, 3)]
    assert findings() == []


@pytest.mark.parametrize("planted", ["another old entry", "an old entry is gone", "another word"])
def test_what_is_done_to_an_old_audit_log_after_it_was_adopted_is_told(desk, planted):
    old_audit_logs(desk)
    record_in_a_transaction(record_audit, actor=desk.owner, action="thing.made", target="x", now=NOW)
    ledger.enter_sessions(actor=SYSTEM, now=NOW)
    assert findings() == []

    old = "(SELECT id FROM teams_app_auditentry WHERE number IS NULL ORDER BY id LIMIT 1)"
    done = {
        "another old entry": """INSERT INTO teams_app_auditentry (id, team_id, at, actor_kind, actor_id, actor_name, door, action, target,
            request_id, details) SELECT gen_random_uuid(), team_id, at, actor_kind, actor_id, actor_name, door, 'thing.blessed', target,
            request_id, details FROM teams_app_auditentry WHERE number IS NULL LIMIT 1""",
        "an old entry is gone": f"DELETE FROM teams_app_auditentry WHERE id = {old}",
        "another word": f"UPDATE teams_app_auditentry SET action = 'thing.blessed' WHERE id = {old}",
    }
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE teams_app_auditentry DISABLE TRIGGER USER")
        cursor.execute(done[planted])
        # Whoever counts the old entries anew has not the key.
        cursor.execute("UPDATE teams_app_audithead SET adopted = 0, adopted_digest = ''")
        cursor.execute("ALTER TABLE teams_app_auditentry ENABLE TRIGGER USER")
    ledger.enter_sessions(actor=SYSTEM, now=NOW + timedelta(hours=1), adopt=True)

    assert {text.split(": ")[1] for text in findings()} >= {"audit_seal"}


@pytest.mark.parametrize("is_old", [True, False])
@pytest.mark.parametrize("first", ["deletion", "import"])
def test_what_people_do_before_the_first_run_is_not_taken_for_it(desk, first, is_old):
    from sessions_app.services.expiry.deletion import delete_session
    from tests.bundle_play import export, take_in

    gone, kept = old_sessions(desk, 2) if is_old else (begin(desk, *plain_steps(3)), run_cast.start(desk).value)
    later = NOW + timedelta(hours=9)
    if first == "deletion":
        delete_session(actor=desk.owner, session_id=session_id(gone), reason="They asked for it.", now=later)
    else:
        take_in(desk.owner, export(desk.owner, session_id(kept)), now=later)

    assert {text.split(": ")[1] for text in findings()} <= {"seal_missing"}
    assert ledger.enter_sessions(actor=SYSTEM, now=later + timedelta(minutes=1)).refused == 0
    assert findings() == []


def test_a_question_that_a_release_before_has_titled_is_none_to_wonder_about(desk):
    from sessions_app.models import Node

    value = at_question(desk, authority="human")
    node = Node.objects.filter(session_id=session_id(value)).latest("event_index")
    asked = node.pending_key.rpartition("::")[2]
    titled = Node.objects.filter(pk=node.pk)

    titled.update(pending_title=f"Waits for an answer: {asked}"[:256])
    assert findings() == []
    titled.update(pending_title="Waits for an answer: another")
    assert len(findings()) == 1


def test_a_change_of_what_was_adopted_is_found(desk):
    old = begin(desk, *plain_steps(4))
    written_by_a_release_before(old)
    ledger.enter_sessions(actor=SYSTEM, now=NOW)

    written_by_a_release_before(old)
    spoil(old)

    assert {text.split(": ")[1] for text in findings()} == {"seal_missing", "column_mismatch"}


def test_what_another_key_has_sealed_is_checked_as_long_as_that_key_is_kept(desk, settings):
    begin(desk, *plain_steps(3))
    ledger.enter_sessions(actor=SYSTEM, now=NOW)
    before, settings.SEAL_KEYS = settings.SEAL_KEYS, (b"k" * 32, *settings.SEAL_KEYS)
    run_cast.start(desk)
    assert findings() == []

    settings.SEAL_KEYS = before

    assert {text.split(": ")[1] for text in findings()} == {"seal_key_unknown"}


def test_processes_that_have_the_new_key_and_those_that_do_not_yet_may_go_on_side_by_side(desk, settings):
    """As while one after the other is started again; what each has sealed holds, and nothing hangs on the seals afterwards."""
    begin(desk, *plain_steps(3))
    old = settings.SEAL_KEYS
    new = (b"k" * 32, *old)

    def go_on(turn):
        settings.SEAL_KEYS = old if turn % 2 else new
        record_in_a_transaction(record_audit, actor=desk.owner, action="thing.done", target="x", now=NOW)
        run_cast.start(desk)
        ledger.enter_sessions(actor=SYSTEM, now=NOW + timedelta(minutes=turn))

    for turn in range(9):
        go_on(turn)
        settings.SEAL_KEYS = new
        assert findings() == []

    settings.SEAL_KEYS = old
    assert {text.split(": ")[1] for text in findings()} >= {"audit_seal", "ledger_seal", "seal_key_unknown"}
    settings.SEAL_KEYS = new[:1]
    assert {text.split(": ")[1] for text in findings()} >= {"audit_changed", "ledger_changed", "seal_key_unknown"}
    go_on(10)
    assert all(
        " " not in seal for model in (AuditHead, Ledger) for seal in model.objects.values_list("seal", flat=True)
    )


@pytest.mark.slow
def test_270000_events_are_checked_within_a_minute_and_within_little_memory(desk):
    """Copies of one session, sealed as if each had been written: what is checked of them is all that is checked of any."""
    import resource
    import time

    from tests.store_copies import write_copies

    value = begin(desk, *plain_steps(60))
    for _ in range(50):
        value = advanced(desk.agent, value)
    events = write_copies(session_id(value), count=1060)
    assert events >= 270_000
    ledger.enter_sessions(actor=SYSTEM, now=NOW + timedelta(hours=3))
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    began = time.monotonic()
    found = findings()
    took_seconds = time.monotonic() - began

    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) / 1024
    print(f"{events} events in {took_seconds:.1f} s, {grown_mib:.0f} MiB")
    assert found == []
    assert took_seconds < 60
    assert grown_mib < 100


def test_many_small_teams_are_checked_with_few_statements(desk, django_assert_max_num_queries):
    from teams_app.models import Team
    from teams_app.services.ids import new_id

    for number in range(120):
        team = Team.objects.create(id=new_id(now=NOW), name=f"Team {number}", created_at=NOW)
        agent = replace(desk.agent, team_id=team.pk)
        record_in_a_transaction(record_audit, actor=agent, action="team.created", target="x", now=NOW)
        sessions.start_session(actor=agent, title="Notes", observations={}, now=NOW, entropy=os.urandom, speech=RAIL)
    ledger.enter_sessions(actor=SYSTEM, now=NOW)

    with django_assert_max_num_queries(40):
        assert findings() == []


def record_in_a_transaction(record, **entry):
    with transaction.atomic():
        record(**entry)
