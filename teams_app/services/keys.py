"""Agent keys: issued once, proved on every call, revoked for good."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hmac import compare_digest
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from teams_app import jobs
from teams_app.engine.actors import Actor, ActorKind, Door, Permission, Scope, system_actor
from teams_app.engine.errors import (
    InvalidInputError,
    KeyExpiredError,
    KeyRevokedError,
    NotFoundError,
    PreconditionFailedError,
    UnauthenticatedError,
)
from teams_app.engine.ids import Prefix, from_text, to_text
from teams_app.engine.keys import KEY_RANDOM_BYTES, digest_of, is_key, mint_key, prefix_of
from teams_app.engine.names import read_name
from teams_app.engine.values import IssuedKey, KeyValue
from teams_app.models import AgentKey, Team
from teams_app.selectors import key_value
from teams_app.services.audit import record_audit
from teams_app.services.ids import new_id
from teams_app.services.row_scope import within_secret
from teams_app.services.seats import require_still

# How long another process may go on honouring a key that was just revoked in this one.
KEY_MEMORY = timedelta(seconds=1)
# How long the old key goes on beside the one that replaces it.
ROTATION_GRACE = timedelta(days=1)
_MOST_REMEMBERED = 10_000
_LAST_USE_GRAIN = timedelta(minutes=1)
_EXPIRIES_AT_ONCE = 500
_LONGEST_LIFE = timedelta(days=100 * 366)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Remembered:
    actor: Actor
    key_id: UUID
    read_at: datetime
    good_until: datetime


_remembered: dict[tuple[bytes, Door], _Remembered] = {}


@transaction.atomic
def issue_key(
    *,
    actor: Actor,
    name: str,
    scopes: frozenset[Scope],
    expires_at: datetime | None,
    now: datetime,
) -> IssuedKey:
    _hold_team(actor)
    require_still(actor=actor, permission=Permission.MANAGE_TEAM)
    _check_terms(scopes, expires_at, now)
    text = mint_key(random=os.urandom(KEY_RANDOM_BYTES))
    row = AgentKey.objects.create(
        id=new_id(now=now),
        team_id=actor.team_id,
        name=read_name(name),
        prefix=prefix_of(text),
        digest=digest_of(text),
        scopes=sorted(scope.value for scope in scopes),
        created_at=now,
        # Python knows offsets from UTC that Postgres does not.
        expires_at=None if expires_at is None else expires_at.astimezone(UTC),
    )
    _record(actor, "key.issued", row, now)
    if expires_at is not None:
        jobs.ask_to_expire_keys(at=expires_at, now=now)
    return IssuedKey(key=key_value(row), text=text)


@transaction.atomic(durable=True)
def rotate_key(*, actor: Actor, key_id: UUID, now: datetime) -> IssuedKey:
    """Another key with the same name, rights and length of life. The old one goes on for `ROTATION_GRACE`, or to its end if that
    is sooner, so that the agent loses nothing before it has the new one.
    """
    _hold_team(actor)
    require_still(actor=actor, permission=Permission.MANAGE_TEAM)
    # The row is the lock: two rotations at once take turns, and the later one finds the old key ending already.
    old = AgentKey.objects.select_for_update(no_key=True).filter(team_id=actor.team_id, pk=key_id).first()
    if old is None:
        raise NotFoundError("There is no such key.", suggestion="List the keys of your team.")
    _refuse_rotation(old, now)
    issued = issue_key(
        actor=actor,
        name=old.name,
        scopes=frozenset(Scope(scope) for scope in old.scopes),
        expires_at=None if old.expires_at is None else now + (old.expires_at - old.created_at),
        now=now,
    )
    ends = now + ROTATION_GRACE
    if old.expires_at is None or old.expires_at > ends:
        old.expires_at = ends
        old.save(update_fields=["expires_at"])
        jobs.ask_to_expire_keys(at=ends, now=now)
    _record(actor, "key.rotated", old, now)
    return issued


@transaction.atomic(durable=True)
def revoke_key(*, actor: Actor, key_id: UUID, now: datetime) -> KeyValue:
    """One-way, and safe to repeat: the second time finds it done and records nothing. Who connected a client ends that too."""
    mine = AgentKey.objects.filter(team_id=actor.team_id, pk=key_id)
    person_id = None if actor.token is not None else from_text(Prefix.PERSON, actor.id)
    if person_id is None or not mine.filter(person_id=person_id).exists():
        require_still(actor=actor, permission=Permission.MANAGE_TEAM)
    # The condition is the lock: of two at once, one updates the row and tells the audit log.
    revoked = mine.filter(revoked_at__isnull=True).update(revoked_at=now)
    row = mine.first()
    if row is None:
        raise NotFoundError("There is no such key.", suggestion="List the keys of your team.")
    if revoked:
        _record(actor, "key.revoked", row, now)
        transaction.on_commit(lambda: _forget(key_id))
    return key_value(row)


def authenticate_key(*, text: str, door: Door, now: datetime) -> Actor:
    """The actor behind a key. A key that was good within the last `KEY_MEMORY` costs no query.

    Raises UnauthenticatedError, KeyRevokedError or KeyExpiredError.
    """
    known = remembered_actor(text=text, door=door, now=now)
    if known is not None:
        return known
    digest = digest_of(text)
    with within_secret(text):
        row = _proven_row(text, digest, now)
        note_use(row, now)
    actor = Actor(
        kind=ActorKind.AGENT_KEY,
        id=to_text(Prefix.KEY, row.pk),
        name=row.name,
        team_id=row.team_id,
        door=door,
        scopes=frozenset(Scope(scope) for scope in row.scopes),
    )
    _remember((digest, door), actor, row, now)
    return actor


def remembered_actor(*, text: str, door: Door, now: datetime) -> Actor | None:
    """The actor behind a key that was good within the last `KEY_MEMORY`. Asks nobody, so an event loop may call it."""
    known = _remembered.get((digest_of(text), door))
    return known.actor if known is not None and known.read_at <= now < known.good_until else None


@transaction.atomic(durable=True)
def record_expiries(*, now: datetime) -> int:
    """Tells the audit log of each team which of its keys have expired, once for each key."""
    # SKIP LOCKED: two workers at once share the keys, and none is told twice.
    due = (
        AgentKey.objects.select_for_update(skip_locked=True, no_key=True)
        .filter(expires_at__lte=now, expiry_recorded_at__isnull=True, revoked_at__isnull=True)
        .order_by("expires_at")[:_EXPIRIES_AT_ONCE]
    )
    rows = list(due)
    for row in rows:
        _record(system_actor(team_id=row.team_id, door=Door.TASK), "key.expired", row, now)
    AgentKey.objects.filter(pk__in=[row.pk for row in rows]).update(expiry_recorded_at=now)
    return len(rows)


def _hold_team(actor: Actor) -> None:
    """A key is made before the team ends, and ends with it, or not at all."""
    actor.require(Permission.MANAGE_TEAM)
    if not Team.objects.select_for_update(no_key=True).filter(pk=actor.team_id, ended_at__isnull=True).order_by("pk"):
        raise NotFoundError("There is no such team.", suggestion="It may have been ended.")


def _refuse_rotation(row: AgentKey, now: datetime) -> None:
    if row.person_id is not None:
        raise PreconditionFailedError(
            "This client was connected by signing in; it has no text to change.",
            suggestion="Revoke it, and the client asks to be connected again.",
        )
    if row.revoked_at is not None or (row.expires_at is not None and row.expires_at <= now + ROTATION_GRACE):
        raise PreconditionFailedError(
            "This key has ended, or ends within a day.", suggestion="Make a new key and give it to the agent."
        )


def _check_terms(scopes: frozenset[Scope], expires_at: datetime | None, now: datetime) -> None:
    if not scopes:
        raise InvalidInputError(
            "A key needs at least one scope.",
            suggestion=f"Choose from: {', '.join(scope.value for scope in Scope)}.",
        )
    if expires_at is not None and expires_at - now > _LONGEST_LIFE:
        raise InvalidInputError(
            "The key would expire in more than a hundred years.",
            suggestion="Give a nearer expiresAt, or none for a key that does not expire.",
        )
    if expires_at is not None and expires_at <= now:
        raise InvalidInputError("The expiry lies in the past.", suggestion="Give a later time, or none.")


def _proven_row(text: str, digest: bytes, now: datetime) -> AgentKey:
    row = AgentKey.objects.filter(prefix=prefix_of(text)).first() if is_key(text) else None
    if row is None or not compare_digest(bytes(row.digest), digest):
        raise UnauthenticatedError(
            "This is no key of ours.",
            suggestion="Check that the whole key was sent, or ask an owner of the team for a new one.",
        )
    if row.revoked_at is not None:
        raise KeyRevokedError("This key was revoked.", suggestion="Ask an owner of the team for a new key.")
    if row.expires_at is not None and row.expires_at <= now:
        raise KeyExpiredError("This key has expired.", suggestion="Ask an owner of the team for a new key.")
    return row


def _remember(name: tuple[bytes, Door], actor: Actor, row: AgentKey, now: datetime) -> None:
    if len(_remembered) >= _MOST_REMEMBERED:
        _remembered.clear()
    good_until = now + KEY_MEMORY if row.expires_at is None else min(now + KEY_MEMORY, row.expires_at)
    _remembered[name] = _Remembered(actor=actor, key_id=row.pk, read_at=now, good_until=good_until)


def _forget(key_id: UUID) -> None:
    for name in [name for name, known in list(_remembered.items()) if known.key_id == key_id]:
        _remembered.pop(name, None)


def note_use(row: AgentKey, now: datetime) -> None:
    """At most once a minute, and never waiting: who finds the row locked lets the next call note it."""
    if row.last_used_at is not None and now - row.last_used_at < _LAST_USE_GRAIN:
        return
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lte=now - _LAST_USE_GRAIN)
    free = AgentKey.objects.select_for_update(skip_locked=True, no_key=True).filter(stale, pk=row.pk)
    with transaction.atomic():
        AgentKey.objects.filter(pk__in=free.values("pk")).update(last_used_at=now)


def _record(actor: Actor, action: str, row: AgentKey, now: datetime) -> None:
    record_audit(
        actor=actor,
        action=action,
        target=to_text(Prefix.KEY, row.pk),
        now=now,
        details={"name": row.name, "prefix": row.prefix, "scopes": row.scopes},
    )
