"""Arguments of `nav_action` as the action that they name."""

from collections.abc import Mapping
from typing import Any, assert_never

from sessions_app.engine.actions import Action, AdvanceLoop, CompleteStep, RespondToCheckpoint, TakeTransition
from sessions_app.engine.runs import Dialect
from sessions_app.engine.submissions import Submission
from sessions_app.services.moves.beginning import Beginning
from teams_app.engine.errors import InvalidInputError
from workrail_site.dialects.navigation.parameters import ActionName
from workrail_site.dialects.navigation.situations import PARENT_STATE


def action_of(
    name: ActionName,
    *,
    step_id: str | None,
    submission: Submission,
    checkpoint_id: str | None,
    option_id: str | None,
    activity_id: str | None,
    loop_id: str | None,
    loop_items: list[Any] | None,
) -> Action:
    """Raises InvalidInputError when the action lacks an argument, or when what is handed in with it would be lost. A name that belongs to
    another action is passed over.
    """
    _refuse_lost(name, submission, loop_items)
    match name:
        case ActionName.COMPLETE_STEP:
            return CompleteStep(step_id=_needed(name, step_id=step_id)["step_id"], submission=submission)
        case ActionName.RESPOND_TO_CHECKPOINT:
            answer = _needed(name, checkpoint_id=checkpoint_id, option_id=option_id)
            return RespondToCheckpoint(checkpoint_id=answer["checkpoint_id"], option_id=answer["option_id"])
        case ActionName.TRANSITION:
            return TakeTransition(activity_id=_needed(name, activity_id=activity_id)["activity_id"])
        case ActionName.ADVANCE_LOOP:
            items = None if loop_items is None else tuple(loop_items)
            return AdvanceLoop(loop_id=_needed(name, loop_id=loop_id)["loop_id"], items=items)
        case _:
            assert_never(name)


def _refuse_lost(name: ActionName, submission: Submission, loop_items: list[Any] | None) -> None:
    handed_in = {"notes": submission.notes.strip(), "artifacts": submission.artifacts, "context": submission.context}
    taken_by = dict.fromkeys(handed_in, ActionName.COMPLETE_STEP) | {"loop_items": ActionName.ADVANCE_LOOP}
    lost = [
        key for key, value in {**handed_in, "loop_items": loop_items}.items() if value and taken_by[key] is not name
    ]
    if lost:
        raise InvalidInputError(
            f"{name.value} takes no {' and no '.join(lost)}; nothing was done.",
            suggestion="Send "
            + " and ".join(f"{key} with {taken_by[key].value}" for key in lost)
            + ", and this action without.",
            details={"validationErrors": [{"path": key, "message": "Not of this action."} for key in lost]},
        )


def beginning_of(workflow_id: str, variables: Mapping[str, Any], *, request_key: str) -> Beginning:
    """The reserved variable is the state of the run that triggers this one, and no variable. Null is the same as leaving it out."""
    given = dict(variables)
    state = given.pop(PARENT_STATE, None)
    parent_state = None if state is None else str(state)
    return Beginning(
        workflow_id=workflow_id,
        context=given,
        dialect=Dialect.NAVIGATION,
        parent_state=parent_state,
        request_key=request_key,
    )


def _needed(name: ActionName, **given: str | None) -> dict[str, str]:
    """The arguments of the action; all of them are named when one is missing."""
    said = {key: text.strip() for key, text in given.items() if text and text.strip()}
    if len(said) == len(given):
        return said
    needs = f"{' and '.join(given)} {'is' if len(given) == 1 else 'are'} required for {name.value} action"
    raise InvalidInputError(
        needs,
        suggestion="Take the action with its arguments from availableActions of the latest reply.",
        details={
            "validationErrors": [
                {"path": key, "message": "Required, and missing."} for key in given if key not in said
            ],
            "correctTemplate": {
                "state": "<state>",
                "action": name.value,
                **{key: said.get(key, f"<{key}>") for key in given},
            },
        },
    )
