"""Parameters that the dialects of handed-over activities have in common: the names of the contracts, in snake case."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

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
    step_id: str = Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="The id of a step that you did.")
    output: str = Field(description="What came of it, with its evidence, in a line or two.")


class ActivityEntry(Entry):
    activity_id: str = Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="The id of an activity.")
    outcome: str = Field(description="What came of it, for example completed.")
    transition_condition: str | None = Field(
        None, max_length=MAX_CLAIM_CHARACTERS, description="The condition by which it was left, or default."
    )


SessionToken = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_TOKEN_CHARACTERS,
        description="Copied exactly from the latest reply (ses.v1.…).",
    ),
]
ActivityId = Annotated[
    str, Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="The id of an activity of the workflow.")
]
NextActivityId = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_ID_CHARACTERS,
        description="Where to go: initialActivity of get_workflow at first, then a target of the current activity's "
        "transitions. workflow-end ends the run.",
    ),
]
TransitionCondition = Annotated[
    str | None,
    Field(
        max_length=MAX_CLAIM_CHARACTERS,
        description="The condition of the transition that you take, as it is written there, for example "
        "plan_approved == true; default for the one without a condition. The server compares it with its own reading.",
    ),
]
StepManifest = Annotated[
    list[StepEntry] | None,
    Field(
        max_length=MAX_ENTRIES,
        description="What you did in the activity that you leave: its steps in order, each with what came of it.",
    ),
]
ActivityManifest = Annotated[
    list[ActivityEntry] | None,
    Field(max_length=MAX_ENTRIES, description="The activities done so far, with their outcomes. Advisory."),
]
CheckpointId = Annotated[
    str,
    Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="The id of a checkpoint of the activity."),
]
OptionId = Annotated[
    str | None,
    Field(max_length=MAX_ID_CHARACTERS, description="The option that your user chose."),
]
AutoAdvance = Annotated[
    bool | None,
    Field(
        description="true: take the default option, where the checkpoint does not block and its autoAdvanceMs is over."
    ),
]
ConditionNotMet = Annotated[
    bool | None,
    Field(description="true: the condition of the checkpoint is false, so it is not asked."),
]
Summary = Annotated[
    bool,
    Field(description="true: rules, variables and the activities by name. false: the whole definition."),
]
TraceTokens = Annotated[
    list[str] | None,
    Field(
        max_length=MAX_TRACE_TOKENS,
        description="Trace tokens that next_activity gave you (tr.v1.…). Without them the trace of this session is told.",
    ),
]
