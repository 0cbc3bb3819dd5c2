"""Which file of a workflow folder plays which part. Names only: nothing here opens a file."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from workflows_app.engine.activities.documents import MARKDOWN, STRUCTURED, suffix_of
from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem, did_you_mean
from workflows_app.engine.safe_paths import same_file, shown_path

ACTIVITIES_FOLDER = "activities"
TECHNIQUE_CONTRACT = "TECHNIQUE"

_RULES_STEM = "rules"
_INDEXED = re.compile(r"([0-9]{1,9})-(.+)")
_NUMBERED = re.compile(r"[0-9]{1,9}[-_. ]([^-_. ].*)", re.DOTALL)
# A number with another sign behind it, or none; and an ending behind which something else stands.
_NEARLY_INDEXED = re.compile(r"([0-9]{1,9})(?:[-_. ]+|(?![0-9]))([^-_. ].*)", re.DOTALL)
_ENDING = re.compile(rf"(?:{'|'.join(map(re.escape, STRUCTURED))})(?![a-z])")
# For people, not for agents. What only begins so, like `readme-layout.md`, is a file like any other.
_DOCUMENTATION = re.compile(r"(?:readme|licen[cs]e|notice|changelog|copying)(?:\.[a-z]+)?", re.IGNORECASE)
# The documentation of a folder is README.md; in small letters it is a resource that agents ask for by that name.
_README = "readme."
_RESOURCES = "resources"
_LEGACY_RESOURCES = "guides"
_MOST_STRAYS = 100


class FolderPart(StrEnum):
    WORKFLOW = "workflow"
    RULES = "rules"
    ACTIVITY = "activity"
    # In a folder below the activities: no part of the workflow, but others, and the workflow itself, may list it.
    LENT_ACTIVITY = "lent_activity"
    SKILL = "skill"
    TECHNIQUE = "technique"
    RESOURCE = "resource"
    TEMPLATE = "template"


_FOLDERS = {
    "skills": FolderPart.SKILL,
    "techniques": FolderPart.TECHNIQUE,
    _RESOURCES: FolderPart.RESOURCE,
    _LEGACY_RESOURCES: FolderPart.RESOURCE,
    "templates": FolderPart.TEMPLATE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderEntry:
    """`file` is the path as problems name it, `path` that inside the folder, `place` that inside the folder of its part;
    `index` is the NN of the name as written.
    """

    part: FolderPart
    file: str
    path: str
    place: str
    index: str
    name: str
    data: bytes

    @property
    def suffix(self) -> str:
        return suffix_of(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """The files of one workflow by their part, each part in order. `owner` is the workflow's id, `unread` are the files that
    nobody reads.
    """

    owner: str
    entries: tuple[FolderEntry, ...]
    problems: tuple[WorkflowProblem, ...]
    unread: tuple[str, ...] = ()

    def of(self, *parts: FolderPart) -> Iterator[FolderEntry]:
        return (entry for entry in self.entries if entry.part in parts)

    def named(self, file_name: str) -> FolderEntry | None:
        """The activity whose file has this name, with or without its ending; one below the activities by its path there."""
        entries = self.of(FolderPart.ACTIVITY, FolderPart.LENT_ACTIVITY)
        return next((e for e in entries if file_name in {e.place, e.place.removesuffix(e.suffix)}), None)


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
    folders = {**_FOLDERS, activities_folder: FolderPart.ACTIVITY}
    if any(path.startswith(f"{_RESOURCES}/") for path in files):
        del folders[_LEGACY_RESOURCES]
    entries: list[FolderEntry] = []
    strays: list[WorkflowProblem] = []
    for path, data in sorted(files.items()):
        found = _sorted_in(path, data, prefix, entry, folders)
        if isinstance(found, FolderEntry):
            entries.append(found)
        elif found is not None:
            strays.append(found)
    return Folder(
        owner=owner,
        entries=tuple(sorted(entries, key=_order)),
        problems=(*_told(strays), *_twins(files, prefix)),
        unread=tuple(stray.file for stray in strays),
    )


def _told(strays: Sequence[WorkflowProblem]) -> Iterator[WorkflowProblem]:
    """So many by their names: what else is wrong with the folder is not to be lost among them."""
    yield from strays[:_MOST_STRAYS]
    if len(strays) > _MOST_STRAYS:
        message = f"{len(strays)} files are not read; {_MOST_STRAYS} are listed."
        yield WorkflowProblem(code=ProblemCode.UNKNOWN_FILE, message=message, severity=Severity.WARNING)


def _twins(files: Mapping[str, bytes], prefix: str) -> Iterator[WorkflowProblem]:
    first: dict[str, str] = {}
    for path in sorted(files):
        earlier = first.setdefault(same_file(path), path)
        if earlier != path:
            yield WorkflowProblem(
                code=ProblemCode.DUPLICATE_PATH,
                message=f"On some systems this is the same file as {shown_path(earlier)}; both are read here.",
                severity=Severity.WARNING,
                file=f"{prefix}{path}",
            )


def activity_named(reference: str) -> str:
    """The activity that the file of this name is about, which is its name without the number and the ending, however that is written."""
    stem = PurePosixPath(reference).stem
    found = _NUMBERED.fullmatch(stem)
    return found[1] if found else stem


def name_meant(path: str) -> str:
    """By which name a file with a number would be read, where it is nearly called so; empty where nobody can tell."""
    name = path.rpartition("/")[2]
    ending = _ENDING.search(name)
    found = _NEARLY_INDEXED.fullmatch(name, 0, ending.start()) if ending else None
    return f"{found[1]}-{found[2]}{ending[0]}" if ending and found else ""


def order_of_index(index: str) -> int:
    """The indexes "1", "01" and "001" are one; what has none comes last."""
    return int(index) if index else 10**9


def _sorted_in(
    path: str, data: bytes, prefix: str, entry: str | None, folders: Mapping[str, FolderPart]
) -> FolderEntry | WorkflowProblem | None:
    name = path.rpartition("/")[2]
    part, rest = _part_at(path, folders)
    if _DOCUMENTATION.fullmatch(name) and suffix_of(name) not in STRUCTURED and not _is_asked_for(part, name):
        return None
    if part is None and (path.startswith(".") or "/." in path):
        return None
    if "/" not in path:
        return _at_top(path, data, prefix, entry)
    if part is None:
        top = path.partition("/")[0]
        return _ignored(prefix, path, f"No folder {top!r} is known.", did_you_mean(top, folders))
    reason = _refusal(part, rest)
    if reason:
        meant = name_meant(rest) if part in {FolderPart.ACTIVITY, FolderPart.SKILL} else ""
        return _ignored(prefix, path, reason, f"Call it {meant!r}." if meant else "")
    index, stem = _split_name(part, rest)
    if part is FolderPart.ACTIVITY and "/" in rest:
        part = FolderPart.LENT_ACTIVITY
    return FolderEntry(part=part, file=f"{prefix}{path}", path=path, place=rest, index=index, name=stem, data=data)


def _is_asked_for(part: FolderPart | None, name: str) -> bool:
    """A name like that of documentation, in small letters and where agents ask for files by their names. Templates are of any kind."""
    is_of_kind = suffix_of(name) == MARKDOWN or part is FolderPart.TEMPLATE
    if part not in _ASKED_FOR or name != name.lower() or not is_of_kind:
        return False
    return part is FolderPart.RESOURCE or not name.startswith(_README)


def _part_at(path: str, folders: Mapping[str, FolderPart]) -> tuple[FolderPart | None, str]:
    """The part of the folder that the file is in, and its path there."""
    for folder, part in folders.items():
        if path.startswith(f"{folder}/"):
            return part, path.removeprefix(f"{folder}/")
    return None, ""


def _at_top(path: str, data: bytes, prefix: str, entry: str | None) -> FolderEntry | WorkflowProblem | None:
    stem = PurePosixPath(path).stem
    if path == entry:
        return FolderEntry(
            part=FolderPart.WORKFLOW, file=f"{prefix}{path}", path=path, place=path, index="", name=stem, data=data
        )
    if suffix_of(path) not in STRUCTURED:
        return _ignored(prefix, path, f"Beside {entry or 'the document of a workflow'} only folders are read.", "")
    if stem == _RULES_STEM:
        return FolderEntry(
            part=FolderPart.RULES, file=f"{prefix}{path}", path=path, place=path, index="", name=stem, data=data
        )
    reason = f"The workflow is described by {entry}." if entry else "A workflow is described by workflow.toon."
    meant = name_meant(path)
    return _ignored(prefix, path, reason, f"An activity is called '{ACTIVITIES_FOLDER}/{meant}'." if meant else "")


def _refusal(part: FolderPart, rest: str) -> str:
    """Why a file in a known folder is not one of its kind; empty when it is."""
    endings = _ENDINGS[part]
    if "/" in rest and part not in {FolderPart.TECHNIQUE, FolderPart.ACTIVITY}:
        return "Files in folders below this one are not read."
    if endings and suffix_of(rest) not in endings:
        return f"Only {', '.join(endings)} files are read here."
    if part in {FolderPart.ACTIVITY, FolderPart.SKILL} and _INDEXED.fullmatch(PurePosixPath(rest).stem) is None:
        return "The name must be a number, a hyphen and the id, as in `01-plan.toon`."
    return ""


_ASKED_FOR = {FolderPart.TECHNIQUE, FolderPart.RESOURCE, FolderPart.TEMPLATE}
_ENDINGS: dict[FolderPart, tuple[str, ...]] = {
    FolderPart.ACTIVITY: STRUCTURED,
    FolderPart.LENT_ACTIVITY: STRUCTURED,
    FolderPart.SKILL: (*STRUCTURED, MARKDOWN),
    FolderPart.TECHNIQUE: (MARKDOWN,),
    FolderPart.RESOURCE: (*STRUCTURED, MARKDOWN),
    FolderPart.TEMPLATE: (),
}


def _split_name(part: FolderPart, rest: str) -> tuple[str, str]:
    if part is FolderPart.TECHNIQUE:
        segments = rest[: -len(MARKDOWN)].split("/")
        if len(segments) > 1 and segments[-1] == TECHNIQUE_CONTRACT:
            segments.pop()
        return "", "::".join(segments)
    stem = PurePosixPath(rest).stem
    found = _INDEXED.fullmatch(stem)
    return (found[1], found[2]) if found else ("", stem)


def _ignored(prefix: str, path: str, reason: str, suggestion: str) -> WorkflowProblem:
    return WorkflowProblem(
        code=ProblemCode.UNKNOWN_FILE,
        message=f"The file is not read. {reason}",
        severity=Severity.WARNING,
        file=f"{prefix}{path}",
        suggestion=suggestion,
    )


def _order(entry: FolderEntry) -> tuple[str, int, int, str, str]:
    """By number; of two files with one number TOON comes before YAML, and Markdown last."""
    form = STRUCTURED.index(entry.suffix) if entry.suffix in STRUCTURED else len(STRUCTURED)
    return (entry.part, order_of_index(entry.index), form, entry.name, entry.path)
