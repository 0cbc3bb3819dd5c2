"""A source compiled against the library of the actor's team. Nothing is written here."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from teams_app.engine.actors import Actor
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.redaction import read_kept
from workflows_app.engine.compile import compile_source
from workflows_app.engine.intake import normalise_paths
from workflows_app.engine.names import check_id, suggested_id
from workflows_app.engine.packing import authored_id, with_id
from workflows_app.engine.problems import Severity, WorkflowProblem
from workflows_app.engine.program import Program, workflow_hash
from workflows_app.engine.reading import SharedReading
from workflows_app.engine.source import Library, Origin, Source, SourceContent, StepsSchema
from workflows_app.selectors.library import library_for, with_sources

MAX_SHOWN_PROBLEMS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """`program` and `workflow_hash` are there exactly when no problem is an error."""

    source: Source
    workflow_id: str
    program: Program | None
    workflow_hash: str | None
    problems: tuple[WorkflowProblem, ...]
    contents: tuple[SourceContent, ...]
    unread: tuple[str, ...] = ()

    @property
    def error_count(self) -> int:
        return sum(problem.severity is Severity.ERROR for problem in self.problems)

    @property
    def warning_count(self) -> int:
        return len(self.problems) - self.error_count


def compile_for(
    *,
    actor: Actor,
    source: Source,
    siblings: Mapping[str, Source] = MappingProxyType({}),
    places: Mapping[str, Source] = MappingProxyType({}),
    reading: SharedReading | None = None,
) -> Compiled:
    """`siblings` are sources that arrive together with this one, by id, `places` the same by their folder, and `reading` is
    what was read of all of them.
    """
    checked = _checked(source)
    workflow_id = authored_id(checked)
    library = library_for(actor=actor, source_format=checked.format, workflow_id=workflow_id)
    together = with_sources(library, siblings, within=workflow_id, places=places, reading=reading)
    return compile_with(source=checked, library=together, reading=reading)


def compile_with(*, source: Source, library: Library, reading: SharedReading | None = None) -> Compiled:
    done = compile_source(source=source, library=library, reading=reading)
    program = None if done.errors else done.program
    return Compiled(
        source=source,
        workflow_id=done.workflow_id or authored_id(source),
        program=program,
        workflow_hash=None if program is None else workflow_hash(program),
        problems=done.problems,
        contents=() if program is None else done.contents,
        unread=done.unread,
    )


def require_own_id(compiled: Compiled) -> str:
    """The id, when a team may give it to a workflow; a legacy one runs where it is but is not created."""
    workflow_id = compiled.workflow_id
    if not workflow_id:
        raise InvalidInputError(
            "The source says no id, so there is nothing to save it as.",
            suggestion="Give the workflow an id like team.name.",
            details=problem_details(compiled.problems),
        )
    origin = compiled.source.origin
    if origin is Origin.BUNDLED:
        raise InvalidInputError(
            "Only Workrail itself bundles workflows.", suggestion="Say the origin team, project or remote."
        )
    wrong = check_id(workflow_id=workflow_id, origin=origin)
    if wrong:
        rename = suggested_id(workflow_id=workflow_id, origin=origin)
        raise InvalidInputError(
            wrong[0].message,
            suggestion=wrong[0].suggestion,
            details={"suggestedId": rename, **problem_details(wrong)},
        )
    return workflow_id


def renamed(*, source: Source, program: Program | None, workflow_id: str) -> Source:
    """The same source under another id, still read by the schema that it was written for."""
    found = with_id(source, workflow_id=workflow_id)
    if found is None:
        raise InvalidInputError(
            "The id of the workflow cannot be found in its source.",
            suggestion="Write it in the entry file as `id: name`, in a line of its own, then try again.",
        )
    return replace(found, schema=source.schema or _schema_of(program))


def problem_details(problems: tuple[WorkflowProblem, ...]) -> dict[str, object]:
    """What an error carries; the first ones say enough."""
    shown = [problem.as_json() for problem in problems[:MAX_SHOWN_PROBLEMS]]
    return {"problems": shown} if len(problems) <= MAX_SHOWN_PROBLEMS else {"problems": shown, "count": len(problems)}


def accepted_files(found: tuple[dict[str, bytes], tuple[WorkflowProblem, ...]], *, what: str) -> dict[str, bytes]:
    """What the intake lets in, or its refusal."""
    files, problems = found
    errors = tuple(problem for problem in problems if problem.severity is Severity.ERROR)
    if errors:
        raise InvalidInputError(
            f"{what} is refused: {errors[0].message}",
            suggestion=errors[0].suggestion or "Bring the workflow's own files only, under plain relative paths.",
            details=problem_details(errors),
        )
    return files


def _checked(source: Source) -> Source:
    files = accepted_files(normalise_paths(files=source.files), what="The source")
    for path, data in files.items():
        # Whoever reads the workflow would read the key.
        read_kept({path: data.decode("utf-8", "replace")})
    return replace(source, files=files)


def _schema_of(program: Program | None) -> StepsSchema | None:
    if program is None or program.schema_version not in set(StepsSchema):
        return None
    return StepsSchema(program.schema_version)
