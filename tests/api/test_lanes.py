"""Threads that parties share: whoever asks for much waits for itself, and nobody else waits for it."""

import asyncio
import threading
from functools import partial

import pytest

from teams_app.engine.errors import RateLimitedError
from workrail_site import lanes as lanes_module
from workrail_site.errors import ServiceUnavailableError
from workrail_site.lanes import ThreadLanes, passing


class Gate:
    """Work that waits until it is let go, and remembers in which order it began."""

    def __init__(self):
        self.began = []
        self.open = threading.Event()
        self.lock = threading.Lock()

    def work(self, name):
        def wait():
            with self.lock:
                self.began.append(name)
            assert self.open.wait(10)
            return name

        return wait


@pytest.fixture
def gate():
    return Gate()


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch):
    monkeypatch.setattr(lanes_module, "REFUSAL_SECONDS", 0)
    monkeypatch.setattr(lanes_module, "RESTS_FOR", 0)


async def until(said):
    while not said():  # noqa: ASYNC110  what is said changes in a thread
        await asyncio.sleep(0.001)


def asked(lanes, party, work):
    return asyncio.ensure_future(lanes.run(party, work))


def test_one_party_never_holds_the_last_thread_and_another_finds_it(gate):
    async def play():
        lanes = ThreadLanes(threads=4, name="t")
        flood = [asked(lanes, "flood", gate.work("flood")) for _ in range(20)]
        await until(lambda: len(gate.began) == 3)
        other = asked(lanes, "other", gate.work("other"))
        await until(lambda: "other" in gate.began)
        gate.open.set()
        return await asyncio.gather(other, *flood)

    assert len(asyncio.run(play())) == 21


def test_while_another_is_there_a_party_holds_a_quarter_of_the_threads(gate):
    async def play():
        lanes = ThreadLanes(threads=4, name="t")
        await lanes.run("other", lambda: None)
        flood = [asked(lanes, "flood", gate.work("flood")) for _ in range(20)]
        await asyncio.sleep(0)
        await until(lambda: len(gate.began) == 1)
        others = [asked(lanes, "other", gate.work("other"))]
        await until(lambda: "other" in gate.began)
        began = list(gate.began)
        gate.open.set()
        await asyncio.gather(*flood, *others)
        return began

    assert asyncio.run(play()) == ["flood", "other"]


def test_who_passes_by_makes_no_team_share_and_shares_with_it(gate):
    """A key that is seen for the first time counts for its address, and those who wait for an answer for none."""

    async def play():
        lanes = ThreadLanes(threads=8, name="t")
        await lanes.run(passing("address 192.0.2.7"), lambda: None)
        await lanes.run("team", lambda: None)
        await lanes.run(passing("those who wait"), lambda: None)
        team = [asked(lanes, "team", gate.work("team")) for _ in range(20)]
        await until(lambda: len(gate.began) == 7)
        gate.open.set()
        await asyncio.gather(*team)
        gate.open.clear()
        gate.began.clear()
        strangers = [asked(lanes, passing("address 192.0.2.7"), gate.work("stranger")) for _ in range(20)]
        await until(lambda: len(gate.began) == 2)
        after = asked(lanes, "team", gate.work("team"))
        await until(lambda: "team" in gate.began)
        began = list(gate.began)
        gate.open.set()
        await asyncio.gather(after, *strangers)
        return began

    assert asyncio.run(play()) == ["stranger", "stranger", "team"]


def test_a_team_rests_for_no_one_who_passes_by(monkeypatch):
    monkeypatch.setattr(lanes_module, "RESTS_FOR", 1e9)
    monkeypatch.setattr(lanes_module, "LONGEST_REST_SECONDS", 60.0)

    async def play():
        lanes = ThreadLanes(threads=2, name="t")
        await lanes.run(passing("address 192.0.2.7"), lambda: None)
        return await asyncio.gather(*(lanes.run("team", lambda: 1) for _ in range(30)))

    assert sum(asyncio.run(play())) == 30


