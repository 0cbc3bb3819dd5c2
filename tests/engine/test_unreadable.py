"""A file that cannot be read is told with the line and with what its author does next, whatever it is written in."""

import json

import pytest

from tests.activity_folders import activity, compiled, folder, toon, workflow
from tests.flood_play import Work, allowed
from tests.step_documents import compiled as compiled_steps, step, workflow as step_workflow
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.source import Strictness

STEPS = json.dumps(step_workflow(step("only"), id="team.sample"), indent=1)
ACTIVITY = json.dumps(activity("work"), indent=1)
AT = STEPS[: STEPS.index('"name"')].count("\n") + 1


def of_steps(data):
    (problem,) = compiled_steps(data.encode() if isinstance(data, str) else data).errors
    return problem


def of_activity(data, ending="json"):
    files = {"workflow.toon": toon(workflow()), f"activities/01-work.{ending}": data.encode()}
    (problem,) = compiled(files).errors
    assert problem.file == f"activities/01-work.{ending}"
    return problem


JSON_HABITS = {
    "a comment": (lambda text: text.replace('"name"', '// why\n"name"'), 0, "Remove the comment"),
    "a block comment": (lambda text: text.replace('"name"', '/* why */\n"name"'), 0, "Remove the comment"),
    "a comment of a shell": (lambda text: text.replace('"name"', '# why\n"name"'), 0, "Remove the comment"),
    "a comma too many": (lambda text: text.replace('"name"', '"tags": ["x",],\n"name"'), 0, "Remove the comma"),
    "single quotes": (lambda text: text.replace('"name"', "'name'"), 0, "double quotation marks"),
    "a break in a text": (lambda text: text.replace('"name"', '"a": "x\ny",\n"name"'), 0, r"`\n`"),
    "a missing comma": (lambda text: text.replace('"name"', '"a": 1\n"name"'), 1, "Put what is missing"),
    "a backslash": (lambda text: text.replace('"name"', '"a": "\\d",\n"name"'), 0, "backslash"),
    "a key twice": (lambda text: text.replace('"name"', '"x": 1,\n"x": {"name": 2},\n"name"'), 1, "Keep one."),
    "a key twice within": (lambda text: text.replace('"name"', '"x": [{"x": 1,\n"x": 2}],\n"name"'), 1, "Keep one."),
    "two documents": (lambda text: f"{text}\n{text}", None, "one document"),
}


@pytest.mark.parametrize("habit", JSON_HABITS)
@pytest.mark.parametrize("read", [of_steps, of_activity])
def test_habits_that_json_does_not_have_are_told_at_their_line(habit, read):
    text = STEPS if read is of_steps else ACTIVITY
    change, further, advice = JSON_HABITS[habit]
    at = text[: text.index('"name"')].count("\n") + 1

    problem = read(change(text))

    assert problem.line == (text.count("\n") + 2 if further is None else at + further)
    assert advice in problem.suggestion


@pytest.mark.parametrize("data", [b"", b" \n\n", "{}".encode("utf-16"), b'{"name": "\xe9"}', STEPS[:-30].encode()])
def test_a_document_that_is_none_says_what_to_do(data):
    assert of_steps(data).suggestion
    assert of_steps(data).line


BASE = "id: work\nversion: 1.0.0\nname: Work\n"
YAML_HABITS = {
    "an anchor": ("steps: []\nrules: &r [x]\n", 5, "Write out"),
    "an alias": ("rules: *r\n", 4, "Write out"),
    "a tag": ("rules: !!set {x}\n", 4, "Remove the tag"),
    "a tab": ("rules:\n\t- x\n", 5, "spaces"),
    "two documents": ("---\nrules: []\n", 4, "one document"),
    "a key twice": ("rules: []\nrules: [x]\n", 5, "Keep one."),
    "a colon in a text": ("description: Use it: now\n", 4, "quotation marks"),
    "an at sign": ("description: @home\n", 4, "quotation marks"),
    "no number": ("estimatedTime: .inf\n", 4, "quotation marks"),
    "an escape": ('description: "\\d"\n', 4, "backslash"),
}
TOON_HABITS = {
    "too few": ("rules[3]: a,b\n", 4, "Write `[2]`"),
    "the old sign of a length": ("rules[#2]: a,b\n", 4, "as in `[2]`"),
    "an empty line in a table": ("steps[2]{id,name}:\n  s,S\n\n  t,T\n", 6, "empty line"),
    "a comma in a row": ("steps[1]{id,name}:\n  s,S, and more\n", 5, "delimiter"),
    "a list of yaml": ("rules:\n  - x\n    y: z\n", 5, ""),
    "tabs": ("rules[1]:\n\t- x\n", 5, "two spaces"),
    "an escape": ('description: "\\d"\n', 4, r"`\\`"),
    "a fence": ("```\n", 4, "code fences"),
    "a key twice": ("rules[0]:\nrules[0]:\n", 5, "Rename one"),
}


