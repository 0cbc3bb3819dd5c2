"""250 hostile texts in every field that agents, authors and people write stay text on every page."""

import json
import os
from html.parser import HTMLParser

import pytest

from sessions_app.engine.observations import ObservationKey
from sessions_app.models import Node, Run
from sessions_app.services.people import naming
from teams_app.engine.ids import Prefix, to_text
from tests import run_doors
from tests.checkpoint_cast import at_question
from tests.chromium import CHROMIUM, browse
from tests.hostile_texts import HOSTILE
from tests.run_cast import NOW, advanced, begin, bookmark, notes_free, published, run_id, session_id, start
from tests.trace_calls import made, write
from workflows_app.models import Workflow

pytestmark = pytest.mark.django_db(transaction=True)
RUNS, SESSIONS = "/studio/sessions_app/run/", "/studio/sessions_app/worksession/"
QUESTIONS, TRACES = "/studio/sessions_app/checkpointrequest/", "/studio/traces_app/traceevent/"
WORKFLOWS, TEAMS = "/studio/workflows_app/workflow/", "/studio/teams_app"
PER_RUN = 25


def test_there_are_250_and_each_is_another():
    assert len(set(HOSTILE)) == 250


def prompt(text):
    """As an author may write it: what looks like a placeholder would be refused."""
    return text.replace("{{", "{").replace("}}", "}")


def printable(text):
    return "".join(filter(str.isprintable, text))


