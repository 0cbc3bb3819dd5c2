"""Where a run driven by hand stands, by a state that an agent holds: what goes on without it is found from there."""

from uuid import UUID

from sessions_app.engine import landscape
from sessions_app.engine.state import Snapshot, is_same_work, snapshot_from_bytes
from sessions_app.selectors import branches
from sessions_app.selectors.standings import Standing, read_standing
from sessions_app.services.attempts import snapshot_of, unknown_node
from teams_app.engine.actors import Actor
from workflows_app.engine.program import Program
from workflows_app.selectors.programs import load_program


def stood_at(*, actor: Actor, node_id: UUID) -> tuple[Standing, Program, Snapshot]:
    """The node, or where the same work stands by now: after a person's answer, or when a triggered run begins or ends."""
    standing = read_standing(team_id=actor.team_id, node_id=node_id, nonce=b"")
    if standing is None:
        raise unknown_node()
    program = load_program(standing.workflow_hash)
    snapshot = snapshot_of(standing)
    leaf = branches.newest_leaf(actor=actor, node_id=node_id) if standing.has_children else None
    if leaf is not None and (
        landscape.waits_for_a_person(program=program, snapshot=snapshot)
        or is_same_work(snapshot, snapshot_from_bytes(leaf.snapshot))
    ):
        # The leaf may have got a successor since it was found: only a node that is read without one is read with its head.
        return stood_at(actor=actor, node_id=leaf.node_id)
    return standing, program, snapshot
