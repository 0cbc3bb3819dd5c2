"""Everything of a team in a folder, for whoever leaves with it: sessions as bundles, sources of workflows, the audit log."""

import gzip
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from uuid import UUID

from sessions_app.engine.tokens import SessionNotHealthyError
from sessions_app.selectors.expiry import root_sessions
from sessions_app.services.bundles.files import export_session
from teams_app import selectors as teams
from teams_app.engine.actors import Actor
from teams_app.engine.counting import counted
from teams_app.engine.errors import PreconditionFailedError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.pages import MAX_LIMIT, PageRequest
from teams_app.engine.values import AuditValue
from workflows_app.selectors.exports import export_workflow, own_workflows

_UNFINISHED = ".unfinished"
_MOST_NAMED = 20


def write_team(*, actor: Actor, folder: Path, now: datetime) -> Iterator[Path]:
    """The files as they are written. One that has no `.unfinished` in its name is whole.

    Raises PreconditionFailedError behind the last one where a session was left out.
    """
    if folder.exists() and any(folder.iterdir()):
        raise PreconditionFailedError(f"{folder} is not empty.", suggestion="Name a folder that is, or a new one.")
    for part in ("sessions", "workflows"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    damaged = []
    for session_id in root_sessions(team_id=actor.team_id):
        try:
            yield _session(actor, session_id, folder / "sessions", now)
        except SessionNotHealthyError:
            damaged.append(to_text(Prefix.SESSION, session_id))
    for workflow_id in own_workflows(actor=actor):
        exported = export_workflow(actor=actor, workflow_id=workflow_id)
        yield _written(folder / "workflows" / exported.filename, exported.data)
    lines = [json.dumps(_told(entry), ensure_ascii=False) for entry in _audit(actor)]
    yield _written(folder / "audit.jsonl", "".join(f"{line}\n" for line in lines).encode())
    if damaged:
        raise PreconditionFailedError(
            f"{counted(len(damaged), 'session')} cannot be written, since what is stored is not what was written: "
            f"{', '.join(damaged[:_MOST_NAMED])}. Everything else is in {folder}.",
            suggestion="./workrail verify_store tells what is wrong with them.",
        )


def _session(actor: Actor, session_id: UUID, folder: Path, now: datetime) -> Path:
    path = folder / f"{to_text(Prefix.SESSION, session_id)}.json.gz"
    begun = path.with_suffix(_UNFINISHED)
    try:
        with begun.open("wb") as target, gzip.GzipFile(filename="", fileobj=target, mode="wb", mtime=0) as archive:
            export_session(actor=actor, session_id=session_id, write=archive.write, now=now)
    except SessionNotHealthyError:
        begun.unlink()
        raise
    return begun.replace(path)


def _written(path: Path, data: bytes) -> Path:
    begun = path.with_suffix(_UNFINISHED)
    begun.write_bytes(data)
    return begun.replace(path)


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
