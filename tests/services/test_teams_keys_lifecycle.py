"""Agent keys: issued, proved, used, revoked, expired."""

from datetime import timedelta

import pytest

from teams_app.engine.actors import ActorKind, Door, Scope
from teams_app.engine.errors import (
    ForbiddenError,
    InvalidInputError,
    KeyExpiredError,
    KeyRevokedError,
    NotFoundError,
    PreconditionFailedError,
    UnauthenticatedError,
)
from tests.cast import LATER, NOW, audited, issue

pytestmark = pytest.mark.django_db


def row(issued):
    from teams_app.models import AgentKey

    return AgentKey.objects.get(pk=issued.key.id)


def authenticate(text, *, now=NOW, door=Door.REST):
    from teams_app.services.keys import authenticate_key

    return authenticate_key(text=text, door=door, now=now)


def revoke(actor, issued, *, now=NOW):
    from teams_app.services.keys import revoke_key

    return revoke_key(actor=actor, key_id=issued.key.id, now=now)


def rotate(actor, issued, *, now=NOW):
    from teams_app.services.keys import rotate_key

    return rotate_key(actor=actor, key_id=issued.key.id, now=now)


def test_an_issued_key_is_stored_as_a_digest_and_never_as_itself(house):
    from teams_app.models import AgentKey, AuditEntry

    issued = issue(house.alice.actor)

    stored = AgentKey.objects.values().get() | {"audit": AuditEntry.objects.values().get()}
    assert len(bytes(stored["digest"])) == 32
    assert issued.text not in repr(stored)
    assert issued.text[15:] not in repr(stored)
    assert audited(house.team) == ["key.issued"]


def test_a_key_acts_in_its_team_with_its_scopes_through_the_door_where_it_knocks(house):
    issued = issue(house.alice.actor, scopes=frozenset({Scope.RUNS_READ}), name="Claude")

    actor = authenticate(issued.text, door=Door.MCP)

    assert (actor.kind, actor.team_id, actor.door) == (ActorKind.AGENT_KEY, house.team.pk, Door.MCP)
    assert (actor.scopes, actor.name) == (frozenset({Scope.RUNS_READ}), "Claude")
    assert authenticate(issued.text, door=Door.REST).door is Door.REST


def test_only_an_owner_issues_and_revokes(house):
    issued = issue(house.alice.actor)

    with pytest.raises(ForbiddenError):
        issue(house.bob.actor)
    with pytest.raises(ForbiddenError):
        revoke(house.bob.actor, issued)
    with pytest.raises(ForbiddenError):
        issue(authenticate(issued.text))

    assert row(issued).revoked_at is None
    assert audited(house.team) == ["key.issued"]


@pytest.mark.parametrize(
    ("scopes", "expires_at"),
    [(frozenset(), None), (frozenset(Scope), NOW), (frozenset(Scope), NOW - timedelta(days=1))],
)
def test_a_key_that_could_do_nothing_is_not_issued(house, scopes, expires_at):
    from teams_app.models import AgentKey

    with pytest.raises(InvalidInputError):
        issue(house.alice.actor, scopes=scopes, expires_at=expires_at)

    assert not AgentKey.objects.exists()


def test_a_revoked_key_is_refused_at_once_in_this_process(house, django_capture_on_commit_callbacks):
    issued = issue(house.alice.actor)
    authenticate(issued.text)

    with django_capture_on_commit_callbacks(execute=True):
        revoke(house.alice.actor, issued)

    with pytest.raises(KeyRevokedError) as refused:
        authenticate(issued.text)
    assert refused.value.suggestion
    assert audited(house.team) == ["key.issued", "key.revoked"]


def test_a_key_that_another_process_revoked_is_refused_within_a_second(house):
    from teams_app.models import AgentKey
    from teams_app.services.keys import KEY_MEMORY

    issued = issue(house.alice.actor)
    authenticate(issued.text)
    AgentKey.objects.update(revoked_at=NOW)

    assert timedelta(seconds=1) >= KEY_MEMORY
    with pytest.raises(KeyRevokedError):
        authenticate(issued.text, now=NOW + KEY_MEMORY)


def test_revoking_twice_keeps_the_first_time_and_records_it_once(house):
    issued = issue(house.alice.actor)

    revoke(house.alice.actor, issued, now=NOW)
    again = revoke(house.alice.actor, issued, now=LATER)

    assert again.revoked_at == NOW
    assert audited(house.team) == ["key.issued", "key.revoked"]


def test_a_key_is_refused_from_the_moment_of_its_expiry(house):
    issued = issue(house.alice.actor, expires_at=LATER)

    assert authenticate(issued.text, now=LATER - timedelta(microseconds=1))
    with pytest.raises(KeyExpiredError):
        authenticate(issued.text, now=LATER)


