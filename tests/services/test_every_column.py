"""Whatever column of history somebody changes who owns the database, the check tells, and never breaks over what it finds."""

from itertools import combinations

import pytest
from django.apps import apps
from django.db import DataError, IntegrityError, ProgrammingError, connection, transaction

from sessions_app.services.upkeep.verification import every_finding
from tests.services.test_plantings import GUARDED, World

pytestmark = pytest.mark.django_db

HISTORY = {
    "sessions_app": [
        "WorkSession",
        "Run",
        "Node",
        "Snapshot",
        "Attempt",
        "Event",
        "Output",
        "Gap",
        "CheckpointRequest",
        "Handle",
        "Ledger",
        "LedgerEntry",
    ],
    "teams_app": ["AuditEntry", "AuditHead"],
}
# Columns of which history says nothing, each with why.
FREE = {
    "WorkSession.last_activity_at": "An import is later than what it takes in: what is told has a test of its own.",
    "CheckpointRequest.claimed_by": "Who looks at a question is no history, and changes as people please.",
    "CheckpointRequest.claimed_at": "As claimed_by.",
    "CheckpointRequest.announced_at": "Whether a notice went out is kept with the notices.",
    "CheckpointRequest.overdue_told_at": "As announced_at.",
}
# What Postgres keeps and Python cannot read.
BEYOND = ["'infinity'", "'-infinity'", "'0044-03-15 BC'", "'20000-01-01'"]
DEEP = "(repeat('[', 3000) || repeat(']', 3000))::jsonb"
OTHER = {
    "uuid": ["gen_random_uuid()"],
    "text": ["{c} || 'x'", "''", "'x'"],
    "character varying": ["overlay({c} placing 'x' from greatest(length({c}), 1))", "''", "'x'"],
    "integer": ["{c} + 1", "7"],
    "smallint": ["{c} + 1", "7"],
    "bigint": ["{c} + 1", "7"],
    "boolean": ["NOT {c}", "true"],
    "timestamp with time zone": ["{c} + interval '90 minutes'", "now()", *BEYOND],
    "date": ["{c} + 1", "now()::date", *BEYOND],
    "jsonb": ["'{{\"odd\": 1}}'::jsonb", "'[]'::jsonb", "'null'::jsonb", DEEP],
    "bytea": ["{c} || 'x'::bytea", "''::bytea"],
}


def models():
    return [apps.get_model(app, name) for app, names in HISTORY.items() for name in names]


def columns():
    for model in models():
        for field in model._meta.concrete_fields:
            if field.column is not None:
                yield model, field


