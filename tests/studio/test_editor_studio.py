"""The editor without a script: what a form sends, and what comes back."""

import html
import json
import re

import pytest

from teams_app.engine.actors import Role
from tests.cast import play
from tests.flood_play import Work
from tests.workflow_cast import document

pytestmark = pytest.mark.django_db

ROOT = "/studio/workflows_app/workflow/"


@pytest.fixture
def client_of():
    from django.test import Client

    def enter(player):
        browser = Client()
        browser.force_login(player.person)
        return browser

    return enter


@pytest.fixture
def ann(house, client_of):
    return client_of(play("ann", house.team, Role.AUTHOR))


def made(browser, **form):
    """A new workflow; its row and the address of its editor."""
    from workflows_app.models import Workflow

    form = {"title": "Plan", "new_id": "team.plan", "format": "steps_json", **form}
    url = browser.post(f"{ROOT}new/", form)["Location"]
    return Workflow.objects.get(workflow_id=form["new_id"]), url


def typed(text, **more):
    return {"base": 1, "path": "workflow.json", "text": text, "changed": "", "do": "check", **more}


def text(response):
    return response.content.decode()


def good(**more):
    return json.dumps(document("team.plan", **more))


def test_a_problem_stands_at_its_line_and_is_mended_by_a_button(ann):
    row, url = made(ann)
    source = good().replace('"prompt"', '"promt"', 1)

    page = text(ann.post(url, typed(source)))
    (button,) = re.findall(r'value="(change:\d+)"', page)
    mended = text(ann.post(url, typed(source, do=button)))

    assert 'class="has-error"' in page
    assert "promt" not in re.search(r"<textarea name=\"text\".*?</textarea>", mended, re.DOTALL)[0]
    assert row.revisions.count() == 1


@pytest.mark.parametrize(
    ("step", "wrong", "right"),
    [("- id: a\n  nmae: A\n", "nmae", "name"), ("- id: a\n  Kind: loop\n  loopType: while\n", "Kind", "kind")],
)
def test_a_misspelt_key_of_an_activity_stands_at_its_line_and_is_mended_there(ann, step, wrong, right):
    _, url = made(ann, format="activity_folder")
    activity = f"id: begin\nversion: 1.0.0\nname: Begin\nsteps:\n{step}"
    about = "id: team.plan\nversion: 0.2.0\ntitle: Plan\ninitialActivity: begin\n"
    changed = json.dumps({"workflow.yaml": about, "workflow.toon": None, "activities/01-begin.toon": None})
    form = typed(activity, path="activities/01-begin.yaml", changed=changed)

    page = text(ann.post(url, form))
    (button, *_) = re.findall(r'value="(change:\d+)"', page)
    mended = html.unescape(text(ann.post(url, {**form, "do": button})))

    assert activity.replace(wrong, right) in mended


def test_a_problem_of_an_activity_stands_at_its_line_and_is_mended_there(ann):
    """Also where the same words stand further up."""
    _, url = made(ann, format="activity_folder")
    about = "id: team.plan\nversion: 0.2.0\ntitle: Plan\ninitialActivity: begin\n"
    ways = (
        "transitions:\n- to: workflow-end\n  condition: {type: simple, variable: x, operator: exists}\n- to: beginn\n"
    )
    activity = f"id: begin\nversion: 1.0.0\nname: to begin\n{ways}"
    changed = json.dumps({"workflow.yaml": about, "workflow.toon": None, "activities/01-begin.toon": None})
    form = typed(activity, path="activities/01-begin.yaml", changed=changed)

    page = text(ann.post(url, form))
    (button,) = re.findall(r'value="(change:\d+)"', page)
    mended = text(ann.post(url, {**form, "do": button}))

    box = re.search(r"<textarea name=\"text\".*?</textarea>", mended, re.DOTALL)[0]
    assert box.count("- to: begin\n") == 1
    assert "name: to begin\n" in box


