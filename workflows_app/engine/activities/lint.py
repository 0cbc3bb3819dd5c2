"""What a workflow may do and its author hardly meant. Findings are warnings, since the program runs all the same, but for a
way that leads nowhere: whoever takes it is stuck.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from workflows_app.engine import conditions, placeholders
from workflows_app.engine.activities import value_types
from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem
from workflows_app.engine.program import (
    Activity,
    Branch,
    Checkpoint,
    Loop,
    LoopKind,
    Program,
    Step,
    Transition,
    Trigger,
    walk_items,
)
from workflows_app.engine.walker import TERMINAL_TARGETS

# What the walk itself adds to the context inside a loop.
_ROUND_VARIABLES = frozenset({"currentIteration", "currentItem", "currentIndex"})


Hint = Callable[[str, Iterable[str]], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LintPlaces:
    """Where the parts of the program were authored: the workflow's own file, and that of each activity. `loose` is how bad
    it is when a way leads nowhere: older readers let it pass.
    """

    workflow: str
    activities: Mapping[str, str]
    hint: Hint
    loose: Severity


def lint(*, program: Program, places: LintPlaces, workflow_ids: frozenset[str]) -> Iterator[WorkflowProblem]:
    """`workflow_ids` are the workflows that are known to exist; where none are given, none are missed."""
    yield from _unreachable(program, places)
    yield from _undeclared(program, places)
    yield from _modes(program, places)
    yield from value_types.mismatches_of_modes(program, places.workflow)
    known = frozenset(activity.id for activity in program.activities)
    for activity in program.activities:
        file = places.activities[activity.id]
        yield from _targets(activity, known, places)
        yield from _triggers(program, activity, workflow_ids, places)
        yield from _decisions(activity, file)
        yield from _no_default(activity, file)
        yield from value_types.mismatches(program, activity, file)
        for checkpoint in activity.checkpoints:
            yield from _checkpoint(checkpoint, file, places.hint)
        yield from _twins(activity, file)
        for loop in _loops(activity):
            yield from _loop(loop, file)


def leads_on(program: Program) -> bool:
    """Whether activities follow one another; where none do, each is an entry point of its own."""
    return any(True for activity in program.activities for _ in _ways(activity))


def _ways(activity: Activity) -> Iterator[tuple[str, str]]:
    """Every activity that this one may lead to, with the path of the key that says so."""
    for index, transition in enumerate(activity.transitions):
        yield transition.to, f"transitions[{index}].to"
    for index, decision in enumerate(activity.decisions):
        for number, branch in enumerate(decision.branches):
            if branch.transition_to:
                yield branch.transition_to, f"decisions[{index}].branches[{number}].transitionTo"
    for checkpoint in activity.checkpoints:
        for option in checkpoint.options:
            if option.effect is not None and option.effect.transition_to:
                yield (
                    option.effect.transition_to,
                    f"checkpoints.{checkpoint.id}.options.{option.id}.effect.transitionTo",
                )


def _unreachable(program: Program, places: LintPlaces) -> Iterator[WorkflowProblem]:
    if not leads_on(program):
        return
    by_id = {activity.id: activity for activity in program.activities}
    reached: set[str] = set()
    waiting = deque([program.initial_activity])
    while waiting:
        activity = by_id.get(waiting.popleft())
        if activity is None or activity.id in reached:
            continue
        reached.add(activity.id)
        waiting.extend(target for target, _ in _ways(activity))
        waiting.extend(name for loop in _loops(activity) for name in loop.activities)
    for activity in program.activities:
        if activity.id not in reached:
            message = f"Nothing leads to the activity {activity.id!r}."
            yield _warning(ProblemCode.UNREACHABLE, message, places.activities[activity.id])


def _targets(activity: Activity, known: Collection[str], places: LintPlaces) -> Iterator[WorkflowProblem]:
    file = places.activities[activity.id]
    for target, path in _ways(activity):
        if target not in known and target not in TERMINAL_TARGETS:
            message = f"This leads to {target[:80]!r}, which is no activity of the workflow."
            hint = places.hint(target, known)
            yield WorkflowProblem(
                code=ProblemCode.DANGLING_TRANSITION,
                message=message,
                severity=_how_bad(activity, path, places),
                file=file,
                path=path,
                suggestion=hint,
            )
    for checkpoint in activity.checkpoints:
        for option in checkpoint.options:
            skipped = () if option.effect is None else option.effect.skip_activities
            path = f"checkpoints.{checkpoint.id}.options.{option.id}.effect.skipActivities"
            yield from _unknown_activities(skipped, known, file, path, places.hint)


def _how_bad(activity: Activity, path: str, places: LintPlaces) -> Severity:
    """The branches of the oldest decisions name steps, which nobody can be sent to. A borrowed activity leads on as it does
    at home; who borrows it cannot mend that.
    """
    told_only = path.startswith("decisions") or bool(activity.borrowed_from)
    return Severity.WARNING if told_only else places.loose


def _modes(program: Program, places: LintPlaces) -> Iterator[WorkflowProblem]:
    known = frozenset(activity.id for activity in program.activities)
    for index, mode in enumerate(program.modes):
        path = f"modes[{index}].skipActivities"
        yield from _unknown_activities(mode.skip_activities, known, places.workflow, path, places.hint)


def _unknown_activities(
    names: tuple[str, ...], known: Collection[str], file: str, path: str, hint_at: Hint
) -> Iterator[WorkflowProblem]:
    for index, name in enumerate(names):
        if name not in known:
            message = f"{name[:80]!r} is no activity of the workflow."
            hint = hint_at(name, known)
            yield _warning(ProblemCode.UNKNOWN_ACTIVITY, message, file, path=f"{path}[{index}]", suggestion=hint)


def _triggers(
    program: Program, activity: Activity, workflow_ids: frozenset[str], places: LintPlaces
) -> Iterator[WorkflowProblem]:
    file = places.activities[activity.id]
    known = workflow_ids | {program.id}
    for trigger in _all_triggers(activity):
        if workflow_ids and trigger.workflow not in known:
            message = f"The workflow {trigger.workflow[:80]!r} that is started here is not known."
            hint = places.hint(trigger.workflow, known)
            yield _warning(ProblemCode.UNKNOWN_WORKFLOW, message, file, path="triggers", suggestion=hint)


def _all_triggers(activity: Activity) -> Iterator[Trigger]:
    yield from activity.triggers
    for item in walk_items(activity.body):
        if isinstance(item, Step):
            yield from item.triggers


def _decisions(activity: Activity, file: str) -> Iterator[WorkflowProblem]:
    for index, decision in enumerate(activity.decisions):
        if not any(branch.is_default for branch in decision.branches):
            message = f"The decision {decision.id!r} has no default branch for when no condition holds."
            yield _warning(ProblemCode.MISSING_KEY, message, file, path=f"decisions[{index}].branches")


def _no_default(activity: Activity, file: str) -> Iterator[WorkflowProblem]:
    branches = [branch for decision in activity.decisions for branch in decision.branches]
    ways: list[Transition | Branch] = [*activity.transitions, *branches]
    if activity.transitions and not any(way.is_default or way.condition is None for way in ways):
        message = f"No transition of {activity.id!r} is the default: where no condition holds, the run ends here."
        advice = "Give the last one `isDefault: true` and no condition; `workflow-end` is a target too."
        yield _warning(ProblemCode.MISSING_KEY, message, file, path="transitions", suggestion=advice)


def _checkpoint(checkpoint: Checkpoint, file: str, hint_at: Hint) -> Iterator[WorkflowProblem]:
    path = f"checkpoints.{checkpoint.id}"
    options = [option.id for option in checkpoint.options]
    if not options:
        message = f"The checkpoint {checkpoint.id!r} has no option to answer with."
        yield _warning(ProblemCode.UNANSWERABLE_CHECKPOINT, message, file, path=f"{path}.options")
    if checkpoint.auto_advance_ms is not None and not checkpoint.default_option:
        message = f"The checkpoint {checkpoint.id!r} answers itself after a time, with no default option to choose."
        yield _warning(ProblemCode.MISSING_KEY, message, file, path=f"{path}.defaultOption")
    if checkpoint.default_option and checkpoint.default_option not in options:
        message = f"The default {checkpoint.default_option[:80]!r} is not an option of {checkpoint.id!r}."
        hint = hint_at(checkpoint.default_option, options)
        yield _warning(ProblemCode.UNKNOWN_OPTION, message, file, path=f"{path}.defaultOption", suggestion=hint)


def _loop(loop: Loop, file: str) -> Iterator[WorkflowProblem]:
    path = f"loops.{loop.id}"
    if loop.loops is LoopKind.FOR_EACH and not loop.items:
        message = f"The loop {loop.id!r} has no `over`: there is no list to go through."
        yield _warning(ProblemCode.BAD_LOOP, message, file, path=f"{path}.over")
    if loop.loops in {LoopKind.WHILE, LoopKind.DO_WHILE} and loop.condition is None and loop.break_condition is None:
        message = f"The loop {loop.id!r} has no condition: it ends only by failing at its last round."
        yield _warning(ProblemCode.BAD_LOOP, message, file, path=f"{path}.condition")
    if not loop.body and not loop.activities:
        message = f"The loop {loop.id!r} holds no step and names no activity."
        yield _warning(ProblemCode.BAD_LOOP, message, file, path=path)


def _twins(activity: Activity, file: str) -> Iterator[WorkflowProblem]:
    """Steps inside and outside a loop may share an id; an agent that speaks of one does not say which."""
    counted = Counter(item.id for item in walk_items(activity.body))
    for name in sorted(name for name, times in counted.items() if times > 1):
        message = (
            f"The id {name!r} stands for {counted[name]} steps of the activity, in different loops or outside them."
        )
        yield _warning(ProblemCode.DUPLICATE_ID, message, file)


def _undeclared(program: Program, places: LintPlaces) -> Iterator[WorkflowProblem]:
    """Each name once, at the first place that uses it."""
    declared = {variable.name for variable in program.variables}
    told: set[str] = set()
    for name, user, file in _used_variables(program, places):
        root = name.partition(".")[0]
        if root and root not in told and root not in declared and name not in declared:
            told.add(root)
            message = f"The variable {root[:80]!r}, used by {user}, is not declared."
            hint = places.hint(root, declared)
            yield _warning(ProblemCode.UNDECLARED_VARIABLE, message, file, suggestion=hint)


def _used_variables(program: Program, places: LintPlaces) -> Iterator[tuple[str, str, str]]:
    for mode in program.modes:
        for name in (mode.activation_variable, *sorted(mode.defaults)):
            yield name, f"mode {mode.id!r}", places.workflow
    for activity in program.activities:
        of_loops = {name for loop in _loops(activity) for name in (loop.item_variable, loop.iteration_variable)}
        for name, user in _uses(activity):
            if name.partition(".")[0] not in of_loops | _ROUND_VARIABLES:
                yield name, user, places.activities[activity.id]


def _uses(activity: Activity) -> Iterator[tuple[str, str]]:
    for condition, user in value_types.conditions_of(activity):
        for name in sorted(conditions.variables_of(condition)):
            yield name, user
    for checkpoint in activity.checkpoints:
        for option in checkpoint.options:
            for name in sorted(option.effect.set_variable) if option.effect is not None else ():
                yield name, f"option {option.id!r} of checkpoint {checkpoint.id!r}"
    for loop in _loops(activity):
        yield ".".join(loop.items), f"loop {loop.id!r}"
    for checkpoint in activity.checkpoints:
        for name in sorted(placeholders.single_names_in(checkpoint.message)):
            yield name, f"the message of checkpoint {checkpoint.id!r}"


def _loops(activity: Activity) -> Iterator[Loop]:
    return (item for item in walk_items(activity.body) if isinstance(item, Loop))


def _warning(code: ProblemCode, message: str, file: str, *, path: str = "", suggestion: str = "") -> WorkflowProblem:
    return WorkflowProblem(
        code=code, message=message, severity=Severity.WARNING, file=file, path=path, suggestion=suggestion
    )
