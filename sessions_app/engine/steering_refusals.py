"""What an action by hand is refused with. Nothing is written; the state is as it was."""

from typing import ClassVar

from teams_app.engine.errors import InvalidInputError, WorkrailError


class ActivityNotFoundError(WorkrailError):
    """The state stands in an activity that the workflow does not have."""

    code: ClassVar[str] = "ACTIVITY_NOT_FOUND"


class CheckpointBlockingError(WorkrailError):
    """A person must answer or approve first."""

    code: ClassVar[str] = "CHECKPOINT_BLOCKING"


class StepNotFoundError(WorkrailError):
    """The activity has no such step, or it is not its turn."""

    code: ClassVar[str] = "STEP_NOT_FOUND"


class StepAlreadyCompleteError(WorkrailError):
    """The step is done in this visit of the activity."""

    code: ClassVar[str] = "STEP_ALREADY_COMPLETE"


class CheckpointNotFoundError(WorkrailError):
    """The activity has no such checkpoint."""

    code: ClassVar[str] = "CHECKPOINT_NOT_FOUND"


class CheckpointAlreadyRespondedError(WorkrailError):
    """The checkpoint waits for no answer now."""

    code: ClassVar[str] = "CHECKPOINT_ALREADY_RESPONDED"


class OptionNotFoundError(WorkrailError):
    """The checkpoint has no such option."""

    code: ClassVar[str] = "OPTION_NOT_FOUND"


class ActivityNotCompleteError(WorkrailError):
    """Something of the activity must be done before it is left."""

    code: ClassVar[str] = "ACTIVITY_NOT_COMPLETE"


class TargetActivityNotFoundError(WorkrailError):
    """The workflow has no activity of that name."""

    code: ClassVar[str] = "TARGET_ACTIVITY_NOT_FOUND"


class InvalidTransitionError(WorkrailError):
    """No transition leads there now."""

    code: ClassVar[str] = "INVALID_TRANSITION"


class LoopNotFoundError(WorkrailError):
    """The loop is not at hand."""

    code: ClassVar[str] = "LOOP_NOT_FOUND"


class LoopItemsRequiredError(WorkrailError):
    """The loop does not know what it runs over."""

    code: ClassVar[str] = "LOOP_ITEMS_REQUIRED"


class LoopExhaustedError(WorkrailError):
    """The loop has had all the rounds that it may have, and its own test says to go on."""

    code: ClassVar[str] = "LOOP_EXHAUSTED"


class RoundNotCompleteError(WorkrailError):
    """A round of the loop is under way."""

    code: ClassVar[str] = "ROUND_NOT_COMPLETE"


class RunCompleteError(WorkrailError):
    """The run has ended; nothing is left to be done in it."""

    code: ClassVar[str] = "RUN_COMPLETE"


class RunSuspendedError(WorkrailError):
    """The run waits for the run of another workflow that its activity triggered."""

    code: ClassVar[str] = "RUN_SUSPENDED"


# What an action is refused with; the state stays as it was.
REFUSALS = (
    ActivityNotFoundError,
    CheckpointBlockingError,
    StepNotFoundError,
    StepAlreadyCompleteError,
    CheckpointNotFoundError,
    CheckpointAlreadyRespondedError,
    OptionNotFoundError,
    ActivityNotCompleteError,
    TargetActivityNotFoundError,
    InvalidTransitionError,
    LoopNotFoundError,
    LoopItemsRequiredError,
    LoopExhaustedError,
    RoundNotCompleteError,
    RunCompleteError,
    RunSuspendedError,
    InvalidInputError,
)
