"""One mistake is told once: nothing that merely follows from it is told beside it."""

import copy
import json

import pytest

from tests.activity_folders import compiled as folder_compiled, toon
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
    named = ("README.md", "docs/deep/readme.txt", "LICENSE", "images/NOTICE", "CHANGELOG.md")
    strays = dict.fromkeys((*named, ".DS_Store", ".github/workflows/check.yml", "docs/.hidden.md"), b"x")
    compilation = folder_compiled({**newest(), **strays})

    assert (compilation.warnings, compilation.unread) == ((), ())


UNREAD = (
    "notes.txt",
    "picture.bin",
    "notes.md",
    "docs/plan.md",
    "docs/deep/why.md",
    "images/flow.png",
    "skills.yaml",
    "activities/extra.txt",
    "activities/notes.md",
    "techniques/cut.txt",
    "resources/deep/guide.md",
    "templates/deep/a.txt",
    "other/01-a.yaml",
    "activities/changelog.yaml",
    "activities/patterns/license.yaml",
    "activities/patterns/notes.md",
    "activities/patterns/other.yaml",
    "activities/patterns/deep/notes.txt",
    "skills/notice.toon",
    "skills/patterns/01-cut.yaml",
    "notice.json",
)


@pytest.mark.parametrize("form", ["workflow.yaml", "workflow.toon"])
def test_every_file_that_nobody_reads_is_named_wherever_it_stands(form):
    about = newest()["workflow.yaml"]
    files = {form: toon(json.loads(about)) if form.endswith("toon") else about}
    compilation = folder_compiled({**newest_without_about(), **files, **dict.fromkeys(UNREAD, b"x: 1")})

    told = [problem for problem in compilation.warnings if problem.code.value == "unknown_file"]
    assert sorted(problem.file for problem in told) == sorted(UNREAD)
    assert sorted(compilation.unread) == sorted(UNREAD)
    assert compilation.program is not None


@pytest.mark.parametrize(
    "path", ["resources/changelog.yaml", "resources/01-notice.json", "templates/license.txt", "templates/notice.html"]
)
def test_what_agents_read_is_read_though_its_name_is_like_that_of_documentation(path):
    compilation = folder_compiled({**newest(), path: b"{}"})
    held = (*compilation.program.resources, *compilation.program.templates)

    assert compilation.problems == ()
    assert [path.rpartition("/")[2].partition(".")[0].removeprefix("01-")] == [one.id for one in held]


def test_a_lent_activity_is_told_though_another_one_of_its_name_cannot_be_read():
    lent = {"activities/patterns/02-cut.yaml": newest()["activities/01-one.yaml"].replace(b'"one"', b'"cut"')}
    told = folder_compiled({**newest(), "activities/03-cut.yaml": b"id: [", **lent}).problems

    assert [(problem.code.value, problem.file) for problem in told] == [
        ("bad_yaml", "activities/03-cut.yaml"),
        ("unknown_file", "activities/patterns/02-cut.yaml"),
    ]


def newest_without_about():
    return {path: data for path, data in newest().items() if path != "workflow.yaml"}


def test_many_files_that_nobody_reads_do_not_hide_what_else_is_wrong():
    strays = {f"images/{number}.png": b"x" for number in range(500)}
    compilation = folder_compiled({**newest([{**OK_STEP, "colour": "red"}]), **strays})

    assert len(compilation.unread) == 500
    assert "500 files are not read; 100 are listed." in [problem.message for problem in compilation.warnings]
    assert "unknown_key" in [problem.code.value for problem in compilation.warnings]


@pytest.mark.parametrize("what", [each for each in MISSHAPEN if each.startswith("an unknown kind")])
def test_of_a_step_of_an_unknown_kind_no_key_is_told(what):
    told = folder_compiled(MISSHAPEN[what]).problems
    assert [problem.path for problem in told if problem.code != "unknown_skill"] == ["steps[0].kind"]


DECLARED = ("functionDefinitions", "assessments", "extensionPoints", "references")


def misspelt(part, key):
    part[shortened(key)] = part.pop(key)


