"""The statements that look runs up for a resume query, each part by its index.

Words are looked for among the newest rows first: when they are common there, they are common everywhere, and the newest
runs are the ones to name. Only then all rows are asked, by the index of words, which by now is quick. Such a lookup is a
materialized part of its statement that is read no further than its cap: Postgres plans it as if all of it were wanted, which
is by the index, and stops when the reader does. What reaches the cap is not used: of so many rows those that were read say
nothing but how the table lies on disk.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Any

from sessions_app.engine import resume, resume_signals
from sessions_app.engine.resume_signals import Signals

MAX_HITS = 1000
# Of the rows that a lookup found so many are weighed, the newest.
MAX_WEIGHED = 40
_WINDOW = 500
_WINDOW_OF_NOTES = 200
_SHORTEST_LETTERS = 3
_MOST_COMBINED = 4

Choices = Sequence[Sequence[str]]

_FACTS = """
SELECT r.id, r.session_id, r.workflow_id, s.title, r.goal, s.git_branch, s.git_head_sha, s.repository, s.ticket, r.status,
       r.tip_node_id, r.last_activity_at
"""
_JOINED = f"{_FACTS} FROM sessions_app_run r JOIN sessions_app_worksession s ON s.id = r.session_id"
OF_ROWS = f"""
{_JOINED} WHERE r.team_id = %(team)s AND (r.id = ANY(%(runs)s) OR r.session_id = ANY(%(sessions)s))
ORDER BY r.last_activity_at DESC, r.id LIMIT %(most)s
"""
NEWEST = f"""
{_FACTS} FROM (
  SELECT * FROM sessions_app_run WHERE team_id = %(team)s
  ORDER BY activity_window DESC, last_activity_at DESC, id LIMIT %(most)s
) r JOIN sessions_app_worksession s ON s.id = r.session_id
"""
NEWEST_OF_REPOSITORY = f"""
{_FACTS} FROM (
  SELECT * FROM sessions_app_worksession WHERE team_id = %(team)s AND repository = %(repository)s AND repository <> ''
  ORDER BY activity_window DESC, last_activity_at DESC LIMIT %(most)s
) s JOIN sessions_app_run r ON r.session_id = s.id
ORDER BY r.last_activity_at DESC, r.id LIMIT %(most)s
"""
OF_WORKFLOW = f"""
{_FACTS} FROM (
  SELECT * FROM sessions_app_run WHERE team_id = %(team)s AND workflow_id = %(workflow)s
  ORDER BY activity_window DESC, last_activity_at DESC LIMIT %(most)s
) r JOIN sessions_app_worksession s ON s.id = r.session_id
"""
# Steps from one workflow to the next in the index, however many runs each has.
WORKFLOWS = """
WITH RECURSIVE known AS (
  (SELECT workflow_id FROM sessions_app_run WHERE team_id = %(team)s ORDER BY workflow_id LIMIT 1)
  UNION ALL
  SELECT (SELECT r.workflow_id FROM sessions_app_run r
          WHERE r.team_id = %(team)s AND r.workflow_id > known.workflow_id ORDER BY r.workflow_id LIMIT 1)
  FROM known WHERE known.workflow_id IS NOT NULL
)
SELECT workflow_id FROM known WHERE workflow_id IS NOT NULL LIMIT %(most)s
"""
# Of the notes that were found, those on the way to the tip of their run that no later ones on that way stand for.
ON_BRANCH = """
WITH RECURSIVE chain AS (
  SELECT n.id, n.parent_id, 0 AS depth
  FROM sessions_app_run r JOIN sessions_app_node n ON n.id = r.tip_node_id
  WHERE r.team_id = %(team)s AND r.id = ANY(%(runs)s)
  UNION ALL
  SELECT p.id, p.parent_id, c.depth + 1 FROM chain c JOIN sessions_app_node p ON p.id = c.parent_id
  WHERE c.depth < %(ancestors)s
)
SELECT o.run_id, left(o.body, 16384)
FROM sessions_app_output o JOIN sessions_app_node made ON made.id = o.to_node_id
WHERE o.id = ANY(%(notes)s) AND o.run_id = ANY(%(runs)s)
  AND CASE made.kind WHEN 'checkpoint' THEN made.parent_id ELSE made.id END IN (SELECT id FROM chain)
  AND NOT EXISTS (
    SELECT 1 FROM sessions_app_output later
    WHERE later.run_id = o.run_id AND later.event_index > o.event_index AND later.supersedes_id = o.id
      AND later.to_node_id IN (SELECT id FROM chain)
  )
