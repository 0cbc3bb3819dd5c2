"""What a workflow may do and its author hardly meant is a warning, once, where it stands."""

import json

import pytest

from tests.activity_folders import (
    activity,
    checkpoint,
    codes,
    compiled,
    equals,
    folder,
    only,
    step,
    toon,
    workflow,
)
from workflows_app.engine.problems import ProblemCode, Severity
from workflows_app.engine.source import Library, Strictness


def warnings(*activities, library=None, **about):
    declared = [{"name": name, "type": "boolean"} for name in ("x", "y")]
    made = workflow(variables=declared, initialActivity=activities[0]["id"], **about)
    compilation = compiled(folder(*activities, about=made), library=library or Library())
    assert compilation.program is not None
    assert {problem.severity for problem in compilation.problems} <= {Severity.WARNING}
    return compilation.warnings


def choosing(effect):
    return checkpoint("c", options=[{"id": "o", "label": "O", "effect": effect}])


def test_an_activity_that_nothing_leads_to_is_told():
    found = warnings(activity("one", transitions=[{"to": "two"}]), activity("two"), activity("three"))
    assert only(found, ProblemCode.UNREACHABLE).file == "activities/03-three.toon"


@pytest.mark.parametrize(
    "way",
    [
        {"transitions": [{"to": "two", "condition": equals("x", value=True)}, {"to": "workflow-end"}]},
        {"checkpoints": [choosing({"transitionTo": "two"})]},
        {
            "decisions": [
                {
                    "id": "d",
                    "name": "D",
                    "branches": [
                        {"id": "a", "label": "A", "transitionTo": "two", "condition": equals("x", value=True)},
                        {"id": "b", "label": "B", "isDefault": True},
                    ],
                }
            ]
        },
        {
            "transitions": [{"to": "__terminal__"}],
            "loops": [
                {
                    "id": "l",
                    "name": "L",
                    "type": "while",
                    "condition": equals("x", value=True),
                    "activities": ["two"],
                }
            ],
        },
    ],
    ids=["transition", "effect", "decision", "loop"],
)
def test_every_way_that_leads_on_counts(way):
    assert warnings(activity("one", **way), activity("two")) == ()


def test_activities_that_are_entry_points_each_are_not_missed():
    assert warnings(activity("one"), activity("two")) == ()


def test_the_end_can_be_named():
    targets = [{"to": name} for name in ("__terminal__", "workflow-end", "end-workflow")]
    assert warnings(activity("one", transitions=targets)) == ()


NOWHERE = folder(
    activity(
        "one",
        transitions=[{"to": "tow"}, {"to": "two"}],
        decisions=[
            {
                "id": "d",
                "name": "D",
                "branches": [
                    {"id": "a", "label": "A", "condition": equals("x", value=True), "transitionTo": "gone"},
                    {"id": "b", "label": "B", "isDefault": True},
                ],
            }
        ],
        checkpoints=[choosing({"transitionTo": "nope", "skipActivities": ["never"]})],
    ),
    activity("two"),
    about=workflow(
        variables=[{"name": "x", "type": "boolean"}],
        initialActivity="one",
        modes=[{"id": "m", "name": "M", "activationVariable": "x", "skipActivities": ["two", "late"]}],
    ),
)


def test_ways_that_lead_nowhere_are_errors_with_their_path():
    found = compiled(NOWHERE).problems
    told = {(p.code.value, p.severity.value, p.file, p.path) for p in found}
    one = "activities/01-one.toon"
    assert told == {
        ("dangling_transition", "error", one, "transitions[0].to"),
        ("dangling_transition", "warning", one, "decisions[0].branches[0].transitionTo"),
        ("dangling_transition", "error", one, "checkpoints.c.options.o.effect.transitionTo"),
        ("unknown_activity", "warning", one, "checkpoints.c.options.o.effect.skipActivities[0]"),
        ("unknown_activity", "warning", "workflow.toon", "modes[0].skipActivities[1]"),
    }
    assert next(p for p in found if p.path == "transitions[0].to").suggestion == "Did you mean 'two'?"


def test_a_borrowed_activity_may_lead_to_what_its_borrower_lacks():
    side = {"activities/01-lent.toon": toon(activity("lent", transitions=[{"to": "home-only"}]))}
    files = folder(activity("one"), about=workflow(activities=["side/01-lent.toon"]))
    problem = only(compiled(files, library=Library(folders={"side": side})).problems, "dangling_transition")
    assert problem.severity is Severity.WARNING


