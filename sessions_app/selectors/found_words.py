"""Which runs and sessions have a word in what they are called or in their notes, however common it is. One statement each.

Each source goes by its own index, and is read no further than a cap: Postgres plans what is materialized as if all of it were
wanted, and stops when the reader does. What a common word finds so is any of it, so the newest rows are looked at besides.
"""

from typing import Any

from django.db import connection
from django.db.models import BooleanField, F, Func, TextField, Value

from teams_app.engine.actors import Actor, Permission

_CAP = 2_000
_NEWEST_RUNS, _NEWEST_NOTES = 2_000, 1_000

_IN_NOTES = "to_tsvector('simple'::regconfig, COALESCE(body, '')) @@ plainto_tsquery('simple'::regconfig, %(text)s)"
_SOURCES = f"""
WITH goals AS MATERIALIZED (
  SELECT id, session_id FROM sessions_app_searchedrun WHERE team_id = %(team)s AND UPPER(goal::text) LIKE UPPER(%(like)s)
), names AS MATERIALIZED (
  SELECT id, session_id FROM sessions_app_searchedrun
  WHERE team_id = %(team)s AND name <> '' AND UPPER(name::text) LIKE UPPER(%(like)s)
), titles AS MATERIALIZED (
  SELECT id FROM sessions_app_searchedsession WHERE team_id = %(team)s AND UPPER(title::text) LIKE UPPER(%(like)s)
), tickets AS MATERIALIZED (
  SELECT id FROM sessions_app_searchedsession
  WHERE team_id = %(team)s AND ticket <> '' AND ticket = ANY(ARRAY[%(text)s, UPPER(%(text)s), LOWER(%(text)s)])
), branches AS MATERIALIZED (
  SELECT id FROM sessions_app_searchedsession
  WHERE team_id = %(team)s AND git_branch <> '' AND UPPER(git_branch::text) LIKE UPPER(%(begins)s)
), notes AS MATERIALIZED (
  SELECT run_id, session_id FROM sessions_app_searchedoutput WHERE team_id = %(team)s AND channel = 'recap' AND {_IN_NOTES}
), newest_runs AS MATERIALIZED (
  SELECT id, session_id FROM (
    SELECT id, session_id, goal FROM sessions_app_searchedrun WHERE team_id = %(team)s
    ORDER BY activity_window DESC, last_activity_at DESC, id LIMIT {_NEWEST_RUNS}
  ) n WHERE UPPER(goal::text) LIKE UPPER(%(like)s)
), newest_notes AS MATERIALIZED (
  SELECT run_id, session_id FROM (
    SELECT run_id, session_id, body FROM sessions_app_searchedoutput WHERE team_id = %(team)s AND channel = 'recap'
    ORDER BY created_at DESC, id LIMIT {_NEWEST_NOTES}
  ) n WHERE {_IN_NOTES}
)
"""  # noqa: S608  constants
_RUNS = f"""
{_SOURCES}
SELECT array_agg(id)::text FROM (
(SELECT id FROM goals LIMIT {_CAP}) UNION (SELECT id FROM names LIMIT {_CAP}) UNION SELECT id FROM newest_runs
UNION (SELECT run_id FROM notes WHERE run_id IS NOT NULL LIMIT {_CAP})
UNION SELECT run_id FROM newest_notes WHERE run_id IS NOT NULL
UNION SELECT r.id FROM sessions_app_run r WHERE r.session_id IN
  ((SELECT id FROM titles LIMIT {_CAP}) UNION (SELECT id FROM tickets LIMIT {_CAP}))
) f
"""  # noqa: S608  as above
_SESSIONS = f"""
{_SOURCES}
SELECT array_agg(session_id)::text FROM (
(SELECT session_id FROM goals LIMIT {_CAP}) UNION (SELECT session_id FROM names LIMIT {_CAP})
UNION SELECT session_id FROM newest_runs
UNION (SELECT session_id FROM notes LIMIT {_CAP}) UNION SELECT session_id FROM newest_notes
UNION (SELECT id FROM titles LIMIT {_CAP}) UNION (SELECT id FROM tickets LIMIT {_CAP})
UNION (SELECT id FROM branches LIMIT {_CAP})
) f
"""  # noqa: S608  as above


class Among(Func):
    """Whether the key of a row is among those found. They stay one text from Postgres and back: thousands of values, each read,
    checked and written by itself, took a quarter of a second.
    """

    template = "%(expressions)s AS uuid[]))"
    arg_joiner = " = ANY(CAST("
    output_field = BooleanField()

    def __init__(self, found: str) -> None:
        super().__init__(F("pk"), Value(found, output_field=TextField()))


def runs_with_word(*, actor: Actor, word: str) -> Among:
    """Those that have it in their goal, their name, their notes, or the title or ticket of their session."""
    return _found(actor, _RUNS, word)


def sessions_with_words(*, actor: Actor, text: str) -> Among:
    """Those that have it in their title, their ticket, the beginning of their branch, the goal or name of a run, or notes."""
    return _found(actor, _SESSIONS, text)


def _found(actor: Actor, statement: str, text: str) -> Among:
    actor.require(Permission.READ_RUNS)
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    asked: dict[str, Any] = {"team": actor.team_id, "text": text, "like": f"%{escaped}%", "begins": f"{escaped}%"}
    with connection.cursor() as cursor:
        cursor.execute(statement, asked)
        return Among(cursor.fetchone()[0] or "{}")
