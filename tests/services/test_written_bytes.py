"""What an advance writes, in bytes and updates: what was gained there cannot silently go."""

import random
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection

from tests import run_cast
from tests.emptying import empty_tables
from tests.run_cast import NOW, advanced, make_desk
from tests.step_documents import step

pytestmark = [pytest.mark.measures, pytest.mark.own_connection, pytest.mark.django_db(transaction=True)]

ADVANCES = 400
LOOKS = 3
MOVED = ("sessions_app_run", "sessions_app_worksession")
NOTES_CHARACTERS = 1000
# Bytes for each advance with notes of that length in plain English; what was measured stands in docs/performance.md.
MOST_IN_TABLES = 4_580
MOST_IN_INDEXES = 1_100
# Of the statement itself: what its words leave for the index of words to sort in later is written later.
MOST_IN_WAL = 8_300
MOST_IN_WAL_OF_FEW_WORDS = 5_700
WORDS = [
    word
    for page in sorted((Path(__file__).resolve().parents[2] / "docs").glob("*.md"))
    for word in re.findall(r"[A-Za-z][a-z']+[,.]?", page.read_text())
]
FEW_WORDS = "What was done, what was found and what comes next, in a few words. " * 15


def notes(chance):
    """Some of what the documentation says, so that words are as common and as rare as in notes."""
    text, at = "", chance.randrange(len(WORDS))
    while len(text) < NOTES_CHARACTERS:
        at = chance.randrange(len(WORDS)) if chance.random() < 0.1 else (at + 1) % len(WORDS)
        text += WORDS[at] + " "
    return text[:NOTES_CHARACTERS]


def begun(desk):
    loop = {"type": "for", "count": 1000, "maxIterations": 1000}
    chance = random.Random(7)
    body = [step(f"step-{number}", prompt=notes(chance)[:500]) for number in range(5)]
    run_cast.published(desk, {"id": "the-loop", "type": "loop", "title": "The loop", "loop": loop, "body": body})
    return run_cast.start(desk).value


def asked(statement, *parameters):
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall()


def updates():
    """Of each table: how many there were, and how many of them touched no index."""
    asked("SELECT pg_stat_force_next_flush()")
    connection.close()
    counted = "SELECT relname, n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = ANY(%s)"
    return {name: (every, hot) for name, every, hot in asked(counted, list(MOVED))}


def stored():
    """Bytes in tables, with what lies beside their rows, and in indexes but for that of words, which waits to be sorted in.

    Maps of free room and of visibility are left out: they are made once, whenever the server comes to it.
    """
    ((tables, indexes),) = asked(
        """SELECT sum(pg_relation_size(c.oid) + coalesce(pg_relation_size(nullif(c.reltoastrelid, 0)), 0))
                      FILTER (WHERE c.relkind = 'r'),
                  sum(pg_relation_size(c.oid)) FILTER (WHERE c.relkind = 'i' AND m.amname = 'btree')
           FROM pg_class c JOIN pg_am m ON m.oid = c.relam
           WHERE c.relkind = 'r' AND c.relname LIKE 'sessions_app_%%'
              OR c.oid IN (SELECT i.indexrelid FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
                           WHERE t.relname LIKE 'sessions_app_%%')"""
    )
    return int(tables), int(indexes)


def logged_ahead():
    ((at,),) = asked("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
    return int(at)


def wal_of_each(desk, value, texts):
    """Of one advance after the other; what the server writes ahead by itself is not theirs, so only what is seen often counts."""
    taken = []
    for number, text in enumerate(texts):
        before = logged_ahead()
        value = advanced(desk.agent, value, text, now=NOW + timedelta(seconds=number))
        taken.append(logged_ahead() - before)
    return sorted(taken)[len(taken) // 10]


def test_updates_of_an_advance_touch_no_index():
    """Calls that follow each other within a window of activity, as most do."""
    desk = make_desk()
    value = begun(desk)
    before = updates()
    for number in range(ADVANCES // 2):
        value = advanced(desk.agent, value, now=NOW + timedelta(seconds=number))
    after = updates()
    for table in MOVED:
        every, hot = (now - then for now, then in zip(after[table], before[table], strict=True))
        assert every == ADVANCES // 2
        assert hot >= 0.95 * every, f"{hot} of {every} updates of {table} are HOT"


def test_an_advance_takes_little_room():
    """What a server of some other test still has open takes room as well, and never gives any: what is seen once can be done."""
    taken = []
    while len(taken) < LOOKS and not any(fits(*each) for each in taken):
        empty_tables(connection)
        desk, chance = make_desk(), random.Random(20261118)
        value = begun(desk)
        before = stored()
        for number in range(ADVANCES):
            value = advanced(desk.agent, value, notes(chance), now=NOW + timedelta(seconds=number))
        taken.append([(now - then) // ADVANCES for now, then in zip(stored(), before, strict=True)])

    assert any(fits(*each) for each in taken), taken


def fits(tables, indexes):
    return tables <= MOST_IN_TABLES and indexes <= MOST_IN_INDEXES


@pytest.mark.parametrize(("words", "most"), [("as in prose", MOST_IN_WAL), ("few and often", MOST_IN_WAL_OF_FEW_WORDS)])
def test_an_advance_logs_little_ahead(words, most):
    desk, chance = make_desk(), random.Random(20261118)
    value = begun(desk)
    texts = [notes(chance) if words == "as in prose" else FEW_WORDS[:NOTES_CHARACTERS] for _ in range(ADVANCES // 2)]

    taken = wal_of_each(desk, value, texts)
    assert taken <= most
