"""The published schemas accept what compiles, and refuse the mistakes that the compiler refuses."""

import copy
import json
from pathlib import Path

import jsonschema_rs
import pytest

from tests.step_documents import compiled, loop, step, workflow
from workflows_app.engine.activities.documents import STRUCTURED, read_document
from workflows_app.engine.compile import compile_source
from workflows_app.engine.json_schemas import SCHEMAS
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.schema_words import OF_ACTIVITIES, OF_STEPS
from workflows_app.engine.source import Library, Source, SourceFormat, StepsSchema, Strictness
from workflows_app.selectors.bundled import BUNDLED_ROOT

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "corpus"
VALIDATORS = {name: jsonschema_rs.validator_for(make()) for name, make in SCHEMAS.items()}


def folders():
    roots = [BUNDLED_ROOT / "activities", *(CORPUS / name / "workflows" for name in ("latest", "orchestrator"))]
    return [folder for root in roots if root.is_dir() for folder in sorted(root.glob("*/"))]


def errors(name, value):
    return [f"{list(error.instance_path)}: {error.message[:200]}" for error in VALIDATORS[name].iter_errors(value)]


def read(path):
    document, problems = read_document(data=path.read_bytes(), file=path.name, strictness=Strictness.STRICT)
    assert document is not None, problems
    return document.value


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one(name):
    jsonschema_rs.meta.validate(SCHEMAS[name]())


def written_keys(part, record):
    """Each key that an author may write, with the record that it stands in."""
    if isinstance(part, list):
        for each in part:
            yield from written_keys(each, record)
    if not isinstance(part, dict):
        return
    for key, value in part.items():
        if key == "properties" and part.get("additionalProperties") is False:
            for name, schema in value.items():
                yield f"{record}.{name}", schema
        for name, schema in value.items() if key in {"properties", "$defs"} else ():
            yield from written_keys(schema, name)
        if key not in {"properties", "$defs"}:
            yield from written_keys(value, record)


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_editor_has_a_word_for_every_key(name):
    said = {key: schema.get("description", "") for key, schema in written_keys(SCHEMAS[name](), "workflow")}

    assert len(said) > 50
    assert [key for key, word in said.items() if not word] == []
    assert [word for word in said.values() if not word.endswith(".")] == []


def test_every_word_for_editors_is_of_a_key_that_there_is():
    for names, words in ((["steps-0.3.0"], OF_STEPS), (["workflow", "activity"], OF_ACTIVITIES)):
        keys = {key for name in names for key, _ in written_keys(SCHEMAS[name](), "workflow")}
        assert {word for word in words if word not in keys | {key.rpartition(".")[2] for key in keys}} == set()


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: f"{folder.parent.parent.name}/{folder.name}")
def test_the_folders_that_compile_fit(folder):
    entry = next(path for path in folder.iterdir() if path.stem == "workflow" and path.suffix in STRUCTURED)
    assert errors("workflow", read(entry)) == []
    for path in sorted((folder / "activities").rglob("*")):
        if path.suffix in STRUCTURED:
            assert (path.name, errors("activity", read(path))) == (path.name, [])


@pytest.mark.parametrize("path", sorted(BUNDLED_ROOT.glob("*/*.json")), ids=lambda path: path.stem)
def test_the_step_workflows_that_compile_fit(path):
    assert errors("steps-0.3.0", json.loads(path.read_bytes())) == []


