"""What `workflows <subcommand>` does: reads its arguments, makes one call, and reports in text and as data."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from teams_app import selectors as teams
from teams_app.engine.actors import NO_TEAM, Actor, Door, system_actor
from teams_app.engine.pages import MAX_LIMIT, PageRequest
from workflows_app.engine.canonical import UnreadableJsonError, loads_strict
from workflows_app.engine.json_schemas import SCHEMAS
from workflows_app.engine.problems import Severity, WorkflowProblem
from workflows_app.engine.program import Program, WorkflowKind
from workflows_app.engine.simulate import SimulatedOutcome, simulate, wrong_answers
from workflows_app.engine.source import Origin, Strictness
from workflows_app.engine.values import Include, Saved, WorkflowState, WorkflowValue
from workflows_app.management import printing
from workflows_app.management.offline import FileResults, at_lines, compile_paths, links_at, read_path
from workflows_app.selectors.details import read_workflow
from workflows_app.selectors.sources import diff_revisions, files_of, read_program
from workflows_app.selectors.workflows import WorkflowFilters, list_workflows
from workflows_app.services.bundled import load_bundled
from workflows_app.services.importing import ImportOptions, import_files
from workflows_app.services.publishing import publish_revision

Options = Mapping[str, Any]
# Of values and answers that are handed to a walk.
_MOST_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`data` is what --json prints; `failed` makes the command exit with 1."""

    lines: Iterable[str]
    data: Any
    failed: bool = False


Subcommand = Callable[[Options], Report]


def list_command(options: Options) -> Report:
    filters = WorkflowFilters(
        text=options["text"],
        tags=tuple(options["tag"]),
        kind=WorkflowKind(options["kind"]) if options["kind"] else None,
        state=WorkflowState(options["state"]) if options["state"] else None,
    )
    items = _all_pages(_actor(options), filters)
    return Report(lines=map(printing.workflow_line, items), data=items)


def show_command(options: Options) -> Report:
    include = frozenset({Include.PROGRAM, Include.SOURCE} if options["source"] else {Include.PROGRAM})
    detail = read_workflow(
        actor=_actor(options), workflow_id=options["workflow"], number=options["revision"], include=include
    )
    problems = at_lines(detail.revision.problems, files_of(detail.revision.id))
    return Report(lines=printing.detail_lines(detail, problems=problems), data=detail)


def diff_command(options: Options) -> Report:
    actor = _actor(options)
    workflow = read_workflow(actor=actor, workflow_id=options["workflow"]).workflow
    diff = diff_revisions(
        actor=actor,
        workflow_id=options["workflow"],
        number=options["revision"] or workflow.latest_number,
        base=workflow.published_number if options["base"] is None else options["base"] or None,
    )
    return Report(lines=printing.diff_lines(diff), data=diff)


def import_command(options: Options) -> Report:
    imported: list[Saved] = []
    ignored: list[str] = []
    for path in options["paths"]:
        files, problems = read_path(Path(path))
        if problems:
            return _refused(path, problems)
        import_options = ImportOptions(
            origin=Origin(options["origin"]),
            strictness=_strictness(options),
            rename=options["rename"],
            message=options["message"],
        )
        done = import_files(actor=_actor(options), files=files, options=import_options, now=timezone.now())
        imported += done.workflows
        ignored += done.ignored
    lines = [
        line
        for saved in imported
        for line in (
            printing.saved_line(saved),
            *(
                printing.problem_line(problem, place=f"  {saved.workflow.workflow_id}")
                for problem in at_lines(saved.revision.problems, files_of(saved.revision.id))
            ),
        )
    ]
    lines += [printing.ignored_line(path) for path in ignored]
    lines += [printing.link_line(link) for path in options["paths"] for link in links_at(Path(path))]
    return Report(lines=lines, data=imported, failed=any(saved.workflow.error_count for saved in imported))


def validate_command(options: Options) -> Report:
    """Fails on errors."""
    found = _compiled(options)
    return _checked(found, failed=any(result.has_errors for result in found.results))


def lint_command(options: Options) -> Report:
    """Fails on warnings too."""
    found = _compiled(options)
    return _checked(found, failed=any(result.problems for result in found.results))


def publish_command(options: Options) -> Report:
    actor = _actor(options)
    number = options["revision"]
    if number is None:
        number = read_workflow(actor=actor, workflow_id=options["workflow"]).workflow.latest_number
    done = publish_revision(actor=actor, workflow_id=options["workflow"], number=number, base=None, now=timezone.now())
    lines = [*printing.diff_lines(done.diff), f"{done.workflow.workflow_id} runs revision {number} from now on"]
    return Report(lines=lines, data=done)


