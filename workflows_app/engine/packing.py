"""Workflows as bundles of files: which files make one workflow, one under another id, and the archive of one."""

import io
import json
import re
import zipfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, TypeVar

from workflows_app.engine import canonical
from workflows_app.engine.activities.documents import read_document
from workflows_app.engine.source import Origin, Source, SourceFormat, StepsSchema, Strictness
from workflows_app.engine.steps.findings import StepFindings
from workflows_app.engine.steps.versions import schema_of

ENTRY_NAMES = ("workflow.toon", "workflow.yaml", "workflow.yml")
SOURCE_SCHEMA_VERSION = 1

_DOCUMENT_ENDINGS = (".toon", ".yaml", ".yml")
_RULES = "rules.toon"
_SCHEMA_NAME = "urn:workrail:steps:"
# Windows begins a text with it.
_MARK = "\ufeff"
# The key, and its value up to the next line that is not indented; empty lines and comments may stand between.
_ID_LINES = re.compile(
    rb"""(?:^|(?<=\A\xef\xbb\xbf))(?:id|"id"|'id')[ \t]*+:([^\r\n]*+"""
    rb"""(?:(?:\r?\n[ \t]*+(?:#[^\r\n]*+)?+(?=\r?\n))*+\r?\n[ \t]++[^\s#][^\r\n]*+)*+)""",
    re.MULTILINE,
)
_MOST_ID_BYTES = 4096
# A document that says its id elsewhere than at the beginning of a line is read whole for it.
_MOST_READ_BYTES = 64 * 1024
_COMMENT = re.compile(r"(?<!\s)\s+#.*$")
_SPACE = re.compile(r"[ \t\r\n]*")
# The earliest time that a zip can tell: an archive of the same files has the same bytes, whenever it is made.
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
_ZIP_MODE = 0o644 << 16
_Each = TypeVar("_Each")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """`place` is the folder or the file that the workflow was found as; its paths are relative to the folder."""

    place: str
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    workflows: tuple[Found, ...]
    ignored: tuple[str, ...]


def detect_format(files: Mapping[str, bytes]) -> SourceFormat:
    """One JSON file is a workflow of steps; everything else is a folder."""
    if len(files) == 1 and next(iter(files)).endswith(".json"):
        return SourceFormat.STEPS_JSON
    return SourceFormat.ACTIVITY_FOLDER


def split_workflows(files: Mapping[str, bytes], *, origin: Origin, strictness: Strictness) -> Split:
    """Every folder with an entry file is a workflow, and so is every JSON file outside of such a folder.

    Beside a workflow, a JSON file that does not look like one belongs to none: archives bring all sorts of things along.
    """
    roots = _roots(files)
    loose = [path for path in files if path.endswith(".json") and not any(path.startswith(root) for root in roots)]
    likely = {path for path in loose if _looks_like_steps(files[path])}
    if not roots and not likely and _alone_at_top(files):
        roots, loose = [""], []
    documents = likely if roots or likely else set(loose)
    parts: dict[str, dict[str, bytes]] = {root: {} for root in roots}
    ignored: list[str] = []
    for path in sorted(files):
        root = next((root for root in roots if path.startswith(root)), None)
        if root is not None:
            parts[root][path[len(root) :]] = files[path]
        elif path in documents:
            parts[path] = {PurePosixPath(path).name: files[path]}
        else:
            ignored.append(path)
    found = (
        Found(
            place=place.rstrip("/"),
            source=Source(format=_format_at(place, roots), files=part, origin=origin, strictness=strictness),
        )
        for place, part in parts.items()
    )
    return Split(workflows=tuple(found), ignored=tuple(ignored))


def by_folder(found: Iterable[tuple[str, Source]]) -> dict[str, Source]:
    """Folders by the name of the folder that they lie in; two of one name have none."""
    named: dict[str, list[Source]] = {}
    for place, source in found:
        if source.format is SourceFormat.ACTIVITY_FOLDER and PurePosixPath(place).name:
            named.setdefault(PurePosixPath(place).name, []).append(source)
    return {name: sources[0] for name, sources in named.items() if len(sources) == 1}


def authored_id(source: Source) -> str:
    """The id as the entry file writes it, for a source that does not compile; empty when there is none to be seen."""
    entry = entry_file(source)
    if entry is None:
        return ""
    data = source.files[entry]
    lines = None if _is_json(data, source.format) else _last(_ID_LINES.finditer(data))
    if lines is not None and (said := _id_in(lines, entry)):
        return said
    text = data.decode("utf-8", "replace")
    span = _json_id_span(text) if lines is None else None
    found: Any = None if span is None else json.loads(text[span[0] : span[1]])
    if span is None and source.format is SourceFormat.ACTIVITY_FOLDER and len(data) <= _MOST_READ_BYTES:
        found = _id_of_whole(data, PurePosixPath(entry).suffix)
    return found if isinstance(found, str) else ""


@lru_cache(maxsize=128)
def _id_of_whole(data: bytes, suffix: str) -> Any:
    document, _ = read_document(data=data, file=f"workflow{suffix}", strictness=Strictness.LEGACY)
    return document.value.get("id") if document is not None and isinstance(document.value, dict) else None


def _id_in(lines: re.Match[bytes], entry: str) -> str:
    """As its own reader takes it; where that cannot, what seems to be meant."""
    if len(lines.group()) <= _MOST_ID_BYTES:
        document, _ = read_document(data=lines.group(), file=entry, strictness=Strictness.LEGACY)
        found = document.value.get("id") if document is not None and isinstance(document.value, dict) else None
        if isinstance(found, str):
            return found
    value = lines.group(1).decode("utf-8", "replace").strip()
    return _COMMENT.sub("", value).strip("\"'")