def shortened(word):
    return f"{word}x" if len(word) < 4 else word[:-1]


# What a hand that slips writes.
SLIPS = {
    "a letter left out": shortened,
    "two letters in each other's place": lambda word: f"{word[1]}{word[0]}{word[2:]}",
    "a letter twice": lambda word: f"{word[0]}{word}",
    "another letter": lambda word: f"{word[:-1]}z",
}


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

    assert [problem.code.value for problem in told] == ["too_short", "unknown_key", "wrong_type"]


# A folder in which everything that others refer to is declared once and referred to.
FOLDER = {
    "workflow.yaml": {
        "id": "team.all",
        "version": "1.0.0",
        "title": "All",
        "description": "d",
        "author": "a",
        "tags": ["t"],
        "initialActivity": "one",
        "rules": {"workflow": [{"ref": "calm"}, "Be."], "activity": ["x"], "universal": ["y"]},
        "fragments": {
            "rules": {"calm": "Be calm."},
            "checkpoints": {
                "sure": {"message": "Sure?", "options": [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]}
            },
        },
        "variables": [
            {"name": "hours", "type": "number", "description": "h", "defaultValue": 3, "required": False},
            {"name": "list", "type": "array", "defaultValue": ["a"]},
            {"name": "quick", "type": "boolean", "defaultValue": False},
            {"name": "sort", "type": "string", "defaultValue": "a"},
            {"name": "thing", "type": "object", "defaultValue": {"a": 1}},
        ],
        "modes": [
            {
                "id": "fast",
                "name": "Fast",
                "activationVariable": "quick",
                "description": "d",
                "recognition": ["r"],
                "skipActivities": ["two"],
                "defaults": {"sort": "b"},
            }
        ],
        "executionModel": {"roles": [{"id": "lead", "description": "leads"}]},
        "artifactLocations": {"reports": {"path": "out/{sort}", "description": "d", "gitignored": True}},
        "skills": {"primary": "cut", "supporting": ["cut"]},
        "techniques": {"workflow": ["cut"], "activity": ["cut"]},
        "activities": ["01-one.yaml"],
        "graph": {"one": {"done": "two", "late": "two", "again": "one"}, "two": {"over": "three"}},
    },
    "activities/01-one.yaml": {
        "id": "one",
        "version": "1.0.0",
        "name": "One",
        "description": "d",
        "problem": "p",
        "recognition": ["r"],
        "skills": {"primary": "cut", "supporting": ["cut"]},
        "steps": [
            {"kind": "technique", "id": "cutting", "technique": "cut", "when": "hours > 1"},
            {
                "kind": "technique",
                "id": "cutting2",
                "technique": {"name": "cut", "inputs": {"a": 1}, "outputs": {"b": "sort"}},
            },
            {
                "kind": "action",
                "id": "note",
                "actions": [
                    {"action": "set", "target": "sort", "value": "x", "description": "d"},
                    {"action": "message", "message": "Hi {sort}"},
                ],
            },
            {"kind": "checkpoint", "id": "ask", "ref": "sure", "when": "quick"},
            {
                "kind": "checkpoint",
                "id": "go",
                "message": "Go?",
                "options": [
                    {"id": "yes", "label": "Yes", "description": "d", "effect": {"setVariable": {"sort": "y"}}},
                    {"id": "no", "label": "No", "effect": {"exit": "again"}},
                    {"id": "skip", "label": "S", "effect": {"skipActivities": ["two"]}},
                ],
                "defaultOption": "yes",
                "autoAdvanceMs": 5,
                "blocking": False,
                "required": True,
                "authority": "relayed",
            },
            {
                "kind": "loop",
                "id": "each",
                "loopType": "forEach",
                "variable": "item",
                "over": "list",
                "maxIterations": 3,
                "name": "Each",
                "steps": [{"kind": "action", "id": "inner", "actions": [{"action": "log", "message": "{item}"}]}],
            },
            {
                "kind": "loop",
                "id": "while",
                "loopType": "doWhile",
                "continueWhile": "quick",
                "maxIterations": 3,
                "breakCondition": {"type": "simple", "variable": "sort", "operator": "==", "value": "z"},
                "steps": [{"kind": "action", "id": "inner2", "actions": [{"action": "log", "message": "m"}]}],
            },
        ],
        "exits": [
            {"id": "done", "isDefault": True, "description": "d"},
            {"id": "late", "when": "hours > 8"},
            {"id": "again"},
        ],
        "artifacts": [{"id": "report", "name": "r.md", "location": "reports", "description": "d", "action": "create"}],
        "entryActions": [{"action": "log", "message": "m"}],
        "exitActions": [{"action": "log", "message": "m"}],
        "variables": {"reads": ["sort"], "writes": [{"name": "found", "type": "string"}]},
        "outcome": ["o"],
        "rules": ["r"],
        "notes": ["n"],
        "estimatedTime": "10m",
        "required": True,
        "context_to_preserve": ["sort"],
    },
    "activities/02-two.yaml": {
        "id": "two",
        "version": "1.0.0",
        "name": "Two",
        "steps": [
            {
                "id": "say",
                "name": "Say",
                "description": "d",
                "skill": "cut",
                "skill_args": {"a": 1},
                "checkpoint": "sure",
                "condition": {"type": "simple", "variable": "found", "operator": "==", "value": "z"},
                "triggers": [{"workflow": "team.all", "description": "d", "passContext": ["sort"]}],
            },
            {"id": "rep", "name": "Rep"},
        ],
        "checkpoints": [
            {
                "id": "sure",
                "name": "Sure",
                "message": "Sure?",
                "options": [{"id": "yes", "label": "Yes"}],
                "prerequisite": "p",
            }
        ],
        "loops": [
            {
                "id": "l",
                "name": "L",
                "type": "while",
                "condition": {"type": "simple", "variable": "quick", "operator": "==", "value": True},
                "maxIterations": 3,
                "activities": ["rep"],
            }
        ],
        "exits": [{"id": "over", "isDefault": True}],
    },
    "activities/03-three.yaml": {
        "id": "three",
        "version": "1.0.0",
        "name": "Three",
        "steps": [{"id": "say3", "name": "Say"}],
        "decisions": [
            {
                "id": "d",
                "name": "D",
                "description": "d",
                "branches": [
                    {
                        "id": "a",
                        "label": "A",
                        "condition": {"type": "simple", "variable": "quick", "operator": "==", "value": True},
                        "transitionTo": "four",
                    },
                    {"id": "b", "label": "B", "isDefault": True, "transitionTo": "two"},
                ],
            }
        ],
        "transitions": [
            {"to": "four", "condition": {"type": "simple", "variable": "quick", "operator": "==", "value": True}},
            {"to": "workflow-end", "isDefault": True},
        ],
        "triggers": {"workflow": "team.all", "description": "d", "passContext": ["sort"]},
    },
    "activities/04-four.yaml": {
        "id": "four",
        "version": "1.0.0",
        "name": "Four",
        "steps": [{"id": "say4", "name": "Say"}],
        "transitions": [{"to": "workflow-end", "isDefault": True}],
    },
}
TECHNIQUE = b"# Cut\n\n## Capability\n\nCuts.\n"
# A misspelt key is a warning, and whoever refers to what stands under it has nothing: that stays an error.
TOLD_BESIDE = {
    ("workflow.yaml", "fragments"),
    ("workflow.yaml", "fragments", "rules"),
    ("workflow.yaml", "fragments", "checkpoints"),
}


