"""A key in a form of the Studio, or in the files of a workflow, is kept nowhere in clear; one of ours is refused."""

import base64
import json
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import urljoin

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests import run_doors
from tests.checkpoint_cast import at_question
from tests.mcp.test_secrets_in_arguments import OTHERS, OWN, PRIVATE, STRANGE, everything_kept, hexed
from tests.run_cast import make_desk
from tests.step_documents import step, workflow
from tests.studio.test_page_floods import filled, pages, rows_of
from tests.workflow_cast import NOW, source_of

pytestmark = pytest.mark.django_db

WORDS = " and ".join([*OTHERS, *STRANGE, PRIVATE])


@pytest.fixture
def doors(settings):
    settings.THROTTLE_ACTOR_PER_MINUTE = settings.THROTTLE_TEAM_PER_MINUTE = 0
    opened = run_doors.open_doors()
    run_doors.begin_run(opened)
    return opened


class Forms(HTMLParser):
    """The forms of a page that change something: where they go, what stands in them, and what a person may write."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "form" and given.get("method", "").lower() == "post":
            self.found.append((given.get("action") or "", {}, []))
        name = given.get("name", "")
        if not self.found or not name or name.startswith("csrf"):
            return
        _, fixed, written = self.found[-1]
        if tag == "textarea" or (tag == "input" and given.get("type", "text") in {"text", "search", "url"}):
            written.append(name)
        elif tag in {"input", "button"} and "password" not in name:
            fixed.setdefault(name, given.get("value") or "")


def sent(doors, address, words):
    """Every form of the page, with these words wherever one may write."""
    page = doors.owner.get(address)
    if page.streaming:
        page.close()
        return 0
    forms = [form for form in Forms(page.content.decode()).found if form[2] and "/edit/" not in form[0] + address]
    for action, fixed, written in forms:
        response = doors.owner.client.post(urljoin(address, action), {**fixed, **dict.fromkeys(written, words)})
        assert response.status_code < 500, (address, action)
        assert OWN[0] not in response.content.decode(), (address, action)
    return len(forms)


def test_no_form_of_any_page_keeps_a_key_in_clear(doors):
    waiting = at_question(doors.desk, authority="human")
    assert waiting
    several = 0
    for route in pages():
        for row in rows_of(route) if "uuid" in route or "path" in route else [""]:
            several += sent(doors, filled(route, row, row or "x"), WORDS)
            sent(doors, filled(route, row, row or "x"), f"Use {OWN[0]}")

    kept = everything_kept()
    assert several > 10
    assert "[redacted]" in kept
    for secret in (*OTHERS, *STRANGE, OWN[0], "MHcCAQEEIabc0123"):
        assert secret not in kept, kept[max(0, kept.index(secret) - 400) : kept.index(secret) + 50]
        assert hexed(secret) not in kept


@pytest.mark.parametrize("own", OWN)
def test_a_workflow_with_a_key_of_ours_is_not_saved(own):
    from teams_app.engine.errors import InvalidInputError
    from workflows_app.services.workflows import create_workflow

    desk = make_desk()
    document = workflow(step("plan", prompt=f"Call it with {own}."), id="team.keyed")
    with pytest.raises(InvalidInputError, match="holds a key of Workrail"):
        create_workflow(actor=desk.person, source=source_of(document), message="", now=NOW)
    assert own not in everything_kept()


SPELT = {
    "escaped": lambda own: "".join(f"\\u{ord(letter):04x}" for letter in own),
    "escaped in part": lambda own: own.replace("_", "\\u005f"),
    "with what is not seen": "\u200b".join,
    "in base64": lambda own: base64.b64encode(f"me:{own}".encode()).decode(),
    "in lines of base64": lambda own: base64.encodebytes(f"{'x' * 40} {own}".encode()).decode().replace("\n", "\\n"),
    "in base64 of wide letters": lambda own: base64.b64encode(f"echo {own}".encode("utf-16-le")).decode(),
    "in hex": lambda own: own.encode().hex(" "),
}


@pytest.mark.parametrize("spelt", SPELT)
def test_nor_however_the_key_is_written_in_its_source(spelt):
    from teams_app.engine.errors import InvalidInputError
    from workflows_app.services.workflows import create_workflow

    desk = make_desk()
    written = SPELT[spelt](OWN[0])
    document = workflow(step("plan", prompt="Call it with KEY."), id="team.keyed")
    source = source_of(document)
    files = {path: data.replace(b"KEY", written.encode()) for path, data in source.files.items()}
    with pytest.raises(InvalidInputError, match="holds a key of Workrail"):
        create_workflow(actor=desk.person, source=replace(source, files=files), message="", now=NOW)


@pytest.mark.parametrize("letters", ["utf-8", "utf-16", "utf-16-be"])
def test_nor_with_a_key_of_ours_in_a_file_beside_it_in_whatever_letters(letters):
    from teams_app.engine.errors import InvalidInputError
    from workflows_app.services.workflows import create_workflow

    desk = make_desk()
    source = source_of(workflow(step("plan"), id="team.keyed"))
    files = {**source.files, "resources/01-notes.md": f"Use {OWN[0]}.".encode(letters)}
    with pytest.raises(InvalidInputError, match="holds a key of Workrail"):
        create_workflow(actor=desk.person, source=replace(source, files=files), message="", now=NOW)


def test_nor_with_a_key_of_ours_in_the_name_of_a_file():
    from teams_app.engine.errors import InvalidInputError
    from workflows_app.services.workflows import create_workflow

    desk = make_desk()
    source = source_of(workflow(step("plan"), id="team.keyed"))
    files = {**source.files, f"notes/{OWN[0]}.md": b"A note."}
    with pytest.raises(InvalidInputError, match="holds a key of Workrail"):
        create_workflow(actor=desk.person, source=replace(source, files=files), message="", now=NOW)


def imported(doors, document, **form):
    """The address at which its source is saved."""
    uploads = SimpleUploadedFile("a.json", json.dumps(document).encode())
    response = doors.owner.client.post("/studio/workflows_app/workflow/import/", {"uploads": uploads, **form})
    assert response.status_code == 302
    return response["Location"].replace("/edit/", "/save/")


def saved(doors, address, document, **form):
    base = {"base": 1, "path": "a.json", "text": json.dumps(document)}
    response = doors.owner.client.post(address, {**base, **form})
    assert response.status_code == 302


OWN_IN_FORMS = [OWN[0], f"{OWN[1][:20]}&#x200b;{OWN[1][20:]}", base64.b64encode(OWN[3].encode()).decode()]


@pytest.mark.parametrize("own", OWN_IN_FORMS)
@pytest.mark.parametrize("at", ["edit", "save"])
@pytest.mark.parametrize("field", ["text", "message", "changed", "new_path"])
def test_the_editor_keeps_what_was_typed_beside_a_key_of_ours_without_it(doors, own, at, field):
    from workflows_app.models import Revision

    save = imported(doors, workflow(step("a"), id="team.filed"))
    document = json.dumps(
        workflow(
            step("b", prompt=f"Typed for an hour, before {own if field == 'text' else ''} and behind."), id="team.filed"
        )
    )
    form = {
        "base": 1,
        "path": "a.json",
        "text": document,
        "changed": json.dumps({"b.md": "# Two"}),
        "message": f"A note with {OTHERS[0]}",
    }
    form |= {
        "text": {},
        "message": {"message": f"A note {own} of it"},
        "changed": {"changed": json.dumps({"b.md": f"# Two\n\nSee {own} there"})},
        "new_path": {"new_path": f"notes/{own}.md", "do": "add"},
    }[field]

    shown = doors.owner.client.post(save.replace("/save/", f"/{at}/"), form)

    page = shown.content.decode()
    assert (shown.status_code, Revision.objects.filter(workflow__workflow_id="team.filed").count()) == (400, 1)
    assert "holds a key of Workrail" in page
    assert "Typed for an hour" in page
    assert "and behind" in page
    assert "[redacted]" in page
    assert own[-20:] not in page
    assert own[-20:] not in everything_kept()


def test_a_form_of_an_act_keeps_what_was_typed_beside_a_key_of_ours_without_it(doors):
    shown = doors.owner.client.post(
        "/studio/teams_app/agentkey/issue/", {"name": f"Of the oven {OWN[0]}", "scopes": ["runs:read"]}
    )

    page = shown.content.decode()
    assert shown.status_code == 400
    assert "holds a key of Workrail" in page
    assert "Of the oven wr_key_abcdefgh[redacted]" in page


def test_what_is_said_beside_the_files_of_a_workflow_keeps_no_key_either(doors):
    save = imported(doors, workflow(step("a"), id="team.filed"), message=f"Use {OTHERS[0]}")
    saved(doors, save, workflow(step("b"), id="team.filed"), message=f"Use {OTHERS[1]} twice")

    kept = everything_kept()
    assert "Use [redacted]" in kept
    assert "Use [redacted] twice" in kept
    for secret in OTHERS:
        assert secret not in kept


def test_a_source_with_a_key_of_others_is_saved_as_it_is_written(doors):
    from workflows_app.models import Revision
    from workflows_app.selectors.sources import read_source

    first, second = (workflow(step("a", prompt=f"Never write {key}."), id="team.filed") for key in OTHERS[:2])
    saved(doors, imported(doors, first), second)

    for number, key in enumerate(OTHERS[:2], 1):
        source = read_source(actor=doors.desk.owner, workflow_id="team.filed", number=number)
        assert key in str(source.files)
    assert Revision.objects.filter(workflow__workflow_id="team.filed").count() == 2


ADDRESSES = [
    "https://hooks.slack.com/services/T0000/B0000/abcdefgh",
    "https://discord.com/api/webhooks/0123456789012345/abcdefghijklmnopqrst",
    "https://chat.example.com/hooks?token=0123456789abcdef0123456789abcdef",
    "https://chat.example.com/hooks/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0",
]
WAYS = {
    "endpoint/add/": {"kinds": ["run_started"]},
    "team/{team}/webhook/": {},
}


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("way", WAYS)
def test_where_notices_go_is_kept_as_it_is_written(doors, settings, way, address):
    """Addresses of chat servers let in whoever knows them: they are the secret that is to be kept."""
    from teams_app.models import Endpoint

    settings.PUBLIC_URL = "https://rails.example.com"
    path = f"/studio/teams_app/{way.format(team=doors.desk.team_id)}"

    shown = doors.owner.client.post(path, {**WAYS[way], "url": address})

    assert (shown.status_code, [row.url for row in Endpoint.objects.all()]) == (200, [address])
    assert "What looks like a key" not in shown.content.decode()
    refused = doors.owner.client.post(path, {**WAYS[way], "url": f"https://chat.example.com/{OWN[0]}"})
    assert "holds a key of Workrail" in refused.content.decode()
