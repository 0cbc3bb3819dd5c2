"""Parameters of the rail tools: their names on the wire, their bounds, and what an agent is told of them."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from sessions_app.engine.presets import Preset
from sessions_app.engine.submissions import MAX_ARTIFACT_BYTES, MAX_ARTIFACTS
from sessions_app.services.moves.requests import (
    MAX_GOAL_CHARACTERS,
    MAX_HANDLE_CHARACTERS,
    MAX_TITLE_CHARACTERS,
    Intent,
)
from workflows_app.engine.program import Autonomy, RiskPolicy, WorkflowKind

MAX_TEXT_CHARACTERS = 1000
MAX_CURSOR_CHARACTERS = 600
MAX_LISTED = 50
DEFAULT_LISTED = 20


class Part(StrEnum):
    METADATA = "metadata"
    PREVIEW = "preview"
    SOURCE = "source"
    PROGRAM = "program"
    PINNED = "pinned"
    SKILL = "skill"


class Group(BaseModel):
    """Arguments that belong together. An unknown one is refused, null is the same as leaving out."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, frozen=True)


Artifact = Annotated[
    dict[str, Any],
    WithJsonSchema({"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]}),
]


class GivenOutput(Group):
    notes_markdown: str | None = Field(
        None,
        description="What you did and found, what is next: it survives a lost chat.",
    )
    artifacts: list[Artifact] | None = Field(
        None,
        description=f"What the step asks for. At most {MAX_ARTIFACTS}, each {MAX_ARTIFACT_BYTES // 1024} KiB.",
    )


class GivenMode(Group):
    preset: Preset | None = Field(
        None,
        description="guided stops for what is missing, full_auto_stop for what the user alone can give.",
    )
    autonomy: Autonomy | None = Field(None, description="In place of preset.")
    risk_policy: RiskPolicy | None = Field(None, description="In place of preset.")


class Observed(Group):
    git_branch: str | None = Field(None, description="The branch.")
    git_head_sha: str | None = Field(None, description="The commit of HEAD.")
    repository: str | None = Field(None, description="Its address or name.")
    ticket: str | None = Field(None, description="The ticket.")


WorkflowId = Annotated[
    str,
    Field(
        alias="workflowId",
        min_length=1,
        max_length=MAX_HANDLE_CHARACTERS,
        description="An id of list_workflows.",
    ),
]
StateToken = Annotated[
    str,
    Field(
        alias="stateToken",
        max_length=MAX_HANDLE_CHARACTERS,
        description="Copied exactly from the latest reply (st.v1.…); an older one goes back.",
    ),
]
OptionalStateToken = Annotated[
    str | None,
    Field(
        alias="stateToken",
        max_length=MAX_HANDLE_CHARACTERS,
        description="Of the same reply as checkpointToken.",
    ),
]
AckToken = Annotated[
    str | None,
    Field(
        alias="ackToken",
        max_length=MAX_HANDLE_CHARACTERS,
        description="Of the same reply (ack.v1.…): the step is done. Without it nothing is recorded.",
    ),
]
CheckpointToken = Annotated[
    str | None,
    Field(
        alias="checkpointToken",
        max_length=MAX_HANDLE_CHARACTERS,
        description="Copied exactly.",
    ),
]
SessionToken = Annotated[
    str | None,
    Field(
        alias="sessionToken",
        max_length=MAX_HANDLE_CHARACTERS,
        description="In place of the two, without a run.",
    ),
]
StartContext = Annotated[
    dict[str, Any] | None,
    Field(
        description="Facts that the workflow reads (inspect_workflow).",
    ),
]
Context = Annotated[
    dict[str, Any] | None,
    Field(
        description="Facts by name, as the step asks: added or replaced, null removes one.",
    ),
]
StepOutput = Annotated[
    GivenOutput | None,
    Field(description="What came of the step."),
]
NoteOutput = Annotated[GivenOutput, Field(description="What is to be kept.")]
Preferences = Annotated[
    GivenMode | None,
    Field(description="Only if your user asked for a mode."),
]
ContinueIntent = Annotated[
    Intent | None,
    Field(
        description="Leave it out: it follows from ackToken.",
    ),
]
Goal = Annotated[
    str,
    Field(
        max_length=MAX_GOAL_CHARACTERS,
        description="What your user wants done, in their words.",
    ),
]
Title = Annotated[
    str,
    Field(
        max_length=MAX_TITLE_CHARACTERS,
        description="For people; else the goal.",
    ),
]
SessionTitle = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_TITLE_CHARACTERS,
        description="To find it by.",
    ),
]
SessionId = Annotated[
    str | None,
    Field(
        alias="sessionId",
        max_length=MAX_HANDLE_CHARACTERS,
        description="Of which it is a part (sess_…); else a new one.",
    ),
]
Observations = Annotated[
    Observed | None,
    Field(description="Where the work is."),
]
WhereNow = Annotated[Observed | None, Field(description="Where you are now.")]
Kind = Annotated[WorkflowKind | None, Field(description="Routines are parts of workflows.")]
Search = Annotated[
    str,
    Field(max_length=MAX_TITLE_CHARACTERS, description="Words to look for."),
]
Tags = Annotated[list[str] | None, Field(description="All of these.")]
Limit = Annotated[int, Field(ge=1, le=MAX_LISTED, description="At most so many.")]
Cursor = Annotated[
    str | None,
    Field(
        max_length=MAX_CURSOR_CHARACTERS,
        description="nextCursor of the reply before.",
    ),
]
InspectPart = Annotated[
    Part,
    Field(
        description="preview has its first step; pinned goes by workflowHash, skill by skill.",
    ),
]
Revision = Annotated[
    int | None,
    Field(ge=1, le=2**31 - 1, description="For source and program; else the latest."),
]
WorkflowHash = Annotated[
    str | None,
    Field(
        alias="workflowHash",
        max_length=MAX_HANDLE_CHARACTERS,
        description="For pinned, skill: of a run's reply.",
    ),
]
Skill = Annotated[str | None, Field(max_length=MAX_HANDLE_CHARACTERS, description="For skill: its name in the step.")]
Query = Annotated[
    str,
    Field(
        max_length=MAX_TEXT_CHARACTERS,
        description="A topic, ticket, branch or id.",
    ),
]
RunId = Annotated[str, Field(alias="runId", max_length=MAX_HANDLE_CHARACTERS, description="Its id.")]
KnownSessionId = Annotated[str, Field(alias="sessionId", max_length=MAX_HANDLE_CHARACTERS, description="Its id.")]
KnownWorkflowId = Annotated[
    str, Field(alias="workflowId", max_length=MAX_HANDLE_CHARACTERS, description="That was run.")
]
