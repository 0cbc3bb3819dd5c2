"""Everything of a team in a folder, for whoever leaves with it: sessions as bundles, sources of workflows, the audit log.

What is in the folder is signed by its manifest, and checked without a server.
"""

import gzip
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from io import BufferedWriter
from pathlib import Path
from uuid import UUID

from django.conf import settings

from sessions_app.engine.bundles import BundleEntry, BundleInvalidFormatError, Producer
from sessions_app.engine.team_folders import (
    MANIFEST,
    MAX_MANIFEST_BYTES,
    SCHEMA_VERSION,
    FolderManifest,
    check_files,
    read_manifest,
    write_manifest,
)
from sessions_app.engine.tokens import SessionNotHealthyError
from sessions_app.selectors.bundles import moment_text
from sessions_app.selectors.expiry import root_sessions
from sessions_app.services.bundles.files import APPLICATION, export_session
from sessions_app.services.bundles.signing import installation_key
from teams_app import selectors as teams
from teams_app.engine.actors import Actor
from teams_app.engine.counting import counted
from teams_app.engine.errors import PreconditionFailedError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.pages import MAX_LIMIT, PageRequest
from teams_app.engine.values import AuditValue
from teams_app.services.audit_chain import team_faults
from workflows_app.selectors.exports import export_workflow, own_workflows

AUDIT_LOG = "audit.jsonl"
_UNFINISHED = ".unfinished"
_MOST_NAMED = 20


def write_team(*, actor: Actor, folder: Path, now: datetime) -> Iterator[Path]:
    """The files as they are written, the manifest last. One that has no `.unfinished` in its name is whole.

    Raises PreconditionFailedError behind the last one where something is not as it was once written.
    """
    if folder.exists() and any(folder.iterdir()):
        raise PreconditionFailedError(f"{folder} is not empty.", suggestion="Name a folder that is, or a new one.")
    for part in ("sessions", "workflows"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    files: list[BundleEntry] = []
    unsound: list[str] = []
    for session_id in root_sessions(team_id=actor.team_id):
        try:
            files.append(_session(actor, session_id, folder, now))
            yield folder / files[-1].path
        except SessionNotHealthyError:
            unsound.append(to_text(Prefix.SESSION, session_id))
    for workflow_id in own_workflows(actor=actor):
        exported = export_workflow(actor=actor, workflow_id=workflow_id)
        files.append(_written(folder, f"workflows/{exported.filename}", exported.data))
        yield folder / files[-1].path
    entry, is_sound = _audit_log(actor, folder)
    yield folder / entry.path
    files += [entry] if is_sound else []
    unsound += [] if is_sound else [AUDIT_LOG]
    yield _manifest(actor, folder, now, files=files, unsound=unsound)
    if unsound:
        raise PreconditionFailedError(
            f"What is stored of these is not what was written, so nobody vouches for it: {', '.join(unsound[:_MOST_NAMED])} "
            f"({counted(len(unsound), 'part')}). Sessions among them are left out; everything else is in {folder}.",
            suggestion="./workrail verify_store tells what is wrong with them.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedFolder:
    manifest: FolderManifest
    signer: str


def verify_folder(*, folder: Path) -> VerifiedFolder:
    """Everything that can be said of such a folder without a database; raises one of the `BUNDLE_*` errors."""
    place = folder / MANIFEST
    if not place.is_file() or place.stat().st_size > MAX_MANIFEST_BYTES:
        raise BundleInvalidFormatError(
            f"{folder} has no {MANIFEST} that can be read.",
            suggestion="Name a folder that ./workrail teams export has written, or a file.",
        )
    manifest, signer = read_manifest(place.read_bytes())
    found = (path for path in folder.rglob("*") if path != place and (path.is_symlink() or not path.is_dir()))
    check_files(manifest, found={entry.path: entry for entry in (_read(folder, path) for path in found)})
    return VerifiedFolder(manifest=manifest, signer=signer)


def _read(folder: Path, path: Path) -> BundleEntry:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return BundleEntry(path=path.relative_to(folder).as_posix(), sha256=f"sha256:{digest}", bytes=file.tell())


class _SignedFile:
    """What is signed is what was handed in, whatever stands in the file later."""

    def __init__(self, file: BufferedWriter) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._size = 0

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        self._size += len(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def entry(self, path: str) -> BundleEntry:
        return BundleEntry(path=path, sha256=f"sha256:{self._hash.hexdigest()}", bytes=self._size)


def _filled(folder: Path, path: str, fill: Callable[[_SignedFile], object]) -> BundleEntry:
    place = folder / path
    begun = place.with_suffix(_UNFINISHED)
    try:
        with begun.open("wb") as file:
            target = _SignedFile(file)
            fill(target)
    except SessionNotHealthyError:
        begun.unlink()
        raise
    begun.replace(place)
    return target.entry(path)


def _written(folder: Path, path: str, data: bytes) -> BundleEntry:
    return _filled(folder, path, lambda target: target.write(data))


def _session(actor: Actor, session_id: UUID, folder: Path, now: datetime) -> BundleEntry:
    def fill(target: _SignedFile) -> None:
        with gzip.GzipFile(filename="", fileobj=target, mode="wb", mtime=0) as archive:
            export_session(actor=actor, session_id=session_id, write=archive.write, now=now)

    return _filled(folder, f"sessions/{to_text(Prefix.SESSION, session_id)}.json.gz", fill)


def _audit_log(actor: Actor, folder: Path) -> tuple[BundleEntry, bool]:
    """And whether it is what was once written, which is judged of the very state of the tables that is written here."""

    def fill(target: _SignedFile) -> None:
        for entry in _audit(actor):
            target.write(f"{json.dumps(_told(entry), ensure_ascii=False)}\n".encode())

    with teams.one_state():
        entry = _filled(folder, AUDIT_LOG, fill)
        return entry, next(team_faults(actor=actor), None) is None


def _manifest(actor: Actor, folder: Path, now: datetime, *, files: list[BundleEntry], unsound: list[str]) -> Path:
    manifest = FolderManifest(
        folder_schema_version=SCHEMA_VERSION,
        team=to_text(Prefix.TEAM, actor.team_id),
        exported_at=moment_text(now),
        producer=Producer(application=APPLICATION, version=settings.VERSION),
        files=tuple(sorted(files, key=lambda entry: entry.path)),
        not_vouched_for=tuple(unsound),
    )
    return folder / _written(folder, MANIFEST, write_manifest(manifest=manifest, key=installation_key())).path


def _audit(actor: Actor) -> Iterator[AuditValue]:
    after = None
    while True:
        page = teams.list_audit(actor=actor, page=PageRequest(after=after, limit=MAX_LIMIT))
        yield from page.items
        after = page.next_position
        if after is None:
            return


def _told(entry: AuditValue) -> dict[str, object]:
    return {
        "id": to_text(Prefix.AUDIT, entry.id),
        "at": entry.at.isoformat(),
        "actorKind": entry.actor_kind.value,
        "actor": entry.actor_id,
        "actorName": entry.actor_name,
        "door": entry.door.value,
        "action": entry.action,
        "target": entry.target,
        "details": entry.details,
    }
