"""What the doors are asked of a run, read once for REST and MCP: the same words mean the same, and are refused the same. And whose word
a choice is: a person's waives questions and approves work, an agent's does neither.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any
from uuid import UUID

from sessions_app.engine.decisions import PreferenceChange
from sessions_app.engine.presets import Preset, read_preferences
from sessions_app.engine.runs import ObservationKey
from teams_app.engine.actors import Actor, ActorKind, Permission
from teams_app.engine.errors import HumanRequiredError, InvalidInputError
from teams_app.engine.ids import Prefix, from_text
from workflows_app.engine.program import Autonomy, RiskPolicy

MAX_GOAL_CHARACTERS = 2048
MAX_TITLE_CHARACTERS = 200
# Longer than any token or id, so that one that was mangled is refused by whoever reads it, with a better word.
MAX_HANDLE_CHARACTERS = 512
_SAME_REPLY = "the ackToken that stands beside this stateToken"


class Intent(StrEnum):
    ADVANCE = "advance"
    REHYDRATE = "rehydrate"


def require_part(*, actor: Actor) -> None:
    """Who drives a run is told how it stands; who only looks has the right to."""
    if not actor.may(Permission.DRIVE_RUNS):
        actor.require(Permission.READ_RUNS)


def read_change(
    *, preset: Preset | None, autonomy: Autonomy | None, risk_policy: RiskPolicy | None
) -> PreferenceChange:
    """Of a caller who wants something changed."""
    change = read_preferences(preset=preset, autonomy=autonomy, risk_policy=risk_policy)
    if change is None:
        raise InvalidInputError(
            "Nothing is to be changed.", suggestion="Send preset, or one of autonomy and riskPolicy."
        )
    return change


def read_observations(
    *, git_branch: str | None, git_head_sha: str | None, repository: str | None, ticket: str | None
) -> dict[ObservationKey, str]:
    given = dict(zip(ObservationKey, (git_branch, git_head_sha, repository, ticket), strict=True))
    return {key: value for key, value in given.items() if value is not None}


def read_session_id(text: str | None) -> UUID | None:
    if text is None:
        return None
    session_id = from_text(Prefix.SESSION, text.strip())
    if session_id is None:
        raise InvalidInputError(
            "This is no id of a session.",
            suggestion="Leave sessionId out to begin a new session, or take it from a reply.",
            details={"validationErrors": [{"path": "sessionId", "message": "Session ids look like sess_…."}]},
        )
    return session_id


def check_intent(
    *, intent: Intent | None, state_token: str, ack_token: str | None, kept: Mapping[str, bool], tool: str = ""
) -> None:
    """Whether an acknowledgement means what it says: reading a step again keeps nothing, so nothing may be lost in it.

    `kept` says what was sent to be kept; `tool` is what the caller is told to call again, where it calls tools.
    """
    lost = [name for name, is_given in kept.items() if is_given]
    if ack_token is None and (intent is Intent.ADVANCE or lost):
        raise _unacknowledged(intent, state_token, lost, tool)
    if ack_token is not None and intent is Intent.REHYDRATE:
        tokens = {"stateToken": state_token, "ackToken": ack_token}
        raise InvalidInputError(
            "The intent is rehydrate, and an ackToken is sent: an acknowledgement advances. Nothing was recorded.",
            suggestion="To finish the step, leave intent out. To be told the step again, send the stateToken alone.",
            details={
                "validationErrors": [{"path": "intent", "message": "Contradicts ackToken."}],
                "correctTemplate": {"stateToken": state_token},
                **_next(tool, tokens),
            },
        )


def _unacknowledged(intent: Intent | None, state_token: str, lost: list[str], tool: str) -> InvalidInputError:
    what = (
        f"{' and '.join(lost)} came without an ackToken" if lost else "the intent is advance, and there is no ackToken"
    )
    params = {"stateToken": state_token, "ackToken": f"<{_SAME_REPLY}>"}
    if "output" in lost:
        params["output"] = "<as you sent it>"
    contradiction = [{"path": "intent", "message": "rehydrate keeps nothing of what is sent with it."}]
    return InvalidInputError(
        f"Nothing was recorded: {what}. Only an acknowledgement keeps what is sent with it.",
        suggestion=f"Call again with {_SAME_REPLY}. If it is lost, send the stateToken alone: the reply has a fresh one.",
        details={
            "validationErrors": [
                {"path": "ackToken", "message": "Required to record anything, and missing."},
                *(contradiction if intent is Intent.REHYDRATE else []),
            ],
            "correctTemplate": params,
            **_next(tool, params),
        },
    )


def _next(tool: str, params: Mapping[str, str]) -> dict[str, Any]:
    return {"nextCall": {"tool": tool, "params": dict(params)}} if tool else {}


def person_of(actor: Actor) -> str:
    """The person who steers runs, as far as their word is a person's; empty for anybody else, whose choice waives nothing."""
    return actor.id if actor.is_human and actor.may(Permission.STEER_RUNS) else ""


def chosen_by(actor: Actor, change: PreferenceChange | None) -> PreferenceChange | None:
    return None if change is None else replace(change, person=person_of(actor))


def set_by(actor: Actor, change: PreferenceChange) -> PreferenceChange:
    """What a person sets, and no agent. Never to stop is a waiver of every question, so it asks for the same right."""
    if actor.token is not None and not actor.is_human and change.autonomy is Autonomy.NEVER_STOP:
        raise HumanRequiredError(
            "Never to stop waives the questions for people, and tokens of this team do not answer those.",
            suggestion="Choose it in the Studio, signed in, or another mode.",
        )
    is_person = actor.kind is ActorKind.PERSON and actor.may(Permission.STEER_RUNS)
    return replace(change, person=actor.id if is_person else "")


def approves(actor: Actor) -> bool:
    """Whether what the actor acknowledges is approved by that."""
    return actor.is_human and actor.may(Permission.ANSWER_CHECKPOINTS)