def test_older_readers_let_ways_pass_that_lead_nowhere():
    compilation = compiled(NOWHERE, strictness=Strictness.LEGACY)
    assert (compilation.errors, codes(compilation.warnings).count("dangling_transition")) == ((), 3)


ON = equals("x", value=True)


@pytest.mark.parametrize(
    ("ways", "told"),
    [
        ([{"to": "two", "condition": ON}], True),
        ([{"to": "two", "condition": ON}, {"to": "__terminal__", "condition": equals("y", value=True)}], True),
        ([{"to": "two", "condition": ON}, {"to": "__terminal__"}], False),
        ([{"to": "__terminal__", "condition": ON}, {"to": "two", "isDefault": True}], False),
    ],
)
def test_transitions_of_which_none_is_the_default_are_told(ways, told):
    found = warnings(activity("one", transitions=ways), activity("two"))
    assert [(p.code.value, p.path) for p in found] == ([("missing_key", "transitions")] if told else [])


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        ("boolean", "true", True),
        ("boolean", 1, True),
        ("boolean", True, False),
        ("number", "3", True),
        ("number", True, True),
        ("number", 3.5, False),
        ("string", True, True),
        ("string", "true", False),
        ("array", "x", True),
        ("boolean", None, False),
    ],
)
@pytest.mark.parametrize("use", ["condition", "when", "effect", "action"])
def test_a_value_that_the_declared_type_never_has_is_told(kind, value, told, use):
    literal = json.dumps(value)
    fields = {
        "condition": {"steps": [step("s", condition=equals("v", value))]},
        "when": {"steps": [step("s", when=f"v == {literal}")]},
        "effect": {"steps": [step("s", checkpoint="c")], "checkpoints": [choosing({"setVariable": {"v": value}})]},
        "action": {"steps": [step("s", actions=[{"action": "set", "target": "v", "value": value}])]},
    }[use]
    about = workflow(variables=[{"name": "v", "type": kind}])
    found = compiled(folder(activity("one", **fields), about=about)).problems
    assert [(p.code.value, p.severity.value) for p in found] == ([("bad_value", "warning")] if told else [])


@pytest.mark.parametrize(
    ("variable", "mode"),
    [
        ({"name": "on", "type": "string"}, {}),
        ({"name": "on", "type": "number", "defaultValue": 1}, {}),
        ({"name": "depth", "type": "number"}, {"defaults": {"depth": "deep"}}),
        ({"name": "depth", "type": "boolean"}, {"defaults": {"depth": "true"}}),
    ],
)
def test_a_mode_that_its_variables_cannot_have_is_told(variable, mode):
    variables = [{"name": "on", "type": "boolean"}, variable] if variable["name"] != "on" else [variable]
    mode = {"id": "m", "name": "M", "activationVariable": "on", **mode}
    files = folder(
        activity(steps=[step("do")]), about=workflow(variables=variables, modes=[mode], initialActivity="work")
    )

    (told,) = compiled(files).warnings

    assert (told.code.value, told.file) == ("bad_value", "workflow.toon")
    assert repr(variable["name"]) in told.message
    assert "mode 'm'" in told.message


def test_a_name_in_a_message_that_nobody_declares_is_told():
    asked = checkpoint("c", message="Go on with {x}, {fiels.first} and {{left}}?")
    problem = only(
        warnings(activity("one", steps=[step("s", checkpoint="c")], checkpoints=[asked])), "undeclared_variable"
    )
    assert "'fiels'" in problem.message


def test_a_file_that_is_not_called_like_its_activity_is_told():
    files = folder(activity("one"))
    files["activities/02-zwo.toon"] = files.pop("activities/01-one.toon")
    problem = only(compiled(files).problems, ProblemCode.CONFLICTING_KEYS)
    assert (problem.file, problem.path) == ("activities/02-zwo.toon", "id")


BROKEN = [b"id: two\n  bad: [\n", b"\xff", b"[]", b""]


@pytest.mark.parametrize("broken", BROKEN)
def test_what_others_say_of_a_file_that_cannot_be_read_is_no_mistake_of_theirs(broken):
    loop = {"id": "l", "name": "L", "type": "while", "condition": equals("undeclared", 1), "activities": ["two"]}
    about = workflow(initialActivity="two")
    files = folder(activity("one", transitions=[{"to": "two"}], loops=[loop]), about=about)
    files["activities/02-two.yaml"] = broken
    assert {(p.file, p.severity.value) for p in compiled(files).problems} == {("activities/02-two.yaml", "error")}


