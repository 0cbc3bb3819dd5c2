"""The parent's side of a run that it triggered: it is suspended when the child begins, and goes on when that is complete.

Both are written in the transaction of the child's own transition, so that neither session says what the other does not.
"""

from contextlib import suppress
from uuid import UUID

from sessions_app.engine import children
from sessions_app.engine.decide import decide
from sessions_app.engine.decisions import Command, Suspend, TakeBack
from sessions_app.engine.handles import Handle
from sessions_app.engine.state import Snapshot
from sessions_app.selectors.standings import Standing, read_tip
from sessions_app.services import store
from sessions_app.services.attempts import landing_of, place_at, snapshot_of
from sessions_app.services.minting import Minting
from teams_app.engine.actors import Actor
from teams_app.engine.errors import NotFoundError, PreconditionFailedError
from workflows_app.engine.program import Activity, Program, Trigger
from workflows_app.selectors.programs import load_program
from workflows_app.selectors.workflows import find_published


def trigger_for(actor: Actor, activity: Activity | None, workflow_id: str, names: frozenset[str]) -> Trigger | None:
    """The trigger of the activity that starts this workflow, by whichever of its names: an id, an alias, a bare name."""
    found = children.trigger_of(activity, names)
    if found is not None:
        return found
    for trigger in children.triggers_of(activity):
        with suppress(NotFoundError, PreconditionFailedError):
            if find_published(actor=actor, workflow_id=trigger.workflow).workflow_id == workflow_id:
                return trigger
    return None


def suspend(minting: Minting, standing: Standing, *, run_id: UUID) -> bool:
    """False when the parent's session was written to meanwhile."""
    return _moved(minting, standing, Suspend(run=run_id.hex))


def release(minting: Minting, child: Handle, snapshot: Snapshot, *, program: Program, workflow_id: str) -> bool:
    """The parent, if it waits for this run, goes on with what the run gives back. False when another writer was first."""
    if child.parent is None:
        return True
    standing = read_tip(team_id=minting.actor.team_id, run_id=child.parent.run_id)
    if standing is None:
        return True
    before = snapshot_of(standing)
    if child.run_id.hex not in before.waits_for:
        return True
    parent = load_program(standing.workflow_hash)
    at = parent.activity(child.parent.activity)
    trigger = trigger_for(minting.actor, at, workflow_id, frozenset({program.id, workflow_id}))
    returned = children.given_back(parent=parent, trigger=trigger, before=before, child=snapshot)
    return _moved(minting, standing, TakeBack(run=child.run_id.hex, returned=returned))


def _moved(minting: Minting, standing: Standing, command: Command) -> bool:
    program = load_program(standing.workflow_hash)
    decision = decide(
        program=program, snapshot=snapshot_of(standing), command=command, place=place_at(minting, standing)
    )
    plan = minting.plan(
        program=program,
        decision=decision,
        head=standing.head,
        landing=landing_of(program, decision, standing, minting.now),
        attempt=None,
    )
    return store.append(plan)
