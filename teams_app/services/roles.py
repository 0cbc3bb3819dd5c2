"""What the roles of the database may do. The owner migrates; another one serves requests, and another one does upkeep.

A table that nobody names here may be read and written by both: it holds settings, accounts or workflows, which people change.
"""

from collections.abc import Iterable, Mapping

from django.db import connection, transaction
from psycopg import sql

from teams_app.services.row_policies import keep_policies

APP_ROLE = "workrail_app"
UPKEEP_ROLE = "workrail_upkeep"
# History: added to and read.
APPEND_ONLY = frozenset({
    "sessions_app_event",
    "sessions_app_attempt",
    "sessions_app_node",
    "sessions_app_handle",
    "sessions_app_output",
    "sessions_app_snapshot",
    "sessions_app_ledgerentry",
    "teams_app_auditentry",
    "traces_app_traceevent",
})  # fmt: skip
# Derived from history, or where it ends: changed with it, never deleted but with the whole session.
KEPT = frozenset({
    "sessions_app_worksession",
    "sessions_app_run",
    "sessions_app_gap",
    "sessions_app_checkpointrequest",
    "sessions_app_ledger",
    "teams_app_audithead",
})  # fmt: skip
READ_ONLY = frozenset({"django_migrations"})
# What is collected when nothing refers to it any more, and the trace after its time.
DELETED_BY_UPKEEP = frozenset({"sessions_app_snapshot", "traces_app_traceevent"})
_PARTITIONS = ("workrail_make_partition(text, text, text, text)", "workrail_drop_partition(text)")
_OF_BOTH = (
    "workrail_forget_session(uuid, date)",
    "workrail_versions(uuid[], uuid[])",
    "workrail_figures(timestamptz)",
    "workrail_members(uuid[], uuid[])",
)
# Views of what people and agents look for by words, in the team that they are in.
_SEARCHED = ("sessions_app_searchedsession", "sessions_app_searchedrun", "sessions_app_searchedoutput")

_TABLES = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname
"""


def grant_roles(*, passwords: Mapping[str, str]) -> dict[str, bool]:
    """Whether each role is there, and has then exactly what is told here. Safe to run twice.

    A role is shown rows before it may ask for them: the policies come first.
    """
    granted = {}
    there = {role for role in (APP_ROLE, UPKEEP_ROLE) if _is_there(role, passwords.get(role, ""))}
    if APP_ROLE in there:
        keep_policies(bound=APP_ROLE, free=sorted(there - {APP_ROLE}))
    with transaction.atomic():
        tables = [str(name) for (name,) in _rows(_TABLES)]
        for role, functions in ((APP_ROLE, _OF_BOTH), (UPKEEP_ROLE, (*_OF_BOTH, *_PARTITIONS))):
            granted[role] = role in there
            if granted[role]:
                _grant(role, tables, functions)
        if granted[APP_ROLE]:
            _run(sql.SQL("GRANT SELECT ON {} TO {}").format(_names(_SEARCHED), sql.Identifier(APP_ROLE)))
    return granted


def privileges_of(role: str, table: str) -> tuple[str, ...]:
    if table in READ_ONLY:
        return ("SELECT",)
    if table in APPEND_ONLY:
        extra = ("DELETE",) if role == UPKEEP_ROLE and table in DELETED_BY_UPKEEP else ()
        return ("SELECT", "INSERT", *extra)
    return ("SELECT", "INSERT", "UPDATE") if table in KEPT else ("SELECT", "INSERT", "UPDATE", "DELETE")


def _is_there(role: str, password: str) -> bool:
    there = bool(_rows("SELECT 1 FROM pg_roles WHERE rolname = %s", role))
    if not password:
        return there
    may = _rows("SELECT 1 FROM pg_roles WHERE rolname = current_user AND (rolcreaterole OR rolsuper)")
    if not may:
        return there
    verb = "ALTER" if there else "CREATE"
    _run(sql.SQL("{} ROLE {} LOGIN PASSWORD {}").format(sql.SQL(verb), sql.Identifier(role), sql.Literal(password)))
    return True


def _grant(role: str, tables: Iterable[str], functions: Iterable[str]) -> None:
    name = sql.Identifier(role)
    _run(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(_schema(), name))
    _run(sql.SQL("REVOKE CREATE ON SCHEMA {} FROM {}").format(_schema(), name))
    # Partitions are reached through their table, and by no other way.
    _run(sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA {} FROM {}").format(_schema(), name))
    _run(sql.SQL("GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {} TO {}").format(_schema(), name))
    for table in tables:
        what = sql.SQL(", ").join(map(sql.SQL, privileges_of(role, table)))
        _run(sql.SQL("GRANT {} ON {} TO {}").format(what, sql.Identifier(table), name))
    for function in functions:
        _run(sql.SQL("GRANT EXECUTE ON FUNCTION {} TO {}").format(sql.SQL(function), name))


def _names(tables: Iterable[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, tables))


def _schema() -> sql.Identifier:
    return sql.Identifier(str(_rows("SELECT current_schema()")[0][0]))


def _run(statement: sql.Composed) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement.as_string())


def _rows(query: str, *parameters: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        rows: list[tuple[object, ...]] = cursor.fetchall()
    return rows
