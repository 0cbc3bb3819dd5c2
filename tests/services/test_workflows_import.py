"""Import: an archive or a folder arrives whole, as drafts, or not at all."""

import io
import json
import tarfile
import zipfile

import pytest

from teams_app.engine.errors import PreconditionFailedError
from tests.workflow_cast import FOLDER, NOW, create, document, make_cast, publish

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast():
    return make_cast()


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return buffer.getvalue()


def tarred(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, data in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def import_archive(actor, data, filename="archive.zip", **options):
    from workflows_app.services import importing

    return importing.import_archive(
        actor=actor, data=data, filename=filename, options=importing.ImportOptions(**options), now=NOW
    )


def import_files(actor, files, **options):
    from workflows_app.services import importing

    return importing.import_files(actor=actor, files=files, options=importing.ImportOptions(**options), now=NOW)


def as_json(value):
    return json.dumps(value).encode()


def counted():
    from workflows_app.models import Alias, Blob, Program, Workflow

    return [model.objects.count() for model in (Workflow, Program, Blob, Alias)]


@pytest.mark.parametrize(("pack", "filename"), [(zipped, "a.zip"), (tarred, "a.tar.gz")])
@pytest.mark.parametrize("folder", ["", "small/", "deep/er/small/"])
def test_a_folder_arrives_from_an_archive_byte_for_byte(cast, pack, filename, folder):
    from workflows_app.engine.values import WorkflowState
    from workflows_app.selectors.sources import read_source

    data = pack({f"{folder}{path}": content for path, content in FOLDER.items()})
    (saved,) = import_archive(cast.agent, data, filename).workflows

    assert (saved.workflow.workflow_id, saved.workflow.state) == ("team.folder", WorkflowState.DRAFT)
    assert saved.revision.workflow_hash is not None
    assert read_source(actor=cast.bob, workflow_id="team.folder").files == FOLDER


def test_an_agent_imports_and_cannot_publish(cast):
    from teams_app.engine.errors import ForbiddenError

    import_files(cast.agent, {"review.json": as_json(document())})

    with pytest.raises(ForbiddenError):
        publish(cast.agent)


def test_several_workflows_arrive_together_and_see_each_other(cast):
    files = {f"folders/small/{path}": data for path, data in FOLDER.items()} | {
        "steps/review.json": as_json(document()),
        "README.md": b"what this is",
    }

    done = import_files(cast.bob, files)

    assert sorted(saved.workflow.workflow_id for saved in done.workflows) == ["team.folder", "team.review"]
    assert done.ignored == ("README.md",)


def test_files_that_nobody_reads_are_named_by_an_import(cast):
    folder = {f"plan/{path}": data for path, data in FOLDER.items()}
    strays = {"plan/notes.txt": b"x", "plan/docs/why.md": b"x", "plan/activities/extra.txt": b"x", "loose.txt": b"x"}

    done = import_files(cast.bob, {**folder, **strays})

    assert done.read_by_nobody == tuple(sorted(strays))
    (saved,) = done.workflows
    told = [problem.file for problem in saved.revision.problems if problem.code == "unknown_file"]
    assert [f"plan/{file}" for file in told] == sorted(strays.keys() - {"loose.txt"})


def test_importing_again_adds_a_revision_only_when_something_changed(cast):
    import_files(cast.bob, {"review.json": as_json(document())})
    (same,) = import_files(cast.bob, {"review.json": as_json(document())}).workflows
    (changed,) = import_files(cast.bob, {"review.json": as_json(document(name="Other"))}).workflows

    assert (same.created, same.revision.number) == (False, 1)
    assert (changed.created, changed.revision.number) == (True, 2)


def test_importing_over_a_published_workflow_does_not_change_what_runs(cast):
    from workflows_app.selectors.workflows import find_published

    create(cast.bob)
    publish(cast.bob)
    import_files(cast.agent, {"review.json": as_json(document(name="Other"))})

    assert find_published(actor=cast.bob, workflow_id="team.review").number == 1


@pytest.mark.parametrize(
    ("origin", "suggested"), [("team", "team.review"), ("project", "project.review"), ("remote", "repo.review")]
)
def test_a_legacy_id_is_refused_with_the_rename_that_the_option_makes(cast, origin, suggested):
    from teams_app.engine.errors import InvalidInputError
    from workflows_app.engine.source import Origin

    with pytest.raises(InvalidInputError) as refusal:
        import_files(cast.bob, {"review.json": as_json(document("review"))}, origin=Origin(origin))

    assert refusal.value.details["suggestedId"] == suggested
    assert "rename=true" in refusal.value.suggestion
    assert counted() == [0, 0, 0, 0]


def test_renaming_keeps_the_rest_of_the_source_and_the_old_name_as_an_alias(cast):
    from workflows_app.selectors.sources import read_source
    from workflows_app.selectors.workflows import find_published

    data = b'{ "steps": [{"id": "only-step", "title": "A step", "prompt": "Do \\u0069t."}],\n\t"id" : "review",'
    data += b'"name":"Review","version":"1.0.0","description":"Reads a change."}'
    (saved,) = import_files(cast.bob, {"review.json": data}, rename=True).workflows
    publish(cast.bob)

    assert (saved.renamed_from, saved.alias) == ("review", "review")
    kept = read_source(actor=cast.bob, workflow_id="review").files["review.json"]
    assert kept == data.replace(b'"review"', b'"team.review"')
    found = find_published(actor=cast.bob, workflow_id="review")
    assert (found.workflow_id, [problem.code for problem in found.warnings]) == ("team.review", ["legacy_id"])


def test_renaming_a_folder_changes_one_line(cast):
    from workflows_app.selectors.sources import read_source

    legacy = FOLDER | {"workflow.toon": FOLDER["workflow.toon"].replace(b"id: team.folder", b"id: folder")}
    (saved,) = import_files(cast.bob, legacy, rename=True).workflows

    assert (saved.workflow.workflow_id, saved.alias) == ("team.folder", "folder")
    assert read_source(actor=cast.bob, workflow_id="team.folder").files == FOLDER


@pytest.mark.parametrize("spelt", [b'"id": folder', b"id:\n  folder", b'id: "f\\u006flder"', b"id: first\nid: folder"])
def test_a_folder_is_renamed_however_its_id_is_spelt(cast, spelt):
    from workflows_app.engine.source import Strictness

    about = FOLDER["workflow.toon"].replace(b"id: team.folder", spelt)
    files = {path: data for path, data in FOLDER.items() if path != "workflow.toon"} | {"workflow.yaml": about}
    (saved,) = import_files(cast.bob, files, rename=True, strictness=Strictness.LEGACY).workflows

    assert (saved.workflow.workflow_id, saved.alias, saved.workflow.error_count) == ("team.folder", "folder", 0)


def test_an_id_that_cannot_be_renamed_is_to_be_written_otherwise(cast):
    from teams_app.engine.errors import InvalidInputError

    about = FOLDER["workflow.toon"].replace(b"id: team.folder", b"? id\n: folder")
    files = {path: data for path, data in FOLDER.items() if path != "workflow.toon"} | {"workflow.yaml": about}

    with pytest.raises(InvalidInputError) as refusal:
        import_files(cast.bob, files, rename=True)

    assert "`id: name`" in refusal.value.suggestion
    assert "rename=true" not in refusal.value.suggestion


def test_a_workflow_of_the_first_schema_stays_strict_when_it_is_renamed(cast):
    from workflows_app.engine.program import ConditionMode
    from workflows_app.selectors.programs import load_program

    (saved,) = import_files(cast.bob, {"review.json": as_json(document("review"))}, rename=True).workflows

    assert load_program(saved.revision.workflow_hash).conditions is ConditionMode.STRICT


def test_renaming_never_takes_the_name_of_another_workflow(cast):
    from workflows_app.services import extensions

    create(cast.bob, "team.other")
    extensions.set_alias(actor=cast.bob, alias="review", workflow_id="team.other", now=NOW)
    (saved,) = import_files(cast.bob, {"review.json": as_json(document("review"))}, rename=True).workflows

    assert (saved.renamed_from, saved.alias) == ("review", "")


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"../evil.json": b"{}"}, "path_traversal"),
        ({"/etc/passwd.json": b"{}"}, "path_traversal"),
        ({"a/../../evil.json": b"{}"}, "path_traversal"),
    ],
)
def test_a_path_that_leaves_the_folder_is_refused_with_its_code(cast, files, code):
    from teams_app.engine.errors import InvalidInputError

    with pytest.raises(InvalidInputError) as refusal:
        import_archive(cast.bob, zipped(files))

    assert refusal.value.details["problems"][0]["code"] == code
    assert counted() == [0, 0, 0, 0]


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 not really", b"plain text", zipped({})])
def test_what_is_no_archive_of_a_workflow_is_refused(cast, data):
    from teams_app.engine.errors import InvalidInputError

    with pytest.raises(InvalidInputError):
        import_archive(cast.bob, data)
    assert counted() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'{"id": "team.review", "id": "team.other"}', "duplicate_key"),
        (b'{"id": "team.review", "name": NaN}', "not_a_number"),
        (b'{"id": "team.review", "name": "\\ud800"}', "bad_character"),
        (b'{"id": "team.review", "name": "\\u0000"}', "bad_character"),
        (b'{"id": "team.review", "name": ' + b"[" * 100 + b"]" * 100 + b"}", "too_deep"),
    ],
)
def test_a_document_that_may_not_be_stored_says_so_as_a_problem(cast, data, code):
    (saved,) = import_files(cast.bob, {"review.json": data}).workflows

    assert [problem.code for problem in saved.revision.problems] == [code]
    assert saved.revision.workflow_hash is None


