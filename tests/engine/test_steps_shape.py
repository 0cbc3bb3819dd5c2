"""What a step workflow may look like: every mistake has its place, its measure and a way out."""

import json

import pytest

from tests.step_documents import compiled, errors_of, loop, program_of, step, warnings_of, workflow
from workflows_app.engine.program import program_bytes, program_from_bytes
from workflows_app.engine.source import Library, Origin, Source, SourceFormat
from workflows_app.engine.steps.findings import MAX_PER_SEVERITY
from workflows_app.engine.steps.reader import MAX_SOURCE_BYTES, compile_steps


def only_problem(document, **keywords):
    (problem,) = compiled(document, **keywords).errors
    return problem


def test_a_workflow_is_one_activity_with_its_steps_in_order():
    program = program_of(workflow(step("first"), step("second"), about="About it.", metaGuidance=["Be kind."]))
    (activity,) = program.activities
    assert (activity.id, program.initial_activity, activity.title) == ("main", "main", "Sample")
    assert [item.id for item in activity.body] == ["first", "second"]
    assert (program.about, program.guidance) == ("About it.", ("Be kind.",))


@pytest.mark.parametrize("key", ["id", "name", "description", "version", "steps"])
def test_a_missing_key_is_named(key):
    document = workflow()
    del document[key]
    assert ("missing_key", key) in errors_of(document)


def test_a_misspelt_key_gets_the_one_that_was_meant():
    problem = only_problem(workflow(step("first", guidence=["Look."])))
    assert (problem.code, problem.path) == ("unknown_key", "steps[0].guidence")
    assert problem.suggestion == "Did you mean 'guidance'?"


@pytest.mark.parametrize("preferences", [{"tone": "kind"}, {"autonomy": "guided"}, {"recommendedAutonomy": "wild"}])
def test_a_workflow_recommends_preferences_that_there_are_and_invents_none(preferences):
    ((_, path),) = errors_of(workflow(recommendedPreferences=preferences))

    assert path == f"recommendedPreferences.{next(iter(preferences))}"


def test_loop_keys_without_the_type_say_what_is_missing():
    problem = only_problem(workflow(step("first", body=[])))
    assert problem.path == "steps[0].body"
    assert '"type": "loop"' in problem.suggestion


def test_a_two_character_step_id_says_how_long_it_is():
    problem = only_problem(workflow(step("ab")))
    assert (problem.code, problem.path) == ("too_short", "steps[0].id")
    assert problem.message == "This has 2 characters; 3 to 64 are allowed."


@pytest.mark.parametrize("wrong", ["Upper", "under_score", "dot.ted", "späße", "trailing\n"])
def test_a_step_id_has_lower_case_letters_digits_and_hyphens(wrong):
    assert errors_of(workflow(step(wrong))) == [("bad_id", "steps[0].id")]


@pytest.mark.parametrize(
    ("fields", "path", "most"),
    [
        ({"name": "x" * 129}, "name", 128),
        ({"description": "x" * 513}, "description", 512),
        ({"about": "x" * 4097}, "about", 4096),
        ({"metaGuidance": ["x" * 257]}, "metaGuidance[0]", 256),
        ({"preconditions": ["x" * 257]}, "preconditions[0]", 256),
        ({"examples": ["x" * 121]}, "examples[0]", 120),
        ({"agentRole": "x" * 1025}, "agentRole", 1024),
        ({"steps": [step("first", prompt="x" * 8193)]}, "steps[0].prompt", 8192),
        ({"steps": [step("first", title="x" * 129)]}, "steps[0].title", 128),
        ({"steps": [step("first", agentRole="x" * 1025)]}, "steps[0].agentRole", 1024),
        (
            {"steps": [step("first", promptFragments=[{"id": "more", "text": "x" * 4097}])]},
            "steps[0].promptFragments[0].text",
            4096,
        ),
    ],
)
def test_a_text_that_is_too_long_is_measured(fields, path, most):
    problem = only_problem(workflow(**fields))
    assert (problem.code, problem.path) == ("too_long", path)
    assert problem.message == f"This has {most + 1} characters; at most {most} are allowed."


def test_lengths_count_characters_not_halves_of_them():
    assert errors_of(workflow(name="😀" * 128)) == []
    assert errors_of(workflow(name="😀" * 129)) == [("too_long", "name")]


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"name": 7}, "This is a number; text is wanted."),
        ({"name": None}, "This is null; text is wanted."),
        ({"name": True}, "This is true or false; text is wanted."),
        ({"name": ["x"]}, "This is a list; text is wanted."),
        ({"name": {}}, "This is an object; text is wanted."),
        ({"examples": "x"}, "This is text; a list is wanted."),
    ],
)
def test_a_wrong_type_says_both_types(fields, wanted):
    assert only_problem(workflow(**fields)).message == wanted


