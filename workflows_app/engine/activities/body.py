"""The order of work in an activity: steps, each followed by the gate it names, then the loops.

Where no step names a checkpoint, the required ones are asked first, as the first two generations do on entry. In an activity
whose steps name others, a checkpoint that no step names is asked on demand only, but for one that is for a person: it is
asked first in any case, required or not. Steps of the newest form say what they are (`kind: technique | action | checkpoint |
loop`) and stand in the order in which they are done.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import assert_never

import msgspec

from workflows_app.engine.activities.exits import NO_EXITS, Exits
from workflows_app.engine.activities.fragments import FragmentIndex, text_length
from workflows_app.engine.activities.held import HeldDocuments
from workflows_app.engine.activities.parts import (
    read_actions,
    read_checkpoint,
    read_skill_use,
    read_triggers,
    unique_by_id,
)
from workflows_app.engine.activities.prompts import step_prompt
from workflows_app.engine.activities.shape import AuthoredPlace, FolderShape
from workflows_app.engine.activities.skills import Skills
from workflows_app.engine.problems import ProblemCode, Severity
from workflows_app.engine.program import Checkpoint, Condition, Gate, Item, Loop, LoopKind, Step

DEFAULT_MAX_ITERATIONS = 100
_LOOP_KINDS = (LoopKind.FOR_EACH, LoopKind.WHILE, LoopKind.DO_WHILE)


class StepKind(StrEnum):
    TECHNIQUE = "technique"
    ACTION = "action"
    CHECKPOINT = "checkpoint"
    LOOP = "loop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What an activity of `workflow` may refer to. `home` is the workflow that it was borrowed from, `graph` the place at
    which the workflow says where its exits lead, `called` the name of its file where the id is another.
    """

    skills: Skills
    activity: str
    activity_ids: frozenset[str]
    fragments: FragmentIndex
    workflow: str
    graph: AuthoredPlace
    workflow_ids: frozenset[str] = frozenset()
    called: str = ""
    home: str = ""
    exits: Exits = NO_EXITS

    def skill_named(self, reference: str) -> str:
        """The name as the program has it, which says the group that a bare name leaves out."""
        return self.skills.named(reference, group=self.activity, home=self.home)

    def require(self, reference: str, *, at: FolderShape, key: str) -> HeldDocuments | None:
        """The skill. That the id is not the file's name is the one mistake where the group is called like the file."""
        is_told = bool(self.called) and self.skills.named(reference, group=self.called, home=self.home) != reference
        return self.skills.require(reference, at=at, key=key, home=self.home, is_told=is_told)


@dataclass(slots=True, kw_only=True, eq=False)
class _Draft:
    """An item before its place and its gate are settled. `names` is the checkpoint that it names, `repeats` what a loop
    lists besides its own steps: activities, or steps that stand outside.
    """

    item: Step | Loop | Gate
    shape: FolderShape
    names: str = ""
    repeats: tuple[str, ...] = ()
    body: list["_Draft"] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBody:
    """The body of an activity and all checkpoints that it declares, with where each was authored, by its id."""

    items: tuple[Item, ...]
    checkpoints: tuple[Checkpoint, ...]
    checkpoint_shapes: Mapping[str, FolderShape]
    item_shapes: Mapping[str, FolderShape]


def read_body(shape: FolderShape, *, around: Surroundings) -> ReadBody:
    return _BodyReader(shape, around).read()


