"""Events of a transition in one row: what is packed comes back byte for byte, and what was packed once is read for ever."""

import random
import zlib
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from sessions_app.engine import deflation
from sessions_app.engine.deflation import PackError
from sessions_app.engine.log import EventDraft, EventKind, Head, seal
from workflows_app.engine import canonical

SESSION = UUID("0199a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
# Of three events, as release 1 of the form wrote them: whoever changes the words makes another form.
KEPT = bytes.fromhex(
    "01430421acd1a6549c9809d2999f074c00685e0717bed066a101d054548f26e200b98570a59020403467900c04aac1e57b4883847c1268"
    "34469824a6e71aa5e496a7181599a7992797e41414a75799a4541aa5812a4eb4d042b29970b89594e7e30d37437860804219944070045b"
    "626e295c2924dc10ed1802e1f69fbe3ece284ac59f568ce01e21e86750030939bb209a1af4f73300"
)


def events(texts):
    drafts = [
        EventDraft(kind=EventKind.CONTEXT_SET, dedupe=f"context_set:{number}", data={"delta": {"said": text}})
        for number, text in enumerate(texts)
    ]
    ids = [UUID(int=100 + number) for number in range(len(texts))]
    return seal(drafts=drafts, session_id=SESSION, head=Head(), event_ids=ids, timestamp_ms=1_700_000_000_000).events


def packed(written):
    return deflation.pack([event.body for event in written], [event.digest for event in written])


@given(st.lists(TEXT, min_size=1, max_size=8))
def test_what_is_packed_comes_back_byte_for_byte(texts):
    written = events(texts)

    assert deflation.unpack(packed(written), count=len(written)) == tuple(event.body for event in written)


@pytest.mark.parametrize("characters", [0, 1_000, 4_000, 5_500, 7_000, 8_192, 9_000, 32_768, 70_000])
def test_data_of_any_length_comes_back(characters):
    """Short data is deflated in a smaller window than long data, and all is read in one."""
    chance = random.Random(characters)
    data = bytes(chance.choice(b"some words of a note ") for _ in range(characters))
    words = b"a note with some words " * 100

    assert deflation.inflate(deflation.deflate(data, words=words), words=words) == data


def test_a_row_of_a_release_before_is_one_event():
    (event,) = events(["alone"])

    assert deflation.unpack(event.body, count=1) == (event.body,)


def test_a_pack_that_was_written_once_is_read_for_ever():
    assert deflation.unpack(KEPT, count=3) == tuple(event.body for event in events(["one", "two", "three"]))


def test_digests_that_can_be_counted_take_no_room():
    """Five events of a transition name the four before them, and 64 random digits deflate to half as many bytes."""
    written = events(["same"] * 5)
    plain = zlib.compress(b"\n".join(event.body for event in written), 9)

    assert len(packed(written)) < len(plain) - 4 * 28


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"", 1),
        (b"x", 1),
        (b'{"v":1}', 2),
        (packed(events(["a", "b"])), 1),
        (packed(events(["a", "b"])), 3),
        (packed(events(["a", "b"]))[:-1], 2),
        (packed(events(["a", "b"])) + b"x", 2),
        (b"\x02" + packed(events(["a", "b"]))[1:], 2),
        (b"\x01not deflated", 1),
    ],
)
def test_what_holds_no_events_is_refused(data, count):
    with pytest.raises(PackError):
        deflation.unpack(data, count=count)


def test_a_pack_that_swells_without_bound_is_refused(monkeypatch):
    monkeypatch.setattr(deflation, "MAX_BYTES", 10_000)
    with pytest.raises(PackError):
        deflation.unpack(deflation.pack([b'{"a":"' + b"a" * 20_000 + b'"}'], ["x"]), count=1)


@given(st.data())
def test_whatever_byte_of_a_pack_is_changed_changes_what_it_holds(data):
    """Or nothing can be read: the digest of the last event, which the row keeps, tells of it."""
    written = events(["one", "two", "three"])
    whole = packed(written)
    at = data.draw(st.integers(0, len(whole) - 1))
    other = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    try:
        bodies = deflation.unpack(other, count=3)
    except PackError:
        return
    assert bodies == tuple(event.body for event in written) or canonical.digest(bodies[-1]) != written[-1].digest