@pytest.mark.parametrize(
    ("ending", "habit"),
    [(ending, habit) for ending, habits in (("yaml", YAML_HABITS), ("toon", TOON_HABITS)) for habit in habits],
)
def test_habits_that_a_format_does_not_have_are_told_at_their_line(ending, habit):
    said, line, advice = (YAML_HABITS if ending == "yaml" else TOON_HABITS)[habit]

    problem = of_activity(BASE + said, ending)

    assert problem.line == line
    assert problem.suggestion
    assert advice in problem.suggestion


DEEP = "[" * 70 + "]" * 70
# What each format can say and nobody can store: before it stand prose that says the same, and a line that is sound.
UNSTORABLE = {
    "json": ['"\\u0000"', '"\\ud800"', '"a \\udc00 b"', "NaN", "-Infinity", "1e999", "9" * 400, "9" * 5_000, DEEP],
    "yaml": ['"\\0"', '"\\x00"', ".nan", "-.INF", "1e999", "9" * 400, "9" * 5_000, "0x" + "f" * 400, DEEP],
    "toon": ['"\\u0000"', "1e999", "9" * 400, "9" * 5_000],
}


@pytest.mark.parametrize(("ending", "value"), [(each, value) for each, said in UNSTORABLE.items() for value in said])
@pytest.mark.parametrize("above", [0, 3])
def test_what_cannot_be_stored_is_told_at_its_line(ending, value, above):
    sound = 'description: "NaN, Infinity, 1e999, [[[, \\\\u0000"\n'
    if ending == "json":
        sound = '"description": "NaN, Infinity, 1e999, [[[, \\\\u0000, \\ud83d\\ude00",\n'
        text = ACTIVITY.replace('"name"', f'{sound}{above * chr(10)}"notes": [{value}],\n"name"')
    elif ending == "toon":
        text = f"{BASE}{sound}notes[{above + 1}]:\n" + "  - fine\n" * above + f"  - {value}\n"
    else:
        text = f"{BASE}{sound}notes:\n" + "  - fine\n" * above + f"  - {value}\n"

    problem = of_activity(text, ending)

    assert problem.line == text[: text.index(value, text.index("notes"))].count("\n") + 1
    assert problem.suggestion
    assert "sys." not in problem.message


@pytest.mark.parametrize("levels", [64, 70, 200])
def test_a_line_of_toon_that_stands_too_deep_is_told(levels):
    text = BASE + "x:\n" + "".join(f"{'  ' * depth}a:\n" for depth in range(1, levels))
    problem = of_activity(text + "notes[0]:\n", "toon")
    assert (problem.code, problem.line) == (ProblemCode.TOO_DEEP, text.count("\n"))


@pytest.mark.parametrize("value", UNSTORABLE["json"])
def test_what_cannot_be_stored_is_told_at_its_line_in_a_workflow_of_steps(value):
    text = STEPS.replace('"name"', f'"about": "NaN, [[[, 1e999",\n"tags": [{value}],\n"name"')
    assert of_steps(text).line == AT + 1


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("ending", ["yaml", "toon"])
def test_a_mark_at_the_beginning_moves_no_problem_to_another_line(ends, ending):
    from workflows_app.engine.places import line_at, lines_in

    text = "\ufeffsteps[1]:\n" if ending == "toon" else "\ufeffsteps:\n"
    text = (text + '  - id: a\n    colour: "A"\n' + BASE).replace("\n", ends)

    (problem,) = [each for each in told_of(text, ending) if each.path == "steps[0].colour"]

    assert line_at(lines=lines_in(f"work.{ending}", text), path=problem.path) == 3


def told_of(text, ending):
    files = {"workflow.toon": toon(workflow()), f"activities/01-work.{ending}": text.encode()}
    return compiled(files).problems


