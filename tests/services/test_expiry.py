"""Sessions that nobody works in go in time: never in silence, never while held, whole or not at all."""

import gzip
import random
import threading
from datetime import timedelta
from io import StringIO
from uuid import uuid4

import psycopg
import pytest
import time_machine
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from sessions_app.engine.expiry import ExpiryRule, ExpiryVerdict
from sessions_app.engine.tokens import TokenUnknownNodeError
from sessions_app.models import (
    Announcement,
    BundleJob,
    BundlePart,
    Event,
    Hold,
    LedgerEntry,
    Run,
    Snapshot,
    WorkSession,
)
from sessions_app.selectors.bundle_jobs import stored_pieces
from sessions_app.selectors.integrity import verify_session
from sessions_app.services.expiry import collection, deletion, expiring, retention
from sessions_app.services.upkeep import ledger, tables
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import ForbiddenError, InvalidInputError, NotFoundError, PreconditionFailedError
from teams_app.engine.ids import Prefix, to_text, uuid7
from teams_app.models import AuditEntry
from tests import run_cast, trigger_play
from tests.bundle_play import Forged, examine, export, take_in
from tests.checkpoint_cast import answer, at_question, only_row
from tests.crews import hiring
from tests.crowd import fill
from tests.database_watch import rows_and_pages_read
from tests.emptying import empty_tables
from tests.run_cast import NOW, advanced, begin, plain_steps, session_id

pytestmark = pytest.mark.django_db(transaction=True)

hire = pytest.fixture(hiring)
SYSTEM = system_actor(team_id=NO_TEAM, door=Door.TASK)
LATE = NOW + timedelta(days=61)
# What a deletion leaves: programs and workflows, snapshots until they are collected, the audit log, keys, and the ledger.
REMAIN = {
    "Snapshot",
    "Ledger",
    "LedgerEntry",
    "TokenKey",
    "BundleJob",
    "BundlePart",
    "Retention",
    "SavedView",
    "TeamPreferences",
}


@pytest.fixture
def desk():
    return run_cast.make_desk()


def done(desk, **fields):
    """A session whose only run is complete."""
    return advanced(desk.agent, begin(desk, *plain_steps(1), **fields))


def expire(now=LATE, **fields):
    return expiring.expire_sessions(actor=SYSTEM, now=now, most=100, **fields)


def verdicts(now=LATE):
    return {each.known.root: each.verdict for each in expiring.foresee_expiry(actor=SYSTEM, now=now)}


def verdicts_of(desk):
    return [each.verdict for each in expiring.foresee_expiry(actor=SYSTEM, now=LATE, team_id=desk.team_id)]


def left():
    """The tables of the app that still have rows, but for those that may."""
    from django.apps import apps

    tables = [model for model in apps.get_app_config("sessions_app").get_models() if model.__name__ not in REMAIN]
    return {model.__name__: model.objects.count() for model in tables if model.objects.exists()}


def sound():
    ids = WorkSession.objects.values_list("id", flat=True)
    return [str(finding) for each in ids for finding in verify_session(each)]


def test_a_session_goes_with_all_that_is_its_own_and_its_end_is_entered(desk):
    value = done(desk)
    head = WorkSession.objects.get().head_digest
    assert expire(NOW + timedelta(days=59)).deleted == 0
    assert expire().deleted == 1
    assert left() == {}
    entry = LedgerEntry.objects.get(kind="deleted")
    assert (entry.session_id, entry.head_digest, entry.reason) == (session_id(value), head, "Idle for 60 days.")
    assert AuditEntry.objects.filter(action="session.expired").count() == 1
    assert expire().deleted == 0


def test_what_is_kept_for_ever_is_looked_at_by_few_statements(desk):
    """It comes first in each hour, however much of it there is: what goes must not wait for it."""
    fill(team_id=desk.team_id, count=500, now=NOW)
    rule = ExpiryRule(idle_days=30, archives=False)
    for name, each in (
        ("", rule),
        *((f"team.workflow-{n}", ExpiryRule(idle_days=None, archives=False)) for n in range(7)),
    ):
        retention.set_retention(actor=desk.owner, workflow_id=name, rule=each, now=NOW)

    with CaptureQueriesContext(connection) as asked:
        found = verdicts_of(desk)

    assert (len(found), set(found)) == (400, {ExpiryVerdict.KEPT})
    assert len(asked) < 40