def _last(found: Iterable[_Each]) -> _Each | None:
    """Of a key that stands twice the last one counts, where that is let pass."""
    return next(iter(deque(found, maxlen=1)), None)


def _is_json(data: bytes, source_format: SourceFormat) -> bool:
    """YAML may be written as JSON is."""
    return source_format is SourceFormat.STEPS_JSON or data.removeprefix(_MARK.encode()).lstrip().startswith(b"{")


def with_id(source: Source, *, workflow_id: str) -> Source | None:
    """The same source under another id, every other byte kept; None when its id cannot be found."""
    entry = entry_file(source)
    if entry is None:
        return None
    data = _replaced_id(source.files[entry], source.format, workflow_id, entry=entry)
    return None if data is None else replace(source, files={**source.files, entry: data})


def with_schema(data: bytes, *, schema: StepsSchema) -> bytes:
    """A document that says for which schema it was written, every other byte kept; as it is where it reads so without that."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return data
    if not isinstance(document, dict) or schema_of(document=document, hint=None, findings=StepFindings()) is schema:
        return data
    before, brace, after = data.partition(b"{")
    comma = b"," if document else b""
    said = "$schema" in document
    return data if said else before + brace + f'"$schema": "{_SCHEMA_NAME}{schema.value}"'.encode() + comma + after


def entry_file(source: Source) -> str | None:
    files = source.files
    if source.format is SourceFormat.STEPS_JSON:
        return next(iter(files)) if len(files) == 1 else None
    return next((name for name in ENTRY_NAMES if name in files), None) or _alone_at_top(files)


def _alone_at_top(files: Mapping[str, bytes]) -> str | None:
    """The one document that stands beside the folders, which describes the workflow under whatever name."""
    alone = [path for path in files if "/" not in path and path.endswith(_DOCUMENT_ENDINGS) and path != _RULES]
    return alone[0] if len(alone) == 1 else None


def pack_zip(files: Mapping[str, bytes]) -> bytes:
    """Deterministic: sorted paths, one time, one mode, no compression that a library's version could change."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression=zipfile.ZIP_STORED) as archive:
        for path in sorted(files):
            member = zipfile.ZipInfo(path, date_time=_ZIP_TIME)
            member.external_attr = _ZIP_MODE
            member.create_system = 3
            archive.writestr(member, files[path])
    return buffer.getvalue()


def source_digest(source: Source) -> str:
    """Names a source by its format and by the name and content of every file."""
    return canonical.canonical_digest(
        {
            "schema": SOURCE_SCHEMA_VERSION,
            "format": source.format.value,
            "files": {path: canonical.digest(data) for path, data in source.files.items()},
        }
    )


def _roots(files: Mapping[str, bytes]) -> list[str]:
    """Folders that hold an entry file, outermost only, each with its trailing slash; the top is the empty text."""
    entries = sorted(path for path in files if PurePosixPath(path).name in ENTRY_NAMES)
    roots: list[str] = []
    for path in sorted(entries, key=lambda path: (path.count("/"), path)):
        root = path[: len(path) - len(PurePosixPath(path).name)]
        if not any(root.startswith(outer) for outer in roots):
            roots.append(root)
    return sorted(roots)


def _looks_like_steps(data: bytes) -> bool:
    """Whether this is a workflow of steps, if only one that cannot be read."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return b'"steps"' in data
    return isinstance(document, dict) and "steps" in document


def _format_at(place: str, roots: list[str]) -> SourceFormat:
    return SourceFormat.ACTIVITY_FOLDER if place in roots else SourceFormat.STEPS_JSON


def _replaced_id(data: bytes, source_format: SourceFormat, workflow_id: str, *, entry: str) -> bytes | None:
    if _is_json(data, source_format):
        text = data.decode("utf-8", "surrogateescape")
        span = _json_id_span(text)
        if span is None:
            return None
        return (text[: span[0]] + json.dumps(workflow_id) + text[span[1] :]).encode("utf-8", "surrogateescape")
    lines = _last(_ID_LINES.finditer(data))
    if lines is None:
        return None
    # What follows a blank and `#` is a comment in YAML, and part of the text in TOON.
    said = lines.group(1).decode("utf-8", "surrogateescape")
    comment = None if "\n" in said or entry.endswith(".toon") else _COMMENT.search(said)
    written = f"id: {workflow_id}{comment.group() if comment else ''}".encode("utf-8", "surrogateescape")
    return data[: lines.start()] + written + data[lines.end() :]


def _json_id_span(text: str) -> tuple[int, int] | None:
    """Where the value of the document's own `id` stands, found without rewriting the rest."""
    found = None
    try:
        for key, span in _json_members(text):
            found = span if key == "id" else found
    except (ValueError, RecursionError):
        return found
    return found


def _json_members(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    decoder = json.JSONDecoder()
    at = _skip_space(text, len(_MARK) if text.startswith(_MARK) else 0)
    if text[at : at + 1] != "{":
        return
    at = _skip_space(text, at + 1)
    while text[at : at + 1] == '"':
        key, at = decoder.raw_decode(text, at)
        at = _skip_space(text, at)
        if text[at : at + 1] != ":":
            return
        start = _skip_space(text, at + 1)
        _, at = decoder.raw_decode(text, start)
        yield str(key), (start, at)
        at = _skip_space(text, at)
        if text[at : at + 1] != ",":
            return
        at = _skip_space(text, at + 1)


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