ORDER BY o.event_index DESC, o.id
"""
# Notes on the sessions of these runs, outside of any run: they are in the recap of each.
ON_SESSION = """
SELECT r.id, left(o.body, 16384)
FROM sessions_app_run r JOIN sessions_app_output o ON o.session_id = r.session_id
WHERE r.team_id = %(team)s AND r.id = ANY(%(runs)s) AND o.id = ANY(%(notes)s) AND o.run_id IS NULL
ORDER BY o.event_index DESC, o.id
"""
# The pending item of each tip, and the newest notes on the way to it. A bookmark's notes hang beside the way. Notes are looked
# up for each node by itself: joined, they may be filtered from all notes of the installation.
TIPS = """
WITH RECURSIVE chain AS (
  SELECT n.id AS tip, n.id, n.parent_id, 0 AS depth
  FROM sessions_app_node n WHERE n.team_id = %(team)s AND n.id = ANY(%(tips)s)
  UNION ALL
  SELECT c.tip, p.id, p.parent_id, c.depth + 1 FROM chain c JOIN sessions_app_node p ON p.id = c.parent_id
  WHERE c.depth < %(ancestors)s
), made AS (
  SELECT tip, id FROM chain
  UNION ALL
  SELECT c.tip, b.id FROM chain c JOIN sessions_app_node b ON b.parent_id = c.id AND b.kind = 'checkpoint'
), noted AS (
  SELECT DISTINCT ON (m.tip) m.tip, o.body
  FROM made m CROSS JOIN LATERAL (
    SELECT o.body, o.event_index, o.id FROM sessions_app_output o WHERE o.to_node_id = m.id AND o.channel = 'recap'
    ORDER BY o.event_index DESC, o.id LIMIT 1
  ) o
  ORDER BY m.tip, o.event_index DESC, o.id
)
SELECT n.id, n.pending_key, noted.body FROM sessions_app_node n LEFT JOIN noted ON noted.tip = n.id
WHERE n.team_id = %(team)s AND n.id = ANY(%(tips)s)
"""
# Sessions that have no run, with the newest notes on each: there is nothing to go on with but what was noted.
BARE = """
SELECT s.id, s.title, s.git_branch, s.ticket, s.last_activity_at,
       (SELECT o.body FROM sessions_app_output o
        WHERE o.team_id = s.team_id AND o.session_id = s.id AND o.run_id IS NULL AND o.channel = 'recap'
        ORDER BY o.event_index DESC LIMIT 1)
FROM sessions_app_worksession s
WHERE s.team_id = %(team)s AND s.id = ANY(%(sessions)s)
  AND NOT EXISTS (SELECT 1 FROM sessions_app_run r WHERE r.session_id = s.id)
