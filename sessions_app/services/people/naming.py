"""People name runs and sessions. The log keeps each name; what a run was begun for stays its goal."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from sessions_app.engine.drafts import name_draft
from sessions_app.models import Run, WorkSession
from sessions_app.selectors.standings import SessionStanding, read_session
from sessions_app.services.moves.moving import Entropy, Tries
from sessions_app.services.store.session_events import append_to_session
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, NotFoundError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.names import require_seen
from teams_app.engine.normal_forms import trimmed
from teams_app.services.audit import record_audit

MAX_NAME_CHARACTERS = 256


def rename_session(*, actor: Actor, session_id: UUID, name: str, now: datetime, entropy: Entropy) -> None:
    """What it is called already is not recorded again."""
    actor.require(Permission.STEER_RUNS)
    _name(actor, session_id, None, name, now=now, entropy=entropy)


def rename_run(*, actor: Actor, run_id: UUID, name: str, now: datetime, entropy: Entropy) -> None:
    """Its goal stays what its agent was told. What it is called already is not recorded again."""
    actor.require(Permission.STEER_RUNS)
    row = Run.objects.filter(pk=run_id, team_id=actor.team_id).order_by("pk").first()
    if row is None:
        raise NotFoundError("There is no such run.", suggestion="List the runs of your team for their ids.")
    _name(actor, row.session_id, run_id, name, now=now, entropy=entropy)


def _name(actor: Actor, session_id: UUID, run_id: UUID | None, name: str, *, now: datetime, entropy: Entropy) -> None:
    said = " ".join(name.split())
    if not 0 < len(said) <= MAX_NAME_CHARACTERS or not trimmed(said):
        raise InvalidInputError(
            f"A name has 1 to {MAX_NAME_CHARACTERS} characters, and some that are seen.",
            suggestion="Say in a few words what the work is.",
        )
    require_seen(said, what="The name")
    tries = Tries()
    while True:
        tries.begin()
        standing = read_session(team_id=actor.team_id, session_id=session_id)
        if standing is None:
            raise NotFoundError("There is no such session.", suggestion="List the sessions of your team for their ids.")
        if _written(actor, standing, run_id, said, now=now, entropy=entropy):
            return


@transaction.atomic(durable=True)
def _written(
    actor: Actor, standing: SessionStanding, run_id: UUID | None, name: str, *, now: datetime, entropy: Entropy
) -> bool:
    if _called(standing.session_id, run_id) == name:
        return True
    columns: dict[str, Any] = {} if run_id else {"title": name}
    draft = name_draft(name=name, run_id=run_id, head=standing.head)
    if not append_to_session(actor=actor, standing=standing, draft=draft, columns=columns, now=now, entropy=entropy):
        return False
    if run_id is not None:
        # The session's row is locked by now: whoever names the run as well comes before or after.
        Run.objects.filter(pk=run_id, team_id=actor.team_id).update(name=name)
    record_audit(
        actor=actor,
        action="session.renamed" if run_id is None else "run.renamed",
        target=to_text(Prefix.SESSION, standing.session_id) if run_id is None else to_text(Prefix.RUN, run_id),
        now=now,
        details={"to": name},
    )
    return True


def _called(session_id: UUID, run_id: UUID | None) -> str | None:
    if run_id is None:
        return WorkSession.objects.filter(pk=session_id).values_list("title", flat=True).first()
    return Run.objects.filter(pk=run_id).values_list("name", flat=True).first()
