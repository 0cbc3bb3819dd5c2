"""The other workflow folders that one may refer to. A folder is sorted, and a skill read, when something first asks."""

from workflows_app.engine.activities.folder import Folder, sort_files
from workflows_app.engine.activities.skills import Shelf
from workflows_app.engine.source import Library, Strictness


class Neighbours:
    def __init__(self, *, library: Library, strictness: Strictness) -> None:
        self._library = library
        self._strictness = strictness
        self._folders: dict[str, Folder] = {}
        self._shelves: dict[str, Shelf] = {}

    def folder(self, owner: str) -> Folder | None:
        files = self._library.folders.get(owner)
        if files is None:
            return None
        if owner not in self._folders:
            self._folders[owner] = sort_files(files=files, owner=owner, prefix=f"{owner}/")
        return self._folders[owner]

    def shelf(self, owner: str) -> Shelf | None:
        folder = self.folder(owner)
        if folder is None:
            return None
        if owner not in self._shelves:
            self._shelves[owner] = Shelf(folder, strictness=self._strictness)
        return self._shelves[owner]
