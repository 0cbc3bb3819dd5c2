"""Reads the tree of a run: what a node's branch has noted, its successors, and which leaf was last worked on."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from sessions_app.engine import replies
from sessions_app.engine.log import NodeKind
from sessions_app.engine.replies import Branching, Recap, RecapEntry, Sibling
from sessions_app.models import Node, Run
from sessions_app.selectors.standings import Standing, read_standing
from teams_app.engine.actors import Actor
from teams_app.engine.errors import NotFoundError
from teams_app.engine.ids import Prefix, to_text

MAX_ANCESTORS = 100
MAX_SIBLINGS = 20
MAX_SUMMARY_CHARACTERS = 200
MAX_DOWNSTREAM_BYTES = 8 * 1024

# Notes belong to the call that made a node. A bookmark's node hangs beside the branch, under the node that it is of.
_NOTES = """
WITH RECURSIVE chain AS (
  SELECT n.id, n.parent_id, 0 AS depth FROM sessions_app_node n WHERE n.id = %(node)s AND n.team_id = %(team)s
  UNION ALL
  SELECT p.id, p.parent_id, c.depth + 1
  FROM sessions_app_node p JOIN chain c ON p.id = c.parent_id
  WHERE c.depth < %(limit)s AND p.id IS DISTINCT FROM %(above)s
), made AS (
  SELECT id FROM chain
  UNION ALL
  SELECT b.id FROM chain c JOIN sessions_app_node b ON b.parent_id = c.id AND b.kind = 'checkpoint'
)
SELECT o.id, o.supersedes_id, o.body, f.pending_key, f.pending_title, (SELECT max(depth) FROM chain)
FROM made m
JOIN sessions_app_output o ON o.to_node_id = m.id AND o.channel = 'recap'
JOIN sessions_app_node f ON f.id = o.node_id
ORDER BY o.event_index, o.id
"""

_NEWEST_LEAF = """
WITH RECURSIVE below AS (
  SELECT n.id, n.event_index FROM sessions_app_node n
  WHERE n.parent_id = %(node)s AND n.team_id = %(team)s AND n.kind <> 'checkpoint'
  UNION ALL
  SELECT c.id, c.event_index FROM sessions_app_node c JOIN below b ON c.parent_id = b.id WHERE c.kind <> 'checkpoint'
)
SELECT b.id FROM below b
WHERE NOT EXISTS (SELECT 1 FROM sessions_app_node c WHERE c.parent_id = b.id AND c.kind <> 'checkpoint')
ORDER BY b.event_index DESC, b.id LIMIT 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehydration:
    standing: Standing
    recap: Recap
    branching: Branching | None


def rehydration(*, actor: Actor, node_id: UUID) -> Rehydration | None:
    """A node as an agent that lost its chat needs it, in one read-only transaction on one state of the tables."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        standing = read_standing(team_id=actor.team_id, node_id=node_id, nonce=b"")
        if standing is None:
            return None
        recap = recap_of(actor=actor, node_id=node_id)
        branching = branching_of(actor=actor, node_id=node_id, forked=False) if standing.has_children else None
    return Rehydration(standing=standing, recap=recap, branching=branching)


def recap_of(
    *, actor: Actor, node_id: UUID, above: UUID | None = None, max_bytes: int = replies.MAX_RECAP_BYTES
) -> Recap:
    """What was noted on the way to a node, newest kept; with `above` only on the way from there."""
    parameters = {"node": node_id, "team": actor.team_id, "limit": MAX_ANCESTORS, "above": above}
    rows = _rows(_NOTES, parameters)
    superseded = {row[1] for row in rows}
    entries = [
        RecapEntry(step=key, title=title, notes=body)
        for output_id, _, body, key, title, _ in rows
        if output_id not in superseded
    ]
    further_back = bool(rows) and rows[0][5] >= MAX_ANCESTORS
    return replies.budgeted(entries, max_bytes=max_bytes, further_back=further_back)


def branching_of(*, actor: Actor, node_id: UUID, forked: bool) -> Branching:
    """The successors that a node has, and what was noted below it on the way to the leaf last worked on."""
    children = list(
        Node.objects.filter(parent_id=node_id, team_id=actor.team_id)
        .exclude(kind=NodeKind.CHECKPOINT.value)
        .order_by("event_index")[:MAX_SIBLINGS]
    )
    leaf = newest_leaf_below(actor=actor, node_id=node_id)
    downstream = recap_of(actor=actor, node_id=leaf, above=node_id, max_bytes=MAX_DOWNSTREAM_BYTES) if leaf else Recap()
    return Branching(forked=forked, siblings=_siblings(actor, children), downstream=downstream)


def newest_leaf_below(*, actor: Actor, node_id: UUID) -> UUID | None:
    """The leaf below a node that was made last; bookmarks are no leaves."""
    rows = _rows(_NEWEST_LEAF, {"node": node_id, "team": actor.team_id})
    return rows[0][0] if rows else None


def tip_of(*, actor: Actor, run_id: UUID) -> UUID:
    """The node to go on from."""
    run = Run.objects.filter(pk=run_id, team_id=actor.team_id).only("tip_node_id").order_by("pk").first()
    if run is None:
        raise NotFoundError("There is no such run.", suggestion="List the runs of the session for their ids.")
    return run.tip_node_id


def _siblings(actor: Actor, children: Iterable[Node]) -> tuple[Sibling, ...]:
    return tuple(
        Sibling(
            node_id=to_text(Prefix.NODE, child.id),
            kind=child.kind,
            title=child.pending_title,
            summary=_summary(actor, child),
        )
        for child in children
    )


def _summary(actor: Actor, child: Node) -> str:
    recap = recap_of(actor=actor, node_id=child.id, above=child.parent_id)
    return recap.entries[-1].notes[:MAX_SUMMARY_CHARACTERS] if recap.entries else ""


def _rows(sql: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
