"""The order of 0.0.4, asked for step by step as its clients asked: with the steps that are done and a context."""

import json
from pathlib import Path

import pytest

from workflows_app.engine.compile import compile_source
from workflows_app.engine.lookup import find_next
from workflows_app.engine.source import Library, Origin, Source, SourceFormat, StepsSchema, Strictness
from workflows_app.engine.step_documents import next_json, workflow_document

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "corpus" / "lookup"

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout")


def program(path):
    source = Source(
        format=SourceFormat.STEPS_JSON,
        files={"workflow.json": path.read_bytes()},
        origin=Origin.BUNDLED,
        strictness=Strictness.LEGACY,
        schema=StepsSchema.V0_0_1,
    )
    compilation = compile_source(source=source, library=Library())
    assert compilation.errors == ()
    return compilation.program


def asked_until_complete(found, context):
    completed, prompts = [], []
    while True:
        said = next_json(found, find_next(program=found, completed=completed, context=context))
        prompts.append(said["guidance"]["prompt"])
        if said["isComplete"]:
            return completed, prompts
        completed.append(said["step"]["id"])


def test_every_walk_of_the_vectors_is_walked_here():
    cases = json.loads((CORPUS / "vectors" / "workflow-next-v1.json").read_text(encoding="utf-8"))

    assert len(cases) == 18
    for case in cases:
        order, prompts = asked_until_complete(program(CORPUS / case["file"]), case["context"])
        assert order == case["order"]
        assert [text[: len(start)] for text, start in zip(prompts, case["promptPrefixes"], strict=True)] == case[
            "promptPrefixes"
        ]


def test_a_definition_is_told_as_it_was_written():
    files = [*CORPUS.glob("workflows/*.json"), *CORPUS.glob("examples/valid-*.json")]
    whole = {path: json.loads(path.read_text(encoding="utf-8")) for path in files}
    assert len(whole) >= 4

    for path, written in whole.items():
        told = workflow_document(program(path))
        for key in ("id", "name", "description", "preconditions", "clarificationPrompts", "metaGuidance"):
            assert told.get(key, []) == written.get(key, []), (path.name, key)
        assert [meaning(step) for step in told["steps"]] == [meaning(step) for step in written["steps"]]


def meaning(step):
    """What says nothing may be left out."""
    return {key: value for key, value in step.items() if value not in (False, [], {}) and key != "hasValidation"}
