"""Whatever a folder or an archive holds, reading it ends in a program or in problems, and the same way every time."""

import copy
import io
import json
import random
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.activity_folders import activity, checkpoint, compiled, equals, skill, step, toon, workflow
from workflows_app.engine import canonical
from workflows_app.engine.activities.documents import read_document
from workflows_app.engine.activities.yaml_values import BadYamlError, loads_yaml
from workflows_app.engine.intake import normalise_paths, unpack
from workflows_app.engine.problems import ProblemCode, sorted_problems
from workflows_app.engine.program import Gate, Loop, program_bytes, program_from_bytes, walk_items
from workflows_app.engine.source import Library, Strictness

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "corpus"
IN_SUITE = 2_000
SLOW = 50_000
SEED = 20261118


def base():
    """A folder in which every part that the reader knows occurs, as values by path."""
    loop = {
        "id": "round",
        "name": "Round",
        "type": "forEach",
        "variable": "item",
        "over": "items",
        "maxIterations": 5,
        "breakCondition": equals("done", value=True),
        "steps": [step("inner", skill="apply", checkpoint="sure")],
    }
    branches = [
        {"id": "y", "label": "Y", "condition": equals("done", value=True), "transitionTo": "two"},
        {"id": "n", "label": "N", "isDefault": True},
    ]
    option = {"id": "go", "label": "Go", "effect": {"setVariable": {"done": True}, "transitionTo": "two"}}
    one = activity(
        "one",
        description="D",
        skills={"primary": "apply", "supporting": ["shared"]},
        steps=[
            step("a", condition=equals("done", value=False), actions=[{"action": "set", "target": "x", "value": 1}]),
            step("b", checkpoint="sure", triggers=[{"workflow": "other", "passContext": ["x"]}], skill_args={"n": 1}),
        ],
        checkpoints=[checkpoint("sure", options=[option], defaultOption="go", autoAdvanceMs=5, blocking=False)],
        loops=[loop],
        decisions=[{"id": "d", "name": "D", "branches": branches}],
        transitions=[{"to": "two", "isDefault": True}],
        artifacts=[{"id": "doc", "name": "doc.md", "location": "planning", "action": "update"}],
        entryActions=[{"action": "log", "message": "in"}],
        outcome=["done"],
        rules=["r"],
        stray={"kept": [1, 2]},
    )
    two = activity(
        "two",
        techniques=["apply"],
        steps=[
            {"kind": "technique", "technique": {"name": "apply", "inputs": {"x": 1}, "outputs": {"y": "z"}}},
            {
                "kind": "checkpoint",
                "id": "ask",
                "message": "M",
                "options": [{"id": "o", "label": "O"}],
                "when": "a && b",
            },
            {"kind": "loop", "id": "l", "loopType": "while", "when": "done", "steps": [{"kind": "action", "id": "c"}]},
        ],
        exits=[{"id": "done", "isDefault": True}],
    )
    about = workflow(
        description="D",
        tags=["t"],
        rules={"workflow": ["a"], "activity": ["b"]},
        initialActivity="one",
        variables=[
            {"name": "done", "type": "boolean", "defaultValue": False},
            {"name": "items", "type": "array", "defaultValue": [1.5]},
        ],
        modes=[{"id": "m", "name": "M", "activationVariable": "done", "defaults": {"done": True}}],
        artifactLocations={"planning": "p", "b": {"path": "q", "gitignored": True}},
        executionModel={"roles": [{"id": "r", "description": "R"}]},
        skills=["apply"],
        graph={"two": {"done": "one"}},
    )
    return {
        "workflow.toon": about,
        "activities/01-one.toon": one,
        "activities/02-two.toon": two,
        "skills/00-apply.toon": skill("apply", resources=["01", "meta/00"]),
        "resources/01-guide.toon": {"id": "guide", "title": "G"},
        "rules.toon": {"id": "rules", "sections": [{"id": "s", "rules": ["r"]}]},
    }