@pytest.mark.parametrize("wide", [200, 4_000])
def test_to_tell_where_a_key_stands_twice_costs_in_proportion(wide):
    doubled = ",".join(f'"key{number}": {{"a": 1, "a": 2}}' for number in range(wide))
    data = ACTIVITY.replace('"name"', f'{doubled},\n"name"').encode()
    files = {"workflow.toon": toon(workflow()), "activities/01-work.json": data}

    with Work() as work:
        told = compiled(files, strictness=Strictness.LEGACY).problems

    assert {problem.line for problem in told if problem.code is ProblemCode.DUPLICATE_KEY} == {4}
    assert work.seconds <= allowed(plain=0, size=len(data))


@pytest.mark.parametrize(("value", "shown"), [(True, "true"), (False, "false"), (7, "7"), (1.5, "1.5")])
def test_what_is_no_text_is_shown_as_it_is_written(value, shown):
    (problem,) = compiled(folder(activity("work", description=value))).errors
    assert (problem.message, problem.suggestion) == (f"{shown} is not text.", "Put it in quotation marks.")


@pytest.mark.parametrize("value", [{}, [], {"a": 1}, ["x"]])
def test_nobody_is_told_to_put_what_has_parts_into_quotation_marks(value):
    (problem,) = compiled(folder(activity("work", description=value))).errors
    assert "quotation" not in problem.suggestion


FRONT_MATTER = {
    "an anchor": ("id: a\ntitle: &t x\n", 3),
    "a key twice": ("id: a\nid: b\n", 3),
    "a colon in a text": ("id: a\nversion: 1\ntitle: Use it: now\n", 4),
    "a tab": ("id:\n\t- a\n", 3),
    "no keys": ("just a line\n", 1),
    "a list": ("- a\n", 1),
    "a character that none stores": ('id: "\\0"\n', 2),
}


@pytest.mark.parametrize("mistake", FRONT_MATTER)
def test_front_matter_that_cannot_be_read_is_told_at_its_line_with_what_helps(mistake):
    said, line = FRONT_MATTER[mistake]
    files = folder(activity("work"), resources__guide=f"---\n{said}---\n# Guide\n".encode())
    files["resources/guide.md"] = files.pop("resources/guide")

    (problem,) = compiled(files).problems

    assert (problem.code, problem.file, problem.line) == (ProblemCode.BAD_FRONT_MATTER, "resources/guide.md", line)
    assert problem.suggestion


@pytest.mark.parametrize("value", ["5", "five", 2.5, 0, -1, True, "", "1e3", 1e300, [3], {}])
@pytest.mark.parametrize("key", ["maxIterations", "autoAdvanceMs"])
def test_what_is_no_number_says_how_one_is_written(key, value):
    if key == "maxIterations":
        wrong = activity(
            "work", loops=[{"id": "l", "name": "L", "type": "forEach", "over": "x", "steps": [], key: value}]
        )
    else:
        wrong = activity("work", checkpoints=[{**TWO, "id": "c", "name": "C", "blocking": False, key: value}])
    (problem,) = compiled(folder(wrong)).errors
    assert (problem.code, problem.path.rpartition(".")[2]) == (ProblemCode.BAD_VALUE, key)
    assert "digits alone" in problem.suggestion


@pytest.mark.parametrize("value", ["yes", "no", "on", "true", "False", 1, 0, [], {}])
def test_what_is_neither_true_nor_false_says_how_it_is_written(value):
    (problem,) = compiled(folder(activity("work", required=value))).errors
    assert (problem.code, problem.path) == (ProblemCode.WRONG_TYPE, "required")
    assert "without quotation marks" in problem.suggestion


ASKS = {"kind": "checkpoint", "id": "c", "ref": "one"}
TWO = {"message": "Two?", "options": [{"id": "a", "label": "A"}]}


@pytest.mark.parametrize("one", [{"ref": "two"}, {"ref": "one"}, {"ref": "two", **TWO}, {"ref": 7}])
@pytest.mark.parametrize("strictness", Strictness)
def test_a_fragment_that_refers_to_another_is_told_where_it_is_kept_and_once(one, strictness):
    about = workflow(fragments={"checkpoints": {"one": one, "two": TWO}})
    files = {
        "workflow.yaml": json.dumps(about).encode(),
        "activities/01-work.yaml": json.dumps(activity("work", steps=[ASKS])).encode(),
    }

    compilation = compiled(files, strictness=strictness)

    (problem,) = compilation.problems
    assert (problem.file, problem.path) == ("workflow.yaml", "fragments.checkpoints.one.ref")
    assert (compilation.program is None) == (strictness is Strictness.STRICT)
    if compilation.program is not None:
        (asked,) = compilation.program.activities[0].checkpoints
        assert asked.message == one.get("message", "one")
