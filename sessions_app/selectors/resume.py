"""Finds the runs that a resume query may mean, and what is shown of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.engine import resume
from sessions_app.engine.resume import Match, RunFacts, Tier
from sessions_app.engine.resume_signals import Signals
from sessions_app.engine.runs import RunStatus
from sessions_app.selectors import resume_lookups as lookups
from sessions_app.selectors.reading import one_state
from sessions_app.selectors.resume_lookups import Choices, Finds, Lookup
from teams_app.engine.actors import Actor, Permission

MAX_NEWEST = 50
MAX_ANCESTORS = 100
MAX_COUNTED = 200
_MAX_RUNS = 200
_MAX_WORKFLOWS = 200
_RUNS_OF_WORKFLOW = 20
_VERIFIED_AT_ONCE = 10
# The newest notes of a run that was not found by its notes are looked for so far back and no further.
_ANCESTORS_OF_SNIPPET = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Tip:
    """What is said of a candidate: the key of its pending item, and the notes that show which run it is."""

    pending_key: str
    notes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BareSession:
    """A session without a run that answers the query, with the newest notes on it."""

    session_id: UUID
    title: str
    git_branch: str
    ticket: str
    last_activity_at: datetime
    notes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumable:
    """`tips` are by run. `eligible` counts the team's runs, no further than `MAX_COUNTED`."""

    matches: tuple[Match, ...]
    tips: Mapping[UUID, Tip]
    eligible: int
    bare: tuple[BareSession, ...] = ()


def find_resumable(*, actor: Actor, signals: Signals) -> Resumable:
    """At most five runs of the actor's team, in order, in one read-only transaction on one state of the tables."""
    actor.require(Permission.READ_RUNS)
    with one_state():
        search = _Search(actor.team_id, signals)
        matches = search.best()
        return Resumable(
            matches=matches, tips=search.tips_of(matches), eligible=search.count(), bare=search.bare_sessions()
        )


@dataclass(slots=True, kw_only=True)
class _Hits:
    """What the lookups of one statement gave: the ids of rows by kind, those of notes with their run or session."""

    found: dict[Finds, dict[UUID, UUID]] = field(default_factory=lambda: {finds: {} for finds in Finds})

    def is_enough(self, finds: Finds) -> bool:
        return len(set(self.found[finds].values())) >= resume.MAX_CANDIDATES


