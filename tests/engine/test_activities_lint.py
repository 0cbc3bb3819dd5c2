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
    ],
    ids=["transition", "effect", "decision"],
)
def test_every_way_that_leads_on_counts(way):
    assert warnings(activity("one", **way), activity("two")) == ()


def test_an_activity_that_only_a_loop_names_is_told_and_what_it_leads_to_is_not():
    loop = {"id": "l", "name": "L", "type": "while", "condition": equals("x", value=True), "activities": ["two"]}
    first = activity("one", transitions=[{"to": "__terminal__"}], loops=[loop])

    problem = only(
        warnings(first, activity("two", transitions=[{"to": "three"}]), activity("three")), ProblemCode.UNREACHABLE
    )

    assert (problem.file, "Only a loop names" in problem.message) == ("activities/02-two.toon", True)
    assert "transition" in problem.suggestion


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
        ("dangling_transition", "error", one, "checkpoints[0].options[0].effect.transitionTo"),
        ("unknown_activity", "warning", one, "checkpoints[0].options[0].effect.skipActivities[0]"),
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


SETS = {"action": "set", "value": True}


def using(name):
    """The ways in which nothing but an activity's own acts use a variable, and what of the activity each is."""
    show = {"action": "message", "message": f"It is {{{name}}}."}
    passing = {"workflow": "team.other", "passContext": [name]}
    return {
        "entryActions[0]": {"entryActions": [{**SETS, "target": name}]},
        "exitActions[0]": {"exitActions": [{**SETS, "target": f"{name}.part"}]},
        "steps[0].actions[0]": {"steps": [step("do", actions=[{**SETS, "target": name}])]},
        "steps[0].actions[1]": {"steps": [step("do", actions=[{**SETS, "target": "x"}, show])]},
        "entryActions[1]": {"entryActions": [{**SETS, "target": "x"}, {**SETS, "target": "x", "value": f"{{{name}}}"}]},
        "exitActions[1]": {"exitActions": [show | {"message": "Bye."}, {"action": "validate", "target": f"!{name}"}]},
        "triggers": {"triggers": [passing]},
        "steps[0].triggers": {"steps": [step("do", triggers=[passing])]},
    }


@pytest.mark.parametrize("place", using(""))
@pytest.mark.parametrize("name", ["plan_aproved", "planApproved", "plan-approved", "plan_approvd"])
def test_a_declared_name_that_is_misspelt_is_told_wherever_it_is_used(place, name):
    declared = [{"name": "plan_approved", "type": "boolean"}, {"name": "x", "type": "boolean"}]
    about = workflow(variables=declared)

    problem = only(compiled(folder(activity(**using(name)[place]), about=about)).warnings, "undeclared_variable")

    assert (problem.path, problem.suggestion) == (place, "Did you mean 'plan_approved'?")
    assert repr(name) in problem.message


SLIPS = {"feilds": "fields", "heta": "heat", "sakcs": "sacks", "adress": "address", "fiields": "fields"}
OTHERS = ["yeat", "hat", "she", "dresses", "sack2"]


@pytest.mark.parametrize("place", using(""))
@pytest.mark.parametrize("name", [*SLIPS, *OTHERS])
def test_two_letters_that_changed_places_or_one_written_twice_make_a_declared_name_another(place, name):
    declared = [{"name": each, "type": "boolean"} for each in ("fields", "heat", "sacks", "address", "hse", "x")]
    about = workflow(variables=declared)

    found = compiled(folder(activity(**using(name)[place]), about=about)).warnings

    told = [each.suggestion for each in found if each.code.value == "undeclared_variable"]
    assert told == ([f"Did you mean {SLIPS[name]!r}?"] if name in SLIPS else [])


@pytest.mark.parametrize("place", using(""))
@pytest.mark.parametrize("name", ["current_activity", "approved", "plan", "currentItem", "entry"])
def test_what_only_acts_use_needs_no_declaration(place, name):
    declared = [{"name": name, "type": "boolean"} for name in ("plan_approved", "entries", "x")]
    loop = {
        "id": "each",
        "name": "Each",
        "type": "forEach",
        "over": "entries",
        "variable": "entry",
        "steps": [step("a")],
    }
    about = workflow(variables=declared)

    found = compiled(folder(activity(loops=[loop], **using(name)[place]), about=about)).warnings

    assert "undeclared_variable" not in codes(found)


