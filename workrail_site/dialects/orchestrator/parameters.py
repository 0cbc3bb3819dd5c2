"""Parameters of the orchestrator tools that no other dialect has in these words."""

from typing import Annotated

from pydantic import Field

from workrail_site.dialects.activities.parameters import (
    MAX_AGENT_CHARACTERS,
    MAX_ID_CHARACTERS,
    MAX_TOKEN_CHARACTERS,
    Named,
)

# Agents leave it out; then it is the one who begins.
DEFAULT_AGENT = "orchestrator"

AgentId = Annotated[
    str,
    Field(
        max_length=MAX_AGENT_CHARACTERS,
        description="Who you are, for example worker-1.",
    ),
]
WorkflowId = Annotated[
    str | None,
    Field(
        max_length=MAX_ID_CHARACTERS,
        description="Of list_workflows; else meta.",
    ),
]
ParentToken = Annotated[
    str | None,
    Field(
        max_length=MAX_TOKEN_CHARACTERS,
        description="Of the session that starts this one as its child.",
    ),
]
ExistingToken = Annotated[
    str | None,
    Field(
        max_length=MAX_TOKEN_CHARACTERS,
        description="Of a session to come back to, or to join as a worker.",
    ),
]
CheckpointHandle = Annotated[
    str | None,
    Field(
        max_length=MAX_TOKEN_CHARACTERS,
        description="Of the worker, copied exactly.",
    ),
]
InPlaceOfHandle = Annotated[
    str | None,
    Field(
        max_length=MAX_TOKEN_CHARACTERS,
        description="In place of checkpoint_handle.",
    ),
]
StepId = Annotated[
    str | None,
    Field(
        max_length=MAX_ID_CHARACTERS,
        description="A step of the current activity; else the activity itself, or the workflow before the first one.",
    ),
]
ResourceId = Annotated[
    Named,
    Field(
        min_length=1,
        max_length=MAX_ID_CHARACTERS,
        description='"03" is of this workflow, "meta/01" of the one named.',
    ),
]
