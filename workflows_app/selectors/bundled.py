"""The bundled library as its files say it: for loading it into the database, and for compiling where there is none."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workflows_app.engine.packing import authored_id
from workflows_app.engine.source import Library, Origin, Source, SourceFormat
from workflows_app.selectors.library import with_sources

BUNDLED_ROOT = Path(__file__).resolve().parent.parent / "bundled"

_STEPS = ("steps", "routines")
_ACTIVITIES = "activities"


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledLibrary:
    sources: Mapping[str, Source]
    library: Library


def read_bundled(*, root: Path = BUNDLED_ROOT) -> BundledLibrary:
    """Everything in the folder, by id, and the library that each of them is compiled with."""
    documents = [_document(path) for folder in _STEPS for path in sorted((root / folder).glob("*.json"))]
    folders = [_folder(path) for path in sorted((root / _ACTIVITIES).glob("*")) if path.is_dir()]
    sources = {authored_id(source): source for source in [*documents, *folders]}
    if len(sources) < len(documents) + len(folders) or "" in sources:
        raise ValueError(f"In {root} two workflows have one id, or one has none.")
    library = with_sources(Library(workflow_ids=frozenset(sources)), sources)
    return BundledLibrary(sources=sources, library=library)


def read_folder(path: Path) -> dict[str, bytes]:
    """The plain files under a folder by their relative path; links are not followed, hidden files not read."""
    found = (item for item in sorted(path.rglob("*")) if item.is_file() and not item.is_symlink())
    relative = ((item.relative_to(path), item) for item in found)
    return {
        name.as_posix(): item.read_bytes()
        for name, item in relative
        if not any(part.startswith(".") for part in name.parts)
    }


def links_in(path: Path) -> tuple[Path, ...]:
    """The links under a folder, which `read_folder` does not follow; what is hidden is nobody's."""
    found = (item.relative_to(path) for item in sorted(path.rglob("*")) if item.is_symlink())
    return tuple(path / name for name in found if not any(part.startswith(".") for part in name.parts))


def _document(path: Path) -> Source:
    return Source(format=SourceFormat.STEPS_JSON, files={path.name: path.read_bytes()}, origin=Origin.BUNDLED)


def _folder(path: Path) -> Source:
    return Source(format=SourceFormat.ACTIVITY_FOLDER, files=read_folder(path), origin=Origin.BUNDLED)
