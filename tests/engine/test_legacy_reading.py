"""Legacy reads what older readers let pass, and warns of each such place; strict refuses it."""

import json

import pytest

from tests.activity_folders import activity, compiled as compiled_folder, folder, step as plain_step
from tests.step_documents import step, workflow
from workflows_app.engine.source import Library, Origin, Source, SourceFormat, Strictness
from workflows_app.engine.steps.reader import compile_steps

TWICE = {
    "yaml": b"id: work\nversion: 1.0.0\nname: Old\nname: New\n",
    "json": b'{"id": "work", "version": "1.0.0", "name": "Old", "name": "New"}',
    "toon": b"id: work\nversion: 1.0.0\nname: Old\nname: New\n",
}


def steps_of(data, strictness):
    source = Source(format=SourceFormat.STEPS_JSON, files={"a.json": data}, origin=Origin.TEAM, strictness=strictness)
    return compile_steps(source=source, library=Library())


@pytest.mark.parametrize("form", TWICE)
def test_of_a_key_that_stands_twice_the_last_one_counts(form):
    files = folder(activity("other", steps=[plain_step("do")])) | {f"activities/02-work.{form}": TWICE[form]}

    legacy = compiled_folder(files, strictness=Strictness.LEGACY)

    assert [p.code.value for p in compiled_folder(files).errors] == ["duplicate_key"]
    assert legacy.program.activity("work").title == "New"
    assert {p.file for p in legacy.warnings} == {f"activities/02-work.{form}"}


def test_a_step_workflow_with_a_doubled_key_is_read_with_the_last_one():
    data = json.dumps(workflow(step("first"))).replace('"name": "Sample"', '"name": "Old", "name": "New"').encode()

    legacy = steps_of(data, Strictness.LEGACY)

    assert [p.code.value for p in steps_of(data, Strictness.STRICT).errors] == ["duplicate_key"]
    assert (legacy.program.title, [p.code.value for p in legacy.warnings]) == ("New", ["duplicate_key"])
    assert [p.line for p in legacy.warnings] == [1]


def test_a_reference_to_a_function_that_nobody_defines_is_passed_over():
    data = json.dumps(workflow(step("first", functionReferences=["gone()"]))).encode()

    legacy = steps_of(data, Strictness.LEGACY)

    assert [p.code.value for p in steps_of(data, Strictness.STRICT).errors] == ["unknown_function"]
    assert [(p.code.value, p.path) for p in legacy.problems] == [("unknown_function", "steps[0].functionReferences[0]")]
    assert legacy.program is not None
