"""What the agent is shown of the pending item: this step and nothing of later ones, with all that it must obey."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import msgspec
from msgspec.structs import replace

from sessions_app.engine import approvals, obligations
from sessions_app.engine.state import CapabilityStatus, Snapshot
from workflows_app.engine import conditions, placeholders, walker
from workflows_app.engine.activities.prompts import what_holds_in
from workflows_app.engine.activities.references import SkillNames
from workflows_app.engine.filled import filled, filled_by
from workflows_app.engine.placeholders import Filling
from workflows_app.engine.program import (
    Capability,
    CapabilityNeed,
    Checkpoint,
    ConfirmationKind,
    Function,
    Gate,
    Parallel,
    Program,
    Step,
    walk_items,
)
from workflows_app.engine.rounds import rounds_around, rounds_json
from workflows_app.engine.steps.prompts import handed_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A checkpoint as the agent shows it to its user."""

    checkpoint_id: str
    message: str
    options: tuple[tuple[str, str, str], ...]
    human: bool


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    step_id: str
    key: str
    title: str
    prompt: str
    agent_role: str = ""
    guidance: tuple[str, ...] = ()
    workflow_guidance: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    functions: tuple[Function, ...] = ()
    require_confirmation: bool = False
    confirmed_by: str = ""
    ask_for_files: bool = False
    model_tier: str = ""
    activity: str = ""
    question: Question | None = None
    loop: Mapping[str, Any] | None = None
    # By the name that reads it, one that the program has, to be read before the step is done.
    skill: str = ""


def pending_of(
    *, program: Program, snapshot: Snapshot, filling_of: Callable[[Mapping[str, Any]], Filling] = Filling
) -> Pending | None:
    """The pending item as it is shown; None when the run is complete."""
    item = walker.item_at(program, snapshot.position)
    scope = _scope(program, snapshot)
    match item:
        case None:
            return None
        case Gate():
            filling = filling_of(scope)
            gate = _gate(program, snapshot, item, filling)
            return replace(gate, loop=rounds_at(program, snapshot), workflow_guidance=_throughout(program, filling))
        case Step() | Parallel():
            return replace(_step(program, snapshot, item, scope, filling_of(scope)), loop=rounds_at(program, snapshot))
        case _:
            assert_never(item)


def what_holds_at(*, program: Program, snapshot: Snapshot, how_to_read: str) -> list[str]:
    """What the activity at hand says beside its steps."""
    activity = program.activity(snapshot.position.activity)
    if activity is None or snapshot.is_complete:
        return []
    filling = Filling(_scope(program, snapshot))
    return [filling.render(text) for text in what_holds_in(program, activity, how_to_read=how_to_read)]


def rounds_at(program: Program, snapshot: Snapshot) -> dict[str, Any] | None:
    """The rounds of the loops around the pending item, the innermost within the others."""
    if not snapshot.position.frames:
        return None
    return rounds_json(rounds_around(program=program, position=snapshot.position, variables=snapshot.variables))


def title_of(*, program: Program, snapshot: Snapshot) -> str:
    """As it is shown: with its values in place."""
    if snapshot.is_handed_over and snapshot.questions:
        return f"Waits for an answer: {', '.join(question.checkpoint for question in snapshot.questions)}"
    item = walker.item_at(program, snapshot.position)
    if isinstance(item, Gate):
        checkpoint = approvals.checkpoint_of(program, snapshot, item)
        return filled(checkpoint, variables=_scope(program, snapshot)).name if checkpoint else item.id
    if item is None:
        return _resting(program, snapshot)
    return placeholders.render(item.title, variables=_scope(program, snapshot))


def written_titles(program: Program) -> dict[str, frozenset[str]]:
    """By the id of a step or gate the titles that it is shown with, of those that nothing is filled into."""
    found: dict[str, set[str]] = {}
    for activity in program.activities:
        names = {checkpoint.id: checkpoint.name for checkpoint in activity.checkpoints}
        for item in walk_items(activity.body):
            if isinstance(item, Step | Parallel):
                found.setdefault(item.id, set()).add(item.title)
            elif isinstance(item, Gate):
                found.setdefault(item.id, set()).add(names.get(item.checkpoint, item.id))
    return {item: frozenset(said) for item, said in found.items() if not any(map(placeholders.names_in, said))}


def _resting(program: Program, snapshot: Snapshot) -> str:
    """Where no step is pending, the activity is; before the first one, that it comes."""
    if snapshot.position.complete:
        return ""
    activity = program.activity(snapshot.position.activity)
    return f"In {activity.title or activity.id}" if activity else "Before the first activity"


