"""A program as lines of text, for its authors: activities, and in each the order of work."""

from collections.abc import Iterable, Iterator

from workflows_app.engine.program import Activity, Checkpoint, Gate, Item, Loop, Parallel, Program, Step

_INDENT = "  "


def outline_lines(program: Program) -> Iterator[str]:
    for activity in program.activities:
        initial = " (first)" if activity.id == program.initial_activity and len(program.activities) > 1 else ""
        yield f"{activity.id}{initial}  {activity.title}"
        yield from _item_lines(activity, activity.body, depth=1)
        for transition in activity.transitions:
            yield f"{_INDENT}-> {transition.to}{' by default' if transition.is_default else ''}"


def _item_lines(activity: Activity, items: Iterable[Item], *, depth: int) -> Iterator[str]:
    indent = _INDENT * depth
    for item in items:
        yield f"{indent}{item.id}  {_said(activity, item)}"
        if isinstance(item, Loop):
            yield from _item_lines(activity, item.body, depth=depth + 1)


def _said(activity: Activity, item: Item) -> str:
    match item:
        case Step():
            return item.title
        case Parallel():
            return f"{item.title} (parallel: {len(item.delegations)})"
        case Loop():
            return f"{item.title} ({item.loops}, at most {item.max_iterations} rounds)"
        case Gate():
            return _asked(activity, item)


def _asked(activity: Activity, gate: Gate) -> str:
    found: Checkpoint | None = next((item for item in activity.checkpoints if item.id == gate.checkpoint), None)
    if found is None:
        return "checkpoint"
    return f"checkpoint {found.name}: {', '.join(option.id for option in found.options)}"
