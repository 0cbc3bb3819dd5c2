"""Arguments of the rail tools as what the services take."""

from collections.abc import Mapping
from typing import Any

from sessions_app.engine.decisions import PreferenceChange
from sessions_app.engine.presets import read_preferences
from sessions_app.engine.resume import ResumeQuery
from sessions_app.engine.runs import ObservationKey
from sessions_app.engine.submissions import Submission, read_submission
from sessions_app.services.moves.requests import Intent, check_intent, read_observations
from workrail_site.dialects.rail.parameters import GivenMode, GivenOutput, Observed


def submission_of(output: GivenOutput | None, context: Mapping[str, Any] | None = None) -> Submission:
    return read_submission(
        notes=(output and output.notes_markdown) or "",
        artifacts=(output and output.artifacts) or (),
        context=context,
    )


def change_of(mode: GivenMode | None) -> PreferenceChange | None:
    if mode is None:
        return None
    return read_preferences(preset=mode.preset, autonomy=mode.autonomy, risk_policy=mode.risk_policy)


def observations_of(observed: Observed | None) -> dict[ObservationKey, str]:
    if observed is None:
        return {}
    return read_observations(
        git_branch=observed.git_branch,
        git_head_sha=observed.git_head_sha,
        repository=observed.repository,
        ticket=observed.ticket,
    )


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


def check_meant(
    *,
    intent: Intent | None,
    state_token: str,
    ack_token: str | None,
    output: GivenOutput | None,
    context: Mapping[str, Any] | None,
    mode: GivenMode | None,
) -> None:
    kept = {"output": _says(output), "context": bool(context), "preferences": _says(mode)}
    check_intent(intent=intent, state_token=state_token, ack_token=ack_token, kept=kept, tool="continue_workflow")


def _says(group: GivenOutput | GivenMode | None) -> bool:
    return group is not None and any(value for _name, value in group)
