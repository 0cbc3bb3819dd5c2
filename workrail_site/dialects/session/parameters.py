"""Parameters of the session tools that no other dialect has in these words."""

from typing import Annotated

from pydantic import Field

from workrail_site.dialects.activities.parameters import MAX_AGENT_CHARACTERS, MAX_ID_CHARACTERS, MAX_TOKEN_CHARACTERS

WorkflowId = Annotated[
    str,
    Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="The workflow's id, as list_workflows prints it."),
]
ExistingToken = Annotated[
    str | None,
    Field(
        max_length=MAX_TOKEN_CHARACTERS,
        description="The token of a session to go on with: to come back to it, or to join it as a worker.",
    ),
]
AgentId = Annotated[
    str | None,
    Field(
        max_length=MAX_AGENT_CHARACTERS,
        description="Who you are, for example worker-1. The trace tells agents apart by it.",
    ),
]
StepId = Annotated[
    str,
    Field(
        min_length=1, max_length=MAX_ID_CHARACTERS, description="A step of the current activity, also within its loops."
    ),
]
ResourceIndex = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_ID_CHARACTERS,
        description="As _resources lists it: 03 is of this workflow, meta/03 of the one that is named.",
    ),
]