def test_a_team_keeps_no_more_rules_than_one_page_shows(desk, monkeypatch):
    monkeypatch.setattr(retention, "MAX_RULES", 2)
    rule = ExpiryRule(idle_days=30, archives=False)
    for name in ("", "team.one", "team.one"):
        retention.set_retention(actor=desk.owner, workflow_id=name, rule=rule, now=NOW)

    with pytest.raises(PreconditionFailedError, match="2 rules"):
        retention.set_retention(actor=desk.owner, workflow_id="team.two", rule=rule, now=NOW)


@pytest.mark.own_connection
def test_a_session_goes_without_a_look_at_the_archives_of_others(desk):
    """A team keeps those of a year."""
    doomed = [session_id(begin(desk, *plain_steps(1), workflow_id=f"team.sample-{number}")) for number in range(2)]
    job = {
        "team_id": desk.team_id, "kind": "archive", "state": "done", "actor_kind": "system", "actor_id": "x", "actor_name": "x",
        "created_at": NOW, "touched_at": NOW, "finished_at": NOW, "expires_at": NOW + timedelta(days=365),
    }  # fmt: skip

    def rows_read():
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE sessions_app_bundlejob")
        gone = {"actor": desk.owner, "session_id": doomed.pop(), "reason": "Asked for", "now": NOW}
        return rows_and_pages_read(lambda: deletion.delete_session(**gone))[1][0]

    before = rows_read()
    BundleJob.objects.bulk_create(BundleJob(id=uuid4(), session_id=uuid4(), **job) for _ in range(3_000))
    after = rows_read()

    assert after < before + 500


def test_events_are_deleted_in_no_other_way(desk):
    done(desk)
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        Event.objects.all().delete()
    with pytest.raises(IntegrityError, match="append-only"), deletion.history_may_go():
        Event.objects.update(seal=None)


def test_unfinished_work_is_told_of_a_week_before_it_goes(desk):
    value = begin(desk, *plain_steps(2))
    assert verdicts(NOW + timedelta(days=52)) == {}
    expire(NOW + timedelta(days=54))
    assert [each.kind for each in Announcement.objects.exclude(kind="run_started")] == ["session_expiring"]
    assert expire(NOW + timedelta(days=60)).deleted == 0
    assert verdicts(NOW + timedelta(days=60))[session_id(value)] is ExpiryVerdict.WARNED
    assert expire(NOW + timedelta(days=61)).deleted == 1


def test_after_days_without_a_schedule_unfinished_work_is_told_of_first(desk):
    begin(desk, *plain_steps(2))
    months = NOW + timedelta(days=200)
    assert [expire(months + timedelta(days=n)).deleted for n in (0, 1, 6, 8)] == [0, 0, 0, 1]


def test_whoever_works_in_it_after_the_warning_starts_the_time_anew(desk):
    value = begin(desk, *plain_steps(3))
    expire(NOW + timedelta(days=55))
    advanced(desk.agent, value, now=NOW + timedelta(days=56))
    assert verdicts(NOW + timedelta(days=70)) == {}
    assert expire(NOW + timedelta(days=110)).verdicts == {ExpiryVerdict.WARN: 1}


def test_what_is_held_or_waits_for_a_person_stays(desk):
    held, asked = session_id(done(desk)), at_question(desk, human=True)
    retention.hold_session(actor=desk.person, session_id=held, reason="An audit", now=NOW)
    assert verdicts() == {held: ExpiryVerdict.HELD, session_id(asked): ExpiryVerdict.WAITS}
    assert expire().deleted == 0
    retention.let_go(actor=desk.person, session_id=held, now=LATE)
    assert expire().deleted == 1
    answer(desk.person, only_row(asked), now=LATE)
    assert sound() == []


def test_rules_are_a_teams_own_and_those_of_a_workflow_go_before(desk):
    short, long = done(desk), done(desk, workflow_id="team.other")
    week = NOW + timedelta(days=8)
    assert verdicts(week) == {}
    retention.set_retention(actor=desk.owner, workflow_id="", rule=ExpiryRule(idle_days=7, archives=False), now=NOW)
    retention.set_retention(
        actor=desk.owner, workflow_id="team.other", rule=ExpiryRule(idle_days=None, archives=False), now=NOW
    )
    assert verdicts(week) == {session_id(short): ExpiryVerdict.EXPIRED, session_id(long): ExpiryVerdict.KEPT}
    assert expire(week).deleted == 1
    retention.remove_retention(actor=desk.owner, workflow_id="team.other", now=NOW)
    assert expire(week).deleted == 1


