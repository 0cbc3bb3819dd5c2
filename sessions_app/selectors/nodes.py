"""One node of a run with all that hangs on it."""

from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet

from sessions_app.engine.log import NodeKind
from sessions_app.engine.values import NodeDetail
from sessions_app.models import Attempt, Node
from sessions_app.selectors.gaps import gaps_of
from sessions_app.selectors.records import outputs_of
from sessions_app.selectors.rows import (
    attempt_value,
    gap_value,
    node_value,
    output_value,
    run_value,
)
from sessions_app.selectors.runs import find_run, read_snapshot
from sessions_app.selectors.sessions import team_sessions
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError

MAX_SHOWN = 50

Row = TypeVar("Row", bound=Model)


def read_node(*, actor: Actor, node_id: UUID) -> NodeDetail:
    """Eight queries, however much hangs on it."""
    actor.require(Permission.READ_RUNS)
    node = _find_node(actor, node_id)
    snapshot = read_snapshot(node)
    lists: dict[str, list[Any]] = {
        "children": _some(Node.objects.filter(parent_id=node.id).order_by("event_index", "id")),
        "attempts": _some(Attempt.objects.filter(node_id=node.id).order_by("event_index", "created_at")),
        "outputs": _some(_outputs(node).order_by("event_index", "id")),
        "gaps": _some(gaps_of(run_id=node.run_id).filter(node_id=node.id).order_by("event_index", "id")),
    }
    shown = {name: rows[:MAX_SHOWN] for name, rows in lists.items()}
    return NodeDetail(
        node=node_value(node),
        run=run_value(find_run(actor, node.run_id)),
        session_title=team_sessions(actor).values_list("title", flat=True).get(pk=node.session_id),
        children=[node_value(row) for row in shown["children"]],
        attempts=[attempt_value(row) for row in shown["attempts"]],
        outputs=[output_value(row, is_superseded=row.is_superseded) for row in shown["outputs"]],
        gaps=[gap_value(row, closes=row.closes) for row in shown["gaps"]],
        blocked=snapshot.blocked,
        context=snapshot.variables,
        capabilities=snapshot.capabilities,
        more=frozenset(name for name, rows in lists.items() if len(rows) > MAX_SHOWN),
    )


def _find_node(actor: Actor, node_id: UUID) -> Node:
    row = Node.objects.filter(pk=node_id, team_id=actor.team_id).order_by("pk").first()
    if row is None:
        raise NotFoundError("There is no such node.", suggestion="Read the tree of the run for the ids of its nodes.")
    return row


def _outputs(node: Node) -> QuerySet[Any]:
    """What was handed in at the node; what a bookmark recorded is shown with the bookmark too."""
    own = Q(node_id=node.id)
    if node.kind == NodeKind.BOOKMARK.value:
        own |= Q(to_node_id=node.id)
    return outputs_of(run_id=node.run_id).filter(own)


def _some(rows: QuerySet[Row]) -> list[Row]:
    return list(rows[: MAX_SHOWN + 1])
