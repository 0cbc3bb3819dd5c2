"""Tokens of people: made and revoked by whom they are of, proved on every call, never more than their person may.

Nothing is remembered between calls: what ends a token ends it everywhere at once.
"""

import os
from datetime import UTC, datetime, timedelta
from hmac import compare_digest
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from teams_app.engine.actors import (
    TOKEN_SCOPE_PERMISSIONS,
    Actor,
    Door,
    Permission,
    TokenGrant,
    TokenScope,
    person_id_of,
    require_present,
)
from teams_app.engine.credentials import RANDOM_BYTES, Mark, is_credential, locator_of, mint_credential
from teams_app.engine.errors import (
    ForbiddenError,
    InvalidInputError,
    PreconditionFailedError,
    UnauthenticatedError,
)
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.keys import digest_of
from teams_app.engine.names import read_name
from teams_app.engine.values import IssuedToken, TokenValue
from teams_app.models import PersonalToken, Team
from teams_app.selectors import membership_actor, no_token, token_value
from teams_app.services.audit import record_audit
from teams_app.services.ids import new_id
from teams_app.services.row_scope import within_secret, within_team
from teams_app.services.seats import hold_seat

MAX_LIVE_TOKENS = 50
LONGEST_LIFE = timedelta(days=366)
_LAST_USE_GRAIN = timedelta(minutes=1)


@transaction.atomic(durable=True)
def issue_token(
    *, actor: Actor, name: str, scopes: frozenset[TokenScope], expires_at: datetime, now: datetime
) -> IssuedToken:
    """For oneself, in the team in which one acts. Without a scope it only reads."""
    person_id = person_id_of(actor=actor)
    require_present(actor=actor, to_do="make a token")
    _check_terms(actor, scopes, expires_at, now)
    # The lock of the person's tokens in the team: of two at once the second sees the first.
    Team.objects.select_for_update(no_key=True).get(pk=actor.team_id)
    hold_seat(actor=actor)
    live = PersonalToken.objects.filter(team_id=actor.team_id, person_id=person_id, revoked_at__isnull=True)
    if live.filter(expires_at__gt=now).count() >= MAX_LIVE_TOKENS:
        raise PreconditionFailedError(
            f"You have {MAX_LIVE_TOKENS} tokens in this team.", suggestion="Revoke one that you no longer use."
        )
    text = mint_credential(mark=Mark.PERSONAL_TOKEN, random=os.urandom(RANDOM_BYTES))
    row = PersonalToken.objects.create(
        id=new_id(now=now),
        team_id=actor.team_id,
        person_id=person_id,
        name=read_name(name),
        prefix=locator_of(mark=Mark.PERSONAL_TOKEN, text=text),
        digest=digest_of(text),
        scopes=sorted(scope.value for scope in scopes),
        created_at=now,
        # Python knows offsets from UTC that Postgres does not.
        expires_at=expires_at.astimezone(UTC),
    )
    _record(actor, "token.issued", row, now, username=actor.name)
    return IssuedToken(token=token_value(row), text=text)


@transaction.atomic(durable=True)
def revoke_token(*, actor: Actor, token_id: UUID, now: datetime) -> TokenValue:
    """One's own, or for an owner anybody's of the team. A token without the scope to manage revokes itself alone."""
    if not actor.may(Permission.MANAGE_TEAM):
        person_id_of(actor=actor)
    row = PersonalToken.objects.filter(team_id=actor.team_id, pk=token_id).select_related("person").first()
    if row is None or not _may_end(actor, row):
        raise no_token()
    # The condition is the lock: of two at once, one updates the row and tells the audit log.
    if PersonalToken.objects.filter(pk=row.pk, revoked_at__isnull=True).update(revoked_at=now):
        row.revoked_at = now
        _record(actor, "token.revoked", row, now, username=row.person.username)
    else:
        row.refresh_from_db(fields=["revoked_at"])
    return token_value(row)