def _scope(program: Program, snapshot: Snapshot) -> dict[str, Any]:
    return walker.scope_at(program=program, position=snapshot.position, variables=snapshot.variables)


def _step(
    program: Program, snapshot: Snapshot, item: Step | Parallel, scope: Mapping[str, Any], filling: Filling
) -> Pending:
    asked = approvals.asked_of(program, snapshot, item, scope=scope)
    return Pending(
        step_id=item.id,
        key=snapshot.position.pending,
        title=filling.render(item.title),
        prompt=_prompt(program, snapshot, item, scope, filling),
        agent_role=filling.render(item.agent_role),
        guidance=tuple(filling.render(text) for text in item.guidance),
        workflow_guidance=_throughout(program, filling),
        requirements=tuple(map(filling.render, obligations.requirements(program=program, item=item))),
        functions=tuple(replace(each, definition=filling.render(each.definition)) for each in item.functions),
        require_confirmation=asked is not None,
        confirmed_by=_WHO[asked] if asked else "",
        ask_for_files=isinstance(item, Step) and item.ask_for_files,
        model_tier=item.model_tier.value if isinstance(item, Step) and item.model_tier else "",
        activity=_activity_name(program, snapshot),
        skill=_skill(program, snapshot, item),
    )


def _throughout(program: Program, filling: Filling) -> tuple[str, ...]:
    return tuple(filling.render(text) for text in (*program.guidance, *program.rules))


def _skill(program: Program, snapshot: Snapshot, item: Step | Parallel) -> str:
    named = item.skill if isinstance(item, Step) else ""
    if not named:
        return ""
    activity = program.activity(snapshot.position.activity)
    home = activity.borrowed_from if activity else ""
    names = SkillNames(program)
    return names.read_as(named, home=home) if names.find(named, home=home) is not None else ""


def _prompt(
    program: Program,
    snapshot: Snapshot,
    item: Step | Parallel,
    scope: Mapping[str, Any],
    filling: Filling,
) -> str:
    if isinstance(item, Parallel):
        parts = [handed_out(item, variables=scope, mode=program.conditions, filling=filling)]
    else:
        parts = [filling.render(item.prompt)]
    if isinstance(item, Step):
        parts.extend(
            filling.render(fragment.text)
            for fragment in item.fragments
            if conditions.evaluate(fragment.when, variables=scope, mode=program.conditions)
        )
    parts.extend(
        f"{capability.value} is not available in this run: do this step by yourself, one thing after the other."
        for capability, need in program.capabilities.items()
        if capability is Capability.DELEGATION
        and need is not CapabilityNeed.DISABLED
        and (seen := snapshot.capabilities.get(capability)) is not None
        and seen.status is CapabilityStatus.UNAVAILABLE
    )
    return "\n\n".join(part for part in parts if part.strip())


def _gate(program: Program, snapshot: Snapshot, gate: Gate, filling: Filling) -> Pending:
    checkpoint = approvals.checkpoint_of(program, snapshot, gate)
    if checkpoint is None:
        return Pending(step_id=gate.id, key=snapshot.position.pending, title=gate.id, prompt="")
    checkpoint = filled_by(checkpoint, filling=filling)
    question = question_of(checkpoint)
    options = "\n".join(f"- {id_}: {label}{f' ({text})' if text else ''}" for id_, label, text in question.options)
    return Pending(
        step_id=gate.id,
        key=snapshot.position.pending,
        title=checkpoint.name,
        prompt=f"{question.message}\n\n{options}",
        require_confirmation=True,
        confirmed_by="human" if checkpoint.human else "user",
        activity=_activity_name(program, snapshot),
        question=question,
    )


def question_of(checkpoint: Checkpoint) -> Question:
    """Of one that has its values."""
    return Question(
        checkpoint_id=checkpoint.id,
        message=checkpoint.message,
        options=tuple((option.id, option.label, option.description) for option in checkpoint.options),
        human=checkpoint.human,
    )


_WHO = {
    ConfirmationKind.ALWAYS: "user",
    ConfirmationKind.CONDITIONAL: "user",
    ConfirmationKind.COORDINATOR_EVAL: "coordinator",
    ConfirmationKind.HUMAN_APPROVAL: "human",
}


def _activity_name(program: Program, snapshot: Snapshot) -> str:
    return snapshot.position.activity if len(program.activities) > 1 else ""
