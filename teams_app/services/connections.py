"""Clients that a person connected by signing in: each is an agent key that nobody has the text of.

What such an agent may is what its person agreed to, and never more than their role; it ends with their membership.
"""

import os
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from teams_app import jobs
from teams_app.engine.actors import Actor, ActorKind, Door, Scope, person_id_of, require_present, scopes_within
from teams_app.engine.errors import ForbiddenError, PreconditionFailedError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.keys import DIGEST_BYTES
from teams_app.engine.names import NAME_CHARACTERS, only_read, read_name
from teams_app.models import AgentKey, Team
from teams_app.selectors import membership_actor
from teams_app.services.audit import record_audit
from teams_app.services.ids import new_id
from teams_app.services.keys import note_use
from teams_app.services.row_scope import within_connection, within_team
from teams_app.services.seats import hold_seat

MAX_CONNECTIONS = 50
# Until the client has fetched its first token.
FIRST_LIFE = timedelta(minutes=10)
_SIGNS = frozenset(" _.,:()+/@-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """What is known of a client when it asks: its own words, and where the answer goes, which it cannot choose freely."""

    client_id: str
    name: str
    goes_to: str
    resource: str


@transaction.atomic(durable=True)
def connect_client(*, actor: Actor, client: Client, scopes: frozenset[Scope], now: datetime) -> UUID:
    """The key that the client is from now on. Of the scopes those hold that the person's role has."""
    person_id = person_id_of(actor=actor)
    require_present(actor=actor, to_do="connect a client")
    allowed = scopes & scopes_within(actor.role) if actor.role is not None else frozenset()
    if not allowed:
        raise ForbiddenError(
            "Nothing was ticked that your role allows an agent to do.",
            suggestion="Tick something, or ask an owner of the team for another role.",
        )
    # The lock of the person's connections in the team: of two at once the second sees the first.
    Team.objects.select_for_update(no_key=True).get(pk=actor.team_id)
    hold_seat(actor=actor)
    live = AgentKey.objects.filter(team_id=actor.team_id, person_id=person_id, revoked_at__isnull=True)
    if live.filter(expires_at__gt=now).count() >= MAX_CONNECTIONS:
        raise PreconditionFailedError(
            f"You have connected {MAX_CONNECTIONS} clients in this team.", suggestion="Revoke one under Keys."
        )
    key_id = new_id(now=now)
    row = AgentKey.objects.create(
        id=key_id,
        team_id=actor.team_id,
        person_id=person_id,
        name=_name_of(client, actor),
        # No text of a key has this beginning, or this digest: it cannot be used as one.
        prefix=f"sign-on {key_id.hex[-12:]}",
        digest=os.urandom(DIGEST_BYTES),
        scopes=sorted(scope.value for scope in allowed),
        created_at=now,
        expires_at=now + FIRST_LIFE,
    )
    details = {"client": client.client_id[:256], "goes_to": client.goes_to[:256], "address": client.resource}
    _record(actor, "client.connected", row, now, **details)
    return key_id


def prolong_connection(*, key_id: UUID, until: datetime, now: datetime) -> bool:
    """Inside the transaction that hands out tokens. False, when the connection has ended."""
    with within_connection(key_id):
        row = AgentKey.objects.select_for_update(no_key=True).filter(pk=key_id, person__isnull=False).first()
    if row is None or row.person_id is None or row.revoked_at is not None:
        return False
    with within_team(row.team_id):
        if row.expires_at is None or row.expires_at <= now or not _is_in(row.team_id, row.person_id):
            return False
        row.expires_at = until
        row.save(update_fields=["expires_at"])
    jobs.ask_to_expire_keys(at=until, now=now)
    return True


@transaction.atomic(durable=True)
def disconnect_client(*, key_id: UUID, now: datetime) -> None:
    """By the client itself, that has proved who it is; safe to repeat."""
    with within_connection(key_id):
        row = AgentKey.objects.filter(pk=key_id, person__isnull=False).select_related("person").first()
        # The condition is the lock: of two at once, one updates the row and tells the audit log.
        if row is not None and AgentKey.objects.filter(pk=key_id, revoked_at__isnull=True).update(revoked_at=now):
            _record(_as_agent(row, frozenset(), Door.REST), "client.disconnected", row, now)


def disconnect_all_of(*, actor: Actor, person_id: UUID, now: datetime) -> int:
    """Inside the transaction that takes the person out of the team."""
    live = AgentKey.objects.filter(team_id=actor.team_id, person_id=person_id, revoked_at__isnull=True)
    return live.update(revoked_at=now)


def find_connected_actor(*, key_id: UUID, scopes: frozenset[Scope], door: Door, now: datetime) -> Actor | None:
    """The agent behind a connection, as far as the token, the consent and the person's role today go."""
    live = AgentKey.objects.filter(pk=key_id, person__isnull=False, revoked_at__isnull=True, expires_at__gt=now)
    with within_connection(key_id):
        row = live.first()
    if row is None or row.person_id is None:
        return None
    with within_team(row.team_id):
        person = membership_actor(person_id=row.person_id, team_id=row.team_id, door=door)
        if person is None or person.role is None:
            return None
        note_use(row, now)
    given = frozenset(Scope(scope) for scope in row.scopes)
    return _as_agent(row, scopes & given & scopes_within(person.role), door)


def _is_in(team_id: UUID, person_id: UUID) -> bool:
    return membership_actor(person_id=person_id, team_id=team_id, door=Door.REST) is not None


def _as_agent(row: AgentKey, scopes: frozenset[Scope], door: Door) -> Actor:
    return Actor(
        kind=ActorKind.AGENT_KEY,
        id=to_text(Prefix.KEY, row.pk),
        name=row.name,
        team_id=row.team_id,
        door=door,
        scopes=scopes,
    )


def _name_of(client: Client, actor: Actor) -> str:
    """A client calls itself what it likes, so its name is cleaned, and stands beside whose it is."""
    end = f" of {actor.name}"
    plain = "".join(each if _is_plain(each) else " " for each in only_read(client.name))
    # What was cut may end amid what belongs together.
    begin = only_read(" ".join(plain.split())[: NAME_CHARACTERS - len(end)]).strip() or "A client"
    return read_name(only_read((begin + end)[:NAME_CHARACTERS]))


def _is_plain(character: str) -> bool:
    """A letter, a number, what is written on or between them in other scripts, or one of a few signs."""
    return character.isalnum() or character in _SIGNS or unicodedata.category(character)[0] in "MC"


def _record(actor: Actor, action: str, row: AgentKey, now: datetime, **more: str) -> None:
    record_audit(
        actor=actor,
        action=action,
        target=to_text(Prefix.KEY, row.pk),
        now=now,
        details={"name": row.name, "scopes": row.scopes, **more},
    )
