"""Which files make a workflow, under which id, and the archive of one."""

import io
import json
import zipfile

import pytest
from hypothesis import given, strategies as st

from tests.step_documents import compiled, step, workflow
from workflows_app.engine.activities.documents import read_document
from workflows_app.engine.packing import authored_id, pack_zip, source_digest, split_workflows, with_id
from workflows_app.engine.source import Origin, Source, SourceFormat, Strictness


def steps(data, name="a.json"):
    return Source(format=SourceFormat.STEPS_JSON, files={name: data})


def folder(**files):
    named = {path.replace("__", "/").replace("_", "."): data for path, data in files.items()}
    return Source(format=SourceFormat.ACTIVITY_FOLDER, files=named)


def split(files):
    found = split_workflows(files, origin=Origin.TEAM, strictness=Strictness.STRICT)
    return {item.place: sorted(item.source.files) for item in found.workflows}, found.ignored


def test_a_folder_with_an_entry_file_is_one_workflow():
    files = {"workflow.toon": b"", "activities/01-a.toon": b"", "notes.json": b""}

    assert split(files) == ({"": ["activities/01-a.toon", "notes.json", "workflow.toon"]}, ())


def test_folders_beside_each_other_are_workflows_of_their_own():
    files = {"one/workflow.toon": b"", "one/skills/a.toon": b"", "two/workflow.yaml": b"", "README.md": b""}

    assert split(files) == ({"one": ["skills/a.toon", "workflow.toon"], "two": ["workflow.yaml"]}, ("README.md",))


def test_a_folder_inside_a_workflow_is_part_of_it():
    files = {"a/workflow.toon": b"", "a/examples/workflow.toon": b""}

    assert split(files) == ({"a": ["examples/workflow.toon", "workflow.toon"]}, ())


def test_documents_of_steps_outside_of_folders_are_workflows():
    steps_of_one = b'{"steps": []}'
    files = {"a.json": steps_of_one, "deep/b.json": steps_of_one, "c/workflow.toon": b"", "c/d.json": steps_of_one}

    assert split(files) == ({"a.json": ["a.json"], "deep/b.json": ["b.json"], "c": ["d.json", "workflow.toon"]}, ())


@pytest.mark.parametrize("beside", ["c/workflow.yaml", "real.json"])
@pytest.mark.parametrize("stray", [b"{}", b"[]", b'{"note": "triage"}', b"not json", b"\xff", b"[" * 10_000])
def test_a_stray_document_beside_a_workflow_is_ignored_and_told(beside, stray):
    workflows, ignored = split({beside: b'{"steps": []}', "notes/stray.json": stray})

    assert (len(workflows), ignored) == (1, ("notes/stray.json",))


def test_a_broken_workflow_beside_another_is_not_ignored():
    workflows, ignored = split({"c/workflow.yaml": b"", "broken.json": b'{"id": "team.x", "steps": [}'})

    assert (sorted(workflows), ignored) == (["broken.json", "c"], ())


def test_a_document_alone_is_a_workflow_whatever_it_says():
    assert split({"a.json": b"{}"}) == ({"a.json": ["a.json"]}, ())


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (steps(b'{"id": "team.x"}'), "team.x"),
        (steps(b'{"steps": [{"id": "inner"}], "id": "team.x"}'), "team.x"),
        (steps(b'{"steps": [{"id": "inner"}]}'), ""),
        (steps(b'{"id": 7}'), ""),
        (steps(b'{"id": "team.x"'), "team.x"),
        (steps(b"["), ""),
        (steps(b""), ""),
        (steps(b"\xff\xfe"), ""),
        (folder(workflow_toon=b"version: 1\nid: team.x\n"), "team.x"),
        (folder(workflow_yaml=b'id: "team.x"\r\ntitle: X\r\n'), "team.x"),
        (folder(workflow_toon=b"steps[1]:\n  - id: inner\n"), ""),
        (folder(odd_toon=b"id: team.x\n"), "team.x"),
        (folder(rules_toon=b"id: rules\n"), ""),
        (folder(), ""),
    ],
)
def test_the_id_is_read_from_the_entry_file(source, found):
    assert authored_id(source) == found


def test_another_id_changes_nothing_else_of_a_document():
    data = b'{\t"steps":[{"id": "id"}] ,\r\n "id"  :"old.one", "x": "\\u0041", "y": 1.0e2}\n\n'

    renamed = with_id(steps(data), workflow_id="new.one")

    assert renamed is not None
    assert renamed.files["a.json"] == data.replace(b'"old.one"', b'"new.one"')


def test_another_id_changes_one_line_of_a_folder():
    source = folder(workflow_toon=b"title: X\r\nid: old\r\nsteps[1]:\r\n  - id: old\r\n", skills__a_toon=b"id: old\n")

    renamed = with_id(source, workflow_id="new.one")

    assert renamed is not None
    assert renamed.files["workflow.toon"] == b"title: X\r\nid: new.one\r\nsteps[1]:\r\n  - id: old\r\n"
    assert renamed.files["skills/a.toon"] == b"id: old\n"


@pytest.mark.parametrize("source", [steps(b"{}"), steps(b"nonsense"), folder(workflow_toon=b"title: X\n"), folder()])
def test_without_an_id_there_is_nothing_to_rename(source):
    assert with_id(source, workflow_id="new.one") is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), _JSON, max_size=5), st.sampled_from([None, 1, 4]), st.booleans())
