"""Seals what the hot write writes. Every seal is made before the write, from what is written."""

import hashlib
from datetime import datetime
from uuid import UUID

from django.conf import settings

from sessions_app.engine import seals
from sessions_app.engine.log import Event, Head
from sessions_app.engine.seals import SealedTransition
from sessions_app.services.store.appends import Append, NewAttempt
from teams_app.engine.seals import to_us


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