def spots(value, path=()):
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inner:
        yield (*path, key)
        yield from spots(child, (*path, key))


def folder_with(path, change):
    documents = copy.deepcopy(FOLDER)
    holder = documents
    for key in path[:-1]:
        holder = holder[key]
    change(holder, path[-1])
    return {"techniques/cut.md": TECHNIQUE} | {name: json.dumps(value).encode() for name, value in documents.items()}


def of_another_type(holder, key):
    is_number = isinstance(holder[key], int | float) and not isinstance(holder[key], bool)
    holder[key] = {"a": 1} if is_number else 5


def of_no_name(holder, key):
    holder[key] = "Not! one?"


PLANTED = {
    "misspelt": (misspelt, lambda path: isinstance(path[-1], str) and path not in TOLD_BESIDE),
    "of another type": (of_another_type, lambda path: True),
    "no name": (of_no_name, lambda path: path[-1] == "id"),
}


@pytest.mark.parametrize("how", PLANTED)
def test_a_mistake_in_a_part_of_a_folder_is_the_one_problem(how):
    change, is_one = PLANTED[how]
    assert folder_compiled(folder_with(("workflow.yaml",), lambda holder, key: None)).problems == ()

    for path in spots(FOLDER):
        if len(path) > 1 and is_one(path):
            told = folder_compiled(folder_with(path, change)).problems
            # Free values may be anything.
            least = 0 if {"defaultValue", "inputs", "outputs", "skill_args", "setVariable", "value"} & {*path} else 1

            assert least <= len(told) <= 1, (path, [(problem.path, problem.message) for problem in told])


