"""What a workflow may do and its author hardly meant. Findings are warnings, since the program runs all the same, but for a
way that leads nowhere: whoever takes it is stuck.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from teams_app.engine.closest import MOST_CANDIDATES, closest, is_slip_of
from workflows_app.engine import conditions, placeholders
from workflows_app.engine.activities import value_types
from workflows_app.engine.activities.documents import as_warning
from workflows_app.engine.activities.findings import FolderFindings
from workflows_app.engine.activities.lasting import lasting_answers
from workflows_app.engine.activities.shape import ActivityPlaces, AuthoredPlace, FolderShape
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
# So alike are two names of which one is misspelt, and so many are looked at.
_MISSPELT = 0.9
_MOST_COMPARED = 200
# What may lead from one activity to another, or hold what does.
_WAYS = frozenset(
    (
        *("initialActivity", "graph", "exits", "exit", "transitions", "to", "decisions", "branches", "transitionTo"),
        *("steps", "kind", "checkpoints", "options", "effect", "loops", "activities"),
    )
)


Hint = Callable[[str, Iterable[str]], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LintPlaces:
    """Where the parts of the program were authored: the workflow itself, and each activity. `findings` is what was told of them
    so far, `untyped` are the variables of which nobody knows the type; `unread` is why a workflow that is at hand cannot be read.
    """

    workflow: FolderShape
    activities: Mapping[str, ActivityPlaces]
    findings: FolderFindings
    unread: Callable[[str], tuple[WorkflowProblem, ...]]
    untyped: frozenset[str] = frozenset()

    @property
    def hint(self) -> Hint:
        return self.findings.hint

    @property
    def loose(self) -> Severity:
        """How bad it is when a way leads nowhere: older readers let it pass."""
        return self.findings.loose

    def is_lost(self, *places: AuthoredPlace) -> bool:
        return any(self.findings.is_lost(file=place.file, path=place.path) for place in places)


def lint(*, program: Program, places: LintPlaces, workflow_ids: frozenset[str]) -> Iterator[WorkflowProblem]:
    """`workflow_ids` are the workflows that are known to exist; where none are given, none are missed."""
    yield from _unreachable(program, places)
    yield from _undeclared(program, places)
    yield from _modes(program, places)
    yield from lasting_answers(program, places.activities)
    yield from value_types.mismatches_of_modes(program, places.workflow, places.untyped)
    known = frozenset(activity.id for activity in program.activities)
    for activity in program.activities:
        at = places.activities[activity.id]
        yield from _targets(activity, known, places)
        yield from _triggers(program, activity, workflow_ids, places)
        yield from _decisions(activity, places)
        yield from _no_default(activity, at, places)
        yield from _locations(program, activity, places)
        yield from value_types.mismatches(program, activity, at, places.untyped)
        for checkpoint in activity.checkpoints:
            yield from _checkpoint(checkpoint, at, places)
        yield from _twins(activity, at)
        for loop in _loops(activity):
            yield from _loop(loop, at, places)


def leads_on(program: Program) -> bool:
    """Whether activities follow one another; where none do, each is an entry point of its own."""
    return any(True for activity in program.activities for _ in _ways(activity))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """What may lead from one activity to another: `key` of the activity, or an option of a checkpoint, by `exit` or not."""

    to: str
    key: str = ""
    checkpoint: str = ""
    option: str = ""
    exit: str = ""

    def place(self, places: ActivityPlaces) -> AuthoredPlace:
        if self.exit:
            return places.graph.inner(self.exit[:80])
        if self.option:
            return places.option(self.checkpoint, self.option, "effect.transitionTo")
        return places.own(self.key)


def _ways(activity: Activity) -> Iterator[_Way]:
    """Every way to the activity, or to what is none."""
    for index, transition in enumerate(activity.transitions):
        yield _Way(to=transition.to, key=f"transitions[{index}].to", exit=str(transition.extra.get("exit", "")))
    for index, decision in enumerate(activity.decisions):
        for number, branch in enumerate(decision.branches):
            if branch.transition_to:
                yield _Way(to=branch.transition_to, key=f"decisions[{index}].branches[{number}].transitionTo")
    for checkpoint in activity.checkpoints:
        for option in checkpoint.options:
            effect = option.effect
            if effect is not None and effect.transition_to:
                exit_id = str(effect.extra.get("exit", ""))
                yield _Way(to=effect.transition_to, checkpoint=checkpoint.id, option=option.id, exit=exit_id)


def _unreachable(program: Program, places: LintPlaces) -> Iterator[WorkflowProblem]:
    if not leads_on(program) or places.findings.has_lost(_WAYS):
        return
    if program.initial_activity not in places.activities:
        return
    led = _reached(program, [program.initial_activity])
    looped = {name for activity in program.activities for loop in _loops(activity) for name in loop.activities}
    told = led | _reached(program, looped)
    if _is_broken_off(program, told):
        return
    for activity in program.activities:
        own = places.activities[activity.id].own()
        if activity.id not in told:
            yield _warning(ProblemCode.UNREACHABLE, f"Nothing leads to the activity {activity.id!r}.", own)
        elif activity.id in looped - led:
            message = (
                f"Only a loop names the activity {activity.id!r}: a run that is led step by step does not enter it, and nobody is "
                "asked there."
            )
            suggestion = "Lead there by a transition, and back, or write its steps into the loop."
            yield _warning(ProblemCode.UNREACHABLE, message, own, suggestion)


def _is_broken_off(program: Program, reached: Collection[str]) -> bool:
    """Whether a way that one comes to leads to no activity, and is told: whatever stands behind it is not unreachable by a second mistake.
    A branch that names a step never led to any.
    """
    known = {activity.id for activity in program.activities}
    return any(
        way.to not in known and way.to not in TERMINAL_TARGETS
        for activity in program.activities
        if activity.id in reached
        for steps in [{item.id for item in walk_items(activity.body)}]
        for way in _ways(activity)
        if not (way.key.startswith("decisions") and way.to in steps)
    )


def _reached(program: Program, names: Iterable[str]) -> set[str]:
    by_id = {activity.id: activity for activity in program.activities}
    reached: set[str] = set()
    waiting = deque(names)
    while waiting:
        activity = by_id.get(waiting.popleft())
        if activity is None or activity.id in reached:
            continue
        reached.add(activity.id)
        waiting.extend(way.to for way in _ways(activity))
    return reached


def _targets(activity: Activity, known: Collection[str], places: LintPlaces) -> Iterator[WorkflowProblem]:
    at = places.activities[activity.id]
    for way in _ways(activity):
        severity = _how_bad(activity, way, places)
        is_dangling = way.to not in known and way.to not in TERMINAL_TARGETS
        if is_dangling and not places.findings.is_told_instead(way.to, severity):
            place = way.place(at)
            yield WorkflowProblem(
                code=ProblemCode.DANGLING_TRANSITION,
                message=f"This leads to {way.to[:80]!r}, which is no activity of the workflow.",
                severity=severity,
                file=place.file,
                path=place.path,
                suggestion=places.hint(way.to, known),
            )
    for checkpoint in activity.checkpoints:
        for option in checkpoint.options:
            skipped = () if option.effect is None else option.effect.skip_activities
            place = at.option(checkpoint.id, option.id, "effect.skipActivities")
            yield from _unknown_activities(skipped, known, place, places)


def _how_bad(activity: Activity, way: _Way, places: LintPlaces) -> Severity:
    """The branches of the oldest decisions name steps, which nobody can be sent to. A borrowed activity leads on as it does
    at home; who borrows it cannot mend that, but where their own graph says it.
    """
    told_only = way.key.startswith("decisions") or (bool(activity.borrowed_from) and not way.exit)
    return Severity.WARNING if told_only else places.loose


def _modes(program: Program, places: LintPlaces) -> Iterator[WorkflowProblem]:
    known = frozenset(activity.id for activity in program.activities)
    for index, mode in enumerate(program.modes):
        place = places.workflow.place(f"modes[{index}].skipActivities")
        yield from _unknown_activities(mode.skip_activities, known, place, places)


def _unknown_activities(
    names: tuple[str, ...], known: Collection[str], place: AuthoredPlace, places: LintPlaces
) -> Iterator[WorkflowProblem]:
    for index, name in enumerate(names):
        if name not in known and not places.findings.is_told_instead(name, Severity.WARNING):
            message = f"{name[:80]!r} is no activity of the workflow."
            hint = places.hint(name, known)
            yield _warning(ProblemCode.UNKNOWN_ACTIVITY, message, place.inner(f"[{index}]"), hint)


def _triggers(
    program: Program, activity: Activity, workflow_ids: frozenset[str], places: LintPlaces
) -> Iterator[WorkflowProblem]:
    at = places.activities[activity.id]
    known = workflow_ids | {program.id}
    for trigger, place in _all_triggers(activity, at):
        if not workflow_ids or not trigger.workflow or trigger.workflow in known:
            continue
        if lost := next(filter(None, map(places.unread, _folders_named(trigger.workflow, program.id))), ()):
            places.findings.take_once(map(as_warning, lost))
        else:
            message = f"The workflow {trigger.workflow[:80]!r} that is started here is not known."
            yield _warning(ProblemCode.UNKNOWN_WORKFLOW, message, place, places.hint(trigger.workflow, known))


def _folders_named(workflow_id: str, own: str) -> Iterator[str]:
    """How the folder of a workflow may be called: within a namespace also by the bare name."""
    yield workflow_id
    namespace, _, name = workflow_id.rpartition(".")
    if namespace in {"", own.rpartition(".")[0]}:
        yield from (name, f"{own.rpartition('.')[0]}.{name}")


def _all_triggers(activity: Activity, at: ActivityPlaces) -> Iterator[tuple[Trigger, AuthoredPlace]]:
    yield from ((trigger, at.own("triggers")) for trigger in activity.triggers)
    for item in walk_items(activity.body):
        if isinstance(item, Step):
            yield from ((trigger, at.item(item.id, "triggers")) for trigger in item.triggers)


def _decisions(activity: Activity, places: LintPlaces) -> Iterator[WorkflowProblem]:
    at = places.activities[activity.id]
    for index, decision in enumerate(activity.decisions):
        said = [at.own(f"decisions[{index}].branches[{each}].isDefault") for each in range(len(decision.branches))]
        if not any(branch.is_default for branch in decision.branches) and not places.is_lost(*said):
            message = f"The decision {decision.id!r} has no default branch for when no condition holds."
            yield _warning(ProblemCode.MISSING_KEY, message, at.own(f"decisions[{index}].branches"))


def _no_default(activity: Activity, at: ActivityPlaces, places: LintPlaces) -> Iterator[WorkflowProblem]:
    branches = [branch for decision in activity.decisions for branch in decision.branches]
    ways: list[Transition | Branch] = [*activity.transitions, *branches]
    written = len(_list_at(at, "transitions")), len(_list_at(at, "exits"))
    said = [at.own(f"transitions[{each}].{key}") for each in range(written[0]) for key in ("to", "isDefault")]
    said += [at.own(f"exits[{each}].isDefault") for each in range(written[1])]
    is_told = places.is_lost(*said)
    if activity.transitions and not is_told and not any(way.is_default or way.condition is None for way in ways):
        message = f"No transition of {activity.id!r} is the default: where no condition holds, the run ends here."
        advice = "Give the last one `isDefault: true` and no condition; `workflow-end` is a target too."
        key = "exits" if all("exit" in way.extra for way in activity.transitions) else "transitions"
        yield _warning(ProblemCode.MISSING_KEY, message, at.own(key), advice)


def _list_at(at: ActivityPlaces, key: str) -> Sequence[object]:
    value = at.shape.raw(key)
    return value if isinstance(value, list) else ()


def _locations(program: Program, activity: Activity, places: LintPlaces) -> Iterator[WorkflowProblem]:
    """A location is one that the workflow names, or a path; nearly a name is hardly a path."""
    at = places.activities[activity.id]
    for index, artifact in enumerate(activity.artifacts[:_MOST_COMPARED]):
        if artifact.location and artifact.location not in program.artifact_locations:
            meant = closest(artifact.location, program.artifact_locations, like_enough=_MISSPELT)
            if meant is not None:
                message = f"The workflow names no location {artifact.location[:80]!r}."
                place = at.own(f"artifacts[{index}].location")
                yield _warning(ProblemCode.UNKNOWN_REF, message, place, f"Did you mean {meant!r}?")


def _checkpoint(checkpoint: Checkpoint, at: ActivityPlaces, places: LintPlaces) -> Iterator[WorkflowProblem]:
    default = at.checkpoint(checkpoint.id, "defaultOption")
    options = [option.id for option in checkpoint.options]
    if not options:
        message = f"The checkpoint {checkpoint.id!r} has no option to answer with."
        yield _warning(ProblemCode.UNANSWERABLE_CHECKPOINT, message, at.checkpoint(checkpoint.id, "options"))
    if checkpoint.auto_advance_ms is not None and not checkpoint.default_option:
        message = f"The checkpoint {checkpoint.id!r} answers itself after a time, with no default option to choose."
        yield _warning(ProblemCode.MISSING_KEY, message, default)
    is_said = not places.is_lost(at.checkpoint(checkpoint.id, "blocking"))
    if checkpoint.auto_advance_ms is not None and checkpoint.blocking and is_said:
        message = f"The checkpoint {checkpoint.id!r} waits until it is answered; its time is not looked at."
        advice = "Write `blocking: false` where it may go on by itself, or leave out the time."
        yield _warning(ProblemCode.IGNORED_FIELD, message, at.checkpoint(checkpoint.id, "autoAdvanceMs"), advice)
    are_all = not places.is_lost(at.checkpoint(checkpoint.id, "options"))
    if checkpoint.default_option and checkpoint.default_option not in options and are_all:
        message = f"The default {checkpoint.default_option[:80]!r} is not an option of {checkpoint.id!r}."
        hint = places.hint(checkpoint.default_option, options)
        yield _warning(ProblemCode.UNKNOWN_OPTION, message, default, hint)


def _loop(loop: Loop, at: ActivityPlaces, places: LintPlaces) -> Iterator[WorkflowProblem]:
    if loop.loops is LoopKind.FOR_EACH and not loop.items:
        message = f"The loop {loop.id!r} has no `over`: there is no list to go through."
        yield _warning(ProblemCode.BAD_LOOP, message, at.item(loop.id, "over"))
    if loop.loops in {LoopKind.WHILE, LoopKind.DO_WHILE} and loop.condition is None and loop.break_condition is None:
        message = f"The loop {loop.id!r} has no condition: it ends only by failing at its last round."
        yield _warning(ProblemCode.BAD_LOOP, message, at.item(loop.id, "condition"))
    is_told = places.is_lost(at.item(loop.id, "steps"), at.item(loop.id, "activities"), at.own("steps"))
    if not loop.body and not loop.activities and "activities" not in loop.extra and not is_told:
        message = f"The loop {loop.id!r} holds no step and names no activity."
        yield _warning(ProblemCode.BAD_LOOP, message, at.item(loop.id))


def _twins(activity: Activity, at: ActivityPlaces) -> Iterator[WorkflowProblem]:
    """Steps inside and outside a loop may share an id; an agent that speaks of one does not say which."""
    counted = Counter(item.id for item in walk_items(activity.body))
    for name in sorted(name for name, times in counted.items() if times > 1):
        message = (
            f"The id {name!r} stands for {counted[name]} steps of the activity, in different loops or outside them."
        )
        yield _warning(ProblemCode.DUPLICATE_ID, message, at.item(name))


def _undeclared(program: Program, places: LintPlaces) -> Iterator[WorkflowProblem]:
    """Each name once, at the first place that uses it."""
    if _is_unread(program, places):
        return
    declared = {variable.name for variable in program.variables}
    told: set[str] = set()
    for name, user in _used_variables(program, places):
        root = name.partition(".")[0]
        if root and root not in told and root not in declared and name not in declared:
            told.add(root)
            yield _not_declared(root, user, places.hint(root, declared))
    yield from _misspelt(program, places, told)


def _is_unread(program: Program, places: LintPlaces) -> bool:
    """Whether a declaration of a variable cannot be read: it may be that of any name."""
    inner = (
        places.activities[one.id].own(key) for one in program.activities for key in ("variables", "variables.writes")
    )
    return places.is_lost(places.workflow.place("variables"), *inner)


def _misspelt(program: Program, places: LintPlaces, told: Collection[str]) -> Iterator[WorkflowProblem]:
    """What only actions set or show, and what a trigger passes on, is often not declared. Nearly a declared name is hardly meant."""
    declared = [variable.name for variable in program.variables]
    rounds = {name for activity in program.activities for name in _round_names(activity)}
    known = {"", *declared, *rounds, *_ROUND_VARIABLES, *told}
    unknown: dict[str, value_types.User] = {}
    for name, user in _mentioned(program, places):
        root = name.partition(".")[0]
        if root not in known and name not in known:
            unknown.setdefault(root, user)
    for name, user in islice(unknown.items(), _MOST_COMPARED):
        slips = (each for each in islice(declared, MOST_CANDIDATES) if is_slip_of(name, each))
        meant = closest(name, declared, like_enough=_MISSPELT) or next(slips, None)
        if meant is not None:
            yield _not_declared(name, user, f"Did you mean {meant!r}?")


def _mentioned(program: Program, places: LintPlaces) -> Iterator[tuple[str, value_types.User]]:
    for activity in program.activities:
        at = places.activities[activity.id]
        yield from value_types.names_in_actions(activity, at)
        yield from _shown_in_texts(activity, at)
        yield from _passed_on(activity, at)
    for key, location in program.artifact_locations.items():
        user = value_types.User(
            said=f"the location {key[:80]!r}", place=places.workflow.place(f"artifactLocations.{key[:80]}")
        )
        yield from ((name, user) for name in sorted(placeholders.single_names_in(location.path)))


def _shown_in_texts(activity: Activity, at: ActivityPlaces) -> Iterator[tuple[str, value_types.User]]:
    """What double braces stand for in what is told of steps, questions and options."""
    for item in walk_items(activity.body):
        if isinstance(item, Step):
            user = value_types.User(said=f"step {item.id[:80]!r}", place=at.item(item.id, "description"))
            yield from ((name, user) for name in sorted(placeholders.names_in(f"{item.title}\n{item.description}")))
    for checkpoint in activity.checkpoints:
        place = at.checkpoint(checkpoint.id, "message")
        user = value_types.User(said=f"the message of checkpoint {checkpoint.id[:80]!r}", place=place)
        yield from ((name, user) for name in sorted(placeholders.names_in(checkpoint.message)))
        for option in checkpoint.options:
            place = at.option(checkpoint.id, option.id, "label")
            user = value_types.User(said=f"option {option.id[:80]!r} of {checkpoint.id[:80]!r}", place=place)
            yield from ((name, user) for name in sorted(placeholders.names_in(f"{option.label}\n{option.description}")))


def _not_declared(name: str, user: value_types.User, suggestion: str) -> WorkflowProblem:
    message = f"The variable {name[:80]!r}, used by {user.said}, is not declared."
    return _warning(ProblemCode.UNDECLARED_VARIABLE, message, user.place, suggestion)


def _passed_on(activity: Activity, at: ActivityPlaces) -> Iterator[tuple[str, value_types.User]]:
    for trigger, place in _all_triggers(activity, at):
        for name in trigger.pass_context:
            yield name, value_types.User(said=f"the trigger of {trigger.workflow[:80]!r}", place=place)


def _round_names(activity: Activity) -> Iterator[str]:
    for loop in _loops(activity):
        yield from (loop.item_variable, loop.iteration_variable)


def _used_variables(program: Program, places: LintPlaces) -> Iterator[tuple[str, value_types.User]]:
    for index, mode in enumerate(program.modes):
        for name in (mode.activation_variable, *sorted(mode.defaults)):
            yield name, value_types.user_of_mode(program, index, places.workflow)
    for activity in program.activities:
        of_loops = set(_round_names(activity))
        for name, user in _uses(activity, places.activities[activity.id]):
            if name.partition(".")[0] not in of_loops | _ROUND_VARIABLES:
                yield name, user


def _uses(activity: Activity, at: ActivityPlaces) -> Iterator[tuple[str, value_types.User]]:
    for condition, user in value_types.conditions_of(activity, at):
        for name in sorted(conditions.variables_of(condition)):
            yield name, user
    for name, _, user in value_types.set_by_options(activity, at):
        yield name, user
    for loop in _loops(activity):
        yield ".".join(loop.items), value_types.User(said=f"loop {loop.id!r}", place=at.item(loop.id, "over"))
    for checkpoint in activity.checkpoints:
        said = f"the message of checkpoint {checkpoint.id!r}"
        user = value_types.User(said=said, place=at.checkpoint(checkpoint.id, "message"))
        for name in sorted(placeholders.single_names_in(checkpoint.message)):
            yield name, user


def _loops(activity: Activity) -> Iterator[Loop]:
    return (item for item in walk_items(activity.body) if isinstance(item, Loop))


def _warning(code: ProblemCode, message: str, place: AuthoredPlace, suggestion: str = "") -> WorkflowProblem:
    return WorkflowProblem(
        code=code,
        message=message,
        severity=Severity.WARNING,
        file=place.file,
        path=place.path,
        suggestion=suggestion,
    )
