"""Where a person must agree: checkpoints of activities, and steps that ask for a human's approval."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sessions_app.engine.findings import Artifact, Findings
from sessions_app.engine.reasons import Detail, Reason, step_pointer
from sessions_app.engine.state import BlockerCode, Snapshot, Work
from workflows_app.engine import conditions, walker
from workflows_app.engine.program import (
    Checkpoint,
    Confirmation,
    ConfirmationKind,
    Gate,
    Parallel,
    Program,
    Step,
)
from workflows_app.engine.walks import LOOP_CONTROL_KIND

ANSWER_KIND = "wr.checkpoint_answer"
# The later asks for more.
_STRENGTH = (
    ConfirmationKind.CONDITIONAL,
    ConfirmationKind.ALWAYS,
    ConfirmationKind.COORDINATOR_EVAL,
    ConfirmationKind.HUMAN_APPROVAL,
)


def checkpoint_of(program: Program, snapshot: Snapshot, gate: Gate) -> Checkpoint | None:
    activity = program.activity(snapshot.position.activity)
    if activity is None:
        return None
    return next((checkpoint for checkpoint in activity.checkpoints if checkpoint.id == gate.checkpoint), None)


def answer(findings: Findings, checkpoint: Checkpoint, artifacts: Sequence[Artifact], *, by_person: bool) -> None:
    """What was chosen. An agent relays its user's answer, save where only a signed-in person may give one.

    An answer that names another checkpoint is none to this one.
    """
    options = {option.id: option for option in checkpoint.options}
    answers = [artifact for artifact in artifacts if artifact.get("kind") == ANSWER_KIND]
    said = [each.get("optionId") for each in answers if each.get("checkpointId", checkpoint.id) == checkpoint.id]
    chosen = options.get(said[-1]) if said and isinstance(said[-1], str) else None
    if chosen is not None and (by_person or not checkpoint.human):
        findings.answer = chosen
        return
    findings.unanswered = None if checkpoint.human else options.get(checkpoint.default_option)
    if answers and not said:
        findings.reasons.append(_another(checkpoint))
    else:
        findings.reasons.append(_only_a_person(checkpoint) if checkpoint.human else _no_option(checkpoint, said))


def asked_of(
    program: Program, snapshot: Snapshot, item: Step | Parallel, *, scope: Mapping[str, Any]
) -> ConfirmationKind | None:
    """Who must confirm the pending step: whom it asks itself, or whom a loop asks that begins with it. Context that came with
    an attempt does not lift the question that it was blocked by, or sent back with.
    """
    if _is_asked_already(snapshot, item.id):
        return ConfirmationKind.HUMAN_APPROVAL
    asked = [item.confirmation, *_entered_with(program, snapshot)]
    holding = [
        confirmation.confirms
        for confirmation in asked
        if confirmation is not None
        and conditions.evaluate(confirmation.condition, variables=scope, mode=program.conditions)
    ]
    return max(holding, key=_STRENGTH.index, default=None)


def approve(
    findings: Findings,
    program: Program,
    snapshot: Snapshot,
    item: Step | Parallel,
    *,
    scope: Mapping[str, Any],
    by_person: bool,
) -> None:
    """A step with `human_approval` is done when a signed-in person acknowledges it."""
    if asked_of(program, snapshot, item, scope=scope) is not ConfirmationKind.HUMAN_APPROVAL:
        return
    findings.approved = by_person
    if not by_person:
        findings.reasons.append(needs_approval(item.id))


def work_of(*, content: str, artifacts: Sequence[Artifact]) -> Work:
    """What was handed in, by its digest, with all that is needed of it when it is approved."""
    decisions = (dict(said) for said in artifacts if said.get("kind") == LOOP_CONTROL_KIND)
    return Work(content=content, decisions=tuple(decisions))


def is_owed_around(program: Program, snapshot: Snapshot) -> bool:
    """Whether a person approves a loop here with its first work, and none of it was done."""
    asked = (confirmation for confirmation in _entered_with(program, snapshot) if confirmation is not None)
    return any(confirmation.confirms is ConfirmationKind.HUMAN_APPROVAL for confirmation in asked)


def needs_approval(step_id: str) -> Reason:
    return Reason(
        detail=Detail.NEEDS_USER_APPROVAL,
        pointer=step_pointer(step_id),
        message="This step is done when a signed-in person has approved it; an agent cannot approve for them.",
        fix="Tell the user that the step waits for their approval in the Studio, and do not go on without it.",
        needs_person=True,
    )


def _entered_with(program: Program, snapshot: Snapshot) -> Iterator[Confirmation | None]:
    """The confirmations of the loops in which nothing was done before the pending item, innermost first."""
    activity = program.activity(snapshot.position.activity)
    frames = snapshot.position.frames
    loops = walker.loops_at(activity, frames) if activity else ()
    for loop, frame in zip(reversed(loops), reversed(frames), strict=False):
        if frame.begun:
            return
        yield loop.confirmation


def _is_asked_already(snapshot: Snapshot, step_id: str) -> bool:
    before = snapshot.blocked.blockers if snapshot.blocked else ()
    pointer = step_pointer(step_id)
    if snapshot.answered is not None and snapshot.was_sent_back and snapshot.answered.checkpoint == step_id:
        return True
    return any(blocker.code is BlockerCode.USER_ONLY_DEPENDENCY and blocker.pointer == pointer for blocker in before)


def _only_a_person(checkpoint: Checkpoint) -> Reason:
    return Reason(
        detail=Detail.NEEDS_USER_APPROVAL,
        pointer=step_pointer(checkpoint.id),
        message=f"Checkpoint {checkpoint.id} is answered by a signed-in person only.",
        fix="Ask your user to answer it in the Studio, then retry.",
        needs_person=True,
    )


def _another(checkpoint: Checkpoint) -> Reason:
    return Reason(
        detail=Detail.NEEDS_USER_CHOICE,
        pointer=step_pointer(checkpoint.id),
        message=f"The answer names another checkpoint; {checkpoint.id} is the one that waits.",
        fix=f"Show the question of {checkpoint.id} to the user, and retry with what they choose there.",
        needs_person=checkpoint.human,
    )


def _no_option(checkpoint: Checkpoint, said: Sequence[object]) -> Reason:
    message = (
        f"The answer names no option of checkpoint {checkpoint.id}."
        if said
        else f"Checkpoint {checkpoint.id} waits for the user's answer."
    )
    options = " | ".join(option.id for option in checkpoint.options)
    return Reason(
        detail=Detail.NEEDS_USER_CHOICE,
        pointer=step_pointer(checkpoint.id),
        message=message,
        fix=(
            f'Show the question to the user, then retry with an artifact {{"kind": "{ANSWER_KIND}", '
            f'"checkpointId": "{checkpoint.id}", "optionId": "<{options}>"}}.'
        ),
    )