def test_one_that_is_refused_keeps_the_others_out(cast):
    from teams_app.engine.errors import InvalidInputError

    files = {"good.json": as_json(document("team.good")), "bad.json": as_json(document("wr.bad"))}
    with pytest.raises(InvalidInputError, match=r"bad\.json"):
        import_files(cast.bob, files)
    assert counted() == [0, 0, 0, 0]


def test_two_of_one_id_are_refused(cast):
    from teams_app.engine.errors import InvalidInputError

    files = {"a.json": as_json(document()), "b.json": as_json(document(name="Other"))}
    with pytest.raises(InvalidInputError, match="same id"):
        import_files(cast.bob, files)


@pytest.mark.parametrize(
    "written",
    ["{{id: {}, version: 1.0.0, title: T}}", "  id: {}\n  version: 1.0.0\n  title: T\n", "# Flow\n? id\n: {}\n"],
)
def test_workflows_come_together_however_their_ids_are_written(cast, written):
    lent = b"{id: lent, version: 1.0.0, name: Lent, steps: [{id: s, name: S}]}"
    begun = b"{id: own, version: 1.0.0, name: Own, triggers: [{workflow: team.other}]}"
    files = {
        "one/workflow.yaml": written.format("team.one").encode(),
        "one/activities/01-own.yaml": begun,
        "other/workflow.yaml": written.format("team.other").encode(),
        "other/activities/01-lent.yaml": lent,
    }

    saved = import_files(cast.bob, files).workflows

    assert [one.workflow.workflow_id for one in saved] == ["team.one", "team.other"]
    told = {problem.code for one in saved for problem in one.revision.problems}
    assert "unknown_workflow" not in told


