"""Legacy reads what older readers let pass, and warns of each such place; strict refuses it."""

import json

import pytest

from tests.activity_folders import activity, compiled as compiled_folder, folder, step as plain_step
from tests.step_documents import step, workflow
from workflows_app.engine.source import Library, Origin, Source, SourceFormat, Strictness
from workflows_app.engine.steps.reader import compile_steps

ONE = "id: work\nversion: 1.0.0\nname: One\n"
TOLD_TWICE = {
    "yaml: below": (".yaml", f"{ONE}artifacts:\n  - id: a\n    name: b\n    id: c\n", 7),
    "json": (".json", '{"id": "work", "version": "1.0.0", "name": "One",\n"rules": [],\n"rules": ["a"]}', 3),
    "toon: at the top": (".toon", f"{ONE}rules[1]: a\nrules[1]: b\n", 5),
    "toon: below": (".toon", f"{ONE}techniques:\n  primary: a\n  primary: b\n", 6),
    "toon: in a list": (".toon", f"{ONE}steps[1]:\n  - id: a\n    name: b\n    id: c\n", 7),
    "toon: in quotes": (".toon", f'{ONE}"a b": 1\n"a b": 2\n', 5),
    "toon: with a quote in it": (".toon", f'{ONE}"it\'s": 1\n"it\'s": 2\n', 5),
    "toon: a column": (".toon", f"{ONE}artifacts[1]{{id,name,id}}:\n  a,b,c\n", 4),
}


@pytest.mark.parametrize(("ending", "text", "line"), TOLD_TWICE.values(), ids=TOLD_TWICE)
def test_a_key_that_stands_twice_is_told_alike_in_every_form(ending, text, line):
    files = folder(activity("other", steps=[plain_step("do")])) | {f"activities/02-work{ending}": text.encode()}

    for strictness in Strictness:
        told = compiled_folder(files, strictness=strictness).problems
        (problem,) = [each for each in told if each.code.value in {"duplicate_key", "lenient_toon", "bad_toon"}]

        assert (problem.code.value, problem.line) == ("duplicate_key", line)
        assert problem.suggestion
        assert (strictness is Strictness.STRICT) or problem.message.endswith("the last one counts.")


def test_of_what_stands_twice_in_toon_each_place_is_told():
    columns = "artifacts[1]{id,name,id,name}:\n  a,b,c,d\nrules[1]: a\nrules[2]: b\n"
    files = folder(activity("other", steps=[plain_step("do")])) | {
        "activities/02-work.toon": f"{ONE}{columns}".encode()
    }

    told = compiled_folder(files, strictness=Strictness.LEGACY).warnings

    found = [(each.code.value, each.line) for each in told if each.file.endswith("02-work.toon")]
    assert found.count(("duplicate_key", 4)) == 2
    assert {("duplicate_key", 7), ("lenient_toon", 7)} <= {*found}


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