TEXTS = {
    "resources/02-notes.md": b"---\nid: notes\nversion: 1.0\n---\n# Notes\n",
    "techniques/group/op.md": b"---\nmetadata:\n  version: 1.0.0\n---\n## Capability\n\nDo it.\n",
    "templates/01-letter.md": b"Dear {{name}}",
}
META = {"skills/00-shared.toon": toon(skill("shared")), "resources/00-boot.md": b"# Boot\n"}
LIBRARY = Library(folders={"meta": META}, workflow_ids=frozenset({"meta", "other"}))


def encoded(values):
    return {**{path: toon(value) for path, value in values.items()}, **TEXTS}


BASE = encoded(base())


def check(files, strictness=Strictness.STRICT):
    """Compile and hold the result to what every compilation promises."""
    compilation = compiled(files, library=LIBRARY, strictness=strictness)
    assert (compilation.program is None) == bool(compilation.errors)
    assert compilation.problems == sorted_problems(compilation.problems)
    json.dumps([problem.as_json() for problem in compilation.problems])
    assert {problem.code for problem in compilation.problems} <= set(ProblemCode)
    if compilation.program is not None:
        check_program(compilation.program)
    return compilation


def check_program(program):
    stored = program_bytes(program)
    assert program_bytes(program_from_bytes(stored)) == stored
    for one in program.activities:
        declared = {checkpoint.id for checkpoint in one.checkpoints}
        bodies = [one.body, *(item.body for item in walk_items(one.body) if isinstance(item, Loop))]
        for body in bodies:
            assert len({item.id for item in body}) == len(body)
        assert {item.checkpoint for item in walk_items(one.body) if isinstance(item, Gate)} <= declared


def shuffled_files(files, chance):
    paths = list(files)
    chance.shuffle(paths)
    return {path: files[path] for path in paths}


def is_shown_as_written(path):
    """Skills, techniques, resources and rules: agents are shown their text, so that it has a name of its own."""
    return not path.startswith(("workflow.", "activities/"))


def shuffled_keys(value, chance):
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: shuffled_keys(value[key], chance) for key in keys}
    if isinstance(value, list):
        return [shuffled_keys(child, chance) for child in value]
    return value


# Determinism


def test_the_folder_of_these_tests_compiles():
    compilation = check(BASE)
    assert compilation.program is not None, compilation.errors


@pytest.mark.parametrize("seed", range(40))
def test_neither_the_order_of_files_nor_that_of_keys_is_in_a_program(seed):
    chance = random.Random(seed)
    wanted = check(BASE)
    values = {
        path: value if is_shown_as_written(path) else shuffled_keys(value, chance) for path, value in base().items()
    }
    found = check(shuffled_files(encoded(values), chance))
    assert program_bytes(found.program) == program_bytes(wanted.program)
    assert found.problems == wanted.problems
    assert [content.digest for content in found.contents] == [content.digest for content in wanted.contents]


@pytest.mark.parametrize("seed", range(10))
def test_what_agents_are_shown_as_it_is_written_has_another_name_in_another_order_of_keys(seed):
    chance = random.Random(seed)
    values = {
        path: shuffled_keys(value, chance) if is_shown_as_written(path) else value for path, value in base().items()
    }
    wanted, found = check(BASE), check(encoded(values))
    before, after = ({(each.kind, each.text): each for each in one.contents} for one in (wanted, found))
    assert {each.digest for each in wanted.contents} & {each.digest for each in found.contents} == {
        before[key].digest for key in before.keys() & after.keys()
    }
    documents = [sorted(json.dumps(each.document, sort_keys=True) for each in one.contents) for one in (wanted, found)]
    assert documents[0] == documents[1]
    assert found.program.activities == wanted.program.activities


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the public corpus is not beside the checkout")
@pytest.mark.parametrize("generation", ["navigation", "orchestrator"])
def test_the_public_folders_do_not_depend_on_order_either(generation):
    chance = random.Random(SEED)
    root = CORPUS / generation / "workflows"
    folders = {
        folder.name: {
            path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
        }
        for folder in root.glob("*/")
    }
    for name, files in folders.items():
        values = {
            path: data if is_shown_as_written(path) else reordered(path, data, chance) for path, data in files.items()
        }
        one = compiled(files, library=Library(folders=folders))
        two = compiled(shuffled_files(values, chance), library=Library(folders=shuffled_files(folders, chance)))
        assert program_bytes(one.program) == program_bytes(two.program), name