class _Search:
    """One search: the runs that were seen so far with their best match, and the notes that made it."""

    def __init__(self, team_id: UUID, signals: Signals) -> None:
        self.team_id = team_id
        self.signals = signals
        self.matches: dict[UUID, Match] = {}
        self.notes: dict[UUID, str] = {}
        # Those that were found by a name, a title or notes of their own, whether or not they have runs.
        self.sessions: set[UUID] = set()

    def best(self) -> tuple[Match, ...]:
        self._look(lookups.by_name(self.signals), enough=Tier.IDENTIFIED)
        if not resume.is_told_by_id(self.matches.values()):
            whole = lookups.whole_choice(self.signals)
            self._look_for_words(whole, enough=Tier.NOTED, as_written=self.signals.as_written)
            if not self._has_enough(Tier.NOTED):
                self._look_for_words(lookups.partial_choices(self.signals), enough=Tier.PARTLY)
                self._look_for_workflows()
        if resume.is_in_doubt(self.matches.values()):
            self._see(lookups.NEWEST, most=MAX_NEWEST)
            if self.signals.repository:
                self._see(lookups.NEWEST_OF_REPOSITORY, repository=self.signals.repository, most=MAX_NEWEST)
        return resume.rank(self.matches.values())

    def tips_of(self, matches: Sequence[Match]) -> dict[UUID, Tip]:
        tips = {match.run.tip_node_id: match.run.run_id for match in matches}
        rows = self._rows(lookups.TIPS, tips=list(tips), ancestors=_ANCESTORS_OF_SNIPPET) if tips else []
        return {
            tips[node_id]: Tip(pending_key=key, notes=self.notes.get(tips[node_id]) or notes or "")
            for node_id, key, notes in rows
        }

    def bare_sessions(self) -> tuple[BareSession, ...]:
        if not self.sessions:
            return ()
        rows = self._rows(lookups.BARE, sessions=list(self.sessions), most=resume.MAX_CANDIDATES)
        return tuple(
            BareSession(
                session_id=id_, title=title, git_branch=branch, ticket=ticket, last_activity_at=at, notes=notes or ""
            )
            for id_, title, branch, ticket, at, notes in rows
        )

    def count(self) -> int:
        counted: int = self._rows(lookups.COUNT, most=MAX_COUNTED)[0][0]
        return counted

    def _look_for_words(self, choices: Choices, *, enough: Tier, as_written: str = "") -> None:
        newest = self._look(lookups.among_newest(choices), enough=enough)
        if not self._has_enough(enough):
            rare = frozenset(finds for finds in Finds if not newest.is_enough(finds))
            self._look(lookups.among_all(choices, finds=rare, as_written=as_written), enough=enough)

    def _look(self, chosen: Sequence[Lookup], *, enough: Tier) -> _Hits:
        hits = self._hits(chosen) if chosen else _Hits()
        notes = hits.found[Finds.NOTES]
        runs = {*hits.found[Finds.RUNS], *notes.values()}
        on_sessions = hits.found[Finds.SESSION_NOTES]
        sessions = {*hits.found[Finds.SESSIONS], *on_sessions.values()}
        self.sessions.update(sessions)
        if runs or sessions:
            self._see(lookups.OF_ROWS, runs=list(runs), sessions=list(sessions), most=_MAX_RUNS)
            self._take_notes_on_sessions(on_sessions)
            self._verify(notes, enough)
        return hits

    def _hits(self, chosen: Sequence[Lookup]) -> _Hits:
        hits = _Hits()
        rows = self._rows(lookups.statement_of(chosen), **lookups.parameters_of(chosen))
        for number, row_id, noted_in, counted in rows:
            if counted <= lookups.MAX_HITS:
                hits.found[chosen[number].finds][row_id] = noted_in or row_id
        return hits

    def _verify(self, notes: Mapping[UUID, UUID], enough: Tier) -> None:
        """Of the notes count those on the way to a tip. The likeliest runs come first, until there are enough."""
        ordered = sorted(set(notes.values()) & set(self.matches), key=lambda run: resume.place_of(self.matches[run]))
        for begin in range(0, len(ordered), _VERIFIED_AT_ONCE):
            runs = ordered[begin : begin + _VERIFIED_AT_ONCE]
            for run_id, body in self._rows(lookups.ON_BRANCH, runs=runs, notes=list(notes), ancestors=MAX_ANCESTORS):
                self._take_notes(run_id, body)
            if self._has_enough(enough):
                return

    def _take_notes_on_sessions(self, notes: Mapping[UUID, UUID]) -> None:
        noted = set(notes.values())
        runs = [run_id for run_id, match in self.matches.items() if match.run.session_id in noted]
        if runs:
            for run_id, body in self._rows(lookups.ON_SESSION, runs=runs, notes=list(notes)):
                self._take_notes(run_id, body)

    def _take_notes(self, run_id: UUID, body: str) -> None:
        known = self.matches[run_id]
        match = resume.match_run(known.run, self.signals, notes=body)
        if resume.place_of(match) < resume.place_of(known):
            self.matches[run_id] = match
            self.notes[run_id] = body

    def _look_for_workflows(self) -> None:
        if not self.signals.workflow_ids and not self.signals.words:
            return
        known = [row[0] for row in self._rows(lookups.WORKFLOWS, most=_MAX_WORKFLOWS)]
        wanted = [name for name in known if resume.names_workflow(name, self.signals)]
        for workflow in wanted[: resume.MAX_CANDIDATES]:
            self._see(lookups.OF_WORKFLOW, workflow=workflow, most=_RUNS_OF_WORKFLOW)

    def _has_enough(self, tier: Tier) -> bool:
        return sum(match.tier <= tier for match in self.matches.values()) >= resume.MAX_CANDIDATES

    def _see(self, sql: str, **parameters: Any) -> None:
        for facts in map(_facts, self._rows(sql, **parameters)):
            if facts.run_id not in self.matches:
                self.matches[facts.run_id] = resume.match_run(facts, self.signals)

    def _rows(self, sql: str, **parameters: Any) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(sql, {"team": self.team_id, **parameters})
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def _facts(row: Sequence[Any]) -> RunFacts:
    return RunFacts(
        run_id=row[0],
        session_id=row[1],
        workflow_id=row[2],
        session_title=row[3],
        goal=row[4],
        git_branch=row[5],
        git_head_sha=row[6],
        repository=row[7],
        ticket=row[8],
        status=RunStatus(row[9]),
        tip_node_id=row[10],
        last_activity_at=row[11],
    )
