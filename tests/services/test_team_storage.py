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
