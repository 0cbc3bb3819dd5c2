"""Lists, details, differences and the caches of programs: what is found, in which order, at what cost."""

import threading
from uuid import uuid4

import pytest

from tests.database_watch import round_trips, rows_and_pages_read
from tests.workflow_cast import FOLDER, NOW, create, document, make_cast, publish, source_of
from workflows_app.engine.source import Source, SourceFormat

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast():
    return make_cast()


@pytest.fixture
def count(django_assert_num_queries):
    return django_assert_num_queries


def listed(actor, limit=50, after=None, **filters):
    from teams_app.engine.pages import PageRequest
    from workflows_app.selectors.workflows import WorkflowFilters, list_workflows

    page = PageRequest(limit=limit, after=after)
    return list_workflows(actor=actor, filters=WorkflowFilters(**filters), page=page)


def ids(page):
    return [item.workflow_id for item in page.items]


def load_bundled(tmp_path, *documents):
    import json

    from teams_app.engine.actors import NO_TEAM, Door, system_actor
    from workflows_app.services import bundled

    (tmp_path / "steps").mkdir()
    for value in documents:
        (tmp_path / f"steps/{value['id']}.json").write_text(json.dumps(value))
    bundled.load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=NOW, root=tmp_path)


def test_the_order_is_namespace_then_workflows_then_routines_then_id(cast, tmp_path):
    load_bundled(tmp_path, document("wr.zebra"), document("wr.routine-a"), document("meta"))
    for workflow_id in ("b.two", "b-c.one", "b.one", "b.routine-a", "a_b.x", "b.z-last"):
        create(cast.bob, workflow_id)

    order = ["meta", "a_b.x", "b.one", "b.two", "b.z-last", "b.routine-a", "b-c.one", "wr.zebra", "wr.routine-a"]
    assert ids(listed(cast.viewer)) == order


def test_pages_cut_the_list_and_lose_nothing(cast):
    created = [f"team.w{number}" for number in range(7)]
    for workflow_id in created:
        create(cast.bob, workflow_id)

    found, after = [], None
    while True:
        page = listed(cast.viewer, limit=3, after=after)
        found += ids(page)
        after = page.next_position
        if after is None:
            break
    assert found == created


def test_a_list_is_one_query(cast, count):
    for number in range(5):
        create(cast.bob, f"team.w{number}")
        publish(cast.bob, f"team.w{number}")

    with count(1):
        assert len(listed(cast.viewer, text="review").items) == 5


def test_a_list_holds_nothing_of_another_team(cast):
    create(cast.charlie, "own.secret")

    assert ids(listed(cast.bob)) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("invoices", ["team.billing"]),
        ("INVOICE", ["team.billing"]),
        ("reminderz", ["team.billing"]),
        ("team.bill", ["team.billing"]),
        ("late payers", ["team.billing"]),
        ("payers late", ["team.billing"]),
        ("change", ["team.review"]),
        ("zeppelin", []),
        ("%", []),
        ("   ", ["team.billing", "team.review"]),
    ],
)
def test_the_search_finds_words_their_forms_parts_and_near_misses(cast, text, found):
    create(cast.bob)
    create(
        cast.bob,
        "team.billing",
        name="Chase invoices",
        description="Writes reminders to late payers, kindly first, and says what is owed.",
    )

    assert ids(listed(cast.viewer, text=text)) == found


@pytest.mark.parametrize("text", ["x" * 201, "nul \x00"])
def test_a_search_text_that_cannot_be_searched_is_refused(cast, text):
    from teams_app.engine.errors import InvalidInputError

    with pytest.raises(InvalidInputError):
        listed(cast.viewer, text=text)


def test_filters_narrow_the_list(cast):
    from workflows_app.engine.program import WorkflowKind
    from workflows_app.engine.values import WorkflowState

    create(cast.bob, "team.one")
    create(cast.bob, "team.routine-two")
    publish(cast.bob, "team.one")

    assert ids(listed(cast.viewer, kind=WorkflowKind.ROUTINE)) == ["team.routine-two"]
    assert ids(listed(cast.viewer, state=WorkflowState.PUBLISHED)) == ["team.one"]
    assert ids(listed(cast.viewer, tags=("nothing",))) == []


def test_tags_of_a_folder_are_searched(cast):
    from tests.workflow_cast import FOLDER
    from workflows_app.services import importing

    tagged = FOLDER | {"workflow.toon": FOLDER["workflow.toon"] + b"tags[2]:\n  - planning\n  - small\n"}
    importing.import_files(actor=cast.bob, files=tagged, options=importing.ImportOptions(), now=NOW)

    assert ids(listed(cast.viewer, tags=("small", "planning"))) == ["team.folder"]
    assert ids(listed(cast.viewer, tags=("small", "large"))) == []