def test_a_number_that_is_let_pass_as_a_name_is_the_name():
    files = folder_with(("activities/01-one.yaml", "id"), lambda holder, key: holder.update(id=5))
    about = {**FOLDER["workflow.yaml"], "initialActivity": "5", "activities": [], "modes": [], "graph": {}}
    compilation = folder_compiled(files | {"workflow.yaml": json.dumps(about).encode()}, strictness=Strictness.LEGACY)

    assert compilation.program is not None
    assert compilation.program.initial_activity == "5"


# Below these keys stands what its author is free to write.
FREE_IN_STEPS = {"args", "contextMapping", "outputRequired"}
FIRST_FORM = {
    "$schema": "steps-0.0.1",
    "id": "team.plain",
    "name": "Plain",
    "description": "Uses what the first schema has.",
    "version": "1.0.0",
    "preconditions": ["The code can be read."],
    "clarificationPrompts": ["How deep (depth)?"],
    "metaGuidance": ["Be brief."],
    "steps": [
        {
            "id": "look",
            "title": "Look",
            "prompt": "Look at the depth.",
            "guidance": ["Twice."],
            "askForFiles": True,
            "requireConfirmation": True,
            "runCondition": {"and": [{"var": "depth", "equals": "deep"}, {"not": {"var": "depth", "equals": "flat"}}]},
            "validationCriteria": [
                {"type": "contains", "value": "Found: ", "message": "Say what was found."},
                {"type": "length", "min": 20, "message": "Say more."},
            ],
        },
        {
            "id": "tell",
            "title": "Tell",
            "prompt": "Tell.",
            "validationCriteria": {
                "and": [
                    {"type": "regex", "pattern": "^Told: \\S.*:[0-9]+", "flags": "m", "message": "Tell."},
                    {"or": [{"type": "contains", "value": "Why: ", "message": "Say why."}]},
                    {"not": {"type": "contains", "value": "Perhaps: ", "message": "No guesses."}},
                ]
            },
        },
    ],
}
PROBED = {
    **FIRST_FORM,
    "$schema": "steps-0.3.0",
    "id": "team.probed",
    "capabilities": {"delegation": "required"},
    "steps": [
        {
            "id": "probe",
            "title": "Probe",
            "templateCall": {"templateId": "wr.templates.capability_probe", "args": {"capability": "delegation"}},
        },
        {
            "id": "rounds",
            "type": "loop",
            "title": "Rounds",
            "loop": {"type": "for", "count": 2, "maxIterations": 3},
            "body": [step("a-step")],
        },
    ],
}
STEPS = {"every key": EVERYTHING, "the first schema": FIRST_FORM, "a probe": PROBED}


def changed(document, path, change):
    made = copy.deepcopy(document)
    holder = made
    for key in path[:-1]:
        holder = holder[key]
    change(holder, path[-1])
    return made


def slipping(slip):
    def change(holder, key):
        if len(key) > 1:
            holder[SLIPS[slip](key)] = holder.pop(key)

    return change


