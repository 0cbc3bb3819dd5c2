"""What a transition costs: how often the server is waited for, and that age does not make it dearer."""

import os

import pytest
from django.db import connection

from sessions_app.engine.decisions import PreferenceChange
from sessions_app.services.moves import runs
from tests import run_cast
from tests.database_watch import round_trips, rows_and_pages_read
from tests.run_cast import advance, advanced, begin, bookmark, events, notes_free, plain_steps, rehydrate
from tests.step_documents import step
from workflows_app.engine.program import Autonomy
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db(transaction=True)

# An event of each advance, so that a session of so many advances has about five thousand.
ADVANCES = 1000
WRITTEN = tuple(
    f"sessions_app_{name}" for name in ("event", "node", "snapshot", "attempt", "output", "run", "worksession")
)
# psycopg prepares a text at its sixth use, which is one wait more, once for each connection.
PREPARED = 12


@pytest.fixture
def desk():
    return run_cast.make_desk()


def long_loop(rounds, loop_id="the-loop"):
    return {
        "id": loop_id,
        "type": "loop",
        "title": "The loop",
        "loop": {"type": "for", "count": rounds, "maxIterations": rounds},
        "body": [notes_free(f"inside-{loop_id}")],
    }


@pytest.fixture
def warm(desk):
    """A run on a connection that knows its statements."""
    value = begin(desk, long_loop(1000))
    for _ in range(PREPARED):
        value = advanced(desk.agent, value)
    return value


def test_an_advance_is_two_round_trips(desk, warm):
    _, trips = round_trips(lambda: advance(desk.agent, warm))

    assert trips == 2


def test_a_replay_is_one(desk, warm):
    advance(desk.agent, warm)

    reply, trips = round_trips(lambda: advance(desk.agent, warm))

    assert (reply.replayed, trips) == (True, 1)


def test_an_advance_that_makes_a_fork_is_three_however_many_siblings_there_are(desk, warm):
    for _ in range(6):
        advance(desk.agent, rehydrate(desk.agent, warm).value)
    fresh = rehydrate(desk.agent, warm).value

    reply, trips = round_trips(lambda: advance(desk.agent, fresh))

    assert len(reply.value["branch"]["siblings"]) == 6
    assert trips <= 3


def test_an_advance_under_a_mode_that_a_person_changed_is_three(desk, warm):
    never = PreferenceChange(autonomy=Autonomy.NEVER_STOP)
    runs.change_preferences(
        actor=desk.person, run_id=run_cast.run_id(warm), change=never, now=run_cast.NOW, entropy=os.urandom, speech=RAIL
    )

    reply, trips = round_trips(lambda: advance(desk.agent, warm))

    assert reply.value["preferences"]["autonomy"] == "full_auto_never_stop"
    assert trips <= 3


def test_a_bookmark_is_three(desk, warm):
    value = warm
    for _ in range(PREPARED):
        value = bookmark(desk.agent, value).value

    _, trips = round_trips(lambda: bookmark(desk.agent, value))

    assert trips <= 3


def test_a_block_is_two(desk):
    value = begin(desk, step("first-step"))
    for _ in range(7):
        value = advanced(desk.agent, value, "")

    reply, trips = round_trips(lambda: advance(desk.agent, value, ""))

    assert (reply.value["kind"], trips) == ("blocked", 2)


@pytest.mark.measures
def test_an_advance_costs_the_same_at_event_5000_as_at_event_5(desk):
    """Rows and pages, told by the server. The ratio of times is measured by the bench command."""
    with connection.cursor() as cursor:
        # Indexes keep the pages that rows of earlier tests have filled.
        cursor.execute(f"TRUNCATE {', '.join(WRITTEN)} CASCADE")
    young = begin(desk, long_loop(1000), long_loop(1000, "next-loop"))
    old = run_cast.start(desk).value
    for _ in range(PREPARED):
        young = advanced(desk.agent, young)
    for _ in range(ADVANCES):
        old = advanced(desk.agent, old)
    assert events(old)[-1]["eventIndex"] >= 5_000
    assert events(young)[-1]["eventIndex"] < 100

    cheap, dear = [], []
    for _ in range(5):
        young, read = rows_and_pages_read(lambda at=young: advanced(desk.agent, at))
        cheap.append(read)
        old, read = rows_and_pages_read(lambda at=old: advanced(desk.agent, at))
        dear.append(read)

    # The least of each: what one advance tidies up besides is not what an advance costs.
    rows_then, pages_then = map(min, zip(*cheap, strict=True))
    rows_now, pages_now = map(min, zip(*dear, strict=True))
    # A row that is visited once more while an index is tidied, and an index that is one page higher, are no growth.
    assert 0 < rows_now <= rows_then + 2
    assert 0 < pages_now <= 1.2 * pages_then


def test_a_reply_does_not_grow_with_the_age_of_its_session(desk):
    run_cast.published(desk, long_loop(300))
    first = run_cast.start(desk)
    value, sizes = first.value, []
    for _ in range(200):
        reply = advance(desk.agent, value)
        value = reply.value
        sizes.append(len(reply.data))

    assert max(sizes) - min(sizes) <= 8


def test_a_start_does_not_grow_with_the_number_of_runs(desk):
    run_cast.published(desk, *plain_steps(2))
    for _ in range(PREPARED):
        run_cast.start(desk)

    _, trips = round_trips(lambda: run_cast.start(desk))

    assert trips <= 5
