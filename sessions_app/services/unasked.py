"""Gates that runs reached before their questions were kept: nobody was asked, and nobody could answer."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from sessions_app.engine.checkpoints import shown_at
from sessions_app.engine.decisions import ChangePreferences, PreferenceChange
from sessions_app.engine.runs import AttemptKind, RunStatus
from sessions_app.engine.tokens import NONCE_BYTES
from sessions_app.models import Run, WorkSession
from sessions_app.selectors.standings import read_standing
from sessions_app.services.answered import Use
from sessions_app.services.attempts import snapshot_of
from sessions_app.services.keys import current_keys
from sessions_app.services.minting import Entropy
from sessions_app.services.runs import use_once
from sessions_app.services.upkeep import require_system
from teams_app.engine.actors import Actor, system_actor
from workflows_app.selectors.programs import load_program

_UNDER_WAY = (RunStatus.IN_PROGRESS.value, RunStatus.BLOCKED.value)


def ask_unasked(*, actor: Actor, session_id: UUID, now: datetime, entropy: Entropy) -> int:
    """Ask what runs of the session wait for since before questions were kept; returns how many were asked."""
    require_system(actor)
    with transaction.atomic(durable=True):
        # The lock of the session's one writer: no tip moves while it is looked at.
        locked = WorkSession.objects.select_for_update(no_key=True).get(pk=session_id)
        waiting = Run.objects.filter(session_id=session_id, status__in=_UNDER_WAY).order_by("id")
        of_team = system_actor(team_id=locked.team_id, door=actor.door)
        return sum(_ask(of_team, run.tip_node_id, now=now, entropy=entropy) for run in waiting)


def _ask(actor: Actor, node_id: UUID, *, now: datetime, entropy: Entropy) -> bool:
    standing = read_standing(team_id=actor.team_id, node_id=node_id, nonce=b"")
    if standing is None:
        return False
    snapshot = snapshot_of(standing)
    if snapshot.requests or snapshot.is_handed_over:
        return False
    if shown_at(program=load_program(standing.workflow_hash), snapshot=snapshot) is None:
        return False
    use = Use(node_id=node_id, nonce=entropy(NONCE_BYTES), kind=AttemptKind.ACK)
    same = ChangePreferences(change=PreferenceChange())
    use_once(actor, use, same, current_keys(), retired=False, now=now, entropy=entropy)
    return True
