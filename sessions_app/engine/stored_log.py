"""A log as its table holds it, checked against itself and against its seals: what was written, by whom, and what was answered."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

from sessions_app.engine import seals
from sessions_app.engine.log import EventKind, Head
from sessions_app.engine.seals import ReadSeal, SealedTransition
from teams_app.engine.ids import Prefix, from_text, to_text
from teams_app.engine.seals import SealKeys, SealState


class LogReason(StrEnum):
    COLUMN_MISMATCH = "column_mismatch"
    SEAL_MISSING = "seal_missing"
    SEAL_BROKEN = "seal_broken"
    SEAL_KEY_UNKNOWN = "seal_key_unknown"
    REPLY_MISSING = "reply_missing"
    REPLY_CHANGED = "reply_changed"
    REPLY_UNKNOWN = "reply_unknown"


_OF_STATE = {
    SealState.MISSING: LogReason.SEAL_MISSING,
    SealState.BROKEN: LogReason.SEAL_BROKEN,
    SealState.UNKNOWN_KEY: LogReason.SEAL_KEY_UNKNOWN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRow:
    """An event with what its row says of it. `beside` are the columns in which releases before have repeated its body."""

    index: int
    team_id: UUID
    envelope: Mapping[str, Any]
    digest: str
    created_us: int
    seal: str | None
    run_id: UUID | None = None
    beside: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyRow:
    """What was answered to an attempt, by the digest of all that its row says of it."""

    event_index: int
    team_id: UUID
    digest: str
    actor: str
    created_us: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """`trusted` is how many events were there when the session was adopted without seals; None when it was born with them."""

    session_id: UUID
    team_id: UUID
    head: Head
    head_seal: str
    trusted: int | None
    dialects: Mapping[UUID, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFinding:
    reason: LogReason
    message: str


@dataclass(slots=True, kw_only=True)
class Told:
    """Who made which event, as far as seals say so, and when each was written."""

    actors: dict[int, str] = field(default_factory=dict)
    created_us: dict[int, int] = field(default_factory=dict)


def check_log(
    keys: SealKeys, *, session: SessionRow, events: Sequence[LogRow], replies: Iterable[ReplyRow]
) -> tuple[list[LogFinding], Told]:
    """The events must be whole by themselves: `verify_chain` comes first."""
    told = Told()
    name = to_text(Prefix.SESSION, session.session_id)
    found = [finding for event in events for finding in _columns(session, event, name)]
    found.extend(_seals(keys, session, events, list(replies), told))
    found.extend(_head(keys, session))
    return found, told


def _head(keys: SealKeys, session: SessionRow) -> Iterator[LogFinding]:
    state = seals.check_head(
        keys, session.head_seal, session_id=session.session_id, team_id=session.team_id, head=session.head
    )
    if state is not SealState.HOLDS:
        yield LogFinding(reason=_OF_STATE[state], message=f"The seal of the head: {state.value}.")


def _columns(session: SessionRow, event: LogRow, name: str) -> Iterator[LogFinding]:
    """What the table says beside the body."""
    envelope = event.envelope
    said: dict[str, tuple[Any, Any]] = {
        "team_id": (event.team_id, session.team_id),
        "session_id": (name, envelope.get("sessionId")),
        "created_at": (event.created_us // 1000, envelope.get("timestampMs")),
    }
    if event.beside is not None:
        said |= {column: (event.beside[column], told) for column, told in _repeated(envelope).items()}
    for column, (stored, body) in said.items():
        if stored != body:
            message = f"Event {event.index}: the column {column} says {stored}, the body {body}."
            yield LogFinding(reason=LogReason.COLUMN_MISMATCH, message=message)


def _repeated(envelope: Mapping[str, Any]) -> dict[str, object]:
    scope = envelope.get("scope", {})
    return {
        "event_id": from_text(Prefix.EVENT, envelope.get("eventId", "")),
        "kind": envelope.get("kind"),
        "dedupe": envelope.get("dedupeKey"),
        "run_id": from_text(Prefix.RUN, scope.get("runId", "")),
        "node_id": from_text(Prefix.NODE, scope.get("nodeId", "")),
    }


def _seals(
    keys: SealKeys, session: SessionRow, events: Sequence[LogRow], replies: list[ReplyRow], told: Told
) -> Iterator[LogFinding]:
    begin = 0
    by_index: dict[int, list[ReplyRow]] = {}
    for reply in replies:
        by_index.setdefault(reply.event_index, []).append(reply)
    for at, event in enumerate(events):
        told.created_us[event.index] = event.created_us
        if event.seal is None:
            continue
        read = seals.read_seal(event.seal)
        written = events[begin : at + 1]
        begin = at + 1
        if read is None:
            yield LogFinding(reason=LogReason.SEAL_BROKEN, message=f"The seal of event {event.index} is none.")
            continue
        yield from _unsealed(session, [each for each in written if each.index < read.first])
        whole = [each for each in written if each.index >= read.first]
        yield from _transition(keys, session, whole, read, by_index.pop(read.first, []))
        told.actors.update(dict.fromkeys((each.index for each in whole), read.actor))
    rest = events[begin:]
    yield from _unsealed(session, rest)
    for index, strange in by_index.items():
        if session.trusted is None or index >= session.trusted:
            names = ", ".join(reply.name for reply in strange)
            message = f"No seal tells of what is kept as answered at event {index}: {names}."
            yield LogFinding(reason=LogReason.REPLY_UNKNOWN, message=message)


def _unsealed(session: SessionRow, events: Sequence[LogRow]) -> Iterator[LogFinding]:
    missing = [event.index for event in events if session.trusted is None or event.index >= session.trusted]
    if missing:
        message = f"Events {missing[0]} to {missing[-1]} have no seal."
        yield LogFinding(reason=LogReason.SEAL_MISSING, message=message)


def _transition(
    keys: SealKeys, session: SessionRow, events: Sequence[LogRow], read: ReadSeal, replies: Sequence[ReplyRow]
) -> Iterator[LogFinding]:
    if not events or events[0].index != read.first:
        message = f"A seal tells of events from {read.first} on, and they are not there."
        yield LogFinding(reason=LogReason.SEAL_BROKEN, message=message)
        return
    last = events[-1]
    transition = SealedTransition(
        session_id=session.session_id,
        team_id=session.team_id,
        first=read.first,
        last=Head(next_index=last.index + 1, digest=last.digest),
        at_us=last.created_us,
        actor=read.actor,
        dialect=_dialect(session, events),
        attempts=read.attempts,
    )
    state = seals.check_transition(keys, read, transition)
    if state is not SealState.HOLDS:
        message = (
            f"The seal of events {read.first} to {last.index}: {state.value}. They, who made them, the dialect of the run "
            "that they start, or what they were answered is not what was written."
        )
        yield LogFinding(reason=_OF_STATE[state], message=message)
        return
    yield from _replies(read, replies, last.created_us)


def _dialect(session: SessionRow, events: Sequence[LogRow]) -> str:
    """Of the runs that these events start."""
    started = [event.run_id for event in events if event.envelope.get("kind") == EventKind.RUN_STARTED.value]
    return seals.dialects_told([session.dialects.get(run_id, "") for run_id in started if run_id is not None])


def _replies(read: ReadSeal, replies: Sequence[ReplyRow], at_us: int) -> Iterator[LogFinding]:
    kept = {reply.digest: reply for reply in replies}
    missing = [digest for digest in read.attempts if digest not in kept]
    strange = [reply for digest, reply in kept.items() if digest not in read.attempts]
    for reply in strange:
        reason = LogReason.REPLY_CHANGED if missing else LogReason.REPLY_UNKNOWN
        message = f"What is kept as answered to {reply.name} is not what was answered at event {read.first}."
        yield LogFinding(reason=reason, message=message)
    if missing and not strange:
        message = f"What was answered at event {read.first} is gone: {len(missing)} of {len(read.attempts)} replies."
        yield LogFinding(reason=LogReason.REPLY_MISSING, message=message)
    for reply in replies:
        if reply.created_us != at_us or reply.actor != read.actor:
            message = f"The actor or the time of {reply.name} is not that of event {read.first}."
            yield LogFinding(reason=LogReason.COLUMN_MISMATCH, message=message)