@pytest.mark.parametrize("which", STEPS)
@pytest.mark.parametrize("slip", SLIPS)
def test_a_misspelt_key_anywhere_in_a_step_workflow_is_the_one_problem(slip, which):
    document = STEPS[which]
    assert compiled(document, library=EVERYTHING_LIBRARY).problems == ()
    for path in spots(document):
        if isinstance(path[-1], str):
            made = changed(document, path, slipping(slip))
            told = compiled(made, library=EVERYTHING_LIBRARY).problems
            least = 0 if FREE_IN_STEPS & {*path[:-1]} else 1

            assert least <= len(told) <= 1, (path, [(problem.path, problem.message) for problem in told])


@pytest.mark.parametrize("which", STEPS)
def test_a_value_of_another_type_anywhere_in_a_step_workflow_is_the_one_problem(which):
    for path in spots(STEPS[which]):
        told = compiled(changed(STEPS[which], path, of_another_type), library=EVERYTHING_LIBRARY).problems

        assert len(told) <= 1, (path, [(problem.path, problem.message) for problem in told])


REFERRING_IN_STEPS = {
    *("functionReferences", "functionCalls", "assessmentRefs", "forAssessment", "anyEqualsLevel", "contractRef"),
    *("templateId", "workflowId", "body", "refId", "features", "loopId"),
}


# Beside those stand texts, and words of a closed set.
NO_REFERENCES = {"kind", "args", "id", "level", "title", "prompt", "type", "operator", "inputs", "description"}


def references_in(document, referring):
    for path in spots(document):
        value, named = value_at(document, path), [key for key in path if isinstance(key, str)]
        if isinstance(value, str) and len(value) > 1 and referring & {*named[-2:]} and named[-1] not in NO_REFERENCES:
            yield path


def misspell_value(holder, key):
    holder[key] = slipped(holder[key])


def test_a_misspelt_reference_in_a_step_workflow_is_the_one_problem():
    """It does not say that what is meant is unused."""
    found = list(references_in(EVERYTHING, REFERRING_IN_STEPS))
    assert len(found) > 15
    for path in found:
        told = compiled(changed(EVERYTHING, path, misspell_value), library=EVERYTHING_LIBRARY).problems

        assert len(told) == 1, (path, [(problem.path, problem.message) for problem in told])


def slipped(word):
    name, braces, rest = word.partition("()")
    return f"{name[:-2]}{name[-1]}{name[-2]}{braces}{rest}"


def value_at(value, path):
    for key in path:
        value = value[key]
    return value


@pytest.mark.parametrize("slip", SLIPS)
def test_a_misspelt_key_anywhere_in_a_folder_is_the_one_problem(slip):
    for path in spots(FOLDER):
        if len(path) > 1 and isinstance(path[-1], str) and path not in TOLD_BESIDE:
            told = folder_compiled(folder_with(path, slipping(slip)), library=BESIDE).problems
            least = 0 if FREE_IN_FOLDERS & {*path[:-1]} or len(path[-1]) < 2 else 1

            assert least <= len(told) <= 1, (path, [(problem.path, problem.message) for problem in told])


FREE_IN_FOLDERS = {"artifactLocations", "defaultValue", "inputs", "outputs", "skill_args", "setVariable", "value"}
BESIDE = Library(workflow_ids=frozenset({"team.all", "team.other"}))
REFERRING_IN_FOLDERS = {
    *("initialActivity", "graph", "skipActivities", "activities", "activationVariable", "primary", "supporting"),
    *(
        "technique",
        "skill",
        "ref",
        "to",
        "transitionTo",
        "exit",
        "checkpoint",
        "workflow",
        "defaultOption",
        "variable",
        "over",
    ),
}


def test_a_misspelt_reference_in_a_folder_is_the_one_problem():
    """What lies behind a way that leads nowhere is not told as well."""
    found = [path for path in references_in(FOLDER, REFERRING_IN_FOLDERS) if not FREE_IN_FOLDERS & {path[-1]}]
    assert len(found) > 30
    for path in found:
        told = folder_compiled(folder_with(path, misspell_value), library=BESIDE).problems

        assert len(told) <= 1, (path, [(problem.path, problem.message) for problem in told])


