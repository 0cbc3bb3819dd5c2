"""One mistake is told once: nothing that merely follows from it is told beside it."""

import copy
import json

import pytest

from tests.activity_folders import compiled as folder_compiled
from tests.step_documents import EVERYTHING, EVERYTHING_LIBRARY, compiled, loop, step, workflow
from workflows_app.engine.source import Library, Strictness

BROKEN = {
    "a text": "yes",
    "a number": 1,
    "an unknown operator": {"var": "flag", "resembles": "x"},
    "a list": [{"var": "flag"}],
}
SAYS = {"about": "Sets flag and items."}
OK_STEP = {"kind": "action", "id": "done", "actions": []}


def condition_places(condition):
    return {
        "requireConfirmation": workflow(step("one", requireConfirmation=condition), **SAYS),
        "confirmation": workflow(
            step("one", requireConfirmation={"kind": "human_approval", "condition": condition}), **SAYS
        ),
        "runCondition": workflow(step("one", runCondition=condition), step("two"), **SAYS),
        "fragment": workflow(step("one", promptFragments=[{"id": "more", "when": condition, "text": "More."}]), **SAYS),
        "while": workflow(loop("again", [step("one")], condition=condition), **SAYS),
        "loop": workflow({**loop("again", [step("one")], type="for", count=2), "runCondition": condition}, **SAYS),
    }


@pytest.mark.parametrize("broken", BROKEN)
def test_a_condition_that_cannot_be_read_is_the_one_problem(broken):
    for place, document in condition_places(BROKEN[broken]).items():
        compilation = compiled(document)

        assert len(compilation.errors) == 1, (place, compilation.errors)
        assert compilation.warnings == (), (place, compilation.warnings)


def newest(steps=(OK_STEP,), **about):
    activity = {"id": "one", "version": "1.0.0", "name": "One", "steps": [*steps]}
    about = {"id": "team.new", "version": "1.0.0", "title": "New", "initialActivity": "one", **about}
    written = {"workflow.yaml": about, "activities/01-one.yaml": activity}
    return {path: json.dumps(value).encode() for path, value in written.items()}


MISSHAPEN = {
    "a rule": newest(fragments={"rules": {"calm": {"x": 1}}}, rules={"workflow": [{"ref": "calm"}]}),
    "no rule": newest(fragments={"rules": {"calm": None}}, rules={"workflow": [{"ref": "team.new::calm"}]}),
    "a rule of many": newest(fragments={"rules": {"calm": ["a", 5]}}, rules={"activity": [{"ref": "calm"}]}),
    "a checkpoint": newest(
        [{"kind": "checkpoint", "id": "asked", "ref": "sure"}], fragments={"checkpoints": {"sure": "Sure?"}}
    ),
    "skills that are no object": newest(skills="cut"),
    "an activity's skills that are no object": newest([OK_STEP])
    | {"activities/01-one.yaml": json.dumps({"id": "one", "version": "1.0.0", "name": "One", "skills": 7}).encode()},
    "ways of exits that are no object": newest(graph={"one": "end"}),
    "roles that are no object": newest(executionModel=[]),
    "an empty workflow": {**newest(), "workflow.yaml": b"{}"},
    "an empty workflow in TOON": {"workflow.toon": b"", "activities/01-one.yaml": newest()["activities/01-one.yaml"]},
    "an unknown kind": newest([{"kind": "tecnique", "id": "cut", "technique": "cut"}], techniques={}),
    "an unknown kind that asks": newest(
        [{"kind": "checkpiont", "id": "asked", "message": "Sure?", "options": [{"id": "yes", "label": "Yes"}]}, OK_STEP]
    ),
    "an unknown kind that repeats": newest(
        [
            {"kind": "lop", "id": "l", "loopType": "forEach", "over": "x", "maxIterations": 3, "steps": [OK_STEP]},
            OK_STEP,
        ]
    ),
    "an unknown kind without an id": newest([{"kind": "chore", "id": "a"}, OK_STEP]),
}


@pytest.mark.parametrize("what", MISSHAPEN)
def test_what_is_misshapen_is_the_one_error(what):
    (problem,) = folder_compiled(MISSHAPEN[what]).errors

    assert problem.suggestion != "Did you mean 'calm'?"


@pytest.mark.parametrize("path", ["technique/cut.md", "resource/guide.md", "skils/00-cut.toon", "activites/notes.md"])
def test_a_folder_that_is_called_nearly_like_one_that_is_read_is_told(path):
    (problem,) = folder_compiled({**newest(), path: b"# Cut"}).warnings

    assert (problem.code.value, problem.file) == ("unknown_file", path)
    assert problem.suggestion.startswith("Did you mean")