def test_renaming_any_document_changes_its_id_and_nothing_else(document, indent, ascii_only):
    document = document | {"id": "old.one"}
    data = json.dumps(document, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")

    renamed = with_id(steps(data), workflow_id="new.one")

    assert renamed is not None
    assert json.loads(renamed.files["a.json"].decode("utf-8", "surrogatepass")) == document | {"id": "new.one"}


@given(st.binary(max_size=200))
def test_no_bytes_make_reading_an_id_fail(data):
    authored_id(steps(data))
    with_id(steps(data), workflow_id="new.one")
    authored_id(folder(workflow_toon=data))


def test_an_archive_is_the_same_whatever_the_order_of_its_files():
    files = {"b.toon": b"2", "a/c.toon": b"1", "a.toon": b"3"}

    packed = pack_zip(files)

    assert packed == pack_zip(dict(reversed(files.items())))
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == files


def test_a_digest_names_the_files_and_not_who_brought_them():
    one = Source(format=SourceFormat.STEPS_JSON, files={"a.json": b"{}"}, origin=Origin.TEAM)
    same = Source(format=SourceFormat.STEPS_JSON, files={"a.json": b"{}"}, origin=Origin.REMOTE)
    others = [steps(b"{} "), steps(b"{}", name="b.json"), folder(a_json=b"{}")]

    assert source_digest(one) == source_digest(same)
    assert source_digest(one) not in {source_digest(other) for other in others}


@pytest.mark.parametrize(
    "data",
    [
        b'{"id": "acme.alpha", "title": "A"}',
        b'\n  {"title": {"id": "no"}, "id": "acme.alpha"}',
        b"id: acme.alpha # the first\ntitle: A",
        b'id: "acme.alpha"   # the first\n',
    ],
)
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_an_id_is_found_however_yaml_writes_it(data, mark):
    source = folder(workflow_yaml=mark + data)

    assert authored_id(source) == "acme.alpha"
    renamed = with_id(source, workflow_id="acme.beta")
    assert authored_id(renamed) == "acme.beta"
    assert renamed.files["workflow.yaml"].startswith(mark)


# Each says `old.one` to whoever reads the whole document.
SPELLINGS = {
    "yaml": [
        "id: old.one",
        "id:  old.one  # why",
        "id : old.one",
        "id:\told.one",
        "'id': old.one",
        '"id": "old.one"',
        'id: "o\\u006cd.one"',
        "id: 'old.one'",
        "id:\n  old.one",
        "id: >-\n  old.one",
        "id: |-\n   old.one",
        "id:\n\n  old.one",
        "id:\n# why\n\n  # it is called so\n  old.one",
    ],
    "toon": ["id: old.one", 'id: "old.one"', '"id": old.one', "id:old.one"],
    "json": ['{"id": "old.one", "title": "A"}', '{"\\u0069d": "old.one"}', '{"id": "o\\u006cd.one"}'],
}


@pytest.mark.parametrize(("form", "spelt"), [(form, spelt) for form, all_ in SPELLINGS.items() for spelt in all_])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_id_is_renamed_however_it_is_spelt(form, spelt, end):
    around = (f"title: A{end}", f"{end}version: 1.0.0{end}") if form != "json" else ("", "")
    data = spelt.replace("\n", end).join(around).encode()
    source = folder(workflow_toon=data) if form == "toon" else folder(workflow_yaml=data)

    renamed = with_id(source, workflow_id="new.one")

    assert authored_id(source) == "old.one"
    assert renamed is not None
    assert authored_id(renamed) == "new.one"
    before, after = (read_whole(each) for each in (source, renamed))
    assert (before["id"], after) == ("old.one", before | {"id": "new.one"})


@pytest.mark.parametrize(
    "whole",
    [
        "  id: old.one\n  title: A\n",
        "--- {id: old.one, title: A}\n",
        "{title: A, id: old.one}\n",
        '# Why\n{"id": "old.one"}\n',
        "? id\n: old.one\n",
        '"\\u0069d": old.one\n',
    ],
)
def test_an_id_is_found_that_stands_where_it_cannot_be_renamed(whole):
    source = folder(workflow_yaml=whole.encode())

    assert authored_id(source) == read_whole(source)["id"] == "old.one"
    assert with_id(source, workflow_id="new.one") is None


def test_what_follows_an_id_is_kept_when_it_is_renamed():
    after = b"\n\n# The title\n  # of it\ntitle: A\n"
    renamed = with_id(folder(workflow_yaml=b"id: old.one" + after), workflow_id="new.one")

    assert renamed.files["workflow.yaml"] == b"id: new.one" + after


def read_whole(source):
    ((path, data),) = source.files.items()
    document, problems = read_document(data=data, file=path, strictness=Strictness.LEGACY)
    assert document is not None, problems
    return document.value


@pytest.mark.parametrize(
    "source",
    [
        folder(workflow_yaml=b"id: first\nid: old.one\n"),
        folder(workflow_yaml=b'"id": first\ntitle: A\nid:\n  old.one\n'),
        folder(workflow_toon=b"id: first\ntitle: A\nid: old.one\n"),
        folder(workflow_yaml=b'{"id": "first", "title": "A", "id": "old.one"}'),
    ],
)
def test_of_an_id_that_stands_twice_the_last_one_is_renamed(source):
    """As whoever reads leniently takes it."""
    renamed = with_id(source, workflow_id="new.one")

    assert authored_id(source) == read_whole(source)["id"] == "old.one"
    assert authored_id(renamed) == read_whole(renamed)["id"] == "new.one"


def test_a_document_that_begins_with_the_mark_of_windows_is_read_and_renamed():
    document = workflow(step("only"), id="acme.alpha")
    source = steps(b"\xef\xbb\xbf" + json.dumps(document).encode())

    assert compiled(source.files["a.json"]).errors == ()
    assert authored_id(source) == "acme.alpha"
    assert authored_id(with_id(source, workflow_id="acme.beta")) == "acme.beta"
