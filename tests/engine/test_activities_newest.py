"""The YAML descendants: steps that say what they are, `when` lines, techniques in Markdown, exits and fragments."""

import pytest

from tests.activity_folders import codes, compiled, only, program_of
from workflows_app.engine.activities.references import find_resource, find_skill
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import AllOf, AnyOf, Compare, Gate, Loop, LoopKind, Step, Truthy
from workflows_app.engine.source import ContentKind, Library

WORKFLOW = b"""
id: team.wiki
version: 1.0.0
title: Wiki
rules:
  workflow: [For the orchestrator]
  activity: [For the worker]
  universal: [For both]
techniques:
  workflow: [conduct]
  activity: [bind]
variables:
  - {name: ready, type: boolean, defaultValue: false}
  - {name: plan, type: array}
  - {name: more, type: boolean}
initialActivity: build
"""

BUILD = b"""
id: build
version: 1.0.0
name: Build
techniques: [scatter]
steps:
  - kind: action
    id: verify
    actions:
      - {action: validate, target: ready, message: Be ready}
  - kind: checkpoint
    id: confirm
    when: ready && !more
    condition: {type: simple, variable: more, operator: "!=", value: true}
    message: Begin?
    options:
      - {id: go, label: Go, effect: {setVariable: {ready: true}}}
      - {id: wait, label: Wait}
  - kind: loop
    id: areas
    loopType: forEach
    variable: area
    over: "{plan}"
    maxIterations: 50
    when: ready
    steps:
      - kind: technique
        technique: group::ingest
      - kind: technique
        technique:
          name: keep
          inputs: {pages: area.pages}
          outputs: {summary: area_summary}
      - kind: checkpoint
        id: sure#{area.id}
        message: Sure?
        options: [{id: "yes", label: "Yes"}]
      - kind: loop
        id: again
        loopType: doWhile
        condition: {type: simple, variable: more, operator: ==, value: true}
        when: ready
        required: false
        steps:
          - {kind: action, id: inner}
  - kind: technique
    technique: side::other::op
    required: false
    when: (ready || more) && plan
"""

TECHNIQUE = b"""---
metadata:
  version: 1.2.0
---

## Capability

Take in one area.

## Protocol

- Read it.
"""


@pytest.fixture
def wiki():
    files = {
        "workflow.yaml": WORKFLOW,
        "activities/01-build.yaml": BUILD,
        "techniques/TECHNIQUE.md": b"## Capability\n\nShared rules.\n",
        "techniques/group/TECHNIQUE.md": b"## Capability\n\nRules of the group.\n",
        "techniques/group/ingest.md": TECHNIQUE,
        "techniques/keep.md": b"# Keep the log\n",
        "techniques/README.md": b"words",
        "resources/guide.md": b"---\nid: guide\n---\n",
    }
    library = Library(
        folders={
            "meta": {f"techniques/{name}.md": b"# M" for name in ("conduct", "bind", "scatter")},
            "side": {"techniques/other/op.md": b"# Op\n"},
        }
    )
    return compiled(files, library=library)


def test_steps_stand_in_the_order_in_which_they_are_written(wiki):
    assert wiki.problems == ()
    body = wiki.program.activities[0].body
    assert [(type(item), item.id) for item in body] == [
        (Step, "verify"),
        (Gate, "confirm"),
        (Loop, "areas"),
        (Step, "op"),
    ]
    inside = [(type(item), item.id) for item in body[2].body]
    assert inside == [(Step, "ingest"), (Step, "keep"), (Gate, "sure"), (Loop, "again")]


def test_a_checkpoint_in_the_list_of_steps_is_a_checkpoint_of_the_activity(wiki):
    confirm, sure = wiki.program.activities[0].checkpoints
    assert (confirm.id, confirm.name, sure.id) == ("confirm", "confirm", "sure")
    assert isinstance(confirm.condition, AllOf)
    assert confirm.options[0].effect.set_variable == {"ready": True}