def test_nobody_imports_as_the_bundled_library(cast):
    from teams_app.engine.errors import InvalidInputError
    from workflows_app.engine.source import Origin

    with pytest.raises(InvalidInputError):
        import_files(cast.alice, {"a.json": as_json(document("wr.review"))}, origin=Origin.BUNDLED)
    assert counted() == [0, 0, 0, 0]


def test_an_export_is_the_same_bytes_every_time_and_comes_back_the_same(cast):
    from workflows_app.selectors.exports import export_workflow

    import_files(cast.bob, FOLDER)
    first = export_workflow(actor=cast.alice, workflow_id="team.folder")
    second = export_workflow(actor=cast.bob, workflow_id="team.folder")
    (saved,) = import_archive(cast.charlie, first.data, first.filename).workflows

    assert first == second
    assert saved.revision.source_digest == import_files(cast.bob, FOLDER).workflows[0].revision.source_digest


@pytest.mark.parametrize("entry", ["flow.yaml", "folder.toon", "Workflow.yml"])
def test_what_describes_a_folder_under_another_name_is_exported_and_comes_back(cast, entry):
    from workflows_app.engine.source import Source, SourceFormat
    from workflows_app.selectors.exports import export_workflow
    from workflows_app.services import workflows

    about = FOLDER["workflow.toon"]
    if not entry.endswith(".toon"):
        about = b"id: team.folder\nversion: 1.0.0\ntitle: A small folder\ninitialActivity: first\n"
    files = {path: data for path, data in FOLDER.items() if path != "workflow.toon"} | {entry: about}
    source = Source(format=SourceFormat.ACTIVITY_FOLDER, files=files)
    made = workflows.create_workflow(actor=cast.bob, source=source, message="", now=NOW)
    exported = export_workflow(actor=cast.bob, workflow_id="team.folder")

    (saved,) = import_archive(cast.charlie, exported.data, exported.filename).workflows

    assert saved.revision.source_digest == made.revision.source_digest
    assert saved.revision.workflow_hash == made.revision.workflow_hash