ORDER BY s.last_activity_at DESC, s.id LIMIT %(most)s
"""
COUNT = "SELECT count(*) FROM (SELECT 1 FROM sessions_app_run WHERE team_id = %(team)s LIMIT %(most)s) counted"


class Finds(StrEnum):
    SESSIONS = "sessions"
    RUNS = "runs"
    NOTES = "notes"
    # Notes on a session itself, outside of any run.
    SESSION_NOTES = "session_notes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """One part of a statement; it gives the id of a row, the id of the run or session that it was noted in, and when it was written."""

    finds: Finds
    sql: str
    parameters: Mapping[str, Any]


def statement_of(lookups: Sequence[Lookup]) -> str:
    """One statement for all of them. A row says which lookup gave it, and how many rows that one found."""
    parts = ", ".join(f"look_{number} AS MATERIALIZED ({lookup.sql})" for number, lookup in enumerate(lookups))
    reads = " UNION ALL ".join(
        f"(SELECT {number}, id, noted_in, count(*) OVER () FROM (SELECT * FROM look_{number} LIMIT {MAX_HITS + 1}) found "
        f"ORDER BY at DESC, id LIMIT {MAX_WEIGHED})"
        for number in range(len(lookups))
    )
    return f"WITH {parts} {reads}"


def parameters_of(lookups: Iterable[Lookup]) -> dict[str, Any]:
    return {name: value for lookup in lookups for name, value in lookup.parameters.items()}


def by_name(signals: Signals) -> tuple[Lookup, ...]:
    """By what names a run or its session: ids, ticket, commit, branch."""
    return (*_by_id(signals), *_by_label(signals))


def whole_choice(signals: Signals) -> Choices:
    """All telling words at once."""
    return [signals.words] if signals.words else []


def partial_choices(signals: Signals) -> Choices:
    """Each sufficient part of the telling words, where that is less than all of them."""
    needed = resume.words_needed(len(signals.words))
    # The longest words tell most; combining more of them would multiply what Postgres looks up.
    words = sorted(signals.words, key=len, reverse=True)[:_MOST_COMBINED]
    return list(combinations(words, min(needed, len(words)))) if 0 < needed < len(signals.words) else []


def among_newest(choices: Choices) -> tuple[Lookup, ...]:
    """Every word of one of the choices, in the titles, goals and notes that were written last."""
    patterns = _Patterns(choices, shortest=resume_signals.shortest_part)
    if not patterns.names:
        return ()
    return (
        _windowed(Finds.SESSIONS, "searchedsession", "title", patterns),
        _windowed(Finds.RUNS, "searchedrun", "goal", patterns),
        _windowed(Finds.NOTES, "searchedoutput", "body", patterns),
        _windowed(Finds.SESSION_NOTES, "searchedoutput", "body", patterns),
    )


def among_all(choices: Choices, *, finds: frozenset[Finds], as_written: str = "") -> tuple[Lookup, ...]:
    """The same in all titles, goals and notes, as far as they are asked for; in what was noted also names of code as a whole."""
    patterns = _Patterns(choices, shortest=lambda _word: _SHORTEST_LETTERS)
    lookups: list[Lookup] = []
    if patterns.names:
        lookups.append(_lookup(Finds.SESSIONS, patterns.condition("UPPER(t.title)"), patterns.names))
        lookups.append(_lookup(Finds.RUNS, patterns.condition("UPPER(t.goal)"), patterns.names))
    if choices:
        words = " | ".join(f"({_note_words(words)})" for words in choices)
        lookups.extend(_by_words(what, words_of, words, as_written) for what, words_of in _WRITTEN)
    return tuple(lookup for lookup in lookups if lookup.finds in finds)


def _by_id(signals: Signals) -> Iterator[Lookup]:
    if signals.run_ids:
        yield _lookup(Finds.RUNS, "t.id = ANY(%(run_ids)s)", {"run_ids": list(signals.run_ids)})
    if signals.session_ids:
        yield _lookup(Finds.SESSIONS, "t.id = ANY(%(session_ids)s)", {"session_ids": list(signals.session_ids)})
    if signals.tickets:
        where = "t.ticket = ANY(%(tickets)s) AND t.ticket <> ''"
        yield _lookup(Finds.SESSIONS, where, {"tickets": sorted(signals.tickets)})


def _by_label(signals: Signals) -> Iterator[Lookup]:
    for number, sha in enumerate(sorted(signals.head_shas)):
        where = f"t.git_head_sha >= %(sha_{number})s AND t.git_head_sha < %(sha_{number}_end)s AND t.git_head_sha <> ''"
        # No hexadecimal digit comes after g, so this is every commit that begins so, in any collation.
        yield _lookup(Finds.SESSIONS, where, {f"sha_{number}": sha, f"sha_{number}_end": f"{sha}g"})
    if signals.branches:
        branches = sorted(signals.branches)
        names = {f"branch_{number}": f"{_literal(branch)}%" for number, branch in enumerate(branches)}
        longer = " OR ".join(_like("UPPER(t.git_branch)", name) for name in names)
        where = f"t.git_branch <> '' AND ({longer} OR UPPER(t.git_branch) = ANY(%(shorter)s))"
        shorter = {branch.upper() for branch in branches for branch in (branch, *resume.near_branches(branch))}
        yield _lookup(Finds.SESSIONS, where, {**names, "shorter": sorted(shorter)})


class _Patterns:
    """Choices of words as patterns of letters. Words that are too short to be looked for are passed over: letters are indexed
    by threes.
    """

    def __init__(self, choices: Choices, *, shortest: Callable[[str], int]) -> None:
        stems = [[resume_signals.stem(word) for word in choice] for choice in choices]
        long = [[word for word in choice if len(word) >= shortest(word)] for choice in stems]
        self._choices = [choice for choice in long if choice]
        words = sorted({word for choice in self._choices for word in choice})
        self._name_of = {word: f"word_{number}" for number, word in enumerate(words)}
        self.names = {name: f"%{_literal(word)}%" for word, name in self._name_of.items()}

    def condition(self, letters: str) -> str:
        each = (" AND ".join(_like(letters, self._name_of[word]) for word in choice) for choice in self._choices)
        return " OR ".join(f"({one})" for one in each)


_NOTES = "o.channel = 'recap' AND to_tsvector('simple'::regconfig, COALESCE(o.body, ''))"
# By the beginning of an artifact: more of it is not indexed.
_ARTIFACTS = "o.channel = 'artifact' AND to_tsvector('simple'::regconfig, COALESCE(LEFT(o.body, 16384), ''))"
_WRITTEN = (
    (Finds.NOTES, _NOTES),
    (Finds.NOTES, _ARTIFACTS),
    (Finds.SESSION_NOTES, _NOTES),
    (Finds.SESSION_NOTES, _ARTIFACTS),
)


def _by_words(finds: Finds, words_of: str, note_words: str, as_written: str) -> Lookup:
    """In what was written in runs, or on sessions outside of any run."""
    of_runs = finds is Finds.NOTES
    noted_in, run = ("o.run_id", "NOT NULL") if of_runs else ("o.session_id", "NULL")
    sql = (
        f"SELECT o.id, {noted_in} AS noted_in, o.created_at AS at FROM sessions_app_searchedoutput o "
        f"WHERE o.team_id = %(team)s AND o.run_id IS {run} "
        f"AND {words_of} @@ (to_tsquery('simple'::regconfig, %(note_words)s) "
        "|| plainto_tsquery('simple'::regconfig, %(as_written)s))"
    )
    return Lookup(finds=finds, sql=sql, parameters={"note_words": note_words, "as_written": as_written})


def _note_words(words: Sequence[str]) -> str:
    """All of the words, as Postgres reads a query of words. A word is letters, digits, _ and -, so quotes hold it."""
    return " & ".join(_note_word(word) for word in words)


def _note_word(word: str) -> str:
    """One of the spellings. Looking up by the beginning of a word would read every longer word's places to the end."""
    return f"({' | '.join(map(_quoted, resume_signals.spellings(word)))})"


