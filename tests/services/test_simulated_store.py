"""The store in memory is held against Postgres: the same seeds through both are the same histories, reply by reply and row by row."""

from dataclasses import replace

import pytest

from sessions_app.engine.tables import TABLES
from sessions_app.models import Announcement, CheckpointRequest, Node, Run
from sessions_app.selectors.integrity import verify_session
from sessions_app.selectors.standings import kept_reply
from sessions_app.selectors.stored_sessions import read_stored
from teams_app.models import AuditEntry
from tests import run_cast
from tests.workflow_cast import NOW, publish
from workflows_app.selectors.asked import QUESTIONS
from workflows_app.services import workflows
from workrail_site.simulation.faults import Chance
from workrail_site.simulation.store import MemoryStore
from workrail_site.simulation.workflows import CHILD, PLAN, STEPS, shelf, sources
from workrail_site.simulation.world import SimulatedCast, World

pytestmark = pytest.mark.django_db(transaction=True)

SEEDS = range(7_000, 7_016)
_OF_TRANSITIONS = {"checkpoint.answered", "step.approved"}


class Postgres:
    """The tables themselves, at the same boundary."""

    def ask(self, name, /, *args, **kwargs):
        return QUESTIONS[name](*args, **kwargs)

    def waiting(self):
        rows = CheckpointRequest.objects.filter(authority="human", state__in=["open", "withdrawn"]).order_by("id")
        return [(row.id, row.digest, [option["id"] for option in row.options]) for row in rows]

    def run_ids(self):
        return list(Run.objects.order_by("id").values_list("id", flat=True))

    def node_ids(self, run_id):
        return list(Node.objects.filter(run_id=run_id).order_by("id").values_list("id", flat=True))


class NobodyWatches:
    def written(self, request, plans):
        request.transitions += 1

    def answered(self, request, answer):
        pass

    def stepped(self, step):
        pass

    def ended(self, requests):
        pass


def lived(seed, store, cast, now):
    world = World(chance=Chance(seed=seed), store=store, watch=NobodyWatches(), cast=cast, now=now)
    world.run(40)
    return world


@pytest.fixture
def cast():
    desk = run_cast.make_desk()
    for workflow_id in (STEPS, CHILD, PLAN):
        saved = workflows.create_workflow(actor=desk.person, source=sources()[workflow_id], message="", now=NOW)
        publish(desk.person, workflow_id, saved.revision.number)
    strange_person = replace(desk.person, team_id=desk.stranger.team_id, id="person_stranger")
    return SimulatedCast(agent=desk.agent, person=desk.person, stranger=desk.stranger, strange_person=strange_person)


def differing(memory, session_id):
    """The tables of a session in which the two are not the same."""
    stored, kept = read_stored(session_id), memory.rows_of(session_id)
    for name, table in TABLES.items():
        rows, told = {row.id: row for row in getattr(stored, name)}, {row.id: row for row in kept[name]}
        if rows.keys() != told.keys():
            yield name
        untold = [column.name for column in table.columns if column.untold]
        for key in rows.keys() & told.keys():
            yield from (f"{name}.{column}" for column in table.differing(rows[key], told[key]))
            yield from (
                f"{name}.{column}" for column in untold if getattr(rows[key], column) != getattr(told[key], column)
            )
    session = memory.sessions[session_id]
    if [bytes(row.body) for row in stored.events] != [event.body for event in session.events]:
        yield "events"
    if (stored.row.next_event_index, stored.row.head_digest) != (session.head.next_index, session.head.digest):
        yield "head"
    replies = {(row.node_id, bytes(row.nonce)): kept_reply(bytes(row.reply)) for row in stored.attempts}
    attempts = {key: kept for key, kept in memory.attempts.items() if kept.session_id == session_id}
    if replies != {key: kept.new.reply for key, kept in attempts.items()}:
        yield "attempts"


@pytest.mark.parametrize("seed", SEEDS)
def test_postgres_and_the_store_in_memory_live_the_same_history(cast, seed):
    memory = MemoryStore(published=shelf().published, programs=shelf().programs)
    simulated = lived(seed, memory, cast, NOW)
    real = lived(seed, Postgres(), cast, NOW)

    assert real.transcript == simulated.transcript
    assert real.digest == simulated.digest
    for session_id in memory.sessions:
        assert sorted(set(differing(memory, session_id))) == []
        assert [str(finding) for finding in verify_session(session_id)] == []
    audited = AuditEntry.objects.filter(action__in=_OF_TRANSITIONS).values_list("action", "target")
    assert sorted(audited) == sorted(entry for entry in memory.audit if entry[0] in _OF_TRANSITIONS)
    # Those that were told already are gone.
    assert set(Announcement.objects.values_list("id", "kind")) <= set(memory.announcements.items())