@pytest.mark.parametrize("break_", ["\u2028", "\u2029", "\x85", "\r"])
@pytest.mark.parametrize("format_", ["steps_json", "activity_folder"])
def test_a_problem_is_mended_in_its_line_whatever_else_unicode_calls_a_line(ann, break_, format_):
    _row, url = made(ann, format=format_)
    if format_ == "steps_json":
        within = "" if break_ == "\r" else break_
        source = good(description=f"One{within}two").replace('"prompt"', '"promt"', 1)
        source = json.dumps(json.loads(source), indent=1, ensure_ascii=False)
        page = text(ann.post(url, typed(source)))
    else:
        above = f"# a{break_}# b\n"
        source = f"{above}id: team.plan\nversion: 1.0.0\ntitle: Plan\ninitialActivity: begn\n"
        page = text(ann.post(url, typed(source, path="workflow.yaml")))
    wrong, right = ("promt", "prompt") if format_ == "steps_json" else ("begn", "begin")
    at = source[: source.index(wrong)].replace("\r", "\n").count("\n") + 1

    change = re.search(rf'value="(change:\d+)"[^>]*data-change-line="{at}"[^>]*data-wrong="{wrong}"', page)
    assert change
    given = typed(source, do=change[1], **({} if format_ == "steps_json" else {"path": "workflow.yaml"}))
    mended = ann.post(url, given)

    assert mended.status_code == 200
    box = html.unescape(re.search(r"<textarea name=\"text\".*?</textarea>", text(mended), re.DOTALL)[0])
    assert source.replace(wrong, right).replace("\r", "\n") in box.replace("\r", "\n")


def test_what_was_saved_meanwhile_is_shown_beside_what_was_typed_and_nothing_is_lost(ann):
    from workflows_app.models import Workflow

    row, _ = made(ann)
    save = f"{ROOT}{row.pk}/save/"
    assert ann.post(save, typed(good(name="Theirs"))).status_code == 302

    refused = ann.post(save, typed(good(name="Mine")))
    page = text(refused)

    assert refused.status_code == 400
    assert "somebody has revised it since" in page
    assert "Theirs" in page
    assert "Mine" in re.search(r"<textarea name=\"text\".*?</textarea>", page, re.DOTALL)[0]
    assert 'name="base" value="2"' in page
    assert ann.post(save, typed(good(name="Both"), base=2)).status_code == 302
    assert Workflow.objects.get().title == "Both"


@pytest.mark.parametrize("open_file", ["workflow.yaml", "resources/blanks.md", "activities/01-a.yaml"])
def test_a_file_that_was_only_open_does_not_undo_what_somebody_else_saved_in_it(ann, ends, open_file):
    from workflows_app.selectors.sources import files_of

    edit, save = f"{ROOT}{ends.pk}/edit/", f"{ROOT}{ends.pk}/save/"
    mine, theirs = Page(ann, edit), Page(ann, edit)
    mine.do("open:activities/01-a.yaml")
    mine.text = mine.text.replace("name: A", "name: Mine")
    for path, words in (("workflow.yaml", ("Ends", "Theirs")), ("resources/blanks.md", ("Blanks", "Theirs"))):
        theirs.do(f"open:{path}")
        theirs.text = theirs.text.replace(*words)
    assert theirs.do("save", url=save).status_code == 302
    mine.do(f"open:{open_file}")

    assert mine.do("save", url=save).status_code == 400
    assert mine.do("save", url=save).status_code == 302

    files = files_of(ends.revisions.get(number=3).pk)
    assert b"title: Theirs" in files["workflow.yaml"]
    assert b"# Theirs" in files["resources/blanks.md"]
    assert b"name: Mine" in files["activities/01-a.yaml"]


def test_a_file_that_somebody_else_has_removed_does_not_come_back_for_having_been_open(ann, ends):
    from workflows_app.selectors.sources import files_of

    edit, save = f"{ROOT}{ends.pk}/edit/", f"{ROOT}{ends.pk}/save/"
    mine, theirs = Page(ann, edit), Page(ann, edit)
    mine.text = mine.text.replace("Ends", "Mine")
    mine.do("open:resources/blanks.md")
    theirs.do("open:resources/blanks.md")
    theirs.do("drop")
    assert theirs.do("save", url=save).status_code == 302

    assert mine.do("save", url=save).status_code == 400
    assert mine.do("save", url=save).status_code == 302

    files = files_of(ends.revisions.get(number=3).pk)
    assert "resources/blanks.md" not in files
    assert b"title: Mine" in files["workflow.yaml"]


