"""The log: sealed one event after the other, and whatever is changed in it is found."""

from dataclasses import replace
from uuid import UUID

import orjson
from hypothesis import given, settings, strategies as st
from msgspec import structs

from sessions_app.engine.log import (
    GENESIS,
    EventDraft,
    EventKind,
    Head,
    HealthReason,
    StoredEvent,
    seal,
    verify_chain,
)
from workflows_app.engine import canonical

SESSION = UUID(int=7)


def drafts(count):
    return [
        EventDraft(
            kind=EventKind.CONTEXT_SET,
            dedupe=f"context_set:{number}",
            data={"text": f"Ünïcode {number}", "nested": {"b": 1, "a": [1.5, None]}},
            run_id=UUID(int=8),
            node_id=UUID(int=9) if number % 2 else None,
        )
        for number in range(count)
    ]


def sealed(count=5, *, head=None):
    begun = head or Head()
    ids = [UUID(int=100 + begun.next_index + index) for index in range(count)]
    return seal(drafts=drafts(count), session_id=SESSION, head=begun, event_ids=ids, timestamp_ms=1_700_000_000_000)


def stored(events):
    return [StoredEvent(index=e.index, body=e.body, digest=e.digest) for e in events]


LOG = stored(sealed().events)


def reasons(events):
    return {fault.reason for fault in verify_chain(events).faults}


def test_indices_are_without_a_gap_and_each_event_names_its_predecessor():
    log = sealed()

    bodies = [orjson.loads(event.body) for event in log.events]
    assert [body["eventIndex"] for body in bodies] == [0, 1, 2, 3, 4]
    assert bodies[0]["previousDigest"] == GENESIS
    assert [body["previousDigest"] for body in bodies[1:]] == [event.digest for event in log.events[:-1]]
    assert log.head == Head(next_index=5, digest=log.events[-1].digest)


def test_the_bytes_are_canonical_and_are_what_the_digest_is_of():
    for event in sealed().events:
        assert canonical.canonical_bytes(orjson.loads(event.body)) == event.body
        assert canonical.digest(event.body) == event.digest


def test_a_log_sealed_in_two_parts_is_the_log_sealed_at_once():
    first = sealed(2)
    ids = [UUID(int=102 + index) for index in range(3)]
    second = seal(
        drafts=drafts(5)[2:], session_id=SESSION, head=first.head, event_ids=ids, timestamp_ms=1_700_000_000_000
    )

    assert (*first.events, *second.events) == sealed().events


def test_an_event_says_its_scope_only_where_it_has_one():
    session = structs.replace(drafts(1)[0], run_id=None)
    log = seal(drafts=[session], session_id=SESSION, head=Head(), event_ids=[UUID(int=1)], timestamp_ms=1)

    assert "scope" not in orjson.loads(log.events[0].body)


def test_a_log_that_nobody_touched_verifies():
    found = verify_chain(LOG)

    assert found.faults == ()
    assert found.head == Head(next_index=5, digest=LOG[-1].digest)


def test_an_empty_log_ends_where_it_begins():
    assert verify_chain([]).head == Head()


def test_a_missing_event_is_found():
    assert HealthReason.NON_CONTIGUOUS_INDICES in reasons([*LOG[:2], *LOG[3:]])


def test_two_events_that_changed_places_are_found():
    assert HealthReason.NON_CONTIGUOUS_INDICES in reasons([LOG[0], LOG[2], LOG[1], *LOG[3:]])


def test_an_event_that_stands_twice_is_found():
    assert HealthReason.NON_CONTIGUOUS_INDICES in reasons([*LOG[:2], LOG[1], *LOG[2:]])


def test_a_body_that_was_changed_is_found():
    changed = replace(LOG[1], body=LOG[1].body.replace(b"code 1", b"code 9"))

    assert reasons([LOG[0], changed, *LOG[2:]]) == {HealthReason.DIGEST_MISMATCH}


def test_a_body_that_was_changed_with_its_digest_is_found_by_its_successor():
    body = LOG[1].body.replace(b"code 1", b"code 9")
    changed = replace(LOG[1], body=body, digest=canonical.digest(body))

    assert reasons([LOG[0], changed, *LOG[2:]]) == {HealthReason.BROKEN_CHAIN}


def test_what_is_said_twice_is_found():
    """What a retry would say again has the name of what was said, under any event id and at any place."""
    first = sealed(2)
    again = stored(sealed(1, head=first.head).events)

    assert reasons([*stored(first.events), *again]) == {HealthReason.SAID_TWICE}


def test_an_event_of_another_version_is_found():
    envelope = {**orjson.loads(LOG[0].body), "v": 2}
    body = canonical.canonical_bytes(envelope)

    assert HealthReason.UNKNOWN_SCHEMA_VERSION in reasons([replace(LOG[0], body=body, digest=canonical.digest(body))])


def test_bytes_that_are_no_json_are_found_and_the_walk_goes_on():
    broken = replace(LOG[1], body=b"\xff", digest=canonical.digest(b"\xff"))

    found = verify_chain([LOG[0], broken, *LOG[2:]])

    assert HealthReason.UNREADABLE in {fault.reason for fault in found.faults}
    assert found.head.next_index == 5


@settings(max_examples=200)
@given(data=st.data())
def test_whatever_byte_is_changed_is_found(data):
    place = data.draw(st.integers(0, len(LOG) - 1))
    at = data.draw(st.integers(0, len(LOG[place].body) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != LOG[place].body[at]))
    body = LOG[place].body[:at] + bytes([byte]) + LOG[place].body[at + 1 :]

    assert verify_chain([*LOG[:place], replace(LOG[place], body=body), *LOG[place + 1 :]]).faults
