"""What is sealed of a log: each transition with who made it and what it was answered, and the head that it left."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

from sessions_app.engine.log import Head
from teams_app.engine import seals
from teams_app.engine.seals import Domain, SealKeys, SealState, check, digest, seal


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedTransition:
    """Events `first` to `last` of a session, written by one call. `attempts` are the digests of the replies kept for it."""

    session_id: UUID
    team_id: UUID
    first: int
    last: Head
    at_us: int
    actor: str
    # Of the runs that it starts: the one thing of a run that no event tells.
    dialect: str = ""
    attempts: Sequence[str] = ()

    def parts(self) -> tuple[str | int, ...]:
        at = (self.first, self.last.next_index, self.last.digest, self.at_us)
        return (self.session_id.hex, self.team_id.hex, *at, self.actor, self.dialect, *self.attempts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSeal:
    """A seal of a transition as its last event keeps it."""

    text: str
    first: int
    actor: str
    attempts: tuple[str, ...]


def seal_transition(keys: SealKeys, transition: SealedTransition) -> str:
    text = seal(keys, Domain.TRANSITION, *transition.parts())
    return orjson.dumps([text, transition.first, transition.actor, *transition.attempts]).decode()


def dialects_told(dialects: Sequence[str]) -> str:
    """As a seal tells them, in the order in which the runs start."""
    return ",".join(dialects)


def read_seal(stored: str) -> ReadSeal | None:
    """None when it is none."""
    try:
        value: Any = orjson.loads(stored)
        text, first, actor, *attempts = value
    except (orjson.JSONDecodeError, ValueError, TypeError):
        return None
    told = [text, actor, *attempts]
    if not isinstance(first, int) or not all(isinstance(each, str) for each in told):
        return None
    return ReadSeal(text=text, first=first, actor=actor, attempts=tuple(attempts))


def check_transition(keys: SealKeys, read: ReadSeal, transition: SealedTransition) -> SealState:
    return check(keys, read.text, Domain.TRANSITION, *transition.parts())


def seal_head(keys: SealKeys, *, session_id: UUID, team_id: UUID, head: Head) -> str:
    """With what was in doubt of the heads before it."""
    return seals.seal_end(keys, Domain.HEAD, *_parts_of_head(session_id, team_id, head), doubts=head.doubts)


def check_head(keys: SealKeys, stored: str, *, session_id: UUID, team_id: UUID, head: Head) -> SealState:
    return seals.check_end(keys, stored, Domain.HEAD, *_parts_of_head(session_id, team_id, head))


def doubts_of_head(keys: SealKeys, stored: str, *, session_id: UUID, team_id: UUID, head: Head) -> str:
    return seals.doubts_of(keys, stored, Domain.HEAD, *_parts_of_head(session_id, team_id, head))


def _parts_of_head(session_id: UUID, team_id: UUID, head: Head) -> tuple[str | int, ...]:
    return (session_id.hex, team_id.hex, head.next_index, head.digest)


def attempt_digest(
    *,
    node_id: UUID,
    nonce: bytes,
    kind: str,
    to_node_id: UUID,
    reply_sha256: str,
    reply_template: int,
    keys_generation: int,
    actor: str,
) -> str:
    """Of a recorded reply with all that its row says of it."""
    return digest(node_id.hex, nonce.hex(), kind, to_node_id.hex, reply_sha256, reply_template, keys_generation, actor)
