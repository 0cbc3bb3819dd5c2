"""The stream that tells an open page that it is old: one query for all who watch, and nothing for whoever may not."""

import asyncio
import json
from uuid import UUID

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from sessions_app.models import Run
from teams_app.engine.seats import Seat
from teams_app.models import Membership, Person
from teams_app.selectors import seats_left
from tests import run_doors
from tests.run_doors import begin_run, go_on
from workrail_site import live as live_site
from workrail_site.lanes import MOST_WAITING
from workrail_site.live import MOST_OF_ONE, Live, Viewer, Watch
from workrail_site.parties import credential_of

RUN, TEAM = UUID(int=1), UUID(int=2)


def scope(path="/studio/live/team/", headers=()):
    return {"type": "http", "method": "GET", "path": path, "headers": list(headers), "query_string": b""}


def django_that(status, told=None):
    asked = []

    async def application(scope, receive, send):
        asked.append(scope["path"])
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(told).encode()})

    return application, asked


class Browser:
    """Collects what is sent, and leaves when it has heard `enough` pieces."""

    def __init__(self, enough):
        self.enough = enough
        self.heard = []
        self.gone = asyncio.Event()

    async def send(self, message):
        self.heard.append(message)
        if len(self.heard) >= self.enough:
            self.gone.set()

    async def receive(self):
        await self.gone.wait()
        return {"type": "http.disconnect"}


def test_two_hundred_viewers_cost_one_query_a_tick():
    asked = []

    async def read(sessions, teams):
        asked.append((sessions, teams))
        return {RUN: "2", TEAM: "7"}

    async def watch():
        watch = Watch(read=read, tick_s=0)
        viewers = [Viewer(kind="session", watched=RUN, version="1") for _ in range(200)]
        still = Viewer(kind="team", watched=TEAM, version="7")
        for viewer in (*viewers, still):
            watch.join(viewer)
        await viewers[0].changed.wait()
        for viewer in (*viewers, still):
            watch.leave(viewer)
        return watch.ticks, viewers, still

    ticks, viewers, still = asyncio.run(watch())

    assert asked == [(frozenset({RUN}), frozenset({TEAM}))] * ticks
    assert all(viewer.changed.is_set() and viewer.version == "2" for viewer in viewers)
    assert not still.changed.is_set()


def test_a_database_that_is_away_ends_no_stream():
    answers = [OSError("away"), {RUN: "2"}]

    async def read(sessions, teams):
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    async def watch():
        watch = Watch(read=read, tick_s=0)
        viewer = Viewer(kind="session", watched=RUN, version="1")
        watch.join(viewer)
        await viewer.changed.wait()
        watch.leave(viewer)
        return viewer.version

    assert asyncio.run(watch()) == "2"


def test_a_viewer_hears_what_has_changed_and_is_forgotten_when_it_leaves():
    async def read(sessions, teams):
        return {TEAM: "8"}

    async def visit():
        django, asked = django_that(200, {"kind": "team", "watched": str(TEAM), "version": "7"})
        watch = Watch(read=read, tick_s=0)
        browser = Browser(enough=3)
        await Live(django=django, watch=watch)(scope(), browser.receive, browser.send)
        return browser.heard, asked, watch

    heard, asked, watch = asyncio.run(visit())

    assert asked == ["/studio/watch/team/"]
    assert dict(heard[0]["headers"])[b"content-type"].startswith(b"text/event-stream")
    assert b"event: changed\ndata: 8" in heard[2]["body"]
    assert not watch._viewers


def test_whoever_takes_nothing_holds_no_place(monkeypatch):
    monkeypatch.setattr("workrail_site.live.TAKEN_WITHIN_SECONDS", 0.01)

    async def read(sessions, teams):
        return {TEAM: "8"}

    async def visit():
        django, _ = django_that(200, {"kind": "team", "watched": str(TEAM), "version": "7"})
        watch = Watch(read=read, tick_s=0)
        browser = Browser(enough=3)

        async def send(message):
            await browser.send(message)
            if len(browser.heard) > 2:
                await asyncio.Event().wait()

        async with asyncio.timeout(10):
            await Live(django=django, watch=watch)(scope(), browser.receive, send)
        return watch

    assert not asyncio.run(visit())._viewers


