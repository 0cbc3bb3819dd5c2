"""The public folders of two generations read as their own decoder read them, and compile to programs that do not change."""

import json
from pathlib import Path

import pytest

from tests.activity_folders import codes, compiled
from workflows_app.engine.activities.documents import read_document
from workflows_app.engine.activities.references import find_resource, find_skill
from workflows_app.engine.problems import ProblemCode, Severity
from workflows_app.engine.program import Gate, Loop, Step, program_bytes, program_from_bytes, walk_items, workflow_hash
from workflows_app.engine.simulate import SimulatedOutcome, simulate
from workflows_app.engine.source import Library, Origin, Strictness

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "corpus"
GOLDEN = Path(__file__).with_name("activity_programs.json")
GENERATIONS = ("navigation", "orchestrator")

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the public corpus is not beside the checkout")


def decoded():
    for generation in GENERATIONS:
        source = CORPUS / generation / "decoded.jsonl"
        for line in source.read_text().splitlines() if source.exists() else ():
            row = json.loads(line)
            yield pytest.param(CORPUS / generation / row["f"], row, id=f"{generation}/{row['f']}")


def folders():
    return [
        (generation, folder.name)
        for generation in GENERATIONS
        for folder in sorted((CORPUS / generation / "workflows").glob("*/"))
    ]


def files_of(generation, name):
    root = CORPUS / generation / "workflows" / name
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def library_of(generation):
    names = [name for other, name in folders() if other == generation]
    return Library(folders={name: files_of(generation, name) for name in names}, workflow_ids=frozenset(names))


# A transition there leads to an activity that is not there, which only older readers let pass.
LOOSE = {("navigation", "meta")}


def compile_corpus(generation, name, strictness=None):
    loose = (generation, name) in LOOSE
    strictness = strictness or (Strictness.LEGACY if loose else Strictness.STRICT)
    return compiled(
        files_of(generation, name), library=library_of(generation), strictness=strictness, origin=Origin.PROJECT
    )


FOLDERS = pytest.mark.parametrize(("generation", "name"), folders() if CORPUS.is_dir() else [])


@pytest.mark.parametrize(("path", "row"), list(decoded()))
def test_every_file_reads_as_its_own_decoder_read_it(path, row):
    document, problems = read_document(data=path.read_bytes(), file=row["f"], strictness=Strictness.STRICT)
    if row["ok"]:
        assert problems == ()
        assert json.dumps(document.value) == json.dumps(row["v"])
    else:
        assert document is None
        assert [problem.line for problem in problems] == [int(row["err"].split(":")[0].removeprefix("Line "))]


@FOLDERS
@pytest.mark.parametrize("strictness", list(Strictness))
def test_every_folder_compiles_to_the_program_that_was_recorded(generation, name, strictness):
    compilation = compile_corpus(generation, name, strictness)
    if strictness is Strictness.STRICT and (generation, name) in LOOSE:
        assert set(codes(compilation.errors)) == {"dangling_transition"}
        return
    assert compilation.errors == ()
    found = {
        "hash": workflow_hash(compilation.program),
        "warnings": {
            code: codes(compilation.warnings).count(code) for code in sorted(set(codes(compilation.warnings)))
        },
    }
    assert found == json.loads(GOLDEN.read_text())[f"{generation}/{name} {strictness.value}"]


@FOLDERS
def test_every_program_survives_its_bytes(generation, name):
    program = compile_corpus(generation, name).program
    assert program_from_bytes(program_bytes(program)) == program


@FOLDERS
def test_every_part_that_was_authored_is_in_the_program(generation, name):
    """Steps, checkpoints, options, transitions, decisions and loops, counted in the documents and in the program."""
    authored, held = count_authored(generation, name), count_held(compile_corpus(generation, name).program)
    assert held == authored


def count_authored(generation, name):
    rows = [json.loads(line) for line in (CORPUS / generation / "decoded.jsonl").read_text().splitlines()]
    documents = [row["v"] for row in rows if row["ok"] and row["f"].startswith(f"workflows/{name}/activities/")]
    loops = [loop for one in documents for loop in one.get("loops", [])]
    checkpoints = [checkpoint for one in documents for checkpoint in one.get("checkpoints", [])]
    return {
        "activities": len(documents),
        "steps": sum(len(one.get("steps", [])) for one in (*documents, *loops)),
        "loops": len(loops),
        "checkpoints": len(checkpoints),
        "options": sum(len(checkpoint["options"]) for checkpoint in checkpoints),
        "transitions": sum(len(one.get("transitions", [])) for one in documents),
        "decisions": sum(len(one.get("decisions", [])) for one in documents),
        "artifacts": sum(len(one.get("artifacts", [])) for one in documents),
    }


