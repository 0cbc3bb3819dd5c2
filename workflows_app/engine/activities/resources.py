"""Resources, templates and global rules: what agents read besides skills."""

from collections.abc import Callable, Mapping
from typing import Any

from workflows_app.engine.activities.documents import (
    MARKDOWN,
    STRUCTURED,
    as_warning,
)
from workflows_app.engine.activities.findings import FolderFindings
from workflows_app.engine.activities.folder import Folder, FolderEntry, FolderPart
from workflows_app.engine.activities.held import HeldDocuments
from workflows_app.engine.activities.references import META, resource_candidates, resource_keys, wanted_keys
from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem
from workflows_app.engine.program import Attachment
from workflows_app.engine.reading import SharedReading
from workflows_app.engine.source import ContentKind, SourceContent, Strictness


class Resources:
    """The resources of the workflow, and those of other folders that something in it refers to."""

    def __init__(
        self,
        *,
        own: Folder,
        folder_of: Callable[[str], Folder | None],
        findings: FolderFindings,
        strictness: Strictness,
        reading: SharedReading,
    ) -> None:
        self._own = own
        self._folder_of = folder_of
        self._findings = findings
        self._strictness = strictness
        self._reading = reading
        self._read: dict[str, dict[str, tuple[HeldDocuments | None, tuple[WorkflowProblem, ...]]]] = {}
        self._index: dict[str, dict[str, HeldDocuments]] = {}
        self._unreadable: dict[str, dict[str, tuple[WorkflowProblem, ...]]] = {}
        self._referred: dict[tuple[str, str], HeldDocuments] = {}

    def refer(self, reference: str, *, file: str, path: str, home: str = "", told: bool = True) -> None:
        """Note that something refers to a resource; one that leads nowhere is a warning, where it is to be told. One to a file that
        cannot be read is none: what is wrong with the file is told.
        """
        candidates = resource_candidates(reference, own=self._own.owner, home=home)
        for owner, name in candidates:
            held = self._find(owner, name)
            if held is not None:
                self._referred[owner, held.file] = held
                return
        if not told:
            return
        if any(self._is_broken(owner, name) for owner, name in candidates):
            return
        self._findings.add(
            WorkflowProblem(
                code=ProblemCode.UNKNOWN_RESOURCE,
                message=f"No resource {reference[:80]!r} is in this workflow or where the reference points.",
                severity=Severity.WARNING,
                file=file,
                path=path,
                suggestion=self._findings.hint(reference, (entry.name for entry in self._own.of(FolderPart.RESOURCE))),
            ),
        )

    def close(self) -> tuple[HeldDocuments, ...]:
        """Every resource that belongs into the program, in order; tells what was wrong with the files."""
        indexes: dict[str, str] = {}
        for entry in self._own.of(FolderPart.RESOURCE):
            held, problems = self._shelf(self._own)[entry.file]
            self._findings.take(as_warning(problem) for problem in problems)
            earlier = indexes.setdefault(_key(entry.index), entry.file) if entry.index else entry.file
            if earlier != entry.file:
                self._findings.add(_same_index(entry, earlier))
            if held is not None:
                self._referred[self._own.owner, held.file] = held
        owners = sorted({owner for owner, _ in self._referred}, key=lambda owner: (owner != self._own.owner, owner))
        found = (self._referred.get((owner, file)) for owner in owners for file in self._read[owner])
        return tuple(held for held in found if held is not None)

    def _find(self, owner: str, name: str) -> HeldDocuments | None:
        folder = self._own if owner == self._own.owner else self._folder_of(owner)
        if folder is None:
            return None
        if owner not in self._index:
            self._index[owner] = self._indexed(folder)
        return next((self._index[owner][key] for key in wanted_keys(name) if key in self._index[owner]), None)

    def _is_broken(self, owner: str, name: str) -> bool:
        """Whether a file of that name, or one of which nobody can read the name that it gives itself, cannot be read: which is told."""
        folder = self._own if owner == self._own.owner else self._folder_of(owner)
        if folder is None:
            return False
        if owner not in self._unreadable:
            self._unreadable[owner] = self._told_of(folder)
        told = self._unreadable[owner]
        found = next((told[key] for key in wanted_keys(name) if key in told), () if owner == META else told.get("", ()))
        # What is wrong with those of this folder is told with all of them.
        self._findings.take_once(as_warning(problem) for problem in found if owner != self._own.owner)
        return bool(found)

    def _told_of(self, folder: Folder) -> dict[str, tuple[WorkflowProblem, ...]]:
        """Why files cannot be read, by the keys that each would answer to; by none the first of those whose own name nobody can read."""
        told: dict[str, tuple[WorkflowProblem, ...]] = {}
        shelf = self._shelf(folder)
        for entry in folder.of(FolderPart.RESOURCE):
            held, problems = shelf[entry.file]
            for key in resource_keys(index=entry.index, name=entry.name) if held is None else ():
                told.setdefault(key, problems)
            if held is None or any(problem.code is ProblemCode.BAD_FRONT_MATTER for problem in problems):
                told.setdefault("", problems)
        return told

    def _indexed(self, folder: Folder) -> dict[str, HeldDocuments]:
        """Every key that a resource answers to; of two that answer to one, the first in the folder does."""
        index: dict[str, HeldDocuments] = {}
        shelf = self._shelf(folder)
        readable = [
            (entry, held) for entry in folder.of(FolderPart.RESOURCE) if (held := shelf[entry.file][0]) is not None
        ]
        for entry, held in readable:
            for key in resource_keys(index=entry.index, name=entry.name):
                index.setdefault(key, held)
        for _, held in readable:
            index.setdefault(held.attachment.id, held)
        return index

    def _shelf(self, folder: Folder) -> dict[str, tuple[HeldDocuments | None, tuple[WorkflowProblem, ...]]]:
        if folder.owner not in self._read:
            entries = folder.of(FolderPart.RESOURCE)
            self._read[folder.owner] = {
                entry.file: _read(entry, folder.owner, self._strictness, self._reading) for entry in entries
            }
        return self._read[folder.owner]