def test_a_server_may_keep_everything(desk, settings):
    settings.SESSION_IDLE_DAYS = 0
    done(desk)
    assert verdicts(NOW + timedelta(days=5000)) == {}


def test_a_child_goes_with_its_parent_and_not_before(desk):
    trigger_play.publish_all(desk)
    parent = trigger_play.start(desk, ticket="T-1")
    trigger_play.triggered(desk, parent)
    parent_id = Run.objects.get(workflow_id="team.parent").session_id
    assert WorkSession.objects.count() == 2
    assert set(verdicts(NOW + timedelta(days=55))) == {parent_id}
    expire(NOW + timedelta(days=55))
    assert expire(NOW + timedelta(days=63)).deleted == 2
    assert left() == {}


def test_an_archive_is_kept_and_can_be_imported(desk):
    retention.set_retention(actor=desk.owner, workflow_id="", rule=ExpiryRule(idle_days=60, archives=True), now=NOW)
    value = done(desk)
    assert expire().deleted == 1
    job = BundleJob.objects.get()
    data = gzip.decompress(b"".join(stored_pieces(job.pk)))
    assert (job.kind, job.session_id, job.size_bytes > 0) == ("archive", session_id(value), True)
    assert examine(data).event_count == job.total_events
    back = take_in(desk.person, data, now=LATE)
    # An id that was deleted is not used again.
    assert back.renamed
    assert sound() == []


def test_a_session_that_cannot_be_archived_stays_and_keeps_no_other(desk):
    retention.set_retention(actor=desk.owner, workflow_id="", rule=ExpiryRule(idle_days=60, archives=True), now=NOW)
    damaged = session_id(done(desk))
    for number in range(2):
        done(desk, workflow_id=f"team.other-{number}")
    WorkSession.objects.filter(pk=damaged).update(head_digest="sha256:" + "7" * 64)

    assert expire().deleted == 2

    assert [each.pk for each in WorkSession.objects.all()] == [damaged]
    assert BundleJob.objects.filter(state="done").count() == 2
    assert expire().deleted == 0
    assert BundleJob.objects.filter(session_id=damaged).count() <= 1


def test_an_owner_deletes_a_session_for_privacy_with_its_archives(desk):
    value = done(desk)
    from sessions_app.services.bundles.bundle_jobs import ask_to_export

    ask_to_export(actor=desk.person, session_id=session_id(value), now=NOW)
    for actor in (desk.agent, desk.person, desk.viewer, SYSTEM):
        with pytest.raises((ForbiddenError, NotFoundError)):
            deletion.delete_session(actor=actor, session_id=session_id(value), reason="Asked for", now=NOW)
    with pytest.raises(InvalidInputError):
        deletion.delete_session(actor=desk.owner, session_id=session_id(value), reason=" ", now=NOW)
    retention.hold_session(actor=desk.person, session_id=session_id(value), reason="An audit", now=NOW)
    with pytest.raises(PreconditionFailedError):
        deletion.delete_session(actor=desk.owner, session_id=session_id(value), reason="Asked for", now=NOW)
    retention.let_go(actor=desk.person, session_id=session_id(value), now=NOW)
    deletion.delete_session(actor=desk.owner, session_id=session_id(value), reason="Asked for", now=NOW)
    assert (left(), BundleJob.objects.count(), BundlePart.objects.count()) == ({}, 0, 0)
    assert LedgerEntry.objects.get(kind="deleted").reason == "Asked for"
    with pytest.raises(NotFoundError):
        deletion.delete_session(actor=desk.owner, session_id=session_id(value), reason="Asked for", now=NOW)


def test_rules_are_an_owners_and_holds_not_an_agents_nor_a_viewers(desk):
    value = done(desk)
    rule = ExpiryRule(idle_days=3, archives=False)
    for actor in (desk.agent, desk.person, desk.viewer):
        with pytest.raises(ForbiddenError):
            retention.set_retention(actor=actor, workflow_id="", rule=rule, now=NOW)
    for actor in (desk.agent, desk.viewer):
        with pytest.raises(ForbiddenError):
            retention.hold_session(actor=actor, session_id=session_id(value), reason="Mine", now=NOW)
    assert not Hold.objects.exists()


