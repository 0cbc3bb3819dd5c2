"""A folder becomes a program; what is wrong with it becomes problems, and nothing vanishes on the way."""

import pytest

from tests.activity_folders import (
    activity,
    checkpoint,
    codes,
    compiled,
    equals,
    folder,
    only,
    program_of,
    skill,
    step,
    toon,
    workflow,
)
from workflows_app.engine.activities.findings import MAX_PER_SEVERITY
from workflows_app.engine.problems import ProblemCode, Severity
from workflows_app.engine.program import (
    COMPILER_VERSION,
    ActionKind,
    ArtifactLocation,
    ConditionMode,
    Family,
    VariableType,
    program_bytes,
    program_from_bytes,
    workflow_hash,
)
from workflows_app.engine.source import Library, Origin, Strictness


def test_a_folder_becomes_a_program_of_the_activity_family():
    about = workflow(description="D", author="A", tags=["t"], rules=["r"], initialActivity="work")
    program = program_of(folder(about=about))
    assert (program.compiler, program.family, program.conditions) == (
        COMPILER_VERSION,
        Family.ACTIVITIES,
        ConditionMode.STRICT,
    )
    assert (program.id, program.title, program.version) == ("team.plan", "Plan", "1.0.0")
    assert (program.description, program.author, program.tags, program.rules) == ("D", "A", ("t",), ("r",))
    assert program.initial_activity == "work"


def test_a_program_survives_its_bytes():
    about = workflow(variables=[{"name": "x", "type": "number", "defaultValue": 1.5}], note={"deep": [1, None, "é"]})
    program = program_of(folder(activity(steps=[step("a")], checkpoints=[checkpoint("c")], stray=1), about=about))
    assert program_from_bytes(program_bytes(program)) == program


def test_a_complete_folder_has_no_problem_at_all():
    assert compiled(folder()).problems == ()


def test_activities_stand_in_the_order_of_their_numbers_not_of_their_names():
    files = {"workflow.toon": toon(workflow())}
    for number in ("10", "9", "008", "1"):
        files[f"activities/{number}-a{number}.toon"] = toon(activity(f"a{number}", steps=[step("do")]))
    program = program_of(files)
    assert [one.id for one in program.activities] == ["a1", "a008", "a9", "a10"]
    assert [one.artifact_prefix for one in program.activities] == ["1", "008", "9", "10"]
    assert program.initial_activity == "a1"


def test_a_workflow_that_leads_on_says_where_it_begins():
    files = folder(activity("one", transitions=[{"to": "two"}]), activity("two"))
    problem = only(compiled(files).warnings, ProblemCode.MISSING_KEY)
    assert (problem.file, problem.path) == ("workflow.toon", "initialActivity")


def test_independent_activities_need_no_beginning():
    assert compiled(folder(activity("one"), activity("two"))).problems == ()


def test_a_beginning_that_is_no_activity_is_an_error():
    problem = only(compiled(folder(about=workflow(initialActivity="wrok"))).errors, ProblemCode.UNKNOWN_ACTIVITY)
    assert problem.suggestion == "Did you mean 'work'?"


# The generations write the same things differently


def test_variables_have_their_default_only_when_they_have_one():
    declared = [
        {"name": "a", "type": "string"},
        {"name": "b", "type": "boolean", "defaultValue": False},
        {"name": "c", "type": "object", "defaultValue": None},
        {"name": "d", "type": "array", "description": "D", "required": True},
    ]
    a, b, c, d = program_of(folder(about=workflow(variables=declared))).variables
    assert (a.has_default, b.has_default, b.default, c.has_default, c.default) == (False, True, False, True, None)
    assert (d.type, d.description, d.required) == (VariableType.ARRAY, "D", True)


def test_an_artifact_location_is_a_path_or_an_object():
    places = {"a": "out", "b": {"path": "in", "description": "D", "gitignored": True}}
    locations = program_of(folder(about=workflow(artifactLocations=places))).artifact_locations
    assert locations == {
        "a": ArtifactLocation(path="out"),
        "b": ArtifactLocation(path="in", description="D", gitignored=True),
    }


def test_the_skills_of_a_workflow_are_a_list_or_have_a_primary_one():
    skills = {"skills__00-s.toon": skill("s"), "skills__01-t.toon": skill("t")}
    listed = program_of(folder(about=workflow(skills=["s", "t"]), **skills))
    named = program_of(folder(about=workflow(skills={"primary": "s", "supporting": ["t"]}), **skills))
    assert (listed.primary_skill, listed.skill_ids) == ("", ("s", "t"))
    assert (named.primary_skill, named.skill_ids) == ("s", ("s", "t"))


