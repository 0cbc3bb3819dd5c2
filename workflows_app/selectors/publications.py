"""What is published under an id, remembered for a moment: for calls that only tell of it and must not pay for asking."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection

from teams_app.engine.actors import Actor, Permission
from workflows_app.selectors.asked import asked

REMEMBERED_FOR = timedelta(seconds=5)
_MOST = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestPublication:
    workflow_hash: str
    version: str


# Of the team's bindings where it has some; an id wins over an alias, as in `find_workflow`.
_READ = """
SELECT COALESCE(v.program_id, r.program_id), w.version
FROM workflows_app_workflow w
LEFT JOIN workflows_app_revision r ON r.id = w.published_id
LEFT JOIN workflows_app_variant v ON v.revision_id = r.id AND v.team_id = %(team)s
WHERE (w.team_id = %(team)s OR w.team_id IS NULL)
  AND (w.workflow_id = %(name)s
       OR w.id IN (SELECT a.workflow_id FROM workflows_app_alias a WHERE a.team_id = %(team)s AND a.alias = %(name)s))
ORDER BY w.workflow_id = %(name)s DESC
LIMIT 1
"""

_Entry = tuple[datetime, LatestPublication | None]
_remembered: OrderedDict[tuple[UUID, str], _Entry] = OrderedDict()
_lock = threading.Lock()


def published_lately(*, actor: Actor, workflow_id: str, now: datetime) -> LatestPublication | None:
    """As it was at most `REMEMBERED_FOR` before `now`; None where nothing is published under the id."""
    key = (actor.team_id, workflow_id)
    found = _remembered.get(key)
    if found is not None and abs(now - found[0]) < REMEMBERED_FOR:
        return found[1]
    publication = read_publication(actor=actor, workflow_id=workflow_id)
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


@asked
def read_publication(*, actor: Actor, workflow_id: str) -> LatestPublication | None:
    """What `find_published` would say of it, in one row."""
    actor.require(Permission.READ_WORKFLOWS)
    with connection.cursor() as cursor:
        cursor.execute(_READ, {"team": actor.team_id, "name": workflow_id})
        row = cursor.fetchone()
    return None if row is None or row[0] is None else LatestPublication(workflow_hash=row[0], version=row[1])
