"""Views of a list that people have saved: their own, and those that others share with the team."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Case, Q, When

from sessions_app.engine.run_query import ViewedList
from sessions_app.models import SavedView
from teams_app.engine.actors import Actor, Permission

_MOST_SHOWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedViewValue:
    id: UUID
    name: str
    query: str
    is_own: bool
    is_shared: bool


def list_views(*, actor: Actor, viewed: ViewedList) -> Sequence[SavedViewValue]:
    """One's own first, in the order in which they were saved, however many others share. One query."""
    actor.require(Permission.READ_RUNS)
    own = Q(owner=actor.id)
    rows = SavedView.objects.filter(own | Q(is_shared=True), team_id=actor.team_id, viewed=viewed.value)
    return [
        SavedViewValue(id=row.id, name=row.name, query=row.query, is_own=row.owner == actor.id, is_shared=row.is_shared)
        for row in rows.order_by(Case(When(own, then=0), default=1), "id")[:_MOST_SHOWN]
    ]