def revoke_tokens_of(*, actor: Actor, person_id: UUID, now: datetime) -> int:
    """Inside the transaction that takes the person out of the team; if they come back, their tokens do not."""
    return PersonalToken.objects.filter(team_id=actor.team_id, person_id=person_id, revoked_at__isnull=True).update(
        revoked_at=now
    )


def authenticate_token(*, text: str, door: Door, now: datetime) -> Actor:
    """The person behind a token, by it. Raises UnauthenticatedError, the same for whatever is wrong with it."""
    with within_secret(text):
        row = _live_row(text, now)
    if row is None:
        raise _unknown()
    with within_team(row.team_id):
        actor = membership_actor(person_id=row.person_id, team_id=row.team_id, door=door)
        if actor is None:
            raise _unknown()
        _note_use(row, now)
    return actor.by_token(
        TokenGrant(
            id=to_text(Prefix.TOKEN, row.pk),
            name=row.name,
            scopes=frozenset(TokenScope(scope) for scope in row.scopes),
            answers_human=row.team.tokens_answer_human,
        )
    )


def _live_row(text: str, now: datetime) -> PersonalToken | None:
    if not is_credential(mark=Mark.PERSONAL_TOKEN, text=text):
        return None
    found = PersonalToken.objects.filter(prefix=locator_of(mark=Mark.PERSONAL_TOKEN, text=text)).select_related("team")
    row = found.first()
    if row is None or not compare_digest(bytes(row.digest), digest_of(text)):
        return None
    return row if row.revoked_at is None and row.expires_at > now else None


def _unknown() -> UnauthenticatedError:
    return UnauthenticatedError(
        "This token does not hold.",
        suggestion="It may be mistyped, revoked or past its end, or its person may have left the team. Make another in the "
        "Studio.",
    )


def _check_terms(actor: Actor, scopes: frozenset[TokenScope], expires_at: datetime, now: datetime) -> None:
    if not now < expires_at <= now + LONGEST_LIFE:
        raise InvalidInputError(
            f"A token ends within {LONGEST_LIFE.days} days, and not before it begins.",
            suggestion="Give a nearer end, and make another token then.",
        )
    beyond = [scope for scope in TokenScope if scope in scopes and not _has_any(actor, scope)]
    if beyond:
        raise ForbiddenError(
            f"Your role has nothing of what these scopes give: {', '.join(beyond)}.",
            suggestion="Leave them out, or ask an owner of the team for another role.",
        )


def _has_any(actor: Actor, scope: TokenScope) -> bool:
    return any(actor.may(permission) for permission in TOKEN_SCOPE_PERMISSIONS[scope])


def _may_end(actor: Actor, row: PersonalToken) -> bool:
    if actor.may(Permission.MANAGE_TEAM):
        return True
    return row.person_id == person_id_of(actor=actor) and (
        actor.token is None or actor.token.id == to_text(Prefix.TOKEN, row.pk)
    )


def _note_use(row: PersonalToken, now: datetime) -> None:
    """At most once a minute, and never waiting: who finds the row locked lets the next call note it."""
    if row.last_used_at is not None and now - row.last_used_at < _LAST_USE_GRAIN:
        return
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lte=now - _LAST_USE_GRAIN)
    free = PersonalToken.objects.select_for_update(skip_locked=True, no_key=True).filter(stale, pk=row.pk)
    with transaction.atomic():
        PersonalToken.objects.filter(pk__in=free.values("pk")).update(last_used_at=now)


def _record(actor: Actor, action: str, row: PersonalToken, now: datetime, *, username: str) -> None:
    record_audit(
        actor=actor,
        action=action,
        target=to_text(Prefix.TOKEN, row.pk),
        now=now,
        details={
            "name": row.name,
            "of": username,
            "prefix": row.prefix,
            "scopes": row.scopes,
            "ends": row.expires_at.isoformat(),
        },
    )
