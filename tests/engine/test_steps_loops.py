"""Loops: four types, nested or by name, and what would make them run for ever or never."""

import pytest

from tests.step_documents import compiled, errors_of, items_of, loop, program_of, step, warnings_of, workflow
from workflows_app.engine.program import LoopKind

CONTROL = {"contractRef": "wr.contracts.loop_control"}
BY_ARTIFACT = {"kind": "artifact_contract", **CONTROL}
MORE = {"var": "more", "equals": True}


def looped(body=None, **settings):
    return items_of(workflow(loop("again", body or [step("inner")], **settings)))["again"]


def test_a_while_loop_has_a_condition():
    made = looped(condition=MORE, maxIterations=7, iterationVar="round")
    assert (made.loops, made.max_iterations, made.iteration_variable) == (LoopKind.WHILE, 7, "round")
    assert (made.condition.path, made.decision_contract) == (("more",), "")


def test_a_for_loop_counts_to_a_number_or_to_a_variable():
    assert looped(type="for", count=3).count == 3
    assert looped(type="for", count="limits.rounds").count == ("limits", "rounds")


@pytest.mark.parametrize(("written", "count"), [("3", 3), (" 10 ", 10), ("2.0", 2), ("0", 0)])
def test_a_count_in_quotation_marks_is_a_number_and_no_variable(written, count):
    document = workflow(loop("again", [step("inner")], type="for", count=written, maxIterations=20))
    assert items_of(document)["again"].count == count
    assert ("wrong_type", "steps[0].loop.count") in warnings_of(document)


@pytest.mark.parametrize("written", ["2.5", "-1", "1001", 2.5, -1, -0.5, 1e300, True, False, None, [], {}])
def test_a_count_that_is_no_number_of_rounds_is_refused(written):
    document = workflow(loop("again", [step("inner")], type="for", count=written))
    assert [path for code, path in errors_of(document) if code in {"bad_value", "wrong_type"}] == [
        "steps[0].loop.count"
    ]


def test_a_for_each_loop_names_its_list_its_item_and_its_index():
    made = looped(type="forEach", items="found.files", itemVar="file", indexVar="number")
    assert (made.items, made.item_variable, made.index_variable) == (("found", "files"), "file", "number")


def test_a_condition_source_goes_before_the_condition():
    source = {"kind": "context_variable", "condition": MORE}
    assert looped(conditionSource=source, condition={"var": "other"}).condition.path == ("more",)


def test_a_decision_by_artifact_names_its_contract_and_its_loop():
    made = looped([step("decide", outputContract=CONTROL)], conditionSource={**BY_ARTIFACT, "loopId": "tries"})
    assert (made.decision_contract, made.decision_loop_id, made.condition) == (CONTROL["contractRef"], "tries", None)


def test_a_decision_that_the_body_hands_in_goes_before_a_condition():
    document = workflow(loop("again", [step("decide", outputContract=CONTROL)], condition=MORE))
    made = items_of(document)["again"]
    assert (made.decision_contract, made.condition) == (CONTROL["contractRef"], None)
    assert warnings_of(document) == [("conflicting_keys", "steps[0].loop.condition")]


def test_the_contract_of_a_decision_is_embedded():
    document = workflow(loop("again", [step("decide", outputContract=CONTROL)], conditionSource=BY_ARTIFACT))
    assert set(program_of(document).contracts) == {CONTROL["contractRef"]}


def test_a_loop_nobody_can_stop_is_warned_of():
    document = workflow(loop("again", [step("inner")], conditionSource=BY_ARTIFACT))
    assert warnings_of(document) == [("bad_loop", "steps[0].loop")]


def test_a_decision_that_is_not_the_last_word_is_warned_of():
    body = [step("decide", outputContract=CONTROL), step("inner")]
    document = workflow(loop("again", body, conditionSource=BY_ARTIFACT))
    (problem,) = compiled(document).warnings
    assert (problem.code, problem.path) == ("bad_loop", "steps[0].loop")
    assert "Move the step" in problem.suggestion


