"""The Studio's pages of workflows: what a person sees there, and what a click does."""

import pytest

from tests.flood_play import Work, allowed
from tests.workflow_cast import FOLDER, NOW, create, document, make_cast, publish, source_of
from workflows_app.engine.source import Source, SourceFormat
from workflows_app.services import workflows

pytestmark = pytest.mark.django_db

ROOT = "/studio/workflows_app"


@pytest.fixture
def cast():
    return make_cast()


@pytest.fixture
def sign_in(client):
    """Signs somebody of the cast in to the Studio."""
    from tests.run_doors import enrol

    def enter(actor):
        client.force_login(enrol(actor))
        return client

    return enter


def row_of(workflow_id="team.review"):
    from workflows_app.models import Workflow

    return Workflow.objects.get(workflow_id=workflow_id)


def shown(response):
    assert response.status_code == 200
    return response.content.decode()


def test_the_list_shows_the_teams_workflows_and_the_bundled_ones(cast, sign_in, tmp_path):
    import json

    from teams_app.engine.actors import NO_TEAM, Door, system_actor
    from workflows_app.services.bundled import load_bundled

    (tmp_path / "steps").mkdir()
    (tmp_path / "steps/a.json").write_text(json.dumps(document("wr.bundled")))
    load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=NOW, root=tmp_path)
    create(cast.bob)
    create(cast.charlie, "own.secret")

    page = shown(sign_in(cast.viewer).get(f"{ROOT}/workflow/"))

    assert "team.review" in page
    assert "wr.bundled" in page
    assert "own.secret" not in page


def test_a_list_costs_the_same_however_long_it_is(cast, sign_in):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    client = sign_in(cast.viewer)
    costs = []
    for number in range(6):
        create(cast.bob, f"team.w{number}")
        publish(cast.bob, f"team.w{number}")
        with CaptureQueriesContext(connection) as captured:
            shown(client.get(f"{ROOT}/workflow/"))
        costs.append(len(captured))

    assert len(set(costs)) == 1


def test_a_broken_workflow_says_so_in_the_list_and_on_its_page(cast, sign_in):
    create(cast.bob, steps=[])
    client = sign_in(cast.viewer)

    assert "1 error" in shown(client.get(f"{ROOT}/workflow/"))
    assert "does not compile" in shown(client.get(f"{ROOT}/workflow/{row_of().pk}/change/"))
    assert "steps" in shown(client.get(f"{ROOT}/workflow/{row_of().pk}/change/?tab=source"))


def test_pages_show_the_outline_and_the_source_as_text(cast, sign_in):
    create(cast.bob, name="<script>alert(1)</script>")
    client = sign_in(cast.viewer)
    page = f"{ROOT}/workflow/{row_of().pk}/change/"
    pages = [shown(client.get(f"{page}?tab={tab}")) for tab in ("steps", "source", "revisions")]

    assert "Read the change" in pages[0]
    assert "Read every line of the change." in pages[1]
    assert all("<script>alert" not in page for page in pages)


LENGTHY = {
    "many lines": {f"resources/{at:02}-a.md": b"x\n" * 2_000 for at in range(20)},
    "long lines": {f"resources/{at:02}-a.md": b"x" * 200_000 for at in range(20)},
    "many pieces": {f"resources/{at:02}-a.json": b'{"l": [' + b"1," * 20_000 + b"1]}" for at in range(4)},
}


@pytest.mark.parametrize("lengthy", LENGTHY)
def test_a_source_is_shown_as_far_as_a_page_goes_and_the_page_says_so(cast, sign_in, lengthy):
    files = FOLDER | LENGTHY[lengthy]
    source = Source(format=SourceFormat.ACTIVITY_FOLDER, files=files)
    workflows.create_workflow(actor=cast.bob, source=source, message="", now=NOW)
    client, page = sign_in(cast.viewer), f"{ROOT}/workflow/{row_of('team.folder').pk}/change/?tab=source"
    client.get(page)

    with Work() as work:
        said = shown(client.get(page))

    assert len(said) <= 4_000_000
    assert said.count('<span class="src">') <= 10_000
    assert said.count('class="t-') <= 50_000
    assert all(path in said for path in files)
    assert ("is too long for this page" in said) is (lengthy != "many pieces")
    assert work.seconds <= allowed(plain=0.1, size=0)


@pytest.mark.parametrize("page", ["workflow", "revision"])
def test_another_teams_row_is_not_found(cast, sign_in, page):
    create(cast.bob)
    pk = row_of().pk if page == "workflow" else row_of().revisions.get().pk
    client = sign_in(cast.charlie)

    assert client.get(f"{ROOT}/{page}/{pk}/publish/").status_code == 404
    assert client.get(f"{ROOT}/{page}/{pk}/change/").status_code in {302, 404}


def test_publishing_asks_with_the_difference_and_acts_only_on_post(cast, sign_in):
    from workflows_app.services import workflows

    create(cast.bob)
    publish(cast.bob)
    workflows.revise_workflow(
        actor=cast.bob,
        workflow_id="team.review",
        source=source_of(document(name="Other")),
        base_revision=1,
        message="",
        now=NOW,
    )
    client = sign_in(cast.bob)
    url = f"{ROOT}/workflow/{row_of().pk}/publish/"

    page = shown(client.get(url))
    assert '<tr class="add">' in page
    assert '<span class="ins">Other</span>' in page
    assert row_of().published.number == 1

    done = client.post(url, {"workflow": "team.review", "revision": 2, "base": 1})
    assert done.status_code == 302
    assert row_of().published.number == 2


