"""Answers that outlast their question: an option of a person's question sets nothing where another one sets what is read
further on. Where the question comes back, what was answered before then stays, whatever is answered now.

Told only where the value can still be there when the question is asked, and something that follows reads it.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from workflows_app.engine import conditions, walks
from workflows_app.engine.activities import value_types
from workflows_app.engine.activities.shape import ActivityPlaces, AuthoredPlace
from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem
from workflows_app.engine.program import (
    Action,
    ActionKind,
    Activity,
    Checkpoint,
    Condition,
    ConditionMode,
    Effect,
    Gate,
    Item,
    Loop,
    LoopKind,
    Not,
    Option,
    Program,
    Step,
    walk_items,
)

# Activities, ways and items that are looked at for the questions of one program; what is beyond that is not told.
_MAX_LOOKS = 40_000
_NO_EFFECT = Effect()
_Each = TypeVar("_Each")


class _OutlookSpentError(Exception):
    """So much was looked at that the rest is left out."""


def lasting_answers(program: Program, places: Mapping[str, ActivityPlaces]) -> Iterator[WorkflowProblem]:
    """One warning for each option and variable."""
    looking = _Outlook(program, places)
    try:
        for activity in program.activities:
            for checkpoint in activity.checkpoints:
                if checkpoint.human:
                    yield from _of_question(looking, activity, checkpoint)
    except _OutlookSpentError:
        return


def _of_question(looking: "_Outlook", activity: Activity, checkpoint: Checkpoint) -> Iterator[WorkflowProblem]:
    for silent in checkpoint.options:
        told: set[str] = set()
        for option in checkpoint.options:
            for name, value in sorted(_effect(option).set_variable.items()):
                if value is None or name in told or name in _effect(silent).set_variable:
                    continue
                if looking.is_from_the_start(name, value):
                    continue
                kept = _LeftValue(name=name, value=value, asked=looking.asked)
                asked = _QuestionAgain(looking=looking, activity=activity, checkpoint=checkpoint, kept=kept)
                if asked.finds_it_set(option) and (reader := asked.reader_behind(silent)):
                    told.add(name)
                    place = looking.places[activity.id].option(checkpoint.id, silent.id)
                    yield _told(place, silent, option, kept, reader)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LeftValue:
    """A variable with the value that an answer has left in it; all others are unknown."""

    name: str
    value: Any
    asked: conditions.Looking

    def never(self, condition: Condition | None) -> bool:
        return conditions.is_ruled_out(
            condition,
            variables={self.name: self.value},
            mode=ConditionMode.STRICT,
            is_known=self._is_known,
            looking=self.asked,
        )

    def always(self, condition: Condition | None) -> bool:
        return condition is None or self.never(Not(condition=condition))

    def is_lost_by(self, actions: Iterable[Action]) -> bool:
        """Whether one sets the variable to something else, or leaves it to the agent, whatever happens."""
        sets = (each for each in actions if each.action is ActionKind.SET and each.target == self.name)
        return any(
            each.condition is None and not (each.value is not None and conditions.is_same_value(each.value, self.value))
            for each in sets
        )

    def _is_known(self, name: str) -> bool:
        is_own = name == self.name or name.startswith(f"{self.name}.")
        return is_own and not (isinstance(self.value, str) and "{" in self.value)


class _Outlook:
    """What of one program is looked at, and how much of it."""

    def __init__(self, program: Program, places: Mapping[str, ActivityPlaces]) -> None:
        self.places = places
        self.activities = {activity.id: activity for activity in program.activities}
        self.loops = [item for each in program.activities for item in walk_items(each.body) if isinstance(item, Loop)]
        self._defaults = {each.name: each.default for each in program.variables if each.has_default}
        self.asked = conditions.Looking()
        self._looks = 0
        self._readers: dict[str, Mapping[str, list[value_types.User]]] = {}

    def is_from_the_start(self, name: str, value: Any) -> bool:
        """What a variable is while nobody has answered is what an option that sets nothing means."""
        return name in self._defaults and conditions.is_same_value(self._defaults[name], value)

    def at(self, things: Iterable[_Each]) -> Iterator[_Each]:
        for thing in things:
            self._looks += 1
            if self._looks + self.asked.parts > _MAX_LOOKS:
                raise _OutlookSpentError
            yield thing

    def readers_in(self, activity: Activity) -> Mapping[str, list[value_types.User]]:
        """What reads each variable, by its name without dots."""
        if activity.id not in self._readers:
            found: dict[str, list[value_types.User]] = {}
            for condition, user in value_types.conditions_of(activity, self.places[activity.id]):
                for name in sorted(conditions.variables_of(condition)):
                    found.setdefault(conditions.root_of(name), []).append(user)
            self._readers[activity.id] = found
        return self._readers[activity.id]


@dataclass(frozen=True, slots=True, kw_only=True)
class _QuestionAgain:
    """A question of one activity, and what an answer to it may have left in a variable."""

    looking: _Outlook
    activity: Activity
    checkpoint: Checkpoint
    kept: _LeftValue

    def finds_it_set(self, option: Option) -> bool:
        """Whether the value may still be there, by that option, when the question is asked."""
        around = [loops for loops in self._loops_around(self.activity.body) if self._is_come_to(loops)]
        if not around or self.kept.never(self.checkpoint.condition):
            return False
        leads = _effect(option).transition_to
        rounds = (loop for loops in around for loop in loops)
        if not leads and any(self._goes_on(loop) for loop in self.looking.at(rounds)):
            return True
        repeating = (loop for loop in self.looking.loops if self.activity.id in loop.activities)
        if any(self._goes_on(loop) for loop in self.looking.at(repeating)):
            return not self._is_lost_on_entry()
        return self._is_entered_from([leads] if leads else self._next(self.activity))

    def reader_behind(self, option: Option) -> str:
        """What reads the variable once that option was chosen, as a message calls it; empty where nothing does."""
        effect = _effect(option)
        found = "" if effect.transition_to else self._reader_in(self.activity)
        if found:
            return found
        for other in self._behind([effect.transition_to] if effect.transition_to else self._next(self.activity)):
            found = "" if other.id in effect.skip_activities else self._reader_in(other)
            if found:
                return found
        return ""

    def _is_entered_from(self, begins: list[str]) -> bool:
        if self._is_lost_on_entry():
            return False
        return self.activity.id in begins or any(self.activity.id in self._next(each) for each in self._behind(begins))

    def _is_lost_on_entry(self) -> bool:
        return self.kept.is_lost_by(self.activity.entry_actions) or self._is_lost_in(self.activity.body)

    def _behind(self, begins: list[str]) -> Iterator[Activity]:
        """The activities that follow, up to where the variable is set anew, and not through the one that asks."""
        seen = {self.activity.id}
        waiting = deque(begins)
        while waiting:
            activity = self.looking.activities.get(waiting.popleft())
            if activity is None or activity.id in seen:
                continue
            seen.add(activity.id)
            if not self.kept.is_lost_by(activity.entry_actions):
                yield activity
                if not self._is_lost_in(activity.body):
                    waiting.extend(self._next(activity))

    def _next(self, activity: Activity) -> list[str]:
        """Where it may lead while the variable has its value: of its ways none below the first that surely holds."""
        found: list[str] = []
        for target, condition in self.looking.at(walks.ways(activity)):
            if not self.kept.never(condition):
                found.append(target)
            if self.kept.always(condition):
                break
        for checkpoint in self.looking.at(activity.checkpoints):
            if checkpoint is not self.checkpoint:
                found.extend(_effect(option).transition_to for option in checkpoint.options)
        for item in self.looking.at(walk_items(activity.body)):
            found.extend(item.activities if isinstance(item, Loop) else ())
        return found

    def _reader_in(self, activity: Activity) -> str:
        """Its own condition says when the question is asked, and not what comes of it."""
        own = value_types.user_of_checkpoint(self.checkpoint, self.looking.places[self.activity.id])
        users = self.looking.readers_in(activity).get(conditions.root_of(self.kept.name), ())
        return next((user.said for user in self.looking.at(users) if user != own), "")

    def _goes_on(self, loop: Loop) -> bool:
        """Whether another round may come, in which the value is still there."""
        ends = loop.break_condition is not None and self.kept.always(loop.break_condition)
        ends = ends or (loop.loops is not LoopKind.FOR_EACH and self.kept.never(loop.condition))
        return loop.max_iterations > 1 and not ends and not self._is_lost_in(loop.body)

    def _loops_around(self, body: Sequence[Item], around: tuple[Loop, ...] = ()) -> Iterator[tuple[Loop, ...]]:
        """The loops around each place at which it is asked, from the outermost."""
        for item in self.looking.at(body):
            if isinstance(item, Gate) and item.checkpoint == self.checkpoint.id:
                yield around
            elif isinstance(item, Loop):
                yield from self._loops_around(item.body, (*around, item))

    def _is_come_to(self, loops: Sequence[Loop]) -> bool:
        return not any(
            self.kept.never(loop.run_condition) or (loop.loops is LoopKind.WHILE and self.kept.never(loop.condition))
            for loop in self.looking.at(loops)
        )

    def _is_lost_in(self, body: Sequence[Item]) -> bool:
        """Whether a step that is surely done sets it anew."""
        steps = (item for item in self.looking.at(body) if isinstance(item, Step) and item.required)
        return any(step.run_condition is None and self.kept.is_lost_by(step.actions) for step in steps)


def _effect(option: Option) -> Effect:
    return option.effect or _NO_EFFECT


def _told(place: AuthoredPlace, silent: Option, option: Option, kept: _LeftValue, reader: str) -> WorkflowProblem:
    is_boolean = isinstance(kept.value, bool)
    value = str(kept.value).lower() if is_boolean else value_types.shown(kept.value)
    message = (
        f"The option {silent.id[:80]!r} sets nothing in {kept.name[:80]!r}, which {option.id[:80]!r} sets to {value} and "
        f"{reader} reads: where the question is asked with that value in it, it stays, whoever chooses {silent.id[:80]!r}."
    )
    instead = str(not kept.value).lower() if is_boolean else "another value"
    hint = f"Let it set the variable too (`setVariable`): {instead}, or `null` for none."
    return WorkflowProblem(
        code=ProblemCode.LASTING_ANSWER,
        message=message,
        severity=Severity.WARNING,
        file=place.file,
        path=place.path,
        suggestion=hint,
    )
