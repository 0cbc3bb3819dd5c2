"""The Studio's pages of the trace: what a person sees of their team, under a strict policy and with a bounded cost."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.run_cast import begin, make_desk, notes_free
from tests.run_doors import person_text
from tests.studio_pages import content_of
from tests.trace_calls import at_ms, made, write
from tests.workflow_cast import NOW

pytestmark = pytest.mark.django_db

LIST = "/studio/traces_app/traceevent/"
KEYS = "/studio/teams_app/agentkey/"


@pytest.fixture
def desk():
    return make_desk()


@pytest.fixture
def reply(desk):
    return begin(desk, notes_free("plan"), notes_free("work"))


@pytest.fixture
def sign_in(client):
    """Signs a person of the desk in to the Studio."""
    from tests.run_doors import enrol

    def enter(actor):
        client.force_login(enrol(actor))
        return client

    return enter


def on_run(desk, reply, tool="continue_workflow", *, actor=None, **fields):
    return made(actor or desk.agent, tool, arguments={"stateToken": reply["stateToken"]}, **fields)


def timeline_of(reply):
    from tests.run_cast import run_id

    return f"/studio/sessions_app/run/{run_id(reply)}/change/?tab=timeline"


def shown(response):
    assert response.status_code == 200
    return response.content.decode()


def test_the_list_shows_the_calls_of_the_team_and_no_other(desk, reply, sign_in):
    write(on_run(desk, reply, "own_call"), made(desk.stranger, "foreign_call"))

    page = shown(sign_in(desk.viewer).get(LIST))

    assert "own_call" in page
    assert "foreign_call" not in page


def test_a_call_is_shown_and_cannot_be_changed(desk, reply, sign_in):
    from traces_app.models import TraceEvent

    write(on_run(desk, reply, error_code="NOT_FOUND"))
    row = TraceEvent.objects.get()

    page = shown(sign_in(desk.owner).get(f"{LIST}{row.pk}/change/"))

    assert "NOT_FOUND" in page
    assert "[redacted]" in page
    assert 'name="tool"' not in page


@pytest.mark.parametrize(("code", "word"), [("", "Done"), ("TOKEN_UNKNOWN", "Refused"), ("INTERNAL_ERROR", "Failed")])
def test_a_call_is_said_to_have_gone_alike_in_the_list_and_on_its_page(desk, reply, sign_in, code, word):
    write(made(desk.agent, tool="continue_workflow", arguments={}, error_code=code))

    page = shown(sign_in(desk.owner).get(LIST))
    (row,) = re.findall(r"<tr[^>]*>(?:(?!</tr>).)*continue_workflow.*?</tr>", page, re.DOTALL)
    address = re.search(r'href="(/studio/traces_app/traceevent/[^"]+)"', row)[1]

    assert [each for each in ("Done", "Refused", "Failed") if each in row] == [word]
    assert f">{word}<" in re.sub(r"\s+", "", shown(sign_in(desk.owner).get(address)))


def test_a_timeline_is_a_picture_and_a_table(desk, reply, sign_in):
    write(
        on_run(desk, reply, ended_ns=at_ms(NOW, 5_000)),
        on_run(desk, reply, ended_ns=at_ms(NOW, 100_000), error_code="NOT_FOUND"),
    )

    page = shown(sign_in(desk.viewer).get(timeline_of(reply)))

    assert "<svg" in page
    assert len(re.findall(r'<g class="t-\w+"><title>', content_of(page))) == 2
    assert "Title of plan: 2 calls in 1 min 35 s, 1 refused" in page
    assert '<td class="c-main">Title of plan</td>' in page


def test_a_timeline_of_many_rounds_has_a_line_for_each_step_and_is_light(desk, reply, sign_in):
    from traces_app.services.writing import Noted

    names = ("Read", "Change", "Test")
    write(
        *[
            on_run(desk, reply, ended_ns=at_ms(NOW, 60_000 * number), noted=Noted(activity=names[number % 3]))
            for number in range(399)
        ]
    )

    page = shown(sign_in(desk.viewer).get(timeline_of(reply)))

    assert re.findall(r'<td class="c-main">(\w+)<span class="sub quiet">([^<]*)<', page) == [
        (name, "133 times") for name in names
    ]
    assert page.count('<g class="t-calls">') > 100
    assert "Read: 1 call in" in page
    assert len(page) < 200_000


def test_calls_that_would_lie_upon_one_another_are_one_bar(desk, reply, sign_in):
    from traces_app.services.writing import Noted

    write(
        on_run(desk, reply, ended_ns=at_ms(NOW)),
        *[
            on_run(desk, reply, ended_ns=at_ms(NOW, 5_000_000 + 5 * number), noted=Noted(activity=f"Part {number % 2}"))
            for number in range(300)
        ],
    )

    page = shown(sign_in(desk.viewer).get(timeline_of(reply)))

    assert "Part 0 to Part 1: 300 calls in 1.5 s" in page
    assert page.count('<g class="t-calls">') == 2


def test_nothing_on_the_page_needs_a_looser_policy(desk, reply, sign_in):
    write(on_run(desk, reply))

    response = sign_in(desk.viewer).get(timeline_of(reply))

    assert "unsafe" not in response["Content-Security-Policy"]
    assert not re.search(r"<script(?![^>]*src=)|\sstyle=|\son[a-z]+=", response.content.decode())


def test_a_run_without_calls_says_so(reply, desk, sign_in):
    assert "No call of this run is in the trace" in shown(sign_in(desk.viewer).get(timeline_of(reply)))


def test_words_of_agents_are_only_words(desk, reply, sign_in):
    from traces_app.services.writing import Noted

    write(on_run(desk, reply, noted=Noted(activity="<script>alert(1)</script>")))

    page = shown(sign_in(desk.viewer).get(timeline_of(reply)))

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_the_timeline_of_another_team_is_not_there(desk, reply, sign_in):
    from dataclasses import replace

    write(on_run(desk, reply))
    charlie = replace(desk.owner, id=person_text(), team_id=desk.stranger.team_id, name="charlie")

    assert sign_in(charlie).get(timeline_of(reply)).status_code == 404


@pytest.mark.parametrize("run", ["run_x", "nonsense"])
def test_what_is_no_run_is_not_there(desk, sign_in, run):
    assert sign_in(desk.viewer).get(f"{LIST}runs/{run}/timeline/").status_code == 404


def test_the_address_that_a_timeline_had_leads_to_it(desk, reply, sign_in):
    old = f"{LIST}runs/{reply['session']['runId']}/timeline/"

    assert sign_in(desk.viewer).get(old)["Location"] == timeline_of(reply)


def test_calls_stand_on_the_page_of_their_run_and_of_their_node(desk, reply, sign_in):
    from tests.run_cast import advanced, soon
    from traces_app.services.writing import Noted

    plan = Noted(step_key="plan")
    write(
        on_run(desk, reply, "first_call", ended_ns=at_ms(NOW, 10_000), noted=plan),
        on_run(desk, reply, "refused_call", ended_ns=at_ms(NOW, 20_000), error_code="NOT_FOUND", noted=plan),
        on_run(desk, reply, "later_call", ended_ns=at_ms(NOW, 400_000), noted=Noted(step_key="work")),
        made(desk.agent, "call_of_no_run"),
    )
    advanced(desk.agent, reply, now=soon(5))
    client = sign_in(desk.viewer)
    page = shown(client.get(timeline_of(reply).replace("timeline", "calls")))
    nodes = re.findall(r'href="(\?node=[^"]*)"', shown(client.get(timeline_of(reply).partition("?")[0])))
    opened = shown(client.get(f"{timeline_of(reply).partition('?')[0]}{nodes[-1]}&part=calls"))

    assert re.findall(r"</span>(\w+_call(?:_\w+)?)</a>", page) == ["later_call", "refused_call", "first_call"]
    assert "NOT_FOUND" in page
    assert set(re.findall(r"</span>(\w+_call(?:_\w+)?)</a>", opened)) == {"first_call", "refused_call"}


def test_a_timeline_is_for_those_who_are_signed_in(client, reply):
    assert client.get(timeline_of(reply)).status_code == 302


def test_a_page_costs_the_same_however_long_the_trace_is(desk, reply, sign_in):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    client = sign_in(desk.viewer)
    costs = {LIST: set(), timeline_of(reply): set()}
    client.get(timeline_of(reply))
    for number in range(3):
        write(*(on_run(desk, reply, ended_ns=at_ms(NOW, 1000 * number + offset)) for offset in range(20)))
        for path, seen in costs.items():
            with CaptureQueriesContext(connection) as captured:
                shown(client.get(path))
            seen.add(len(captured))

    assert all(len(seen) == 1 for seen in costs.values())


def test_the_keys_say_how_often_each_has_called_today_whatever_others_call(desk, sign_in):
    import time

    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from teams_app.engine.ids import Prefix, to_text
    from tests.cast import issue
    from traces_app.selectors import traces

    keys = [issue(desk.owner, name=name).key for name in ("busy-agent", "idle-agent")]
    busy = replace(desk.agent, id=to_text(Prefix.KEY, keys[0].id), name="busy-agent")
    at = time.time_ns()
    write(
        *(made(busy, "list_workflows", ended_ns=at + number) for number in range(3)),
        made(busy, "list_workflows", ended_ns=at - 2 * 24 * 3600 * 10**9),
        made(desk.stranger, "list_workflows", ended_ns=at),
    )
    browser = sign_in(desk.owner)

    with CaptureQueriesContext(connection) as few:
        page = content_of(shown(browser.get(KEYS)))
    rows = [re.sub(r"<[^>]+>", " ", row).split() for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)]
    calls = {row[0]: row for row in rows if row and row[0].endswith("-agent")}

    assert "3" in calls["busy-agent"]
    assert "0" in calls["idle-agent"]
    assert sum("traces_app_traceevent" in query["sql"] for query in few) == 1
    since = datetime.fromtimestamp(at / 1e9 - 3600, tz=UTC)
    counted = traces.count_calls(actor=desk.owner, since=since)
    assert (dict(counted.by_actor), counted.are_all) == ({busy.id: 3}, True)
