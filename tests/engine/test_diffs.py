"""Differences are complete, ordered, bounded, and name places as an author would."""

import json

import pytest

from tests.activity_folders import folder, program_of, toon, workflow
from workflows_app.engine.compile import compile_source
from workflows_app.engine.diffs import MAX_DIFF_CHARS, MAX_FILE_DIFF_CHARS, MAX_VALUE_CHARS, diff_files, diff_programs
from workflows_app.engine.source import Library, Source, SourceFormat
from workflows_app.engine.values import Change

STEPS = [
    {"id": "read-it", "title": "Read", "prompt": "Read every line of it."},
    {"id": "judge-it", "title": "Judge", "prompt": "Say what must change."},
]


def program(**changes):
    document = {"id": "team.x", "name": "X", "version": "1.0.0", "description": "Does a thing.", "steps": STEPS}
    files = {"a.json": json.dumps(document | changes).encode()}
    compiled = compile_source(source=Source(format=SourceFormat.STEPS_JSON, files=files), library=Library()).program
    assert compiled is not None
    return compiled


def places(before, after):
    return {item.path: item.change for item in diff_programs(before=before, after=after)}


def test_a_program_does_not_differ_from_itself():
    assert diff_programs(before=program(), after=program()) == ()


def test_a_step_is_named_by_its_id():
    changed = [STEPS[0], STEPS[1] | {"prompt": "Say what is good as well."}]

    assert places(program(), program(steps=changed)) == {
        "activities[main].body[judge-it].prompt": Change.CHANGED,
    }


ALIKE_IN_PYTHON = [(1, True), (0, False), (1, "1"), (True, "true"), (None, False)]


@pytest.mark.parametrize(("before", "after"), ALIKE_IN_PYTHON + [pair[::-1] for pair in ALIKE_IN_PYTHON])
@pytest.mark.parametrize("key", ["equals", "in"])
def test_values_that_conditions_tell_apart_are_a_change(before, after, key):
    def asking(value):
        condition = {"var": "goal", key: [value] if key == "in" else value}
        return program(steps=[STEPS[0] | {"runCondition": condition}, STEPS[1]])

    (found,) = places(asking(before), asking(after))

    assert found.startswith("activities[main].body[read-it].run_condition.value")


def test_one_number_written_in_two_ways_is_no_change():
    def asking(number, **more):
        return program(steps=[STEPS[0] | {"runCondition": {"var": "goal", "equals": number}}, STEPS[1]], **more)

    assert places(asking(3), asking(3.0)) == {}
    assert places(asking(3), asking(3.0, about="Another word.")) == {"about": Change.ADDED}


LISTED = ["Read one.", "Read two.", "Read three.", "Read four."]


@pytest.mark.parametrize("at", range(5))
def test_what_comes_and_goes_in_a_list_without_names_is_one_entry(at):
    more = [*LISTED[:at], "Read another.", *LISTED[at:]]

    assert places(program(metaGuidance=LISTED), program(metaGuidance=more)) == {f"guidance[{at}]": Change.ADDED}
    assert places(program(metaGuidance=more), program(metaGuidance=LISTED)) == {f"guidance[{at}]": Change.REMOVED}


def test_what_two_folders_call_alike_is_told_apart_by_its_folder():
    files = {"techniques/TECHNIQUE.md": b"# All\n", "techniques/cut.md": b"# Cut\n"}
    about = workflow(techniques={"workflow": ["cut"]})

    def of(**more):
        library = Library(folders={"meta": {"workflow.toon": toon(workflow(id="meta")), **files}})
        return program_of(folder(about=about) | files | more, library=library)

    more = {"techniques/add.md": b"# Add\n", "techniques/cut.md": b"# Cut it\n"}

    assert set(places(of(), of(**more))) == {
        "skills[team.plan/add]",
        "skills[team.plan/cut].digest",
        "skills[team.plan/cut].summary",
        "skills[team.plan/cut].title",
    }


def test_new_and_gone_steps_are_one_entry_each():
    other = {"id": "ask-it", "title": "Ask", "prompt": "Ask what it is for."}

    assert places(program(), program(steps=[STEPS[0], other])) == {
        "activities[main].body[judge-it]": Change.REMOVED,
        "activities[main].body[ask-it]": Change.ADDED,
    }