def test_a_way_that_leads_nowhere_from_where_nobody_comes_hides_nothing():
    aside = {"id": "two", "version": "1.0.0", "name": "Two", "steps": [OK_STEP], "transitions": [{"to": "nowhere"}]}
    onward = {"id": "one", "version": "1.0.0", "name": "One", "steps": [OK_STEP], "transitions": [{"to": "three"}]}
    files = newest() | {
        "activities/01-one.yaml": json.dumps(onward).encode(),
        "activities/02-two.yaml": json.dumps(aside).encode(),
        "activities/03-three.yaml": json.dumps({**onward, "id": "three", "transitions": []}).encode(),
    }

    told = [(problem.code.value, problem.file) for problem in folder_compiled(files).problems]

    assert told == [("dangling_transition", "activities/02-two.yaml"), ("unreachable", "activities/02-two.yaml")]
    (alone,) = folder_compiled(
        files
        | {
            "activities/01-one.yaml": json.dumps({**onward, "transitions": [{"to": "thre"}]}).encode(),
            "activities/02-two.yaml": json.dumps({**aside, "transitions": []}).encode(),
        }
    ).problems
    assert (alone.code.value, alone.file) == ("dangling_transition", "activities/01-one.yaml")


SKILL_KEYS = {
    "version": "1.0.0",
    "capability": "Cuts.",
    "title": "Cut",
    "description": "Cuts along a line.",
    "protocol": {"first": ["Look."]},
    "operations": {"harness": {"read": "get_resource"}},
    "tools": {"knife": "sharp"},
    "inputs": [{"id": "line", "required": True}],
    "output": [{"id": "halves"}],
    "rules": {"straight": "Cut straight."},
    "errors": {"blunt": {"cause": "Use.", "recovery": "Grind."}},
    "resources": ["guide"],
}


def with_skill(said, ending="yaml"):
    data = toon(said) if ending == "toon" else json.dumps(said).encode()
    files = {f"skills/00-cut.{ending}": data, "resources/guide.md": b"# Guide\n"}
    return newest(skills={"primary": "cut"}) | files


@pytest.mark.parametrize("ending", ["yaml", "toon"])
@pytest.mark.parametrize("slip", SLIPS)
def test_a_misspelt_key_of_a_skill_is_the_one_problem(slip, ending):
    assert folder_compiled(with_skill(SKILL_KEYS, ending)).problems == ()
    for key in SKILL_KEYS:
        slipped_key = SLIPS[slip](key)
        # One of many is another word.
        if f"{slipped_key}s" != key:
            said = {slipped_key if name == key else name: value for name, value in SKILL_KEYS.items()}
            (problem,) = folder_compiled(with_skill(said, ending)).problems

            assert (problem.severity.value, problem.file) == ("warning", f"skills/00-cut.{ending}"), key
            assert repr(key) in f"{problem.message} {problem.suggestion}"


@pytest.mark.parametrize(
    "word",
    [
        *("rule", "input", "tool", "error", "operation", "roles", "names", "titles", "versions", "resource"),
        *(
            "steps",
            "goal",
            "notes",
            "examples",
            "context",
            "state",
            "stage",
            "flow",
            "contract",
            "references",
            "sources",
        ),
        *("output_format", "error_handling", "critical_rule", "execution_pattern", "initialization", "tags", "author"),
    ],
)
def test_a_key_of_a_skill_that_is_another_word_is_its_authors_matter(word):
    said = {"id": "cut", "version": "1.0.0", "capability": "Cuts.", word: ["guide"]}

    assert folder_compiled(with_skill(said)).problems == ()


def named_otherwise(path, **activity):
    """The second activity of the folder, to which much leads, in another file or with another id."""
    files = folder_with(("activities/02-two.yaml",), lambda holder, key: holder[key].update(activity))
    return {path if name == "activities/02-two.yaml" else name: data for name, data in files.items()}


