"""A gap that a run went on with, closed when what was missing has been supplied."""

from datetime import datetime
from uuid import UUID

from msgspec import structs

from sessions_app.engine import outputs
from sessions_app.engine.decisions import IdentifiedGap
from sessions_app.engine.drafts import gap_draft, gap_name
from sessions_app.engine.reasons import Gap, GapSeverity
from sessions_app.engine.runs import RunStatus
from sessions_app.selectors.gaps import KnownGap, find_gap
from sessions_app.services.moves.moving import Entropy, Mover, Tries, mover_of
from sessions_app.services.store.appends import Append
from sessions_app.services.store.rows import gap_row
from sessions_app.services.store.writing import write
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, NotFoundError
from teams_app.engine.normal_forms import trimmed

MAX_SUMMARY_CHARACTERS = 512


def resolve_gap(*, actor: Actor, gap_id: UUID, summary: str, now: datetime, entropy: Entropy) -> None:
    """Record that a gap is closed, and how. One that is closed already stays as it is.

    A complete run whose last open critical gap this was is complete without gaps from now on.
    """
    actor.require(Permission.STEER_RUNS)
    outputs.check_text(summary, name="summary", max_characters=MAX_SUMMARY_CHARACTERS)
    if not trimmed(summary):
        raise InvalidInputError("The gap was closed by nothing.", suggestion="Say in summary what supplied it.")
    mover = mover_of(actor, now=now, entropy=entropy)
    tries = Tries()
    while True:
        tries.begin()
        found = find_gap(actor=actor, gap_id=gap_id)
        if found is None:
            raise NotFoundError("There is no such gap.", suggestion="Read the run for the ids of its gaps.")
        if found.is_resolved or write(actor=actor, plans=[_resolution(mover, found, summary)]):
            return


def _resolution(mover: Mover, found: KnownGap, summary: str) -> Append:
    made = mover.new_id()
    gap = Gap(
        severity=GapSeverity.INFO,
        category=found.category,
        detail=found.detail,
        summary=summary,
        resolves=gap_name(found.gap_id),
    )
    note = mover.note(
        session_id=found.session_id,
        head=found.head,
        drafts=[gap_draft(gap_id=made, gap=gap, run_id=found.run_id, node_id=found.node_id)],
        run_id=found.run_id,
    )
    closes = found.is_last and found.run_status is RunStatus.COMPLETE_WITH_GAPS
    return structs.replace(
        note,
        run_status=RunStatus.COMPLETE if closes else None,
        completed_at=found.completed_at,
        gaps=[
            gap_row(
                IdentifiedGap(gap_id=made, gap=gap),
                node_id=found.node_id,
                run_id=found.run_id,
                event_index=found.head.next_index,
                now=mover.now,
            )
        ],
        resolved=[(found.gap_id, made)],
    )