@pytest.mark.parametrize(
    ("path", "change", "wanted"),
    [
        ("resources/mixed.md", ("# Mixed", "# More"), b"\n\n# More\r\nends\n\r\n"),
        ("resources/mixed.md", ("ends", "ends\nhere"), b"\n\n# Mixed\r\nends\nhere\n\r\n"),
        ("resources/old.md", ("ends", "still\nends"), b"# Old\rstill\rends\r"),
        ("workflow.yaml", ("title: Ends", "title: Other\ndescription: x"), None),
    ],
)
def test_lines_that_nobody_touched_keep_their_ends(ann, ends, path, change, wanted):
    from workflows_app.selectors.sources import files_of

    page = Page(ann, f"{ROOT}{ends.pk}/edit/")
    page.do(f"open:{path}")
    page.text = page.text.replace(*change)

    assert page.do("save", url=f"{ROOT}{ends.pk}/save/").status_code == 302

    old, new = (each.replace("\n", "\r\n").encode() for each in change)
    wanted = wanted or OF_A_FOLDER[path].replace(old, new)
    assert files_of(ends.revisions.get(number=2).pk) == {**OF_A_FOLDER, path: wanted}


def test_what_was_read_as_older_readers_do_stays_so_in_the_editor(house, ann):
    from teams_app.engine.actors import Door, system_actor
    from tests.workflow_cast import NOW
    from workflows_app.engine.source import Strictness
    from workflows_app.models import Workflow
    from workflows_app.services import importing

    source = good().replace('"prompt"', '"prompt": "An older one.",\n"prompt"', 1)
    actor = system_actor(team_id=house.team.id, door=Door.CLI)
    options = importing.ImportOptions(strictness=Strictness.LEGACY)
    importing.import_files(actor=actor, files={"workflow.json": source.encode()}, options=options, now=NOW)
    row = Workflow.objects.get(workflow_id="team.plan")
    assert (row.error_count, row.warning_count) == (0, 1)

    page = Page(ann, f"{ROOT}{row.pk}/edit/")
    page.text = page.text.replace('"name": "', '"name": "Another ', 1)
    assert page.do("save", url=f"{ROOT}{row.pk}/save/").status_code == 302

    row.refresh_from_db()
    assert (row.latest_number, row.error_count, row.warning_count) == (2, 0, 1)


def test_a_walk_rejects_an_answer_that_the_workflow_does_not_have(ann):
    _, url = made(ann)

    walked = text(ann.post(url, typed(good(), do="walk")))
    refused = text(ann.post(url, typed(good(), do="walk", answers='{"read-chang": {"context": {}}}')))
    broken = text(ann.post(url, typed(good(), do="walk", answers="{")))

    assert "the end" in walked
    assert "No step or checkpoint is called" in refused
    assert "Did you mean" in refused
    assert "are no JSON" in broken


@pytest.mark.parametrize("rounds", ["2.5", "-1", "", "many", "٣", "1e2", "9999"])
def test_a_walk_by_what_is_no_number_of_rounds_says_what_was_typed(ann, rounds):
    _, url = made(ann)

    page = html.unescape(text(ann.post(url, typed(good(), do="walk", rounds=rounds))))

    assert f"{rounds!r} is no number of rounds. Say 1 to 50." in page


def test_files_are_added_changed_and_removed_over_several_tabs_before_one_save(ann):
    from workflows_app.selectors.sources import files_of

    row, url = made(ann, format="activity_folder")
    about = "id: team.plan\nversion: 0.2.0\ntitle: Plan\ndescription: A plan.\ninitialActivity: begin\n"

    def carried(page):
        return json.loads(re.search(r'name="changed" value="([^"]*)"', page)[1].replace("&quot;", '"'))

    first = text(ann.post(url, typed(about, path="workflow.yaml", do="add", new_path="resources/01-a.md")))
    changed = json.dumps(carried(first))
    second = text(ann.post(url, typed("# A\n", path="resources/01-a.md", changed=changed, do="open:workflow.yaml")))
    changed = json.dumps(carried(second))
    saved = ann.post(f"{ROOT}{row.pk}/save/", typed(about, path="workflow.yaml", changed=changed))

    files = files_of(row.revisions.get(number=2).pk)
    assert saved.status_code == 302
    assert files["resources/01-a.md"] == b"# A\n"
    assert b"0.2.0" in files["workflow.yaml"]
    assert "activities/01-begin.yaml" in files