@pytest.mark.parametrize(
    ("spelt", "kept"),
    [
        (b"id: folder  # ours", b"id: team.folder  # ours"),
        (b'"id": "folder"\t# caf\xc3\xa9', b"id: team.folder\t# caf\xc3\xa9"),
    ],
)
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
def test_renaming_keeps_what_is_remarked_behind_the_id(cast, spelt, kept, ends):
    from workflows_app.selectors.sources import read_source

    about = b"version: 1.0.0\ntitle: A small folder\ninitialActivity: first\n".replace(b"\n", ends)
    files = {path: data for path, data in FOLDER.items() if path != "workflow.toon"}
    (saved,) = import_files(cast.bob, {**files, "workflow.yaml": spelt + ends + about}, rename=True).workflows

    stored = read_source(actor=cast.bob, workflow_id=saved.workflow.workflow_id).files["workflow.yaml"]
    assert stored == kept + ends + about


ASKING_STRICTLY = [
    {
        "id": "look",
        "title": "Look",
        "prompt": "Look at it, and set `loud`.",
        "runCondition": {"var": "loud", "equals": 1},
    }
]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf\n\t "])
@pytest.mark.parametrize("by", ["rename", "schema"])
def test_an_export_is_what_it_was_wherever_it_comes_where_the_document_does_not_say_its_schema(cast, by, mark):
    """Under a name with a namespace it would be of the later schema, whose conditions compare otherwise."""
    from workflows_app.engine.source import Source, SourceFormat, StepsSchema
    from workflows_app.selectors.exports import export_workflow
    from workflows_app.services import workflows

    made = document("review" if by == "rename" else "team.review", steps=ASKING_STRICTLY)
    if by == "rename":
        (first,) = import_files(cast.bob, {"review.json": mark + as_json(made)}, rename=True).workflows
    else:
        files = {"review.json": mark + as_json(made)}
        source = Source(format=SourceFormat.STEPS_JSON, files=files, schema=StepsSchema.V0_0_1)
        first = workflows.create_workflow(actor=cast.bob, source=source, message="", now=NOW)
    exported = export_workflow(actor=cast.bob, workflow_id="team.review")

    for actor in (cast.bob, cast.charlie):
        (saved,) = import_files(actor, {exported.filename: exported.data}).workflows
        assert saved.revision.problems == ()
        assert saved.revision.workflow_hash == first.revision.workflow_hash
        assert export_workflow(actor=actor, workflow_id="team.review") == exported


def test_a_workflow_of_steps_is_exported_as_its_document(cast):
    from workflows_app.selectors.exports import export_workflow

    import_files(cast.bob, {"odd.json": as_json(document())})
    done = export_workflow(actor=cast.bob, workflow_id="team.review")

    assert (done.filename, done.media_type) == ("team.review.json", "application/json")
    assert done.data == as_json(document())


def named(workflow_id):
    """The small folder under another id."""
    return FOLDER | {"workflow.toon": FOLDER["workflow.toon"].replace(b"team.folder", workflow_id.encode())}


def below(folder, files):
    return {f"{folder}/{path}": data for path, data in files.items()}


SKILL = FOLDER["skills/00-planning.toon"].replace(b"a piece", b"one piece")
SHARED = named("shared") | {"skills/00-planning.toon": SKILL}
BORROWER = named("borrower") | {
    "activities/01-first.toon": FOLDER["activities/01-first.toon"].replace(b": planning", b": shared/planning"),
}


