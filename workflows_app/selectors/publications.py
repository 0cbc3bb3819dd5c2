"""What is published under an id, remembered for a moment: for calls that only tell of it and must not pay for asking."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from teams_app.engine.actors import Actor
from teams_app.engine.errors import NotFoundError, PreconditionFailedError
from workflows_app.selectors.workflows import find_published

REMEMBERED_FOR = timedelta(seconds=5)
_MOST = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestPublication:
    workflow_hash: str
    version: str


_Entry = tuple[datetime, LatestPublication | None]
_remembered: OrderedDict[tuple[UUID, str], _Entry] = OrderedDict()
_lock = threading.Lock()


def published_lately(*, actor: Actor, workflow_id: str, now: datetime) -> LatestPublication | None:
    """As it was at most `REMEMBERED_FOR` before `now`; None where nothing is published under the id."""
    key = (actor.team_id, workflow_id)
    found = _remembered.get(key)
    if found is not None and abs(now - found[0]) < REMEMBERED_FOR:
        return found[1]
    publication = _read(actor, workflow_id)
    with _lock:
        _remembered[key] = (now, publication)
        _remembered.move_to_end(key)
        while len(_remembered) > _MOST:
            _remembered.popitem(last=False)
    return publication


def forget_publications() -> None:
    """Something was published or retired: this process asks again."""
    with _lock:
        _remembered.clear()


def _read(actor: Actor, workflow_id: str) -> LatestPublication | None:
    try:
        published = find_published(actor=actor, workflow_id=workflow_id)
    except (NotFoundError, PreconditionFailedError):
        return None
    return LatestPublication(workflow_hash=published.workflow_hash, version=published.version)