@pytest.fixture(autouse=True)
def alone():
    """A thread of a test before may hold its locks for ever; these tests change the tables themselves."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'"
        )


def test_every_column_of_history_is_one_of_a_model():
    known = {(model._meta.db_table, field.column) for model, field in columns()}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attrelid::regclass::text, attname FROM pg_attribute WHERE attrelid::regclass::text = ANY(%s) "
            "AND attnum > 0 AND NOT attisdropped",
            [sorted({table for table, _ in known})],
        )
        stored = set(cursor.fetchall())

    assert stored == known


def kinds_of_columns():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'"
        )
        return {(table, column): kind for table, column, kind in cursor.fetchall()}


def test_a_change_of_any_column_is_told():
    World()
    kinds = kinds_of_columns()
    missed, broken, tried = [], {}, 0
    for model, field in columns():
        table, name = model._meta.db_table, f"{model.__name__}.{field.column}"
        if name in FREE:
            continue
        for other in OTHER[kinds[table, field.column]]:
            found = found_after(table, field, other.format(c=f'"{field.column}"'))
            if found is None:
                continue
            tried += 1
            if isinstance(found, Exception):
                broken[name, other] = f"{type(found).__name__}: {found}"[:300]
            elif not found:
                missed.append((name, other))
    assert tried > 150
    assert (missed, broken) == ([], {})


# Two rows that differ in a column, whichever; the partitions of one table number their rows alike.
SWAPPED = """
WITH two AS MATERIALIZED (
  SELECT a.ctid AS one, a.tableoid AS of_one, a."{column}" AS mine, b.ctid AS other, b.tableoid AS of_other, b."{column}" AS theirs
  FROM {table} a JOIN {table} b ON a.ctid < b.ctid OR a.tableoid < b.tableoid
  WHERE a."{column}" IS DISTINCT FROM b."{column}" ORDER BY a.ctid DESC, b.ctid LIMIT 1
)
UPDATE {table} row SET "{column}" = CASE WHEN row.ctid = two.one AND row.tableoid = two.of_one THEN two.theirs ELSE two.mine END
FROM two WHERE (row.ctid = two.one AND row.tableoid = two.of_one) OR (row.ctid = two.other AND row.tableoid = two.of_other)
"""


def test_values_of_two_rows_that_changed_places_are_told():
    World()
    missed, tried = {}, 0
    for model, field in columns():
        table, name = model._meta.db_table, f"{model.__name__}.{field.column}"
        if name in FREE:
            continue
        found = found_of(table, SWAPPED.format(table=table, column=field.column), before=made_plain(table, field))
        tried += found is not None
        if isinstance(found, Exception) or found == []:
            missed[name] = found
    assert tried > 60
    assert missed == {}


# One row takes columns of another one: what they say beside each other is then as true as it was there.
TAKEN = """
WITH two AS MATERIALIZED (
  SELECT a.ctid AS one, a.tableoid AS of_one, {other} FROM {table} a JOIN {table} b ON (a.ctid, a.tableoid) <> (b.ctid, b.tableoid)
  WHERE {differing} ORDER BY a.ctid DESC, b.ctid LIMIT 1
)
UPDATE {table} row SET {taken} FROM two WHERE row.ctid = two.one AND row.tableoid = two.of_one
"""


def taken(table, names, *, differing):
    return TAKEN.format(
        table=table,
        other=", ".join(f'b."{name}"' for name in names),
        differing=" AND ".join(f'a."{name}" IS DISTINCT FROM b."{name}"' for name in differing),
        taken=", ".join(f'"{name}" = two."{name}"' for name in names),
    )


def told_columns(model):
    fields = [field for field in model._meta.concrete_fields if field.column and not field.generated]
    return [field.column for field in fields if f"{model.__name__}.{field.column}" not in FREE]


def of_other_rows(model):
    """All but the key, as if a row were another one under its name; and all but one more column."""
    table, key = model._meta.db_table, {field.column for field in model._meta.pk_fields}
    rest = [name for name in told_columns(model) if name not in key]
    yield (model.__name__, "all"), table, taken(table, rest, differing=rest[:1])
    for left in rest:
        names = [name for name in rest if name != left]
        for first in names[:2]:
            yield (model.__name__, "all but", left, first), table, taken(table, names, differing=[first])


def pairs_of_other_rows(model):
    table = model._meta.db_table
    for pair in combinations(told_columns(model), 2):
        yield (model.__name__, *pair), table, taken(table, pair, differing=pair)


# Whose a row is, by all that says so: then its place is another one without a contradiction in itself.
PLACES = ("team_id", "born_on", "session_id", "run_id")


def moved(model):
    table, names = model._meta.db_table, [name for name in PLACES if name in told_columns(model)]
    for differing in names:
        yield (model.__name__, "moved by", differing), table, taken(table, names, differing=[differing])


# A key that nothing has; Postgres makes the rest of a row's key fit or refuses it.
FRESH = {"UUIDField": "gen_random_uuid()", "BinaryField": "'8877665544332211'::bytea", "CharField": "'sha256:7'"}


def copied(model):
    """Once more under another key, where that is legal: at its own place, and at the place of another row."""
    table, key = model._meta.db_table, {field.column for field in model._meta.pk_fields}
    fields = [field for field in model._meta.concrete_fields if field.column and not field.generated]
    names = ", ".join(f'"{field.column}"' for field in fields)
    for place in ((), tuple(field.column for field in fields if field.column in PLACES)):
        values = [
            FRESH.get(type(field).__name__, "999")
            if field.column in key and field.column not in PLACES
            else f'{"b" if field.column in place else "a"}."{field.column}"'
            for field in fields
        ]
        elsewhere = f'a."{place[-1]}" <> b."{place[-1]}"' if place else "true"
        chosen = f"SELECT {', '.join(values)} FROM {table} a, {table} b WHERE {elsewhere} LIMIT 1"
        yield (model.__name__, "copied", place), table, f"INSERT INTO {table} ({names}) {chosen}"


def untold_plantings(plantings):
    untold, tried = {}, 0
    for name, table, statement in plantings:
        found = found_of(table, statement)
        tried += found is not None
        if isinstance(found, Exception) or found == []:
            untold[name] = found
    return untold, tried


def test_a_row_that_took_all_of_another_one_is_told():
    World()

    untold, tried = untold_plantings(each for model in models() for each in of_other_rows(model))

    assert tried > 100
    assert untold == {}


def test_a_row_that_is_at_another_place_or_there_once_more_is_told():
    World()

    untold, tried = untold_plantings(each for plants in (moved, copied) for model in models() for each in plants(model))

    assert tried > 20
    assert untold == {}


@pytest.mark.slow
def test_two_columns_that_are_those_of_another_row_are_told():
    World()

    untold, tried = untold_plantings(each for model in models() for each in pairs_of_other_rows(model))

    assert untold == {}
    assert tried > 200


def other_pairs():
    """Any two columns of a row, each with another plausible value."""
    kinds = kinds_of_columns()
    for model in models():
        table = model._meta.db_table
        for pair in combinations(told_columns(model), 2):
            values = {name: OTHER[kinds[table, name]][0].format(c=f'"{name}"') for name in pair}
            changes = ", ".join(f'"{name}" = {value}' for name, value in values.items())
            differs = " AND ".join(f'"{name}" IS DISTINCT FROM {value}' for name, value in values.items())
            chosen = f"SELECT ctid FROM {table} WHERE {differs} LIMIT 1"
            yield (model.__name__, *pair), table, f"UPDATE {table} SET {changes} WHERE ctid = ({chosen})"


@pytest.mark.slow
def test_two_columns_that_say_something_else_are_told():
    World()

    untold, tried = untold_plantings(other_pairs())

    assert untold == {}
    assert tried > 800


def test_a_row_that_is_gone_from_any_table_is_told():
    World()
    tables = [model._meta.db_table for model in models()]
    gone = {table: f"DELETE FROM {table} WHERE ctid IN (SELECT ctid FROM {table} LIMIT 1)" for table in tables}
    # One that a run is pinned to: there may be programs of the library that none is.
    gone["workflows_app_program"] = (
        "DELETE FROM workflows_app_program WHERE workflow_hash IN (SELECT workflow_hash FROM sessions_app_run LIMIT 1)"
    )
    missed = []
    for table, statement in gone.items():
        found = found_of(table, statement)
        if isinstance(found, Exception) or not found:
            missed.append((table, found))
    assert missed == []


UNKEYED = """
SELECT 'ALTER TABLE ' || conrelid::regclass || ' DROP CONSTRAINT ' || quote_ident(conname) || ' CASCADE' FROM pg_constraint
WHERE conrelid = '{table}'::regclass AND contype IN ('p', 'u') AND conparentid = 0
UNION ALL SELECT 'DROP INDEX IF EXISTS ' || indexrelid::regclass || ' CASCADE' FROM pg_index
WHERE indrelid = '{table}'::regclass AND indisunique
"""
CHILD = "CREATE TABLE the_child () INHERITS ({table})"


@pytest.mark.parametrize("app", HISTORY)
def test_a_second_row_of_a_key_is_told_and_breaks_nothing(app):
    World()
    untold = {}
    for model in map(apps.get_model, [app] * len(HISTORY[app]), HISTORY[app]):
        table = model._meta.db_table
        names = ", ".join(
            f'"{field.column}"' for field in model._meta.concrete_fields if field.column and not field.generated
        )
        for into in (table, "the_child"):
            if (into, table) == ("the_child", "sessions_app_event"):
                # No table inherits of one that is made of partitions.
                continue
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                    cursor.execute(
                        UNKEYED.format(table=table) if into == table else f"SELECT '{CHILD.format(table=table)}'"
                    )
                    for (statement,) in cursor.fetchall():
                        cursor.execute(statement)
                told = found_of(table, f"INSERT INTO {into} ({names}) SELECT {names} FROM {table} LIMIT 1")
                transaction.set_rollback(True)
            if not isinstance(told, list) or "key_may_be_doubled" not in {each.reason for each in told}:
                untold[table, into] = told
    assert untold == {}


# What whoever owns a table can make of its key, so that a second row with other words in it is no second row of the key.
WEAKER = {
    "by one more column": "ALTER TABLE {table} ADD PRIMARY KEY ({key}, {other})",
    "unique, and no key": "CREATE UNIQUE INDEX ON {table} ({key}, {other})",
}


@pytest.mark.parametrize("weaker", WEAKER)
def test_a_key_that_is_another_one_is_told(weaker):
    World()
    untold = {}
    for model in models():
        table = model._meta.db_table
        key = [field.column for field in model._meta.pk_fields]
        # A generated column cannot be of a key.
        names = [field.column for field in model._meta.concrete_fields if field.column and not field.generated]
        other = next(
            name
            for name in ("created_at", "digest", "entered_until", "seal", "at", *names)
            if name in {*names} - {*key}
        )
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute(UNKEYED.format(table=table))
            for (statement,) in cursor.fetchall():
                cursor.execute(statement)
            keyed = WEAKER[weaker].format(table=table, key=", ".join(key), other=other)
            told = found_of(table, f"UPDATE {table} SET {other} = {other}", before=[keyed])
            transaction.set_rollback(True)
        if not isinstance(told, list) or "key_may_be_doubled" not in {each.reason for each in told}:
            untold[table] = told
    assert untold == {}


def test_a_view_that_stands_in_for_a_table_is_told():
    World()
    untold = []
    for model in models():
        table = model._meta.db_table
        moved = [f"ALTER TABLE {table} RENAME TO the_table", f"CREATE VIEW {table} AS SELECT * FROM the_table"]
        told = found_of(table, "SELECT 1", before=moved)
        if not isinstance(told, list) or "key_may_be_doubled" not in {each.reason for each in told}:
            untold.append((table, told))
    assert untold == []


# Each keeps a row from whoever checks, and would from the owner who has no rule to obey.
# `grant_roles` shows the owner every row by way of the role for upkeep, and some test before this one may have called it.
NO_POLICIES = """
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT polname FROM pg_policy WHERE polrelid = '{table}'::regclass LOOP
        EXECUTE format('DROP POLICY %I ON {table}', name);
    END LOOP;
