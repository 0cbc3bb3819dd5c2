"""Replies of calls that move a run which is handed over: what is recorded for an attempt, and answered ever after."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import orjson

from sessions_app.engine import tokens
from sessions_app.engine.decisions import Decision
from sessions_app.engine.navigation import effect_json
from sessions_app.engine.state import OpenQuestion, Snapshot
from sessions_app.engine.tokens import Keyring, TokenKind
from teams_app.engine.ids import birth_ms
from workflows_app.engine.program import Program

TEMPLATE = 3
_TOKENS = ("session_token", "checkpoint_handle")
# What the doors make a trace token of; no agent reads it.
STRETCH = "stretch"


def entered(*, program: Program, before: Snapshot, decision: Decision, token: str, now_ms: int) -> dict[str, Any]:
    """The activity at which the run stands now, which is another than was asked for where that one is passed over, or where
    the one that is left waits for a person.
    """
    snapshot = decision.snapshot
    warnings = [*decision.told, *(said.message for node in decision.nodes for said in node.warnings)]
    body = activity_entered(program=program, snapshot=snapshot, token=token, warnings=warnings) | answer_of(before)
    if snapshot.work is not None:
        body["recorded_steps"] = decision.recorded
    return {**body, STRETCH: stretch_of(before, run_id=decision.place.run_id, now_ms=now_ms)}


def stretch_of(snapshot: Snapshot, *, run_id: UUID, now_ms: int) -> dict[str, Any]:
    """What the trace token of the call covers: the visit so far, or the run before its first activity."""
    since = snapshot.entered_ms or birth_ms(run_id)
    return {"activity": snapshot.position.activity, "from_ms": since, "until_ms": now_ms}


def answer_of(snapshot: Snapshot) -> dict[str, Any]:
    """What a person answered last, for whoever goes on."""
    return {"answered": snapshot.answered.as_json()} if snapshot.answered is not None else {}


def activity_entered(*, program: Program, snapshot: Snapshot, token: str, warnings: Sequence[str]) -> dict[str, Any]:
    position = snapshot.position
    activity = program.activity(position.activity)
    if position.complete or activity is None:
        return {"activity_id": "", "name": "", "status": "completed", "session_token": token, "warnings": [*warnings]}
    return {
        "activity_id": activity.id,
        "name": activity.title or activity.id,
        "status": "waiting" if snapshot.work is not None else "active",
        "session_token": token,
        "pending_checkpoints": [question.checkpoint for question in snapshot.questions],
        "warnings": [*warnings],
        **answer_of(snapshot),
    }


def yielded(*, checkpoint_id: str, token: str) -> dict[str, Any]:
    return {
        "status": "yielded",
        "checkpoint_id": checkpoint_id,
        "checkpoint_handle": token,
        "session_token": token,
        "message": (
            "Stop here and hand checkpoint_handle to the orchestrator in a <checkpoint_yield> block. "
            "Go on with resume_checkpoint when it says that the checkpoint is resolved."
        ),
    }


def answered_before(*, checkpoint_id: str, option: str, token: str) -> dict[str, Any]:
    """The same question of the same visit is not asked twice."""
    said = f"It was answered in this visit: {option}." if option else "It was dismissed in this visit."
    body = {
        "status": "replayed",
        "checkpoint_id": checkpoint_id,
        "checkpoint_handle": token,
        "session_token": token,
        "message": f"{said} Go on with the work.",
    }
    return {**body, "resolved_option": option} if option else {**body, "dismissed": True}


def resolved(*, decision: Decision, token: str) -> dict[str, Any]:
    settled = decision.settled
    if settled is None:
        raise ValueError("No question was answered.")
    body: dict[str, Any] = {
        "checkpoint_id": settled.question.checkpoint,
        "resolved": True,
        "session_token": token,
        "checkpoint_handle": token,
        "remaining_checkpoints": [question.checkpoint for question in decision.snapshot.questions],
    }
    if settled.option is None:
        body["dismissed"] = True
    else:
        body["resolved_option"] = settled.option.id
        if settled.option.effect is not None:
            body["effect"] = effect_json(settled.option.effect)
    return {**body, "warnings": [*decision.told]}


def person_answered(*, question: str, snapshot: Snapshot, token: str) -> dict[str, Any]:
    """A signed-in person was first; what they chose is told to whoever asks."""
    given = snapshot.answered
    body: dict[str, Any] = {
        "checkpoint_id": question,
        "resolved": True,
        "session_token": token,
        "checkpoint_handle": token,
        "remaining_checkpoints": [open_.checkpoint for open_ in snapshot.questions],
        "authority": "human",
        "warnings": ["A signed-in person had answered before this call; what you passed on was not recorded."],
    }
    return body if given is None else {**body, "resolved_option": given.option, "reason": given.reason}


def renewed(*, data: bytes, keyring: Keyring) -> bytes:
    """The same bytes while the key that signed its token is trusted, else the same reply with it signed anew."""
    reply: dict[str, Any] = orjson.loads(data)
    before = {name: reply[name] for name in _TOKENS if reply.get(name)}
    reply |= {name: tokens.renew(keyring=keyring, kind=TokenKind.SESSION, text=text) for name, text in before.items()}
    return orjson.dumps(reply) if any(reply[name] != text for name, text in before.items()) else data


def question_named(snapshot: Snapshot, checkpoint_id: str) -> OpenQuestion | None:
    return next((question for question in snapshot.questions if question.checkpoint == checkpoint_id), None)