def test_the_next_advance_of_a_deleted_session_is_told_that_it_is_gone(desk):
    value = begin(desk, *plain_steps(2))
    deletion.delete_session(actor=desk.owner, session_id=session_id(value), reason="Asked for", now=NOW)
    with pytest.raises(TokenUnknownNodeError):
        advanced(desk.agent, value)


class Killed(BaseException):
    """As the kernel does it: nothing of ours catches it."""


@pytest.mark.parametrize("seed", [pytest.param(n, marks=[] if n < 3 else [pytest.mark.slow]) for n in range(20)])
def test_a_run_of_expiry_that_dies_anywhere_leaves_every_session_whole_or_gone(desk, seed):
    chance = random.Random(seed)
    retention.set_retention(actor=desk.owner, workflow_id="", rule=ExpiryRule(idle_days=60, archives=True), now=NOW)
    for number in range(3):
        done(desk, workflow_id=f"team.w{number}")
    ledger.enter_sessions(actor=SYSTEM, now=NOW)
    gone = 0

    def fail(_place):
        if chance.random() < 0.25:
            raise Killed

    for _ in range(200):
        try:
            expire(fail=fail)
        except Killed:
            assert sound() == []
            sessions = WorkSession.objects.count()
            assert LedgerEntry.objects.filter(kind="deleted").count() == 3 - sessions
            continue
        gone = 3 - WorkSession.objects.count()
        if gone == 3:
            break
    assert (gone, left()) == (3, {})
    archives = BundleJob.objects.filter(state="done")
    assert len({each.session_id for each in archives}) == archives.count() == 3
    for each in archives:
        examine(gzip.decompress(b"".join(stored_pieces(each.pk))))
    assert AuditEntry.objects.filter(action="session.expired").count() == 3


def test_snapshots_and_programs_are_collected_when_nothing_refers_to_them(desk):
    kept, gone = begin(desk, *plain_steps(2)), done(desk, workflow_id="team.other")
    imported = take_in(desk.person, export(desk.person, session_id(gone)))
    before = Snapshot.objects.count()
    assert collection.collect_unreferenced(actor=SYSTEM) == collection.Collected(snapshots=0, programs=0, files=0)
    for each in (session_id(gone), *imported.session_ids):
        deletion.delete_session(actor=desk.owner, session_id=each, reason="Asked for", now=NOW)
    collected = collection.collect_unreferenced(actor=SYSTEM)
    # Its workflow still has the revision, so the program stays.
    assert (0 < collected.snapshots < before, collected.programs) == (True, 0)
    assert collection.collect_unreferenced(actor=SYSTEM).snapshots == 0
    assert advanced(desk.agent, kept)["kind"] == "ok"
    assert sound() == []


def test_what_another_database_of_the_server_does_keeps_no_snapshot(desk):
    deletion.delete_session(actor=desk.owner, session_id=session_id(done(desk)), reason="Asked for", now=NOW)
    given = connection.get_connection_params() | {"dbname": "postgres"}
    with psycopg.connect(
        **{name: given[name] for name in ("dbname", "host", "port", "user") if given.get(name)}
    ) as other:
        other.execute("SELECT pg_current_xact_id()")

        assert collection.collect_unreferenced(actor=SYSTEM).snapshots > 0


def test_a_program_that_only_an_imported_session_had_is_collected_with_it(desk):
    data = export(desk.person, session_id(done(desk)))
    empty_tables(connection)
    desk = run_cast.make_desk()
    brought = take_in(desk.owner, data)
    assert collection.collect_unreferenced(actor=SYSTEM).programs == 0
    deletion.delete_session(actor=desk.owner, session_id=brought.session_ids[0], reason="Asked for", now=NOW)
    assert collection.collect_unreferenced(actor=SYSTEM).programs == 1


def test_a_snapshot_that_a_call_is_about_to_stand_for_is_not_collected(desk, hire):
    """The call has found the snapshot in its place, and commits while the collector is at it."""
    first = done(desk)
    deletion.delete_session(actor=desk.owner, session_id=session_id(first), reason="Asked for", now=NOW)
    orphans = Snapshot.objects.count()
    begun, go = threading.Event(), threading.Event()

    def call():
        with transaction.atomic():
            value = run_cast.start(desk, "team.sample")
            begun.set()
            go.wait(10)
        return value

    def collect():
        begun.wait(10)
        threading.Timer(0.3, go.set).start()
        return collection.collect_unreferenced(actor=SYSTEM)

    crew = hire(2)
    value, collected = crew.race(call, collect)
    assert value.value["kind"] == "ok", value
    assert collected.snapshots < orphans
    assert sound() == []


