"""Parameters of the orchestrator tools that no other dialect has in these words."""

from typing import Annotated

from pydantic import Field

from workrail_site.dialects.activities.parameters import MAX_AGENT_CHARACTERS, MAX_ID_CHARACTERS, MAX_TOKEN_CHARACTERS

# Agents leave it out; then it is the one who begins.
DEFAULT_AGENT = "orchestrator"

AgentId = Annotated[
    str,
    Field(
        max_length=MAX_AGENT_CHARACTERS,
        description="Who you are, for example orchestrator or worker-1. The trace tells agents apart by it.",
    ),
]
WorkflowId = Annotated[
    str | None,
    Field(
        max_length=MAX_ID_CHARACTERS,
        description="The workflow's id, as list_workflows prints it. Without it and without a session_token it is meta.",
    ),
]
ParentToken = Annotated[
    str | None,
    Field(
        max_length=MAX_TOKEN_CHARACTERS,
        description="The token of the session that starts this one as its child.",
    ),
]
ExistingToken = Annotated[
    str | None,
    Field(
        max_length=MAX_TOKEN_CHARACTERS,
        description="The token of a session to go on with: to come back to it, or to join it as a worker.",
    ),
]
CheckpointHandle = Annotated[
    str | None,
    Field(
        max_length=MAX_TOKEN_CHARACTERS,
        description="The checkpoint_handle that the worker yielded, copied exactly. Preferred.",
    ),
]
InPlaceOfHandle = Annotated[
    str | None,
    Field(
        max_length=MAX_TOKEN_CHARACTERS,
        description="In place of checkpoint_handle, when you have only the session's token.",
    ),
]
StepId = Annotated[
    str | None,
    Field(
        max_length=MAX_ID_CHARACTERS,
        description="A step of the current activity, also within its loops. Without it the skill of the whole activity is "
        "meant, or that of the workflow before the first one.",
    ),
]
ResourceId = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_ID_CHARACTERS,
        description='A string: "03" is of this workflow, "meta/01" of the one that is named.',
    ),
]