def test_files_for_people_are_not_told_of():
    strays = dict.fromkeys(("notes.txt", "docs/deep/why.md", "images/flow.png", ".DS_Store"), b"x")

    assert folder_compiled({**newest(), **strays}).warnings == ()


@pytest.mark.parametrize("what", [each for each in MISSHAPEN if each.startswith("an unknown kind")])
def test_of_a_step_of_an_unknown_kind_no_key_is_told(what):
    told = folder_compiled(MISSHAPEN[what]).problems
    assert [problem.path for problem in told if problem.code != "unknown_skill"] == ["steps[0].kind"]


DECLARED = ("functionDefinitions", "assessments", "extensionPoints", "references")


def misspelt(part, key):
    part[f"{key}x" if len(key) < 4 else key[:-1]] = part.pop(key)


def steps_within(steps):
    for each in steps:
        yield each
        if isinstance(each.get("body"), list):
            yield from steps_within(each["body"])


def everything_with(change):
    document = copy.deepcopy(EVERYTHING)
    change(document)
    return document


def mistakes_in_declarations():
    for listed in DECLARED:
        yield f"{listed} is no list", everything_with(lambda document, at=listed: document.update({at: 5}))
        yield f"{listed} misspelt", everything_with(lambda document, at=listed: misspelt(document, at))
        yield f"{listed}: no object", everything_with(lambda document, at=listed: document[at].__setitem__(0, 5))
        for key in EVERYTHING[listed][0]:
            named = f"{listed}: {key}"
            yield f"{named} misspelt", everything_with(lambda document, at=listed, k=key: misspelt(document[at][0], k))
            yield (
                f"{named} of another type",
                everything_with(lambda document, at=listed, k=key: document[at][0].update({k: None})),
            )


def mistakes_in_steps():
    for number, written in enumerate(steps_within(EVERYTHING["steps"])):
        for key in written:

            def spell(document, at=number, k=key):
                misspelt(list(steps_within(document["steps"]))[at], k)

            def retype(document, at=number, k=key):
                list(steps_within(document["steps"]))[at][k] = 5

            yield f"{written['id']}: {key} misspelt", everything_with(spell)
            yield f"{written['id']}: {key} of another type", everything_with(retype)


@pytest.mark.parametrize("strictness", Strictness)
@pytest.mark.parametrize("mistakes", [mistakes_in_declarations, mistakes_in_steps])
def test_a_mistake_in_a_part_of_a_step_workflow_is_the_one_problem(mistakes, strictness):
    for where, document in mistakes():
        told = compiled(document, library=EVERYTHING_LIBRARY, strictness=strictness).problems

        assert len(told) == 1, (where, [(problem.path, problem.message) for problem in told])


def test_what_is_declared_nowhere_is_told_beside_a_mistake_in_a_declaration():
    def change(document):
        document["functionDefinitions"][0]["definition"] = 5
        document["steps"][0]["functionReferences"] = ["another()"]

    told = [problem.code.value for problem in compiled(everything_with(change), library=EVERYTHING_LIBRARY).problems]

    assert sorted(told) == ["unknown_function", "wrong_type"]


def test_what_only_a_step_with_a_mistake_in_it_speaks_of_is_not_missed():
    document = workflow(
        step("find", prompt="Find the depth.", gidance=["Look."]),
        step("dig", runCondition={"var": "depth", "equals": "deep"}, guidance=["{{depth}}"]),
    )

    assert [problem.code.value for problem in compiled(document).problems] == ["unknown_key"]


def test_a_mistake_in_a_routine_is_the_one_problem():
    routine = workflow(
        step("one", functionReferences=["mark()"], assessmentRefs=["ready"], prompt="Ask {{wr.bindings.eye}}."),
        id="wr.routine-sample",
        functionDefinitions=[{"name": "mark", "definiton": "One line."}],
        assessments=[{**EVERYTHING["assessments"][0], "dimensions": []}],
        extensionPoints=[{"slotId": "eye", "purpose": 5, "default": "team.eye"}],
    )
    document = workflow(step("called", templateCall={"templateId": "wr.templates.routine.sample"}))
    told = compiled(document, library=Library(routines={"sample": routine})).problems

    assert [problem.code.value for problem in told] == ["missing_key", "too_short", "wrong_type"]