def test_a_place_of_documents_with_a_misspelt_name_is_told():
    about = workflow(
        variables=[{"name": "planning_folder", "type": "string"}],
        artifactLocations={"planning": "{planing_folder}/plan", "reviews": "{planning_folder}/reviews"},
    )
    document = {"id": "plan", "name": "plan.md", "location": "planing"}
    free = {"id": "note", "name": "note.md", "location": "docs/reviews"}

    found = compiled(folder(activity(artifacts=[free, document]), about=about)).warnings

    told = {(problem.code.value, problem.path, problem.suggestion) for problem in found}
    assert told >= {
        ("undeclared_variable", "artifactLocations.planning", "Did you mean 'planning_folder'?"),
        ("unknown_ref", "artifacts[1].location", "Did you mean 'planning'?"),
    }
    assert codes(found).count("unknown_ref") == 1


def test_a_time_that_nobody_looks_at_is_told():
    asking = {"autoAdvanceMs": 1000, "defaultOption": "yes"}
    found = warnings(activity("one", checkpoints=[checkpoint("c", **asking)]))
    assert only(found, ProblemCode.IGNORED_FIELD).path == "checkpoints[0].autoAdvanceMs"
    assert codes(warnings(activity("one", checkpoints=[checkpoint("c", blocking=False, **asking)]))) == []


def test_a_name_is_told_once_whatever_uses_it():
    asks = step("do", condition=equals("plan_aproved", value=True), actions=[{**SETS, "target": "plan_aproved"}])
    about = workflow(variables=[{"name": "plan_approved", "type": "boolean"}])

    assert only(compiled(folder(activity(steps=[asks]), about=about)).warnings, "undeclared_variable")


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
    assert problem.path == "checkpoints[0].options"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"autoAdvanceMs": 10, "blocking": False}, "missing_key"),
        ({"autoAdvanceMs": 10, "blocking": False, "defaultOption": "yse"}, "unknown_option"),
        ({"defaultOption": "maybe"}, "unknown_option"),
    ],
)
def test_a_checkpoint_that_answers_itself_needs_an_option_to_choose(said, code):
    (problem,) = warnings(activity("one", checkpoints=[checkpoint("c", **said)]))
    assert (problem.code.value, problem.path) == (code, "checkpoints[0].defaultOption")


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ({"type": "forEach", "steps": [step("s")]}, "loops[0].over"),
        ({"type": "while", "steps": [step("s")]}, "loops[0].condition"),
        ({"type": "doWhile", "steps": [step("s")]}, "loops[0].condition"),
        ({"type": "while", "condition": equals("x", value=True)}, "loops[0]"),
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


OPTIONS = [
    {"id": "a", "label": "A", "effect": {"setVariable": {"x": True}, "transitionTo": "two"}},
    {"id": "b", "label": "B", "effect": {"skipActivities": ["two"]}},
]
BY_LISTS = activity(
    "one",
    steps=[
        step(
            "s",
            checkpoint="c",
            condition=equals("x", value=True),
            actions=[{"action": "set", "target": "x", "value": True}],
        ),
        step("t", triggers=[{"workflow": "team.plan"}]),
    ],
    checkpoints=[checkpoint("c", options=OPTIONS, message="{x}?", defaultOption="a", autoAdvanceMs=5)],
    loops=[{"id": "l", "name": "L", "type": "forEach", "variable": "v", "over": "x", "steps": [step("inner")]}],
    decisions=[{"id": "d", "name": "D", "branches": [{"id": n, "label": n, "isDefault": n == "p"} for n in "pq"]}],
    transitions=[{"to": "two", "condition": equals("x", value=True)}, {"to": "workflow-end", "isDefault": True}],
    triggers=[{"workflow": "team.plan"}],
    entryActions=[{"action": "set", "target": "x", "value": True}],
)
IN_ORDER = activity(
    "one",
    steps=[
        {"kind": "action", "id": "s", "when": "x", "actions": [{"action": "set", "target": "x", "value": True}]},
        {
            "kind": "checkpoint",
            "id": "c#1",
            "message": "{x}?",
            "options": [*OPTIONS, {"id": "e", "label": "E", "effect": {"exit": "out"}}],
        },
        {"kind": "checkpoint", "id": "f", "ref": "kept"},
        {"kind": "loop", "id": "l", "loopType": "while", "when": "x", "steps": [{"kind": "action", "id": "inner"}]},
    ],
    exits=[{"id": "out", "isDefault": True}, {"id": "late", "when": "y"}],
)
KEEPING = workflow(
    variables=[{"name": name, "type": "boolean"} for name in "xy"],
    initialActivity="one",
    modes=[{"id": "m", "name": "M", "activationVariable": "x", "skipActivities": ["two"], "defaults": {"y": True}}],
    fragments={"checkpoints": {"kept": {"message": "{x}?", "options": OPTIONS, "when": "x", "defaultOption": "a"}}},
    graph={"one": {"out": "two", "late": "__terminal__"}},
)
# What is told of files, and not of what stands in them.
OF_FILES = {ProblemCode.TOO_LARGE, ProblemCode.UNREACHABLE}