def test_details_come_with_what_is_asked_for(cast):
    from workflows_app.engine.values import Include
    from workflows_app.selectors.details import read_workflow

    create(cast.bob)
    bare = read_workflow(actor=cast.viewer, workflow_id="team.review")
    full = read_workflow(actor=cast.viewer, workflow_id="team.review", include=frozenset(Include))

    assert (bare.source, bare.program, bare.history) == (None, None, ())
    assert list(full.source.files) == ["workflow.json"]
    assert full.program.id == "team.review"
    assert [revision.number for revision in full.history] == [1]


@pytest.mark.parametrize("workflow_id", ["team.nothing", "", "x" * 5_000, "nul\x00", "../etc", "ünicode"])
def test_what_does_not_exist_is_not_found(cast, workflow_id):
    from teams_app.engine.errors import NotFoundError
    from workflows_app.selectors.details import read_workflow

    with pytest.raises(NotFoundError):
        read_workflow(actor=cast.viewer, workflow_id=workflow_id)


def test_a_misspelt_id_is_answered_with_the_one_that_was_meant(cast):
    from teams_app.engine.errors import NotFoundError
    from workflows_app.selectors.details import read_workflow

    create(cast.bob)

    with pytest.raises(NotFoundError) as refusal:
        read_workflow(actor=cast.viewer, workflow_id="team.reveiw")
    assert refusal.value.suggestion == "Did you mean 'team.review'?"


@pytest.mark.parametrize("number", [0, 2, -1, 2**40])
def test_a_revision_that_does_not_exist_is_not_found(cast, number):
    from teams_app.engine.errors import NotFoundError
    from workflows_app.selectors.sources import read_source

    create(cast.bob)

    with pytest.raises(NotFoundError, match="no revision"):
        read_source(actor=cast.viewer, workflow_id="team.review", number=number)


def test_a_key_that_may_not_read_reads_nothing(cast):
    from dataclasses import replace

    from teams_app.engine.actors import Scope
    from teams_app.engine.errors import ForbiddenError

    with pytest.raises(ForbiddenError):
        listed(replace(cast.reader, scopes=frozenset({Scope.RUNS_READ})))


def test_a_program_is_loaded_once_and_then_costs_no_query_and_no_parse(cast, count):
    from workflows_app.selectors import programs

    saved = create(cast.bob)
    programs.clear_caches()
    with count(1):
        first = programs.load_program(saved.revision.workflow_hash)
    with count(0):
        second = programs.load_program(saved.revision.workflow_hash)

    assert second is first
    info = programs.program_cache_info()
    assert (info.hits, info.misses, info.entries) == (1, 1, 1)


def test_a_program_that_is_not_there_is_not_found(cast):
    from teams_app.engine.errors import NotFoundError
    from workflows_app.engine.source import ContentKind
    from workflows_app.selectors.programs import load_content, load_program

    with pytest.raises(NotFoundError):
        load_program("sha256:" + "0" * 64)
    with pytest.raises(NotFoundError):
        load_content("sha256:" + "0" * 64, ContentKind.SKILL)


def test_what_a_program_attaches_is_loaded_by_its_digest(cast, count):
    from tests.workflow_cast import FOLDER
    from workflows_app.engine.source import ContentKind
    from workflows_app.selectors import programs
    from workflows_app.services import importing

    options = importing.ImportOptions()
    (saved,) = importing.import_files(actor=cast.bob, files=FOLDER, options=options, now=NOW).workflows
    program = programs.load_program(saved.revision.workflow_hash)
    (skill,) = program.skills
    programs.clear_caches()
    with count(1):
        first = programs.load_content(skill.digest, ContentKind.SKILL)
    with count(0):
        assert programs.load_content(skill.digest, ContentKind.SKILL) is first
    assert first.text.encode() == FOLDER["skills/00-planning.toon"]
    assert list(first.document) == ["id", "version", "capability"]


def test_starting_costs_one_round_trip_and_no_parse(cast):
    from workflows_app.selectors.programs import load_program
    from workflows_app.selectors.workflows import find_published

    saved = create(cast.bob)
    publish(cast.bob)
    load_program(saved.revision.workflow_hash)

    _, trips = round_trips(
        lambda: load_program(find_published(actor=cast.agent, workflow_id="team.review").workflow_hash)
    )

    assert trips == 1


