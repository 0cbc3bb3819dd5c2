"""Reads the tree of a run: what a node's branch has noted, its successors, and which leaf was last worked on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.engine.log import NodeKind
from sessions_app.engine.reply_facts import MAX_RECAP_BYTES, Branching, Recap, RecapEntry, Sibling, budgeted
from sessions_app.engine.state import is_same_work, snapshot_from_bytes, sound_snapshot
from sessions_app.selectors.checkpoints import AfterAnswer, read_answered
from sessions_app.selectors.reading import one_state
from sessions_app.selectors.standings import Standing, read_standing
from teams_app.engine.actors import Actor
from teams_app.engine.ids import Prefix, to_text
from workflows_app.selectors.asked import asked

MAX_ANCESTORS = 100
MAX_SIBLINGS = 20
MAX_SUMMARY_CHARACTERS = 200
MAX_DOWNSTREAM_BYTES = 8 * 1024
# What a note is told under that was made where nothing is pending any more.
_AT_THE_END = "After the last step"

# OFFSET 0 keeps the look-up of notes by node what it is: joined, they may be filtered from all notes of the installation.
# Notes belong to the call that made a node. A bookmark's node hangs beside the branch, under the node that it is of. What was
# noted on the session before the node was made belongs to every branch.
_NOTES = """
WITH RECURSIVE chain AS (
  SELECT n.id, n.parent_id, 0 AS depth FROM sessions_app_node n WHERE n.id = %(node)s AND n.team_id = %(team)s
  UNION ALL
  SELECT p.id, p.parent_id, c.depth + 1
  FROM sessions_app_node p JOIN chain c ON p.id = c.parent_id
  WHERE c.depth < %(limit)s
), made AS (
  SELECT id FROM chain
  UNION ALL
  SELECT b.id FROM chain c JOIN sessions_app_node b ON b.parent_id = c.id AND b.kind = 'checkpoint'
)
SELECT n.id, n.supersedes_id, n.body, n.pending_key, n.pending_title, e.further_back
FROM (SELECT EXISTS (SELECT 1 FROM chain WHERE depth = %(limit)s AND parent_id IS NOT NULL) AS further_back) e
LEFT JOIN (
  SELECT o.id, o.supersedes_id, o.body, f.pending_key, f.pending_title, o.event_index
  FROM made m
  CROSS JOIN LATERAL (
    SELECT * FROM sessions_app_output o WHERE o.to_node_id = m.id AND o.channel = 'recap' OFFSET 0
  ) o
  JOIN sessions_app_node f ON f.id = o.node_id AND f.run_id = o.run_id
  UNION ALL
  SELECT s.id, NULL, s.body, '', 'Noted on the session', s.event_index
  FROM (
    SELECT o.id, o.body, o.event_index FROM sessions_app_node at
    JOIN sessions_app_output o ON o.team_id = at.team_id AND o.session_id = at.session_id AND o.event_index < at.event_index
    WHERE at.id = %(node)s AND at.team_id = %(team)s AND o.run_id IS NULL AND o.channel = 'recap'
    ORDER BY o.event_index DESC LIMIT %(limit)s
  ) s
) n ON true
ORDER BY n.event_index, n.id
"""

# A node that was made last has no successor, so the newest node of a branch is its newest leaf. Successors are looked up by node:
# joined, one look at all nodes of the installation may seem cheaper than as many as a node has branches. Below the root is its whole
# run, through which nobody has to walk for the newest: whoever has lost their chat may have nothing but the first token.
_BELOW = """
WITH RECURSIVE root AS (
  SELECT n.run_id FROM sessions_app_node n WHERE n.id = %(node)s AND n.team_id = %(team)s AND n.parent_id IS NULL
), successors AS (
  SELECT n.id, n.parent_id, n.kind, n.pending_key, n.pending_title, n.snapshot_digest, n.event_index
  FROM sessions_app_node n
  WHERE n.parent_id = %(node)s AND n.team_id = %(team)s AND n.kind <> 'checkpoint'
), below AS (
  SELECT * FROM successors WHERE NOT EXISTS (SELECT 1 FROM root)
  UNION ALL
  SELECT c.id, c.parent_id, c.kind, c.pending_key, c.pending_title, c.snapshot_digest, c.event_index
  FROM below b CROSS JOIN LATERAL (
    SELECT * FROM sessions_app_node c WHERE c.parent_id = b.id AND c.kind <> 'checkpoint' OFFSET 0
  ) c
), leaf AS (
  SELECT * FROM (
    SELECT * FROM below
    UNION ALL
    SELECT l.id, l.parent_id, l.kind, l.pending_key, l.pending_title, l.snapshot_digest, l.event_index
    FROM root CROSS JOIN LATERAL (
      SELECT * FROM sessions_app_node l WHERE l.run_id = root.run_id AND l.parent_id IS NOT NULL AND l.kind <> 'checkpoint'
      ORDER BY l.event_index DESC LIMIT 1
    ) l
  ) found ORDER BY event_index DESC LIMIT 1
)"""

_NEWEST_LEAF = """
WITH RECURSIVE branch AS (
  SELECT l.id, l.kind, l.pending_key, l.event_index, l.created_at
  FROM sessions_app_node n CROSS JOIN LATERAL (
    SELECT * FROM sessions_app_node l WHERE l.run_id = n.run_id AND l.kind <> 'checkpoint' ORDER BY l.event_index DESC LIMIT 1
  ) l
  WHERE n.id = %(node)s AND n.team_id = %(team)s AND n.parent_id IS NULL
  UNION ALL
  SELECT n.id, n.kind, n.pending_key, n.event_index, n.created_at
  FROM sessions_app_node n WHERE n.id = %(node)s AND n.team_id = %(team)s AND n.parent_id IS NOT NULL
  UNION ALL
  SELECT c.id, c.kind, c.pending_key, c.event_index, c.created_at
  FROM branch b CROSS JOIN LATERAL (
    SELECT * FROM sessions_app_node c WHERE c.parent_id = b.id AND c.kind <> 'checkpoint' OFFSET 0
  ) c
)
SELECT b.id, b.kind, b.pending_key, b.created_at, s.data
FROM (SELECT * FROM branch ORDER BY event_index DESC LIMIT 1) b
JOIN sessions_app_node n ON n.id = b.id
JOIN sessions_app_snapshot s ON s.team_id = n.team_id AND s.digest = n.snapshot_digest
"""

# All that a fork tells, in one round trip: the newest leaf, the successors, and what was noted on the way to the leaf.
# A successor's own notes are looked up by the ids of what made them: in a condition with OR they would be filtered from all.
_BENEATH = f"""{_BELOW}, path AS (
  SELECT l.id, l.parent_id, 0 AS depth FROM leaf l
  UNION ALL
  SELECT p.id, p.parent_id, c.depth + 1
  FROM sessions_app_node p JOIN path c ON p.id = c.parent_id
  WHERE c.depth < %(limit)s AND p.id <> %(node)s
), made AS (
  SELECT id FROM path
  UNION ALL
  SELECT b.id FROM path c JOIN sessions_app_node b ON b.parent_id = c.id AND b.kind = 'checkpoint'
), successor AS (
  SELECT * FROM successors ORDER BY event_index DESC LIMIT %(siblings)s
)
SELECT 'leaf' AS part, l.event_index AS place, l.id, NULL::uuid AS other, l.kind, l.pending_key, l.pending_title,
       l.snapshot_digest::text AS body, s.data,
       EXISTS (SELECT 1 FROM path WHERE depth = %(limit)s AND parent_id <> %(node)s) AS further_back,
       (SELECT count(*) FROM successors) AS successors