def test_whoever_comes_back_is_told_what_they_missed():
    async def read(sessions, teams):
        return {}

    async def visit():
        django, _ = django_that(200, {"kind": "team", "watched": str(TEAM), "version": "9"})
        browser = Browser(enough=3)
        again = scope(headers=[(b"last-event-id", b"8")])
        await Live(django=django, watch=Watch(read=read, tick_s=0))(again, browser.receive, browser.send)
        return browser.heard

    assert b"id: 9\nevent: changed" in asyncio.run(visit())[2]["body"]


def test_nobody_takes_the_places_of_all_who_watch():
    """Whoever holds as many streams as one may hold is told to poll, by REST in its words; others still find a place."""

    async def read(sessions, teams):
        return {}

    async def visit():
        django, asked = django_that(200, {"kind": "team", "watched": str(TEAM), "version": "9"})
        watch = Watch(read=read, tick_s=0)
        live = Live(django=django, watch=watch)
        greedy, other = [(b"authorization", b"Bearer a")], [(b"cookie", b"sessionid=b")]
        for _ in range(MOST_OF_ONE):
            watch.join(Viewer(kind="team", watched=TEAM, version="9", holder=credential_of(scope(headers=greedy))))
        heard = []
        for path, who in (
            ("/studio/live/team/", greedy),
            ("/api/v1/checkpoints/stream", greedy),
            ("/studio/live/team/", other),
        ):
            browser = Browser(enough=2)
            await live(scope(path, who), browser.receive, browser.send)
            heard.append(browser.heard[0]["status"])
        return heard, asked, len(watch._viewers)

    heard, asked, left = asyncio.run(visit())

    assert heard == [204, 200, 200]
    assert asked == ["/api/v1/checkpoints/stream", "/studio/watch/team/"]
    assert left == MOST_OF_ONE


def test_all_who_open_a_page_in_one_moment_are_let_in(monkeypatch):
    """Two hundred ask at once whether they may watch; a party has 64 that wait in a process, and the rest come a little later."""
    monkeypatch.setattr(live_site, "AGAIN_S", 0.001)
    told = {"kind": "team", "watched": str(TEAM), "version": "7"}
    refused, under_way = [], []

    async def django(scope, receive, send):
        crowded = len(under_way) >= MOST_WAITING
        status, headers = (429, [(b"retry-after", b"1")]) if crowded else (200, [])
        (refused if crowded else under_way).append(scope["path"])
        await asyncio.sleep(0.001)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(told).encode()})
        if not crowded:
            under_way.pop()

    async def read(sessions, teams):
        return {TEAM: "8"}

    async def visit(people):
        live = Live(django=django, watch=Watch(read=read, tick_s=0))
        browsers = [Browser(enough=3) for _ in range(people)]
        asked = [scope(headers=[(b"cookie", f"sessionid={number}".encode())]) for number in range(people)]
        await asyncio.gather(
            *(live(each, browser.receive, browser.send) for each, browser in zip(asked, browsers, strict=True))
        )
        return [browser.heard[0]["status"] for browser in browsers]

    assert asyncio.run(visit(200)) == [200] * 200
    assert refused


