"""Replies of the dialects that hand activities over: what is recorded of a call that moves a run, and answered ever after."""

from collections.abc import Iterator, Sequence
from typing import Any, assert_never
from uuid import UUID

from sessions_app.engine.reply_facts import (
    EnteredFacts,
    HandedFacts,
    PersonAnsweredFacts,
    ResolvedFacts,
    SettledBeforeFacts,
    YieldedFacts,
)
from sessions_app.engine.state import Snapshot
from sessions_app.services.moves.speech import Speech, TokenPlace
from teams_app.engine.ids import birth_ms
from workflows_app.engine.program import Program
from workrail_site.dialects.effects import effect_json
from workrail_site.dialects.questions import asked_of_persons
from workrail_site.dialects.tokens import ACTIVITY_TOKENS

TEMPLATE = 3
# What the doors make a trace token of; no agent reads it.
STRETCH = "stretch"


def handed(facts: HandedFacts) -> dict[str, Any]:
    match facts.what:
        case EnteredFacts() as entered:
            return _entered(entered, facts.token)
        case YieldedFacts() as yielded:
            return _yielded(yielded.checkpoint_id, facts.token)
        case SettledBeforeFacts() as before:
            return _settled_before(before, facts.token)
        case ResolvedFacts() as resolved:
            return _resolved(resolved, facts.token)
        case PersonAnsweredFacts() as answered:
            return _person_answered(answered, facts.token)
        case _:
            assert_never(facts.what)


def token_places(reply: dict[str, Any]) -> Iterator[TokenPlace]:
    yield reply, ACTIVITY_TOKENS


ACTIVITIES = Speech(
    template=TEMPLATE, prints=frozenset(ACTIVITY_TOKENS.values()), say=handed, token_places=token_places
)


def _entered(facts: EnteredFacts, token: str) -> dict[str, Any]:
    body = _activity(facts.program, facts.snapshot, token, facts.warnings) | answer_of(facts.before)
    if facts.recorded is not None:
        body |= {"status": "waiting", "recorded_steps": facts.recorded}
    return {**body, STRETCH: _stretch(facts.before, run_id=facts.run_id, now_ms=facts.at_ms)}


def _stretch(snapshot: Snapshot, *, run_id: UUID, now_ms: int) -> dict[str, Any]:
    """What the trace token of the call covers: the visit so far, or the run before its first activity."""
    since = snapshot.entered_ms or birth_ms(run_id)
    return {"activity": snapshot.position.activity, "from_ms": since, "until_ms": now_ms}


def answer_of(snapshot: Snapshot) -> dict[str, Any]:
    """What a person answered last, for whoever goes on."""
    return {"answered": snapshot.answered.as_json()} if snapshot.answered is not None else {}


def _activity(program: Program, snapshot: Snapshot, token: str, warnings: Sequence[str]) -> dict[str, Any]:
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
        **waits_for_person(snapshot),
        **answer_of(snapshot),
    }


def waits_for_person(snapshot: Snapshot) -> dict[str, Any]:
    asked = [{"checkpoint_id": name, "answer_at": address} for name, address in asked_of_persons(snapshot)]
    return {"waits_for_person": asked} if asked else {}


def _yielded(checkpoint_id: str, token: str) -> dict[str, Any]:
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


def _settled_before(facts: SettledBeforeFacts, token: str) -> dict[str, Any]:
    option = facts.option
    said = f"It was answered in this visit: {option}." if option else "It was dismissed in this visit."
    body = {
        "status": "replayed",
        "checkpoint_id": facts.checkpoint_id,
        "checkpoint_handle": token,
        "session_token": token,
        "message": f"{said} Go on with the work.",
    }
    return {**body, "resolved_option": option} if option else {**body, "dismissed": True}


def _resolved(facts: ResolvedFacts, token: str) -> dict[str, Any]:
    settled = facts.settled
    body = _of_question(settled.question.checkpoint, facts.snapshot, token)
    if settled.option is None:
        body["dismissed"] = True
    else:
        body["resolved_option"] = settled.option.id
        if settled.option.effect is not None:
            body["effect"] = effect_json(settled.option.effect, variables=facts.snapshot.variables)
    return {**body, "warnings": [*facts.warnings]}


def _person_answered(facts: PersonAnsweredFacts, token: str) -> dict[str, Any]:
    given = facts.snapshot.answered
    body = _of_question(facts.checkpoint_id, facts.snapshot, token) | {
        "authority": "human",
        "warnings": ["A signed-in person had answered before this call; what you passed on was not recorded."],
    }
    return body if given is None else {**body, "resolved_option": given.option, "reason": given.reason}


def _of_question(checkpoint_id: str, snapshot: Snapshot, token: str) -> dict[str, Any]:
    return {
        "checkpoint_id": checkpoint_id,
        "resolved": True,
        "session_token": token,
        "checkpoint_handle": token,
        "remaining_checkpoints": [question.checkpoint for question in snapshot.questions],
    }