@pytest.mark.parametrize("strictness", Strictness)
@pytest.mark.parametrize(
    ("path", "more", "severity"),
    [
        ("activities/02-two.yamll", {}, "error"),
        ("activities/two.yaml", {}, "error"),
        ("activities/02_two.yaml", {}, "error"),
        ("activities/02two.yaml", {}, "error"),
        ("activities/02-two.yaml.txt", {}, "error"),
        ("activities/02_two.yaml.orig", {}, "error"),
        ("activities/02-two.yaml~", {}, "error"),
        ("activities/02-two", {}, "error"),
        ("02-two.yaml", {}, "error"),
        ("activites/02-two.yaml", {}, "error"),
        ("activities/02-two.yaml", {"id": "tow"}, "error"),
        # Others lead to it by its id.
        ("activities/02-tow.yaml", {}, "warning"),
    ],
)
def test_an_activity_that_others_lead_to_and_whose_file_is_not_it_is_the_one_problem(path, more, severity, strictness):
    (problem,) = folder_compiled(named_otherwise(path, **more), library=BESIDE, strictness=strictness).problems

    assert problem.file == path
    assert strictness is Strictness.LEGACY or problem.severity.value == severity


@pytest.mark.parametrize(
    ("listed", "path", "advice"),
    [
        ("01-one.yaml", "activities/01_one.yaml", "Call it '01-one.yaml'."),
        ("activities/01-one.yaml", "activities/01_one.yaml", "Call it '01-one.yaml'."),
        ("01-one", "activities/01 one.yaml", "Call it '01-one.yaml'."),
        ("01_one.yaml", "activities/01_one.yaml", "Call it '01-one.yaml'."),
        ("01-one.yaml", "activities/01one.yaml", "Call it '01-one.yaml'."),
        ("01-one.yaml", "activities/01-one.yaml.txt", "Call it '01-one.yaml'."),
        ("01-one.yaml", "activities/01-one.yamll", ""),
        ("01-one.yaml", "activities/one.yaml", ""),
        ("one.yaml", "activities/one.yaml", ""),
        ("01-one.yaml", "activites/01-one.yaml", "Did you mean 'activities'?"),
        ("01-one.yaml", "01-one.yaml", "An activity is called 'activities/01-one.yaml'."),
        ("01-one.yaml", "docs/01-one.yaml", "Known: activities, "),
    ],
)
def test_a_listed_activity_whose_file_is_there_and_is_not_read_is_the_one_problem(listed, path, advice):
    files = {
        **newest_without_activities(activities=["07-other.yaml", listed]),
        path: newest()["activities/01-one.yaml"],
    }
    other = json.dumps({"id": "other", "version": "1.0.0", "name": "Other", "steps": [OK_STEP]}).encode()
    (problem,) = folder_compiled({**files, "activities/07-other.yaml": other}).problems

    assert (problem.code.value, problem.severity.value, problem.file) == ("unknown_file", "error", path)
    assert problem.suggestion.startswith(advice)
    assert bool(problem.suggestion) == bool(advice)


def test_a_listed_activity_of_which_no_file_is_there_is_told_beside_files_that_are_not_read():
    files = {**newest(activities=["02-two.yaml"]), "activities/03_three.yaml": b"x: 1", "notes/two.md": b"x"}

    assert {problem.code.value for problem in folder_compiled(files).errors} == {"unknown_activity"}


@pytest.mark.parametrize("folder", ["activites", "activitie", "actvities"])
def test_a_folder_of_activities_that_is_misspelt_is_told_for_each_file_and_by_nothing_else(folder):
    graph = {"one": {"done": "__terminal__"}}
    one = {
        "id": "one",
        "version": "1.0.0",
        "name": "One",
        "steps": [OK_STEP],
        "exits": [{"id": "done", "isDefault": True}],
    }
    files = newest_without_activities(graph=graph, initialActivity="one")
    (problem,) = folder_compiled({**files, f"{folder}/01-one.yaml": json.dumps(one).encode()}).problems

    assert (problem.severity.value, problem.file) == ("error", f"{folder}/01-one.yaml")
    assert problem.suggestion == "Did you mean 'activities'?"


def newest_without_activities(**about):
    return {path: data for path, data in newest(**about).items() if not path.startswith("activities/")}