@pytest.mark.parametrize(("headers", "asks"), [([], 1), ([(b"retry-after", b"30")], 1), ([(b"retry-after", b"1")], 15)])
def test_whoever_has_asked_too_much_is_not_asked_for_without_end(monkeypatch, headers, asks):
    monkeypatch.setattr(live_site, "AGAIN_S", 0)
    asked = []

    async def django(scope, receive, send):
        asked.append(scope["path"])
        await send({"type": "http.response.start", "status": 429, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def visit():
        watch, browser = Watch(read=None), Browser(enough=2)
        await Live(django=django, watch=watch)(scope(), browser.receive, browser.send)
        return browser.heard[0]["status"], watch._coming.total()

    assert asyncio.run(visit()) == (204, 0)
    assert len(asked) == asks


def test_what_has_moved_is_drawn_once_for_all_who_look_at_it_alike():
    """Two hundred viewers of one run in one role cost the page one request for each time that it moves on."""
    drawn = []
    told = {"kind": "session", "watched": str(RUN), "version": "1", "page": "/studio/run/", "group": "team viewer UTC"}

    async def django(scope, receive, send):
        is_page = scope["path"] == "/studio/run/"
        if is_page:
            drawn.append((scope["query_string"], dict(scope["headers"])[b"x-workrail-live"]))
        body = b"<p>It moved.</p>" if is_page else json.dumps(told).encode()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    async def visit():
        joined = []

        async def read(sessions, teams):
            return {RUN: "2"} if len(joined) == 202 else {}

        live = Live(django=django, watch=Watch(read=read, tick_s=0))
        browsers = [Browser(enough=3) for _ in range(202)]
        asked = [b"search=%3Fshow%3Dway"] * 200 + [b"search=", b""]
        tasks = []
        for number, (browser, query) in enumerate(zip(browsers, asked, strict=True)):
            theirs = {**scope(headers=[(b"cookie", f"sessionid={number}".encode())]), "query_string": query}
            tasks.append(asyncio.create_task(live(theirs, browser.receive, browser.send)))
            await asyncio.sleep(0)
        joined.extend(browsers)
        await asyncio.gather(*tasks)
        return [browser.heard[2]["body"] for browser in browsers]

    heard = asyncio.run(visit())

    assert sorted(drawn) == [(b"", b"shared"), (b"show=way", b"shared")]
    assert set(heard[:201]) == {b'id: 2\nevent: parts\ndata: "<p>It moved.</p>"\n\n'}
    assert heard[201] == b"id: 2\nevent: changed\ndata: 2\n\n"


def test_whoever_takes_nothing_of_what_is_sent_has_no_place_for_ever(monkeypatch):
    monkeypatch.setattr(live_site, "LONGEST_S", 0.02)
    monkeypatch.setattr(live_site, "HEARTBEAT_S", 0.02)
    django, _ = django_that(200, {"kind": "session", "watched": str(RUN), "version": "1"})

    async def visit():
        async def read(sessions, teams):
            return {RUN: "2"}

        async def send(message):
            if message.get("body", b"").startswith(b"id:"):
                await asyncio.Event().wait()

        watch = Watch(read=read, tick_s=0)
        async with asyncio.timeout(20):
            await Live(django=django, watch=watch)(scope(), asyncio.Event().wait, send)
        return watch._viewers

    assert asyncio.run(visit()) == set()


def test_whoever_has_left_is_sent_nothing_of_what_moves_on_and_the_others_are():
    left, stays = (f"{UUID(int=number)} {TEAM} viewer" for number in (3, 4))
    told = {"kind": "session", "watched": str(RUN), "version": "1", "page": "/studio/run/", "group": "team viewer UTC"}
    asked = []

    async def django(scope, receive, send):
        body = json.dumps({**told, "seat": left if b"left" in scope["headers"][0][1] else stays}).encode()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    async def visit():
        joined = []

        async def read(sessions, teams):
            return {RUN: "2"} if joined else {}

        async def still(seats):
            asked.append(seats)
            return frozenset(seat for seat in seats if seat.text == stays)

        live = Live(django=django, watch=Watch(read=read, still=still, tick_s=0))
        browsers = [Browser(enough=3) for _ in range(4)]
        tasks = []
        for who, search, browser in zip(
            ("left", "left", "stays", "stays"), (b"search=", b"") * 2, browsers, strict=True
        ):
            theirs = {**scope(headers=[(b"cookie", f"sessionid={who}".encode())]), "query_string": search}
            tasks.append(asyncio.create_task(live(theirs, browser.receive, browser.send)))
            await asyncio.sleep(0)
        joined.extend(browsers)
        await asyncio.gather(*tasks)
        return [(browser.heard[2]["body"] != b"", browser.heard[2].get("more_body", False)) for browser in browsers]

    assert asyncio.run(visit()) == [(False, False)] * 2 + [(True, True)] * 2
    assert [{(seat.text, seat.session_key) for seat in seats} for seats in asked][:1] == [
        {(left, "left"), (stays, "stays")}
    ]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "change",
    ["removed", "deactivated", "in another role", "signed out", "signed out by a new password", "signed in too long"],
)
def test_a_seat_is_left_when_it_is_not_as_it_was(change):
    doors = run_doors.open_doors()
    begin_run(doors)
    path = f"/studio/watch/run/{Run.objects.get().id}/"
    seats = [
        Seat.told(api.client.get(path).json()["seat"], session_key=api.client.session.session_key)
        for api in (doors.viewer, doors.owner)
    ]
    assert seats_left(asked=seats) == frozenset(seats)

    member = Membership.objects.get(person_id=seats[0].person_id)
    match change:
        case "removed":
            member.delete()
        case "deactivated":
            Person.objects.filter(pk=member.person_id).update(is_active=False)
        case "signed out":
            doors.viewer.client.logout()
        case "signed out by a new password":
            Person.objects.filter(pk=member.person_id).update(password="another")
        case "signed in too long":
            Session.objects.filter(pk=seats[0].session_key).update(expire_date=timezone.now())
        case _:
            Membership.objects.filter(pk=member.pk).update(role="operator")

    assert seats_left(asked=seats) == {seats[1]}


@pytest.mark.django_db
def test_what_is_drawn_for_several_is_of_none_of_them():
    doors = run_doors.open_doors()
    begin_run(doors)
    run = Run.objects.get()
    path = f"/studio/sessions_app/run/{run.id}/change/"
    told = doors.viewer.client.get(f"/studio/watch/run/{run.id}/").json()

    shared = doors.viewer.client.get(path, headers={"X-Workrail-Live": "shared"}).content.decode()
    of_other = doors.person.client.get(f"/studio/watch/run/{run.id}/").json()

    assert (told["page"], told["group"]) == (path, told["group"])
    assert told["group"] != of_other["group"]
    assert 'data-live-part="graph"' in shared
    for private in ("csrf", "<html", doors.desk.viewer.name, 'class="drawer"'):
        assert private not in shared


STREAM = "/api/v1/runs/run_x/stream"


def heard_by_rest(answers):
    """What a program hears whose credential is answered so, one answer after the other; the last one stands."""
    moves = iter(range(2, 1_000))

    async def django(scope, receive, send):
        status = answers.pop(0) if len(answers) > 1 else answers[0]
        told = {"kind": "session", "watched": str(RUN), "version": "1"}
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(told).encode()})

    async def read(sessions, teams):
        return {RUN: str(next(moves))}

    async def visit():
        browser = Browser(enough=8)
        await Live(django=django, watch=Watch(read=read, tick_s=0))(scope(STREAM), browser.receive, browser.send)
        return [message.get("body", b"") for message in browser.heard[2:]]

    return asyncio.run(visit())


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_program_that_is_no_longer_let_in_hears_nothing_more(status):
    """A key that was revoked, a person who left or may no longer read, a run that is gone: at the first thing that moves."""
    assert heard_by_rest([200, status]) == [b""]
    told = heard_by_rest([200, 200, status])
    assert [each.startswith(b"id: ") for each in told] == [True, False]


