"""What a team may store: counted as it is written, refused beyond, and never a reason not to read."""

from datetime import timedelta

import pytest

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import ForbiddenError, RateLimitedError, StorageFullError
from teams_app.models import TeamStorage
from teams_app.services import storage
from tests import run_cast
from tests.run_cast import NOW, advance, advanced, begin, plain_steps, published, rehydrate, start

pytestmark = pytest.mark.django_db

SYSTEM = system_actor(team_id=NO_TEAM, door=Door.TASK)


@pytest.fixture(autouse=True)
def _counted_at_once(monkeypatch):
    storage._counts.clear()
    monkeypatch.setattr(storage, "_ADDED_AFTER_BYTES", 1)
    yield
    storage._counts.clear()


@pytest.fixture
def desk():
    return run_cast.make_desk()


def full(desk, settings, mib=1):
    settings.TEAM_STORAGE_MIB = mib
    TeamStorage.objects.update_or_create(
        team_id=desk.agent.team_id, defaults={"stored_bytes": mib * 1024 * 1024, "measured_at": NOW}
    )
    storage._counts.clear()
    storage.charge(team_id=desk.agent.team_id, stored_bytes=1)


def test_what_is_written_is_counted(desk):
    value = begin(desk, *plain_steps(2))
    before = storage.stored_bytes(actor=desk.owner)
    advanced(desk.agent, value, notes="Looked at it for long. " * 100)

    assert storage.stored_bytes(actor=desk.owner) - before > 2_000


@pytest.mark.django_db(transaction=True)
def test_a_team_that_is_full_is_refused_with_a_code_of_its_own_and_reads_on(desk, settings):
    value = begin(desk, *plain_steps(2))
    full(desk, settings)

    with pytest.raises(StorageFullError) as refused:
        advance(desk.agent, value)
    with pytest.raises(StorageFullError):
        start(desk)
    with pytest.raises(StorageFullError):
        published(desk, *plain_steps(1), workflow_id="team.other")

    assert refused.value.details["limitMib"] == 1
    assert refused.value.suggestion
    assert rehydrate(desk.agent, value).value["pending"]["stepId"] == "step-0"


def test_room_that_was_made_is_found_again(desk, settings, monkeypatch):
    value = begin(desk, *plain_steps(2))
    full(desk, settings)
    with pytest.raises(StorageFullError):
        advance(desk.agent, value)
    monkeypatch.setattr(storage, "_READ_AGAIN_SECONDS", -1)
    storage.measure_storage(actor=SYSTEM, now=NOW + timedelta(days=1))

    assert advanced(desk.agent, value)["pending"]["stepId"] == "step-1"


def test_another_team_is_no_fuller_for_it(desk, settings):
    from dataclasses import replace

    full(desk, settings)
    elsewhere = replace(desk, owner=replace(desk.owner, team_id=desk.stranger.team_id))

    storage.require_room(team_id=elsewhere.owner.team_id)


def test_too_much_within_a_minute_is_told_when_to_go_on(desk, settings):
    settings.TEAM_STORAGE_MIB_PER_MINUTE = 1
    storage.charge(team_id=desk.agent.team_id, stored_bytes=2 * 1024 * 1024)

    with pytest.raises(RateLimitedError) as refused:
        storage.require_room(team_id=desk.agent.team_id)

    assert 0 < refused.value.retry.after_ms <= 60_000


def test_no_limit_is_no_limit(desk, settings):
    full(desk, settings)
    settings.TEAM_STORAGE_MIB = settings.TEAM_STORAGE_MIB_PER_MINUTE = 0

    begin(desk, *plain_steps(1))


def test_measuring_finds_what_the_tables_hold_of_each_team(desk):
    begin(desk, *plain_steps(2))
    TeamStorage.objects.all().delete()

    storage.measure_storage(actor=SYSTEM, now=NOW)

    assert TeamStorage.objects.get(team_id=desk.agent.team_id).stored_bytes > 2_000
    with pytest.raises(ForbiddenError):
        storage.measure_storage(actor=desk.agent, now=NOW)


# By every door


PIECES = [b"x" * 1024 * 1024]


def ask_to_import(desk):
    from sessions_app.services.bundles import bundle_jobs

    return bundle_jobs.ask_to_import(actor=desk.owner, pieces=PIECES * 3, now=NOW, max_bytes=1 << 25)