def test_a_loop_in_the_list_of_steps_may_hold_loops(wiki):
    areas = wiki.program.activities[0].body[2]
    assert (areas.loops, areas.items, areas.item_variable, areas.max_iterations) == (
        LoopKind.FOR_EACH,
        ("plan",),
        "area",
        50,
    )
    assert areas.run_condition == Truthy(path=("ready",))
    again = areas.body[3]
    assert isinstance(again.condition, Compare)
    assert (again.loops, again.run_condition, again.extra) == (
        LoopKind.DO_WHILE,
        Truthy(path=("ready",)),
        {"required": False},
    )


def test_a_while_loop_goes_on_by_its_when_line_where_it_has_no_other():
    text = BUILD.replace(b"        condition: {type: simple, variable: more, operator: ==, value: true}\n", b"")
    program = program_of({"workflow.yaml": WORKFLOW, "activities/01-build.yaml": text})
    again = program.activities[0].body[2].body[3]
    assert (again.condition, again.run_condition) == (Truthy(path=("ready",)), None)


def test_a_when_line_is_a_condition(wiki):
    last = wiki.program.activities[0].body[3]
    assert isinstance(last.run_condition, AllOf)
    assert isinstance(last.run_condition.conditions[0], AnyOf)
    assert last.required is False


def test_a_when_line_that_cannot_be_read_is_an_error_with_its_place():
    text = BUILD.replace(b"when: ready\n    steps", b"when: ready && more || plan\n    steps")
    (problem,) = compiled({"workflow.yaml": WORKFLOW, "activities/01-build.yaml": text}).errors
    assert (problem.code, problem.file) == (ProblemCode.BAD_CONDITION, "activities/01-build.yaml")
    assert problem.path.startswith("steps[2].when")


def test_a_technique_is_the_skill_of_its_step(wiki):
    areas = wiki.program.activities[0].body[2]
    ingest, keep = areas.body[:2]
    assert (ingest.skill, ingest.title) == ("group::ingest", "ingest")
    assert ingest.prompt == "ingest\n\nApply the skill `group::ingest`: Take in one area."
    assert (keep.skill, keep.skill_arguments, keep.extra) == (
        "keep",
        {"pages": "area.pages"},
        {"outputs": {"summary": "area_summary"}},
    )
    assert keep.prompt.splitlines()[2:] == [
        "Apply the skill `keep`: Keep the log",
        '- with `pages` = "area.pages"',
        '- its output `summary` is kept as "area_summary"',
    ]


def test_techniques_are_skills_with_what_they_inherit(wiki):
    program = wiki.program
    found = find_skill(program=program, reference="group::ingest")
    assert (found.owner, found.version, found.summary, found.format) == (
        "team.wiki",
        "1.2.0",
        "Take in one area.",
        "md",
    )
    documents = {c.digest: c.document for c in wiki.contents if c.kind is ContentKind.SKILL}
    assert documents[found.digest]["inherits"] == ["TECHNIQUE", "group"]
    assert documents[found.digest]["body"].startswith("## Capability")
    assert find_skill(program=program, reference="side::other::op").owner == "side"
    assert find_skill(program=program, reference="conduct").owner == "meta"


def test_rules_and_techniques_for_activities_are_given_to_each(wiki):
    program = wiki.program
    (build,) = program.activities
    assert program.rules == ("For the orchestrator", "For both")
    assert build.rules == ("For the worker", "For both")
    assert (program.skill_ids, build.supporting_skills) == (("conduct",), ("bind", "scatter"))


def test_a_resource_needs_no_number(wiki):
    assert find_resource(program=wiki.program, reference="../resources/guide.md#part").id == "guide"


def test_a_kind_that_nobody_knows_is_an_error():
    text = b"id: a\nversion: 1.0.0\nname: A\nsteps:\n  - {kind: technik, id: x}\n"
    (problem,) = compiled({"workflow.yaml": WORKFLOW, "activities/01-a.yaml": text}).errors[:1]
    assert (problem.path, problem.suggestion) == ("steps[0].kind", "Did you mean 'technique'?")


