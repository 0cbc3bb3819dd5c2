"""Reads what is needed to judge whether the runs of a session went past people who have to be asked."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any
from uuid import UUID

import msgspec
import orjson

from sessions_app.engine.checkpoints import Authority
from sessions_app.engine.gates_passed import Given, Stood, asks_people, passed_gates
from sessions_app.engine.log import EventKind
from sessions_app.engine.projections import ProjectedRun, ProjectedSession
from sessions_app.engine.state import Snapshot, snapshot_from_bytes
from sessions_app.models import Snapshot as SnapshotRow
from sessions_app.selectors.stored_sessions import SessionTables
from teams_app.engine.ids import Prefix, from_text, to_text
from workflows_app.selectors.programs import load_program

REASON = "gate_passed"
_AT_ONCE = 500


def gates_passed(stored: SessionTables, view: ProjectedSession) -> Iterator[str]:
    """In words, one for each gate that a run is behind without an answer of a person. Runs that ask nobody cost nothing."""
    for run in view.runs.values():
        program = load_program(run.workflow_hash)
        if not asks_people(program):
            continue
        nodes = _nodes(run, stored.row.team_id)
        for passed in passed_gates(program=program, nodes=nodes, answers=answers_told(stored.events, run)):
            node, name = to_text(Prefix.NODE, passed.node_id), to_text(Prefix.RUN, run.run_id)
            yield f"{name} is past {passed.gate!r} at {node}, and no person answered it there or waived it."


def _nodes(run: ProjectedRun, team_id: UUID) -> Iterator[Stood]:
    """Bookmarks move nothing, and nothing goes on from them that does not go on from their parents."""
    states = _snapshots(run, team_id)
    for node in run.nodes.values():
        snapshot = states.get(node.snapshot)
        if snapshot is not None:
            yield Stood(node_id=node.node_id, parent_id=node.parent_id, snapshot=snapshot)


def _snapshots(run: ProjectedRun, team_id: UUID) -> dict[str, Snapshot]:
    return states_of((node.snapshot for node in run.nodes.values()), team_id=team_id)


def states_of(digests: Iterable[str], *, team_id: UUID) -> dict[str, Snapshot]:
    ordered = sorted(set(digests))
    found: dict[str, Snapshot] = {}
    for start in range(0, len(ordered), _AT_ONCE):
        rows = SnapshotRow.objects.filter(team_id=team_id, digest__in=ordered[start : start + _AT_ONCE])
        for digest, data in rows.values_list("digest", "data"):
            # One that cannot be read is reported for its bytes.
            with suppress(msgspec.DecodeError):
                found[digest] = snapshot_from_bytes(bytes(data))
    return found


def answers_told(events: Iterable[Any], run: ProjectedRun) -> Iterator[Given]:
    """Each that the log tells of, also the second one of a question that is asked on two branches."""
    for row in events:
        if row.kind == EventKind.CHECKPOINT_ANSWERED.value and row.run_id == run.run_id:
            data: dict[str, Any] = orjson.loads(row.body)["data"]
            given = _to_a_question(run, data) if "request" in data else _by_tokens(run, row, data)
            if given is not None:
                yield given


def _to_a_question(run: ProjectedRun, data: dict[str, Any]) -> Given | None:
    request, made = from_text(Prefix.CHECKPOINT, data["request"]), from_text(Prefix.NODE, data.get("toNodeId", ""))
    question = run.questions.get(request) if request else None
    if question is None or made is None:
        return None
    return Given(
        node_id=made,
        checkpoint=question.shown["checkpointId"],
        instance=question.shown["instance"],
        option=data["optionId"],
        authority=Authority(data["authority"]),
    )


def _by_tokens(run: ProjectedRun, row: Any, data: dict[str, Any]) -> Given | None:
    """A person who acknowledged the step themselves was asked nothing: the next node of the log is what they made."""
    at = run.nodes.get(row.node_id)
    after = (node for node in run.nodes.values() if node.parent_id == row.node_id and node.event_index > row.index)
    made = min(after, key=lambda node: node.event_index, default=None)
    if at is None or made is None:
        return None
    return Given(
        node_id=made.node_id,
        checkpoint=at.pending.rpartition("::")[2],
        instance=at.pending,
        option=data["optionId"],
        authority=Authority(data["authority"]),
    )