def places_in(value, place=()):
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*place, key)
        yield from places_in(inner, (*place, key))


def with_at(value, place, put):
    key, *rest = place
    made = dict(value) if isinstance(value, dict) else list(value)
    made[key] = with_at(value[key], rest, put) if rest else put
    return made


def is_reached(value, path):
    """Whether the path leads to a value, or to a key that is missing where it would be."""
    key = path.removeprefix(".").partition("[")[0].partition(".")[0]
    if path.startswith("["):
        index, _, rest = path[1:].partition("]")
        return isinstance(value, list) and int(index) < len(value) and is_reached(value[int(index)], rest)
    if not key:
        return not path
    rest = path.removeprefix(".").removeprefix(key)
    return isinstance(value, dict | None) and (is_reached(value[key], rest) if key in (value or ()) else not rest)


@pytest.mark.parametrize("written", [BY_LISTS, IN_ORDER], ids=["by lists", "in order"])
@pytest.mark.parametrize("put", ["no-such", None, [7]], ids=repr)
def test_a_problem_says_where_its_author_wrote_it(written, put):
    """In whichever file, as one would reach the value: whatever is wrong."""
    about = KEEPING if written is IN_ORDER else {key: value for key, value in KEEPING.items() if key != "graph"}
    told = 0
    for file, document in (("workflow.yaml", about), ("activities/01-one.yaml", written)):
        for place in places_in(document):
            documents = {
                "workflow.yaml": about,
                "activities/01-one.yaml": written,
                "activities/02-two.yaml": activity("two"),
            }
            documents[file] = with_at(document, place, put)
            for problem in compiled({path: json.dumps(each).encode() for path, each in documents.items()}).problems:
                if problem.code not in OF_FILES:
                    told += 1
                    assert problem.path, (place, problem)
                    assert is_reached(documents[problem.file], problem.path), (place, problem)
    assert told > 50


@pytest.mark.parametrize("severity", Strictness)
def test_where_the_graph_leads_to_nothing_is_told_of_the_graph(severity):
    """Also of the exits of a borrowed activity, which whoever borrows it can mend."""
    lent = activity("one", exits=[{"id": "out", "isDefault": True}])
    about = {**workflow(initialActivity="one"), "graph": {"one": {"out": "tow"}}, "activities": ["other/01-one.yaml"]}
    files = {
        "workflow.yaml": json.dumps(about).encode(),
        "activities/02-two.yaml": json.dumps(activity("two")).encode(),
    }
    library = Library(folders={"other": {"activities/01-one.yaml": json.dumps(lent).encode()}})

    problem = only(compiled(files, library=library, strictness=severity).problems, ProblemCode.DANGLING_TRANSITION)

    assert (problem.file, problem.path, problem.suggestion) == ("workflow.yaml", "graph.one.out", "Did you mean 'two'?")
    assert problem.severity is (Severity.ERROR if severity is Strictness.STRICT else Severity.WARNING)