def test_a_checkpoint_that_stands_twice_is_told_and_asked_twice():
    one = b"  - {kind: checkpoint, id: c, message: M, options: [{id: a, label: A}]}\n"
    text = b"id: build\nversion: 1.0.0\nname: A\nsteps:\n" + one + one
    compilation = compiled({"workflow.yaml": WORKFLOW, "activities/01-build.yaml": text})
    assert [(item.id, item.checkpoint) for item in compilation.program.activities[0].body] == [
        ("c", "c"),
        ("c.2", "c.2"),
    ]
    assert "duplicate_id" in codes(compilation.warnings)


EXITS = {
    "workflow.yaml": b"""
id: team.exits
version: 1.0.0
title: Exits
initialActivity: one
fragments:
  rules:
    shared: [Ask first, Be brief]
  checkpoints:
    sure: {message: Sure?, blocking: false, options: [{id: "yes", label: "Yes"}]}
rules:
  workflow:
    - {ref: shared}
    - And this
graph:
  one: {done: two, again: one}
""",
    "activities/01-one.yaml": b"""
id: one
version: 1.0.0
name: One
variables:
  reads: [other]
  writes: [{name: again, type: boolean, defaultValue: false}]
steps:
  - {kind: checkpoint, id: ask, ref: sure, blocking: true}
exits:
  - {id: again, when: again}
  - {id: done, isDefault: true}
""",
    "activities/02-two.yaml": b"id: two\nversion: 1.0.0\nname: Two\nexits: [{id: done, isDefault: true}]\n",
}


def test_exits_lead_where_the_graph_says_and_else_to_the_end():
    one, two = program_of(EXITS).activities
    assert [(t.to, t.is_default, t.extra) for t in one.transitions] == [
        ("one", False, {"exit": "again"}),
        ("two", True, {"exit": "done"}),
    ]
    assert one.transitions[0].condition == Truthy(path=("again",))
    assert [t.to for t in two.transitions] == ["__terminal__"]


def test_fragments_stand_where_they_are_referred_to():
    compilation = compiled(EXITS)
    assert compilation.problems == ()
    assert compilation.program.rules == ("Ask first", "Be brief", "And this")
    (asked,) = compilation.program.activities[0].checkpoints
    assert (asked.id, asked.message, asked.blocking) == ("ask", "Sure?", True)


def test_a_fragment_that_is_not_there_is_an_error():
    files = {**EXITS, "workflow.yaml": EXITS["workflow.yaml"].replace(b"sure:", b"shure:").replace(b"shared:", b"x:")}
    problems = [p for p in compiled(files).errors if p.code is ProblemCode.UNKNOWN_REF]
    assert [(p.file, p.path) for p in problems] == [
        ("activities/01-one.yaml", "steps[0].ref"),
        ("workflow.yaml", "rules.workflow[0]"),
    ]


def test_what_an_activity_writes_is_declared_by_it():
    program = program_of(EXITS)
    assert [(v.name, v.default) for v in program.variables] == [("again", False)]
    assert program.activities[0].extra == {"variables": {"reads": ["other"]}}


def test_an_unreadable_technique_is_a_warning():
    files = {**EXITS, "techniques/x.md": b"\xff"}
    assert only(compiled(files).problems, ProblemCode.UNREADABLE).file == "techniques/x.md"


CHOICE = b"""
id: judge
version: 1.0.0
name: Judge
steps:
  - kind: checkpoint
    id: gate
    message: Enough?
    options:
      - {id: enough, label: Enough}
      - {id: more, label: More, effect: {exit: again}}
exits:
  - {id: done, isDefault: true}
  - {id: again}
"""
DRAFT = b"id: draft\nversion: 1.0.0\nname: Draft\nsteps: [{kind: action, id: write}]\nexits: [{id: done, isDefault: true}]\n"
GRAPH = b"{draft: {done: judge}, judge: {done: __terminal__, again: draft}}"


def judged(graph=GRAPH, choice=CHOICE):
    about = b"id: team.judged\nversion: 1.0.0\ntitle: Judged\ninitialActivity: draft\ngraph: " + graph
    return {"workflow.yaml": about, "activities/01-draft.yaml": DRAFT, "activities/02-judge.yaml": choice}


