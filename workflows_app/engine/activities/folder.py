"""Which file of a workflow folder plays which part. Names only: nothing here opens a file."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from workflows_app.engine.activities.documents import MARKDOWN, STRUCTURED, suffix_of
from workflows_app.engine.problems import Problem, ProblemCode, Severity, did_you_mean

ACTIVITIES_FOLDER = "activities"
TECHNIQUE_CONTRACT = "TECHNIQUE"

_RULES_STEM = "rules"
_INDEXED = re.compile(r"([0-9]{1,9})-(.+)")
_DOCUMENTATION = re.compile(r"(?:readme|licen[cs]e|notice|changelog|copying)(?:[.-].*)?", re.IGNORECASE)
_RESOURCES = "resources"
_LEGACY_RESOURCES = "guides"


class Part(StrEnum):
    WORKFLOW = "workflow"
    RULES = "rules"
    ACTIVITY = "activity"
    SKILL = "skill"
    TECHNIQUE = "technique"
    RESOURCE = "resource"
    TEMPLATE = "template"


_FOLDERS = {
    "skills": Part.SKILL,
    "techniques": Part.TECHNIQUE,
    _RESOURCES: Part.RESOURCE,
    _LEGACY_RESOURCES: Part.RESOURCE,
    "templates": Part.TEMPLATE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """`file` is the path as problems name it, `path` that inside the folder; `index` is the NN of the name as written."""

    part: Part
    file: str
    path: str
    index: str
    name: str
    data: bytes

    @property
    def suffix(self) -> str:
        return suffix_of(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """The files of one workflow by their part, each part in order. `owner` is the workflow's id."""

    owner: str
    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]

    def of(self, *parts: Part) -> Iterator[Entry]:
        return (entry for entry in self.entries if entry.part in parts)

    def named(self, file_name: str) -> Entry | None:
        """The activity whose file has this name, with or without its ending."""
        return next((e for e in self.of(Part.ACTIVITY) if file_name in {e.path.rpartition("/")[2], _stem(e)}), None)


def sort_files(
    *,
    files: Mapping[str, bytes],
    owner: str,
    entry: str | None = None,
    prefix: str = "",
    activities_folder: str = ACTIVITIES_FOLDER,
) -> Folder:
    """`entry` is the file that describes the workflow, `prefix` what stands before the paths in problems: nothing for the
    workflow itself, `meta/` for another folder.
    """
    folders = {**_FOLDERS, activities_folder: Part.ACTIVITY}
    if any(path.startswith(f"{_RESOURCES}/") for path in files):
        del folders[_LEGACY_RESOURCES]
    entries: list[Entry] = []
    problems: list[Problem] = []
    for path, data in sorted(files.items()):
        found = _sorted_in(path, data, prefix, entry, folders)
        if isinstance(found, Entry):
            entries.append(found)
        elif found is not None:
            problems.append(found)
    return Folder(owner=owner, entries=tuple(sorted(entries, key=_order)), problems=tuple(problems))


def order_of_index(index: str) -> int:
    """The indexes "1", "01" and "001" are one; what has none comes last."""
    return int(index) if index else 10**9


def _sorted_in(
    path: str, data: bytes, prefix: str, entry: str | None, folders: Mapping[str, Part]
) -> Entry | Problem | None:
    name = path.rpartition("/")[2]
    if _DOCUMENTATION.fullmatch(name):
        return None
    top, _, rest = path.partition("/")
    if not rest:
        return _at_top(path, data, prefix, entry)
    part = folders.get(top)
    if part is None:
        if suffix_of(path) not in STRUCTURED:
            return None
        return _ignored(prefix, path, f"No folder {top!r} is known.", did_you_mean(top, folders))
    reason = _refusal(part, rest)
    if reason:
        return _ignored(prefix, path, reason, "")
    index, stem = _split_name(part, rest)
    return Entry(part=part, file=f"{prefix}{path}", path=path, index=index, name=stem, data=data)


def _at_top(path: str, data: bytes, prefix: str, entry: str | None) -> Entry | Problem | None:
    stem = PurePosixPath(path).stem
    if path == entry:
        return Entry(part=Part.WORKFLOW, file=f"{prefix}{path}", path=path, index="", name=stem, data=data)
    if suffix_of(path) not in STRUCTURED:
        return None
    if stem == _RULES_STEM:
        return Entry(part=Part.RULES, file=f"{prefix}{path}", path=path, index="", name=stem, data=data)
    reason = f"The workflow is described by {entry}." if entry else "A workflow is described by workflow.toon."
    return _ignored(prefix, path, reason, "")


def _refusal(part: Part, rest: str) -> str:
    """Why a file in a known folder is not one of its kind; empty when it is."""
    endings = _ENDINGS[part]
    if "/" in rest and part is not Part.TECHNIQUE:
        return "Files in folders below this one are not read."
    if endings and suffix_of(rest) not in endings:
        return f"Only {', '.join(endings)} files are read here."
    if part in {Part.ACTIVITY, Part.SKILL} and _INDEXED.fullmatch(PurePosixPath(rest).stem) is None:
        return "The name must be a number, a hyphen and the id, as in `01-plan.toon`."
    return ""


_ENDINGS: dict[Part, tuple[str, ...]] = {
    Part.ACTIVITY: STRUCTURED,
    Part.SKILL: (*STRUCTURED, MARKDOWN),
    Part.TECHNIQUE: (MARKDOWN,),
    Part.RESOURCE: (*STRUCTURED, MARKDOWN),
    Part.TEMPLATE: (),
}


def _split_name(part: Part, rest: str) -> tuple[str, str]:
    if part is Part.TECHNIQUE:
        segments = rest.removesuffix(MARKDOWN).split("/")
        if len(segments) > 1 and segments[-1] == TECHNIQUE_CONTRACT:
            segments.pop()
        return "", "::".join(segments)
    stem = PurePosixPath(rest).stem
    found = _INDEXED.fullmatch(stem)
    return (found[1], found[2]) if found else ("", stem)


def _ignored(prefix: str, path: str, reason: str, suggestion: str) -> Problem:
    return Problem(
        code=ProblemCode.UNKNOWN_FILE,
        message=f"The file is not read. {reason}",
        severity=Severity.WARNING,
        file=f"{prefix}{path}",
        suggestion=suggestion,
    )


def _order(entry: Entry) -> tuple[str, int, int, str, str]:
    """By number; of two files with one number TOON comes before YAML, and Markdown last."""
    form = STRUCTURED.index(entry.suffix) if entry.suffix in STRUCTURED else len(STRUCTURED)
    return (entry.part, order_of_index(entry.index), form, entry.name, entry.path)


def _stem(entry: Entry) -> str:
    return PurePosixPath(entry.path).stem