def reordered(path, data, chance):
    document, _ = (
        read_document(data=data, file=path, strictness=Strictness.STRICT) if path.endswith(".toon") else (None, ())
    )
    return data if document is None else toon(shuffled_keys(document.value, chance))


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("workflow.toon", lambda value: value | {"title": "Other"}),
        ("activities/01-one.toon", lambda value: value | {"outcome": ["other"]}),
        ("activities/02-two.toon", lambda value: value | {"name": "Other"}),
        ("skills/00-apply.toon", lambda value: value | {"flow": ["new"]}),
        ("resources/01-guide.toon", lambda value: value | {"title": "Other"}),
        ("rules.toon", lambda value: value | {"title": "Other"}),
    ],
)
def test_a_change_of_any_part_changes_the_program(path, change):
    values = base()
    values[path] = change(values[path])
    assert program_bytes(check(encoded(values)).program) != program_bytes(check(BASE).program)


# Totality


JUNK = [
    None,
    True,
    0,
    -1,
    2**70,
    1.5,
    "",
    " ",
    "x" * 300,
    "a && b || c",
    "\u2028",
    [],
    [[]],
    {},
    {"": ""},
    ["a", 1, {}],
]
KEYS = ["id", "kind", "type", "steps", "options", "condition", "when", "effect", "ref", "technique", "skills", "rules"]


