"""Paths that stay where they are put: relative, with `/`, without `..`, and the same on every system."""

import re

from teams_app.engine.normal_forms import normalised
from workflows_app.engine.problems import ProblemCode, WorkflowProblem

MAX_PATH_CHARS = 512
MAX_SEGMENT_BYTES = 255

_SHOWN_CHARS = 120
_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class RefusedError(Exception):
    """A file or an archive that is not let in, and why."""

    def __init__(self, code: ProblemCode, message: str, *, path: str = "", suggestion: str = "") -> None:
        super().__init__(message)
        self.problem = WorkflowProblem(code=code, message=message, file=shown_path(path), suggestion=suggestion)


def checked_path(path: str) -> str:
    """The path in its one normal form, NFC and without `.` segments; a path that could lead elsewhere is refused."""
    if _CONTROL.search(path):
        raise RefusedError(ProblemCode.BAD_CHARACTER, "The path has a character that no path may have.", path=path)
    if len(path) > MAX_PATH_CHARS:
        message = f"The path has {len(path)} characters; at most {MAX_PATH_CHARS} are read."
        raise RefusedError(ProblemCode.TOO_LONG, message, path=path)
    reason = _danger(path)
    if reason:
        hint = (
            "Pack it so that folders are told by '/'." if "\\" in path else "Pack the folder of the workflow by itself."
        )
        raise RefusedError(ProblemCode.PATH_TRAVERSAL, reason, path=path, suggestion=hint)
    segments = [segment for segment in normalised("NFC", path).split("/") if segment != "."]
    if not segments:
        raise RefusedError(ProblemCode.PATH_TRAVERSAL, "The path names no file.", path=path)
    if any(len(segment.encode()) > MAX_SEGMENT_BYTES for segment in segments):
        raise RefusedError(ProblemCode.TOO_LONG, f"A name is longer than {MAX_SEGMENT_BYTES} bytes.", path=path)
    return "/".join(segments)


def same_file(path: str) -> str:
    """What two paths have in common that some file system takes for one."""
    return normalised("NFC", path.casefold())


def shown_path(path: str) -> str:
    """The path as a problem may quote it: bounded, and text that can be stored."""
    return _CONTROL.sub("�", path[:_SHOWN_CHARS])


def _danger(path: str) -> str:
    if path.startswith("/"):
        return "The path is absolute."
    if _DRIVE.match(path):
        return "The path names a drive."
    if "\\" in path:
        return "The path has a backslash."
    segments = path.split("/")
    if "" in segments:
        return "The path has an empty segment."
    # Some systems drop spaces and dots at the end of a name, which makes `.. ` and `...` what they look like.
    if any(segment != "." and not segment.strip(". ") for segment in segments):
        return "The path leads out of the folder."
    return ""
