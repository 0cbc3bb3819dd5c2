"""Writes calls into the trace: many in one statement, each with the place that it belongs to."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any
from uuid import UUID

import orjson
from django.db import transaction

from sessions_app.engine.runs import Dialect
from sessions_app.selectors.places import Named, NodePlace, known_sessions, places_of_nodes, places_of_runs
from sessions_app.services.store.signing_keys import current_keys
from teams_app.engine.actors import Actor
from teams_app.engine.errors import WorkrailError
from teams_app.engine.ids import uuid7
from teams_app.services import storage
from teams_app.services.row_scope import within_team
from traces_app.engine.calls import outcome_of
from traces_app.engine.facts import CallFacts, agent_name, facts_of, read_warnings
from traces_app.engine.redaction import redact_arguments
from workflows_app.engine.program import Family
from workflows_app.selectors.asked import prepared_cursor
from workflows_app.selectors.programs import load_program

# Of a team whose storage is full calls are traced on, but not what was said in them.
_NOT_KEPT = orjson.dumps({"…": "not kept: the storage of the team is full"}).decode()
_ORDER_BITS = 28
_CHANCE_BITS = 46
_TYPES = {
    "id": "uuid",
    "team_id": "uuid",
    "session_id": "uuid",
    "run_id": "uuid",
    "workflow_id": "text",
    "dialect": "text",
    "tool": "text",
    "actor_id": "text",
    "actor_name": "text",
    "agent_id": "text",
    "activity": "text",
    "step_key": "text",
    "started_at": "timestamptz",
    "duration_us": "bigint",
    "outcome": "text",
    "error_code": "text",
    "warnings": "jsonb",
    "arguments": "jsonb",
    "request_id": "text",
}
# One text for any number of rows, so that it is prepared once: each parameter is a column.
_INSERT = (
    f"INSERT INTO traces_app_traceevent ({', '.join(_TYPES)}) SELECT * FROM unnest("  # noqa: S608  constants only
    f"{', '.join(f'${number}::{kind}[]' for number, kind in enumerate(_TYPES.values(), 1))})"
)
_order = count()


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeCall:
    """A call as its door saw it end. Nothing is read from arguments and reply before it is written; a reply may be the
    bytes of its JSON.

    `noted` is what a dialect knows of the call and its words do not say; it comes before what they say.
    """

    actor: Actor
    dialect: Dialect
    tool: str
    arguments: Mapping[str, Any]
    reply: Mapping[str, Any] | bytes | None
    error_code: str
    ended_ns: int
    duration_ns: int
    request_id: str = ""
    noted: "Noted | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """Said by a dialect of the call at hand. `activity` is where the run stood before it."""

    session_id: UUID | None = None
    run_id: UUID | None = None
    agent_id: str = ""
    activity: str = ""
    step_key: str = ""
    warnings: Sequence[Mapping[str, Any]] = ()


def write_calls(*, calls: Sequence[MadeCall]) -> None:
    """All of them or none, in the order in which they ended. Those of each team are written in sight of that team alone."""
    of_teams: dict[UUID, list[MadeCall]] = {}
    for call in sorted(calls, key=lambda call: call.ended_ns):
        of_teams.setdefault(call.actor.team_id, []).append(call)
    if not of_teams:
        return
    with transaction.atomic():
        for team_id, ordered in of_teams.items():
            with within_team(team_id):
                _write_of_team(ordered)


def _write_of_team(ordered: Sequence[MadeCall]) -> None:
    keyring = current_keys().ring
    said = [facts_of(arguments=call.arguments, reply=_told(call.reply), keyring=keyring) for call in ordered]
    facts = [_with_notes(one, call.noted) for one, call in zip(said, ordered, strict=True)]
    places = _Places.of(ordered, facts)
    rows = [_row(call, one, places) for call, one in zip(ordered, facts, strict=True)]
    prepared_cursor().execute(_INSERT, [list(column) for column in zip(*rows, strict=True)])
    storage.charge(team_id=ordered[0].actor.team_id, stored_bytes=sum(map(storage.size_of, rows)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    nodes: Mapping[Named, NodePlace]
    runs: Mapping[Named, NodePlace]
    sessions: Collection[Named]

    @staticmethod
    def of(calls: Sequence[MadeCall], facts: Sequence[CallFacts]) -> "_Places":
        """At most three questions for all calls together; calls that name nothing ask none."""
        pairs = [(call.actor.team_id, one) for call, one in zip(calls, facts, strict=True)]
        return _Places(
            nodes=places_of_nodes(nodes={(team, one.node_id) for team, one in pairs if one.node_id}),
            runs=places_of_runs(runs={(team, run) for team, one in pairs if (run := _run_of(one)) and not one.node_id}),
            sessions=known_sessions(
                sessions={
                    (team, one.named_session_id) for team, one in pairs if one.named_session_id and not one.session_id
                }
            ),
        )

    def place(self, team_id: UUID, facts: CallFacts) -> NodePlace | None:
        if facts.node_id is not None:
            return self.nodes.get((team_id, facts.node_id))
        run_id = _run_of(facts)
        return None if run_id is None else self.runs.get((team_id, run_id))

    def session(self, team_id: UUID, facts: CallFacts) -> UUID | None:
        named = facts.named_session_id
        return facts.session_id or (named if named is not None and (team_id, named) in self.sessions else None)


def _run_of(facts: CallFacts) -> UUID | None:
    return facts.run_id or facts.named_run_id


def _told(reply: Mapping[str, Any] | bytes | None) -> Mapping[str, Any] | None:
    if not isinstance(reply, bytes):
        return reply
    try:
        told = orjson.loads(reply)
    except orjson.JSONDecodeError:
        return None
    return told if isinstance(told, dict) else None


def _with_notes(facts: CallFacts, noted: Noted | None) -> CallFacts:
    if noted is None:
        return facts
    return replace(
        facts,
        session_id=noted.session_id or facts.session_id,
        run_id=noted.run_id or facts.run_id,
        agent_id=agent_name(noted.agent_id) or facts.agent_id,
        warnings=(*facts.warnings, *read_warnings(noted.warnings)),
    )


def _row(call: MadeCall, facts: CallFacts, places: _Places) -> tuple[Any, ...]:
    """In the order of the columns."""
    actor = call.actor
    place = places.place(actor.team_id, facts)
    began_us = (call.ended_ns - call.duration_ns) // 1000
    noted = call.noted or Noted()
    return (
        _new_id(call.ended_ns),
        actor.team_id,
        place.session_id if place else places.session(actor.team_id, facts),
        place.run_id if place else facts.run_id,
        place.workflow_id if place else "",
        call.dialect.value,
        call.tool,
        actor.id,
        actor.name,
        facts.agent_id,
        (noted.activity or _activity_of(place))[:256],
        (noted.step_key or (place.pending_key if place else ""))[:1024],
        datetime.fromtimestamp(began_us // 1_000_000, tz=UTC).replace(microsecond=began_us % 1_000_000),
        call.duration_ns // 1000,
        outcome_of(error_code=call.error_code).value,
        call.error_code,
        orjson.dumps(list(facts.warnings)).decode(),
        _NOT_KEPT
        if storage.is_full(team_id=actor.team_id)
        else orjson.dumps(redact_arguments(arguments=call.arguments)).decode(),
        call.request_id[:64],
    )


def _activity_of(place: NodePlace | None) -> str:
    """The outermost round of a key is the visit of an activity, in programs that have several."""
    if place is None or "@" not in place.pending_key:
        return ""
    try:
        program = load_program(place.workflow_hash)
    except WorkrailError:
        return ""
    return place.pending_key.partition("@")[0] if program.family is Family.ACTIVITIES else ""


def _new_id(ended_ns: int) -> UUID:
    """Begins with the end of the call. Calls that one process saw end in one millisecond stay in their order."""
    order = next(_order) % (1 << _ORDER_BITS)
    chance = int.from_bytes(os.urandom(8), "big") >> (64 - _CHANCE_BITS)
    # Twelve bits of the order stand before the two that every UUID has in its middle, the others behind them.
    value = order >> 16 << 64 | (order & 0xFFFF) << _CHANCE_BITS | chance
    return uuid7(unix_ms=ended_ns // 1_000_000, random=value.to_bytes(10, "big"))
