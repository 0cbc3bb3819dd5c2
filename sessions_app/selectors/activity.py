"""Lists by the last activity: found by its window, which is indexed, and sorted by its moment within that.

A window begins at or before the moments in it, so whatever sorts by both sorts by the moment alone.
"""

from datetime import datetime
from uuid import UUID

from django.db.models import Q

from sessions_app.engine.runs import ACTIVITY_WINDOW
from sessions_app.models import Run, WorkSession

NEWEST_FIRST = ("-activity_window", "-last_activity_at", "id")
OLDEST_FIRST = ("activity_window", "last_activity_at", "-id")
WINDOW_SQL = f"interval '{ACTIVITY_WINDOW.total_seconds():.0f} seconds'"


def active_since(at: datetime) -> Q:
    return Q(activity_window__gt=at - ACTIVITY_WINDOW, last_activity_at__gte=at)


def active_before(at: datetime) -> Q:
    return Q(activity_window__lt=at, last_activity_at__lt=at)


def behind(at: datetime, row_id: UUID) -> Q:
    """What comes after this place in a list with the newest first."""
    return Q(activity_window__lte=at) & (Q(last_activity_at__lt=at) | Q(last_activity_at=at, pk__gt=row_id))


def ahead(at: datetime, row_id: UUID) -> Q:
    """The same with the oldest first."""
    later = Q(last_activity_at__gt=at) | Q(last_activity_at=at, pk__lt=row_id)
    return Q(activity_window__gt=at - ACTIVITY_WINDOW) & later


def activity_position(row: WorkSession | Run) -> str:
    """Where a list that begins with the latest activity goes on."""
    return f"{row.last_activity_at.isoformat()} {row.id}"


def read_activity_position(text: str) -> tuple[datetime, UUID]:
    at, _, row_id = text.partition(" ")
    return datetime.fromisoformat(at), UUID(row_id)
