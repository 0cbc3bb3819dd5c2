"""Parameters of the navigation tools: their names on the wire are the seed's, in snake case."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from sessions_app.engine.submissions import MAX_ARTIFACTS

MAX_ID_CHARACTERS = 256
MAX_TOKEN_CHARACTERS = 512


class ActionName(StrEnum):
    COMPLETE_STEP = "complete_step"
    RESPOND_TO_CHECKPOINT = "respond_to_checkpoint"
    TRANSITION = "transition"
    ADVANCE_LOOP = "advance_loop"


WorkflowId = Annotated[
    str,
    Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="Of list_workflows."),
]
KnownWorkflowId = Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARACTERS)]
OptionalWorkflowId = Annotated[
    str | None,
    Field(max_length=MAX_ID_CHARACTERS, description="Its own come first."),
]
InitialVariables = Annotated[
    dict[str, Any] | None,
    Field(
        description="What is known, by variable name (get_workflow names them). Of a triggered workflow: as availableActions "
        "prints them, with parent_state; the other run waits for this one."
    ),
]
State = Annotated[
    str,
    Field(
        max_length=MAX_TOKEN_CHARACTERS,
        description="Copied exactly from the latest reply.",
    ),
]
# Of a run, to read what it goes by: the words of each parameter are in the list of tools as often as there are tools that have it.
OfRun = Annotated[str | None, Field(max_length=MAX_TOKEN_CHARACTERS)]
Action = Annotated[
    ActionName,
    Field(description="Of availableActions, required or optional."),
]
StepId = Annotated[
    str | None,
    Field(max_length=MAX_ID_CHARACTERS, description="Done, or a loop to be left."),
]
CheckpointId = Annotated[str | None, Field(max_length=MAX_ID_CHARACTERS, description="That waits.")]
OptionId = Annotated[
    str | None,
    Field(max_length=MAX_ID_CHARACTERS, description="That your user chose."),
]
TargetId = Annotated[str | None, Field(max_length=MAX_ID_CHARACTERS, description="To go to.")]
LoopId = Annotated[str | None, Field(max_length=MAX_ID_CHARACTERS, description="To begin or turn.")]
LoopItems = Annotated[
    list[Any] | None,
    Field(description="One entry for each round; replaces what was known."),
]
Notes = Annotated[str | None, Field(description="What you did and found, what is next.")]
Artifacts = Annotated[
    list[dict[str, Any]] | None,
    Field(max_length=MAX_ARTIFACTS, description="Objects with a kind."),
]
Context = Annotated[
    dict[str, Any] | None,
    Field(description="Variables that it found out; null takes one back."),
]
ActivityId = Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARACTERS)]
FromActivity = Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="To be left.")]
ToActivity = Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="To be entered.")]
KnownCheckpointId = Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARACTERS)]
SkillId = Annotated[
    str,
    Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="As get_skills names it."),
]
Index = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_ID_CHARACTERS,
        description="Number or name, also meta/01.",
    ),
]