def _quoted(word: str) -> str:
    return f"'{word}'"


def _lookup(finds: Finds, where: str, parameters: Mapping[str, Any]) -> Lookup:
    table = "searchedrun" if finds is Finds.RUNS else "searchedsession"
    sql = (
        f"SELECT t.id, NULL::uuid AS noted_in, t.last_activity_at AS at FROM sessions_app_{table} t "
        f"WHERE t.team_id = %(team)s AND ({where})"
    )
    return Lookup(finds=finds, sql=sql, parameters=parameters)


def _windowed(finds: Finds, table: str, column: str, patterns: _Patterns) -> Lookup:
    notes, of_runs = table == "searchedoutput", finds is Finds.NOTES
    at = "t.created_at" if notes else "t.last_activity_at"
    run_id, session_id = ("t.run_id", "t.session_id") if notes else ("NULL::uuid", "NULL::uuid")
    newest = f"{at} DESC" if notes else f"t.activity_window DESC, {at} DESC"
    noted = " AND t.channel = 'recap'" if notes else ""
    whose = f" AND run_id IS {'NOT NULL' if of_runs else 'NULL'}" if notes else ""
    size = _WINDOW_OF_NOTES if notes else _WINDOW
    sql = (
        "SELECT id, COALESCE(run_id, session_id) AS noted_in, at "
        f"FROM (SELECT t.id, {run_id} AS run_id, {session_id} AS session_id, {at} AS at, UPPER(t.{column}) AS letters "
        f"FROM sessions_app_{table} t "
        f"WHERE t.team_id = %(team)s{noted} ORDER BY {newest}, t.id LIMIT {size}) newest "
        f"WHERE ({patterns.condition('newest.letters')}){whose}"
    )
    return Lookup(finds=finds, sql=sql, parameters=patterns.names)


def _like(letters: str, name: str) -> str:
    return f"{letters} LIKE UPPER(%({name})s)"


def _literal(text: str) -> str:
    """The text as a pattern that means itself."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
