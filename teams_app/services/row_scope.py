"""Which rows the database shows to what runs now: those of one team, of one person, or of whoever holds one secret.

A door sets it as soon as it knows who asks, and until then shows nothing: `workrail_site.postgres` tells it to Postgres with
each statement, and the policies of `teams_app.services.row_policies` go by it. They bind the role that serves requests; for
the owner, who runs commands, and for upkeep it makes no difference.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from uuid import UUID

from teams_app.engine.actors import Actor, ActorKind
from teams_app.engine.ids import Prefix, from_text
from teams_app.engine.keys import digest_of


@dataclass(frozen=True, slots=True)
class RowScope:
    """`person` shows which teams somebody is in, `proof` the one row that a secret is the secret of."""

    team: UUID | None = None
    person: UUID | None = None
    proof: bytes = b""


NOBODY = RowScope()
_scope: ContextVar[RowScope | None] = ContextVar("row_scope", default=None)


def row_scope() -> RowScope | None:
    """None outside of every request."""
    return _scope.get()


def enter_scope(scope: RowScope) -> None:
    """For the rest of the request."""
    _scope.set(scope)


def enter_scope_of(actor: Actor) -> None:
    """For the rest of the request: the actor's team, and for somebody who has signed in which other teams are theirs."""
    signed_in = actor.kind is ActorKind.PERSON and actor.token is None
    enter_scope(RowScope(team=actor.team_id, person=from_text(Prefix.PERSON, actor.id) if signed_in else None))


@contextmanager
def within_scope(scope: RowScope | None) -> Iterator[None]:
    before = _scope.set(scope)
    try:
        yield
    finally:
        _scope.reset(before)


def within_team(team_id: UUID) -> AbstractContextManager[None]:
    return within_scope(RowScope(team=team_id))


def within_person(person_id: UUID) -> AbstractContextManager[None]:
    """Their memberships and those teams, beside what is in sight already."""
    now = _scope.get() or NOBODY
    return within_scope(RowScope(team=now.team, person=person_id))


def within_secret(text: str) -> AbstractContextManager[None]:
    """The key, token, invitation or reset that this is the text of."""
    return within_scope(RowScope(proof=digest_of(text)))


def within_connection(key_id: UUID) -> AbstractContextManager[None]:
    """The key that a connected client is, which nobody has the text of."""
    return within_scope(RowScope(proof=key_id.bytes))
