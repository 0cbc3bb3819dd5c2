"""The editor of a workflow: files as tabs, problems at their lines, the outline, and a walk. Looking changes nothing."""

import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from teams_app.admin.pages import words_of
from teams_app.engine.actors import Actor
from teams_app.engine.errors import InvalidInputError, WorkrailError
from workflows_app.admin import source_view, words
from workflows_app.admin.drafts import Draft, first_of, source_of
from workflows_app.engine.canonical import UnreadableJsonError, loads_strict
from workflows_app.engine.places import lines_of_text
from workflows_app.engine.program import Program
from workflows_app.engine.simulate import SimulatedOutcome, Simulation
from workflows_app.engine.trial import deciding_variables, questions_of
from workflows_app.models import Revision, Workflow
from workflows_app.services.editing import MAX_ROUNDS, Looked, look_at, try_out

_MOST_STOPS = 200
# As many as a workflow may have.
_MOST_ROUGH_STAGES = 2_000
_MOST_BYTES = 1024 * 1024
_VARIABLE, _OPTION = "var-", "opt-"
_OUTCOMES = {
    SimulatedOutcome.COMPLETE: "the end",
    SimulatedOutcome.BLOCKED: "it cannot go on",
    SimulatedOutcome.TOO_LONG: "it does not end",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorTab:
    path: str
    is_here: bool
    is_changed: bool
    errors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """`refusal` is why nothing was walked."""

    simulation: Simulation | None
    ending: str = ""
    refusal: str = ""
    unasked: tuple[str, ...] = ()


def page_of(
    *, actor: Actor, row: Workflow, revision: Revision, draft: Draft, asked: QueryDict | None
) -> dict[str, Any]:
    """What the page shows of a draft; `asked` is what a walk was asked with. `unread` is why nobody could look at it."""
    unread = ""
    try:
        looked = look_at(actor=actor, source=source_of(draft, revision))
    except InvalidInputError as refusal:
        looked, unread = Looked(workflow_id="", program=None, problems=()), words_of(refusal)
    problems = source_view.placed(problems=looked.problems, files=draft.files, first=first_of(revision, draft.files))
    here = [each for each in problems if each.file == draft.path]
    errors = sum(each.is_error for each in problems)
    return {
        "row": row,
        "draft": draft,
        "unread": unread,
        "tabs": _tabs(draft, problems),
        "lines": source_view.lines_of(path=draft.path, text=draft.text, problems=here),
        "problems": list(enumerate(problems)),
        "errors": errors,
        "warnings": len(problems) - errors,
        "stages": _stages(looked.program, problems, draft),
        "has_program": looked.program is not None,
        "variables": _variables(looked.program, asked),
        "questions": _questions(looked.program, asked),
        "answers": "" if asked is None else asked.get("answers", ""),
        "rounds": "1" if asked is None else asked.get("rounds", "1"),
        "walked": _walked(actor, looked.program, asked),
        "is_changed": bool(draft.changed),
        "is_folder": len(draft.files) > 1 or not draft.path.endswith(".json"),
    }


def _tabs(draft: Draft, problems: list[words.ShownProblem]) -> list[EditorTab]:
    wrong: dict[str, int] = {}
    for each in problems:
        wrong[each.file] = wrong.get(each.file, 0) + each.is_error
    paths = sorted({*draft.files, draft.path}, key=lambda path: (path.count("/"), path))
    return [
        EditorTab(path=path, is_here=path == draft.path, is_changed=path in draft.changed, errors=wrong.get(path, 0))
        for path in paths
    ]


def _stages(program: Program | None, problems: list[words.ShownProblem], draft: Draft) -> list[dict[str, Any]]:
    """With the line of each in the open file, as far as it is there, and the worst problem that stands near it."""
    stages = list(words.stages_of(program)) if program else _rough_stages(draft)
    found = _lines_of_ids(draft.text)
    places = [(stage, found.get(stage.item_id)) for stage in stages]
    starts = sorted({line for _, line in places if line is not None})
    return [{"stage": stage, "line": line, "shape": _shape_at(line, starts, problems, draft)} for stage, line in places]


def _shape_at(line: int | None, starts: list[int], problems: list[words.ShownProblem], draft: Draft) -> str:
    if line is None:
        return ""
    after = bisect_right(starts, line)
    end = starts[after] if after < len(starts) else 10**9
    near = [each for each in problems if each.file == draft.path and each.line is not None and line <= each.line < end]
    return "blocked" if any(each.is_error for each in near) else "warning" if near else ""


def _lines_of_ids(text: str) -> dict[str, int]:
    """The first line that says each: `id: plan` of YAML and TOON, and what is quoted beside "id" in JSON."""
    found: dict[str, int] = {}
    for number, line in enumerate(lines_of_text(text), 1):
        bare = line.strip().removeprefix("- ").removesuffix(",")
        if '"id"' in line:
            for said in line.split('"')[1:-1]:
                found.setdefault(said, number)
        if bare.startswith("id: "):
            said = bare.removeprefix("id: ")
            found.setdefault(said, number)
            found.setdefault(said[1:-1] if said.startswith('"') and said.endswith('"') else said, number)
    return found


def _rough_stages(draft: Draft) -> list[words.WorkflowStage]:
    """While it does not compile: what the document says of its steps, as far as it can be read."""
    try:
        document = json.loads(draft.text)
    except (ValueError, RecursionError):
        return []
    steps = document.get("steps") if isinstance(document, dict) else None
    return _rough(steps, 0)[:_MOST_ROUGH_STAGES] if isinstance(steps, list) else []


def _rough(steps: list[Any], depth: int) -> list[words.WorkflowStage]:
    found: list[words.WorkflowStage] = []
    for step in steps:
        if not isinstance(step, dict):
            continue
        step_id = str(step.get("id", ""))
        body = step.get("body")
        asks = isinstance(step.get("requireConfirmation"), dict | bool) and step.get("requireConfirmation")
        shape = "loop" if isinstance(body, list) else "question" if asks else "step"
        title = str(step.get("title") or step_id)
        found.append(words.WorkflowStage(item_id=step_id, activity="", title=title, sub="", shape=shape, depth=depth))
        if isinstance(body, list) and depth < 8:
            found += _rough(body, depth + 1)
    return found


def _variables(program: Program | None, asked: QueryDict | None) -> list[dict[str, str]]:
    if program is None:
        return []
    declared = {each.name: each for each in program.variables}
    names = dict.fromkeys([*deciding_variables(program), *declared])
    return [{"name": name, "value": "" if asked is None else asked.get(_VARIABLE + name, "")} for name in names]


def _questions(program: Program | None, asked: QueryDict | None) -> list[dict[str, Any]]:
    if program is None:
        return []
    return [
        {"question": each, "chosen": "" if asked is None else asked.get(_OPTION + each.item_id, "")}
        for each in questions_of(program)
    ]


def _walked(actor: Actor, program: Program | None, asked: QueryDict | None) -> Walked | None:
    if program is None or asked is None or asked.get("do") != "walk":
        return None
    try:
        simulation = try_out(
            actor=actor,
            program=program,
            variables=_given_variables(asked),
            answers=_given_answers(asked),
            rounds=_rounds(asked.get("rounds", "1")),
        )
    except WorkrailError as refusal:
        return Walked(simulation=None, refusal=" ".join(filter(None, [refusal.message, refusal.suggestion])))
    shown = Simulation(
        outcome=simulation.outcome,
        path=simulation.path[:_MOST_STOPS],
        variables=simulation.variables,
        failure=simulation.failure,
    )
    walked = {stop.key.rpartition("::")[2] for stop in simulation.path}
    left = [stage.title for stage in words.stages_of(program) if not stage.is_group and stage.item_id not in walked]
    return Walked(simulation=shown, ending=_OUTCOMES[simulation.outcome], unasked=tuple(left[:20]))


def _given_variables(asked: QueryDict) -> dict[str, Any]:
    """Of each that was filled in: JSON when it is, else the text."""
    given = _filled(asked, _VARIABLE)
    return {name: _json_or_text(text) for name, text in given.items()}


def _given_answers(asked: QueryDict) -> dict[str, Any]:
    chosen = _filled(asked, _OPTION)
    text = asked.get("answers", "").strip()
    told: Mapping[str, Any] = {}
    if text:
        try:
            told = loads_strict(text, max_bytes=_MOST_BYTES)
        except UnreadableJsonError as error:
            raise InvalidInputError(
                f"The answers are no JSON: {error.message}", suggestion='Such as {"step-id": {"context": {}}}.'
            ) from error
        if not isinstance(told, dict):
            raise InvalidInputError("The answers are no object.", suggestion='Such as {"step-id": {"context": {}}}.')
    return {**told, **{key: {**_part(told, key), "option": option} for key, option in chosen.items()}}


def _filled(asked: QueryDict, prefix: str) -> dict[str, str]:
    given = {name.removeprefix(prefix): str(asked.get(name, "")) for name in asked if name.startswith(prefix)}
    return {name: text for name, text in given.items() if text}


def _part(told: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = told.get(key)
    return found if isinstance(found, Mapping) else {}


def _json_or_text(text: str) -> Any:
    try:
        return loads_strict(text, max_bytes=_MOST_BYTES)
    except UnreadableJsonError:
        return text


def _rounds(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 4:
        return int(text)
    raise InvalidInputError(f"{text[:20]!r} is no number of rounds.", suggestion=f"Say 1 to {MAX_ROUNDS}.")
