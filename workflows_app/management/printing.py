"""What the command line says of workflows, as text."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from workflows_app.engine.outline_text import outline_lines
from workflows_app.engine.problems import WorkflowProblem
from workflows_app.engine.simulate import Simulation
from workflows_app.engine.values import Saved, WorkflowDetail, WorkflowDiff, WorkflowValue

_INDENT = "  "
# What a terminal obeys or turns around instead of showing it. Lines and tabs stay.
_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def shown(text: str) -> str:
    """What others wrote, as a terminal may be given it."""
    return _OBEYED.sub(lambda found: ascii(found.group())[1:-1], text)


def problem_line(problem: WorkflowProblem, *, place: str) -> str:
    return told_line(problem.as_json(), place=place)


def told_line(problem: Mapping[str, Any], *, place: str = "") -> str:
    """Of a problem as it is told: `WorkflowProblem.as_json`."""
    where = ":".join(str(part) for part in (place, problem.get("file"), problem.get("line")) if part)
    path, hint = (f" {problem[key]}" if key in problem else "" for key in ("path", "suggestion"))
    told = f"{path} {problem['severity']} [{problem['code']}] {problem['message']}{hint}"
    return f"{where}:{told}" if where else told.lstrip()


def ignored_line(path: str) -> str:
    return f"{path}: not read; it belongs to no workflow"


def link_line(path: Path) -> str:
    return f"{path}: not read; it is a link. Put the file itself there."


def workflow_line(item: WorkflowValue) -> str:
    published = f"revision {item.published_number}" if item.published_number else "-"
    counts = f"{item.error_count} errors, {item.warning_count} warnings"
    return f"{item.workflow_id:<40} {item.kind:<9} {item.state:<10} {published:<12} {counts:<24} {item.title}"


def saved_line(saved: Saved) -> str:
    done = "saved as" if saved.created else "is unchanged at"
    renamed = f" (was {saved.renamed_from})" if saved.renamed_from else ""
    alias = f", also reached as {saved.alias}" if saved.alias else ""
    return (
        f"{saved.workflow.workflow_id}{renamed} {done} revision {saved.revision.number}, {saved.workflow.state}{alias}"
    )


def detail_lines(detail: WorkflowDetail, *, problems: Iterable[WorkflowProblem]) -> Iterator[str]:
    workflow, revision = detail.workflow, detail.revision
    yield f"{workflow.workflow_id}  {workflow.title}"
    yield f"{workflow.kind}, {workflow.state}, {'bundled' if workflow.bundled else 'of the team'}, {workflow.id_status}"
    yield f"revision {revision.number} of {workflow.latest_number}, by {revision.author_name}, {revision.created_at:%Y-%m-%d %H:%M}"
    if revision.workflow_hash:
        yield revision.workflow_hash
    if detail.aliases:
        yield f"also reached as {', '.join(detail.aliases)}"
    if workflow.description:
        yield workflow.description
    yield from (problem_line(problem, place=workflow.workflow_id) for problem in problems)
    if detail.program is not None:
        yield from outline_lines(detail.program)


def diff_lines(diff: WorkflowDiff) -> Iterator[str]:
    yield f"{diff.workflow_id}: revision {diff.base or 'none'} to {diff.number}"
    for file in diff.files:
        yield f"{file.change} {file.path}"
        if file.text:
            yield file.text.rstrip("\n")
    if diff.program:
        yield "program:"
    for item in diff.program:
        yield f"{_INDENT}{item.change} {item.path}: {_shown(item.before)} -> {_shown(item.after)}"
    if diff.omitted:
        yield f"{_INDENT}and {diff.omitted} more"


def simulation_lines(simulation: Simulation) -> Iterator[str]:
    for number, stop in enumerate(simulation.path, start=1):
        yield f"{number:>4}  {stop.kind:<9} {stop.activity}/{stop.key}  {stop.title}{_chosen(stop.answer.get('option'))}"
    yield f"{simulation.outcome} after {len(simulation.path)} steps"
    if simulation.failure is not None:
        yield f"{simulation.failure.kind} at {simulation.failure.item or 'the start'}: {simulation.failure.message}"


def _chosen(option: object) -> str:
    return f"  [{option}]" if option else ""


def _shown(value: object) -> str:
    text = str(value)
    return "nothing" if value is None else text if len(text) <= 120 else f"{text[:120]}…"
