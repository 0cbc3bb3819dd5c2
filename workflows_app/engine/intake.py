"""Files from outside, made safe before anything is written: archives, and directories given as mappings.

One refusal refuses the whole. Nothing raises: every refusal is a problem with a code and the path it is about. Archives
within an archive are files like any other; they are not opened.
"""

import re
from collections.abc import Iterable, Mapping

from workflows_app.engine.archives import Meter, read_archive
from workflows_app.engine.problems import ProblemCode, WorkflowProblem, sorted_problems
from workflows_app.engine.safe_paths import RefusedError, checked_path, same_file, shown_path

Files = dict[str, bytes]
Problems = tuple[WorkflowProblem, ...]

# What systems leave behind without being asked.
_NOISE = re.compile(r"(?:^|/)(?:__MACOSX/.*|\._[^/]*|\.DS_Store|Thumbs\.db|desktop\.ini)\Z", re.DOTALL)
# A workflow may consist of little more than one of these; it is no wrapping that could be taken off.
_OWN_FOLDERS = frozenset({"activities", "skills", "techniques", "resources", "guides", "templates"})


def unpack(*, data: bytes, filename: str) -> tuple[Files, Problems]:
    """The files of a zip, tar or tar.gz by their normal paths, without a common top folder."""
    try:
        return _gathered(read_archive(data=data, filename=filename))
    except RefusedError as refusal:
        return {}, (refusal.problem,)


def normalise_paths(*, files: Mapping[str, bytes]) -> tuple[Files, Problems]:
    """The files of a directory by their normal paths, without a common top folder."""
    try:
        return _gathered(files.items())
    except RefusedError as refusal:
        return {}, (refusal.problem,)


def _gathered(pairs: Iterable[tuple[str, bytes]]) -> tuple[Files, Problems]:
    """All wrong paths are told at once; too many bytes or files end the reading."""
    meter = Meter()
    kept: Files = {}
    problems: list[WorkflowProblem] = []
    for path, data in pairs:
        meter.count()
        meter.admit(path, len(data))
        try:
            if not _NOISE.search(path):
                _keep(kept, checked_path(path), data)
        except RefusedError as refusal:
            problems.append(refusal.problem)
    problems.extend(_clashes(kept))
    return ({} if problems else _unwrapped(kept)), sorted_problems(problems)


def _keep(kept: Files, path: str, data: bytes) -> None:
    if path in kept:
        raise RefusedError(ProblemCode.DUPLICATE_PATH, "The path stands twice.", path=path)
    kept[path] = data


def _clashes(files: Files) -> list[WorkflowProblem]:
    """Files that are also folders, on this system or another. Two names that some system takes for one are two here."""
    first = {same_file(path): path for path in sorted(files, reverse=True)}
    problems: list[WorkflowProblem] = []
    for path in sorted(files):
        segments = same_file(path).split("/")
        folders = ("/".join(segments[:depth]) for depth in range(1, len(segments)))
        problems.extend(
            _clash(path, f"{shown_path(first[name])} is a file, not a folder.") for name in folders if name in first
        )
    return problems


def _clash(path: str, message: str) -> WorkflowProblem:
    return WorkflowProblem(code=ProblemCode.DUPLICATE_PATH, message=message, file=shown_path(path))


def _unwrapped(files: Files) -> Files:
    tops = {path.partition("/")[0] for path in files}
    if len(tops) != 1 or any("/" not in path for path in files) or tops <= _OWN_FOLDERS:
        return files
    return {path.partition("/")[2]: data for path, data in files.items()}