@pytest.mark.parametrize("text", ["", "wr_key_", "x" * 10_000, "wr_key_" + "a" * 40, "\ud800", "wr_key_\x00"])
def test_what_is_no_key_of_ours_is_refused_without_saying_why(db, text):
    with pytest.raises(UnauthenticatedError) as refused:
        authenticate(text)

    assert refused.value.message == "This is no key of ours."


def test_a_key_with_a_known_beginning_and_another_end_is_refused(house):
    issued = issue(house.alice.actor)
    forged = issued.text[:-1] + ("a" if issued.text[-1] != "a" else "b")

    with pytest.raises(UnauthenticatedError):
        authenticate(forged)


def test_a_key_of_another_team_is_the_same_as_none(house):
    from uuid import UUID

    from teams_app import selectors
    from teams_app.services.keys import revoke_key

    issued = issue(house.alice.actor)

    refusals = []
    for key_id in (issued.key.id, UUID(int=7)):
        with pytest.raises(NotFoundError) as refused:
            revoke_key(actor=house.charlie.actor, key_id=key_id, now=NOW)
        refusals.append(refused.value.as_json())
        with pytest.raises(NotFoundError):
            selectors.read_key(actor=house.charlie.actor, key_id=key_id)

    assert refusals[0] == refusals[1]
    assert row(issued).revoked_at is None


def test_the_last_use_is_noted_at_most_once_a_minute(house):
    issued = issue(house.alice.actor)
    moments = [NOW, NOW + timedelta(seconds=30), NOW + timedelta(seconds=59), NOW + timedelta(seconds=61)]

    noted = []
    for moment in moments:
        authenticate(issued.text, now=moment)
        noted.append(row(issued).last_used_at)

    assert noted == [moments[0], moments[0], moments[0], moments[3]]


def test_a_key_that_was_just_proved_costs_no_query(house, django_assert_num_queries):
    issued = issue(house.alice.actor)
    authenticate(issued.text)

    with django_assert_num_queries(0):
        authenticate(issued.text, now=NOW + timedelta(milliseconds=999))


def test_a_key_that_was_just_proved_is_proved_again_in_microseconds(house):
    import time

    from teams_app.services.keys import authenticate_key

    text = issue(house.alice.actor).text
    authenticate(text)

    def microseconds():
        began = time.perf_counter_ns()
        for _ in range(1000):
            authenticate_key(text=text, door=Door.REST, now=NOW)
        return (time.perf_counter_ns() - began) / 1_000_000

    # The house promises 2; the best of many runs is compared with room for a busy machine.
    assert min(microseconds() for _ in range(20)) < 6


def test_a_clock_that_goes_back_does_not_lengthen_the_memory(house):
    from teams_app.models import AgentKey

    issued = issue(house.alice.actor)
    authenticate(issued.text, now=LATER)
    AgentKey.objects.update(revoked_at=NOW)

    with pytest.raises(KeyRevokedError):
        authenticate(issued.text, now=LATER - timedelta(seconds=5))


@pytest.mark.parametrize("scopes", [[], ["everything"], ["runs:read", "x"]])
def test_the_table_itself_refuses_scopes_that_are_not_there(house, scopes):
    from django.db import IntegrityError, transaction

    from teams_app.models import AgentKey

    issue(house.alice.actor)

    with pytest.raises(IntegrityError, match="agent_key_"), transaction.atomic():
        AgentKey.objects.update(scopes=scopes)


def test_a_rotated_key_has_a_successor_like_it_and_a_day_left(house):
    old = issue(
        house.alice.actor, scopes=frozenset({Scope.RUNS_READ}), name="Claude", expires_at=NOW + timedelta(days=90)
    )
    later = NOW + timedelta(days=30)

    new = rotate(house.alice.actor, old, now=later)

    assert (new.key.name, new.key.scopes, new.key.expires_at) == ("Claude", old.key.scopes, later + timedelta(days=90))
    assert new.text != old.text
    assert authenticate(new.text, now=later).scopes == authenticate(old.text, now=later).scopes
    assert authenticate(old.text, now=later + timedelta(hours=23)).name == "Claude"
    with pytest.raises(KeyExpiredError):
        authenticate(old.text, now=later + timedelta(hours=25))
    assert audited(house.team) == ["key.issued", "key.issued", "key.rotated"]


def test_a_key_without_an_end_is_rotated_into_another_without_one(house):
    old = issue(house.alice.actor, expires_at=None)

    assert rotate(house.alice.actor, old).key.expires_at is None
    assert row(old).expires_at == NOW + timedelta(days=1)


def test_what_has_ended_or_ends_soon_and_what_is_anothers_is_not_rotated(house):
    ended = issue(house.alice.actor)
    revoke(house.alice.actor, ended)
    once = issue(house.alice.actor)
    rotate(house.alice.actor, once)

    for key in (ended, once):
        with pytest.raises(PreconditionFailedError):
            rotate(house.alice.actor, key)
    with pytest.raises(NotFoundError):
        rotate(house.charlie.actor, once)
    with pytest.raises(ForbiddenError):
        rotate(house.bob.actor, once)