@pytest.mark.parametrize("status", [200, 429, 503])
def test_a_server_that_is_busy_ends_no_stream_of_a_program(status):
    assert len([each for each in heard_by_rest([200, status]) if each.startswith(b"id: ")]) > 2


@pytest.mark.parametrize("status", [302, 403, 404, 500])
def test_whoever_may_not_look_is_told_not_to_come_back(status):
    async def visit():
        django, _ = django_that(status)
        browser = Browser(enough=2)
        await Live(django=django, watch=Watch(read=None))(scope(), browser.receive, browser.send)
        return browser.heard[0]["status"]

    assert asyncio.run(visit()) == 204


@pytest.mark.django_db
def test_a_version_changes_with_the_log_and_is_answered_by_its_tag():
    doors = run_doors.open_doors()
    value = begin_run(doors)
    paths = [f"/studio/watch/run/{Run.objects.get().id}/", "/studio/watch/team/"]

    def tags():
        return [doors.viewer.client.get(path)["ETag"] for path in paths]

    before = tags()
    unchanged = [
        doors.viewer.client.get(path, headers={"If-None-Match": tag}) for path, tag in zip(paths, before, strict=True)
    ]
    go_on(doors.agent, value)
    after = tags()

    assert [response.status_code for response in unchanged] == [304, 304]
    assert before[0] != after[0]
    with CaptureQueriesContext(connection) as captured:
        doors.viewer.client.get(paths[0])
    assert len(captured) <= 5


@pytest.mark.django_db
def test_a_stranger_watches_nothing():
    from dataclasses import replace

    doors = run_doors.open_doors()
    begin_run(doors)
    stranger = run_doors.signed_in(
        replace(doors.desk.owner, id=run_doors.person_text(), name="sam", team_id=doors.desk.stranger.team_id)
    )

    assert stranger.client.get(f"/studio/watch/run/{Run.objects.get().id}/").status_code == 404
    assert doors.agent.client.get("/studio/watch/team/").status_code == 302