def test_items_that_must_differ_are_compared_by_value():
    reference = {"id": "ref", "title": "t", "source": "s", "purpose": "p", "authoritative": True}
    turned = dict(reversed(reference.items()))
    assert ("bad_value", "references[1]") in errors_of(workflow(references=[reference, turned]))
    assert errors_of(workflow(clarificationPrompts=["Why?", "Who?", "Why?"])) == [
        ("bad_value", "clarificationPrompts[2]"),
    ]


@pytest.mark.parametrize(
    ("number", "code"),
    [(0, "bad_value"), (1001, "bad_value"), (2.5, "bad_value"), ("5", "wrong_type"), (True, "wrong_type")],
)
def test_rounds_are_a_whole_number_within_bounds(number, code):
    document = workflow(loop("again", [step("inner")], maxIterations=number))
    assert errors_of(document) == [(code, "steps[0].loop.maxIterations")]


def test_a_whole_number_may_be_written_as_a_decimal():
    document = workflow(loop("again", [step("inner")], maxIterations=3.0))
    (item,) = program_of(document).activities[0].body
    assert item.max_iterations == 3
    assert isinstance(item.max_iterations, int)


@pytest.mark.parametrize("version", ["1.0", "v1.0.0", "1.0.0.0", "01.0.0", "1.0.0-", "latest", "1.0.0\n", "١.٠.٠"])
def test_a_version_is_semantic(version):
    assert errors_of(workflow(version=version)) == [("bad_value", "version")]


@pytest.mark.parametrize(
    "version", ["0.0.1", "10.20.30", "1.0.0-alpha.1", "1.0.0-0.3.7", "1.0.0+build.5", "1.0.0-rc.1+x"]
)
def test_semantic_versions_are_accepted(version):
    assert errors_of(workflow(version=version)) == []


def test_a_step_has_exactly_one_kind_of_work():
    nothing = {"id": "first", "title": "First"}
    two = step("first", prompt="Do.", promptBlocks={"goal": "Do."})
    assert errors_of(workflow(nothing)) == [("missing_key", "steps[0].prompt")]
    assert errors_of(workflow(two)) == [("conflicting_keys", "steps[0].promptBlocks")]


def test_an_unknown_type_of_step_is_told_what_there_is():
    problem = only_problem(workflow({"id": "first", "type": "standard", "title": "First", "prompt": "Do."}))
    assert (problem.code, problem.path) == ("bad_value", "steps[0].type")
    assert "leave the key out" in problem.suggestion


def test_one_id_stands_once_however_deep():
    document = workflow(step("first"), loop("again", [step("second"), step("first")]))
    assert errors_of(document) == [("duplicate_id", "steps[1].body[1].id")]


def test_fragment_and_slot_and_assessment_ids_stand_once():
    fragment = {"id": "more", "text": "More."}
    slot = {"slotId": "review", "purpose": "p", "default": "a"}
    scale = {"id": "ready", "purpose": "p", "dimensions": [{"id": "d", "purpose": "p", "levels": ["lo", "hi"]}]}
    document = workflow(
        step("first", promptFragments=[fragment, {**fragment, "text": "Other."}], assessmentRefs=["ready"]),
        extensionPoints=[slot, {**slot, "default": "b"}],
        assessments=[scale, {**scale, "purpose": "q"}],
    )
    assert set(errors_of(document)) == {
        ("duplicate_id", "steps[0].promptFragments[1].id"),
        ("duplicate_id", "extensionPoints[1].slotId"),
        ("duplicate_id", "assessments[1].id"),
    }


def test_all_mistakes_are_told_at_once():
    document = workflow(step("ab", prompt=""), step("third", wrong=1), name="", version="x")
    assert set(errors_of(document)) == {
        ("too_short", "steps[0].id"),
        ("too_short", "steps[0].prompt"),
        ("unknown_key", "steps[1].wrong"),
        ("too_short", "name"),
        ("bad_value", "version"),
    }


def test_a_thousand_mistakes_are_counted_and_not_all_listed():
    compilation = compiled(workflow(*(step(f"step-{index}", title="") for index in range(1000))))
    assert len(compilation.errors) == MAX_PER_SEVERITY + 1
    assert "1000 errors were found" in compilation.errors[0].message


