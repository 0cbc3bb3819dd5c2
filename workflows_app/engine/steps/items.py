"""Steps of a document, one after the other and loops into their depth, into the items of a program."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import Item, Loop
from workflows_app.engine.steps import calls, functions, loops, ordinary, parallels, templates, tokens
from workflows_app.engine.steps.findings import shown
from workflows_app.engine.steps.scope import Build, StepScope, written_chars

MAX_LOOP_DEPTH = 4


def build_items(build: Build, scope: StepScope, steps: list[dict[str, Any]], path: str) -> tuple[Item, ...]:
    """The top of a document: a step that a loop names as its body runs inside that loop and nowhere else."""
    bodies = {step["id"]: set(templates.referenced([step])) for step in steps if "id" in step}
    named = set[str]().union(*bodies.values())
    kept = [(step, f"{path}[{index}]") for index, step in enumerate(steps) if step.get("id") not in named]
    reached = _reached(bodies, (step["id"] for step, _ in kept if "id" in step))
    for step_id in sorted(bodies.keys() - reached):
        step, place = scope.siblings[step_id]
        if step.get("type") == "loop":
            message = f"The loop {shown(step_id)} is only ever the body of itself, so nothing enters it."
            scope.findings.error(ProblemCode.BAD_LOOP, f"{place}.body", message)
    return _items(build, scope, kept)


def _reached(bodies: Mapping[str, set[str]], first: Iterable[str]) -> set[str]:
    """Every step that runs, of its own or as the body of a loop that runs."""
    reached: set[str] = set()
    waiting = list(first)
    while waiting:
        step_id = waiting.pop()
        if step_id not in reached:
            reached.add(step_id)
            waiting += bodies.get(step_id, ())
    return reached


def _items(build: Build, scope: StepScope, steps: list[tuple[dict[str, Any], str]]) -> tuple[Item, ...]:
    return tuple(item for step, path in steps for item in _item(build, scope, step, path))


def _item(build: Build, scope: StepScope, raw: dict[str, Any], path: str) -> tuple[Item, ...]:
    if build.is_full or "title" not in raw:
        return ()
    if raw.get("type") == "loop":
        return (_loop(build, scope, raw, path),)
    if raw.get("type") == "parallel":
        return (parallels.build_parallel(build, scope, raw, path),)
    if "templateCall" in raw and not templates.is_probe(raw):
        return _call(build, scope, raw, path)
    return (ordinary.build_step(build, scope, raw, path),)


def _call(build: Build, scope: StepScope, raw: dict[str, Any], path: str) -> tuple[Item, ...]:
    caller = build.claim(scope, raw["id"], path)
    expansion = templates.expand(build, scope, raw, path)
    if expansion is None:
        return ()
    build.grow(written_chars(expansion.steps), path, items=0)
    raw = tokens.fill(build, scope, raw, path=path, at=caller)
    inner = calls.shared(build, scope, expansion.scope, raw, path)
    items = build_items(build, inner, expansion.steps, "steps")
    return calls.applied(build, scope, raw, items, path) if items else ()


def _loop(build: Build, scope: StepScope, raw: dict[str, Any], path: str) -> Loop:
    loop_id = build.claim(scope, raw["id"], path)
    title = tokens.fill(build, scope, raw["title"], path=f"{path}.title", at=loop_id)
    inner = replace(
        scope,
        loops=(*scope.loops, loop_id),
        functions=functions.within(scope, raw, path, scope_name="loop"),
        notes_optional=raw.get("notesOptional", scope.notes_optional),
    )
    build.grow(0, path)
    body = _body(build, inner, raw, path)
    functions.report_unused(build, inner, raw, f"{path}.functionDefinitions")
    return loops.build_loop(build, scope, {**raw, "title": title}, body, loop_id=loop_id, path=path)


def _body(build: Build, scope: StepScope, raw: dict[str, Any], path: str) -> tuple[Item, ...]:
    if len(scope.loops) > MAX_LOOP_DEPTH:
        message = f"Loops stand {len(scope.loops)} deep in each other; at most {MAX_LOOP_DEPTH} are run."
        scope.findings.error(ProblemCode.BAD_LOOP, f"{path}.body", message)
        return ()
    body = raw["body"]
    if isinstance(body, list):
        return _items(build, scope, [(step, f"{path}.body[{index}]") for index, step in enumerate(body)])
    if body not in scope.siblings and build.left_out.may_hold("steps", body):
        return ()
    if body not in scope.siblings:
        message = f"No step has the id {shown(body)}."
        known = scope.siblings.keys() - {raw["id"]}
        scope.findings.unknown(ProblemCode.UNKNOWN_STEP, f"{path}.body", message, word=body, known=known)
        return ()
    if f"{scope.prefix}{body}" in scope.loops:
        scope.findings.error(ProblemCode.BAD_LOOP, f"{path}.body", f"The loop {shown(body)} contains itself.")
        return ()
    step, place = scope.siblings[body]
    build.grow(written_chars(step), path, items=0)
    return _items(build, scope, [(step, place)])