def test_buttons_that_would_be_refused_are_not_there(house, ann, client_of):
    row, url = made(ann)
    viewer = client_of(play("vic", house.team, Role.VIEWER))

    page = text(viewer.get(f"{ROOT}{row.pk}/change/"))

    assert viewer.get(url).status_code == 403
    assert viewer.post(f"{ROOT}{row.pk}/save/", typed(good())).status_code == 403
    assert all(label not in page for label in (">Edit<", ">Publish<", ">Copy to a new workflow<", ">Start a run<"))
    assert client_of(house.charlie).get(url).status_code == 404


def test_a_person_starts_a_run_and_gets_words_to_hand_to_an_agent(ann):
    from sessions_app.models import Run

    row, url = made(ann)
    ann.post(f"{ROOT}{row.pk}/save/", typed(good()))
    ann.post(f"{ROOT}{row.pk}/publish/", {"workflow": "team.plan", "revision": 2, "base": 0})

    page = text(ann.post(f"{ROOT}{row.pk}/start/", {"workflow": "team.plan", "goal": "Look at it"}))

    assert re.search(r"continue_workflow with stateToken st\.v1\.", page)
    assert Run.objects.get().goal == "Look at it"
    assert "1 run" in text(ann.get(f"{ROOT}{row.pk}/change/"))
    assert url