def test_the_roles_of_an_execution_model_are_kept():
    about = workflow(executionModel={"roles": [{"id": "worker", "description": "Works"}]})
    (role,) = program_of(folder(about=about)).roles
    assert (role.id, role.description) == ("worker", "Works")


def test_triggers_are_one_object_or_a_list():
    trigger = {"workflow": "other", "description": "D", "passContext": ["x"]}
    one = program_of(folder(activity(triggers=trigger))).activities[0].triggers
    many = program_of(folder(activity(triggers=[trigger]))).activities[0].triggers
    assert one == many
    assert (one[0].workflow, one[0].description, one[0].pass_context) == ("other", "D", ("x",))


def test_a_mode_keeps_what_it_skips_and_sets():
    mode = {
        "id": "review",
        "name": "Review",
        "activationVariable": "reviewing",
        "recognition": ["review it"],
        "skipActivities": ["work"],
        "defaults": {"deep": True},
        "description": "D",
    }
    about = workflow(modes=[mode], variables=[{"name": n, "type": "boolean"} for n in ("reviewing", "deep")])
    (found,) = program_of(folder(about=about)).modes
    assert (found.activation_variable, found.skip_activities, found.defaults) == (
        "reviewing",
        ("work",),
        {"deep": True},
    )


def test_an_activity_keeps_everything_it_says():
    said = activity(
        description="D",
        problem="P",
        recognition=["do it"],
        estimatedTime="10-20m",
        outcome=["done"],
        context_to_preserve=["x - the x"],
        required=False,
        notes=["n"],
        rules=["r"],
        artifacts=[{"id": "doc", "name": "doc.md", "location": "planning", "action": "update", "description": "A"}],
        entryActions=[{"action": "log", "message": "in"}],
        exitActions=[{"action": "message", "message": "out"}],
    )
    (found,) = program_of(folder(said)).activities
    assert (found.description, found.problem, found.recognition) == ("D", "P", ("do it",))
    assert (found.estimated_time, found.outcome, found.required) == ("10-20m", ("done",), False)
    assert (found.context_to_preserve, found.notes, found.rules) == (("x - the x",), ("n",), ("r",))
    (artifact,) = found.artifacts
    assert (artifact.id, artifact.name, artifact.location, artifact.updates) == ("doc", "doc.md", "planning", True)
    assert [one.action for one in (*found.entry_actions, *found.exit_actions)] == [ActionKind.LOG, ActionKind.MESSAGE]


def test_a_checkpoint_keeps_its_options_effects_and_timing():
    effect = {"setVariable": {"x": 1}, "transitionTo": "work", "skipActivities": ["work"]}
    said = checkpoint(
        "sure",
        condition=equals("x", 1),
        blocking=False,
        defaultOption="go",
        autoAdvanceMs=30000,
        prerequisite="Read it",
        options=[{"id": "go", "label": "Go", "description": "On", "effect": effect}, {"id": "stop", "label": "Stop"}],
    )
    (found,) = program_of(folder(activity(checkpoints=[said]))).activities[0].checkpoints
    assert (found.blocking, found.required, found.default_option, found.auto_advance_ms) == (False, True, "go", 30000)
    assert (found.prerequisite, found.condition.path, found.human) == ("Read it", ("x",), False)
    go, stop = found.options
    assert (go.effect.set_variable, go.effect.transition_to, go.effect.skip_activities) == ({"x": 1}, "work", ("work",))
    assert stop.effect is None


@pytest.mark.parametrize(
    ("said", "human"),
    [({}, False), ({"human": True}, True), ({"authority": "human"}, True), ({"authority": "relayed"}, False)],
)
def test_a_checkpoint_may_ask_for_a_signed_in_person(said, human):
    (found,) = program_of(folder(activity(checkpoints=[checkpoint("sure", **said)]))).activities[0].checkpoints
    assert found.human is human


def test_an_authority_that_nobody_knows_is_an_error():
    problem = only(
        compiled(folder(activity(checkpoints=[checkpoint("sure", authority="humna")]))).errors, ProblemCode.BAD_VALUE
    )
    assert problem.suggestion == "Did you mean 'human'?"