FROM leaf l JOIN sessions_app_snapshot s ON s.team_id = %(team)s AND s.digest = l.snapshot_digest
UNION ALL
SELECT 'successor', x.event_index, x.id, NULL, x.kind, x.pending_key, x.pending_title,
       (SELECT left(o.body, %(summary)s)
        FROM (SELECT x.id UNION ALL
              SELECT b.id FROM sessions_app_node b WHERE b.parent_id = x.id AND b.kind = 'checkpoint') mine
        JOIN sessions_app_output o ON o.to_node_id = mine.id AND o.channel = 'recap'
        ORDER BY o.event_index DESC, o.id DESC LIMIT 1),
       NULL, false, 0
FROM successor x
UNION ALL
SELECT 'note', o.event_index, o.id, o.supersedes_id, f.kind, f.pending_key, f.pending_title, o.body, NULL, false, 0
FROM made m
CROSS JOIN LATERAL (
  SELECT * FROM sessions_app_output o WHERE o.to_node_id = m.id AND o.channel = 'recap' OFFSET 0
) o
JOIN sessions_app_node f ON f.id = o.node_id AND f.run_id = o.run_id
ORDER BY part, place, id
"""  # noqa: S608  constants only


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """The end of a branch; bookmarks are no leaves."""

    node_id: UUID
    kind: NodeKind
    pending_key: str
    created_at: datetime
    snapshot: bytes

    @property
    def asked(self) -> UUID | None:
        """The question that is open there."""
        asked = snapshot_from_bytes(self.snapshot).asked
        return UUID(hex=asked.request) if asked else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Beneath:
    """What stands below a node that has successors: the leaf that was made last, with its state, and what to tell."""

    leaf_id: UUID
    leaf_kind: NodeKind
    snapshot: bytes
    snapshot_digest: str
    branching: Branching


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehydration:
    standing: Standing
    recap: Recap
    branching: Branching | None


def rehydration(*, actor: Actor, node_id: UUID) -> Rehydration | None:
    """A node as an agent that lost its chat needs it, in one read-only transaction on one state of the tables."""
    with one_state():
        standing = read_standing(team_id=actor.team_id, node_id=node_id, nonce=b"")
        if standing is None:
            return None
        after = _after_answer(actor, standing)
        below = beneath(actor=actor, node_id=node_id, forked=False) if standing.has_children else None
        successor = same_work_below(standing, below)
        recap = recap_of(actor=actor, node_id=node_id)
    if after is not None:
        return rehydration(actor=actor, node_id=after.node_id)
    if successor is not None:
        return Rehydration(standing=successor, recap=recap, branching=None)
    return Rehydration(standing=standing, recap=recap, branching=below.branching if below else None)


def _after_answer(actor: Actor, standing: Standing) -> AfterAnswer | None:
    """A person has answered the question of this node: what is to be done now stands where the answer led."""
    if not standing.has_children and standing.node_kind is not NodeKind.BLOCKED_ATTEMPT:
        return None
    asked = sound_snapshot(data=standing.snapshot, digest=standing.snapshot_digest).asked
    return read_answered(team_id=actor.team_id, request_id=UUID(hex=asked.request)) if asked else None


def same_work_below(standing: Standing, below: Beneath | None) -> Standing | None:
    """The same work under other preferences or after a triggered run, when nothing else has happened below the node."""
    if below is None or not is_same_work(
        sound_snapshot(data=standing.snapshot, digest=standing.snapshot_digest),
        sound_snapshot(data=below.snapshot, digest=below.snapshot_digest),
    ):
        return None
    return replace(
        standing,
        node_id=below.leaf_id,
        node_kind=below.leaf_kind,
        snapshot=below.snapshot,
        snapshot_digest=below.snapshot_digest,
        has_children=False,
    )


@asked
def recap_of(*, actor: Actor, node_id: UUID) -> Recap:
    """What was noted on the way to a node, newest kept."""
    rows = _rows(_NOTES, {"node": node_id, "team": actor.team_id, "limit": MAX_ANCESTORS})
    notes = [RecapNote(*row[:5]) for row in rows if row[0] is not None]
    return recap_within(notes, max_bytes=MAX_RECAP_BYTES, further_back=rows[0][5])


@asked
def beneath(*, actor: Actor, node_id: UUID, forked: bool) -> Beneath | None:
    """The successors that a node has, and what was noted below it on the way to the leaf last made."""
    parameters = {
        "node": node_id,
        "team": actor.team_id,
        "limit": MAX_ANCESTORS,
        "siblings": MAX_SIBLINGS,
        "summary": MAX_SUMMARY_CHARACTERS,
    }
    parts: dict[str, list[tuple[Any, ...]]] = {"leaf": [], "successor": [], "note": []}
    for part, _, *row in _rows(_BENEATH, parameters):
        parts[part].append(tuple(row))
    if not parts["leaf"]:
        return None
    leaf_id, _, kind, _, _, digest, data, further_back, successors = parts["leaf"][0]
    notes = [RecapNote(row[0], row[1], row[5], row[3], row[4]) for row in parts["note"]]
    return Beneath(
        leaf_id=leaf_id,
        leaf_kind=NodeKind(kind),
        snapshot=bytes(data),
        snapshot_digest=digest,
        branching=Branching(
            forked=forked,
            siblings=tuple(_sibling(row) for row in parts["successor"]),
            omitted=successors - len(parts["successor"]),
            downstream=recap_within(notes, max_bytes=MAX_DOWNSTREAM_BYTES, further_back=further_back),
        ),
    )


@asked
def newest_leaf(*, actor: Actor, node_id: UUID) -> Leaf | None:
    """The leaf of the node's branch that was made last: the node itself when it has no successor."""
    rows = _rows(_NEWEST_LEAF, {"node": node_id, "team": actor.team_id})
    found = (
        Leaf(node_id=id_, kind=NodeKind(kind), pending_key=key, created_at=at, snapshot=bytes(data))
        for id_, kind, key, at, data in rows
    )
    return next(found, None)


@dataclass(frozen=True, slots=True)
class RecapNote:
    output_id: UUID
    supersedes: UUID | None
    body: str
    step: str
    title: str


def recap_within(notes: Sequence[RecapNote], *, max_bytes: int, further_back: bool) -> Recap:
    entries = [
        RecapEntry(step=note.step, title=note.title or ("" if note.step else _AT_THE_END), notes=note.body)
        for note in _current(notes)
    ]
    return budgeted(entries, max_bytes=max_bytes, further_back=further_back)


def _current(notes: Iterable[RecapNote]) -> list[RecapNote]:
    known = list(notes)
    superseded = {note.supersedes for note in known}
    return [note for note in known if note.output_id not in superseded]


def _sibling(row: tuple[Any, ...]) -> Sibling:
    return Sibling(node_id=to_text(Prefix.NODE, row[0]), kind=row[2], title=row[4], summary=row[5] or "")


def _rows(sql: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
