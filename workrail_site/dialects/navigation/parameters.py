"""Parameters of the navigation tools: their names on the wire are the seed's, in snake case."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

MAX_ID_CHARACTERS = 256
MAX_TOKEN_CHARACTERS = 512


class ActionName(StrEnum):
    COMPLETE_STEP = "complete_step"
    RESPOND_TO_CHECKPOINT = "respond_to_checkpoint"
    TRANSITION = "transition"
    ADVANCE_LOOP = "advance_loop"


WorkflowId = Annotated[
    str,
    Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="An id of list_workflows."),
]
OptionalWorkflowId = Annotated[
    str | None,
    Field(max_length=MAX_ID_CHARACTERS, description="Its own skills come first; without it all are meant."),
]
InitialVariables = Annotated[
    dict[str, Any] | None,
    Field(
        description="What is known before the run begins, by variable name. The workflow's conditions and loops read it: "
        "get_workflow names the variables. Lists for loops may also come later, with advance_loop. A "
        "workflow that another run triggers is begun with the initial_variables that availableActions of that run prints: "
        "parent_state in them is that run's state, and it waits until this one is complete."
    ),
]
State = Annotated[
    str,
    Field(
        max_length=MAX_TOKEN_CHARACTERS,
        description="Copied exactly from the latest reply (st.v1.…).",
    ),
]
Action = Annotated[
    ActionName,
    Field(description="One of those that availableActions of the latest reply lists as required or optional."),
]
StepId = Annotated[
    str | None,
    Field(max_length=MAX_ID_CHARACTERS, description="For complete_step: the step that is done, or a loop to be left."),
]
CheckpointId = Annotated[
    str | None, Field(max_length=MAX_ID_CHARACTERS, description="For respond_to_checkpoint: the checkpoint that waits.")
]
OptionId = Annotated[
    str | None,
    Field(max_length=MAX_ID_CHARACTERS, description="For respond_to_checkpoint: the option that your user chose."),
]
TargetId = Annotated[
    str | None, Field(max_length=MAX_ID_CHARACTERS, description="For transition: the activity to go to.")
]
LoopId = Annotated[
    str | None, Field(max_length=MAX_ID_CHARACTERS, description="For advance_loop: the loop to begin or to turn.")
]
LoopItems = Annotated[
    list[Any] | None,
    Field(
        description="For advance_loop: what the loop runs over, one entry for each round. It replaces what was known."
    ),
]
ActivityId = Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="The activity's id.")]
FromActivity = Annotated[
    str, Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="The activity that would be left.")
]
ToActivity = Annotated[
    str, Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="The activity that would be entered.")
]
KnownCheckpointId = Annotated[
    str, Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="The checkpoint's id within its activity.")
]
SkillId = Annotated[
    str,
    Field(
        min_length=1, max_length=MAX_ID_CHARACTERS, description="The skill's id, as get_skills or an activity names it."
    ),
]
Index = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_ID_CHARACTERS,
        description="Its number or name in the list.",
    ),
]
