"""The role that serves requests does all that requests need, and can neither change nor delete history."""

import os
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import ProgrammingError, connection, transaction
from django.utils import timezone

from sessions_app.engine.tables import TABLES
from sessions_app.services.moves import runs, sessions
from sessions_app.services.store.signing_keys import forget_keys
from sessions_app.services.upkeep import ledger
from sessions_app.services.upkeep.tables import ensure_partitions
from sessions_app.services.upkeep.verification import verify_all
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.services.audit import record_audit
from teams_app.services.roles import APP_ROLE, APPEND_ONLY, KEPT, UPKEEP_ROLE, privileges_of
from tests import run_cast
from tests.as_web import as_role, as_web, grant
from tests.checkpoint_cast import answer, at_question, only_row
from tests.engine_play import NEVER_STOP
from tests.handover_cast import WORKFLOW, begun, entered, publish_folder, two_activities
from tests.run_cast import NOW, advance, advanced, begin, bookmark, plain_steps, rehydrate, run_id, session_id
from traces_app.services.retention import keep_traces
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db(transaction=True)

SYSTEM = system_actor(team_id=NO_TEAM, door=Door.TASK)


@pytest.fixture(autouse=True)
def _granted():
    grant()


@pytest.fixture
def desk():
    yield run_cast.make_desk()
    forget_keys()


def test_requests_and_upkeep_do_all_their_work_as_their_roles(desk):
    with as_web(desk.agent.team_id):
        value = begin(desk, *plain_steps(4), preferences=NEVER_STOP)
        then = advanced(desk.agent, value, "")
        bookmark(desk.agent, then)
        assert advance(desk.agent, value, "").replayed
        fresh = rehydrate(desk.agent, value).value
        advance(desk.agent, fresh)
        runs.change_preferences(
            actor=desk.person, run_id=run_id(value), change=NEVER_STOP, now=NOW, entropy=os.urandom, speech=RAIL
        )
        sessions.start_session(
            actor=desk.agent, title="Notes", observations={}, now=NOW, entropy=os.urandom, speech=RAIL
        )
        asked = at_question(desk, authority="human")
        answer(desk.person, only_row(asked), reason="It is right.")
        publish_folder(desk, two_activities(), WORKFLOW)
        held = begun(desk).held
        entered(desk, held.token, "plan")
        with transaction.atomic():
            record_audit(actor=desk.owner, action="thing.made", target="thing", now=NOW)
    with as_role(UPKEEP_ROLE):
        assert ledger.enter_sessions(actor=SYSTEM, now=NOW).begun == 4
        made = ensure_partitions(actor=SYSTEM, today=(timezone.now() + timedelta(days=40)).date())
        keep_traces(actor=SYSTEM, now=timezone.now())
        assert list(verify_all(actor=SYSTEM)) == []
        # For the tests after this one, which count them.
        with connection.cursor() as cursor:
            for name in made:
                cursor.execute("SELECT workrail_drop_partition(%s)", [name])


@pytest.mark.parametrize("role", [APP_ROLE, UPKEEP_ROLE])
@pytest.mark.parametrize("table", sorted(APPEND_ONLY | KEPT))
def test_history_is_neither_changed_nor_deleted(desk, role, table):
    begin(desk, *plain_steps(3))
    forbidden = [
        f"UPDATE {table} SET team_id = team_id",
        f"DELETE FROM {table}",
        f"TRUNCATE {table}",
        f"ALTER TABLE {table} DISABLE TRIGGER ALL",
        f"DROP TABLE {table}",
    ]
    allowed = privileges_of(role, table)
    forbidden = [statement for statement in forbidden if statement.split()[0] not in allowed]
    assert len(forbidden) >= 3

    with as_role(role), connection.cursor() as cursor:
        for statement in forbidden:
            with pytest.raises(ProgrammingError, match=r"permission denied|must be owner"):
                cursor.execute(statement)


def test_no_table_that_the_log_tells_of_is_left_out():
    assert {table.name for table in TABLES.values()} - APPEND_ONLY - KEPT == set()


