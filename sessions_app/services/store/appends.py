"""One transition as the rows that it writes, and their seals. Every seal is made before the write, from what is written."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec
from django.conf import settings

from sessions_app.engine import seals
from sessions_app.engine.checkpoints import Authority, CheckpointState, Closing
from sessions_app.engine.decisions import derive_id
from sessions_app.engine.log import Event, Head
from sessions_app.engine.runs import AttemptKind, RunStatus
from sessions_app.engine.seals import SealedTransition
from sessions_app.engine.state import Preferences
from sessions_app.engine.tables import GapRow, HandleRow, NewRun, NodeRow, OutputRow, QuestionRow
from teams_app.engine.seals import to_us
from teams_app.engine.webhooks import NoticeKind


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAttempt:
    node_id: UUID
    nonce: bytes
    kind: AttemptKind
    to_node_id: UUID
    reply: bytes
    reply_template: int
    keys_generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTip:
    """The run goes on from another place: of its unanswered questions only that one is open which is asked there."""

    asked: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    title: str
    baseline: Preferences
    parent_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAnnouncement:
    """With a status, only if the run does not have it yet. `about` and the kind name the notice for good."""

    kind: NoticeKind
    about: UUID
    request_id: UUID | None = None
    status: str = ""

    @property
    def id(self) -> UUID:
        return derive_id("notice", self.about.bytes, self.kind.value.encode())


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """One transition as rows. `before` is the head that the decision was made on; `session` is set to begin one.

    Without `run_status` the run keeps the status that it has, and with it `completed_at`.
    """

    team_id: UUID
    session_id: UUID
    actor: str
    now: datetime
    before: Head
    after: Head
    events: Sequence[Event]
    session: NewSession | None = None
    observed: Mapping[str, str] | None = None
    run_id: UUID | None = None
    run: NewRun | None = None
    run_status: RunStatus | None = None
    completed_at: datetime | None = None
    tip_node_id: UUID | None = None
    nodes: Sequence[NodeRow] = ()
    # By their digests.
    snapshots: Mapping[str, bytes] = msgspec.field(default_factory=dict)
    attempts: Sequence[NewAttempt] = ()
    outputs: Sequence[OutputRow] = ()
    gaps: Sequence[GapRow] = ()
    # Each gap that another one closes, with that one.
    resolved: Sequence[tuple[UUID, UUID]] = ()
    questions: Sequence[QuestionRow] = ()
    handles: Sequence[HandleRow] = ()
    closings: Sequence[Closing] = ()
    # The node that an answer led to.
    closed_by: UUID | None = None
    # What the audit log tells of it beside the answers: each action with its target.
    audited: Sequence[tuple[str, str]] = ()
    moved: NewTip | None = None

    @property
    def announcements(self) -> tuple[NewAnnouncement, ...]:
        """What is told to whoever wants notices of the team, if the transition is written."""
        return tuple(_announced(self))


# A run that comes to one of these is told of; one that stays there is not told of again.
_TOLD_STATUS = {
    "waiting": NoticeKind.RUN_WAITING,
    "blocked": NoticeKind.RUN_BLOCKED,
    "paused": NoticeKind.RUN_PAUSED,
    "complete": NoticeKind.RUN_COMPLETED,
    "complete_with_gaps": NoticeKind.RUN_COMPLETED,
    "rejected": NoticeKind.RUN_REJECTED,
    "cancelled": NoticeKind.RUN_CANCELLED,
}


def _announced(plan: Append) -> Iterator[NewAnnouncement]:
    """Questions that an agent passes on are no news: it shows them itself."""
    if plan.run is not None and plan.run_id is not None:
        yield NewAnnouncement(kind=NoticeKind.RUN_STARTED, about=plan.run_id)
    kind = _TOLD_STATUS.get(plan.run_status.value) if plan.run_status is not None else None
    if kind is not None and plan.run_id is not None and plan.run_status is not None and plan.events:
        yield NewAnnouncement(kind=kind, about=plan.events[-1].event_id, status=plan.run_status.value)
    for question in plan.questions:
        if question.authority == Authority.HUMAN.value:
            yield NewAnnouncement(kind=NoticeKind.CHECKPOINT_ASKED, about=question.id, request_id=question.id)
    for closing in plan.closings:
        if closing.state is CheckpointState.ANSWERED and closing.authority is Authority.HUMAN:
            yield NewAnnouncement(
                kind=NoticeKind.CHECKPOINT_ANSWERED, about=closing.request, request_id=closing.request
            )


def head_seal(*, session_id: UUID, team_id: UUID, head: Head) -> str:
    return seals.seal_head(settings.SEAL_KEYS, session_id=session_id, team_id=team_id, head=head)


def transition_seal(plan: Append) -> str:
    transition = SealedTransition(
        session_id=plan.session_id,
        team_id=plan.team_id,
        first=plan.before.next_index,
        last=plan.after,
        at_us=to_us(plan.now),
        actor=plan.actor,
        dialect=plan.run.dialect if plan.run else "",
        attempts=[_attempt_digest(attempt, plan.actor) for attempt in plan.attempts],
    )
    return seals.seal_transition(settings.SEAL_KEYS, transition)


def event_seal(*, event: Event, session_id: UUID, team_id: UUID, now: datetime, actor: str) -> str:
    """Of a transition of one event that answers no token."""
    transition = SealedTransition(
        session_id=session_id,
        team_id=team_id,
        first=event.index,
        last=Head(next_index=event.index + 1, digest=event.digest),
        at_us=to_us(now),
        actor=actor,
    )
    return seals.seal_transition(settings.SEAL_KEYS, transition)


def _attempt_digest(attempt: NewAttempt, actor: str) -> str:
    return seals.attempt_digest(
        node_id=attempt.node_id,
        nonce=attempt.nonce,
        kind=attempt.kind.value,
        to_node_id=attempt.to_node_id,
        reply_sha256=hashlib.sha256(attempt.reply).hexdigest(),
        reply_template=attempt.reply_template,
        keys_generation=attempt.keys_generation,
        actor=actor,
    )