def test_ten_thousand_unknown_keys_are_counted_and_not_all_listed():
    compilation = compiled(workflow(**{f"wrong{index}": 1 for index in range(10_000)}))
    assert len(compilation.errors) == 11
    assert any("10000 keys are unknown here" in problem.message for problem in compilation.errors)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "unreadable"),
        (b"{", "unreadable"),
        (b"\xff\xfe", "unreadable"),
        (b'{"id": "a", "id": "b"}', "duplicate_key"),
        (b'{"id": NaN}', "not_a_number"),
        (b'{"id": -Infinity}', "not_a_number"),
        (b'{"id": 1e999}', "not_a_number"),
        (b'{"id": ' + b"9" * 400 + b"}", "not_a_number"),
        (b'{"id": "\\u0000"}', "bad_character"),
        (b'{"id": "\\ud800"}', "bad_character"),
        (b"[" * 100 + b"]" * 100, "too_deep"),
        (b" " * (MAX_SOURCE_BYTES + 1), "too_large"),
        (b"[]", "wrong_type"),
        (b"null", "wrong_type"),
        (b'"text"', "wrong_type"),
    ],
)
def test_bytes_that_are_no_workflow_are_refused_with_a_reason(data, code):
    assert errors_of(data) == [(code, "")]


def test_a_syntax_error_has_its_line():
    problem = only_problem('{\n  "id": "ä",\n  "name" 7\n}'.encode())
    assert (problem.code, problem.line) == ("unreadable", 3)


@pytest.mark.parametrize(("files", "code"), [({}, "no_workflow"), ({"a": b"{}", "b": b"{}"}, "unknown_file")])
def test_a_step_workflow_is_one_file(files, code):
    source = Source(format=SourceFormat.STEPS_JSON, files=files)
    compilation = compile_steps(source=source, library=Library())
    assert [problem.code for problem in compilation.errors] == [code]
    assert compilation.workflow_id == ""


def test_the_id_is_told_even_when_nothing_else_can_be_read():
    compilation = compiled(json.dumps({"id": "team.sample"}).encode())
    assert (compilation.program, compilation.workflow_id) == (None, "team.sample")


# Ids of workflows


def test_a_legacy_id_runs_and_is_told_its_new_name():
    compilation = compiled(workflow(id="my-flow", modelTier="mid"), origin=Origin.PROJECT)
    assert compilation.program is not None
    (problem,) = compilation.warnings
    assert (problem.code, problem.path, problem.suggestion) == ("legacy_id", "id", "Rename it to 'project.my-flow'.")


@pytest.mark.parametrize("wrong", ["team.two.dots", "Team.upper", "team.", ".name", "9team.x", "team.ünï"])
def test_an_id_has_exactly_one_dot_between_two_lower_case_names(wrong):
    assert errors_of(workflow(id=wrong)) == [("bad_id", "id")]


def test_the_namespace_wr_is_ours():
    assert errors_of(workflow(id="wr.mine"), origin=Origin.TEAM) == [("reserved_namespace", "id")]
    assert errors_of(workflow(id="wr.mine"), origin=Origin.BUNDLED) == []


def test_an_id_that_is_too_long_is_measured_once():
    assert errors_of(workflow(id=f"team.{'x' * 60}")) == [("too_long", "id")]


def test_a_routine_is_known_by_its_name():
    assert program_of(workflow(id="team.routine-look")).kind == "routine"
    assert program_of(workflow(id="team.look")).kind == "workflow"


def test_keys_that_mean_nothing_here_are_told_and_not_dropped_in_silence():
    document = workflow(loop("again", [step("inner")], count=3))
    assert ("ignored_field", "steps[0].loop.count") in warnings_of(document)


def test_a_number_that_no_double_holds_exactly_reads_as_it_will_be_stored():
    document = workflow(step("first", runCondition={"var": "goal", "equals": 2**64}))
    program = program_of(document)
    assert program_from_bytes(program_bytes(program)) == program
    assert program.activities[0].body[0].run_condition.value == 18446744073709552000


def test_more_steps_than_a_run_can_have_are_refused():
    assert errors_of(workflow(*(step(f"step-{index}") for index in range(2000)))) == []
    assert errors_of(workflow(*(step(f"step-{index}") for index in range(2001)))) == [("too_large", "steps[2000]")]


def test_thousands_of_wrong_names_are_told_without_comparing_each_with_all():
    bodies = [loop(f"loop-{index}", f"nothing-{index}", type="for", count=1) for index in range(500)]
    compilation = compiled(workflow(*bodies, *(step(f"step-{index}") for index in range(1000))))
    assert sum(problem.suggestion != "" for problem in compilation.errors) == 50