def test_an_option_may_choose_an_exit_which_nothing_else_takes():
    compilation = compiled(judged())
    assert compilation.problems == ()
    _, judge = compilation.program.activities
    (gate,) = judge.checkpoints
    assert (gate.options[1].effect.transition_to, gate.options[1].effect.extra) == ("draft", {"exit": "again"})
    assert [(way.to, way.is_default) for way in judge.transitions] == [("__terminal__", True)]


def test_an_exit_that_an_option_chooses_and_the_activity_lacks_is_an_error():
    (problem,) = compiled(judged(choice=CHOICE.replace(b"exit: again", b"exit: agian"))).errors
    assert (problem.code, problem.file) == (ProblemCode.UNKNOWN_REF, "activities/02-judge.yaml")
    assert (problem.path, problem.suggestion) == ("steps[0].options[1].effect.exit", "Did you mean 'again'?")


@pytest.mark.parametrize("target", [b"[judge, draft]", b"{activity: judge, over: parts}", b"7", b"true"])
def test_a_graph_that_leads_to_several_activities_ends_no_run_in_silence(target):
    (problem,) = compiled(judged(b"{draft: {done: " + target + b"}, judge: {done: __terminal__, again: draft}}")).errors
    assert (problem.code, problem.path) == (ProblemCode.BAD_VALUE, "graph.draft.done")
    assert "one activity" in problem.suggestion


@pytest.mark.parametrize(
    ("graph", "path", "hint"),
    [
        (b"{draft: {doen: judge}, judge: {done: __terminal__, again: draft}}", "graph.draft.doen", "'done'"),
        (b"{draaft: {done: judge}, judge: {done: __terminal__, again: draft}}", "graph.draaft", "'draft'"),
        (b"{draft: {done: judge}, judge: {done: __terminal__}}", "graph.judge.again", ""),
        (b"{draft: judge, judge: {done: __terminal__, again: draft}}", "graph.draft", ""),
    ],
)
def test_what_a_graph_and_the_exits_do_not_share_is_an_error(graph, path, hint):
    problem = only(
        [p for p in compiled(judged(graph)).errors if p.path == path], compiled(judged(graph)).errors[0].code
    )
    assert problem.file == "workflow.yaml"
    assert hint in problem.suggestion


def test_a_loop_may_say_apart_whether_it_begins_and_whether_it_goes_on():
    text = BUILD.replace(
        b"        condition: {type: simple, variable: more", b"        continueWhile: {type: simple, variable: more"
    )
    compilation = compiled({"workflow.yaml": WORKFLOW, "activities/01-build.yaml": text})
    again = compilation.program.activities[0].body[2].body[3]
    assert isinstance(again.condition, Compare)
    assert again.run_condition == Truthy(path=("ready",))
    assert ProblemCode.UNKNOWN_KEY.value not in codes(compilation.problems)


def test_a_routine_is_one_error_that_says_what_to_write():
    routine = b"  - {kind: routine, id: sure, routine: confirm, when: a, with: {path: '{b}'}, outputs: {c: d}}\n"
    text = b"id: build\nversion: 1.0.0\nname: A\nsteps:\n" + routine
    (problem,) = compiled({"workflow.yaml": WORKFLOW, "activities/01-build.yaml": text}).errors
    assert (problem.path, problem.severity.value) == ("steps[0].kind", "error")
    assert "Write the steps of" in problem.suggestion


def test_a_step_that_names_a_technique_or_acts_needs_no_name_and_no_kind():
    steps = b"steps:\n  - {id: say, actions: [{action: log, message: Begun}]}\n  - {technique: group::fold}\n"
    files = {
        "workflow.yaml": b"id: team.bakery\nversion: 1.0.0\ntitle: Bakery\n",
        "activities/01-a.yaml": b"id: a\nversion: 1.0.0\nname: A\n" + steps,
        "techniques/group/fold.md": b"# Fold\n",
    }
    assert compiled(files).problems == ()
    assert [item.id for item in program_of(files).activities[0].body] == ["say", "fold"]