def read_templates(*, folder: Folder, findings: FolderFindings, reading: SharedReading) -> tuple[HeldDocuments, ...]:
    """Templates are text of any kind, handed out as they are; those in Markdown may name themselves in front matter."""
    found = []
    for entry in folder.of(FolderPart.TEMPLATE):
        held, problems = _markdown(entry, folder.owner, reading, kind=ContentKind.TEMPLATE)
        findings.take(as_warning(problem) for problem in problems)
        if held is not None:
            found.append(held)
    return tuple(found)


def read_rules(
    *, folder: Folder, strictness: Strictness, reading: SharedReading
) -> tuple[SourceContent | None, tuple[WorkflowProblem, ...]]:
    """The rules for every workflow that the folder of `meta` gives."""
    entry = next(folder.of(FolderPart.RULES), None)
    if entry is None:
        return None, ()
    document, problems = reading.document(data=entry.data, file=entry.file, strictness=strictness)
    if document is None:
        return None, problems
    content = SourceContent.of_document(
        kind=ContentKind.RULES, text=document.text, document=document.value, digest=document.digest
    )
    return content, problems


def _read(
    entry: FolderEntry, owner: str, strictness: Strictness, reading: SharedReading
) -> tuple[HeldDocuments | None, tuple[WorkflowProblem, ...]]:
    if entry.suffix not in STRUCTURED:
        return _markdown(entry, owner, reading, kind=ContentKind.RESOURCE)
    document, problems = reading.document(data=entry.data, file=entry.file, strictness=strictness)
    if document is None:
        return None, problems
    meta = document.value if isinstance(document.value, dict) else {}
    content = SourceContent.of_document(
        kind=ContentKind.RESOURCE, text=document.text, document=document.value, digest=document.digest
    )
    return _held(entry, owner, content, meta), problems


def _markdown(
    entry: FolderEntry, owner: str, reading: SharedReading, *, kind: ContentKind
) -> tuple[HeldDocuments | None, tuple[WorkflowProblem, ...]]:
    text, problems = reading.markdown(data=entry.data, file=entry.file)
    if text is None:
        return None, problems
    content = SourceContent(kind=kind, digest=text.digest, text=text.text)
    return _held(entry, owner, content, text.meta, heading=text.heading), problems


def _held(
    entry: FolderEntry, owner: str, content: SourceContent, meta: Mapping[str, Any], *, heading: str = ""
) -> HeldDocuments:
    said_id = _word(meta.get("id"))
    attachment = Attachment(
        id=said_id or entry.name,
        file_name=entry.name if said_id and said_id != entry.name else "",
        digest=content.digest,
        owner=owner,
        index=entry.index,
        version=_word(meta.get("version")),
        title=_word(meta.get("title")) or heading or _title(entry.name),
        summary=_word(meta.get("description")) or _word(meta.get("purpose")),
        format="markdown" if entry.suffix == MARKDOWN else entry.suffix.removeprefix("."),
    )
    return HeldDocuments(attachment=attachment, content=content, file=entry.file)


def _key(index: str) -> str:
    return index.lstrip("0")


def _title(name: str) -> str:
    return " ".join(word[:1].upper() + word[1:] for word in name.split("-"))


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _same_index(entry: FolderEntry, earlier: str) -> WorkflowProblem:
    return WorkflowProblem(
        code=ProblemCode.DUPLICATE_ID,
        message=f"The index {entry.index!r} is that of {earlier}, which is the one that the index finds.",
        severity=Severity.WARNING,
        file=entry.file,
    )
