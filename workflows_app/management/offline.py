"""Workflows as files, read and compiled without a database: against the bundled library and each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from django.core.management.base import CommandError

from workflows_app.engine.intake import normalise_paths, unpack
from workflows_app.engine.packing import authored_id, by_folder, split_workflows
from workflows_app.engine.places import line_at, lines_in, path_written
from workflows_app.engine.problems import Severity, WorkflowProblem
from workflows_app.engine.source import Origin, Source, Strictness
from workflows_app.selectors.bundled import BUNDLED_ROOT, links_in, read_bundled, read_folder
from workflows_app.selectors.library import with_sources
from workflows_app.services.compiling import Compiled, compile_with

_OF_FOLDERS = {".toon", ".yaml", ".yml", ".md"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileResult:
    """`compiled` is None for what could not be read as a workflow at all."""

    place: str
    problems: tuple[WorkflowProblem, ...]
    compiled: Compiled | None = None

    @property
    def has_errors(self) -> bool:
        return any(problem.severity is Severity.ERROR for problem in self.problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileResults:
    """`ignored` are files at the paths that belong to no workflow, and `links` what is not followed."""

    results: tuple[FileResult, ...]
    ignored: tuple[str, ...]
    links: tuple[Path, ...]


def compile_paths(*, paths: Sequence[Path], origin: Origin, strictness: Strictness) -> FileResults:
    """Every workflow at the paths: a JSON document, a folder of one or of many, an archive."""
    bundled = read_bundled()
    ignored: list[str] = []
    found: list[tuple[str, Source]] = []
    refused: list[FileResult] = []
    for path in paths:
        files, problems = read_path(path)
        if problems:
            refused.append(FileResult(place=str(path), problems=problems))
        split = split_workflows(files, origin=_origin_at(path, origin), strictness=strictness)
        ignored += [_place(path, name) for name in split.ignored]
        found += [(_place(path, item.place), item.source) for item in split.workflows]
        if not problems and not split.workflows:
            raise CommandError(f"There is no workflow at {path}: no workflow.toon or workflow.yaml, and no JSON file.")
    siblings = {authored_id(source): source for _, source in found}
    places = by_folder(found)
    libraries = (
        with_sources(bundled.library, siblings, within=authored_id(source), places=places) for _, source in found
    )
    compiled = [
        (place, compile_with(source=source, library=library))
        for (place, source), library in zip(found, libraries, strict=True)
    ]
    results = (
        FileResult(place=place, problems=at_lines(item.problems, item.source.files), compiled=item)
        for place, item in compiled
    )
    links = tuple(link for path in paths for link in links_at(path))
    return FileResults(results=(*refused, *results), ignored=tuple(ignored), links=links)


def read_path(path: Path) -> tuple[dict[str, bytes], tuple[WorkflowProblem, ...]]:
    """The files at a path, when none of them is refused."""
    if path.is_dir():
        return normalise_paths(files=read_folder(path))
    if not path.is_file():
        raise CommandError(f"There is nothing at {path}.")
    if path.suffix == ".json":
        return {path.name: path.read_bytes()}, ()
    if path.suffix in _OF_FOLDERS:
        raise CommandError(f"{path} is one file of a workflow. Name the folder of the workflow instead.")
    return unpack(data=path.read_bytes(), filename=path.name)


def at_lines(problems: tuple[WorkflowProblem, ...], files: Mapping[str, bytes]) -> tuple[WorkflowProblem, ...]:
    """Each with the line of its place, where the file is at hand; the one file of a step workflow is not named."""
    only = next(iter(files), "") if len(files) == 1 else ""
    wrong = {problem.file or only for problem in problems if problem.path}
    indexes = {file: lines_in(file, files[file].decode("utf-8", "replace")) for file in wrong if file in files}
    return tuple(
        replace(problem, line=_line_of(problem, indexes[file]))
        if problem.path and problem.line is None and (file := problem.file or only) in indexes
        else problem
        for problem in problems
    )


def _line_of(problem: WorkflowProblem, lines: Mapping[str, int]) -> int | None:
    return line_at(lines=lines, path=path_written(path=problem.path, suggestion=problem.suggestion))


def links_at(path: Path) -> tuple[Path, ...]:
    """What is left out of a folder, since it is a link."""
    return links_in(path) if path.is_dir() else ()


def _origin_at(path: Path, origin: Origin) -> Origin:
    """What lies in the bundled library may have the ids that only it may have."""
    return Origin.BUNDLED if path.resolve().is_relative_to(BUNDLED_ROOT) else origin


def _place(path: Path, inside: str) -> str:
    return str(path) if path.suffix == ".json" or not inside else f"{path}/{inside}"
