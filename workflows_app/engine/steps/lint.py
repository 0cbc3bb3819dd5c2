"""What is not wrong but will not work as meant: steps that are never reached, values that nobody is asked for, unused parts."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from teams_app.engine.closest import closest, is_misspelt
from workflows_app.engine import conditions, placeholders
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import (
    AllOf,
    AnyOf,
    Broken,
    Compare,
    Condition,
    Item,
    Loop,
    Not,
    Operator,
    Parallel,
    Program,
    Step,
    Truthy,
    walk_items,
)
from workflows_app.engine.steps.findings import StepFindings, shown
from workflows_app.engine.steps.scope import Build

# More variables than this are not looked for in the texts.
MAX_VARIABLES = 500
# For so many names another one is looked for that was meant.
_MOST_COMPARED = 20
# Set by the engine in every run, or before its first step.
_GIVEN = frozenset({"goal", "currentIteration", "currentItem", "currentIndex"})
_SAY_IT = "Say in the prompt of the step that finds it out that it is to be set, or correct the name."
# So alike are two names of which one is misspelt.
_MISSPELT = 0.9
_AMBIGUOUS = frozenset({"", "true", "false", "1", "0", "yes", "no", "null"})


def report(build: Build, program: Program, document: dict[str, Any]) -> None:
    _report_never(build)
    _report_decided(build, program)
    _report_undeclared(build, program)
    _report_placeholders(build, program)
    _report_unused(build, program, document)


def never_holds(condition: Condition | None) -> bool:
    """True when no values at all make the condition hold."""
    match condition:
        case Broken():
            return True
        case AllOf():
            return any(never_holds(part) for part in condition.conditions) or _contradicts(condition.conditions)
        case AnyOf():
            return all(never_holds(part) for part in condition.conditions)
        case Not():
            return always_holds(condition.condition)
        case _:
            return False


def always_holds(condition: Condition | None) -> bool:
    """True when all values make the condition hold."""
    match condition:
        case None:
            return True
        case AllOf():
            return all(always_holds(part) for part in condition.conditions)
        case AnyOf():
            return any(always_holds(part) for part in condition.conditions)
        case Not():
            return never_holds(condition.condition) and not _is_broken(condition.condition)
        case _:
            return False


def _is_broken(condition: Condition) -> bool:
    """A broken part makes the whole false, also under `not`."""
    match condition:
        case Broken():
            return True
        case Not():
            return _is_broken(condition.condition)
        case AllOf() | AnyOf():
            return any(_is_broken(part) for part in condition.conditions)
        case Compare() | Truthy():
            return False


def _contradicts(parts: tuple[Condition, ...]) -> bool:
    """Two parts that ask one variable to be two different texts."""
    wanted: dict[tuple[str, ...], str] = {}
    for part in parts:
        if not isinstance(part, Compare) or part.operator is not Operator.EQUALS or not isinstance(part.value, str):
            continue
        text = part.value.strip().lower()
        if text in _AMBIGUOUS or text[:1].isdigit() or text[:1] in "+-.":
            continue
        if wanted.setdefault(part.path, text) != text:
            return True
    return False


def _report_never(build: Build) -> None:
    for condition, path, findings in build.conditions:
        if not never_holds(condition):
            continue
        effect = "so this is never reached" if path.endswith("runCondition") else "whatever the run finds"
        message = f"No values make this condition hold, {effect}: {conditions.describe(condition)[:200]}"
        findings.warn(ProblemCode.UNREACHABLE, path, message)


def _report_decided(build: Build, program: Program) -> None:
    """The decision on a loop speaks of that loop by its id, or by a name of its author's own, which is hardly that of another loop, nor
    nearly the id.
    """
    loops = (
        {item.id for item in walk_items(program.activities[0].body) if isinstance(item, Loop)}
        if build.decided
        else set()
    )
    for loop_id, said, path, scope in islice(build.decided, MAX_VARIABLES):
        own = loop_id.removeprefix(scope.prefix)
        is_other = any(name in loops and name != loop_id for name in (said, f"{scope.prefix}{said}"))
        if said != own and (is_other or is_misspelt(said, own, like_enough=_MISSPELT)):
            where = "is another loop" if is_other else "is nearly that"
            message = f"The decision on the loop {shown(own)} is to speak of {shown(said)}, which {where}."
            scope.findings.warn(ProblemCode.BAD_LOOP, path, message, f"Write {own!r}, or leave `loopId` out.")


def _report_undeclared(build: Build, program: Program) -> None:
    """A variable that decides something must be spoken of somewhere, or no agent will ever set it."""
    given = _GIVEN.union(*(_loop_variables(item) for item in walk_items(program.activities[0].body)))
    uses: dict[str, list[tuple[str, StepFindings]]] = {}
    for name, path, findings in _variables(build):
        uses.setdefault(name, []).append((path, findings))
    told = "\n".join((*_told(program), *build.left_out.texts()))
    for name, places in islice(uses.items(), MAX_VARIABLES):
        if name not in given and name not in told:
            path, findings = places[0]
            others = f" It decides in {len(places)} places." if len(places) > 1 else ""
            message = (
                f"No text of the workflow speaks of {shown(name)}, so no agent can know that it should set it.{others}"
            )
            advice = "Name it in the prompt of the step that finds it out, or in `clarificationPrompts`."
            findings.warn(ProblemCode.UNDECLARED_VARIABLE, path, message, advice)


def _report_placeholders(build: Build, program: Program) -> None:
    """What stands in double braces and nowhere else is a name that nobody sets: the agent would read `[unset: …]`."""
    body = program.activities[0].body
    given = _GIVEN.union(*(_loop_variables(item) for item in walk_items(body)))
    decided = {name for name, _, _ in _variables(build)}
    told = "\n".join(placeholders.without_names(text) for text in (*_told(program), *build.left_out.texts()))
    places: dict[str, tuple[str, StepFindings]] = {}
    for name, path, findings in build.shown:
        places.setdefault(name, (path, findings))
    known, compared = sorted(decided | set(places) | given), 0
    for name, (path, findings) in islice(places.items(), MAX_VARIABLES):
        if name not in given and name not in decided and name not in told:
            message = f"Nothing speaks of {shown(name)} but the braces that show it, so no agent will ever set it."
            meant = closest(name, (each for each in known if each != name)) if compared < _MOST_COMPARED else None
            compared += 1
            findings.warn(
                ProblemCode.UNDECLARED_VARIABLE, path, message, f"Did you mean {meant!r}?" if meant else _SAY_IT
            )


def _variables(build: Build) -> Iterator[tuple[str, str, StepFindings]]:
    for condition, path, findings in build.conditions:
        names = {variable.partition(".")[0] for variable in conditions.variables_of(condition)}
        yield from ((name, path, findings) for name in sorted(names))
    yield from ((segments[0], path, findings) for segments, path, findings in build.variables)


def _told(program: Program) -> Iterator[str]:
    yield from (program.description, program.about)
    yield from (*program.preconditions, *program.clarification_prompts, *program.guidance)
    for item in walk_items(program.activities[0].body):
        if isinstance(item, Step | Parallel):
            yield from (item.title, item.prompt, item.agent_role, *item.guidance)
            yield from (function.definition for function in item.functions)
        if isinstance(item, Step):
            yield from (fragment.text for fragment in item.fragments)


def _loop_variables(item: Item) -> set[str]:
    if not isinstance(item, Loop):
        return set()
    return {item.iteration_variable, item.item_variable, item.index_variable} - {""}


def _report_unused(build: Build, program: Program, document: dict[str, Any]) -> None:
    is_referred_to = "assessments" in build.unresolved
    for index, assessment in enumerate(document.get("assessments", ())):
        name = assessment.get("id", "")
        is_used = is_referred_to or name in build.used_assessments or build.left_out.refers_to(name)
        if name in build.assessments and not is_used:
            message = f"No step refers to the assessment {shown(name)}."
            advice = "Name it in the `assessmentRefs` of a step."
            build.findings.warn(ProblemCode.IGNORED_FIELD, f"assessments[{index}]", message, advice)
    for index, feature in enumerate(document.get("features", ())):
        is_known = feature in program.features
        if is_known and feature not in build.used_features and not build.left_out.has_any("steps"):
            message = f"The feature {shown(feature)} reaches no step: features are added to `promptBlocks` only."
            build.findings.warn(ProblemCode.IGNORED_FIELD, f"features[{index}]", message)
