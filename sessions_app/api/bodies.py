"""What the endpoints of this app are sent. Names are those of the rail's tools."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec

from sessions_app.engine.checkpoints import MAX_REASON_CHARACTERS
from sessions_app.engine.decisions import PreferenceChange
from sessions_app.engine.presets import Preset, read_preferences
from sessions_app.engine.resume_signals import MAX_TEXT_CHARACTERS, ResumeQuery
from sessions_app.engine.runs import Dialect, ObservationKey, RunStatus
from sessions_app.engine.submissions import MAX_ARTIFACTS, Submission, read_submission
from sessions_app.services.moves.beginning import Beginning
from sessions_app.services.moves.requests import (
    MAX_GOAL_CHARACTERS,
    MAX_HANDLE_CHARACTERS,
    MAX_TITLE_CHARACTERS,
    Intent,
    check_intent,
    read_change,
    read_observations,
    read_session_id,
)
from sessions_app.services.people.naming import MAX_NAME_CHARACTERS
from teams_app.api.endpoints import PageQuery, Shape
from teams_app.engine.errors import InvalidInputError
from workflows_app.engine.program import Autonomy, RiskPolicy

MAX_SEARCH_CHARACTERS = 200

Handle = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_HANDLE_CHARACTERS)]
Goal = Annotated[str, msgspec.Meta(max_length=MAX_GOAL_CHARACTERS)]
Title = Annotated[str, msgspec.Meta(max_length=MAX_TITLE_CHARACTERS)]
Search = Annotated[str, msgspec.Meta(max_length=MAX_SEARCH_CHARACTERS)]
Moment = Annotated[datetime, msgspec.Meta(tz=True)]
Label = Annotated[str, msgspec.Meta(max_length=512)]
EventIndex = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Artifacts = Annotated[list[dict[str, Any]], msgspec.Meta(max_length=MAX_ARTIFACTS)]


class OutputBody(Shape, frozen=True):
    """Each artifact is an object that names its `kind`."""

    notes_markdown: str | None = None
    artifacts: Artifacts | None = None

    @property
    def is_empty(self) -> bool:
        return not self.notes_markdown and not self.artifacts


class PreferencesBody(Shape, frozen=True):
    """Either a `preset`, or what is to change of the two."""

    preset: Preset | None = None
    autonomy: Autonomy | None = None
    risk_policy: RiskPolicy | None = None

    def change(self) -> PreferenceChange | None:
        return read_preferences(preset=self.preset, autonomy=self.autonomy, risk_policy=self.risk_policy)

    def required_change(self) -> PreferenceChange:
        return read_change(preset=self.preset, autonomy=self.autonomy, risk_policy=self.risk_policy)


class ObservationsBody(Shape, frozen=True):
    git_branch: Label | None = None
    git_head_sha: Label | None = None
    repository: Label | None = None
    ticket: Label | None = None

    def observed(self) -> dict[ObservationKey, str]:
        return read_observations(
            git_branch=self.git_branch, git_head_sha=self.git_head_sha, repository=self.repository, ticket=self.ticket
        )

    def required(self) -> dict[ObservationKey, str]:
        observed = self.observed()
        if not observed:
            raise InvalidInputError(
                "Nothing was observed.", suggestion="Send gitBranch, gitHeadSha, repository or ticket."
            )
        return observed


class StartBody(Shape, frozen=True):
    workflow_id: Handle
    goal: Goal = ""
    context: dict[str, Any] | None = None
    preferences: PreferencesBody | None = None
    observations: ObservationsBody | None = None
    session_id: Handle | None = None
    title: Title = ""

    def beginning(self, *, request_key: str) -> Beginning:
        return Beginning(
            workflow_id=self.workflow_id.strip(),
            goal=self.goal.strip(),
            context=self.context or {},
            preferences=_change(self.preferences),
            observations=self.observations.observed() if self.observations else {},
            session_id=read_session_id(self.session_id),
            title=self.title.strip(),
            request_key=request_key,
        )


class ContinueBody(Shape, frozen=True):
    """With `ackToken` the pending step is acknowledged; without it the step is only told again, and nothing is kept."""

    state_token: Handle
    ack_token: Handle | None = None
    output: OutputBody | None = None
    context: dict[str, Any] | None = None
    preferences: PreferencesBody | None = None
    intent: Intent | None = None

    def submission(self) -> Submission:
        return _submission(self.output, self.context)

    def change(self) -> PreferenceChange | None:
        return _change(self.preferences)

    def check(self) -> None:
        """Whether it means what it says: reading a step again keeps nothing, so nothing may be lost in it."""
        kept = {
            "output": self.output is not None and not self.output.is_empty,
            "context": bool(self.context),
            "preferences": self.preferences is not None,
        }
        check_intent(intent=self.intent, state_token=self.state_token, ack_token=self.ack_token, kept=kept)


class RehydrateBody(Shape, frozen=True):
    state_token: Handle


class CheckpointBody(Shape, frozen=True):
    """Both tokens are of one reply of the run."""

    state_token: Handle
    checkpoint_token: Handle
    output: OutputBody

    def submission(self) -> Submission:
        return _submission(self.output, None)


class SessionNoteBody(Shape, frozen=True):
    """The token is that of the last note on the session, or of its beginning."""

    session_token: Handle
    output: OutputBody

    def submission(self) -> Submission:
        return _submission(self.output, None)


class SessionBody(Shape, frozen=True):
    title: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TITLE_CHARACTERS)]
    observations: ObservationsBody | None = None


class ResumeBody(Shape, frozen=True):
    """What is known of the work that is looked for; nothing at all names the latest runs."""

    query: Annotated[str, msgspec.Meta(max_length=MAX_TEXT_CHARACTERS)] = ""
    session_id: Handle | None = None
    run_id: Handle | None = None
    git_branch: Label | None = None
    git_head_sha: Label | None = None
    repository: Label | None = None
    ticket: Label | None = None
    workflow_id: Handle | None = None

    def asked(self) -> ResumeQuery:
        return ResumeQuery(
            text=self.query,
            session_id=self.session_id or "",
            run_id=self.run_id or "",
            git_branch=self.git_branch or "",
            git_head_sha=self.git_head_sha or "",
            repository=self.repository or "",
            ticket=self.ticket or "",
            workflow_id=self.workflow_id or "",
        )


class ResolutionBody(Shape, frozen=True):
    """`summary` says what supplied that which was missing."""

    summary: Annotated[str, msgspec.Meta(min_length=1, max_length=512)]


class StopBody(Shape, frozen=True):
    """`reason` is told to whoever moves the run afterwards."""

    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_REASON_CHARACTERS)]


class BranchBody(Shape, frozen=True):
    """`node` is a step of the branch; `reason` stands among its notes."""

    node: Label
    reason: Annotated[str, msgspec.Meta(max_length=MAX_REASON_CHARACTERS)] = ""


class NameBody(Shape, frozen=True):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME_CHARACTERS)]


class SessionsQuery(PageQuery, frozen=True):
    """`status`, `workflow` and `dialect` are those of one of its runs; `branch` is a branch or how it begins."""

    status: RunStatus | None = None
    workflow: Search = ""
    branch: Label = ""
    ticket: Label = ""
    repository: Label = ""
    text: Search = ""
    dialect: Dialect | None = None
    active_since: Moment | None = None
    active_until: Moment | None = None


class RunsQuery(PageQuery, frozen=True):
    status: RunStatus | None = None
    workflow: Search = ""
    session: Handle | None = None
    text: Search = ""
    dialect: Dialect | None = None
    active_since: Moment | None = None
    active_until: Moment | None = None


class TreeQuery(Shape, frozen=True):
    """`before` is the one that the answer of the newer nodes gave."""

    before: EventIndex | None = None


def _submission(output: OutputBody | None, context: Mapping[str, Any] | None) -> Submission:
    if output is None:
        return read_submission(context=context)
    return read_submission(
        notes=output.notes_markdown or "", artifacts=output.artifacts or (), context=context, place="output.artifacts"
    )


def _change(body: PreferencesBody | None) -> PreferenceChange | None:
    return None if body is None else body.change()