def places(value, found):
    """Every container with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in items:
        found.append((value, key))
        if isinstance(child, dict | list):
            places(child, found)
    return found


def distorted(chance):
    """The folder with a few values replaced, removed, doubled, or moved to another key."""
    values = base()
    for _ in range(chance.randint(1, 4)):
        path = chance.choice(list(values))
        found = places(values[path], [])
        if not found:
            continue
        holder, key = chance.choice(found)
        match chance.randrange(5):
            case 0:
                holder[key] = copy.deepcopy(chance.choice(JUNK))
            case 1:
                del holder[key]
            case 2 if isinstance(holder, dict):
                holder[chance.choice(KEYS)] = copy.deepcopy(holder[key])
            case 3 if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[key]))
            case _:
                other, place = chance.choice(found)
                holder[key] = copy.deepcopy(other[place])
    return values


def scrambled(data, chance):
    """A few bytes changed, lines moved, or a piece put elsewhere."""
    result = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(result) + 1)
        match chance.randrange(5):
            case 0:
                result[at:at] = chance.randbytes(chance.randint(1, 4))
            case 1:
                del result[at : at + chance.randint(1, 20)]
            case 2:
                piece = result[at : at + chance.randint(1, 40)]
                place = chance.randrange(len(result) + 1)
                result[place:place] = piece
            case 3:
                lines = bytes(result).split(b"\n")
                chance.shuffle(lines)
                result = bytearray(b"\n".join(lines))
            case _:
                result[at:at] = chance.choice(
                    [b"  ", b"\t", b"- ", b": ", b"[2]:", b'"', b"{a,b}:", b"#", b"\r\n", b"\x00"]
                )
    return bytes(result)


def mutated_folder(chance):
    if chance.random() < 0.6:
        try:
            return encoded(distorted(chance))
        except ValueError:
            return BASE
    files = dict(BASE)
    for path in chance.sample(list(files), chance.randint(1, 3)):
        data = files.pop(path)
        name = scrambled(path.encode(), chance).decode("utf-8", "replace") if chance.random() < 0.2 else path
        if chance.random() < 0.2:
            name = name.replace(".toon", chance.choice([".yaml", ".json", ".md"]))
        files[name] = scrambled(data, chance)
    return files


def mutate_folders(count, seed):
    chance = random.Random(seed)
    outcomes = {True: 0, False: 0}
    for _ in range(count):
        strictness = chance.choice(list(Strictness))
        compilation = check(mutated_folder(chance), strictness)
        outcomes[compilation.program is not None] += 1
    return outcomes


def archives():
    buffers = []
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        for mode in ("w", "w:gz"):
            buffer = io.BytesIO()
            with tarfile.open(fileobj=buffer, mode=mode, format=form) as archive:
                for path, data in {**BASE, "x" * 120: b"long name", "é": b"accent"}.items():
                    info = tarfile.TarInfo(path)
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))
            buffers.append(buffer.getvalue())
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in BASE.items():
            archive.writestr(path, data)
    return [*buffers, buffer.getvalue()]


def mutate_archives(count, seed):
    chance = random.Random(seed)
    originals = archives()
    kept = 0
    for _ in range(count):
        data = scrambled(chance.choice(originals), chance)
        if chance.random() < 0.5:
            changed = bytearray(chance.choice(originals))
            for _ in range(chance.randint(1, 12)):
                changed[chance.randrange(len(changed))] = chance.randrange(256)
            data = bytes(changed)
        files, problems = unpack(data=data, filename=chance.choice(["a.zip", "a.tar", "a.tgz", "\ud800"]))
        assert not (files and problems)
        json.dumps([problem.as_json() for problem in problems])
        assert normalise_paths(files=files)[1] == ()
        kept += bool(files)
    return kept


def test_no_mutated_folder_raises():
    outcomes = mutate_folders(IN_SUITE, SEED)
    assert min(outcomes.values()) > IN_SUITE // 10


def test_no_mutated_archive_raises():
    assert mutate_archives(IN_SUITE, SEED) > 0


@pytest.mark.slow
def test_no_mutated_folder_raises_in_a_long_run():
    mutate_folders(SLOW, SEED + 1)


@pytest.mark.slow
def test_no_mutated_archive_raises_in_a_long_run():
    mutate_archives(SLOW, SEED + 1)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400), st.sampled_from(["a.toon", "a.yaml", "a.json"]), st.sampled_from(list(Strictness)))
def test_any_bytes_are_a_document_or_a_problem(data, file, strictness):
    document, problems = read_document(data=data, file=file, strictness=strictness)
    assert (document is None) == any(problem.code is not ProblemCode.LENIENT_TOON for problem in problems)
    if document is not None:
        assert canonical.canonical_digest(document.value) == document.digest


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab:-[]{}&*!|>'\"#,? \n\t%@`~<=0.e", max_size=60))
def test_any_text_is_yaml_or_refused(text):
    try:
        value = loads_yaml(text)
    except BadYamlError:
        return
    canonical.check_storable(value)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.text(max_size=30), st.binary(max_size=5), max_size=6))
def test_any_paths_come_out_safe_or_refused(files):
    kept, problems = normalise_paths(files=files)
    assert not (kept and problems)
    for path in kept:
        assert not path.startswith("/")
        assert not {"", ".", ".."} & set(path.split("/"))
        assert "\\" not in path


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYS, "x"]), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted({*base()["activities/01-one.toon"], *KEYS})), JSON_VALUES, max_size=6))
def test_any_values_under_known_keys_are_read_or_told(values):
    said = json.dumps({**values, "id": "one"}).encode()
    files = {**BASE, "activities/01-one.toon": BASE["activities/02-two.toon"], "activities/03-one.json": said}
    del files["activities/02-two.toon"]
    check(files, Strictness.LEGACY)
    check(files)