def test_decisions_and_transitions_keep_their_conditions_and_defaults():
    branches = [
        {"id": "y", "label": "Y", "condition": equals("x", 1), "transitionTo": "work"},
        {"id": "n", "label": "N", "isDefault": True},
    ]
    said = activity(
        decisions=[{"id": "d", "name": "D", "description": "Which", "branches": branches}],
        transitions=[{"to": "work", "condition": equals("x", 2)}, {"to": "__terminal__", "isDefault": True}],
    )
    found = program_of(folder(said, about=workflow(initialActivity="work"))).activities[0]
    yes, no = found.decisions[0].branches
    assert (yes.condition.value, yes.transition_to, yes.is_default) == (1, "work", False)
    assert (no.condition, no.transition_to, no.is_default) == (None, "", True)
    assert [(t.to, t.is_default) for t in found.transitions] == [("work", False), ("__terminal__", True)]


# Nothing vanishes


def test_a_key_that_nobody_knows_is_told_with_its_place_and_kept_at_its_place():
    said = activity(
        stray={"a": [1]},
        steps=[step("a", descripton="oops", actions=[{"action": "log", "extra": 1}])],
        checkpoints=[checkpoint("c", hint="h", options=[{"id": "o", "label": "O", "x": 1, "effect": {"y": 2}}])],
        transitions=[{"to": "work", "why": "w"}],
        artifacts=[{"id": "d", "name": "d", "template": "t"}],
    )
    compilation = compiled(folder(said, about=workflow(colour="red", initialActivity="work")))
    told = {p.path: p.suggestion for p in compilation.warnings if p.code is ProblemCode.UNKNOWN_KEY}
    assert set(told) == {
        "colour",
        "stray",
        "steps[0].descripton",
        "steps[0].actions[0].extra",
        "checkpoints[0].hint",
        "checkpoints[0].options[0].x",
        "checkpoints[0].options[0].effect.y",
        "transitions[0].why",
        "artifacts[0].template",
    }
    assert told["steps[0].descripton"] == "Did you mean 'description'?"
    program = compilation.program
    found = program.activities[0]
    assert (program.extra, found.extra) == ({"colour": "red"}, {"stray": {"a": [1]}})
    assert found.body[1].extra == {"descripton": "oops"}
    assert found.body[1].actions[0].extra == {"extra": 1}
    (asked,) = found.checkpoints
    assert (asked.extra, asked.options[0].extra, asked.options[0].effect.extra) == ({"hint": "h"}, {"x": 1}, {"y": 2})
    assert (found.transitions[0].extra, found.artifacts[0].extra) == ({"why": "w"}, {"template": "t"})


def test_an_effect_beside_an_option_is_told_where_it_belongs():
    options = [{"id": "go", "label": "Go", "transitionTo": "work"}]
    compilation = compiled(folder(activity(checkpoints=[checkpoint("c", options=options)])))
    problem = only(compilation.warnings, ProblemCode.UNKNOWN_KEY)
    assert problem.suggestion == "Write it under `effect`."
    assert compilation.program.activities[0].checkpoints[0].options[0].effect is None


def test_a_broken_activity_is_an_error_of_the_workflow_with_file_and_line():
    compilation = compiled(folder(activities__02_broken=b"", **{"activities__02-broken.toon": b"id: x\nid: y\n"}))
    assert compilation.program is None
    assert compilation.contents == ()
    (problem,) = compilation.errors
    assert (problem.code, problem.file, problem.line) == (ProblemCode.DUPLICATE_KEY, "activities/02-broken.toon", 2)


@pytest.mark.parametrize("strictness", list(Strictness))
@pytest.mark.parametrize("text", [b"", b"- a", b"[1]: x", b"plain"])
def test_an_activity_that_is_no_object_is_an_error_in_either_reading(text, strictness):
    compilation = compiled(folder(**{"activities__02-broken.toon": text}), strictness=strictness)
    assert compilation.program is None
    assert {p.file for p in compilation.errors} == {"activities/02-broken.toon"}


def test_a_folder_without_a_workflow_is_an_error():
    assert codes(compiled({"activities/01-a.toon": b"id: a"}).errors) == ["no_workflow"]
    assert codes(compiled({}).errors) == ["no_workflow"]


def test_the_only_document_at_the_top_describes_the_workflow():
    files = {"plan.toon": toon(workflow(activities=[activity(steps=[step("do")])]))}
    program = program_of(files)
    assert [one.id for one in program.activities] == ["work"]
    assert program.activities[0].artifact_prefix == ""