GOOD = workflow(
    step("first", runCondition={"var": "x", "exists": True}, requireConfirmation={"kind": "human_approval"}),
    loop("again", [step("inner-one")], type="for", count=2),
    **{"$schema": "https://workrail.example/schemas/steps-0.3.0.json"},
)
MISTAKES = {
    "unknown key of a step": lambda d: d["steps"][0].update(promt="x"),
    "unknown key": lambda d: d.update(stepps=[]),
    "no steps": lambda d: d.pop("steps"),
    "steps of a wrong type": lambda d: d.update(steps={}),
    "no id of a step": lambda d: d["steps"][0].pop("id"),
    "an id that is none": lambda d: d["steps"][0].update(id="No Id"),
    "two prompts": lambda d: d["steps"][0].update(promptBlocks={"goal": "x"}),
    "an unknown type": lambda d: d["steps"][1].update(type="lop"),
    "a loop without rounds": lambda d: d["steps"][1]["loop"].pop("maxIterations"),
    "an unknown operator": lambda d: d["steps"][0].update(runCondition={"var": "x", "equal": 1}),
    "a wrong version": lambda d: d.update(version="1"),
    "a mistake in a loop": lambda d: d["steps"][1]["body"][0].update(title=7),
    "a loop over a list without the list": lambda d: d["steps"][1]["loop"].update(type="forEach"),
    "a counted loop without the count": lambda d: d["steps"][1]["loop"].pop("count"),
    "consequences without assessments": lambda d: d["steps"][0].update(
        assessmentConsequences=[
            {"when": {"anyEqualsLevel": "low"}, "effect": {"kind": "require_followup", "guidance": "G"}},
        ],
    ),
    **{
        f"the id {wrong!r}": lambda d, wrong=wrong: d.update(id=wrong)
        for wrong in ("No Id", "a..b", "a.b.c", ".ab", "team.1a", "föö", "abc\n", "x" * 65)
    },
    **{
        f"the loop {json.dumps(wrong)}": lambda d, wrong=wrong: d["steps"][1].update(loop={"maxIterations": 5, **wrong})
        for wrong in (
            {"type": "for", "count": -1},
            {"type": "for", "count": 1001},
            {"type": "for", "count": ""},
            {"type": "for", "count": "-1"},
            {"type": "for", "count": "2.5"},
            {"type": "for", "count": 2.5},
            {"type": "for", "count": "x" * 257},
            {"type": "forEach", "items": " "},
            {"type": "forEach", "items": "a..b"},
        )
    },
    "blocks that say nothing": lambda d: d["steps"].append({"id": "no-words", "title": "T", "promptBlocks": {}}),
    **{
        f"the condition {json.dumps(wrong)}": lambda d, wrong=wrong: d["steps"][0].update(runCondition=wrong)
        for wrong in (
            {"var": "x", "gt": "soon"},
            {"var": "x", "lte": [1]},
            {"var": "x", "gte": True},
            {"var": "x", "contains": None},
            {"var": "x", "startsWith": []},
            {"var": "x", "matches": 1},
            {"var": "x", "in": "abc"},
            {"var": "x", "exists": "yes"},
            {"var": "", "equals": 1},
            {"var": "a..b", "equals": 1},
            {"var": " . ", "equals": 1},
            {"equals": 1},
            {"gt": 1},
            {"and": {"var": "x"}},
            {"and": [None]},
            {"and": [[]]},
            {"or": ["x"]},
            {"not": None},
            {"not": []},
            {"and": [{"or": [{"not": {"lt": 1}}]}]},
        )
    },
    **{
        f"the criteria {json.dumps(wrong)}": lambda d, wrong=wrong: d["steps"][0].update(validationCriteria=wrong)
        for wrong in (
            [{"type": "contains", "message": "M"}],
            [{"type": "regex", "message": "M"}],
            [{"type": "length", "message": "M"}],
            [{"type": "schema", "message": "M"}],
            [{"type": "contains", "value": "x"}],
            {"and": []},
            {"or": {}},
            {"not": {}},
            {"and": [{}]},
            {"and": [{"type": "contains", "value": "x", "message": "M"}], "message": "M"},
            {"and": [{"type": "contains", "value": "x", "message": "M"}], "or": []},
        )
    },
}
TAKEN = [
    {"var": "x"},
    {"var": "a.b.length", "gt": "12"},
    {"var": "x", "lt": -1.5},
    {"var": "x", "equals": 1, "gt": "not read"},
    {"var": "x", "contains": 7},
    {"var": "x", "in": []},
    {"var": "x", "and": "not read"},
    {"and": []},
    {"and": [{}], "or": "not read"},
    {"not": {"or": [{"var": "x", "notExists": False}]}},
    {},
    None,
]


def test_a_document_without_mistakes_fits():
    assert [p.message for p in compiled(GOOD).errors] == []
    assert errors("steps-0.3.0", GOOD) == []


@pytest.mark.parametrize("condition", TAKEN, ids=json.dumps)
def test_a_condition_that_the_compiler_takes_fits(condition):
    document = copy.deepcopy(GOOD)
    document["steps"][0]["runCondition"] = condition
    assert not compiled(document).errors
    assert errors("steps-0.3.0", document) == []


