"""Runs driven by hand that another run triggers: begun with its state, and ended together with its return to work.

A child is one transaction with its parent at both ends. Locks are taken from the child upwards, so none wait for each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction

from sessions_app.engine import landscape, tokens
from sessions_app.engine.children import passed_on
from sessions_app.engine.decisions import Place
from sessions_app.engine.handles import Handle, ParentContext, handle_of
from sessions_app.engine.reply_facts import AwaitedRun
from sessions_app.engine.runs import Dialect
from sessions_app.engine.state import Snapshot
from sessions_app.engine.steering_refusals import CheckpointBlockingError
from sessions_app.engine.tokens import TokenKind
from sessions_app.selectors.handles import read_children
from sessions_app.selectors.standings import Standing, read_tip
from sessions_app.services import children
from sessions_app.services.appends import Append
from sessions_app.services.attempts import retired_token, snapshot_of
from sessions_app.services.keys import current_keys, read_token
from sessions_app.services.minting import Minting
from sessions_app.services.stood import stood_at
from sessions_app.services.transitions import carry_out
from teams_app.engine.actors import Actor
from workflows_app.engine.program import Program, Trigger
from workflows_app.engine.values import Published


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The run that a child is begun from. Without a trigger for the child it is linked and does not wait."""

    standing: Standing
    program: Program
    snapshot: Snapshot
    trigger: Trigger | None

    @property
    def context(self) -> Mapping[str, Any]:
        return passed_on(self.trigger, self.snapshot) if self.trigger else {}

    def handle(self, place: Place) -> Handle:
        """Of the child that begins at the place."""
        return handle_of(
            session_id=place.session_id,
            run_id=place.run_id,
            dialect=Dialect.NAVIGATION,
            agent_id="",
            parent=ParentContext(
                run_id=self.standing.run_id,
                session_id=self.standing.session_id,
                workflow_id=self.standing.workflow_id,
                activity=self.snapshot.position.activity,
                version=self.program.version,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A run that ends, for which its parent waits."""

    handle: Handle
    snapshot: Snapshot
    program: Program
    workflow_id: str


def parent_of(*, actor: Actor, state_token: str, published: Published, child: Program) -> Parent:
    """The run where the state stands now; raises one of the `TOKEN_*` errors."""
    token, _ = read_token(kind=TokenKind.STATE, text=state_token)
    if token.retired:
        raise retired_token()
    standing, program, snapshot = stood_at(actor=actor, node_id=token.node_id)
    trigger = None
    if not (snapshot.position.complete or snapshot.is_handed_over or snapshot.blocked):
        names = frozenset({published.workflow_id, published.requested_id, child.id})
        at = program.activity(snapshot.position.activity)
        trigger = children.trigger_for(actor, at, published.workflow_id, names)
    if trigger is not None:
        _refuse_at_checkpoint(program, snapshot)
    return Parent(standing=standing, program=program, snapshot=snapshot, trigger=trigger)


def _refuse_at_checkpoint(program: Program, snapshot: Snapshot) -> None:
    """Nothing is triggered while a question waits, as the landscape offers it."""
    land = landscape.survey(program=program, snapshot=snapshot)
    if land is not None and land.checkpoint is not None:
        raise CheckpointBlockingError(
            f"Checkpoint {land.checkpoint.id} of the run that parent_state names waits for an answer.",
            suggestion="Have it answered first, then start the triggered workflow.",
        )


def begin_with_parent(minting: Minting, plan: Append, parent: Parent, *, child: Child) -> bool:
    """The child's first transition, with its parent's suspension. False when another writer was first."""
    with transaction.atomic(durable=True):
        written = (
            carry_out(actor=minting.actor, plan=plan)
            and (parent.trigger is None or children.suspend(minting, parent.standing, run_id=child.handle.run_id))
            and (not child.snapshot.position.complete or _release(minting, child))
        )
        if not written:
            transaction.set_rollback(True)
    return written


def awaited_child(*, actor: Actor, standing: Standing, program: Program, snapshot: Snapshot) -> Child | None:
    """The run that ends with this state, when another one waits for it."""
    found = read_children(team_id=actor.team_id, run_ids=[standing.run_id])
    handle = next((child.handle for child in found), None)
    if handle is None or handle.parent is None:
        return None
    tip = read_tip(team_id=actor.team_id, run_id=handle.parent.run_id)
    if tip is None or handle.run_id.hex not in snapshot_of(tip).waits_for:
        return None
    return Child(handle=handle, snapshot=snapshot, program=program, workflow_id=standing.workflow_id)


def end_with_parent(minting: Minting, plan: Append, child: Child) -> bool:
    """The child's last transition, with its parent's return to work. False when another writer was first."""
    with transaction.atomic(durable=True):
        written = carry_out(actor=minting.actor, plan=plan) and _release(minting, child)
        if not written:
            transaction.set_rollback(True)
    return written


def _release(minting: Minting, child: Child) -> bool:
    return children.release(minting, child.handle, child.snapshot, program=child.program, workflow_id=child.workflow_id)


def awaited_by(*, actor: Actor, snapshot: Snapshot) -> Sequence[AwaitedRun]:
    """The runs that this one waits for, with the states to take them on with."""
    found = read_children(team_id=actor.team_id, run_ids=[UUID(hex=run) for run in snapshot.waits_for])
    ring = current_keys().ring
    return [
        AwaitedRun(
            workflow=child.workflow_id,
            state=tokens.mint(keyring=ring, kind=TokenKind.STATE, node_id=child.tip_node_id),
        )
        for child in found
    ]