@pytest.mark.parametrize(
    ("settings", "code", "path"),
    [
        ({"type": "for"}, "missing_key", "count"),
        ({"type": "forEach"}, "missing_key", "items"),
        ({"type": "sometimes"}, "bad_value", "type"),
        ({"type": "for", "count": -1}, "bad_value", "count"),
        ({"type": "for", "count": 1001}, "bad_value", "count"),
        ({"type": "for", "count": ""}, "too_short", "count"),
        ({"type": "for", "count": "a..b"}, "bad_value", "count"),
        ({"type": "forEach", "items": ".a"}, "bad_value", "items"),
        ({"type": "forEach", "items": ["a"]}, "wrong_type", "items"),
        ({"iterationVar": "2nd"}, "bad_value", "iterationVar"),
        ({"condition": {"var": "x", "equlas": 1}}, "unknown_operator", "condition.equlas"),
        ({"conditionSource": {"kind": "stars"}}, "bad_value", "conditionSource.kind"),
        ({"conditionSource": {"kind": "artifact_contract"}}, "missing_key", "conditionSource.contractRef"),
        ({"conditionSource": {"kind": "context_variable"}}, "missing_key", "conditionSource.condition"),
        (
            {"conditionSource": {"kind": "artifact_contract", "contractRef": "wr.contracts.gaps"}},
            "bad_loop",
            "conditionSource.contractRef",
        ),
        (
            {"conditionSource": {"kind": "artifact_contract", "contractRef": "wr.contracts.none"}},
            "unknown_contract",
            "conditionSource.contractRef",
        ),
    ],
)
def test_what_is_wrong_with_a_loop_has_its_place(settings, code, path):
    assert (code, f"steps[0].loop.{path}") in errors_of(workflow(loop("again", [step("inner")], **settings)))


def test_a_while_loop_needs_something_that_decides():
    again = loop("again", [step("inner")])
    del again["loop"]["condition"]
    assert errors_of(workflow(again)) == [("missing_key", "steps[0].loop.condition")]


def test_rounds_and_a_body_are_required():
    again = {"id": "again", "type": "loop", "title": "Again", "loop": {"type": "for", "count": 1}}
    assert set(errors_of(workflow(again))) == {
        ("missing_key", "steps[0].body"),
        ("missing_key", "steps[0].loop.maxIterations"),
    }
    assert errors_of(workflow(loop("again", []))) == [("too_short", "steps[0].body")]


# Bodies by name


def test_a_step_that_a_loop_names_runs_only_inside_it():
    document = workflow(step("before"), loop("again", "work", type="for", count=2), step("work"), step("after"))
    body = program_of(document).activities[0].body
    assert [item.id for item in body] == ["before", "again", "after"]
    assert [item.id for item in body[1].body] == ["work"]


def test_two_loops_may_name_the_same_step():
    document = workflow(
        loop("one", "work", type="for", count=2), loop("two", "work", type="for", count=2), step("work")
    )
    items = program_of(document).activities[0].body
    assert items[0].body == items[1].body


def test_an_inner_loop_may_name_a_step_as_well():
    document = workflow(loop("outer", [loop("inner", "work", type="for", count=2)], type="for", count=2), step("work"))
    (outer,) = program_of(document).activities[0].body
    assert [item.id for item in outer.body[0].body] == ["work"]


def test_a_body_that_is_no_step_gets_the_one_that_was_meant():
    document = workflow(loop("again", "wrok", type="for", count=2), step("work"))
    (problem,) = compiled(document).errors
    assert (problem.code, problem.path) == ("unknown_step", "steps[0].body")
    assert problem.suggestion == "Did you mean 'work'?"


@pytest.mark.parametrize(
    ("steps", "places"),
    [
        ([loop("one", "one", type="for", count=1)], [0]),
        ([loop("one", "two", type="for", count=1), loop("two", "one", type="for", count=1)], [0, 1]),
        ([loop("one", [loop("deep", "one", type="for", count=1)], type="for", count=1)], [0]),
    ],
)
def test_loops_that_only_contain_themselves_are_refused(steps, places):
    expected = [("bad_loop", f"steps[{place}].body") for place in places]
    assert errors_of(workflow(*steps)) == expected
    assert errors_of(workflow(*steps, step("beside"))) == expected


