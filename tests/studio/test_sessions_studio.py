"""The Studio's pages of sessions, runs and nodes: what a person sees, whose rows they are, and what a page costs."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import Run
from tests import run_doors
from tests.run_cast import plain_steps, published, soon, start
from tests.run_doors import V1, begin_run, go_on
from tests.step_documents import step
from tests.studio_pages import content_of
from workflows_app.services import extensions

pytestmark = pytest.mark.django_db

ROOT = "/studio/sessions_app"


@pytest.fixture
def doors():
    return run_doors.open_doors()


def shown(response):
    assert response.status_code == 200, response.content
    return response.content.decode()


def page_of(doors, path):
    return shown(doors.viewer.client.get(path))


def paths_of(value):
    from teams_app.engine.ids import Prefix, to_text
    from tests.run_cast import run_id

    run = Run.objects.get(pk=run_id(value))
    return {
        "sessions": f"{ROOT}/worksession/",
        "runs": f"{ROOT}/run/",
        "session": f"{ROOT}/worksession/{run.session_id}/change/",
        "log": f"{ROOT}/worksession/{run.session_id}/log/",
        "run": f"{ROOT}/run/{run.id}/change/",
        "node": f"{ROOT}/run/{run.id}/change/?node={to_text(Prefix.NODE, run.tip_node_id)}",
    }


PAGES = ["sessions", "runs", "session", "log", "run", "node"]


@pytest.mark.parametrize("name", PAGES)
def test_a_viewer_sees_the_pages_and_a_stranger_finds_nothing(doors, name):
    from dataclasses import replace

    value = begin_run(doors, title="Flaky checkout")
    path = paths_of(value)[name]
    stranger = run_doors.signed_in(
        replace(doors.desk.owner, id=run_doors.person_text(), name="sam", team_id=doors.desk.stranger.team_id)
    )

    own, foreign = page_of(doors, path), stranger.client.get(path)

    assert "Flaky checkout" in own or "Sample" in own or "step-0" in own
    assert foreign.status_code in {404, 200}
    assert "Flaky checkout" not in foreign.content.decode()
    assert foreign.status_code == (200 if name in {"sessions", "runs"} else 404)


@pytest.mark.parametrize("name", PAGES)
def test_pages_hold_nothing_inline_and_work_without_scripts(doors, name):
    page = page_of(doors, paths_of(begin_run(doors))[name])

    assert re.findall(r"\sstyle=|\son[a-z]+=|<script(?![^>]*src=)", page) == []


def test_a_list_of_sessions_tells_their_runs_by_status(doors):
    value = begin_run(doors, step("write", notesOptional=False), title="Flaky checkout")
    go_on(doors.agent, value, notes="")

    page = page_of(doors, f"{ROOT}/worksession/")

    assert content_of(page).count('<span class="pill is-blocked">') == 1


@pytest.mark.parametrize(
    ("query", "is_there"),
    [
        ("q=flaky", True),
        ("q=why+it", True),
        ("q=shop-1", True),
        ("q=fix%2Fshop", True),
        ("q=unicorns", False),
        ("q=%00", True),
        ("q=100%25", False),
        ("q=status:blocked", False),
        ("q=status:done", False),
        ("q=workflow:team.sample+flaky", True),
        ("q=workflow:team.other", False),
        ("q=ticket:SHOP-1", True),
        ("q=branch:fix/", True),
        ("kept=ticket:SHOP-2&q=flaky", False),
        ("after=nonsense", True),
    ],
)
def test_sessions_are_found(doors, query, is_there):
    begin_run(
        doors,
        title="Flaky checkout",
        goal="Why it times out",
        observations={"ticket": "SHOP-1", "gitBranch": "fix/SHOP-1-x"},
    )

    page = page_of(doors, f"{ROOT}/worksession/?{query}")

    assert ("Flaky checkout</a>" in page) is is_there


def test_a_session_and_a_run_are_found_by_their_ids(doors):
    value = begin_run(doors, title="Flaky checkout")

    paths = paths_of(value)

    assert (
        doors.viewer.client.get(f"{ROOT}/worksession/?q={value['session']['sessionId']}")["Location"]
        == paths["session"]
    )
    assert doors.viewer.client.get(f"{ROOT}/run/?q={value['session']['runId']}")["Location"] == paths["run"]
    for name, prefix in (("sessionId", "session"), ("runId", "run")):
        assert doors.viewer.client.get(f"/studio/find/?q={value['session'][name]}")["Location"] == paths[prefix]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", {"Why it times out", "Write the guide"}),
        ("times", {"Why it times out"}),
        ("SHOP-1", {"Why it times out"}),
        ("agent:AGENT", {"Why it times out", "Write the guide"}),
        ("agent:nobody", set()),
        ("status:open", {"Why it times out", "Write the guide"}),
        ("status:blocked", set()),
        ("status:done", set()),
        ("workflow:team.guide", {"Write the guide"}),
        ("workflow:old-guide", {"Write the guide"}),
        ("workflow:team.*", {"Why it times out", "Write the guide"}),
        ("since:3d", set()),
        ("since:2026-01-01", {"Why it times out", "Write the guide"}),
        ("gap:", set()),
        ("quokka", {"Write the guide"}),
        ("status:open quokka", {"Write the guide"}),
        ("100%", set()),
    ],
)
def test_runs_are_found(doors, query, found):
    begin_run(doors, goal="Why it times out", observations={"ticket": "SHOP-1"})
    go_on(doors.agent, begin_run(doors, workflow_id="team.guide", goal="Write the guide"), notes="Saw a quokka.")
    extensions.set_alias(actor=doors.desk.person, alias="old-guide", workflow_id="team.guide", now=soon(0))
    Run.objects.update(last_activity_at="2026-06-01T00:00Z")

    response = doors.viewer.client.get(f"{ROOT}/run/", {"q": query})

    names = re.findall(r'<a class="name" href="[^"]*">(?:SHOP-1 )?([^<]*)<', shown(response))
    assert set(names) == found


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("stauts:open", "Did you mean status:?"),
        ("status:bloked", "Did you mean status:blocked?"),
        ("since:yesterday", "Write since:3d"),
        ("x" * 500, "The query is too long."),
    ],
)
def test_a_query_that_cannot_be_read_is_refused_and_shows_nothing(doors, query, says):
    begin_run(doors)

    page = shown(doors.viewer.client.get(f"{ROOT}/run/", {"q": query}))

    assert (says in page) is (len(query) < 200)
    assert ('id="result_list"' in page) is (len(query) >= 200)


def rows_of(page):
    """The nodes of the graph: what each is, its branch, its title, and the quiet line below."""
    found = re.findall(
        r'<span class="visually-hidden">([\w ]+), branch (\d+): </span>([^<]*)</a><span class="sub">([^<]*)<', page
    )
    return [(kind, int(branch), title, said) for kind, branch, title, said in found]


def test_a_run_is_a_graph_with_a_row_for_each_node_newest_first(doors):
    value = begin_run(doors)
    first = go_on(doors.agent, value, notes="Read **the diff**.").json()
    go_on(doors.agent, first)
    noted = {"stateToken": first["stateToken"], "checkpointToken": first["checkpointToken"]}
    doors.agent.post(f"{V1}/runs/checkpoint", {**noted, "output": {"notesMarkdown": "Half way."}})

    page = page_of(doors, paths_of(value)["run"])
    assert rows_of(page) == [
        ("Bookmark", 1, "Title of step-1", "Half way."),
        ("Step", 1, "Title of step-2", "Not finished"),
        ("Step", 1, "Title of step-1", "Did what the step says."),
        ("Step", 1, "Title of step-0", "Read the diff."),
    ]
    assert page.count("node-halo") == 1
    assert rows_of(page_of(doors, f"{paths_of(value)['run']}?order=oldest")) == rows_of(page)[::-1]


@pytest.mark.django_db(transaction=True)
def test_a_branch_has_a_lane_and_a_tip_of_its_own(doors):
    value = begin_run(doors)
    first = go_on(doors.agent, value).json()
    go_on(doors.agent, first, notes="One way.")
    back = doors.agent.post(f"{V1}/runs/continue", {"stateToken": first["stateToken"]}).json()
    go_on(doors.agent, back, notes="Another way.")

    page = page_of(doors, paths_of(value)["run"])

    assert sorted({branch for _, branch, _, _ in rows_of(page)}) == [1, 2]
    assert re.findall(r">Tip (\d)<", page) == ["2", "1"] or re.findall(r">Tip (\d)<", page) == ["1", "2"]
    assert page.count('class="lane lane-') == 2
    assert "2 branches" in page


def test_a_blocked_run_says_on_its_page_what_is_missing(doors):
    value = begin_run(doors, step("write", notesOptional=False))
    go_on(doors.agent, value, notes="")

    for name in ("run", "node"):
        page = page_of(doors, paths_of(value)[name])
        assert "The step was acknowledged without notes." in page
    assert "MISSING_REQUIRED_NOTES" in page


def test_gaps_are_shown_with_their_state(doors):
    value = begin_run(doors, step("write", notesOptional=False), preferences={"preset": "full_auto_never_stop"})
    go_on(doors.agent, value, notes="")
    before = page_of(doors, f"{paths_of(value)['run']}?tab=gaps")
    (gap,) = doors.agent.get(f"{V1}/runs/{value['session']['runId']}/gaps").json()["items"]

    doors.person.post(f"{V1}/gaps/{gap['id']}/resolve", {"summary": "Came by mail."})
    after = page_of(doors, f"{paths_of(value)['run']}?tab=gaps")

    assert "Critical · " in before
    assert '<div class="side-text">open</div>' in before
    assert '<div class="side-text">closed</div>' in after


HOSTILE = "<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/spy.png)"


def test_what_agents_write_is_words_and_nothing_else(doors):
    value = begin_run(doors, title=HOSTILE, goal=HOSTILE, context={"x": HOSTILE})
    paths = paths_of(value)
    artifacts = [{"kind": "<b>note</b>", "text": HOSTILE}]
    go_on(doors.agent, value, output={"notesMarkdown": HOSTILE, "artifacts": artifacts})

    for name, path in {**paths_of(value), "root": paths["node"]}.items():
        page = page_of(doors, path)
        assert "<script>alert" not in page, name
        assert '<img src="http' not in page, name
        assert 'href="javascript' not in page, name
        assert "<b>note" not in page, name


def test_notes_are_shown_as_the_markdown_that_they_are(doors):
    value = begin_run(doors)
    root = paths_of(value)["node"]
    go_on(doors.agent, value, notes="Read **the diff**:\n\n- one")

    page = page_of(doors, root)

    assert "<strong>the diff</strong>" in page
    assert "<li>one</li>" in page


def test_a_node_shows_context_attempts_events_and_what_came_next(doors):
    value = begin_run(doors, context={"quantity": 3})
    root = paths_of(value)["node"]
    go_on(doors.agent, value)

    page = page_of(doors, root)

    assert 'quantity&quot;</span>: <span class="j-n">3</span>' in page_of(doors, f"{root}&part=variables")
    assert "The run began: " in page_of(doors, f"{root}&part=events")
    assert "Do step-0." in page
    assert re.search(r"Next came</h3>.*Title of step-1", page, re.DOTALL)


@pytest.mark.parametrize(
    "path",
    ["worksession/x/change/", "run/x/change/", f"run/{'0' * 8}-{'0' * 4}-{'0' * 4}-{'0' * 4}-{'0' * 12}/change/"],
)
def test_an_address_that_leads_nowhere_says_so(doors, path):
    assert doors.viewer.client.get(f"{ROOT}/{path}").status_code == 404


def test_what_is_not_there_names_the_team_of_whoever_looks_and_of_nobody_else(doors, client):
    path = f"{ROOT}/run/{'0' * 8}-{'0' * 4}-{'0' * 4}-{'0' * 4}-{'0' * 12}/change/"
    page = doors.viewer.client.get(path)

    assert page.status_code == 404
    assert "Nothing of the team Alice&#x27;s team is at this address." in page.content.decode()
    assert b"Alice" not in client.get("/studio/nowhere/at/all/", follow=True).content


def test_a_node_is_not_shown_under_another_run(doors):
    one, other = begin_run(doors), begin_run(doors, workflow_id="team.other")
    node = paths_of(one)["node"].partition("?")[2]

    assert doors.viewer.client.get(f"{paths_of(other)['run']}?{node}").status_code == 404


def test_the_address_that_a_node_had_leads_to_its_drawer(doors):
    value = begin_run(doors)
    run = Run.objects.get()

    old = doors.viewer.client.get(f"{ROOT}/run/{run.id}/nodes/{run.tip_node_id}/")

    assert old["Location"] == paths_of(value)["node"]


@pytest.mark.parametrize("query", ["before=x", "before=-1", "before=99999999999999", "after=x", "after=99999999999"])
def test_a_mangled_page_address_shows_a_page(doors, query):
    paths = paths_of(begin_run(doors))

    assert doors.viewer.client.get(f"{paths['run' if 'before' in query else 'log']}?{query}").status_code == 200


def test_a_long_log_is_shown_in_pages(doors):
    value = begin_run(doors, *plain_steps(30))
    for _ in range(25):
        value = go_on(doors.agent, value).json()

    log = paths_of(value)["log"]
    first = page_of(doors, log)
    (following,) = re.findall(r'href="\?after=(\d+)"', first)
    second = page_of(doors, f"{log}?after={following}")

    assert len(re.findall(r'<span class="index">', first)) == 100
    assert f'<span class="index">{int(following) + 1}</span>' in second


@pytest.mark.parametrize("name", PAGES)
def test_a_page_costs_the_same_however_much_is_on_it(doors, name):
    value = begin_run(doors, *plain_steps(8))
    doors.viewer.client.get(paths_of(value)[name])
    few = _cost(doors, paths_of(value)[name])
    published(doors.desk, *plain_steps(1), workflow_id="team.short")
    for minute in range(6):
        start(doors.desk, "team.short", now=soon(minute))
        start(doors.desk, "team.short", session_id=run_doors.run_cast.session_id(value), now=soon(minute))
        value = go_on(doors.agent, value, output={"notesMarkdown": "x", "artifacts": [{"kind": "a"}]}).json()

    assert _cost(doors, paths_of(value)[name]) == few
    assert few <= (12 if name in {"run", "node", "runs", "sessions"} else 24)


def _cost(doors, path):
    with CaptureQueriesContext(connection) as captured:
        assert doors.viewer.client.get(path).status_code == 200
    return len(captured)


@pytest.mark.django_db(transaction=True)
def test_a_person_forks_at_a_node_and_the_agent_goes_on_there(doors):
    value = begin_run(doors)
    path = paths_of(value)
    root = path["node"].partition("node=")[2]
    go_on(doors.agent, value)

    response = doors.person.client.post(f"{path['run'].removesuffix('change/')}fork/", {"node": root})
    (token,) = re.findall(r"<code>(st\.v1\.[a-z0-9]+)</code>", shown(response))
    again = doors.agent.post(f"{V1}/runs/continue", {"stateToken": token}).json()
    go_on(doors.agent, again, notes="Another way.")

    assert "no-store" in response["Cache-Control"]
    assert page_of(doors, path["run"]).count('class="lane lane-') == 2
    assert token not in page_of(doors, path["run"])


@pytest.mark.django_db(transaction=True)
def test_a_person_adds_a_note_at_a_node(doors):
    value = begin_run(doors)
    path = paths_of(value)
    node = path["node"].partition("node=")[2]
    note = f"{path['run'].removesuffix('change/')}note/"

    done = doors.person.client.post(note, {"node": node, "notes": "Look at the **third** one."})
    refused = doors.person.client.post(note, {"node": node, "notes": " "})

    assert done["Location"] == path["node"]
    assert ("Bookmark", 1, "Title of step-0", "Look at the third one.") in rows_of(page_of(doors, path["run"]))
    assert (refused.status_code, "Write the note first." in refused.content.decode()) == (400, True)


@pytest.mark.parametrize("act", ["fork", "note", "mode"])
def test_a_viewer_and_a_stranger_steer_nothing(doors, act):
    from dataclasses import replace

    value = begin_run(doors)
    path = paths_of(value)
    fields = {"node": path["node"].partition("node=")[2], "notes": "x", "preset": "guided"}
    url = f"{path['run'].removesuffix('change/')}{act}/"
    stranger = run_doors.signed_in(
        replace(doors.desk.owner, id=run_doors.person_text(), name="sam", team_id=doors.desk.stranger.team_id)
    )

    assert doors.viewer.client.post(url, fields).status_code == 403
    assert stranger.client.post(url, fields).status_code == 404
    assert doors.person.client.get(url).status_code == 405
    assert f"/{act}/" not in page_of(doors, path["node"])


@pytest.mark.django_db(transaction=True)
def test_two_branches_are_compared_step_by_step(doors):
    value = begin_run(doors)
    first = go_on(doors.agent, value).json()
    kinds = [{"kind": "plan", "stages": count} for count in (1, 4)]
    go_on(doors.agent, first, output={"notesMarkdown": "Release at once.", "artifacts": [kinds[0]]})
    back = doors.agent.post(f"{V1}/runs/continue", {"stateToken": first["stateToken"]}).json()
    last = go_on(doors.agent, back, output={"notesMarkdown": "Release behind a flag.", "artifacts": [kinds[1]]}).json()
    go_on(doors.agent, last)
    run = paths_of(value)["run"]

    page = page_of(doors, f"{run.removesuffix('change/')}compare/")
    swapped = page_of(
        doors,
        f"{run.removesuffix('change/')}compare/" + re.search(r'href="(\?a=[^"]*)">Swap', page)[1].replace("&amp;", "&"),
    )

    assert 'href="' + run.removesuffix("change/") + 'compare/"' in page_of(doors, run)
    assert re.findall(r"<h2>([^<]*)</h2>", content_of(page)) == ["Title of step-1", "Title of step-2", "The end"]
    assert "plan.stages" in page
    assert {"4", "1"} == set(re.findall(r'<mark class="only-[12]">(\d)</mark>', page))
    assert "behind" in "".join(re.findall(r'<mark class="only-1">([^<]*)</mark>', page))
    assert "behind" in "".join(re.findall(r'<mark class="only-2">([^<]*)</mark>', swapped))
    assert "Not on this way" in page


def test_a_run_with_one_branch_is_compared_with_another_run_only(doors):
    one, other = begin_run(doors, goal="One"), begin_run(doors, workflow_id="team.other", goal="Other")
    path = f"{paths_of(one)['run'].removesuffix('change/')}compare/"

    assert doors.viewer.client.get(path).status_code == 404
    page = page_of(doors, f"{path}?other={other['session']['runId']}&show=everything")
    assert [name in page for name in ("One", "Other", "Compare two runs")] == [True, True, True]
    assert doors.viewer.client.get(f"{path}?other=run_{'a' * 26}").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_runs_that_handed_in_a_lot_are_compared_as_far_as_a_page_bears(doors):
    from sessions_app.selectors import run_graph

    def handed_in(number, place):
        # They differ in their last value; those of the last step are the same.
        last = number if place < 8 else 0
        return [{"kind": f"kind-{each}", "text": "x" * 58_000, "last": last} for each in range(10)]

    runs = []
    for number in range(2):
        value = begin_run(doors, *plain_steps(9), workflow_id=f"team.large-{number}")
        runs.append(value["session"]["runId"])
        for place in range(9):
            output = {"notesMarkdown": "Did what the step says.", "artifacts": handed_in(number, place)}
            value = go_on(doors.agent, value, output=output).json()
        runs[-1] = (runs[-1], paths_of(value)["run"].removesuffix("change/"))
    path, other = runs[0][1], runs[1][0]
    page = page_of(doors, f"{path}compare/?other={other}&show=everything")
    where = re.findall(r"in both, [^<]*", page)
    nodes = run_graph.read_graph(actor=doors.desk.viewer, run_id=Run.objects.first().pk).nodes
    read = run_graph.outputs_of_way(
        actor=doors.desk.viewer, run_id=Run.objects.first().pk, node_ids=[node.id for node in nodes]
    )

    assert where[:9] == ["in both, notes or outputs differ"] * 8 + ["in both, the same"]
    assert "kind-0.last" in page
    assert "not compared" in page
    assert len(page) < 1_000_000
    assert len(read) == 9 * 11
    assert 3_000_000 < sum(len(each.body) for each in read) <= 4 * 1024 * 1024


def acts_on(doors, value, act, fields=None, who=None):
    return (who or doors.person).client.post(f"{paths_of(value)['run'].removesuffix('change/')}{act}/", fields or {})


@pytest.mark.django_db(transaction=True)
def test_a_run_is_paused_goes_on_and_is_cancelled_with_a_reason(doors):
    value = begin_run(doors)
    run = paths_of(value)["run"]
    asked = shown(doors.person.client.get(f"{run.removesuffix('change/')}cancel/"))

    states = [Run.objects.get().status]
    for act, fields in (("pause", {"reason": "Wait."}), ("resume", {}), ("cancel", {"reason": "No longer needed."})):
        assert acts_on(doors, value, act, fields)["Location"] == run
        states.append(Run.objects.get().status)

    assert "The run ends for good" in asked
    assert states == ["in_progress", "paused", "in_progress", "cancelled"]
    page = page_of(doors, run)
    assert re.search(r"pill is-cancelled.*Cancelled", page)
    assert "Cancel run</a>" not in page
    assert acts_on(doors, value, "cancel", {}).status_code == 400


@pytest.mark.django_db(transaction=True)
def test_runs_are_paused_and_cancelled_together(doors):
    values = [begin_run(doors), begin_run(doors, workflow_id="team.other")]
    rows = [str(row_id) for row_id in Run.objects.order_by("id").values_list("id", flat=True)]
    bulk = f"{ROOT}/run/cancel-runs/"

    asked = shown(doors.person.client.get(bulk, {"rows": rows}))
    refused = doors.person.client.post(bulk, {"rows": rows})
    doors.person.client.post(bulk, {"rows": rows, "reason": "The sprint is over."})

    assert re.findall(r'name="rows" value="([^"]*)"', asked) == rows
    assert (refused.status_code, "Say in a sentence why." in refused.content.decode()) == (400, True)
    assert set(Run.objects.values_list("status", flat=True)) == {"cancelled"}
    assert "2 runs cancelled." in page_of_person(doors, f"{ROOT}/run/")
    assert "cancel-runs" not in page_of(doors, f"{ROOT}/run/")
    assert len(values) == 2


def page_of_person(doors, path):
    return shown(doors.person.client.get(path))
