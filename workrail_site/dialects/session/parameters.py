"""Parameters of the session tools that no other dialect has in these words."""

from typing import Annotated

from pydantic import Field

from workrail_site.dialects.activities.parameters import (
    MAX_AGENT_CHARACTERS,
    MAX_ID_CHARACTERS,
    MAX_TOKEN_CHARACTERS,
    Named,
)

WorkflowId = Annotated[
    Named,
    Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="Of list_workflows."),
]
ExistingToken = Annotated[
    str | None,
    Field(
        max_length=MAX_TOKEN_CHARACTERS,
        description="Of a session to come back to, or to join as a worker.",
    ),
]
AgentId = Annotated[
    str | None,
    Field(
        max_length=MAX_AGENT_CHARACTERS,
        description="Who you are, for example worker-1.",
    ),
]
StepId = Annotated[
    Named,
    Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="A step of the current activity."),
]
ResourceIndex = Annotated[
    Named,
    Field(
        min_length=1,
        max_length=MAX_ID_CHARACTERS,
        description="03 is of this workflow, meta/03 of the one named.",
    ),
]
