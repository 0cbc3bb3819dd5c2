"""Views of a list that a person keeps under a name, for themselves or for the team."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from sessions_app.engine.run_query import MAX_VIEW_NAME_CHARACTERS, ViewedList, read_query
from sessions_app.models import SavedView
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, NotFoundError, PreconditionFailedError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.names import require_seen
from teams_app.engine.normal_forms import trimmed
from teams_app.services.audit import record_audit
from teams_app.services.ids import new_id
from teams_app.services.seats import hold_seat

MAX_VIEWS = 20


@transaction.atomic(durable=True)
def save_view(*, actor: Actor, viewed: ViewedList, name: str, query: str, is_shared: bool, now: datetime) -> None:
    """A name that the person has given before names this view from now on. To share one is to steer what others see."""
    actor.require(Permission.STEER_RUNS if is_shared else Permission.READ_RUNS)
    said, asked = " ".join(name.split()), " ".join(query.split())
    _check(said, asked, now)
    # Of two that save at once one waits here, and counts what the other has saved.
    hold_seat(actor=actor)
    own = SavedView.objects.filter(team_id=actor.team_id, viewed=viewed.value, owner=actor.id)
    if own.exclude(name=said).count() >= MAX_VIEWS:
        raise PreconditionFailedError(f"You have saved {MAX_VIEWS} views.", suggestion="Forget one of them first.")
    SavedView.objects.update_or_create(
        team_id=actor.team_id,
        viewed=viewed.value,
        owner=actor.id,
        name=said,
        defaults={"query": asked, "is_shared": is_shared},
        create_defaults={"id": new_id(now=now), "query": asked, "is_shared": is_shared, "created_at": now},
    )
    if is_shared:
        _record(actor, "view.shared", now, name=said, query=asked)


@transaction.atomic(durable=True)
def forget_view(*, actor: Actor, view_id: UUID, now: datetime) -> None:
    """One's own; what is shared with the team is also forgotten by its owners."""
    actor.require(Permission.READ_RUNS)
    row = SavedView.objects.select_for_update().filter(team_id=actor.team_id, pk=view_id).order_by("pk").first()
    if row is None or (row.owner != actor.id and not row.is_shared):
        raise NotFoundError("There is no such view.", suggestion="Open the list for its views.")
    if row.owner != actor.id:
        actor.require(Permission.MANAGE_TEAM)
    row.delete()
    if row.is_shared:
        _record(actor, "view.forgotten", now, name=row.name)


def _check(name: str, query: str, now: datetime) -> None:
    if not 0 < len(name) <= MAX_VIEW_NAME_CHARACTERS or not trimmed(name):
        raise InvalidInputError(
            f"The name of a view has 1 to {MAX_VIEW_NAME_CHARACTERS} characters.", suggestion="Choose a short name."
        )
    require_seen(name, what="The name")
    read_query(text=query, now=now)


def _record(actor: Actor, action: str, now: datetime, **details: str) -> None:
    record_audit(actor=actor, action=action, target=to_text(Prefix.TEAM, actor.team_id), now=now, details=details)