@pytest.fixture
def _no_worker(settings):
    settings.CELERY_TASK_ALWAYS_EAGER = False


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_no_worker")
def test_a_file_to_import_is_counted_at_once_and_when_the_tables_are_measured(desk):
    ask_to_import(desk)
    counted = storage.stored_bytes(actor=desk.owner)
    storage.measure_storage(actor=SYSTEM, now=NOW)

    assert counted >= 3 << 20
    # Postgres packs what can be packed.
    assert TeamStorage.objects.get(team_id=desk.agent.team_id).stored_bytes > 30_000


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_no_worker")
def test_a_full_team_hands_in_no_file_and_imports_none(desk, settings):
    from sessions_app.models import BundleJob
    from tests.bundle_play import export, take_in

    value = begin(desk, *plain_steps(2))
    file = export(desk.owner, run_cast.session_id(value))
    full(desk, settings)

    with pytest.raises(StorageFullError):
        ask_to_import(desk)
    with pytest.raises(StorageFullError):
        take_in(desk.owner, file)
    assert not BundleJob.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_no_worker")
def test_files_to_import_are_as_many_in_a_minute_as_all_that_is_stored(desk, settings):
    settings.TEAM_STORAGE_MIB_PER_MINUTE = 5
    ask_to_import(desk)
    ask_to_import(desk)

    with pytest.raises(RateLimitedError):
        ask_to_import(desk)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_no_worker")
def test_a_full_team_takes_its_sessions_out_but_not_again_and_again(desk, settings, monkeypatch):
    from sessions_app.services.bundles import bundle_jobs

    value = begin(desk, *plain_steps(2))
    full(desk, settings)
    monkeypatch.setattr(bundle_jobs, "MOST_KEPT", 2)

    def ask(now=NOW):
        return bundle_jobs.ask_to_export(actor=desk.agent, session_id=run_cast.session_id(value), now=now)

    ask(), ask()
    with pytest.raises(RateLimitedError) as refused:
        ask()
    assert 0 < refused.value.retry.after_ms <= 24 * 3600 * 1000
    assert ask(now=NOW + timedelta(days=1, seconds=1)).id


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_no_worker")
def test_files_of_exports_are_together_as_large_as_what_a_team_may_store_and_no_larger(desk, settings):
    from sessions_app.engine.bundles import BundleJobState
    from sessions_app.models import BundleJob
    from sessions_app.services.bundles import bundle_jobs

    settings.TEAM_STORAGE_MIB = 1
    session_id = run_cast.session_id(begin(desk, *plain_steps(2)))

    def ask(now=NOW):
        return bundle_jobs.ask_to_export(actor=desk.agent, session_id=session_id, now=now).id

    def work(job_id, now=NOW):
        return bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=job_id, now=now)

    # All of them asked for before any is done.
    first, second, third = ask(), ask(), ask()
    assert work(first) is BundleJobState.DONE
    BundleJob.objects.filter(pk=first).update(size_bytes=1024 * 1024 - 1)
    assert work(second) is BundleJobState.DONE
    assert work(third) is BundleJobState.FAILED
    assert BundleJob.objects.get(pk=third).result["code"] == "STORAGE_FULL"
    with pytest.raises(StorageFullError):
        ask()
    # What has expired takes no room.
    later = NOW + timedelta(days=1, seconds=1)
    assert work(ask(later), later) is BundleJobState.DONE


@pytest.mark.django_db(transaction=True)
def test_an_import_counts_what_it_brings(desk):
    from tests.bundle_play import export, take_in

    value = advanced(desk.agent, begin(desk, *plain_steps(2)), notes="Looked at it for long. " * 100)
    file = export(desk.owner, run_cast.session_id(value))
    before = storage.stored_bytes(actor=desk.owner)
    take_in(desk.owner, file)

    assert storage.stored_bytes(actor=desk.owner) - before > 2_000


def traced(desk):
    from sessions_app.engine.runs import Dialect
    from traces_app.models import TraceEvent
    from traces_app.services.writing import MadeCall, write_calls

    said = {f"field{number}": "words " * 30 for number in range(20)}
    call = MadeCall(
        actor=desk.agent,
        dialect=Dialect.RAIL,
        tool="list_workflows",
        arguments=said,
        reply=None,
        error_code="",
        ended_ns=int(NOW.timestamp() * 1e9),
        duration_ns=1,
    )
    write_calls(calls=[call])
    return TraceEvent.objects.latest("id")


def test_calls_are_counted_and_a_full_team_is_traced_without_what_was_said(desk, settings):
    before = storage.stored_bytes(actor=desk.owner)
    whole = traced(desk)
    counted = storage.stored_bytes(actor=desk.owner) - before
    full(desk, settings)
    bare = traced(desk)

    assert counted > 1_000
    assert "field1" in whole.arguments
    assert (bare.tool, list(bare.arguments)) == ("list_workflows", ["…"])


def test_an_answer_that_is_kept_for_its_name_is_counted(desk):
    from teams_app.services.named_requests import keep_answer, take_name

    take_name(actor=desk.agent, name="one", asked=b"x" * 32, now=NOW)
    before = storage.stored_bytes(actor=desk.owner)
    keep_answer(actor=desk.agent, name="one", answer=b"x" * 5_000)

    assert storage.stored_bytes(actor=desk.owner) - before >= 5_000
