"""Where a run that is steered has ended without anybody saying so."""

from dataclasses import replace as with_position

from msgspec.structs import replace

from sessions_app.engine import landscape
from sessions_app.engine.landscape import Waiting
from sessions_app.engine.state import Snapshot
from workflows_app.engine import walker
from workflows_app.engine.program import Loop, Program
from workflows_app.engine.walks import Walk


def with_nothing_to_say(*, program: Program, walk: Walk, snapshot: Snapshot) -> Walk:
    """A walk by hand goes on past what nobody has to decide: loops without any round, and the end where nothing is left."""
    return _ended_with_nothing_left(program, _past_empty_loops(program, walk, snapshot), snapshot)


def _past_empty_loops(program: Program, walk: Walk, snapshot: Snapshot) -> Walk:
    while walk.failure is None and (loop := _loop_at_hand(program, walk, snapshot)) is not None:
        at, variables = walk.position, snapshot.variables
        if not walker.passes_over(program=program, position=at, loop_id=loop.id, variables=variables):
            return walk
        further = walker.leave_loop(program=program, position=at, loop_id=loop.id, variables=variables)
        walk = with_position(walk, position=further.position, notes=(*walk.notes, *further.notes))
    return walk


def _loop_at_hand(program: Program, walk: Walk, snapshot: Snapshot) -> Loop | None:
    land = landscape.survey(program=program, snapshot=replace(snapshot, position=walk.position))
    return land.loop if land is not None and land.waiting is Waiting.LOOP else None


def _ended_with_nothing_left(program: Program, walk: Walk, snapshot: Snapshot) -> Walk:
    """Where nothing can be done and no way is declared, the run is complete: nobody has to say so."""
    land = landscape.survey(program=program, snapshot=replace(snapshot, position=walk.position))
    if land is None or land.waiting is not Waiting.WAY_OUT or land.may_do or walk.failure is not None:
        return walk
    if [way.target for way in land.ways] != [walker.end_name(program)] or land.activity.decisions:
        return walk
    finished = dict.fromkeys((*walk.position.completed_activities, land.activity.id))
    position = replace(walk.position, completed_activities=tuple(finished), pending="", pending_item="", complete=True)
    return with_position(walk, position=position)