@pytest.mark.parametrize(("is_contested", "most_begun"), [(True, 2), (False, 20)])
def test_a_flood_rests_between_its_turns_while_another_is_there_and_only_then(monkeypatch, is_contested, most_begun):
    monkeypatch.setattr(lanes_module, "RESTS_FOR", 1e9)
    monkeypatch.setattr(lanes_module, "LONGEST_REST_SECONDS", 60.0)
    began = []

    async def play():
        lanes = ThreadLanes(threads=4, name="t")
        if is_contested:
            await lanes.run("other", lambda: None)
        flood = [asked(lanes, "flood", partial(began.append, "flood")) for _ in range(20)]
        for _ in range(20):
            assert await lanes.run("flood" if not is_contested else "other", lambda: "served") == "served"
        for one in flood:
            one.cancel()
        await asyncio.gather(*flood, return_exceptions=True)
        lanes.close()

    asyncio.run(play())
    assert 1 <= len(began) <= most_begun
    assert is_contested or len(began) == most_begun


def test_a_flood_goes_on_when_it_has_rested_and_its_last_turns_are_not_held_up(monkeypatch):
    monkeypatch.setattr(lanes_module, "RESTS_FOR", 1e9)
    monkeypatch.setattr(lanes_module, "LONGEST_REST_SECONDS", 0.001)

    async def play():
        lanes = ThreadLanes(threads=2, name="t")
        await lanes.run("other", lambda: None)
        return await asyncio.gather(*(lanes.run("flood", lambda: 1) for _ in range(30)))

    assert sum(asyncio.run(play())) == 30


def test_those_who_wait_are_taken_in_turns(gate):
    async def play():
        lanes = ThreadLanes(threads=1, name="t")
        first = asked(lanes, "flood", gate.work("first"))
        await until(lambda: gate.began)
        flood = [asked(lanes, "flood", gate.work("flood")) for _ in range(5)]
        others = [asked(lanes, name, gate.work(name)) for name in ("a", "b")]
        await asyncio.sleep(0)
        gate.open.set()
        await asyncio.gather(first, *flood, *others)

    asyncio.run(play())
    assert gate.began[:4] == ["first", "flood", "a", "b"]


def test_what_is_too_much_for_a_party_is_refused_and_others_still_wait_their_turn(gate):
    async def play():
        lanes = ThreadLanes(threads=1, name="t", most_waiting=3)
        crowd = [asked(lanes, "flood", gate.work("flood")) for _ in range(4)]
        await until(lambda: gate.began)
        with pytest.raises(RateLimitedError) as refused:
            await lanes.run("flood", lambda: None)
        other = asked(lanes, "other", lambda: "served")
        await asyncio.sleep(0)
        gate.open.set()
        await asyncio.gather(*crowd)
        return refused.value, await other

    refusal, served = asyncio.run(play())
    assert refusal.details == {"limitWaiting": 3}
    assert refusal.retry.after_ms == 1_000
    assert served == "served"


def test_so_many_parties_that_all_is_too_much_are_told_so(gate, monkeypatch):
    monkeypatch.setattr(lanes_module, "MOST_WAITING_OF_ALL", 3)

    async def play():
        lanes = ThreadLanes(threads=1, name="t")
        crowd = [asked(lanes, f"party {number}", gate.work("x")) for number in range(4)]
        await until(lambda: gate.began)
        with pytest.raises(ServiceUnavailableError):
            await lanes.run("one more", lambda: None)
        gate.open.set()
        await asyncio.gather(*crowd)

    asyncio.run(play())


def test_who_leaves_the_queue_holds_no_place_and_work_that_began_keeps_its_thread(gate):
    async def play():
        lanes = ThreadLanes(threads=1, name="t", most_waiting=1)
        at_work = asked(lanes, "a", gate.work("at work"))
        await until(lambda: gate.began)
        waiting = asked(lanes, "a", gate.work("never"))
        await asyncio.sleep(0)
        waiting.cancel()
        at_work.cancel()
        await asyncio.gather(waiting, at_work, return_exceptions=True)
        after = asked(lanes, "a", lambda: "after")
        await asyncio.sleep(0.01)
        assert not after.done()
        gate.open.set()
        return await after

    assert asyncio.run(play()) == "after"
    assert gate.began == ["at work"]


def test_an_error_of_the_work_is_the_callers_and_frees_the_thread():
    async def play():
        lanes = ThreadLanes(threads=1, name="t")
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await lanes.run("a", lambda: 1 // 0)
        return await lanes.run("a", lambda: 1)

    assert asyncio.run(play()) == 1
