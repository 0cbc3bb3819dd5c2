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
        description="About ten lines of Markdown: what you did and found, what is next. It survives a lost chat.",
    )
    artifacts: list[Artifact] | None = Field(
        None,
        description="Structured results, each an object with a `kind`, where the step asks for one. "
        f"At most {MAX_ARTIFACTS}, each at most {MAX_ARTIFACT_BYTES // 1024} KiB.",
    )


class GivenMode(Group):
    preset: Preset | None = Field(
        None,
        description="guided: stops when something required is missing. full_auto_stop: only for what the user alone can "
        "give. full_auto_never_stop: records what is missing as gaps.",
    )
    autonomy: Autonomy | None = Field(None, description="When to stop. Not together with preset.")
    risk_policy: RiskPolicy | None = Field(None, description="What may be passed over. Not together with preset.")


class Observed(Group):
    git_branch: str | None = Field(None, description="The branch that is checked out.")
    git_head_sha: str | None = Field(None, description="The full commit id of HEAD.")
    repository: str | None = Field(None, description="The repository's address or name.")
    ticket: str | None = Field(None, description="The ticket's id, for example AUTH-1234.")


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
        description="Copied exactly from the latest reply (st.v1.…). An older one goes back to its step, and "
        "acknowledging it again begins a new branch.",
    ),
]
OptionalStateToken = Annotated[
    str | None,
    Field(
        alias="stateToken",
        max_length=MAX_HANDLE_CHARACTERS,
        description="The stateToken of the reply that printed the checkpointToken, copied exactly.",
    ),
]
AckToken = Annotated[
    str | None,
    Field(
        alias="ackToken",
        max_length=MAX_HANDLE_CHARACTERS,
        description="Copied exactly from the same reply (ack.v1.…): this step is done. Without it nothing is recorded and the "
        "pending step is told again.",
    ),
]
CheckpointToken = Annotated[
    str | None,
    Field(
        alias="checkpointToken",
        max_length=MAX_HANDLE_CHARACTERS,
        description="The checkpointToken of the same reply (chk.v1.…), copied exactly.",
    ),
]
SessionToken = Annotated[
    str | None,
    Field(
        alias="sessionToken",
        max_length=MAX_HANDLE_CHARACTERS,
        description="The sessionToken of start_session or of the last note in that session (ses.v1.…), instead of "
        "stateToken and checkpointToken.",
    ),
]
StartContext = Annotated[
    dict[str, Any] | None,
    Field(
        description="Facts that the workflow's conditions, loops and prompts use, for example "
        '{"ticketId": "AUTH-1234"}. inspect_workflow names those that it reads.',
    ),
]
Context = Annotated[
    dict[str, Any] | None,
    Field(
        description="Facts that the workflow's conditions, loops and prompts use, for example "
        '{"ticketId": "AUTH-1234"}: keys are added or replaced, null removes one. Progress goes into output.',
    ),
]
StepOutput = Annotated[
    GivenOutput | None,
    Field(description="What is to be kept of the work on this step. The reply says what the step asks for."),
]
NoteOutput = Annotated[GivenOutput, Field(description="What is to be kept. notesMarkdown is the purpose of this call.")]
Preferences = Annotated[
    GivenMode | None,
    Field(description="How the run behaves from here on. Leave it out unless your user asked for a mode."),
]
ContinueIntent = Annotated[
    Intent | None,
    Field(
        description="advance (with ackToken) or rehydrate (without). Leave it out: it follows from ackToken, and one that "
        "contradicts it is refused.",
    ),
]
Goal = Annotated[
    str,
    Field(
        max_length=MAX_GOAL_CHARACTERS,
        description="What your user wants done, in one or two sentences of theirs. It is shown with every step.",
    ),
]
Title = Annotated[
    str,
    Field(
        max_length=MAX_TITLE_CHARACTERS,
        description="A name under which people will find this piece of work. Without it the goal is taken.",
    ),
]
SessionTitle = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_TITLE_CHARACTERS,
        description="A name under which you and people will find this piece of work again.",
    ),
]
SessionId = Annotated[
    str | None,
    Field(
        alias="sessionId",
        max_length=MAX_HANDLE_CHARACTERS,
        description="The id (sess_…) of a session that this run belongs to. Without it a new session is begun.",
    ),
]
Observations = Annotated[
    Observed | None,
    Field(description="Where the work happens, so that resume_session finds the run again."),
]
WhereNow = Annotated[Observed | None, Field(description="Where you are now. Runs that were seen there come first.")]
Kind = Annotated[WorkflowKind | None, Field(description="Only workflows, or only routines (parts that workflows use).")]
Search = Annotated[
    str,
    Field(max_length=MAX_TITLE_CHARACTERS, description="Words to look for in ids, titles, descriptions and tags."),
]
Tags = Annotated[list[str] | None, Field(description="Only what has every one of these tags.")]
Limit = Annotated[int, Field(ge=1, le=MAX_LISTED, description="How many at most; fewer come when they are long.")]
Cursor = Annotated[
    str | None,
    Field(
        max_length=MAX_CURSOR_CHARACTERS,
        description="nextCursor of the reply before, for what follows it.",
    ),
]
InspectPart = Annotated[
    Part,
    Field(
        description="preview: what it is for and its first step. metadata: no step. source: its files. program: what it "
        "compiles to. pinned: that of a run, by workflowHash. skill: how to do something, by skill.",
    ),
]
Revision = Annotated[
    int | None,
    Field(ge=1, le=2**31 - 1, description="The number of a revision, for source and program. Without it the latest."),
]
WorkflowHash = Annotated[
    str | None,
    Field(
        alias="workflowHash",
        max_length=MAX_HANDLE_CHARACTERS,
        description="For pinned: the workflowHash (sha256:…) from a reply of the run.",
    ),
]
Skill = Annotated[
    str | None, Field(max_length=MAX_HANDLE_CHARACTERS, description="For skill: the name that a step says to apply.")
]
Query = Annotated[
    str,
    Field(
        max_length=MAX_TEXT_CHARACTERS,
        description="What your user said of the work, in their words: a topic, a ticket, a branch, an id.",
    ),
]
RunId = Annotated[str, Field(alias="runId", max_length=MAX_HANDLE_CHARACTERS, description="The run's id, run_….")]
KnownSessionId = Annotated[
    str, Field(alias="sessionId", max_length=MAX_HANDLE_CHARACTERS, description="The session's id, sess_….")
]
KnownWorkflowId = Annotated[
    str, Field(alias="workflowId", max_length=MAX_HANDLE_CHARACTERS, description="The workflow that was run.")
]