def test_a_workflow_without_activities_is_an_error():
    problem = only(compiled({"workflow.toon": toon(workflow())}).errors, ProblemCode.MISSING_KEY)
    assert problem.path == "activities"


def test_a_workflow_file_that_cannot_be_read_is_an_error_with_its_line():
    compilation = compiled({**folder(), "workflow.toon": b"id: x\nid: y"})
    (problem,) = compilation.problems
    assert (problem.code, problem.file, problem.line) == (ProblemCode.DUPLICATE_KEY, "workflow.toon", 2)


def test_an_id_of_two_activities_is_an_error():
    files = {**folder(activity("work")), "activities/02-more.toon": toon(activity("work"))}
    problem = only(compiled(files).errors, ProblemCode.DUPLICATE_ID)
    assert problem.file == "activities/02-more.toon"
    assert "activities/01-work.toon" in problem.message


def test_ids_that_are_missing_or_ambiguous_are_errors():
    said = activity(steps=[{"name": "No id"}, step("a b"), step("a/b"), step("a@1")])
    compilation = compiled(folder(said))
    assert [(p.code.value, p.path) for p in compilation.errors] == [
        ("missing_key", "steps[0].id"),
        ("bad_id", "steps[1].id"),
        ("bad_id", "steps[2].id"),
        ("bad_id", "steps[3].id"),
    ]
    assert compilation.errors[1].suggestion == "Write 'a-b'."


def test_wrong_types_are_told_with_their_path():
    said = activity(
        required="yes",
        outcome="done",
        steps=[step("a", required=1), "b"],
        checkpoints=[checkpoint("c", autoAdvanceMs=0, message=7)],
        loops={"id": "l"},
    )
    found = {(p.code.value, p.path) for p in compiled(folder(said)).errors}
    assert found == {
        ("wrong_type", "required"),
        ("wrong_type", "outcome"),
        ("wrong_type", "steps[0].required"),
        ("wrong_type", "steps[1]"),
        ("wrong_type", "checkpoints[0].message"),
        ("bad_value", "checkpoints[0].autoAdvanceMs"),
        ("wrong_type", "loops"),
    }


@pytest.mark.parametrize(("said", "read"), [(5, 5), (5.0, 5), (2**53 - 1, 2**53 - 1)])
def test_a_number_of_rounds_is_a_whole_number(said, read):
    loop = {"id": "l", "name": "L", "type": "forEach", "over": "x", "maxIterations": said, "steps": [step("a")]}
    assert program_of(folder(activity(loops=[loop]))).activities[0].body[0].max_iterations == read


@pytest.mark.parametrize("said", [0, -1, 1.5, True, "5", 2**53])
def test_any_other_number_of_rounds_is_an_error(said):
    loop = {"id": "l", "name": "L", "type": "forEach", "over": "x", "maxIterations": said, "steps": [step("a")]}
    problem = only(compiled(folder(activity(loops=[loop]))).errors, ProblemCode.BAD_VALUE)
    assert problem.path == "loops[0].maxIterations"


def test_legacy_reading_makes_the_best_of_what_has_an_obvious_reading():
    said = {
        "id": "work",
        "steps": [{"name": "No id"}, step("a b", required=1)],
        "checkpoints": [{"id": "c", "message": 7}],
    }
    compilation = compiled(folder(said), strictness=Strictness.LEGACY)
    assert compilation.errors == ()
    assert {p.severity for p in compilation.problems} == {Severity.WARNING}
    found = compilation.program.activities[0]
    assert [item.id for item in found.body] == ["c", "step-1", "a-b"]
    assert found.checkpoints[0].message == "7"


def test_a_wrong_condition_is_an_error_at_its_place():
    said = activity(steps=[step("a", condition={"type": "simple", "variable": "x", "operator": "=", "value": 1})])
    (problem,) = compiled(folder(said)).errors
    assert (problem.code, problem.file) == (ProblemCode.UNKNOWN_OPERATOR, "activities/01-work.toon")
    assert problem.path.startswith("steps[0].condition")


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [("type", "foreach", "Did you mean 'forEach'?"), ("type", None, "")],
)
def test_a_loop_has_a_kind_that_is_known(key, value, hint):
    loop = {"id": "l", "name": "L", "over": "x", "steps": [step("a")], key: value}
    (problem,) = compiled(folder(activity(loops=[loop]))).errors
    assert (problem.path, problem.suggestion) == ("loops[0].type", hint)