def count_held(program):
    items = [item for one in program.activities for item in walk_items(one.body)]
    checkpoints = [checkpoint for one in program.activities for checkpoint in one.checkpoints]
    return {
        "activities": len(program.activities),
        "steps": sum(isinstance(item, Step) for item in items),
        "loops": sum(isinstance(item, Loop) for item in items),
        "checkpoints": len(checkpoints),
        "options": sum(len(checkpoint.options) for checkpoint in checkpoints),
        "transitions": sum(len(one.transitions) for one in program.activities),
        "decisions": sum(len(one.decisions) for one in program.activities),
        "artifacts": sum(len(one.artifacts) for one in program.activities),
    }


def test_the_two_broken_skills_are_told_by_file_and_line():
    meta, package = (compile_corpus("navigation", name).problems for name in ("meta", "work-package"))
    assert ("skills/02-state-management.toon", 5, ProblemCode.BAD_TOON) in {(p.file, p.line, p.code) for p in meta}
    places = {(p.file, p.line, p.code, p.severity) for p in package}
    assert ("skills/02-pr-review-response.toon", 31, ProblemCode.DUPLICATE_KEY, Severity.WARNING) in places
    assert ("meta/skills/02-state-management.toon", 5, ProblemCode.BAD_TOON, Severity.WARNING) in places


def test_a_step_whose_skill_is_broken_says_which_file_to_mend():
    problems = compile_corpus("navigation", "work-package").problems
    hints = {
        p.suggestion for p in problems if p.code is ProblemCode.UNKNOWN_SKILL and "pr-review-response" in p.message
    }
    assert hints == {"Mend skills/02-pr-review-response.toon."}


def test_legacy_reading_has_the_skill_whose_key_stands_twice():
    compilation = compile_corpus("navigation", "work-package", Strictness.LEGACY)
    assert find_skill(program=compilation.program, reference="pr-review-response").owner == "work-package"
    assert [(p.file, p.line) for p in compilation.warnings if p.code is ProblemCode.DUPLICATE_KEY] == [
        ("skills/02-pr-review-response.toon", 31)
    ]


def test_the_first_generation_asks_on_entry():
    program = compile_corpus("navigation", "work-package").program
    for one in program.activities:
        gates = [isinstance(item, Gate) for item in one.body]
        assert gates == sorted(gates, reverse=True)
        assert [item.checkpoint for item in one.body if isinstance(item, Gate)] == [cp.id for cp in one.checkpoints]


def test_the_third_generation_asks_where_a_step_says_so():
    program = compile_corpus("orchestrator", "work-package").program
    implement = program.activity("implement")
    assert [item.id for item in implement.body] == [
        "reconcile-assumptions",
        "confirm-implementation",
        "present-resolved-assumptions",
        "interview-open-assumptions",
        "update-assumptions-log",
        "switch-model-post-impl",
        "task-cycle",
        "assumption-reconciliation",
        "assumption-interview",
    ]
    task_cycle = implement.body[6]
    assert [item.id for item in task_cycle.body] == [
        "implement-task",
        "switch-model-pre-impl",
        "run-tests",
        "commit",
        "self-review",
        "symbol-provenance-confirmed",
        "collect-assumptions",
    ]


def test_a_loop_that_lists_a_step_of_its_activity_holds_it():
    planning = compile_corpus("navigation", "work-packages").program.activity("package-planning")
    loop = planning.body[-1]
    assert (loop.id, [item.id for item in loop.body]) == ("package-loop", ["define-scope"])
    assert "define-scope" not in [item.id for item in planning.body]


def test_what_skills_read_is_found_also_in_meta():
    program = compile_corpus("orchestrator", "work-package").program
    for skill in program.skills:
        for reference in skill.resources:
            assert find_resource(program=program, reference=reference, home=skill.owner) is not None, reference
    assert find_resource(program=program, reference="meta/03").id == "gitnexus-reference"
    assert find_resource(program=program, reference="3").id == "github-issue-creation"


def test_only_the_skills_that_are_nowhere_are_missed():
    missed = {
        problem.message.split("'")[1]
        for generation, name in folders()
        if generation == "orchestrator"
        for problem in compile_corpus(generation, name).warnings
        if problem.code is ProblemCode.UNKNOWN_SKILL
    }
    assert missed == {"prism/structural-analysis", "portfolio-analysis", "workflow-execution", "artifact-management"}


@FOLDERS
def test_every_program_can_be_walked_until_it_ends_or_says_what_it_needs(generation, name):
    program = compile_corpus(generation, name).program
    simulation = simulate(program=program, variables={}, answers={}, max_steps=400)
    assert simulation.path
    assert simulation.outcome in set(SimulatedOutcome)