def simulate_command(options: Options) -> Report:
    """Fails unless the walk completes."""
    program, answers = _program(options), _answers(options["answers"])
    wrong = wrong_answers(program=program, answers=answers)
    if wrong:
        raise CommandError("\n".join(["The answers do not fit the workflow.", *(f"  {said}" for said in wrong)]))
    simulation = simulate(
        program=program,
        variables=_variables(options["set"]),
        answers=answers,
        max_steps=options["max_steps"],
        loop_rounds=options["rounds"],
    )
    failed = simulation.outcome is not SimulatedOutcome.COMPLETE
    return Report(lines=printing.simulation_lines(simulation), data=simulation, failed=failed)


def schema_command(options: Options) -> Report:
    name = options["name"]
    data = SCHEMAS[name]() if name else {each: make() for each, make in SCHEMAS.items()}
    return Report(lines=json.dumps(data, indent=2).splitlines(), data=data)


def load_bundled_command(_options: Options) -> Report:
    actor = system_actor(team_id=NO_TEAM, door=Door.CLI)
    done = load_bundled(actor=actor, now=timezone.now())
    counts = (
        f"{len(done.created)} new, {len(done.revised)} changed, {len(done.retired)} gone, {done.unchanged} as before"
    )
    lines = [f"bundled workflows: {counts}"]
    for key, problems in done.broken.items():
        lines += [printing.problem_line(problem, place=key) for problem in problems]
    return Report(lines=lines, data=done, failed=bool(done.broken))


def _actor(options: Options) -> Actor:
    """Whoever has a shell on the server acts for the installation, in the team that they name."""
    team = teams.find_team(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), named=options["team"])
    return system_actor(team_id=team.id, door=Door.CLI)


def _all_pages(actor: Actor, filters: WorkflowFilters) -> list[WorkflowValue]:
    items: list[WorkflowValue] = []
    page = list_workflows(actor=actor, filters=filters, page=PageRequest(limit=MAX_LIMIT))
    items += page.items
    while page.next_position is not None:
        after = PageRequest(after=page.next_position, limit=MAX_LIMIT)
        page = list_workflows(actor=actor, filters=filters, page=after)
        items += page.items
    return items


def _compiled(options: Options) -> FileResults:
    return compile_paths(
        paths=[Path(path) for path in options["paths"]],
        origin=Origin(options["origin"]),
        strictness=_strictness(options),
    )


def _checked(found: FileResults, *, failed: bool) -> Report:
    results = found.results
    lines = [printing.problem_line(problem, place=result.place) for result in results for problem in result.problems]
    sound = sum(not result.has_errors for result in results)
    data = [
        {
            "place": result.place,
            "id": result.compiled.workflow_id if result.compiled else None,
            "workflowHash": result.compiled.workflow_hash if result.compiled else None,
            "problems": [problem.as_json() for problem in result.problems],
        }
        for result in results
    ]
    lines += [printing.ignored_line(path) for path in found.ignored]
    lines += [printing.link_line(link) for link in found.links]
    return Report(lines=[*lines, f"{sound} of {len(results)} workflows compile"], data=data, failed=failed)


def _refused(path: str, problems: tuple[WorkflowProblem, ...]) -> Report:
    lines = [printing.problem_line(problem, place=path) for problem in problems]
    return Report(lines=lines, data=[problem.as_json() for problem in problems], failed=True)


def _strictness(options: Options) -> Strictness:
    return Strictness.LEGACY if options["legacy"] else Strictness.STRICT


def _program(options: Options) -> Program:
    """Of a file or folder when there is one by that name, else of a workflow of the team."""
    path = Path(options["workflow"])
    if not path.exists():
        return read_program(actor=_actor(options), workflow_id=options["workflow"], number=options["revision"])
    results = compile_paths(paths=[path], origin=Origin.TEAM, strictness=_strictness(options)).results
    if len(results) != 1:
        raise CommandError(f"There are {len(results)} workflows at {path}; simulate one.")
    compiled = results[0].compiled
    if compiled is None or compiled.program is None:
        errors = (problem for problem in results[0].problems if problem.severity is Severity.ERROR)
        raise CommandError("\n".join(printing.problem_line(problem, place=str(path)) for problem in errors))
    return compiled.program


def _variables(given: list[str]) -> dict[str, Any]:
    """`name=value`, where a value that is JSON is read as JSON, and any other as text."""
    variables: dict[str, Any] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise CommandError(f"--set takes name=value, not {item!r}.")
        variables[name] = _json_or_text(value)
    return variables


def _json_or_text(value: str) -> Any:
    try:
        return loads_strict(value, max_bytes=_MOST_BYTES)
    except UnreadableJsonError:
        return value


def _answers(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        answers = loads_strict(Path(path).read_bytes(), max_bytes=_MOST_BYTES)
    except (OSError, ValueError) as error:
        raise CommandError(f"The answers in {path} cannot be read: {error}") from error
    if isinstance(answers, dict) and all(isinstance(answer, dict) for answer in answers.values()):
        return answers
    raise CommandError('Answers are one object by step: {"step-id": {"context": {}, "artifacts": [], "option": "id"}}.')