def test_a_version_or_time_of_another_form_is_a_warning():
    compilation = compiled(folder(activity(version="1.0", estimatedTime="soon")))
    assert [(p.code.value, p.path) for p in compilation.problems] == [
        ("bad_value", "estimatedTime"),
        ("bad_value", "version"),
    ]
    assert compilation.program is not None


# Files of the folder


def test_documentation_is_no_part_of_the_workflow():
    more = dict.fromkeys(["README.md", "LICENSE", "activities/README.md", "skills/readme.txt", "COPYING.md"], b"words")
    assert compiled({**folder(), **more}).problems == ()


def test_files_that_are_not_read_are_told():
    more = {
        "activities/plan.toon": b"id: x",
        "activities/02-x.txt": b"",
        "activities/deep/01-x.toon": b"id: x",
        "skils/00-s.toon": b"id: s",
        "other.yaml": b"id: x",
        "NOTES.md": b"words",
    }
    warnings = compiled({**folder(), **more}).warnings
    assert {p.file for p in warnings} == set(more)
    assert set(codes(warnings)) == {"unknown_file"}
    assert next(p for p in warnings if p.file.startswith("skils")).suggestion == "Did you mean 'skills'?"


def test_another_folder_may_hold_the_activities():
    files = {"workflow.toon": toon(workflow(activitiesDir="phases")), "phases/01-a.toon": toon(activity("a"))}
    assert [one.id for one in program_of(files).activities] == ["a"]


# Names


@pytest.mark.parametrize(
    ("workflow_id", "origin", "code"),
    [
        ("team.plan", Origin.TEAM, None),
        ("plan", Origin.TEAM, "legacy_id"),
        ("meta", Origin.BUNDLED, None),
        ("wr.plan", Origin.BUNDLED, None),
        ("wr.plan", Origin.TEAM, "reserved_namespace"),
        ("Plan", Origin.TEAM, "bad_id"),
        ("a.b.c", Origin.TEAM, "bad_id"),
    ],
)
def test_the_id_of_a_workflow_is_checked_by_where_it_comes_from(workflow_id, origin, code):
    compilation = compiled(folder(about={**workflow(), "id": workflow_id}), origin=origin)
    assert codes(compilation.problems) == ([] if code is None else [code])
    assert all(problem.file == "workflow.toon" for problem in compilation.problems)


def test_a_missing_id_is_an_error_in_either_reading():
    for strictness in Strictness:
        compilation = compiled(folder(about={"version": "1.0.0", "title": "T"}), strictness=strictness)
        assert (compilation.program, codes(compilation.errors)) == (None, ["missing_key"])


def test_the_same_folder_in_yaml_is_the_same_program():
    written = folder(activity(steps=[step("a", condition=equals("x", value=True))], checkpoints=[checkpoint("c")]))
    yaml = {
        "workflow.yaml": b"id: team.plan\nversion: 1.0.0\ntitle: Plan\n",
        "activities/01-work.yaml": b"""
id: work
version: 1.0.0
name: Work
steps:
  - id: a
    name: A
    condition: {type: simple, variable: x, operator: ==, value: true}
checkpoints:
  - id: c
    name: C
    message: Go on?
    options:
      - {id: "yes", label: "Yes"}
      - {id: "no", label: "No"}
""",
    }
    assert workflow_hash(program_of(yaml)) == workflow_hash(program_of(written))


def test_what_other_workflows_are_known_does_not_change_a_program():
    library = Library(folders={"other": folder()}, workflow_ids=frozenset({"other"}))
    assert program_bytes(program_of(folder(), library=library)) == program_bytes(program_of(folder()))


def test_a_folder_that_is_wrong_throughout_has_a_list_that_ends():
    said = activity(steps=[step(f"s{number}", skill=f"none-{number}") for number in range(1_900)])
    problems = compiled(folder(said)).problems
    assert len(problems) == MAX_PER_SEVERITY + 1
    assert only(problems, ProblemCode.TOO_LARGE).message == f"1900 warnings were found; {MAX_PER_SEVERITY} are listed."


def test_warnings_do_not_crowd_out_an_error():
    said = activity(steps=[step(f"s{number}", skill=f"none-{number}") for number in range(400)], required="no")
    compilation = compiled(folder(said))
    assert (compilation.program, codes(compilation.errors)) == (None, ["wrong_type"])