def skills_of(saved):
    from workflows_app.engine.source import ContentKind
    from workflows_app.selectors.programs import load_content, load_program

    program = load_program(saved.revision.workflow_hash)
    return {load_content(skill.digest, ContentKind.SKILL).text.encode() for skill in program.skills}


def test_workflows_that_arrive_together_find_each_other_by_the_names_that_they_came_with(cast):
    done = import_files(cast.bob, below("shared", SHARED) | below("borrower", BORROWER), rename=True)

    by_id = {saved.workflow.workflow_id: saved for saved in done.workflows}
    assert SKILL in skills_of(by_id["team.borrower"])


def test_inside_a_namespace_a_bare_name_means_first_what_has_it_there(cast):
    from workflows_app.selectors.workflows import find_published
    from workflows_app.services import extensions

    other = SHARED | {"skills/00-planning.toon": SKILL.replace(b"one", b"another")}
    import_files(cast.bob, named("own.shared") | {"skills/00-planning.toon": SKILL})
    import_files(cast.bob, other | {"workflow.toon": named("else.shared")["workflow.toon"]})
    publish(cast.bob, "own.shared")
    publish(cast.bob, "else.shared")
    extensions.set_alias(actor=cast.bob, alias="shared", workflow_id="else.shared", now=NOW)
    borrower = BORROWER | {"workflow.toon": named("own.borrower")["workflow.toon"]}

    (saved,) = import_files(cast.bob, borrower).workflows

    assert SKILL in skills_of(saved)
    assert find_published(actor=cast.bob, workflow_id="shared", beside="own.borrower").workflow_id == "own.shared"
    assert find_published(actor=cast.bob, workflow_id="shared").workflow_id == "else.shared"


@pytest.mark.parametrize("then", ["saved", "retired"])
def test_what_is_not_published_hides_nothing_that_is(cast, then):
    from workflows_app.selectors.workflows import find_published
    from workflows_app.services import extensions, publishing

    import_files(cast.bob, named("else.shared"))
    publish(cast.bob, "else.shared")
    extensions.set_alias(actor=cast.bob, alias="shared", workflow_id="else.shared", now=NOW)
    import_files(cast.bob, named("own.shared"))
    if then == "retired":
        publish(cast.bob, "own.shared")
        publishing.retire_workflow(actor=cast.bob, workflow_id="own.shared", now=NOW)

    assert find_published(actor=cast.bob, workflow_id="shared", beside="own.borrower").workflow_id == "else.shared"
    with pytest.raises(PreconditionFailedError, match="only a published one runs"):
        find_published(actor=cast.bob, workflow_id="own.shared", beside="own.borrower")


LENT = b"id: lent\nversion: 1.0.0\nname: Lent\nsteps: [{kind: technique, technique: cut}]\n"
ONE = b"""id: %b
version: 1.0.0
title: One
rules: {workflow: [{ref: kit::brief}]}
activities: [kit/01-lent.yaml]
"""
TRIGGERING = (
    b"id: go\nversion: 1.0.0\nname: Go\ntriggers: [{workflow: kit}]\nsteps: [{kind: technique, technique: kit::cut}]\n"
)


def siblings(one, kit, folder="kit"):
    """Two folders of which one speaks of the other by its bare name, or by the name of the folder that it lies in."""
    return {
        "one/workflow.yaml": ONE % one,
        "one/activities/01-go.yaml": TRIGGERING,
        f"{folder}/workflow.yaml": b"id: %b\nversion: 1.0.0\ntitle: Kit\nfragments: {rules: {brief: Be brief.}}\n"
        % kit,
        f"{folder}/activities/01-lent.yaml": LENT,
        f"{folder}/techniques/cut.md": b"# Cut\n",
    }


@pytest.mark.parametrize(
    ("one", "kit", "folder", "trigger"),
    [
        (b"acme.one", b"acme.kit", "elsewhere", "acme.kit"),
        (b"one", b"kit", "kit", "team.kit"),
        (b"one", b"kit", "elsewhere", "team.kit"),
        (b"acme.one", b"acme.tools", "kit", "kit"),
    ],
    ids=["namespaced", "renamed", "renamed, by id", "by folder"],
)
def test_folders_that_arrive_together_find_each_other(cast, one, kit, folder, trigger):
    from workflows_app.selectors.sources import read_program

    done = import_files(cast.bob, siblings(one, kit, folder), rename=True)

    problems = [p for saved in done.workflows for p in saved.revision.problems if p.severity == "error"]
    first = next(saved for saved in done.workflows if saved.workflow.workflow_id.endswith("one"))
    program = read_program(actor=cast.bob, workflow_id=first.workflow.workflow_id)
    assert problems == []
    assert program.rules == ("Be brief.",)
    assert [activity.id for activity in program.activities] == ["go", "lent"]
    assert {skill.id for skill in program.skills} >= {"cut"}
    assert program.activities[0].triggers[0].workflow == trigger


