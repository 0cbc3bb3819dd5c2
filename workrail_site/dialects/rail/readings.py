"""Arguments of the rail tools as what the services take."""

from collections.abc import Mapping
from typing import Any, NoReturn
from uuid import UUID

from sessions_app.engine.decisions import PreferenceChange
from sessions_app.engine.presets import read_preferences
from sessions_app.engine.resume import ResumeQuery
from sessions_app.engine.runs import ObservationKey
from sessions_app.engine.submissions import Submission, read_submission
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.ids import Prefix, from_text
from workrail_site.dialects.rail.parameters import Intent, Mode, Observed, Output

_SAME_REPLY = "the ackToken that stands beside this stateToken"


def submission_of(output: Output | None, context: Mapping[str, Any] | None = None) -> Submission:
    return read_submission(
        notes=(output and output.notes_markdown) or "",
        artifacts=(output and output.artifacts) or (),
        context=context,
    )


def change_of(mode: Mode | None) -> PreferenceChange | None:
    if mode is None:
        return None
    return read_preferences(preset=mode.preset, autonomy=mode.autonomy, risk_policy=mode.risk_policy)


def observations_of(observed: Observed | None) -> dict[ObservationKey, str]:
    if observed is None:
        return {}
    given = {
        ObservationKey.GIT_BRANCH: observed.git_branch,
        ObservationKey.GIT_HEAD_SHA: observed.git_head_sha,
        ObservationKey.REPOSITORY: observed.repository,
        ObservationKey.TICKET: observed.ticket,
    }
    return {key: value for key, value in given.items() if value is not None}


def resume_query_of(
    text: str, observed: Observed | None, *, workflow_id: str, session_id: str, run_id: str
) -> ResumeQuery:
    where = observations_of(observed)
    return ResumeQuery(
        text=text,
        session_id=session_id,
        run_id=run_id,
        git_branch=where.get(ObservationKey.GIT_BRANCH, ""),
        git_head_sha=where.get(ObservationKey.GIT_HEAD_SHA, ""),
        repository=where.get(ObservationKey.REPOSITORY, ""),
        ticket=where.get(ObservationKey.TICKET, ""),
        workflow_id=workflow_id,
    )


def session_id_of(text: str | None) -> UUID | None:
    if text is None:
        return None
    session_id = from_text(Prefix.SESSION, text.strip())
    if session_id is None:
        raise InvalidInputError(
            "This is no id of a session.",
            suggestion="Leave sessionId out to begin a new session, or take it from a reply or from resume_session.",
            details={"validationErrors": [{"path": "sessionId", "message": "Session ids look like sess_…."}]},
        )
    return session_id


def check_intent(
    *,
    intent: Intent | None,
    state_token: str,
    ack_token: str | None,
    output: Output | None,
    context: Mapping[str, Any] | None,
    mode: Mode | None,
) -> None:
    """Whether `continue_workflow` means what it says. Reading a step again keeps nothing, so nothing may be lost in it."""
    lost = [
        name for name, given in (("output", _says(output)), ("context", context), ("preferences", _says(mode))) if given
    ]
    if ack_token is None and (intent is Intent.ADVANCE or lost):
        _refuse_unacknowledged(intent, state_token, lost, output)
    if ack_token is not None and intent is Intent.REHYDRATE:
        raise InvalidInputError(
            "The intent is rehydrate, and an ackToken is sent: an acknowledgement advances. Nothing was recorded.",
            suggestion="To finish the step, leave intent out. To be told the step again, send the stateToken alone.",
            details={
                "validationErrors": [{"path": "intent", "message": "Contradicts ackToken."}],
                "correctTemplate": {"stateToken": state_token},
                "nextCall": {
                    "tool": "continue_workflow",
                    "params": {"stateToken": state_token, "ackToken": ack_token},
                },
            },
        )


def _refuse_unacknowledged(intent: Intent | None, state_token: str, lost: list[str], output: Output | None) -> NoReturn:
    what = (
        f"{' and '.join(lost)} came without an ackToken" if lost else "the intent is advance, and there is no ackToken"
    )
    params: dict[str, Any] = {"stateToken": state_token, "ackToken": f"<{_SAME_REPLY}>"}
    if output is not None:
        params["output"] = "<as you sent it>"
    contradiction = [{"path": "intent", "message": "rehydrate keeps nothing of what is sent with it."}]
    raise InvalidInputError(
        f"Nothing was recorded: {what}. Only an acknowledgement keeps what is sent with it.",
        suggestion=f"Call again with {_SAME_REPLY}. If it is lost, send the stateToken alone: the reply prints a fresh one.",
        details={
            "validationErrors": [
                {"path": "ackToken", "message": "Required to record anything, and missing."},
                *(contradiction if intent is Intent.REHYDRATE else []),
            ],
            "nextCall": {"tool": "continue_workflow", "params": params},
            "correctTemplate": params,
        },
    )


def _says(group: Output | Mode | None) -> bool:
    return group is not None and any(value for _name, value in group)