CROWDED = {
    "steps that do not compile": lambda count: json.dumps(
        document("team.plan", steps=[{"id": at} for at in range(count)]), indent=0
    ),
    "steps beside many lines": lambda count: (
        json.dumps(document("team.plan", steps=numbered(count // 12))) + "\n" * 40 * count
    ),
    "problems beside many lines": lambda count: (
        json.dumps(document("team.plan", steps=numbered(count // 25, odd=1))) + "\n" * 40 * count
    ),
}


def numbered(count, **more):
    return [{"id": f"step-{at}", "title": "T", "prompt": "P", **more} for at in range(count)]


@pytest.mark.parametrize("crowded", CROWDED)
def test_marking_a_source_costs_in_proportion_to_it(ann, crowded):
    _row, url = made(ann)
    few, many = (
        CROWDED[crowded](500).replace("step-", "step\\u002d"),
        CROWDED[crowded](5_000).replace("step-", "step\\u002d"),
    )
    ann.post(url, typed(few))
    with Work() as of_few:
        ann.post(url, typed(few))

    with Work() as work:
        page = text(ann.post(url, typed(many)))

    assert page.count('<li class="depth-0">') <= 2_000
    assert work.seconds <= 15 * of_few.seconds


OF_A_FOLDER = {
    "workflow.yaml": b"id: team.ends\r\nversion: 1.0.0\r\ntitle: Ends\r\ninitialActivity: a\r\n",
    "activities/01-a.yaml": b"\xef\xbb\xbfid: a\nversion: 1.0.0\nname: A\nsteps:\n  - {id: s, name: S}",
    "resources/old.md": b"# Old\rends\r",
    "resources/mixed.md": b"\n\n# Mixed\r\nends\n\r\n",
    "resources/blanks.md": b"# Blanks \t\n  \n\n",
    "templates/latin.txt": b"caf\xe9\n",
    "templates/logo.png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff",
    "templates/controls.txt": b"a\x0cb\x1bc\x7f\n",
}


@pytest.fixture
def ends(house):
    """A folder as others write them."""
    from teams_app.engine.actors import Door, system_actor
    from tests.workflow_cast import NOW
    from workflows_app.models import Workflow
    from workflows_app.services import importing

    actor = system_actor(team_id=house.team.id, door=Door.CLI)
    options = importing.ImportOptions()
    importing.import_files(actor=actor, files=OF_A_FOLDER, options=options, now=NOW)
    return Workflow.objects.get(workflow_id="team.ends")


class Page:
    """The form of the editor, as a browser has it: what it shows it sends with ends of lines of its own."""

    def __init__(self, browser, url):
        self.browser, self.url = browser, url
        self._take(text(browser.get(url)))

    def _take(self, page):
        self.hidden = {
            name: html.unescape(value)
            for name, value in re.findall(r'<input type="hidden" name="(base|path|changed)" value="([^"]*)"', page)
        }
        self.is_readonly = re.search(r'<textarea name="text"[^>]* readonly', page) is not None
        shown = re.search(r'<textarea name="text"[^>]*>\n?(.*?)</textarea>', page, re.DOTALL)[1]
        plain = html.unescape(shown).replace("\x00", "\ufffd").replace("\r\n", "\n").replace("\r", "\n")
        self.text = plain

    def do(self, what, url=None):
        form = {**self.hidden, "text": self.text.replace("\n", "\r\n"), "message": "", "do": what}
        answer = self.browser.post(url or self.url, form)
        if answer.status_code in {200, 400}:
            self._take(text(answer))
        return answer


def test_files_that_were_only_looked_at_stay_as_they_are(ann, ends):
    from workflows_app.selectors.sources import files_of

    page = Page(ann, f"{ROOT}{ends.pk}/edit/")
    for path in [*OF_A_FOLDER, *reversed(OF_A_FOLDER)]:
        assert page.do(f"open:{path}").status_code == 200
        assert page.hidden["path"] == path
        assert page.hidden["changed"] in {"", "{}"}
        assert page.is_readonly == (path in {"templates/latin.txt", "templates/logo.png", "templates/controls.txt"})
    page.do("open:workflow.yaml")
    page.text = page.text.replace("Ends", "Other ends")
    page.do("open:templates/logo.png")

    saved = page.do("save", url=f"{ROOT}{ends.pk}/save/")

    assert saved.status_code == 302, text(saved)
    revision = ends.revisions.order_by("-number").first()
    assert revision.number == 2
    changed = OF_A_FOLDER["workflow.yaml"].replace(b"Ends", b"Other ends")
    assert files_of(revision.pk) == {**OF_A_FOLDER, "workflow.yaml": changed}


@pytest.mark.parametrize("told", ["", "[]", '["a.md", "a.md"]'])
def test_of_two_uploads_with_one_name_none_is_lost_in_silence(ann, told):
    from django.core.files.uploadedfile import SimpleUploadedFile

    from workflows_app.models import Workflow

    names = ("workflow.yaml", "01-a.yaml", "01-a.yaml") if not told.startswith('["') else ("a.md", "b.md")
    uploads = [SimpleUploadedFile(name, b"id: team.ends\n") for name in names]

    refused = text(ann.post(f"{ROOT}import/", {"uploads": uploads, "paths": told}))

    assert "Two of the files are called" in refused
    assert "as a zip" in refused
    assert not Workflow.objects.exists()


def sent_to(row, **form):
    return {"edit": f"{ROOT}{row.pk}/edit/", "save": f"{ROOT}{row.pk}/save/"}, {**typed(good(name="Mine")), **form}


UNREAD = {
    "a NUL in the source": ({"text": good(name="Mine").replace("Mine", "Mine\x00")}, "line 1", "U+0000"),
    "another control character": (
        {"text": "\n" + good(name="Mine").replace("Mine", "\x1b[1mMine")},
        "line 2",
        "U+001B",
    ),
    "a NUL in the note": ({"message": "a\x00b"}, "note", "U+0000"),
    "a long note": ({"message": "n" * 501}, "note", "500"),
    "no path": ({"path": ""}, "name of the file", "open now"),
    "a long path": ({"path": "p" * 401}, "name of the file", "400"),
    "a NUL in the path": ({"path": "a\x00b"}, "name of the file", "U+0000"),
    "a long name for a new file": ({"do": "add", "new_path": "p" * 401}, "name of the file", "400"),
    "a NUL in the name of a new file": ({"do": "add", "new_path": "a\x00b"}, "name of the file", "U+0000"),
    "no number": ({"base": "x"}, "revision", "latest"),
    "less than one": ({"base": "-1"}, "revision", "latest"),
    "nought": ({"base": "0"}, "revision", "latest"),
    "no base": ({"base": ""}, "revision", "latest"),
    "more digits than are read": ({"base": "9" * 5_000}, "revision", "latest"),
    "a revision that is not there": ({"base": "999"}, "revision", "latest"),
}

ODD_PATHS = {
    "a backslash": "a\\b.md",
    "an empty segment": "a//b",
    "absolute": "/abs.json",
    "out of the folder": "../x",
    "nothing but dots": "..",
    "a dot": ".",
    "below a file": "workflow.json/x",
    "a drive": "c:x.md",
    "a long segment": "n" * 300,
}


@pytest.mark.parametrize("field", ["new_path", "path", "changed"])
@pytest.mark.parametrize("path", ODD_PATHS.values(), ids=ODD_PATHS)
def test_a_name_that_no_file_may_have_is_refused_and_what_was_typed_is_kept(ann, path, field):
    row, _ = made(ann)
    form = {"new_path": {"do": "add", "new_path": path}, "path": {"path": path}, "changed": {"changed": {path: "x"}}}
    given = {key: json.dumps(value) if isinstance(value, dict) else value for key, value in form[field].items()}
    doors, given = sent_to(row, message="Why", **given)

    for door in doors if field != "new_path" else ["edit"]:
        answer = ann.post(doors[door], given)

        page = html.unescape(text(answer))
        assert (answer.status_code, row.revisions.count()) == (400, 1)
        said = re.search(r'role="alert">(.*?)</div>', page, re.DOTALL)[1]
        assert any(word in said for word in ("The path", "is a file, not a folder", "A name is longer")), said
        assert re.search(r"<textarea name=\"text\"[^>]*>\n?(.*?)</textarea>", page, re.DOTALL)[1] == given["text"]
        assert 'name="message" value="Why"' in page


def test_a_name_that_was_refused_stands_where_it_was_typed_and_no_file_is_made(ann):
    row, _ = made(ann, format="activity_folder")
    doors, given = sent_to(row, do="add", new_path="a//b.md", path="workflow.yaml")

    page = html.unescape(text(ann.post(doors["edit"], given)))

    assert 'name="path" value="workflow.yaml"' in page
    assert re.search(r'name="new_path"[^>]* value="a//b.md"', page)
    assert json.loads(re.search(r'name="changed" value="(.*?)"', page)[1]) == {}

    added = html.unescape(text(ann.post(doors["edit"], {**given, "new_path": "./notes.md"})))

    assert 'name="path" value="notes.md"' in added
    assert not re.search(r'name="new_path"[^>]* value="[^"]', added)


@pytest.mark.parametrize("door", ["edit", "save"])
@pytest.mark.parametrize(("form", "what", "told"), UNREAD.values(), ids=UNREAD)
def test_what_a_form_cannot_say_is_named_and_what_was_typed_is_kept(ann, form, what, told, door):
    row, _ = made(ann)
    doors, given = sent_to(row, **{"message": "Why", **form})

    answer = ann.post(doors[door], given)

    page = html.unescape(text(answer))
    said = re.search(r'role="alert">(.*?)</div>', page, re.DOTALL)[1]
    assert (answer.status_code, row.revisions.count()) == (400, 1)
    assert what in said
    assert told in said
    box = re.search(r"<textarea name=\"text\"[^>]*>\n?(.*?)</textarea>", page, re.DOTALL)
    assert "readonly" not in box[0]
    assert box[1] == re.sub("[\x00\x1b]", "\ufffd", given["text"])
    assert f'name="message" value="{given["message"].replace(chr(0), chr(0xFFFD))}"' in page


@pytest.mark.parametrize("form", [each[0] for each in UNREAD.values()], ids=UNREAD)
def test_what_was_kept_of_a_form_that_was_refused_can_be_saved(ann, form):
    row, _ = made(ann)
    doors, given = sent_to(row, **form)
    page = Page(ann, doors["edit"])
    page._take(text(ann.post(doors["save"], given)))

    assert page.do("save", url=doors["save"]).status_code == 302
    assert row.revisions.count() == 2


def test_of_a_form_that_was_refused_the_other_files_are_kept_too(ann, ends):
    page = Page(ann, f"{ROOT}{ends.pk}/edit/")
    page.text = page.text.replace("Ends", "Mine")
    page.do("open:resources/blanks.md")
    page.hidden["path"] = ""
    page.text = "# Typed"
    page.hidden["changed"] = json.dumps({**json.loads(page.hidden["changed"]), "templates/latin.txt": None})

    assert page.do("save", url=f"{ROOT}{ends.pk}/save/").status_code == 400

    carried = json.loads(page.hidden["changed"])
    assert "title: Mine" in carried["workflow.yaml"]
    assert carried["templates/latin.txt"] is None
    assert page.hidden["path"] not in OF_A_FOLDER
    assert page.text.strip() == "# Typed"
    assert ends.revisions.count() == 1