def test_a_loop_that_comes_back_to_itself_is_refused_where_it_does():
    around = [loop("outer", "one", type="for", count=1), loop("one", "two", type="for", count=1)]
    document = workflow(*around, loop("two", "one", type="for", count=1))
    assert errors_of(document) == [("bad_loop", "steps[2].body")]


def nested(depth):
    inner = [step("deepest")]
    for level in range(depth, 0, -1):
        inner = [loop(f"level-{level}", inner, type="for", count=1)]
    return workflow(*inner)


def test_loops_stand_four_deep_and_no_deeper():
    assert errors_of(nested(4)) == []
    assert errors_of(nested(5)) == [("bad_loop", "steps[0].body[0].body[0].body[0].body[0].body")]


# What a loop gives to its body


def test_a_loop_without_notes_has_steps_without_notes():
    again = loop("again", [step("one"), step("two", notesOptional=False)])
    items = items_of(workflow({**again, "notesOptional": True}))
    assert (items["one"].notes_required, items["two"].notes_required) == (False, True)


def test_a_loop_has_a_condition_and_a_confirmation_of_its_own():
    again = loop("again", [step("inner")], type="for", count=2)
    made = items_of(workflow({**again, "runCondition": MORE, "requireConfirmation": True}))["again"]
    assert (made.run_condition.path, made.confirmation.confirms) == (("more",), "always")


@pytest.mark.parametrize(
    ("settings", "warned"),
    [
        ({"type": "for", "count": 0}, [("unreachable", "steps[0].loop.count")]),
        ({"type": "for", "count": 9, "maxIterations": 3}, [("bad_loop", "steps[0].loop.maxIterations")]),
        ({"type": "for", "count": 3, "maxIterations": 3}, []),
        ({"type": "for", "count": 3, "items": "x"}, [("ignored_field", "steps[0].loop.items")]),
        ({"type": "forEach", "items": "goal", "condition": MORE}, [("ignored_field", "steps[0].loop.condition")]),
    ],
)
def test_rounds_that_cannot_be_are_warned_of(settings, warned):
    assert warnings_of(workflow(loop("again", [step("inner")], **settings))) == warned


def test_what_is_wrong_in_a_nested_body_has_its_place():
    document = workflow(loop("one", [step("first"), loop("two", [step("third", titel="x")], type="for", count=1)]))
    assert errors_of(document) == [("unknown_key", "steps[0].body[1].body[0].titel")]


def decided_by_name(loop_id, *, name, prompt="Decide."):
    body = [step("decide", prompt=prompt, outputContract=CONTROL)]
    return loop(loop_id, body, conditionSource={**BY_ARTIFACT, "loopId": name})


@pytest.mark.parametrize(
    ("name", "prompt", "said"),
    [
        ("tries", "Decide.", ""),
        ("others", "Decide.", "is another loop"),
        ("others", "Send it with loopId others.", "is another loop"),
        ("tires", "Decide.", "is nearly that"),
        ("Tries", "Decide.", "is nearly that"),
        # A name of its author's own: the agent is told it.
        ("review_loop", "Decide.", ""),
    ],
)
def test_a_decision_that_speaks_of_another_loop_or_nearly_of_its_own_is_told(name, prompt, said):
    others = loop("others", [step("inner")])
    for document in (
        workflow(decided_by_name("tries", name=name, prompt=prompt), others),
        workflow(loop("around", [decided_by_name("tries", name=name, prompt=prompt), others])),
    ):
        told = compiled(document).warnings

        assert [(problem.code.value, said in problem.message) for problem in told] == (
            [("bad_loop", True)] if said else []
        )
        assert all(problem.path.endswith("loop.conditionSource.loopId") for problem in told)
        assert all("'tries'" in problem.suggestion for problem in told)