class _BodyReader:
    def __init__(self, activity: FolderShape, around: Surroundings) -> None:
        self._activity = activity
        self._around = around
        self._checkpoints: dict[str, Checkpoint] = {}
        self._checkpoint_shapes: dict[str, FolderShape] = {}
        self._item_shapes: dict[str, FolderShape] = {}
        self._named: Counter[str] = Counter()
        # Whether a step may name any of them, since what it names cannot be read, or is nothing there.
        self._is_lost = False
        self._taken: set[str] = set()
        self._numbers: Counter[str] = Counter()

    def read(self) -> ReadBody:
        declared = [self._declared(item, number) for number, item in enumerate(self._activity.shapes("checkpoints"), 1)]
        self._checkpoints = {cp.id: cp for cp in unique_by_id(self._activity, "checkpoints", declared)}
        steps = self._drafts(self._activity)
        loops = [self._loop(item, number, "type") for number, item in enumerate(self._activity.shapes("loops"), 1)]
        drafts = self._repeating(steps + loops)
        self._count(drafts)
        body = self._settled(drafts)
        return ReadBody(
            items=(*self._on_entry(), *body),
            checkpoints=tuple(self._checkpoints.values()),
            checkpoint_shapes=self._checkpoint_shapes,
            item_shapes=self._item_shapes,
        )

    # Reading

    def _drafts(self, shape: FolderShape) -> list[_Draft]:
        return [self._draft(item, number) for number, item in enumerate(shape.shapes("steps"), 1)]

    def _draft(self, shape: FolderShape, number: int) -> _Draft:
        if shape.raw("kind") == "routine":
            return self._routine(shape, number)
        kind = shape.choice("kind", list(StepKind), default="")
        if meant := shape.misspelt("kind", (StepKind.CHECKPOINT, StepKind.LOOP)):
            return self._of_no_kind(shape, number, meant)
        if not kind:
            # Which of the newest kinds was meant nobody knows; what that kind would not need is not missed.
            if shape.has("kind"):
                shape.take_rest()
            return self._step(shape, number, inline=shape.has("kind") or shape.has("technique"))
        match StepKind(kind):
            case StepKind.TECHNIQUE | StepKind.ACTION:
                return self._step(shape, number, inline=True)
            case StepKind.CHECKPOINT:
                return self._gate(shape, number)
            case StepKind.LOOP:
                return self._loop(shape, number, "loopType")
            case _ as unreachable:
                assert_never(unreachable)

    def _step(self, shape: FolderShape, number: int, *, inline: bool) -> _Draft:
        use = read_skill_use(shape)
        derived = use.name.rpartition("::")[2].rpartition("/")[2] if inline else ""
        step_id = shape.id(default=derived or f"step-{number}", required=not derived)
        title = shape.text("name", required=not (inline or shape.has("actions")), default=step_id)
        description, checkpoint = shape.text("description"), shape.text("checkpoint")
        actions, triggers = (
            read_actions(shape, "actions"),
            read_triggers(shape, own=self._around.workflow, known=self._around.workflow_ids),
        )
        use = replace(use, name=self._around.skill_named(use.name))
        prompt = step_prompt(
            title=title,
            description=description,
            actions=actions,
            triggers=triggers,
            use=use,
            skill_summary=self._summary(shape, use.name),
        )
        step = Step(
            id=step_id,
            title=title,
            prompt=prompt,
            description=description,
            run_condition=shape.condition("condition", "when"),
            skill=use.name,
            skill_arguments=use.arguments,
            required=shape.flag("required", default=True),
            actions=actions,
            checkpoint=checkpoint,
            triggers=triggers,
            extra={**({"outputs": use.outputs} if use.outputs else {}), **shape.extra()},
        )
        return _Draft(item=step, shape=shape, names=checkpoint)

    def _of_no_kind(self, shape: FolderShape, number: int, meant: str) -> _Draft:
        """What a step of its kind needs, and others do not know, is neither missed nor unknown: the one mistake is the key."""
        message = "No key says of what kind this step is."
        shape.problem(ProblemCode.MISSING_KEY, "kind", message, suggestion=f"Write 'kind' instead of {meant[:80]!r}.")
        shape.take_rest()
        return self._step(shape, number, inline=True)

    def _routine(self, shape: FolderShape, number: int) -> _Draft:
        """Steps that are kept in a file of their own are not read. That is the one mistake; their arguments are none."""
        for key in ("routine", "with", "outputs"):
            shape.raw(key)
        message = "A routine is not read: a run would pass by its steps."
        hint = f"Write the steps of the routine {str(shape.raw('routine'))[:80]!r} here."
        shape.problem(ProblemCode.BAD_VALUE, "kind", message, severity=Severity.ERROR, suggestion=hint)
        return self._step(shape, number, inline=True)

    def _summary(self, shape: FolderShape, skill: str) -> str:
        if not skill:
            return ""
        key = "skill" if shape.has("skill") else "technique"
        held = self._around.require(skill, at=shape, key=key)
        return "" if held is None else held.attachment.summary

    def _declared(self, shape: FolderShape, number: int) -> Checkpoint:
        checkpoint_id = shape.id(default=f"checkpoint-{number}")
        self._checkpoint_shapes.setdefault(checkpoint_id, shape)
        return read_checkpoint(shape, checkpoint_id=checkpoint_id, exits=self._around.exits)

    def _gate(self, shape: FolderShape, number: int) -> _Draft:
        # Older files tell the instances of a checkpoint in a loop apart by what follows `#`; here every round is its own.
        shape = self._completed(shape)
        checkpoint_id = shape.id(default=f"checkpoint-{number}", until="#")
        checkpoint = read_checkpoint(shape, checkpoint_id=checkpoint_id, exits=self._around.exits)
        if checkpoint_id in self._checkpoints:
            checkpoint = msgspec.structs.replace(checkpoint, id=self._renamed(shape, checkpoint_id, self._checkpoints))
        self._checkpoints[checkpoint.id] = checkpoint
        self._checkpoint_shapes[checkpoint.id] = shape
        return _Draft(item=Gate(id=checkpoint.id, checkpoint=checkpoint.id), shape=shape, names=checkpoint.id)

    def _completed(self, shape: FolderShape) -> FolderShape:
        """A checkpoint that refers to a fragment of the workflow has what the fragment says and it does not."""
        reference = shape.text("ref")
        if not reference and (shape.has("message") or not shape.is_unread("ref")):
            return shape
        if not reference and not shape.has("ref"):
            shape.missing("ref")
        home = self._around.home
        fragment = self._around.fragments.checkpoint(reference, home=home)
        findings = shape.findings
        if fragment is not None and not findings.is_full and findings.repeat(text_length(fragment[0]), file=shape.file):
            return shape.over(fragment[0], place=fragment[1])
        is_kept = not home and self._around.fragments.is_kept_here(reference)
        lost = self._around.fragments.lost_checkpoint(reference, home=home) if reference and fragment is None else ()
        findings.take_once(lost)
        if reference and fragment is None and not is_kept and not lost:
            hint = shape.findings.hint(reference, self._around.fragments.checkpoint_names(home=home))
            shape.problem(ProblemCode.UNKNOWN_REF, "ref", f"No fragment {reference[:80]!r} is known.", suggestion=hint)
        # The one mistake is told; that its message and options are missing follows from it.
        name = reference or "unknown"
        body = {"message": name, "options": [{"id": "unknown", "label": name}]}
        return shape.over(body, place=shape.place("ref"))

    def _loop(self, shape: FolderShape, number: int, type_key: str) -> _Draft:
        loop_id = shape.id(default=f"loop-{number}")
        if not shape.has(type_key):
            shape.missing(type_key)
        kind = LoopKind(shape.choice(type_key, _LOOP_KINDS, default=LoopKind.FOR_EACH))
        if shape.is_lost(type_key, Severity.WARNING):
            # What a loop of the kind that was meant needs, and others do not know, is neither missed nor unknown.
            shape.take_rest()
            shape.lose("over", Severity.WARNING)
        inline = type_key == "loopType"
        condition, run_condition = _loop_conditions(shape, kind)
        variable, each = shape.text("variable"), kind is LoopKind.FOR_EACH
        over = shape.text("over").strip("{} ")
        body, repeats = self._drafts(shape), shape.texts("activities")
        optional = {} if shape.flag("required", default=True) else {"required": False}
        loop = Loop(
            id=loop_id,
            title=shape.text("name", required=not inline, default=loop_id),
            loops=kind,
            body=(),
            max_iterations=shape.positive("maxIterations") or DEFAULT_MAX_ITERATIONS,
            condition=condition,
            break_condition=shape.condition("breakCondition"),
            items=tuple(over.split(".")) if over else (),
            item_variable=variable if each else "",
            iteration_variable="" if each else variable,
            run_condition=run_condition,
            description=shape.text("description"),
            extra={**optional, **shape.extra()},
        )
        return _Draft(item=loop, shape=shape, repeats=repeats, body=body)

    # Putting in order

    def _repeating(self, drafts: list[_Draft]) -> list[_Draft]:
        """Each loop with what its `activities` name: steps that stand outside move into a loop that has none of its own."""
        outside = {draft.item.id: draft for draft in drafts if isinstance(draft.item, Step)}
        top = set(map(id, drafts))
        moved: set[int] = set()
        for loop in _loops(drafts):
            steps = self._steps_of(loop, outside if id(loop) in top and not loop.body else {}, moved)
            loop.body.extend(steps)
            moved.update(id(step) for step in steps)
        return [draft for draft in drafts if id(draft) not in moved]

    def _steps_of(self, loop: _Draft, outside: Mapping[str, _Draft], moved: set[int]) -> list[_Draft]:
        activities: list[str] = []
        steps: list[_Draft] = []
        unknown: list[str] = []
        for index, name in enumerate(loop.repeats):
            if name in self._around.activity_ids:
                activities.append(name)
            elif name in outside and id(outside[name]) not in moved:
                steps.append(outside[name])
            elif not (
                self._activity.is_unread("steps")
                or loop.shape.is_lost(f"activities[{index}]")
                or loop.shape.findings.is_told_instead(name, Severity.WARNING)
            ):
                unknown.append(name)
                message = f"{name[:80]!r} is neither an activity of the workflow nor a step that this loop could hold."
                hint = loop.shape.findings.hint(name, self._around.activity_ids, outside)
                loop.shape.warn(ProblemCode.UNKNOWN_ACTIVITY, f"activities[{index}]", message, hint)
        extra = {**loop.item.extra, "activities": unknown} if isinstance(loop.item, Loop) and unknown else {}
        loop.item = msgspec.structs.replace(
            loop.item, activities=tuple(activities), **({"extra": extra} if extra else {})
        )
        return steps

    def _count(self, drafts: list[_Draft]) -> None:
        """How often each checkpoint is named, and which ids the items have."""
        for draft in drafts:
            if not isinstance(draft.item, Gate):
                self._taken.add(draft.item.id)
            self._is_lost |= draft.shape.is_lost("checkpoint", Severity.WARNING)
            if draft.names in self._checkpoints:
                self._named[draft.names] += 1
            elif draft.names:
                self._is_lost = True
            if draft.names and draft.names not in self._checkpoints and not self._activity.is_unread("checkpoints"):
                message = f"The activity declares no checkpoint {draft.names[:80]!r}."
                hint = draft.shape.findings.hint(draft.names, self._checkpoints)
                draft.shape.warn(ProblemCode.UNKNOWN_CHECKPOINT, "checkpoint", message, hint)
            self._count(draft.body)

    def _on_entry(self) -> tuple[Gate, ...]:
        unnamed = [checkpoint for checkpoint in self._checkpoints.values() if checkpoint.id not in self._named]
        for checkpoint in unnamed if self._named and not self._is_lost else ():
            self._tell_unnamed(checkpoint)
        asked = (checkpoint for checkpoint in unnamed if self._is_asked_on_entry(checkpoint))
        return tuple(Gate(id=self._gate_id("entry", cp.id), checkpoint=cp.id) for cp in asked)

    def _tell_unnamed(self, checkpoint: Checkpoint) -> None:
        """Where steps name others, its author may think that its place in the list says when it is asked."""
        when = "only if an agent raises it"
        if checkpoint.human:
            when = "on entry, as people are" + (", if its condition holds then" if checkpoint.condition else "")
        message = f"No step names the checkpoint {checkpoint.id!r}, and steps name others: it is asked {when}."
        hint = "Name it in the step that leads up to it."
        self._checkpoint_shapes[checkpoint.id].warn(ProblemCode.UNNAMED_CHECKPOINT, "", message, hint)

    def _is_asked_on_entry(self, checkpoint: Checkpoint) -> bool:
        """No agent decides whether a person is asked."""
        return checkpoint.human or (checkpoint.required and not self._named)

    def _settled(self, drafts: list[_Draft]) -> tuple[Item, ...]:
        """The items of one body with their gates. The walk knows them by their id, so none may have that of another."""
        body: list[Item] = []
        held: set[str] = set()
        for draft in drafts:
            item = draft.item
            if isinstance(item, Loop):
                item = msgspec.structs.replace(item, body=self._settled(draft.body))
            elif isinstance(item, Gate):
                item = Gate(id=self._gate_id("gate", item.checkpoint), checkpoint=item.checkpoint)
            if item.id in held:
                item = msgspec.structs.replace(item, id=self._renamed(draft.shape, item.id, held, self._taken))
            held.add(item.id)
            self._item_shapes.setdefault(item.id, draft.shape)
            body.append(item)
            if isinstance(item, Step) and item.checkpoint in self._checkpoints:
                gate_id = self._unused(self._gate_id(item.id, item.checkpoint), held)
                body.append(Gate(id=gate_id, checkpoint=item.checkpoint, step=item.id))
                held.add(gate_id)
        return tuple(body)

    def _gate_id(self, step_id: str, checkpoint: str) -> str:
        alone = self._named[checkpoint] <= 1 and checkpoint not in self._taken
        return checkpoint if alone else f"{step_id}.{checkpoint}"

    def _unused(self, name: str, *taken: Collection[str]) -> str:
        """The name, or the name with the next number that none of these has."""
        unused = name
        while any(unused in names for names in taken):
            self._numbers[name] += 1
            unused = f"{name}.{self._numbers[name] + 1}"
        return unused

    def _renamed(self, shape: FolderShape, name: str, *taken: Collection[str]) -> str:
        unused = self._unused(name, *taken)
        shape.warn(ProblemCode.DUPLICATE_ID, "id", f"The id {name!r} stands twice; this one is called {unused!r}.")
        return unused


def _loops(drafts: list[_Draft]) -> Iterator[_Draft]:
    for draft in drafts:
        if isinstance(draft.item, Loop):
            yield draft
            yield from _loops(draft.body)


def _loop_conditions(shape: FolderShape, kind: LoopKind) -> tuple[Condition | None, Condition | None]:
    """Whether to go on, and whether to begin at all. Over a list, and beside `continueWhile`, both other keys can only mean
    the latter.
    """
    if kind is LoopKind.FOR_EACH:
        return None, shape.condition("condition", "when")
    if (again := shape.condition("continueWhile")) is not None:
        return again, shape.condition("condition", "when")
    said, when = shape.condition("condition"), shape.condition("when")
    return (when, None) if said is None else (said, when)
