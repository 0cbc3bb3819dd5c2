"""Variables that an answer has set are not the agent's to overwrite before the transition that reads them."""

from collections.abc import Iterable, Mapping
from typing import Any

from sessions_app.engine.state import Snapshot
from teams_app.engine.errors import InvalidInputError
from workflows_app.engine import conditions, walks
from workflows_app.engine.program import Activity, Gate, Program, walk_items
from workflows_app.engine.walks import Position

_ABSENT = object()


def refuse_overwritten(snapshot: Snapshot, variables: Mapping[str, Any]) -> None:
    """`variables` are those with what an agent sends. The same value again overwrites nothing."""
    changed = [
        name for name in snapshot.settled if variables.get(name, _ABSENT) != snapshot.variables.get(name, _ABSENT)
    ]
    if changed:
        raise InvalidInputError(
            f"An answer has set {', '.join(changed)}; nobody but whoever answers changes that before the run goes by it.",
            suggestion="Leave these keys out of context, and call again with the same tokens.",
            details={"reason": "SET_BY_ANSWER", "keys": changed},
        )


def settled_after(
    *, program: Program, before: Snapshot, position: Position, names: Iterable[str] = ()
) -> tuple[str, ...]:
    """What is held at the new position, when an answer has set `names`. Leaving an activity whose conditions read a
    variable sets it free.
    """
    held = {*before.settled, *names}
    if held and _has_left(before.position, position):
        activity = program.activity(before.position.activity)
        held -= _read_in(activity) if activity else set()
    return tuple(sorted(held))


def _has_left(before: Position, after: Position) -> bool:
    return (before.activity, before.visit) != (after.activity, after.visit) or after.complete


def _read_in(activity: Activity) -> set[str]:
    ways = (condition for _, condition in walks.ways(activity))
    items = (item.run_condition for item in walk_items(activity.body) if not isinstance(item, Gate))
    named = (name for condition in (*ways, *items) for name in conditions.variables_of(condition))
    return {name.partition(".")[0] for name in named}
