"""Agent keys: issued once, proved on every call, revoked for good."""

import os
from datetime import datetime, timedelta

from django.db import transaction

from teams_app.engine.actors import Actor, Permission, Scope
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.keys import KEY_RANDOM_BYTES, digest_of, mint_key, prefix_of
from teams_app.engine.names import read_name
from teams_app.engine.values import IssuedKey
from teams_app.models import AgentKey
from teams_app.selectors import key_value
from teams_app.services.audit import record_audit
from teams_app.services.ids import new_id


@transaction.atomic
def issue_key(
    *,
    actor: Actor,
    name: str,
    scopes: frozenset[Scope],
    expires_at: datetime | None,
    now: datetime,
) -> IssuedKey:
    actor.require(Permission.MANAGE_TEAM)
    if not scopes:
        raise InvalidInputError("A key needs at least one scope.", details={"scopes": [scope.value for scope in Scope]})
    if expires_at is not None and expires_at <= now:
        raise InvalidInputError("The expiry lies in the past.", suggestion="Give a later time, or none.")
    text = mint_key(random=os.urandom(KEY_RANDOM_BYTES))
    row = AgentKey.objects.create(
        id=new_id(now=now),
        team_id=actor.team_id,
        name=read_name(name),
        prefix=prefix_of(text),
        digest=digest_of(text),
        scopes=sorted(scope.value for scope in scopes),
        created_at=now,
        expires_at=expires_at,
    )
    record_audit(actor=actor, action="key.issued", target=to_text(Prefix.KEY, row.pk), now=now)
    return IssuedKey(key=key_value(row), text=text)