def test_a_variable_that_nobody_declares_is_told_once():
    loop = {
        "id": "l",
        "name": "L",
        "type": "forEach",
        "variable": "item",
        "over": "plan.tasks",
        "steps": [step("s", condition=equals("item.open", value=True))],
    }
    found = warnings(
        activity(
            "one",
            steps=[step("a", condition=equals("typo", 1)), step("b", when="typo && y && deep.inside == 2")],
            loops=[loop],
            checkpoints=[choosing({"setVariable": {"set_here": True, "x": False}})],
            transitions=[{"to": "__terminal__", "condition": equals("typo", 2)}, {"to": "__terminal__"}],
        ),
    )
    assert codes(found) == ["undeclared_variable"] * 4
    assert {p.message.split("'")[1] for p in found} == {"typo", "deep", "set_here", "plan"}


def test_what_the_rounds_of_a_loop_add_needs_no_declaration():
    loop = {
        "id": "l",
        "name": "L",
        "type": "while",
        "variable": "n",
        "condition": {"type": "simple", "variable": "n", "operator": "<", "value": 3},
        "steps": [step("s", condition=equals("currentIteration", 1))],
    }
    assert warnings(activity("one", loops=[loop])) == ()


def test_the_variables_of_modes_are_to_be_declared_too():
    mode = {"id": "m", "name": "M", "activationVariable": "reviewing", "defaults": {"x": True, "deep": True}}
    found = warnings(activity("one"), modes=[mode])
    assert {(p.file, p.message.split("'")[1]) for p in found} == {
        ("workflow.toon", "reviewing"),
        ("workflow.toon", "deep"),
    }


def test_a_checkpoint_without_options_cannot_be_answered():
    found = warnings(activity("one", checkpoints=[{"id": "c", "name": "C", "message": "Well?"}]))
    problem = only(found, ProblemCode.UNANSWERABLE_CHECKPOINT)
    assert problem.path == "checkpoints.c.options"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"autoAdvanceMs": 10, "blocking": False}, "missing_key"),
        ({"autoAdvanceMs": 10, "defaultOption": "yse"}, "unknown_option"),
        ({"defaultOption": "maybe"}, "unknown_option"),
    ],
)
def test_a_checkpoint_that_answers_itself_needs_an_option_to_choose(said, code):
    (problem,) = warnings(activity("one", checkpoints=[checkpoint("c", **said)]))
    assert (problem.code.value, problem.path) == (code, "checkpoints.c.defaultOption")


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ({"type": "forEach", "steps": [step("s")]}, "loops.l.over"),
        ({"type": "while", "steps": [step("s")]}, "loops.l.condition"),
        ({"type": "doWhile", "steps": [step("s")]}, "loops.l.condition"),
        ({"type": "while", "condition": equals("x", value=True)}, "loops.l"),
    ],
)
def test_a_loop_that_cannot_do_its_work_is_told(said, path):
    problem = only(warnings(activity("one", loops=[{"id": "l", "name": "L", **said}])), ProblemCode.BAD_LOOP)
    assert problem.path == path


def test_a_loop_that_only_breaks_has_a_condition():
    loop = {"id": "l", "name": "L", "type": "while", "breakCondition": equals("x", value=True), "steps": [step("s")]}
    assert warnings(activity("one", loops=[loop])) == ()


def test_a_workflow_that_is_started_must_be_known_where_others_are():
    said = activity("one", triggers=[{"workflow": "team.plan"}], steps=[step("a", triggers=[{"workflow": "othr"}])])
    assert warnings(said) == ()
    found = warnings(said, library=Library(workflow_ids=frozenset({"other"})))
    problem = only(found, ProblemCode.UNKNOWN_WORKFLOW)
    assert problem.suggestion == "Did you mean 'other'?"


def test_a_decision_needs_a_default_for_when_nothing_holds():
    branches = [{"id": n, "label": n, "condition": equals("x", value=True), "transitionTo": "one"} for n in ("a", "b")]
    problem = only(
        warnings(activity("one", decisions=[{"id": "d", "name": "D", "branches": branches}])), ProblemCode.MISSING_KEY
    )
    assert problem.path == "decisions[0].branches"