@pytest.mark.parametrize("role", [APP_ROLE, UPKEEP_ROLE])
def test_the_partitions_are_no_way_around_it(desk, role):
    begin(desk, *plain_steps(3))
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r'")
        partitions = [name for (name,) in cursor.fetchall()]
    assert partitions

    with as_role(role), connection.cursor() as cursor:
        for name in partitions:
            for statement in (f"DELETE FROM {name}", f"UPDATE {name} SET team_id = team_id", f"DROP TABLE {name}"):
                with pytest.raises(ProgrammingError, match=r"permission denied|must be owner"):
                    cursor.execute(statement)


@pytest.mark.parametrize("role", [APP_ROLE, UPKEEP_ROLE])
def test_a_role_owns_nothing_and_makes_nothing(role):
    with as_role(role), connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_class WHERE relowner = current_user::regrole")
        assert cursor.fetchone() == (0,)
        cursor.execute(
            "SELECT rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication FROM pg_roles "
            "WHERE rolname = current_user"
        )
        assert cursor.fetchone() == (False,) * 5
        for statement in (
            "CREATE TABLE own (id int)",
            "SET ROLE workrail",
            "UPDATE django_migrations SET app = app",
        ):
            with pytest.raises(ProgrammingError, match=r"permission denied"):
                cursor.execute(statement)


def test_partitions_are_made_and_dropped_by_upkeep_only_and_only_those(desk):
    make = "SELECT workrail_make_partition(%s, %s, '2031-01-01', '2031-02-01')"
    with as_role(APP_ROLE), connection.cursor() as cursor, pytest.raises(ProgrammingError, match="permission denied"):
        cursor.execute(make, ["sessions_app_event", "sessions_app_event_2031_01"])
    with as_role(UPKEEP_ROLE), connection.cursor() as cursor:
        for parent, name in (
            ("teams_app_team", "teams_app_team_2031_01"),
            ("sessions_app_event", "other_2031_01"),
            ("sessions_app_event", "sessions_app_event_2031_01; DROP TABLE x"),
        ):
            with pytest.raises(ProgrammingError, match="is no partition"):
                cursor.execute(make, [parent, name])
        with pytest.raises(ProgrammingError, match="is no partition"):
            cursor.execute("SELECT workrail_drop_partition('teams_app_team')")
        cursor.execute(make, ["sessions_app_event", "sessions_app_event_2031_01"])
        cursor.execute("SELECT workrail_drop_partition('sessions_app_event_2031_01')")
        assert cursor.fetchone() == (True,)


def test_a_month_of_the_log_that_has_events_is_not_dropped(desk):
    ensure_partitions(actor=SYSTEM, today=NOW.date())
    value = begin(desk, *plain_steps(3))
    month = f"sessions_app_event_{NOW:%Y_%m}"

    with as_role(UPKEEP_ROLE), connection.cursor() as cursor:
        cursor.execute("SELECT workrail_drop_partition(%s)", [month])
        assert cursor.fetchone() == (False,)
    assert run_cast.events(value)


def test_a_session_is_forgotten_only_with_its_entry_in_the_ledger(desk):
    from sessions_app.models import WorkSession
    from sessions_app.selectors.standings import birth_date

    value, other = begin(desk, *plain_steps(3)), run_cast.start(desk).value
    ledger.enter_sessions(actor=SYSTEM, now=NOW)
    forget, gone = "SELECT workrail_forget_session(%s, %s)", session_id(value)

    with as_web(desk.agent.team_id):
        with connection.cursor() as cursor, pytest.raises(ProgrammingError, match="the ledger does not say"):
            cursor.execute(forget, [gone, birth_date(gone)])
        with transaction.atomic(), connection.cursor() as cursor:
            ledger.enter_deletion(actor=SYSTEM, session_id=gone, reason="over its time", now=NOW)
            cursor.execute(forget, [gone, birth_date(gone)])

    assert list(verify_all(actor=SYSTEM)) == []
    assert list(WorkSession.objects.values_list("pk", flat=True)) == [session_id(other)]


