"""Each table beside the log is declared once: every column of its model is in the declaration, and writing, checking,
rebuilding and importing all go by it.
"""

import pytest
from django.apps import apps
from django.db import connection, transaction

from sessions_app.engine.tables import TABLES
from sessions_app.selectors import stored_sessions
from sessions_app.selectors.integrity import session_ids, verify_session
from sessions_app.services.bundles import rows
from sessions_app.services.store import hot_write
from sessions_app.services.upkeep import tables
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests import run_cast
from tests.checkpoint_cast import answer, at_question, only_row, publish_folder
from tests.engine_play import NEVER_STOP
from tests.handover_cast import WORKFLOW, begun, triggering
from tests.run_cast import advanced, begin, bookmark
from tests.step_documents import step

SYSTEM = system_actor(team_id=NO_TEAM, door=Door.CLI)
# What every row has by whose it is, and what no row of one may be given.
OF_ALL = {"team_id", "session_id"}
IDS = {"id", "run_id"}
COLUMNS = [(name, column.name) for name, table in TABLES.items() for column in table.checked if column.name not in IDS]


def model_of(table):
    return next(model for model in apps.get_models() if model._meta.db_table == table.name)


@pytest.mark.parametrize("name", TABLES)
def test_each_column_of_the_model_is_declared(name):
    table = TABLES[name]
    of_model = {field.column for field in model_of(table)._meta.concrete_fields if not field.generated}

    assert of_model == OF_ALL | {column.name for column in table.columns} | set(table.beside)


@pytest.mark.parametrize("name", TABLES)
def test_the_hot_write_and_an_import_write_each_of_them(name):
    table = TABLES[name]
    everything = {"events": 1, "nodes": 1, "attempts": 1, "outputs": 1, "gaps": 1, "questions": 1, "handles": 1}
    shape = hot_write._Shape(begins=True, starts=True, has_run=True, resolved=0, **everything)
    written = hot_write._statement(shape).partition(f"INSERT INTO {table.name} (")[2].partition(")")[0].split(", ")
    copied = rows._keeping(table).partition("(")[2].partition(")")[0].split(", ")
    wanted = OF_ALL | {column.name for column in table.columns}
    wanted |= {column for column, value in table.beside.items() if value is not None}

    assert sorted(written) == sorted(copied) == sorted(wanted)


@pytest.mark.parametrize("name", TABLES)
def test_a_check_reads_each_of_them(name):
    assert all(column.reading in stored_sessions._TABLES[name].columns for column in TABLES[name].columns)


def world():
    """Sessions that have a row in each of the tables between them."""
    desk = run_cast.make_desk()
    value = begin(desk, step("first-step"), step("next-step"), preferences=NEVER_STOP)
    bookmark(desk.agent, value, artifacts=[{"kind": "own.b", "n": 1.5}])
    advanced(desk.agent, advanced(desk.agent, value, ""), "All done.")
    answer(desk.person, only_row(at_question(desk, authority="human")), reason="Because the plan is right.")
    publish_folder(desk, triggering(), WORKFLOW)
    begun(desk)
    return list(session_ids())


def spoil(table, name, row):
    """Another value of the same type, whatever the constraints of the table say."""
    sql = {"uuid": "gen_random_uuid()", "int": f"{name} + 1", "jsonb": "'[]'"}
    sql |= {"timestamptz": f"coalesce({name}, now()) + interval '1 hour'", "text": f"'x' || left({name}, 10)"}
    kind = next(column.sql for column in table.columns if column.name == name)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass AND contype = 'c'", [table.name]
        )
        for (constraint,) in cursor.fetchall():
            cursor.execute(f"ALTER TABLE {table.name} DROP CONSTRAINT {constraint}")
        cursor.execute(f"UPDATE {table.name} SET {name} = {sql[kind]} WHERE id = %s", [row.pk])


def found(*ids):
    return {finding.reason for session_id in ids or session_ids() for finding in verify_session(session_id)}


def rebuilt(*ids):
    return sum(tables.rebuild_projections(actor=SYSTEM, session_id=each) for each in ids or session_ids())


@pytest.mark.django_db
def test_whatever_the_log_tells_is_checked_and_made_again_column_by_column():
    world()
    assert (found(), rebuilt()) == (set(), 0)

    wrong = {}
    for name, column in COLUMNS:
        table = TABLES[name]
        before = transaction.savepoint()
        row = model_of(table).objects.order_by("id").first()
        spoil(table, column, row)
        noticed, made_again, left = found(row.session_id), rebuilt(row.session_id), found(row.session_id)
        transaction.savepoint_rollback(before)
        if not ("stale_projection" in noticed and made_again == 1 and left == set()):
            wrong[f"{name}.{column}"] = noticed, made_again, left

    assert wrong == {}


@pytest.mark.django_db
@pytest.mark.parametrize("name", [name for name, table in TABLES.items() if table.is_told_whole])
def test_rows_that_are_gone_are_made_again(name):
    world()
    model = model_of(TABLES[name])
    before = list(model.objects.order_by("id").values())

    model.objects.all().delete()

    assert "missing_row" in found()
    assert rebuilt() == len(before)
    assert list(model.objects.order_by("id").values()) == before
    assert found() == set()
