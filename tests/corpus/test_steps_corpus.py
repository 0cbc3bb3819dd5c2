"""The public step workflows of both schemas: what the originals accept compiles, what they refuse is refused with its place."""

import json
from pathlib import Path

import pytest

from workflows_app.engine import walker
from workflows_app.engine.compile import compile_source
from workflows_app.engine.program import (
    ConditionMode,
    Loop,
    Parallel,
    Step,
    program_bytes,
    program_from_bytes,
    walk_items,
)
from workflows_app.engine.source import Library, Origin, Source, SourceFormat

CHECKOUT = Path(__file__).resolve().parents[2]
CORPUS = CHECKOUT.parent / "shared" / "corpus"
RAIL = CORPUS / "rail" / "workflows"
LOOKUP = CORPUS / "lookup"

RAIL_FILES = sorted(RAIL.rglob("*.json"))
LOOKUP_FILES = sorted([*(LOOKUP / "examples").glob("*.json"), *(LOOKUP / "workflows").glob("*.json")])
REFUSED = {"invalid-workflow.json", "ai-task-prompt-workflow.json"}

needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="The corpus is not here.")
pytestmark = needs_corpus


def routines():
    return {path.stem: json.loads(path.read_bytes()) for path in (RAIL / "routines").glob("*.json")}


def compiled(path, library=None):
    source = Source(format=SourceFormat.STEPS_JSON, files={path.name: path.read_bytes()}, origin=Origin.BUNDLED)
    return compile_source(source=source, library=library or Library(routines=routines()))


def program_at(name):
    compilation = compiled(RAIL / name)
    assert compilation.errors == ()
    return compilation.program


def items_at(name):
    return {item.id: item for item in walk_items(program_at(name).activities[0].body)}


def test_the_corpus_is_whole():
    assert (len(RAIL_FILES), len(LOOKUP_FILES)) == (23, 9)


@pytest.mark.parametrize("path", RAIL_FILES, ids=lambda path: path.name)
def test_every_workflow_of_the_rail_compiles_leniently(path):
    compilation = compiled(path)
    assert compilation.errors == ()
    assert (compilation.program.schema_version, compilation.program.conditions) == ("0.3.0", ConditionMode.LENIENT)
    assert program_from_bytes(program_bytes(compilation.program)) == compilation.program


@pytest.mark.parametrize(
    "path",
    [path for path in LOOKUP_FILES if path.name not in REFUSED],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_every_workflow_of_the_lookup_compiles_strictly(path):
    compilation = compiled(path)
    assert compilation.errors == ()
    assert (compilation.program.schema_version, compilation.program.conditions) == ("0.0.1", ConditionMode.STRICT)
    assert program_from_bytes(program_bytes(compilation.program)) == compilation.program


def test_the_invalid_example_says_exactly_what_is_wrong():
    problems = compiled(LOOKUP / "examples" / "invalid-workflow.json").problems
    assert [(p.code.value, p.path, p.message) for p in problems] == [
        (
            "bad_value",
            "clarificationPrompts[1]",
            "This is the same as clarificationPrompts[0]; each item may stand once.",
        ),
        ("unknown_key", "extraField", "'extraField' is not a key of a workflow."),
        (
            "bad_id",
            "id",
            "The id 'INVALID_ID_WITH_CAPS' is not `namespace.name` in lower-case letters, digits, `_` and `-`.",
        ),
        ("bad_value", "metaGuidance[1]", "This is the same as metaGuidance[0]; each item may stand once."),
        ("too_short", "name", "This has 0 characters; 1 to 128 are allowed."),
        ("too_short", "preconditions[1]", "This has 0 characters; 1 to 256 are allowed."),
        ("too_short", "steps", "This has 0 items; at least 1 are wanted."),
    ]


def test_the_example_without_a_version_says_so():
    problems = compiled(LOOKUP / "examples" / "ai-task-prompt-workflow.json").errors
    assert [(p.code.value, p.path) for p in problems] == [("missing_key", "version")]


def test_what_is_warned_of_in_the_corpus_is_worth_a_warning():
    found = {
        (path.name, problem.code.value)
        for path in RAIL_FILES
        for problem in compiled(path).warnings
        if problem.code.value not in {"gameable_validation", "undeclared_variable"}
    }
    assert found == {
        ("cross-platform-code-conversion.v2.json", "unknown_argument"),
        ("routine-injection-example.json", "unknown_argument"),
        ("simple-batch.json", "expression_placeholder"),
        ("tension-driven-design.json", "ignored_field"),
        ("workflow-for-workflows.json", "conflicting_keys"),
    }


# What the parts come to


def test_a_routine_of_the_corpus_stands_in_its_callers_place():
    program = program_at("examples/routine-injection-example.json")
    assert [item.id for item in program.activities[0].body] == [
        "phase-0-gather",
        "phase-1-design.step-anchor-and-orient",
        "phase-1-design.step-discover-philosophy",
        "phase-1-design.step-understand-deeply",
        "phase-1-design.step-generate-candidates",
        "phase-1-design.step-compare-and-recommend",
        "phase-1-design.step-deliver",
        "phase-2-implement",
    ]


def test_a_body_by_name_stands_in_its_loop_alone():
    program = program_at("examples/loops/simple-batch.json")
    assert [item.id for item in program.activities[0].body] == ["load-data", "process-items", "summarize"]
    assert [item.id for item in program.activities[0].body[1].body] == ["process-single-item"]


def test_loops_parallels_and_gates_of_the_flagship_review_are_kept():
    items = items_at("mr-review-workflow.agentic.v2.json")
    bundle = items["phase-3-reviewer-family-bundle"]
    synthesis = items["phase-4-contradiction-and-synthesis-loop"]
    assert isinstance(bundle, Parallel)
    assert len(bundle.delegations) > 5
    assert isinstance(synthesis, Loop)
    assert synthesis.decision_contract == "wr.contracts.loop_control"
    assert synthesis.decision_loop_id == "mr_review_synthesis_loop"
    assert any(isinstance(item, Step) and item.contract for item in items.values())


def test_every_prompt_of_the_corpus_says_something():
    for path in [*RAIL_FILES, *LOOKUP_FILES]:
        program = compiled(path).program
        for item in walk_items(program.activities[0].body) if program else ():
            assert isinstance(item, Loop) or item.prompt.strip(), (path.name, item.id)


@pytest.mark.parametrize(
    "row", json.loads((LOOKUP / "vectors" / "workflow-next-v1.json").read_bytes()) if CORPUS.is_dir() else []
)
def test_steps_come_in_the_order_of_the_first_release(row):
    program = compiled(LOOKUP / row["file"]).program
    walk = walker.start(program=program, variables=row["context"])
    order = []
    while not walk.position.complete:
        assert walk.failure is None
        order.append(walk.position.pending)
        walk = walker.complete_pending(program=program, position=walk.position, variables=row["context"])
    assert order == row["order"]