class Markup(HTMLParser):
    """What a page has that no page of ours has."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag in {"iframe", "object", "embed", "base", "style", "math"} or (tag == "script" and "src" not in given):
            self.found.append(f"<{tag}>")
        if tag == "meta" and "http-equiv" in given:
            self.found.append("<meta http-equiv>")
        for name, value in given.items():
            here = (value or "").strip().lower()
            if name.startswith("on") or name in {"autofocus", "srcdoc", "style"}:
                self.found.append(f"{tag} {name}={here}")
            if name in {"href", "src", "action", "formaction", "data"} and not here.startswith(("/", "?", "#", "http")):
                self.found.append(f"{tag} {name}={here}") if here else None


@pytest.fixture
def desk():
    return run_doors.open_doors().desk


def of_agents(desk):
    """Runs whose every field is hostile: short ones by themselves, long ones with many at once."""
    published(
        desk,
        *[notes_free(f"step-{n}", title=prompt(HOSTILE[n][:80]), prompt=prompt(HOSTILE[n])) for n in range(PER_RUN)],
    )
    for number, text in enumerate(HOSTILE):
        value = start(
            desk,
            goal=text,
            context={"said": text, text[:60]: number},
            observations={ObservationKey.GIT_BRANCH: printable(text)},
        ).value
        if number % PER_RUN == 0:
            _walk(desk, value, HOSTILE[number : number + PER_RUN])
        elif number % 3 == 0:
            naming.rename_run(
                actor=desk.person, run_id=run_id(value), name=printable(text), now=NOW, entropy=os.urandom
            )
    write(
        *[
            made(desk.agent, tool=text[:60], arguments={"agent_id": text, text: text}, error_code="INVALID")
            for text in HOSTILE
        ]
    )


def _walk(desk, value, texts):
    for text in texts:
        artifacts = [
            {"kind": "team.diff", "title": text, "diff": f"--- a/{text}\n+++ b/x\n@@ -1 +1 @@\n-{text}\n+{text}\n"},
            {"kind": "team.note", "title": text, "markdown": text, text[:60]: [text]},
        ]
        bookmark(desk.agent, value, text)
        value = advanced(desk.agent, value, f"{text}\n\n# {text}\n\n- {text}\n\n| {text} |\n| - |", artifacts=artifacts)


def pages_of(client, *addresses):
    """Those, and every page of a list that they begin."""
    for address in addresses:
        following = address
        while following:
            response = client.get(following)
            assert response.status_code == 200, following
            page = response.content.decode()
            yield following, page
            found = [part for part in page.split('rel="next"')[0].rsplit('href="', 1)[1:] if 'rel="next"' in page]
            following = found[0].split('"')[0].replace("&amp;", "&") if found else ""
            following = f"{address.partition('?')[0]}{following}" if following.startswith("?") else following


def faults(pages):
    return {address: found for address, page in pages if (found := Markup(page).found)}


def test_what_agents_write_stays_text_on_the_pages(desk):
    of_agents(desk)
    asked = at_question(desk, authority="human", context={"goal": HOSTILE[1]})
    client = run_doors.signed_in(desk.owner).client
    walked = list(Run.objects.filter(goal__in=HOSTILE[::PER_RUN]).order_by("id").values_list("id", "session_id"))
    runs = [f"{RUNS}{each}/change/" for each, _ in walked]
    tabs = [f"{runs[0]}?tab={tab}" for tab in ("timeline", "gaps", "outputs", "events", "calls", "variables")]
    sessions = [f"{SESSIONS}{each}/change/" for _, each in walked[:3]]
    question = f"{QUESTIONS}{_row_of(asked)}/change/"

    seen = list(pages_of(client, RUNS, SESSIONS, TRACES, QUESTIONS, "/studio/", question, *runs, *tabs, *sessions))

    assert len(seen) >= 25
    assert faults(seen) == {}
    assert "&lt;svg onload=alert(1)&gt;" in "".join(page for _, page in seen)


def test_what_authors_write_stays_text_on_the_pages(desk):
    for number in range(0, len(HOSTILE), PER_RUN):
        texts = [prompt(text) for text in HOSTILE[number : number + PER_RUN]]
        steps = [
            notes_free(f"step-{index}", title=text[:80], prompt=text, agentRole=text, guidance=[text])
            for index, text in enumerate(texts)
        ]
        published(
            desk, *steps, workflow_id=f"team.odd{number}", name=texts[0][:60], description=texts[1], about=texts[2]
        )
    client = run_doors.signed_in(desk.owner).client
    rows = [
        f"{WORKFLOWS}{row}"
        for row in Workflow.objects.filter(workflow_id__startswith="team.odd").values_list("pk", flat=True)
    ]
    parts = ("change/", "change/?tab=source", "change/?tab=revisions", "edit/", "start/")

    seen = list(pages_of(client, WORKFLOWS, *[f"{row}/{part}" for row in rows for part in parts]))

    assert len(seen) >= 50
    assert faults(seen) == {}


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_no_hostile_text_runs_in_a_browser(desk, live_server):
    value = begin(
        desk,
        *[
            notes_free(f"step-{n}", title=prompt(HOSTILE[n][:80]), prompt=prompt(HOSTILE[n]))
            for n in range(PER_RUN + 1)
        ],
    )
    for text in HOSTILE:
        start(desk, goal=text, context={"said": text})
    for number in range(PER_RUN):
        texts = HOSTILE[number * 10 : number * 10 + 10]
        artifacts = [{"kind": "team.note", "title": text, "markdown": text, "json": json.dumps(text)} for text in texts]
        value = advanced(desk.agent, value, "\n\n".join(texts), artifacts=artifacts)
    dialogs = []
    run = f"{RUNS}{run_id(value)}/change/"
    found = Node.objects.filter(run_id=run_id(value)).values_list("id", flat=True)
    nodes = [f"{run}?node={to_text(Prefix.NODE, each)}" for each in found]

    def look(page):
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        page.goto(run)
        titles = []
        for path in (
            RUNS,
            f"{SESSIONS}{session_id(value)}/change/",
            *nodes,
        ):
            page.goto(path)
            page.mouse.move(400, 300)
            titles.append(page.title())
            assert page.locator("main script, main iframe, main img, main style, main object").count() == 0
        return titles

    titles, complaints = browse(live_server.url, run_doors.enrol(desk.owner), look)

    assert len(titles) > PER_RUN
    assert all("Workrail Studio" in title for title in titles)
    assert (dialogs, complaints) == ([], [])


def _row_of(asked):
    from tests.checkpoint_cast import only_row

    return only_row(asked).pk