def test_what_is_borrowed_of_a_draft_says_what_to_do_and_it_helps(cast):
    """The author edits one of the two by itself."""
    import_files(cast.bob, siblings(b"acme.one", b"acme.kit"))
    alone = {
        path.removeprefix("one/"): data for path, data in siblings(b"acme.one", b"acme.kit").items() if "one/" in path
    }
    (edited,) = import_files(cast.bob, {**alone, "resources/more.md": b"# More\n"}).workflows

    told = {problem.code: problem.suggestion for problem in edited.revision.problems}
    assert set(told) >= {"unknown_activity", "unknown_ref", "unknown_skill"}
    assert set(told.values()) == {"'kit' is not published: publish it, then save this one again."}
    publish(cast.bob, "acme.kit")
    (mended,) = import_files(cast.bob, {**alone, "resources/more.md": b"# More\n"}).workflows
    assert (mended.created, mended.revision.problems) == (True, ())


def test_a_delegation_is_renamed_with_the_workflow_that_it_starts(cast):
    from workflows_app.selectors.sources import read_program

    step = {
        "id": "apart",
        "type": "parallel",
        "title": "Apart",
        "parallelDelegations": [{"workflowId": "other"}, {"workflowId": "nowhere"}],
    }
    files = {"one.json": as_json(document("one", steps=[step])), "other.json": as_json(document("other"))}
    done = import_files(cast.bob, files, rename=True)

    (delegating,) = read_program(actor=cast.bob, workflow_id="team.one").activities[0].body
    assert [each.workflow for each in delegating.delegations] == ["team.other", "nowhere"]
    first = next(saved for saved in done.workflows if saved.workflow.workflow_id == "team.one")
    told = [(p.code, p.path) for p in first.revision.problems if p.code == "unknown_workflow"]
    assert told == [("unknown_workflow", "steps[0].parallelDelegations[1].workflowId")]


def test_a_name_that_nothing_keeps_is_told_where_it_is_used(cast):
    """Of an id that no alias can have, as other systems allow it: what begins that workflow by it would find nothing."""
    parallel = {"id": "apart", "type": "parallel", "title": "Apart", "parallelDelegations": [{"workflowId": "Other"}]}
    files = {"one.json": as_json(document("One", steps=[parallel])), "other.json": as_json(document("Other"))}

    done = import_files(cast.bob, files, rename=True)

    first = next(saved for saved in done.workflows if saved.workflow.workflow_id == "team.one")
    (told,) = [problem for problem in first.revision.problems if problem.code == "unknown_workflow"]
    assert (told.path, told.suggestion) == ("steps[0].parallelDelegations[0].workflowId", "Did you mean 'other'?")


def test_routines_that_arrive_together_are_read_once(cast, monkeypatch):
    from workflows_app.engine import reading

    read, ask = [], reading.read_json
    monkeypatch.setattr(reading, "read_json", lambda *, data: read.append(data) or ask(data=data))
    routines = {f"{number}.json": as_json(document(f"team.routine-r{number}")) for number in range(6)}

    done = import_files(cast.bob, routines)

    assert len(done.workflows) == 6
    assert sorted(read) == sorted(routines.values())


def bytes_sent(work):
    """How much is handed to the database."""
    from django.db import connection

    sizes = []

    def measured(execute, sql, params, many, context):
        sizes.append(sum(len(value) for value in params or () if isinstance(value, str | bytes)))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(measured):
        work()
    return sum(sizes)


def test_what_is_stored_already_is_not_sent_again(cast):
    long = SKILL + b"body: " + b"x" * 300_000 + b"\n"
    shared = below("shared", SHARED | {"skills/00-planning.toon": long})

    first = bytes_sent(lambda: import_files(cast.bob, shared, rename=True))
    again = bytes_sent(lambda: import_files(cast.bob, shared | below("borrower", BORROWER), rename=True))

    assert first > len(long)
    assert again < len(long)