FIRST = workflow(
    step("first", runCondition={"var": "x", "equals": True}, requireConfirmation=True, guidance=["Look."]),
    step("second", validationCriteria=[{"type": "contains", "value": "x", "message": "M"}], askForFiles=True),
    **{"$schema": "https://workrail.example/schemas/steps-0.0.1.json", "id": "first-sample"},
)
FIRST_MISTAKES = {
    "no steps": lambda d: d.pop("steps"),
    "no id of a step": lambda d: d["steps"][0].pop("id"),
    "no prompt": lambda d: d["steps"][0].pop("prompt"),
    "a long prompt": lambda d: d["steps"][0].update(prompt="x" * 2049),
    "an id that is none": lambda d: d.update(id="No Id"),
    "an unknown operator": lambda d: d["steps"][0].update(runCondition={"var": "x", "equal": 1}),
    "a confirmation that is none": lambda d: d["steps"][0].update(requireConfirmation="yes"),
}


def test_a_document_of_the_first_version_without_mistakes_fits():
    assert [p.message for p in compiled(FIRST).errors] == []
    assert errors("steps-0.0.1", FIRST) == []


OF_BOTH = [("steps-0.3.0", GOOD, MISTAKES[name]) for name in MISTAKES]
OF_BOTH += [("steps-0.0.1", FIRST, FIRST_MISTAKES[name]) for name in FIRST_MISTAKES]


@pytest.mark.parametrize(
    ("schema", "good", "mistaken"), OF_BOTH, ids=[*MISTAKES, *map("first, {}".format, FIRST_MISTAKES)]
)
def test_what_the_compiler_refuses_an_editor_marks(schema, good, mistaken):
    document = copy.deepcopy(good)
    mistaken(document)
    assert compiled(document).errors
    assert errors(schema, document)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("lookup/*/*.json")), ids=lambda path: path.stem)
def test_the_documents_of_the_first_version_that_compile_fit(path):
    document = json.loads(path.read_bytes())
    if isinstance(document, dict) and not compiled(document, schema=StepsSchema.V0_0_1).errors:
        assert errors("steps-0.0.1", document) == []


HOT = {"type": "simple", "variable": "hot", "operator": "==", "value": True}
ASKING = {"id": "c", "message": "?", "options": [{"id": "a", "label": "A"}]}


def in_activity(**fields):
    return {"id": "a", "version": "1.0.0", "name": "A", **fields}


ABOUT = {"id": "team.oven", "version": "1.0.0", "title": "Oven", "initialActivity": "a"}


def problems_of(document, about=None):
    about = about or ABOUT | {"initialActivity": document["id"]}
    files = {"workflow.yaml": json.dumps(about).encode(), "activities/01-a.yaml": json.dumps(document).encode()}
    return compile_source(source=Source(format=SourceFormat.ACTIVITY_FOLDER, files=files), library=Library()).problems


@pytest.mark.parametrize(
    "wrong",
    [
        {"stepps": []},
        {"version": "1"},
        {"id": ""},
        {"name": ""},
        {"steps": [{"kind": "technik", "id": "x"}]},
        {"steps": [{"kind": "loop", "id": "x", "loopType": "for", "steps": []}]},
        {"steps": [{"kind": "action", "id": "x", "actions": [{"action": "sett"}]}]},
        {"steps": [{"id": "x"}]},
        {"steps": [{"id": "no id", "name": "X"}]},
        {"steps": [{"id": "x" * 129, "name": "X"}]},
        {"steps": [{"kind": "action"}]},
        {"steps": [{"kind": "action", "id": None}]},
        {"steps": [{"kind": "technique", "technique": None}]},
        {"steps": [{"kind": "routine", "id": "x", "routine": "r"}]},
        {"steps": [{"kind": "checkpoint", "id": "c"}]},
        {"steps": [{"kind": "checkpoint", "id": "c!", "message": "?", "options": ASKING["options"]}]},
        {"steps": [{"kind": "action", "id": "x", "when": " "}]},
        {"steps": [{"kind": "action", "id": "x", "condition": {"type": "and", "conditions": [HOT]}}]},
        {"steps": [{"kind": "action", "id": "x", "condition": {**HOT, "value": [1]}}]},
        {"steps": [{"kind": "action", "id": "x", "condition": {**HOT, "variable": ""}}]},
        {"steps": [{"kind": "action", "id": "x", "condition": {**HOT, "operator": ">", "value": "soon"}}]},
        {"steps": [{"kind": "action", "id": "x", "condition": {**HOT, "operator": "in", "value": "a"}}]},
        {"steps": [{"kind": "action", "id": "x", "condition": {"type": "simple", "variable": "v", "operator": "=="}}]},
        {"checkpoints": [{"id": "c", "name": "C", "message": "?", "options": [{"id": "a", "lable": "A"}]}]},
        {"checkpoints": [{key: value for key, value in ASKING.items() if key != "id"}]},
        {"checkpoints": [{key: value for key, value in ASKING.items() if key != "message"}]},
        {"checkpoints": [{**ASKING, "options": [{"id": "a b", "label": "A"}]}]},
        {"decisions": [{"id": "d", "name": "D", "branches": [{"id": "", "label": "A"}, {"id": "b", "label": "B"}]}]},
        {"transitions": [{"to": "x", "condition": {"type": "simple", "variable": "v", "operator": "="}}]},
        {"transitions": [{"to": ""}]},
        {"exits": [{"id": "a/b"}]},
        {"triggers": [{"workflow": ""}]},
        {"$schema": 7},
        {"estimatedTime": "soon"},
        {"steps": [{"kind": "action", "id": "x", "when": "hot" + " " * 4_000}]},
        {"steps": [{"kind": "action", "id": "x", "condition": "hot && " * 600 + "hot"}]},
        {"steps": [{"kind": "technique", "technique": ""}]},
        {"steps": [{"kind": "technique", "technique": "group::no id"}]},
        {"steps": [{"technique": "x" * 129}]},
        {"steps": [{"kind": "technique", "technique": {"name": "no id"}}]},
        {"loops": [{"id": "l", "name": "L", "type": "while", "condition": HOT, "maxIterations": 2**53}]},
        {"checkpoints": [{**ASKING, "name": "C", "autoAdvanceMs": 2**53, "defaultOption": "a"}]},
        {"exits": [{"id": "done", "isDefault": True, "description": 7}]},
    ],
    ids=lambda wrong: json.dumps(wrong)[:90],
)
def test_mistakes_in_an_activity_are_marked(wrong):
    document = in_activity(**wrong)
    assert problems_of(document)
    assert errors("activity", document)