@pytest.mark.django_db(transaction=True)
def test_what_is_published_is_found_by_few_rows_in_a_large_library(cast):
    from django.db import connection

    from workflows_app.models import Workflow
    from workflows_app.selectors.workflows import find_published

    create(cast.bob)
    publish(cast.bob)
    few, (rows_of_few, _) = rows_and_pages_read(lambda: find_published(actor=cast.agent, workflow_id="team.review"))
    row = Workflow.objects.get(workflow_id="team.review")
    for number in range(500):
        row.pk, row.workflow_id, row.published = uuid4(), f"team.other-{number}", None
        row.state = "draft"
        row.save(force_insert=True)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE workflows_app_workflow")
    many, (rows_of_many, _) = rows_and_pages_read(lambda: find_published(actor=cast.agent, workflow_id="team.review"))

    assert many == few
    assert rows_of_many <= rows_of_few + 5


def test_the_cache_keeps_what_was_used_last_within_its_bytes():
    from workflows_app.selectors.cache import ByteBoundedCache

    cache = ByteBoundedCache(max_bytes=100)
    for key in "abc":
        cache.put(key, key.upper(), size_bytes=40)
    cache.put("huge", "X", size_bytes=101)

    assert [cache.get(key) for key in ("a", "b", "c", "huge")] == [None, "B", "C", None]
    cache.get("b")
    cache.put("d", "D", size_bytes=40)
    assert (cache.get("c"), cache.get("b"), cache.info().size_bytes) == (None, "B", 80)