def test_a_session_that_a_role_had_forgotten_by_a_line_of_its_own_is_told(desk):
    from sessions_app.selectors.standings import birth_date

    gone = session_id(begin(desk, *plain_steps(3)))
    ledger.enter_sessions(actor=SYSTEM, now=NOW)
    line = """
        INSERT INTO sessions_app_ledgerentry (team_id, number, kind, session_id, next_event_index, head_digest, reason, entered_at, digest, seal)
        SELECT e.team_id, l.next_number, 'deleted', e.session_id, e.next_event_index, e.head_digest, 'over its time', now(), e.digest, e.seal
        FROM sessions_app_ledgerentry e JOIN sessions_app_ledger l USING (team_id) WHERE e.session_id = %s
    """
    with as_web(desk.agent.team_id), connection.cursor() as cursor:
        cursor.execute(line, [gone])
        cursor.execute("SELECT workrail_forget_session(%s, %s)", [gone, birth_date(gone)])

    assert {finding.reason for finding in verify_all(actor=SYSTEM)} >= {"ledger_changed", "ledger_truncated"}


# What a role may make for itself: tables of a name that a function of the owner reads, and what happens when that changes them.
SHADOWS = (
    "CREATE TEMP TABLE sessions_app_ledgerentry (team_id uuid, session_id uuid, kind text)",
    "INSERT INTO pg_temp.sessions_app_ledgerentry VALUES ('{team}', '{session}', 'deleted')",
    "CREATE TEMP TABLE sessions_app_run (id uuid, session_id uuid)",
    "INSERT INTO pg_temp.sessions_app_run VALUES (gen_random_uuid(), '{session}')",
    "GRANT ALL ON pg_temp.sessions_app_ledgerentry, pg_temp.sessions_app_run TO PUBLIC",
    """CREATE FUNCTION pg_temp.as_owner() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN EXECUTE 'ALTER TABLE sessions_app_event DISABLE TRIGGER USER'; RETURN OLD; END $$""",
    """CREATE TRIGGER as_owner BEFORE DELETE ON pg_temp.sessions_app_run
        FOR EACH ROW EXECUTE FUNCTION pg_temp.as_owner()""",
)


@pytest.mark.parametrize("role", [APP_ROLE, UPKEEP_ROLE])
def test_no_table_of_a_role_stands_in_for_one_of_the_owner(desk, role):
    from sessions_app.selectors.standings import birth_date

    value = begin(desk, *plain_steps(3))
    ledger.enter_sessions(actor=SYSTEM, now=NOW)
    session = session_id(value)
    with as_role(role), connection.cursor() as cursor:
        for statement in SHADOWS:
            cursor.execute(statement.format(team=desk.team_id, session=session))
        with pytest.raises(ProgrammingError, match="the ledger does not say"):
            cursor.execute("SELECT workrail_forget_session(%s, %s)", [session, birth_date(session)])

    assert list(verify_all(actor=SYSTEM)) == []


def test_every_function_of_the_owner_reads_no_schema_that_others_write_to():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.oid::regprocedure::text, p.proconfig, current_schema() FROM pg_proc p "
            "WHERE p.prosecdef AND p.pronamespace = current_schema()::regnamespace"
        )
        found = cursor.fetchall()

    assert len(found) >= 6
    assert [name for name, settings, schema in found if settings != [f"search_path={schema}, pg_temp"]] == []


def test_granting_twice_is_granting_once():
    def granted():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT grantee, table_name, privilege_type FROM information_schema.role_table_grants "
                "WHERE grantee = ANY(%s) ORDER BY 1, 2, 3",
                [[APP_ROLE, UPKEEP_ROLE]],
            )
            return cursor.fetchall()

    before = granted()
    call_command("grant_roles", stdout=StringIO())

    assert granted() == before
    assert before


def test_a_person_deletes_a_session_and_upkeep_collects_what_it_leaves_as_their_roles(desk):
    from sessions_app.services.expiry.collection import collect_unreferenced
    from sessions_app.services.expiry.deletion import delete_session
    from sessions_app.services.upkeep.tables import drop_empty_partitions

    value = begin(desk, *plain_steps(3))
    advanced(desk.agent, value)

    with as_web(desk.agent.team_id):
        delete_session(actor=desk.owner, session_id=session_id(value), reason="They asked for it.", now=NOW)
    with as_role(UPKEEP_ROLE):
        assert collect_unreferenced(actor=SYSTEM).snapshots > 0
        drop_empty_partitions(actor=SYSTEM, today=(NOW + timedelta(days=200)).date())

    assert list(verify_all(actor=SYSTEM)) == []