@pytest.mark.parametrize("owner", ["", "other::"])
def test_what_is_wrong_with_a_fragment_is_told_once_and_where_it_is_kept(owner):
    kept = {"fragments": {"checkpoints": {"sure": {"message": "Sure?", "options": [{"id": "a"}]}}}}
    own = {**workflow(), **({} if owner else kept)}
    asking = [{"kind": "checkpoint", "id": name, "ref": f"{owner}sure"} for name in ("c", "d")]
    files = {
        "workflow.yaml": json.dumps(own).encode(),
        "activities/01-one.yaml": json.dumps(activity("one", steps=asking)).encode(),
    }
    library = Library(folders={"other": {"workflow.yml": json.dumps({**workflow(id="other"), **kept}).encode()}})

    (problem,) = compiled(files, library=library).errors

    assert (problem.file, problem.path) == (
        "other/workflow.yml" if owner else "workflow.yaml",
        "fragments.checkpoints.sure.options[0].label",
    )


KEYS_MISSPELT = {
    "kind": ({"kiind": "checkpoint", "id": "sure", "message": "Sure?", "options": [{"id": "a", "label": "A"}]}, "kind"),
    "kind in capitals": ({"Kind": "loop", "id": "l", "loopType": "while", "steps": [{"id": "x", "name": "X"}]}, "kind"),
    "loopType": (
        {"kind": "loop", "id": "l", "looptype": "while", "condition": equals("a", value=True), "steps": []},
        "loopType",
    ),
    "name": ({"id": "look", "nmae": "Look"}, "name"),
    "message": (
        {"kind": "checkpoint", "id": "c", "mesage": "Sure?", "options": [{"id": "a", "label": "A"}]},
        "message",
    ),
    "label": ({"kind": "checkpoint", "id": "c", "message": "M", "options": [{"id": "a", "lable": "A"}]}, "label"),
    "action": ({"id": "s", "name": "S", "actions": [{"acton": "log", "message": "m"}]}, "action"),
}


@pytest.mark.parametrize("case", KEYS_MISSPELT)
def test_a_misspelt_key_that_has_to_be_there_is_one_mistake(case):
    written, missing = KEYS_MISSPELT[case]
    files = {
        "workflow.yaml": json.dumps(
            workflow(initialActivity="one", variables=[{"name": "a", "type": "boolean"}])
        ).encode(),
        "activities/01-one.yaml": json.dumps(activity("one", steps=[written])).encode(),
    }
    ours = {ProblemCode.MISSING_KEY, ProblemCode.UNKNOWN_KEY, ProblemCode.BAD_ID, ProblemCode.IGNORED_FIELD}
    told = [problem for problem in compiled(files).problems if problem.code in ours]

    (problem,) = told
    assert problem.code is ProblemCode.MISSING_KEY
    assert problem.path.endswith(missing)
    assert "instead of" in problem.suggestion


def test_a_key_that_is_missing_and_one_that_is_like_none_are_two_mistakes():
    files = {
        "workflow.yaml": json.dumps(workflow(initialActivity="one")).encode(),
        "activities/01-one.yaml": json.dumps(activity("one", steps=[{"id": "look", "colour": "red"}])).encode(),
    }
    codes = [problem.code for problem in compiled(files).problems]

    assert codes.count(ProblemCode.MISSING_KEY) == codes.count(ProblemCode.UNKNOWN_KEY) == 1


TEXTS = {
    "a message": lambda text: {"checkpoints": [checkpoint("c", message=text)], "steps": [step("s", checkpoint="c")]},
    "a step": lambda text: {"steps": [step("s", description=text)]},
    "the name of a step": lambda text: {"steps": [{"id": "s", "name": text}]},
    "an action": lambda text: {"steps": [step("s", actions=[{"action": "message", "message": text}])]},
    "an entry": lambda text: {"entryActions": [{"action": "log", "message": text}], "steps": [step("s")]},
    "an option": lambda text: {
        "checkpoints": [checkpoint("c", options=[{"id": "o", "label": text}])],
        "steps": [step("s", checkpoint="c")],
    },
}


@pytest.mark.parametrize("where", TEXTS)
def test_a_misspelt_name_in_double_braces_is_told_wherever_it_is_shown(where):
    about = {"variables": [{"name": "fields", "type": "string"}], "initialActivity": "one"}

    def told(text):
        found = compiled(folder(activity("one", **TEXTS[where](text)), about=workflow(**about))).warnings
        return [each.message for each in found if each.code is ProblemCode.UNDECLARED_VARIABLE]

    (message,) = told("Sow {{fields}} or {{fiels}}?")
    assert "'fiels'" in message
    assert told("Sow {{fields}} or {{ fields }}.") == []