def test_another_order_of_the_same_steps_is_said():
    (item,) = diff_programs(before=program(), after=program(steps=STEPS[::-1]))

    assert item.path == "activities[main].body (order)"
    assert (item.before, item.after) == ('["read-it","judge-it"]', '["judge-it","read-it"]')


def test_everything_is_new_beside_nothing():
    assert {item.change for item in diff_programs(before=None, after=program())} == {Change.ADDED}
    assert {item.change for item in diff_programs(before=program(), after=None)} == {Change.REMOVED}


def test_a_long_value_is_cut():
    changed = [STEPS[0] | {"prompt": "Read it. " * 400}, STEPS[1]]
    (item,) = diff_programs(before=program(), after=program(steps=changed))

    assert len(item.after) == MAX_VALUE_CHARS + 1


LONG = "Read it. " * 400


@pytest.mark.parametrize("place", [0, 1, 395, 401, 2_000, 3_599])
@pytest.mark.parametrize("end", ["", "!", " and all that is beside it" * 40])
def test_a_change_is_seen_wherever_in_a_long_text_it_stands(place, end):
    """A person publishes by what they are shown: the same words before and after tell nothing."""
    texts = [f"{LONG[:place]}{word}{LONG[place:]}{more}" for word, more in (("", ""), ("NOT ", end))]
    old, new = (program(steps=[STEPS[0] | {"prompt": text}, STEPS[1]]) for text in texts)
    for before, after, has_word in ((old, new, "after"), (new, old, "before")):
        (item,) = diff_programs(before=before, after=after)

        assert item.before != item.after
        assert ["NOT" in item.before, "NOT" in item.after] == [has_word == "before", has_word == "after"]
        assert max(len(item.before), len(item.after)) <= MAX_VALUE_CHARS + 1


def test_another_order_is_seen_behind_many_steps_that_stay():
    steps = [STEPS[0] | {"id": f"read-part-{number}"} for number in range(60)]

    (item,) = diff_programs(before=program(steps=steps), after=program(steps=[*steps[:-2], steps[-1], steps[-2]]))

    assert item.before != item.after
    assert item.before.endswith('"read-part-58","read-part-59"]')


@pytest.mark.parametrize(
    ("before", "after", "change", "lines"),
    [
        ({}, {"a": b"x\n"}, Change.ADDED, ["--- /dev/null", "+++ b/a", "+x"]),
        ({"a": b"x\n"}, {}, Change.REMOVED, ["--- a/a", "+++ /dev/null", "-x"]),
        ({"a": b"x\ny\n"}, {"a": b"x\nz\n"}, Change.CHANGED, ["--- a/a", "+++ b/a", "-y", "+z"]),
        ({"a": b"x"}, {"a": b"x\n"}, Change.CHANGED, ["-x", "+x"]),
    ],
)
def test_a_file_is_compared_line_by_line(before, after, change, lines):
    (item,) = diff_files(before=before, after=after)

    assert (item.path, item.change) == ("a", change)
    assert [line for line in lines if line in item.text.splitlines()] == lines


def test_a_document_under_another_name_is_the_same_document():
    (item,) = diff_files(before={"old.json": b"x\ny\n"}, after={"new.json": b"x\nz\n"})

    assert (item.path, item.change) == ("new.json", Change.CHANGED)
    assert item.text.splitlines()[-2:] == ["-y", "+z"]


def test_a_file_that_is_the_same_is_not_mentioned():
    assert diff_files(before={"a": b"x"}, after={"a": b"x"}) == ()


@pytest.mark.parametrize("data", [b"\xff\xfe", b"x\n" * 6_000])
def test_what_cannot_be_shown_by_lines_is_named_without_text(data):
    (item,) = diff_files(before={}, after={"a": data})

    assert (item.change, item.text) == (Change.ADDED, "")


def test_the_text_of_a_difference_is_bounded():
    (item,) = diff_files(before={}, after={"a": b"x" * 200_000})

    assert len(item.text) == MAX_FILE_DIFF_CHARS + 1


def test_the_texts_of_a_difference_are_bounded_together():
    after = {f"{at:03}.txt": f"{at} {'line ' * 20}\n".encode() * 800 for at in range(60)}

    found = diff_files(before={}, after=after)

    told = [each for each in found if each.text]
    assert [each.path for each in found] == sorted(after)
    assert found[: len(told)] == tuple(told)
    assert MAX_DIFF_CHARS <= sum(len(each.text) for each in found) <= MAX_DIFF_CHARS + MAX_FILE_DIFF_CHARS + 1