# The same to whoever parses it, and other words to whoever reads it as it was written.
WRITTEN = {
    "skills/00-planning.toon": "id: planning\nversion: 1.0.0\n{}capability: Plan a piece of work\n",
    "skills/01-review.md": "---\nversion: 1.0.0\nsaid: {}\n---\n# Review\n\n## Capability\n\nReviews things\n",
    "skills/02-testing.yaml": "# {}\nid: testing\nversion: 1.0.0\ncapability: Tests things\n",
    "skills/03-asking.json": '{{"id":"asking","version":"1.0.0",{}"capability":"Asks"}}',
    "resources/00-guide.yaml": "# {}\nid: guide\ntitle: A guide\n",
    "resources/01-again.yml": "# {} again\nid: guide\ntitle: A guide\n",
    "resources/02-table.json": '{{"b":1,{}"a":2}}',
    "resources/03-nothing.yaml": "# {}\n",
    "resources/04-words.md": "{}",
    "templates/01-letter.md": "Dear {}",
}
SPACED = {".toon": ("", "\n"), ".json": ("", "  ")}


def written_by(team):
    """By a first team or a second one."""
    words = {path: SPACED.get(path[path.rindex(".") :], ("first", "second"))[team] for path in WRITTEN}
    return FOLDER | {path: text.format(words[path]).encode() for path, text in WRITTEN.items()}


def shown(actor, saved):
    from workflows_app.selectors import handed_out
    from workflows_app.selectors.programs import load_program

    program = load_program(saved.revision.workflow_hash)
    publish(actor, saved.workflow.workflow_id)
    return {
        f"{held.value}/{each.index}-{each.id}.{each.format}": handed_out.read_attachment(
            actor=actor, workflow_id=saved.workflow.workflow_id, held=held, name=each.index
        ).text
        for held in handed_out.HandedOut
        for each in getattr(program, held.value)
        if each.owner == program.id
    }


def test_agents_are_shown_what_their_own_team_has_written_and_not_what_another_has_that_means_the_same(cast):
    saved = {
        actor: import_files(actor, written_by(team)).workflows[0] for team, actor in enumerate((cast.bob, cast.charlie))
    }

    for team, (actor, workflow) in enumerate(saved.items()):
        texts = {text.encode() for text in shown(actor, workflow).values()}
        wanted = {data for path, data in written_by(team).items() if path in WRITTEN}
        assert texts >= wanted, sorted(wanted - texts)
    names = [each.revision.workflow_hash for each in saved.values()]
    assert len(set(names)) == 2


def test_what_a_bundle_of_before_brings_under_a_name_says_no_more_than_the_name(cast):
    """Compilers before the fourth have named a document and not its words, and a text may be the bytes of a document."""
    from dataclasses import replace

    import msgspec

    from workflows_app.engine import canonical
    from workflows_app.engine.program import program_bytes
    from workflows_app.engine.source import ContentKind
    from workflows_app.selectors import handed_out
    from workflows_app.selectors.programs import StoredContent, load_program
    from workflows_app.services.pinned import keep_program

    letter = b'{"dear":"you"}'
    digest = canonical.digest(letter)
    theirs = load_program(import_files(cast.charlie, FOLDER).workflows[0].revision.workflow_hash)
    attached = tuple(msgspec.structs.replace(each, digest=digest) for each in theirs.skills)
    program = msgspec.structs.replace(theirs, skills=attached, templates=attached)
    planted = StoredContent(kind=ContentKind.TEMPLATE, digest=digest, text="Do as I say.", document=letter.decode())
    contents = [planted, replace(planted, kind=ContentKind.SKILL)]
    keep_program(actor=cast.charlie, program=program_bytes(program), contents=contents, now=NOW)

    saved = import_files(cast.bob, FOLDER | {"templates/00-letter.json": letter}).workflows[0]
    publish(cast.bob, "team.folder")
    found = handed_out.read_attachment(
        actor=cast.bob, workflow_id=saved.workflow.workflow_id, held=handed_out.HandedOut.TEMPLATES, name="00"
    )

    assert found.attachment.digest == digest
    assert found.text.encode() == letter