def test_partitions_of_months_without_a_session_are_dropped(desk):
    tables.ensure_partitions(actor=SYSTEM, today=NOW.date())
    done(desk)
    years = NOW + timedelta(days=400)
    assert tables.drop_empty_partitions(actor=SYSTEM, today=years.date()) == tuple(
        f"sessions_app_event_{month}" for month in ("2026_12", "2027_01", "2027_02")
    )
    expire(years)
    assert tables.drop_empty_partitions(actor=SYSTEM, today=years.date()) == ("sessions_app_event_2026_11",)
    assert tables.drop_empty_partitions(actor=SYSTEM, today=years.date()) == ()


def test_a_dry_run_says_what_would_go_and_deletes_nothing(desk):
    gone, open_run = done(desk), begin(desk, *plain_steps(2), workflow_id="team.open")
    with time_machine.travel(LATE, tick=False):
        out = StringIO()
        call_command("expire", "--dry-run", stdout=out)
        told = out.getvalue()
        assert f"{gone['session']['sessionId']} expired, idle since 2026-11-18" in told
        assert f"{open_run['session']['sessionId']} to_be_warned, idle since 2026-11-18" in told
        assert (WorkSession.objects.count(), Announcement.objects.filter(kind="session_expiring").count()) == (2, 0)

        call_command("expire", stdout=out)
    assert "1 session deleted." in out.getvalue()
    assert WorkSession.objects.get().pk == session_id(open_run)


def in_default():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM sessions_app_event WHERE tableoid = 'sessions_app_event_later'::regclass")
        return cursor.fetchone()[0]


@pytest.fixture
def _other_months():
    """Partitions are made for good; those of other months are gone when the next test looks."""
    tables.ensure_partitions(actor=SYSTEM, today=NOW.date())
    yield
    empty_tables(connection)
    tables.drop_empty_partitions(actor=SYSTEM, today=(NOW + timedelta(days=4000)).date())
    tables.ensure_partitions(actor=SYSTEM, today=NOW.date())


@pytest.mark.usefixtures("_other_months")
def test_the_default_partition_never_fills_on_whatever_day_the_schedule_last_ran(desk):
    """Months are made ahead: a schedule that rests for weeks does no harm."""
    workflow_id = run_cast.published(desk, *plain_steps(1))
    for day in range(0, 400, 50):
        made_on = NOW + timedelta(days=day)
        tables.ensure_partitions(actor=SYSTEM, today=made_on.date())
        for later in (0, 49, 80):
            run_cast.start(desk, workflow_id, now=made_on + timedelta(days=later))
    assert in_default() == 0


@pytest.mark.usefixtures("_other_months")
def test_a_session_of_a_month_that_is_long_over_is_taken_in_beside_the_default_partition(desk):
    old = NOW - timedelta(days=900)
    tables.ensure_partitions(actor=SYSTEM, today=old.date())
    data = export(
        desk.person, session_id(run_cast.start(desk, run_cast.published(desk, *plain_steps(1)), now=old).value)
    )
    empty_tables(connection)
    tables.drop_empty_partitions(actor=SYSTEM, today=NOW.date())
    desk = run_cast.make_desk()
    assert not take_in(desk.owner, data).renamed
    assert in_default() == 0


@pytest.mark.usefixtures("_other_months")
def test_files_make_no_month_that_is_not_of_our_time(desk):
    """Each is a table, which whatever reads all of the log locks: a file may not make any number of them."""
    data = export(desk.person, session_id(run_cast.start(desk, run_cast.published(desk, *plain_steps(1))).value))
    before = months()

    for days in (-20_000, -3_000, -2_000, 400, 4_000, 20_000):
        forged = Forged.of(data)
        born = uuid7(unix_ms=int((NOW + timedelta(days=days)).timestamp() * 1000), random=bytes(9) + bytes([7]))
        forged.is_of(to_text(Prefix.SESSION, born))
        assert take_in(desk.owner, forged.signed(), now=NOW).renamed

    assert months() == before
    assert in_default() == 0


def months():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_inherits WHERE inhparent = 'sessions_app_event'::regclass")
        return cursor.fetchone()[0]
