"""The other workflow folders that one may refer to. A folder is sorted, and a skill read, when something first asks."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workflows_app.engine.activities.definition import activities_folder
from workflows_app.engine.activities.folder import Folder, sort_files
from workflows_app.engine.activities.fragments import Fragments, fragments_of
from workflows_app.engine.activities.skills import SkillFolder
from workflows_app.engine.packing import entry_file
from workflows_app.engine.problems import WorkflowProblem, no_object
from workflows_app.engine.reading import SharedReading
from workflows_app.engine.source import Library, Source, SourceFormat, Strictness

# So much of other folders one workflow refers to.
MAX_NEIGHBOUR_BYTES = 64 * 1024 * 1024


class Neighbours:
    def __init__(self, *, library: Library, strictness: Strictness, reading: SharedReading) -> None:
        self._library = library
        self._reading = reading
        self._strictness = strictness
        self._left = MAX_NEIGHBOUR_BYTES
        self._files: dict[str, Mapping[str, bytes] | None] = {}
        self._folders: dict[str, Folder] = {}
        self._shelves: dict[str, SkillFolder] = {}
        self._documents: dict[str, Mapping[str, Any]] = {}
        self._unread: dict[str, tuple[WorkflowProblem, ...]] = {}
        self._fragments: dict[str, Fragments] = {}

    @property
    def are_too_large(self) -> bool:
        return self._left < 0

    def unpublished(self, owner: str) -> str:
        """What to do where the workflow is there and nothing of it can be referred to; empty where it is not there, or can."""
        if not owner or owner not in self._library.workflow_ids or self._files_of(owner) is not None:
            return ""
        return f"{owner[:80]!r} is not published: publish it, then save this one again."

    def unread(self, owner: str) -> tuple[WorkflowProblem, ...]:
        """Why what describes the workflow cannot be read; nothing where it can, or where the workflow is not at hand."""
        if self._files_of(owner) is None:
            return ()
        self._document(owner)
        return self._unread.get(owner, ())

    def _files_of(self, owner: str) -> Mapping[str, bytes] | None:
        """None for one that nobody knows, and for whatever is asked when there is too much."""
        if owner not in self._files:
            files = None if self.are_too_large else self._library.folders.get(owner)
            self._left -= sum(map(len, (files or {}).values()))
            self._files[owner] = files
        return self._files[owner]

    def folder(self, owner: str) -> Folder | None:
        files = self._files_of(owner)
        if files is None:
            return None
        if owner not in self._folders:
            self._folders[owner] = sort_files(
                files=files,
                owner=owner,
                prefix=f"{owner}/",
                activities_folder=activities_folder(self._document(owner).get("activitiesDir")),
            )
        return self._folders[owner]

    def shelf(self, owner: str) -> SkillFolder | None:
        folder = self.folder(owner)
        if folder is None:
            return None
        if owner not in self._shelves:
            self._shelves[owner] = SkillFolder(folder, strictness=self._strictness, reading=self._reading)
        return self._shelves[owner]

    def fragments(self, owner: str) -> Fragments | None:
        if self._files_of(owner) is None:
            return None
        if owner not in self._fragments:
            entry = entry_file(Source(format=SourceFormat.ACTIVITY_FOLDER, files=self._files_of(owner) or {}))
            read = fragments_of(self._document(owner), file=f"{owner}/{entry}")
            self._fragments[owner] = replace(read, unread=self.unread(owner))
        return self._fragments[owner]

    def _document(self, owner: str) -> Mapping[str, Any]:
        """What describes the workflow. What is wrong with it is told where that folder is compiled; here only that it cannot be read
        at all, to whoever asks for something that it says.
        """
        if owner not in self._documents:
            self._documents[owner] = self._read(owner, self._files_of(owner) or {})
        return self._documents[owner]

    def _read(self, owner: str, files: Mapping[str, bytes]) -> Mapping[str, Any]:
        path = entry_file(Source(format=SourceFormat.ACTIVITY_FOLDER, files=files))
        if path is None:
            return {}
        file = f"{owner}/{path}"
        document, problems = self._reading.document(data=files[path], file=file, strictness=self._strictness)
        if document is not None and isinstance(document.value, dict) and document.value:
            return document.value
        self._unread[owner] = problems if document is None else (no_object(file, "A workflow"),)
        return {}
