"""Who is let in: every door names its actor here, once, before anything else happens.

Admission proves the actor, has the database show their team and no other, puts them on each line of the log, and takes one
request off their limits.
"""

from datetime import datetime
from uuid import UUID

import structlog

from teams_app import selectors
from teams_app.engine.actors import Actor, Door
from teams_app.engine.credentials import Mark, is_marked
from teams_app.engine.errors import UnauthenticatedError
from teams_app.services.keys import authenticate_key, remembered_actor
from teams_app.services.row_scope import enter_scope_of, within_person
from teams_app.services.tokens import authenticate_token
from workrail_site import throttle

TEAM_HEADER = "Workrail-Team"
_SCHEME = "bearer"


def read_bearer(header: str) -> str:
    """The key or token in an Authorization header."""
    scheme, _, key = header.strip().partition(" ")
    if scheme.lower() == _SCHEME and key.strip():
        return key.strip()
    raise UnauthenticatedError(
        "The Authorization header does not hold a bearer key.",
        suggestion="Send Authorization: Bearer wr_key_…",
    )


def admit_key(*, text: str, door: Door, now: datetime) -> Actor:
    """Raises UnauthenticatedError, KeyRevokedError, KeyExpiredError or RateLimitedError."""
    if is_marked(mark=Mark.PERSONAL_TOKEN, text=text):
        raise UnauthenticatedError(
            "A personal token is for REST; agents come here with a key.",
            suggestion="Ask an owner of the team for an agent key: wr_key_…",
        )
    actor = authenticate_key(text=text, door=door, now=now)
    return _admitted(actor, now)


def admit_bearer(*, text: str, door: Door, now: datetime) -> Actor:
    """A key as `admit_key`, or a person by their token."""
    if is_marked(mark=Mark.PERSONAL_TOKEN, text=text):
        return _admitted(authenticate_token(text=text, door=door, now=now), now)
    return admit_key(text=text, door=door, now=now)


def admit_client(*, text: str, resource: str, now: datetime) -> Actor:
    """A client that has signed on, at an address of MCP. Raises UnauthenticatedError or RateLimitedError."""
    from workrail_site.oauth.admitting import authenticate_client  # noqa: PLC0415  heavy, and there only when it is asked for

    return _admitted(authenticate_client(text=text, resource=resource, door=Door.MCP, now=now), now)


def admit_remembered_key(*, text: str, door: Door, now: datetime) -> Actor | None:
    """As `admit_key`, when that costs neither a query nor a question to Redis; None, when it would."""
    actor = remembered_actor(text=text, door=door, now=now)
    return actor if actor is not None and throttle.spend_from_lease(actor=actor, now=now) else None


def charge_more(*, actor: Actor, requests: int, now: datetime) -> None:
    """For what came beside the first: a batch is as many requests as it has messages. Raises RateLimitedError."""
    for _ in range(requests):
        throttle.spend_for(actor=actor, now=now)


def admit_person(*, person_id: UUID, team_id: UUID | None, door: Door, now: datetime) -> Actor:
    """A person who has signed in. Raises ForbiddenError, NotFoundError, TeamRequiredError or RateLimitedError."""
    with within_person(person_id):
        actor = selectors.person_actor(person_id=person_id, team_id=team_id, door=door)
    return _admitted(actor, now)


def _admitted(actor: Actor, now: datetime) -> Actor:
    structlog.contextvars.bind_contextvars(actor=actor.id, door=actor.door.value)
    enter_scope_of(actor)
    throttle.spend_for(actor=actor, now=now)
    return actor
