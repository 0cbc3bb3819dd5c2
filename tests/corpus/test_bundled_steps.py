"""The bundled step workflows keep what the authoring guide promises of them."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from workflows_app.engine import validation
from workflows_app.engine.compile import compile_source
from workflows_app.engine.contracts import BUILT_IN
from workflows_app.engine.program import (
    AllOf,
    AnyOf,
    Compare,
    Condition,
    ConfirmationKind,
    Loop,
    LoopKind,
    Not,
    Parallel,
    Program,
    Step,
    Truthy,
    WorkflowKind,
    walk_items,
)
from workflows_app.engine.simulate import SimulatedOutcome, Simulation, simulate
from workflows_app.engine.source import Compilation, Library, Origin, Source, SourceFormat

CHECKOUT = Path(__file__).resolve().parents[2]
BUNDLED = CHECKOUT / "workflows_app" / "bundled"
GUIDE = CHECKOUT / "docs" / "authoring.md"
PUBLISHED_SCHEMA = CHECKOUT.parent / "shared" / "corpus" / "rail" / "workflow.schema.json"

WORKFLOW_FILES = sorted((BUNDLED / "steps").glob("*.json"))
ROUTINE_FILES = sorted((BUNDLED / "routines").glob("*.json"))
FILES = [*ROUTINE_FILES, *WORKFLOW_FILES]
DOCUMENTS: dict[str, dict[str, Any]] = {path.stem: json.loads(path.read_bytes()) for path in FILES}
LIBRARY = Library(
    routines={path.stem: DOCUMENTS[path.stem] for path in ROUTINE_FILES},
    workflow_ids=frozenset(document["id"] for document in DOCUMENTS.values()),
)

# Lists and numbers that make every loop run, and answers that let it end.
LISTS = {
    name: ["one", "two"]
    for name in (
        "behaviours",
        "findings",
        "moves",
        "paths",
        "phases",
        "slices",
        "subQuestions",
        "tickets",
        "upgrades",
    )
}
EMPTY_LISTS: dict[str, list[str]] = {name: [] for name in LISTS}
EVERYTHING_ON = LISTS | {
    "fileTickets": True,
    "fixRequested": True,
    "flakyCount": 1,
    "liveRun": True,
    "postReview": True,
    "problemCount": 1,
    "reproduced": False,
    "size": "large",
    "stakes": "high",
    "upgradeReason": "security",
    "userVisible": True,
}
QUICK = LISTS | {"reviewDepth": "quick", "rigor": "quick", "severity": "sev3", "size": "small"}
ANSWERS = {
    "apply-and-measure": {"context": {"impactStopped": True}},
    "follow-literally": {"context": {"docWorks": True}},
    "independent-reading": {"context": {"readVerdict": "approved"}},
    "look-once": {"context": {"rowsRemaining": 0}},
    "rehearsal-gate": {"context": {"rehearsalPassed": True}},
    "repair-once": {"context": {"problemCount": 0}},
    "run-phase": {"context": {"rowsRemaining": 7}},
    "steady-one": {"context": {"flakyCount": 0}},
}

LAZY_NOTES = (
    "done",
    "Done. All good, everything works as expected.",
    "I checked everything thoroughly and it is fine. " * 60,
    "lorem ipsum " * 300,
)
GOOD_NOTES: list[dict[str, str]] = json.loads((Path(__file__).parent / "bundled_notes.json").read_bytes())


def compiled(path: Path) -> Compilation:
    source = Source(format=SourceFormat.STEPS_JSON, files={path.name: path.read_bytes()}, origin=Origin.BUNDLED)
    return compile_source(source=source, library=LIBRARY)


def program_of(path: Path) -> Program:
    program = compiled(path).program
    assert program is not None
    return program


def items_of(program: Program) -> tuple[Any, ...]:
    return tuple(walk_items(program.activities[0].body))


def steps_of(path: Path) -> tuple[Step, ...]:
    return tuple(item for item in items_of(program_of(path)) if isinstance(item, Step))


def run(program: Program, variables: dict[str, Any]) -> Simulation:
    return simulate(program=program, variables=variables, answers=ANSWERS)


def named(path: Path) -> str:
    return path.stem


every_file = pytest.mark.parametrize("path", FILES, ids=named)
every_workflow = pytest.mark.parametrize("path", WORKFLOW_FILES, ids=named)


def test_the_library_has_what_a_platform_team_starts_with() -> None:
    subjects = {
        "bug-investigation",
        "code-review",
        "documentation",
        "feature-delivery",
        "incident-response",
        "refactoring",
        "research",
        "test-writing",
        "ticket-writing",
        "workflow-authoring",
    }

    assert subjects <= {path.stem for path in WORKFLOW_FILES}
    assert len(ROUTINE_FILES) >= 4


@every_file
def test_a_bundled_file_compiles_without_any_problem(path: Path) -> None:
    compilation = compiled(path)

    assert compilation.problems == ()
    assert compilation.program is not None


@every_file
def test_an_id_is_the_name_of_its_file(path: Path) -> None:
    kind = WorkflowKind.ROUTINE if path in ROUTINE_FILES else WorkflowKind.WORKFLOW
    prefix = "wr.routine-" if kind is WorkflowKind.ROUTINE else "wr."

    program = program_of(path)

    assert program.id == f"{prefix}{path.stem}"
    assert program.kind is kind


@every_workflow
def test_a_workflow_has_six_to_fourteen_steps_at_the_top(path: Path) -> None:
    assert 6 <= len(DOCUMENTS[path.stem]["steps"]) <= 14


@every_file
def test_a_file_fits_the_published_schema_but_for_our_additions(path: Path) -> None:
    if not PUBLISHED_SCHEMA.exists():
        pytest.skip("the published schema is not here")
    schema = json.loads(PUBLISHED_SCHEMA.read_bytes())
    in_body = schema["$defs"]["loopStep"]["properties"]["body"]["oneOf"][1]["items"]["oneOf"]
    in_body.append({"$ref": "#/$defs/loopStep"})
    document = copy.deepcopy(DOCUMENTS[path.stem])
    document.pop("capabilities", None)

    errors = [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(document)]

    assert errors == []


# Evidence


@every_file
def test_every_step_asks_for_something_that_is_checked(path: Path) -> None:
    unchecked = [
        step.id for step in steps_of(path) if step.contract is None and not step.assessments and step.validation is None
    ]

    assert unchecked == []


@every_file
def test_no_criterion_is_met_by_notes_without_work(path: Path) -> None:
    program = program_of(path)

    met = [
        (step.id, notes[:30])
        for step in steps_of(path)
        if step.validation is not None
        for notes in (*LAZY_NOTES, step.prompt)
        if not validation.check_notes(step.validation, notes=notes, variables={}, mode=program.conditions)
    ]

    assert met == []


@pytest.mark.parametrize("good", GOOD_NOTES, ids=lambda good: f"{good['workflow']}-{good['step']}")
def test_a_criterion_is_met_by_what_an_expert_would_write(good: dict[str, str]) -> None:
    path = next(path for path in FILES if DOCUMENTS[path.stem]["id"] == good["workflow"])
    step = next(step for step in steps_of(path) if step.id == good["step"])

    failed = validation.check_notes(
        step.validation,
        notes=good["notes"],
        variables={},
        mode=program_of(path).conditions,
    )

    assert failed == ()


def test_a_security_upgrade_names_its_advisories() -> None:
    path = BUNDLED / "steps" / "dependency-upgrade.json"
    step = next(step for step in steps_of(path) if step.id == "inventory")
    notes = "$ pip list --outdated\nDjango 4.2.1 5.2\n\nU1: Django 4.2.1 -> 5.2.1 | advisory | risk medium"

    routine, security = (
        validation.check_notes(
            step.validation,
            notes=notes,
            variables={"upgradeReason": reason},
            mode=program_of(path).conditions,
        )
        for reason in ("routine", "security")
    )

    assert routine == ()
    assert security == ("Name each advisory by its number (CVE, GHSA or the distributor's).",)


# Paths


@every_workflow
def test_every_step_can_be_reached_and_every_path_ends(path: Path) -> None:
    program = program_of(path)

    runs = [run(program, variables) for variables in (EVERYTHING_ON, QUICK, EMPTY_LISTS)]

    assert [simulation.outcome for simulation in runs] == [SimulatedOutcome.COMPLETE] * 3
    reached = {key.rpartition("::")[2] for simulation in runs for key in simulation.keys}
    assert reached == {item.id for item in items_of(program) if isinstance(item, (Step, Parallel))}


def test_without_a_wish_for_a_fix_an_investigation_changes_no_code() -> None:
    program = program_of(BUNDLED / "steps" / "bug-investigation.json")

    simulation = run(program, {})

    assert {"pin-with-test", "apply-fix"}.isdisjoint(simulation.keys)
    assert simulation.keys[-1] == "handoff.check-summary"


def test_a_feature_is_built_slice_by_slice_with_attempts_inside() -> None:
    program = program_of(BUNDLED / "steps" / "feature-delivery.json")

    simulation = simulate(program=program, variables=QUICK, answers={}, loop_rounds=2)

    assert simulation.keys[simulation.keys.index("slice-plan") + 1 :][:6] == (
        "build-slices@0::failing-test",
        "build-slices@0/make-green@0::change-and-run",
        "build-slices@0/make-green@0::judge-attempt",
        "build-slices@0/make-green@1::change-and-run",
        "build-slices@0/make-green@1::judge-attempt",
        "build-slices@0::commit-slice",
    )


def test_a_rehearsal_that_never_passes_does_not_reach_the_live_database() -> None:
    program = program_of(BUNDLED / "steps" / "database-migration.json")

    simulation = simulate(program=program, variables={"liveRun": True, "phases": ["one"]}, answers={})

    assert simulation.outcome is SimulatedOutcome.BLOCKED
    assert not any("run-phase" in key for key in simulation.keys)


@every_workflow
def test_a_loop_that_an_artifact_decides_ends_each_round_with_that_decision(path: Path) -> None:
    loops = [item for item in items_of(program_of(path)) if isinstance(item, Loop) and item.decision_contract]

    for loop in loops:
        last = loop.body[-1]
        assert isinstance(last, Step)
        assert last.contract is not None
        assert (last.contract.contract, last.run_condition) == (loop.decision_contract, None)
        assert loop.decision_loop_id == loop.id
        assert loop.id in last.prompt


# What an author documents


@every_file
def test_every_context_key_that_is_read_is_documented(path: Path) -> None:
    program = program_of(path)

    undocumented = sorted(key for key in keys_read(program) if f"`{key}`" not in program.about)

    assert undocumented == []


@every_file
def test_a_prompt_does_not_name_a_step(path: Path) -> None:
    """A step shows nothing of what comes later, not even its name."""
    steps = steps_of(path)
    loops = {item.id for item in items_of(program_of(path)) if isinstance(item, Loop)}
    hyphenated = {step.id for step in steps if "-" in step.id} - loops

    named_steps = [(step.id, other) for step in steps for other in hyphenated if f"`{other}`" in step.prompt]

    assert named_steps == []


def test_the_library_shows_every_feature_of_the_format() -> None:
    programs = [program_of(path) for path in WORKFLOW_FILES]
    items = [item for program in programs for item in items_of(program)]
    steps = [item for item in items if isinstance(item, Step)]
    loops = [item for item in items if isinstance(item, Loop)]
    confirmations = {item.confirmation.confirms for item in items if item.confirmation is not None}

    assert {loop.loops for loop in loops} == {LoopKind.WHILE, LoopKind.UNTIL, LoopKind.FOR, LoopKind.FOR_EACH}
    assert any(isinstance(inner, Loop) for loop in loops for inner in loop.body)
    assert any(loop.decision_contract for loop in loops)
    assert confirmations == set(ConfirmationKind)
    assert any(isinstance(item, Parallel) and item.synthesis_prompt for item in items)
    assert any(len(step.assessments) > 1 and step.consequences for step in steps)
    for name in ("audit", "verification", "fragments", "functions", "guidance", "agent_role", "model_tier"):
        assert any(getattr(step, name) for step in steps), name
    for name in ("capabilities", "extension_points", "features", "references", "recommended_autonomy", "guidance"):
        assert any(getattr(program, name) for program in programs), name
    assert {name for program in programs for name in program.features} == {
        "wr.features.capabilities",
        "wr.features.memory_context",
        "wr.features.subagent_guidance",
    }
    assert {contract for program in programs for contract in program.contracts} >= {
        "wr.contracts.coding_handoff",
        "wr.contracts.coordinator_signal",
        "wr.contracts.discovery_handoff",
        "wr.contracts.gate_verdict",
        "wr.contracts.loop_control",
        "wr.contracts.review_verdict",
    }


@pytest.mark.parametrize("path", ROUTINE_FILES, ids=named)
def test_every_routine_is_called_or_delegated_to(path: Path) -> None:
    text = "".join(file.read_text("utf-8") for file in WORKFLOW_FILES)

    assert f"wr.templates.routine.{path.stem}" in text or f'"wr.routine-{path.stem}"' in text


# The guide


def guide_examples() -> list[Any]:
    blocks = re.findall(r"```json\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    return [json.loads(block if block.lstrip().startswith("{") else f"{{{block}}}") for block in blocks]


def test_the_complete_workflow_of_the_guide_compiles_without_any_problem() -> None:
    (document,) = (example for example in guide_examples() if "steps" in example)
    source = Source(format=SourceFormat.STEPS_JSON, files={"w.json": json.dumps(document).encode()})

    compilation = compile_source(source=source, library=LIBRARY)

    assert compilation.problems == ()
    assert compilation.program is not None


def test_the_guide_names_only_what_exists() -> None:
    text = GUIDE.read_text("utf-8")
    known = {*LIBRARY.workflow_ids}

    names = set(re.findall(r"`(wr\.[a-z][a-z-]*)`", text))
    places = re.findall(r"`([a-z-]+)` (?:in|of) `wr\.([a-z-]+)`", text)

    assert names <= known
    assert names >= {DOCUMENTS[path.stem]["id"] for path in WORKFLOW_FILES}
    missing = [
        (step, workflow)
        for step, workflow in places
        if f'"{step}"' not in (BUNDLED / "steps" / f"{workflow}.json").read_text("utf-8")
        and f'"name": "{step}"' not in (BUNDLED / "steps" / f"{workflow}.json").read_text("utf-8")
    ]
    assert places
    assert missing == []


def test_the_guide_lists_every_contract() -> None:
    text = GUIDE.read_text("utf-8")

    assert [name for name in BUILT_IN if f"`{name.removeprefix('wr.contracts.')}`" not in text] == []


def keys_read(program: Program) -> set[str]:
    """The context keys that prompts, conditions and loops read, without the variables of the loops themselves.

    What a routine brought in (`<caller>.<step>`) reads is documented by the routine.
    """
    loop_variables: set[str] = set()
    read: set[str] = set()
    for item in items_of(program):
        if "." in item.id:
            continue
        if isinstance(item, Loop):
            loop_variables |= {item.iteration_variable, item.item_variable, item.index_variable}
            read |= set(item.items[:1])
            read |= set(keys_in(item.condition))
        read |= set(keys_in(item.run_condition))
        read |= set(keys_in(item.confirmation.condition if item.confirmation else None))
        if isinstance(item, Step):
            texts = [item.prompt, *(fragment.text for fragment in item.fragments)]
            read |= {name for text in texts for name in re.findall(r"\{\{\s*([A-Za-z_]\w*)", text)}
            read |= {key for fragment in item.fragments for key in keys_in(fragment.when)}
    return read - loop_variables


def keys_in(condition: Condition | None) -> Iterator[str]:
    match condition:
        case Compare(path=path) | Truthy(path=path):
            yield path[0]
        case AllOf(conditions=conditions) | AnyOf(conditions=conditions):
            for inner in conditions:
                yield from keys_in(inner)
        case Not(condition=inner):
            yield from keys_in(inner)
        case _:
            return
