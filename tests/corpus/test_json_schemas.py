"""The published schemas accept what compiles, and refuse the mistakes that the compiler refuses."""

import copy
import json
from pathlib import Path

import jsonschema_rs
import pytest

from tests.step_documents import compiled, loop, step, workflow
from workflows_app.engine.activities.documents import STRUCTURED, read_document
from workflows_app.engine.json_schemas import SCHEMAS
from workflows_app.engine.source import Strictness
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
}


def test_a_document_without_mistakes_fits():
    assert [p.message for p in compiled(GOOD).errors] == []
    assert errors("steps-0.3.0", GOOD) == []


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_the_compiler_refuses_an_editor_marks(mistake):
    document = copy.deepcopy(GOOD)
    MISTAKES[mistake](document)
    assert compiled(document).errors
    assert errors("steps-0.3.0", document)


@pytest.mark.parametrize(
    "wrong",
    [
        {"stepps": []},
        {"version": "1"},
        {"steps": [{"kind": "technik", "id": "x"}]},
        {"steps": [{"kind": "loop", "id": "x", "loopType": "for", "steps": []}]},
        {"steps": [{"kind": "action", "id": "x", "actions": [{"action": "sett"}]}]},
        {"checkpoints": [{"id": "c", "name": "C", "message": "?", "options": [{"id": "a", "lable": "A"}]}]},
        {"transitions": [{"to": "x", "condition": {"type": "simple", "variable": "v", "operator": "="}}]},
    ],
)
def test_mistakes_in_an_activity_are_marked(wrong):
    assert errors("activity", {"id": "a", "version": "1.0.0", "name": "A", **wrong})
