"""What every try of a transition shares: where it stands, where it lands, and what it is refused with."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.conf import settings

from sessions_app.engine import checkpoints
from sessions_app.engine.decisions import Decision, Place, PreferenceChange, Warned, WarningCode
from sessions_app.engine.runs import ENDED, STOPPED
from sessions_app.engine.state import Snapshot, Stop
from sessions_app.engine.tokens import (
    NONCE_BYTES,
    TokenBadSignatureError,
    TokenSessionLockedError,
    TokenUnknownNodeError,
)
from sessions_app.selectors.snapshots import sound_snapshot
from sessions_app.selectors.standings import Standing, read_tip
from sessions_app.services.appends import NewTip
from sessions_app.services.minting import Landing, Minting
from teams_app.engine.actors import Actor, ActorKind, Permission
from teams_app.engine.errors import HumanRequiredError, NotFoundError, PreconditionFailedError
from workflows_app.engine.program import Autonomy, Program
from workflows_app.selectors.publications import published_lately
from workflows_app.selectors.workflows import find_published

# A conflict is only seen after the other writer has committed, so each try is somebody's progress.
MAX_TRIES = 128


def snapshot_of(standing: Standing) -> Snapshot:
    """The state behind a node."""
    return sound_snapshot(data=standing.snapshot, digest=standing.snapshot_digest)


def place_at(minting: Minting, standing: Standing, *, nonce: bytes | None = None) -> Place:
    """Where a transition from this node lands. Without a nonce it is an attempt of its own."""
    return Place(
        session_id=standing.session_id,
        run_id=standing.run_id,
        node_id=standing.node_id,
        next_node=minting.new_id(),
        nonce=minting.entropy(NONCE_BYTES) if nonce is None else nonce,
        workflow_id=standing.workflow_id,
        workflow_hash=standing.workflow_hash,
        has_children=standing.has_children,
        has_critical_gaps=standing.has_gaps,
        at_ms=minting.unix_ms,
        min_response_ms=settings.CHECKPOINT_MIN_RESPONSE_MS,
        due_ms=default_due_ms(),
        stop=_stop_of(minting.actor.team_id, standing),
    )


def _stop_of(team_id: UUID, standing: Standing) -> Stop | None:
    """That the run is stopped is told by its row, and by whom and why by its tip."""
    if standing.run_status not in STOPPED:
        return None
    tip = read_tip(team_id=team_id, run_id=standing.run_id)
    return snapshot_of(tip).stop if tip else None


def landing_at(decision: Decision, now: datetime) -> Landing:
    completed = now if decision.status in ENDED else None
    return Landing(tip=decision.place.next_node, status=decision.status, completed_at=completed)


def landing_of(program: Program, decision: Decision, standing: Standing, now: datetime) -> Landing:
    """The new node. The inbox is told when the run went on from elsewhere than it stood."""
    landing = landing_at(decision, now)
    if standing.node_id == standing.tip_node_id or not checkpoints.may_ask(program):
        return landing
    asked = decision.snapshot.asked
    return replace(landing, moved=NewTip(asked=UUID(hex=asked.request) if asked else None))


def person_of(actor: Actor) -> str:
    """The person who steers runs, as far as their word is a person's; empty for anybody else, whose choice waives nothing."""
    return actor.id if actor.is_human and actor.may(Permission.STEER_RUNS) else ""


def chosen_by(actor: Actor, change: PreferenceChange | None) -> PreferenceChange | None:
    return None if change is None else replace(change, person=person_of(actor))


def set_by(actor: Actor, change: PreferenceChange) -> PreferenceChange:
    """What a person sets, and no agent. Never to stop is a waiver of every question, so it asks for the same right."""
    if actor.token is not None and not actor.is_human and change.autonomy is Autonomy.NEVER_STOP:
        raise HumanRequiredError(
            "Never to stop waives the questions for people, and tokens of this team do not answer those.",
            suggestion="Choose it in the Studio, signed in, or another mode.",
        )
    is_person = actor.kind is ActorKind.PERSON and actor.may(Permission.STEER_RUNS)
    return replace(change, person=actor.id if is_person else "")


def approves(actor: Actor) -> bool:
    """Whether what the actor acknowledges is approved by that."""
    return actor.is_human and actor.may(Permission.ANSWER_CHECKPOINTS)


def default_due_ms() -> int | None:
    return settings.CHECKPOINT_DUE_MS or None


def drift_of(actor: Actor, standing: Standing) -> tuple[Warned, ...]:
    """The published program is another than the pinned one: the run keeps its own, and says so."""
    if not actor.may(Permission.READ_WORKFLOWS):
        return ()
    try:
        published = find_published(actor=actor, workflow_id=standing.workflow_id)
    except (NotFoundError, PreconditionFailedError):
        return _drifted(standing, None)
    return _drifted(standing, published.workflow_hash)


def drift_known(actor: Actor, standing: Standing, *, now: datetime) -> tuple[Warned, ...]:
    """As `drift_of`, a few seconds late: whoever goes on pays no round trip for it."""
    if not actor.may(Permission.READ_WORKFLOWS):
        return ()
    published = published_lately(actor=actor, workflow_id=standing.workflow_id, now=now)
    return _drifted(standing, None if published is None else published.workflow_hash)


def _drifted(standing: Standing, published: str | None) -> tuple[Warned, ...]:
    if published is None:
        message = f"{standing.workflow_id} is no longer published; this run goes on with the program it began with."
        return (Warned(code=WarningCode.WORKFLOW_CHANGED, message=message),)
    if published == standing.workflow_hash:
        return ()
    message = (
        f"{standing.workflow_id} was changed since this run began; the run goes on with the program it began with."
    )
    return (Warned(code=WarningCode.WORKFLOW_CHANGED, message=message),)


def unknown_node() -> TokenUnknownNodeError:
    return TokenUnknownNodeError(
        "No step of your team stands behind this token.",
        suggestion="Copy the token of the last reply once more, or find the run again.",
    )


def retired_token() -> TokenBadSignatureError:
    return TokenBadSignatureError(
        "The token was signed with a key that is no longer trusted.",
        suggestion="Find the run again for fresh tokens.",
    )


def busy() -> TokenSessionLockedError:
    return TokenSessionLockedError(
        "Other calls kept writing to this session.",
        suggestion="Wait a second and repeat the same call with the same tokens; it is answered once.",
    )
