"""Parameters of the lookup tools: the names and bounds of the contract, widened to the ids that are used here.

An id here has a namespace, and a step inside a loop or an activity has the rounds around it in its name; each of these names may
be of one character, or of as many as authors may give it. Ids as the contract knows them are among these.
"""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field

WORKFLOW_ID = "^[a-z0-9._-]+$"
STEP_ID = "^[A-Za-z0-9._@:/-]+$"
MAX_STEP_CHARACTERS = 1_024
MAX_SKILL_CHARACTERS = 256
MAX_COMPLETED = 2_000
MAX_DOCUMENT_CHARACTERS = 1_000_000


class Mode(StrEnum):
    FULL = "full"
    PREVIEW = "preview"
    METADATA = "metadata"


def _different(values: list[str]) -> list[str]:
    if len(set(values)) != len(values):
        raise ValueError("Each step is named once.")
    return values


def _workflow_id(alias: str, description: str) -> Any:
    return Field(alias=alias, description=description, pattern=WORKFLOW_ID, min_length=3, max_length=64)


Id = Annotated[str, _workflow_id("id", "The workflow ID to retrieve")]
WorkflowId = Annotated[str, _workflow_id("workflowId", "The workflow ID")]
GetMode = Annotated[Mode, Field(description="full, or only preview (with the first step) or metadata")]
Skill = Annotated[
    str | None,
    Field(description="Only this skill of it, as a step names it", min_length=1, max_length=MAX_SKILL_CHARACTERS),
]
CurrentStep = Annotated[
    str | None,
    Field(
        alias="currentStep",
        description="Current step ID (optional)",
        pattern=STEP_ID,
        min_length=1,
        max_length=MAX_STEP_CHARACTERS,
    ),
]
CompletedSteps = Annotated[
    list[Annotated[str, Field(pattern=STEP_ID, max_length=MAX_STEP_CHARACTERS)]],
    AfterValidator(_different),
    Field(
        alias="completedSteps",
        description="Completed step IDs, as step.id printed them. The ID of a loop says that it is left; outer@0::inner, "
        "that it is left in that round only",
        max_length=MAX_COMPLETED,
        json_schema_extra={"uniqueItems": True},
    ),
]
Context = Annotated[
    dict[str, Any] | None,
    Field(description="Optional variables that the conditions of steps and rules read, like taskScope or complexity"),
]
StepId = Annotated[
    str,
    Field(
        alias="stepId",
        description="The step ID to validate",
        pattern=STEP_ID,
        min_length=1,
        max_length=MAX_STEP_CHARACTERS,
    ),
]
StepOutput = Annotated[str, Field(description="The step output to validate", min_length=1)]
WorkflowJson = Annotated[
    str,
    Field(
        alias="workflowJson",
        description="The whole workflow as the text of its JSON",
        min_length=1,
        max_length=MAX_DOCUMENT_CHARACTERS,
    ),
]
SessionId = Annotated[
    str | None,
    Field(alias="sessionId", description="A session (sess_…) in whose trace the call is told", max_length=64),
]