END $$
"""
HIDING = {
    "a policy for nobody": ["ALTER TABLE {table} FORCE ROW LEVEL SECURITY"],
    "a policy for some rows": [
        "CREATE POLICY part ON {table} USING (false)",
        "ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
    ],
    "a policy beside one for all": [
        "CREATE POLICY every ON {table} USING (true)",
        "CREATE POLICY none ON {table} AS RESTRICTIVE USING (false)",
        "ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
    ],
}


@pytest.mark.parametrize("hiding", HIDING)
def test_rows_that_are_hidden_from_the_check_are_told(hiding):
    World()
    untold = []
    for model in models():
        table = model._meta.db_table
        before = [
            NO_POLICIES.format(table=table),
            f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
            *(each.format(table=table) for each in HIDING[hiding]),
        ]
        told = found_of(table, "SELECT 1", before=before)
        if not isinstance(told, list) or "rows_may_be_hidden" not in {each.reason for each in told}:
            untold.append((table, told))
    assert untold == []


SPANS = ("1 day", "30 years")


def test_a_session_that_is_said_to_be_active_when_nothing_happened_is_told():
    World()
    later = "UPDATE sessions_app_worksession SET last_activity_at = last_activity_at + interval '{}'"

    told = {span: {each.reason for each in found_of("sessions_app_worksession", later.format(span))} for span in SPANS}

    assert told == {"1 day": {"column_mismatch"}, "30 years": {"column_mismatch"}}


# Where the check reads what is empty: in the rows of one session, in their order, in the ledgers, in the audit log.
READ_BY_THE_CHECK = {
    "WorkSession.team_id",
    "Node.session_id",
    "Attempt.reply",
    "Event.created_at",
    "Event.body",
    "LedgerEntry.entered_at",
    "AuditEntry.at",
    "AuditEntry.team_id",
    "AuditHead.seal",
    "AuditHead.adopted",
    "AuditHead.next_number",
}


def untold_when_emptied(names):
    World()
    untold = {}
    for model, field in columns():
        name = f"{model.__name__}.{field.column}"
        if field.null or field.generated or name in FREE or (names and name not in names):
            continue
        table = model._meta.db_table
        with transaction.atomic():
            with connection.cursor() as cursor:
                for guarded in GUARDED:
                    cursor.execute(f"ALTER TABLE {guarded} DISABLE TRIGGER USER")
                try:
                    with transaction.atomic():
                        cursor.execute(f'ALTER TABLE {table} ALTER COLUMN "{field.column}" DROP NOT NULL')
                except ProgrammingError:
                    # Of a primary key.
                    continue
            told = found_of(
                table, f'UPDATE {table} SET "{field.column}" = NULL WHERE ctid = (SELECT ctid FROM {table} LIMIT 1)'
            )
            transaction.set_rollback(True)
        if told is not None and (
            isinstance(told, Exception) or {"column_may_be_empty"} >= {each.reason for each in told}
        ):
            untold[name] = told
    return untold


def test_a_row_that_lost_what_it_told_is_told_and_breaks_nothing():
    assert untold_when_emptied(READ_BY_THE_CHECK) == {}


@pytest.mark.slow
def test_nor_does_any_other_column():
    assert untold_when_emptied(None) == {}


def made_plain(table, field):
    """What Postgres keeps itself can be changed by whoever has it keep that no more."""
    return [f'ALTER TABLE {table} ALTER COLUMN "{field.column}" DROP EXPRESSION'] if field.generated else []


def found_after(table, field, value):
    """What is told of the change of one row; None where the column cannot hold the value, or holds it."""
    column = field.column
    return found_of(
        table,
        f'UPDATE {table} SET "{column}" = {value} WHERE ctid = (SELECT ctid FROM {table} '
        f'WHERE "{column}" IS DISTINCT FROM {value} ORDER BY "{column}" IS NULL LIMIT 1)',
        before=made_plain(table, field),
    )


def found_of(table, statement, *, before=()):
    try:
        return _found_of(table, [*before, statement])
    except (DataError, IntegrityError):
        return None


def _found_of(table, statements):
    with transaction.atomic():
        with connection.cursor() as cursor:
            # An autovacuum on its way holds a table for longer than a request would wait for one.
            cursor.execute("SET LOCAL lock_timeout = '60s'")
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            for guarded in GUARDED:
                cursor.execute(f"ALTER TABLE {guarded} DISABLE TRIGGER USER")
            cursor.execute(
                "SELECT conrelid::regclass, conname FROM pg_constraint WHERE contype IN ('c', 'f') "
                "AND conparentid = 0 AND coninhcount = 0 AND %s::regclass IN (conrelid, confrelid)",
                [table],
            )
            for holder, constraint in cursor.fetchall():
                cursor.execute(f'ALTER TABLE {holder} DROP CONSTRAINT "{constraint}"')
            for statement in statements:
                cursor.execute(statement)
            changed = cursor.rowcount
        try:
            found = list(every_finding()) if changed else None
        except Exception as error:  # noqa: BLE001  the check must not break over what it finds
            found = error
        transaction.set_rollback(True)
    return found