@pytest.mark.parametrize(
    "right",
    [
        dict.fromkeys(("description", "steps", "loops", "rules", "outcome", "required", "skills", "triggers")),
        {"steps": [{"id": "say", "actions": [{"action": "log", "message": "M", "when": None}]}]},
        {"steps": [{"kind": "checkpoint", **ASKING, "id": "c#{n}", "name": None, "options": ASKING["options"]}]},
        {"steps": [{"kind": "action", "id": "x", "condition": {**HOT, "operator": "in", "value": [1]}}]},
        {"steps": [{"kind": "action", "id": "x", "condition": {**HOT, "operator": "contains", "value": "a"}}]},
        {"steps": [{"kind": "action", "id": "x", "condition": {**HOT, "operator": ">=", "value": 1}}]},
        {"exits": [{"id": "done", "when": None, "isDefault": True, "description": "D"}]},
        {"steps": [{"kind": None, "id": "say", "name": "Say"}, {"kind": None, "id": "t", "actions": []}]},
        {"$schema": None},
    ],
    ids=json.dumps,
)
def test_what_the_compiler_takes_of_an_activity_in_silence_fits(right):
    document = in_activity(variables={"writes": [{"name": "hot", "type": "boolean"}]}, **right)
    assert [p for p in problems_of(document) if p.code not in {ProblemCode.BAD_CONDITION, ProblemCode.WRONG_TYPE}] == []
    assert errors("activity", document) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"$schema": 7},
        {"id": "No Id"},
        {"id": "a.b.c"},
        {"id": "x" * 65},
        {"skills": {"primary": ""}},
        {"rules": [{"ref": "brief", "refs": "brief"}], "fragments": {"rules": {"brief": "B"}}},
        {"graph": {"a": {"done": 7}}},
        {"variables": [{"name": "v", "type": "boolean", "defaultValue": True, "requird": True}]},
    ],
    ids=json.dumps,
)
def test_mistakes_in_a_workflow_are_marked(wrong):
    document = ABOUT | wrong
    assert set(problems_of(in_activity(), document)) - set(problems_of(in_activity(), ABOUT))
    assert errors("workflow", document)


@pytest.mark.parametrize("right", [{"graph": {"a": {"done": None}}}, {"rules": [{"ref": "brief"}]}], ids=json.dumps)
def test_what_the_compiler_takes_of_a_workflow_in_silence_fits(right):
    document = {**ABOUT, "fragments": {"rules": {"brief": "B"}}, **right}
    assert problems_of(in_activity(exits=[{"id": "done", "isDefault": True}]), document) == ()
    assert errors("workflow", document) == []