def test_a_revision_with_errors_is_said_to_have_no_program_and_not_to_have_lost_all(cast, sign_in):
    from workflows_app.services import workflows

    create(cast.bob)
    publish(cast.bob)
    broken = {**document(), "steps": [{"id": "Not an id"}]}
    workflows.revise_workflow(
        actor=cast.bob, workflow_id="team.review", source=source_of(broken), base_revision=1, message="", now=NOW
    )

    page = shown(sign_in(cast.bob).get(f"{ROOT}/workflow/{row_of().pk}/compare/?base=1&revision=2"))

    assert "r2 has no program, for errors stand in it." in page
    assert "is gone" not in page
    assert '<tr class="add">' in page


def test_what_was_compared_must_still_be_published(cast, sign_in):
    create(cast.bob)
    publish(cast.bob)
    client = sign_in(cast.bob)

    refused = client.post(
        f"{ROOT}/workflow/{row_of().pk}/publish/", {"workflow": "team.review", "revision": 1, "base": 0}
    )

    assert refused.status_code == 400
    assert "is published now" in refused.content.decode()


def test_a_single_revision_is_published_from_its_own_page(cast, sign_in):
    create(cast.bob)
    client = sign_in(cast.bob)
    url = f"{ROOT}/revision/{row_of().revisions.get().pk}/publish/"

    assert "is the first that runs" in shown(client.get(url))
    client.post(url, {"workflow": "team.review", "revision": 1, "base": 0})
    assert row_of().published.number == 1


def test_retiring_and_forking_are_acts(cast, sign_in):
    create(cast.bob)
    publish(cast.bob)
    client = sign_in(cast.bob)

    client.post(f"{ROOT}/workflow/{row_of().pk}/fork/", {"workflow": "team.review", "new_id": "own.copy"})
    client.post(f"{ROOT}/workflow/{row_of().pk}/retire/", {"workflow": "team.review"})

    assert row_of("own.copy").forked_from == "team.review@1"
    assert row_of().state == "retired"


@pytest.mark.parametrize("act", ["publish", "retire", "fork"])
def test_a_viewer_acts_on_nothing(cast, sign_in, act):
    create(cast.bob)
    client = sign_in(cast.viewer)
    url = f"{ROOT}/workflow/{row_of().pk}/{act}/"

    assert client.get(url).status_code == 403
    assert client.post(url, {"workflow": "team.review", "revision": 1, "base": 0}).status_code == 403
    assert row_of().state == "draft"


def test_skills_are_shown_to_the_teams_whose_programs_attach_them(cast, sign_in):
    from workflows_app.services import importing

    importing.import_files(actor=cast.bob, files=FOLDER, options=importing.ImportOptions(), now=NOW)
    ours = shown(sign_in(cast.viewer).get(f"{ROOT}/skill/"))
    theirs = shown(sign_in(cast.charlie).get(f"{ROOT}/skill/"))

    assert "planning" in ours
    assert "planning" not in theirs


@pytest.mark.parametrize("page", ["alias", "teamcontract", "binding", "resource", "template"])
def test_every_list_opens(cast, sign_in, page):
    shown(sign_in(cast.viewer).get(f"{ROOT}/{page}/"))


@pytest.mark.parametrize(
    ("lines", "line"),
    [(10, "x"), (2_990, "x"), (4_000, "A line of a long guide."), (40_000, "x"), (9, "-- a/x\n++ b/y\f\u2028-- z")],
)
def test_each_file_that_changes_is_named_however_much_changes_in_another(lines, line):
    """Whoever publishes looks at what changes: nothing is to be hidden behind a long file."""
    from workflows_app.admin.differences import shown_difference
    from workflows_app.engine.diffs import diff_files
    from workflows_app.engine.values import WorkflowDiff

    before = {"a.md": b"", "b.md": f"{line}\n".encode() * lines, "c.md": b"old\n", "d.md": b"old\n", "e.md": b"\xff"}
    after = {"a.md": f"{line}\n".encode() * lines, "b.md": b"", "c.md": b"new\n", "d.md": b"", "e.md": b"\xfe"}
    told = shown_difference(
        WorkflowDiff(
            **{**dict.fromkeys(WorkflowDiff.__dataclass_fields__, ()), "files": diff_files(before=before, after=after)}
        )
    )

    diff = told["source_diff"]
    shown = {file.path: file for file in diff.files}
    assert sorted([*shown, *told["untold"]]) == ["a.md", "b.md", "c.md", "d.md", "e.md"]
    whole = len(after["a.md"].decode().splitlines())
    for path, count in (("a.md", whole), ("b.md", 0), ("c.md", 1), ("d.md", 0)):
        assert path not in shown or shown[path].added == count or (shown[path].is_cut and shown[path].added < count)
    assert diff.is_cut is any(file.is_cut for file in diff.files)


def test_a_file_begins_where_a_whole_head_stands_whatever_the_hunk_before_says():
    from teams_app.admin.diffs import read_diff

    lying = "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d\n"
    honest = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n--- gone\n+++ come\n@@ -9 +9 @@\n-c\n+d\n"

    assert [(file.path, file.added, file.removed) for file in read_diff(lying).files] == [("x", 1, 1), ("y", 1, 1)]
    assert [(file.path, file.added, file.removed) for file in read_diff(honest).files] == [("x", 3, 3)]
