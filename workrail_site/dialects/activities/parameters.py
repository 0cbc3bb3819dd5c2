"""Parameters that the dialects of handed-over activities have in common: the names of the contracts, in snake case."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from sessions_app.engine.submissions import MAX_ARTIFACTS
from traces_app.engine.reading import MAX_TRACE_TOKENS

MAX_ID_CHARACTERS = 256
# Longer than any token, so that one that was mangled is refused by whoever reads it, with a better word.
MAX_TOKEN_CHARACTERS = 512
MAX_CLAIM_CHARACTERS = 2_000
MAX_AGENT_CHARACTERS = 128
MAX_ENTRIES = 500


class Entry(BaseModel):
    """An unknown key is refused, null is the same as leaving out."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class StepEntry(Entry):
    step_id: str = Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="A step that you did.")
    output: str = Field(description="What came of it, with evidence.")
    artifacts: list[dict[str, Any]] | None = Field(
        None, max_length=MAX_ARTIFACTS, description="Objects with a kind, if asked for."
    )
    context: dict[str, Any] | None = Field(None, description="Variables that it found out.")


class ActivityEntry(Entry):
    activity_id: str = Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="Its id.")
    outcome: str = Field(description="For example completed.")
    transition_condition: str | None = Field(None, max_length=MAX_CLAIM_CHARACTERS, description="By which it was left.")


# Blanks name nothing: what names something is not taken for left out.
Named = Annotated[str, StringConstraints(strip_whitespace=True)]
SessionToken = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_TOKEN_CHARACTERS,
        description="Copied exactly from the latest reply.",
    ),
]
ActivityId = Annotated[
    Named, Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="An activity of the workflow.")
]
NextActivityId = Annotated[
    Named,
    Field(
        min_length=1,
        max_length=MAX_ID_CHARACTERS,
        description="initialActivity of get_workflow at first, then a target of the transitions. workflow-end ends the run.",
    ),
]
TransitionCondition = Annotated[
    str | None,
    Field(
        max_length=MAX_CLAIM_CHARACTERS,
        description="The condition of the transition that you take, as written; default for the one without.",
    ),
]
StepManifest = Annotated[
    list[StepEntry] | None,
    Field(
        max_length=MAX_ENTRIES,
        description="The steps of the activity that you leave, in order.",
    ),
]
ActivityManifest = Annotated[
    list[ActivityEntry] | None,
    Field(max_length=MAX_ENTRIES, description="The activities done so far. Advisory."),
]
CheckpointId = Annotated[
    Named,
    Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="A checkpoint of the activity."),
]
OptionId = Annotated[
    str | None,
    Field(max_length=MAX_ID_CHARACTERS, description="That your user chose."),
]
AutoAdvance = Annotated[
    bool | None,
    Field(description="true: the default, if it does not block and autoAdvanceMs is over."),
]
ConditionNotMet = Annotated[
    bool | None,
    Field(description="true: its condition is false, so it is not asked."),
]
Summary = Annotated[
    bool,
    Field(description="false: the whole definition."),
]
TraceTokens = Annotated[
    list[str] | None,
    Field(
        max_length=MAX_TRACE_TOKENS,
        description="Of next_activity (tr.v1.…); else of this session.",
    ),
]
