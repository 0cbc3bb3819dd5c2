"""A session that is not what was written: nothing is done on it, it says so by its code, and it can still be read."""

import os

import pytest
from django.db import transaction

from sessions_app.engine.tokens import SessionNotHealthyError
from sessions_app.selectors.records import list_events, list_nodes
from sessions_app.selectors.runs import read_run, read_tree
from sessions_app.selectors.sessions import read_session
from sessions_app.services.moves import runs
from teams_app.engine.pages import PageRequest
from tests import run_cast
from tests.engine_play import NEVER_STOP
from tests.run_cast import advance, advanced, begin, bookmark, events, rehydrate, run_id, session_id
from tests.step_documents import step
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = PageRequest(after=None, limit=50)


@pytest.fixture
def desk():
    return run_cast.make_desk()


def snapshots_of(value):
    from sessions_app.models import Node, Snapshot

    digests = Node.objects.filter(run_id=run_id(value)).values_list("snapshot_digest", flat=True)
    return Snapshot.objects.filter(digest__in=list(digests))


DAMAGE = {
    "gone": lambda rows: rows.delete(),
    "no state": lambda rows: rows.update(data=b"{}"),
    "no JSON": lambda rows: rows.update(data=b"\x00"),
    "another's": lambda rows: rows.update(data=b'{"position":{"pending":"next-step"}}'),
}
DAMAGED = pytest.mark.parametrize("damage", sorted(DAMAGE))


def change_mode(desk, value):
    return runs.change_preferences(
        actor=desk.person, run_id=run_id(value), change=NEVER_STOP, now=run_cast.NOW, entropy=os.urandom, speech=RAIL
    )


@DAMAGED
def test_nothing_is_done_on_what_is_damaged_and_the_refusal_says_why(desk, damage):
    value = begin(desk, step("first-step"), step("next-step"))
    told = len(events(value))
    DAMAGE[damage](snapshots_of(value))

    for act in (advance, bookmark, rehydrate):
        with pytest.raises(SessionNotHealthyError) as refusal:
            act(desk.agent, value)
        envelope = refusal.value.as_json()
        assert (envelope["code"], envelope["retry"]) == ("SESSION_NOT_HEALTHY", {"kind": "not_retryable"})
        assert envelope["details"]["health"] == "digest_mismatch"
    with pytest.raises(SessionNotHealthyError), transaction.atomic():
        change_mode(desk, value)

    assert len(events(value)) == told


@DAMAGED
def test_a_step_that_has_successors_is_refused_alike(desk, damage):
    value = begin(desk, step("first-step"), step("next-step"))
    fresh = rehydrate(desk.agent, value).value
    advanced(desk.agent, value)
    DAMAGE[damage](snapshots_of(value))

    for act in (advance, rehydrate):
        with pytest.raises(SessionNotHealthyError):
            act(desk.agent, fresh)


@DAMAGED
def test_what_was_recorded_is_still_answered(desk, damage):
    value = begin(desk, step("first-step"), step("next-step"))
    first = advance(desk.agent, value)
    DAMAGE[damage](snapshots_of(value))

    assert advance(desk.agent, value).data == first.data


@DAMAGED
def test_the_log_and_the_tree_can_still_be_read(desk, damage):
    value = begin(desk, step("first-step"), step("next-step"))
    DAMAGE[damage](snapshots_of(value))

    assert read_run(actor=desk.viewer, run_id=run_id(value)).run.workflow_id == "team.sample"
    assert len(read_tree(actor=desk.viewer, run_id=run_id(value)).lines) == 1
    assert len(list_nodes(actor=desk.viewer, run_id=run_id(value), page=PAGE).items) == 1
    assert read_session(actor=desk.viewer, session_id=session_id(value)).event_count == len(events(value))
    listed = list_events(actor=desk.viewer, session_id=session_id(value), page=PAGE).items
    assert len(listed) == len(events(value))


@DAMAGED
def test_a_block_whose_reasons_are_damaged_says_so(desk, damage):
    stuck = advanced(desk.agent, begin(desk, step("first-step")), "")
    DAMAGE[damage](snapshots_of(stuck))

    with pytest.raises(SessionNotHealthyError):
        read_run(actor=desk.viewer, run_id=run_id(stuck))


def test_another_session_is_none_the_worse(desk):
    value = begin(desk, step("first-step"), step("next-step"), context={"amount": 10})
    other = run_cast.start(desk, context={"amount": 11}).value
    DAMAGE["no state"](snapshots_of(value))

    assert advanced(desk.agent, other)["pending"]["stepId"] == "next-step"
