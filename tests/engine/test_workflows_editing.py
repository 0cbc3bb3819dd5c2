"""What the editor asks of the engine: the lines of places, the word that was meant, and answers that a workflow does not have."""

import json

import pytest

from teams_app.engine.errors import InvalidInputError
from tests.activity_folders import activity, checkpoint, folder, program_of as folder_program, step as folder_step
from tests.flood_play import Work, allowed
from tests.step_documents import compiled, program_of, step, workflow
from workflows_app.engine.places import line_at, lines_of_blocks, lines_of_json, replacement
from workflows_app.engine.trial import check_answers, deciding_variables, questions_of

TEXT = """{
  "id": "team.a",
  "steps": [
    {"id": "one", "say": "a \\"brace\\": { and [ in a text"},
    {
      "id": "two",
      "when": {"var": "x",
        "equal": 1}
    }
  ],
  "tags": ["a",
    "b"]
}"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("id", 2),
        ("steps", 3),
        ("steps[0]", 4),
        ("steps[0].say", 4),
        ("steps[1]", 5),
        ("steps[1].id", 6),
        ("steps[1].when.equal", 8),
        ("steps[1].when.absent", 7),
        ("steps[1].nothing[3].deep", 5),
        ("tags[1]", 12),
        ("nowhere", 1),
    ],
)
def test_each_place_of_a_document_has_its_line_or_that_of_what_is_around_it(path, line):
    assert line_at(lines=lines_of_json(TEXT), path=path) == line


YAML = """# transitions: [none]
id: one
description: |
  to: nobody
  - transitions
steps:
- kind: action
  id: first
- kind: checkpoint
  "id": second
  options:
    - {id: "yes", label: "Yes"}
    -
      id: no
      effect:
        transitionTo: nowhere
  message: "to: whom"

transitions:
  - to: two
  - to: tree
    condition: {type: simple, variable: x}
nested:
  - - to: deep
    - a
"""
TOON = """id: one
rules[2]: a,b
vars[2]{name,type}:
  x,boolean
  y,nothing
steps[2]:
  - id: first
    tags[2]: p,q
  - id: second
    condition:
      variable: x