def test_the_cache_counts_right_under_many_threads():
    from workflows_app.selectors.cache import ByteBoundedCache

    cache = ByteBoundedCache(max_bytes=1_000)

    def work(offset):
        for step in range(2_000):
            key = (offset * 7 + step) % 40
            if cache.get(key) is None:
                cache.put(key, key, size_bytes=50)

    threads = [threading.Thread(target=work, args=(offset,)) for offset in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    info = cache.info()
    assert info.hits + info.misses == 16_000
    assert (info.size_bytes, info.entries) == (50 * info.entries, 20)


def difference(cast, *steps):
    """Of the first revision and one with these steps."""
    from workflows_app.selectors.sources import diff_revisions

    create(cast.bob)
    revise(cast, 1, steps=list(steps))
    return diff_revisions(actor=cast.viewer, workflow_id="team.review", number=2, base=1)


def revise(cast, base, *, message="", **fields):
    from workflows_app.services import workflows

    workflows.revise_workflow(
        actor=cast.bob,
        workflow_id="team.review",
        source=source_of(document(**fields)),
        base_revision=base,
        message=message,
        now=NOW,
    )


ASK_FIRST = {"id": "ask-first", "title": "Ask", "prompt": "Ask what it is for."}


def test_a_difference_names_the_places_of_the_program(cast):
    from workflows_app.engine.values import Change

    first, second, *_ = document()["steps"]
    diff = difference(cast, ASK_FIRST, second, first | {"prompt": "Read it twice."})

    places = {item.path.split(".body", 1)[1]: item.change for item in diff.program if ".body" in item.path}
    assert places == {
        "[ask-first]": Change.ADDED,
        "[read-change].prompt": Change.CHANGED,
        " (order)": Change.CHANGED,
    }
    assert "+++ b/workflow.json" in diff.files[0].text


def test_the_first_revision_differs_from_nothing(cast):
    from workflows_app.engine.values import Change
    from workflows_app.selectors.sources import diff_revisions

    create(cast.bob)
    diff = diff_revisions(actor=cast.viewer, workflow_id="team.review", number=1, base=None)

    assert [(item.path, item.change) for item in diff.files] == [("workflow.json", Change.ADDED)]
    assert {item.change for item in diff.program} == {Change.ADDED}


def test_history_is_newest_first_and_pages(cast):
    from teams_app.engine.pages import PageRequest
    from workflows_app.selectors.workflows import list_revisions

    create(cast.bob)
    for number in range(1, 5):
        revise(cast, number, message=f"change {number}", name=f"Name {number}")
    first = list_revisions(actor=cast.viewer, workflow_id="team.review", page=PageRequest(limit=3))
    rest = list_revisions(
        actor=cast.viewer, workflow_id="team.review", page=PageRequest(limit=3, after=first.next_position)
    )

    assert [item.number for item in (*first.items, *rest.items)] == [5, 4, 3, 2, 1]
    assert (first.items[0].message, first.items[0].author_name) == ("change 4", "bob")
    assert rest.next_position is None


def test_the_database_keeps_a_program_under_its_own_digest(cast):
    from django.db import IntegrityError, transaction

    from workflows_app.models import Blob, Program

    create(cast.bob)

    with pytest.raises(IntegrityError, match="program_named_by_content"), transaction.atomic():
        Program.objects.update(data=b"{}")
    with pytest.raises(IntegrityError, match="blob_named_by_content"), transaction.atomic():
        Blob.objects.update(data=b"{}")


def test_a_published_revision_is_one_of_the_workflows_own(cast):
    from django.db import IntegrityError, connection, transaction

    from workflows_app.models import Workflow

    create(cast.bob, "team.one")
    publish(cast.bob, "team.one")
    create(cast.bob, "team.two")
    publish(cast.bob, "team.two")
    one = Workflow.objects.get(workflow_id="team.one")
    connection.cursor().execute("SET CONSTRAINTS ALL IMMEDIATE")

    with pytest.raises(IntegrityError, match="workflow_published_is_its_own"), transaction.atomic():
        Workflow.objects.filter(workflow_id="team.two").update(published=one.published)


def test_a_difference_is_told_by_titles_where_each_id_has_one(cast):
    from workflows_app.admin.words import change_in_words

    first, *others = document()["steps"]
    diff = difference(cast, *others, first | {"prompt": "Read it twice."}, ASK_FIRST)
    told = {
        (said.place, said.what): said.after for said in (change_in_words(each, diff.titles) for each in diff.program)
    }

    assert diff.titles[first["id"]] == first["title"]
    assert (first["title"], "prompt") in told or (first["title"], "the prompt") in told
    assert ("Ask", "is new") in told
    orders = [after for (_, what), after in told.items() if what == "the order"]
    assert orders == [", ".join([*(step["title"] for step in others), first["title"]])]


def test_a_rule_for_notes_is_told_with_what_it_demands(cast):
    from workflows_app.admin.words import change_in_words

    first, *others = document()["steps"]
    rule = {"type": "contains", "value": "Rollback", "message": "Say how it is rolled back."}
    diff = difference(cast, first | {"validationCriteria": [rule]}, *others)
    (said,) = [
        said
        for said in (change_in_words(each, diff.titles) for each in diff.program)
        if said.what == "what the notes must hold"
    ]

    assert said.place == first["title"]
    assert "Rollback" in said.after
    assert "{" not in said.after


@pytest.fixture
def read_files(monkeypatch):
    """Forgets what was read, and gives the ids of the workflows whose files are read from the database from then on."""
    from workflows_app.models import Revision
    from workflows_app.selectors import sources

    read, ask = [], sources._read_files

    def asked(revision_ids):
        read.extend(Revision.objects.filter(pk__in=revision_ids).values_list("workflow__workflow_id", flat=True))
        return ask(revision_ids)

    def forget():
        sources._files.clear()
        read.clear()
        return read

    monkeypatch.setattr(sources, "_read_files", asked)
    return forget


def routine_of(name):
    return document(f"team.routine-{name}", steps=[{"id": "look", "title": "Look", "prompt": "Look closely."}])


def test_compiling_steps_reads_the_routines_that_they_call(cast, read_files):
    for name in ("one", "two", "three"):
        create(cast.bob, **routine_of(name) | {"workflow_id": f"team.routine-{name}"})
        publish(cast.bob, f"team.routine-{name}")
    read = read_files()
    call = {
        "id": "called",
        "title": "Call",
        "templateCall": {"templateId": "wr.templates.routine.team.two", "args": {}},
    }

    saved = create(cast.bob, "team.caller", steps=[call])

    assert saved.workflow.error_count == 0
    assert read == ["team.routine-two"]


def test_compiling_a_folder_reads_the_folders_that_it_refers_to(cast, read_files):
    from workflows_app.services.workflows import create_workflow

    def save(workflow_id, *changes):
        files = FOLDER | {"workflow.toon": FOLDER["workflow.toon"].replace(b"team.folder", workflow_id.encode())}
        for path, old, new in changes:
            files[path] = files[path].replace(old, new)
        source = Source(format=SourceFormat.ACTIVITY_FOLDER, files=files)
        return create_workflow(actor=cast.bob, source=source, message="", now=NOW)

    for name in ("one", "two", "three"):
        save(f"team.{name}")
        publish(cast.bob, f"team.{name}")
    read = read_files()

    saved = save("team.borrower", ("activities/01-first.toon", b"primary: planning", b"primary: team.two/planning"))

    assert saved.workflow.error_count == 0
    assert read == ["team.two"]
