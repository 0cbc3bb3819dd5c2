"""Rows of many sessions for the tests and the benchmark of resuming: written by COPY, because services would take hours.

The words are of an invented language in which some are common and most are rare, as in any other. `NEEDLE` is one session
in the middle of the others, which the queries look for.
"""

import random
from dataclasses import dataclass
from datetime import timedelta
from itertools import accumulate
from uuid import UUID

from django.db import connection

from sessions_app.engine.log import EdgeCause, EdgeKind, NodeKind
from sessions_app.engine.runs import Dialect, RunStatus
from teams_app.engine.ids import uuid7

NODES_PER_RUN = 4
WORDS_PER_NOTE = 60
_DIGEST = "sha256:" + "0" * 64
_SYLLABLES = tuple(
    first + vowel + last for first in "bdfgklmnprstvz" for vowel in "aeiou" for last in ("", "n", "r", "s")
)
_WORKFLOWS = ("wr.bug-investigation", "wr.code-review", "wr.documentation", "wr.feature-delivery", "wr.refactoring")
_STATUSES = (RunStatus.COMPLETE, RunStatus.COMPLETE, RunStatus.IN_PROGRESS, RunStatus.BLOCKED)
_TABLES = ("worksession", "run", "node", "output")


@dataclass(frozen=True, kw_only=True)
class Needle:
    title: str = "Flaky checkout after the payment retry"
    goal: str = "Find out why the checkout times out when a payment is tried again"
    branch: str = "fix/SHOP-4711-checkout-retry"
    sha: str = "9f1c2ab34de56f7890ab12cd34ef567890abcdef"
    ticket: str = "SHOP-4711"
    repository: str = "https://git.example.org/shop/storefront"
    notes: str = "Quarantined the idempotency guard; the stale lease is released twice by the dispatcher."


NEEDLE = Needle()


class Rows:
    """Builds the rows of sessions numbered from 0, the oldest first, an hour apart."""

    def __init__(self, *, team_id, started_at, seed=7):
        self.team_id = team_id
        self.started_at = started_at
        self.random = random.Random(seed)
        self.words = [self._word() for _ in range(8192)]
        self.weights = list(accumulate(1 / (rank + 3) for rank in range(len(self.words))))
        # The language is everybody's; ids are not.
        self.random.seed(f"{seed} {team_id}")

    def _word(self):
        return "".join(self.random.choices(_SYLLABLES, k=self.random.choice((2, 3, 3, 4))))

    def some(self, count):
        return " ".join(self.random.choices(self.words, cum_weights=self.weights, k=count))

    def new_id(self, at):
        return uuid7(unix_ms=int(at.timestamp() * 1000), random=self.random.randbytes(10))

    def session(self, number, needle=None):
        """The rows of one session with one run, by table."""
        at = self.started_at + timedelta(hours=number)
        session_id, run_id = self.new_id(at), self.new_id(at)
        nodes = [self.new_id(at) for _ in range(NODES_PER_RUN + 1)]
        title = needle.title if needle else self.some(5)
        label = (
            (needle.branch, needle.sha, needle.repository, needle.ticket)
            if needle
            else (
                f"feature/{self.some(1)}-{number}",
                f"{self.random.getrandbits(160):040x}",
                f"https://git.example.org/{self.words[number % 20]}",
                f"{self.words[number % 7][:4].upper()}-{number}",
            )
        )
        status = RunStatus.IN_PROGRESS if needle else self.random.choice(_STATUSES)
        completed = at if status is RunStatus.COMPLETE else None
        workflow = _WORKFLOWS[number % len(_WORKFLOWS)]
        goal = needle.goal if needle else self.some(12)
        return {
            "worksession": [
                (session_id, self.team_id, title, None, 20, _DIGEST, *label, "guided", "conservative", "key_x", at, at)
            ],
            "run": [
                (
                    *(run_id, self.team_id, session_id, workflow, workflow, _DIGEST, Dialect.RAIL.value, goal),
                    *(status.value, nodes[-1], "key_x", at, at, completed),
                )
            ],
            "node": [
                self._node(node, nodes[i - 1] if i else None, session_id, run_id, i, at) for i, node in enumerate(nodes)
            ],
            "output": [
                self._note(nodes[i], nodes[i + 1], session_id, run_id, i, at, needle) for i in range(NODES_PER_RUN)
            ],
        }

    def _node(self, node_id, parent_id, session_id, run_id, depth, at):
        edge = (EdgeKind.ACKED_STEP.value, EdgeCause.TIP_ADVANCE.value) if parent_id else ("", "")
        return (
            *(node_id, self.team_id, session_id, run_id, parent_id, NodeKind.STEP.value, *edge),
            *(_DIGEST, f"step-{depth}", f"Step {depth}", "guided", "conservative", depth * 4, at),
        )

    def _note(self, node_id, to_node_id, session_id, run_id, depth, at, needle):
        body = self.some(WORDS_PER_NOTE)
        if needle and depth == 1:
            body = f"{body}\n\n{needle.notes}"
        output_id = UUID(bytes=self.random.randbytes(16))
        return (
            *(output_id, self.team_id, session_id, run_id, node_id, to_node_id, "recap", body, "", _DIGEST, None),
            *(depth * 4 + 2, at + timedelta(minutes=depth)),
        )


_COLUMNS = {
    "worksession": "id, team_id, title, parent_id, next_event_index, head_digest, git_branch, git_head_sha, repository, "
    "ticket, autonomy, risk_policy, created_by, created_at, last_activity_at",
    "run": "id, team_id, session_id, workflow_id, workflow_title, workflow_hash, dialect, goal, status, tip_node_id, "
    "created_by, started_at, last_activity_at, completed_at",
    "node": "id, team_id, session_id, run_id, parent_id, kind, edge_kind, edge_cause, snapshot_digest, pending_key, "
    "pending_title, autonomy, risk_policy, event_index, created_at",
    "output": "id, team_id, session_id, run_id, node_id, to_node_id, channel, body, artifact_kind, sha256, "
    "supersedes_id, event_index, created_at",
}


def write_sessions(*, team_id, count, started_at, seed=7, needle=NEEDLE):
    """So many sessions of the team; the needle, unless it is None, stands a third of the way."""
    rows = Rows(team_id=team_id, started_at=started_at, seed=seed)
    made = [rows.session(number, needle if number == count // 3 else None) for number in range(count)]
    connection.ensure_connection()
    for table in _TABLES:
        with (
            connection.connection.cursor() as cursor,
            cursor.copy(f"COPY sessions_app_{table} ({_COLUMNS[table]}) FROM STDIN") as copy,
        ):
            for session in made:
                for row in session[table]:
                    copy.write_row(row)
    # Sorts what is pending into the indexes of words, as autovacuum does in time.
    with connection.cursor() as cursor:
        cursor.execute(f"VACUUM (ANALYZE) {', '.join(f'sessions_app_{table}' for table in _TABLES)}")
    return rows