"""


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        (YAML, "id", 2),
        (YAML, "steps", 6),
        (YAML, "steps[0].id", 8),
        (YAML, "steps[1]", 9),
        (YAML, "steps[1].id", 10),
        (YAML, "steps[1].options[0].label", 12),
        (YAML, "steps[1].options[1]", 13),
        (YAML, "steps[1].options[1].effect.transitionTo", 16),
        (YAML, "steps[1].defaultOption", 9),
        (YAML, "transitions[1].to", 21),
        (YAML, "transitions[1].condition.variable", 22),
        (YAML, "nested[0][1]", 25),
        (YAML.replace("\n", "\r\n"), "transitions[1].to", 21),
        (TOON, "rules[1]", 2),
        (TOON, "vars[1].type", 5),
        (TOON, "steps[0].tags", 8),
        (TOON, "steps[1].condition.variable", 11),
        (TOON, "nowhere", 1),
    ],
)
def test_each_place_of_indented_text_has_its_line_or_that_of_what_is_around_it(text, path, line):
    assert line_at(lines=lines_of_blocks(text), path=path) == line


@pytest.mark.parametrize("cut", range(0, len(YAML), 11))
def test_indented_text_that_is_cut_anywhere_is_read_as_far_as_it_goes(cut):
    whole = lines_of_blocks(YAML)

    assert all(whole.get(path, line) == line for path, line in lines_of_blocks(YAML[:cut]).items() if path in whole)


@pytest.mark.parametrize("cut", range(0, len(TEXT), 7))
def test_a_text_that_is_cut_anywhere_is_read_as_far_as_it_goes(cut):
    whole = lines_of_json(TEXT)

    assert all(whole.get(path, line) == line for path, line in lines_of_json(TEXT[:cut]).items() if path in whole)


def test_the_word_that_was_meant_takes_the_place_of_the_one_that_stands_in_the_line():
    said = {"message": "A condition has no operator 'equal'.", "suggestion": "Did you mean 'equals'?"}

    assert replacement(**said, line='  "equal": 1') == ("equal", "equals")
    assert replacement(**said, line='  "other": 1') is None
    assert replacement(message="No 'x'.", suggestion="Known: a, b.", line="x") is None


@pytest.mark.parametrize(
    ("message", "meant", "line", "mend"),
    [
        (
            "The variable 'publish_requeested', used by the transition to 'publish-review', is not declared.",
            "publish_requested",
            "  - to: publish-review",
            None,
        ),
        (
            "The variable 'publish_requeested', used by the transition to 'publish-review', is not declared.",
            "publish_requested",
            "  - {to: publish-review, when: publish_requeested}",
            ("publish_requeested", "publish_requested"),
        ),
        ("The activity 'review' has no exit 'dnoe'.", "done", "review: {dnoe: end}", ("dnoe", "done")),
    ],
)
def test_the_word_that_is_mended_is_the_one_that_is_nearly_what_was_meant(message, meant, line, mend):
    assert replacement(message=message, suggestion=f"Did you mean {meant!r}?", line=line) == mend


@pytest.mark.parametrize("key", ["modelTier"])
def test_what_was_meant_is_told_as_an_author_writes_it(key):
    (problem,) = compiled(workflow(step("one", **{key: "lightweiight"}))).errors

    assert problem.suggestion == "Did you mean 'lightweight'?"


def test_answers_that_a_workflow_has_are_taken_and_others_refused():
    program = folder_program(
        folder(activity("work", checkpoints=[checkpoint("go")], steps=[folder_step("do", checkpoint="go")]))
    )
    (question,) = questions_of(program)

    check_answers(program=program, answers={question.item_id: {"option": "yes"}, "work@0::do": {"context": {"a": 1}}})
    for wrong in (
        {"goo": {"option": "yes"}},
        {question.item_id: {"option": "yess"}},
        {"do": {"option": "yes"}},
        {"do": {"contxt": {}}},
        {"do": "yes"},
    ):
        with pytest.raises(InvalidInputError):
            check_answers(program=program, answers=wrong)


def test_the_variables_that_decide_are_told_once():
    program = program_of(
        json.loads(
            json.dumps(
                {
                    "id": "team.a",
                    "name": "A",
                    "description": "A.",
                    "version": "1.0.0",
                    "steps": [
                        step("one", runCondition={"var": "risk", "equals": "high"}),
                        step(
                            "two", runCondition={"and": [{"var": "risk", "equals": "low"}, {"var": "b", "equals": 1}]}
                        ),
                    ],
                }
            )
        )
    )

    assert deciding_variables(program) == ("risk", "b")


def nested_documents():
    yield "lists", lambda size: "[" * size
    yield "objects", lambda size: '{"a":' * (size // 5)
    yield "lists in lists", lambda size: '{"steps": ' + "[0," * (size // 3)
    yield "a long name around many", lambda size: '{"' + "n" * (size // 2) + '": [' + "0," * (size // 4)
    yield "long names in each other", lambda size: ('{"' + "n" * 300 + '":') * (size // 305)


def nested_blocks():
    yield "items in items", lambda size: "- " * (size // 2)
    yield "items below items", lambda size: "".join(" " * at + "-\n" for at in range(int(size**0.5)))
    yield "keys below keys", lambda size: "".join(" " * at + "key:\n" for at in range(int(size**0.5)))
    yield "blanks", lambda size: "a" + " " * size
    yield "a long name around many", lambda size: "n" * (size // 2) + ":\n" + "- a\n" * (size // 8)
    yield "items", lambda size: "list:\n" + "- a\n" * (size // 4)


@pytest.mark.parametrize(("kind", "written"), list(nested_blocks()), ids=[kind for kind, _ in nested_blocks()])
def test_places_of_indented_text_cost_in_proportion_however_it_nests(kind, written):
    text = written(200_000)

    with Work() as work:
        told = sum(map(len, lines_of_blocks(text)))

    assert work.seconds <= allowed(plain=0, size=len(text))
    assert told <= 400 * len(text)


@pytest.mark.parametrize(("kind", "written"), list(nested_documents()), ids=[kind for kind, _ in nested_documents()])
def test_places_are_told_in_proportion_to_the_text_however_it_nests(kind, written):
    told = {size: sum(map(len, lines_of_json(written(size)))) for size in (2_000, 32_000)}

    assert told[32_000] <= 400 * 32_000, kind
    assert told[32_000] <= 20 * max(told[2_000], 10_000), kind


def test_a_place_that_is_too_far_within_is_told_of_the_nearest_around_it():
    text = '{\n"steps":\n[\n' + "[" * 500 + "]" * 500 + ',\n{"id": 1}]}'
    lines = lines_of_json(text)

    assert lines["steps[1].id"] == 5
    assert line_at(lines=lines, path="steps[0]" + "[0]" * 499) == 4
    assert line_at(lines=lines, path="steps[1]" + ".x" * 100_000) == 5
