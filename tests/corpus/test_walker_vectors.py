"""The step order of the originals. Each trace where this project means to differ is a row below, with its reason."""

import json
from functools import cache
from pathlib import Path

import pytest

from workflows_app.engine import walker
from workflows_app.engine.compile import compile_source
from workflows_app.engine.simulate import SimulatedOutcome, simulate
from workflows_app.engine.source import Library, Origin, Source, SourceFormat, StepsSchema, Strictness
from workflows_app.engine.walks import LOOP_CONTROL_KIND, FailureKind

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "corpus"

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout")

LOUD = "a loop at its limit whose decision says go on stops the run; the original left it without a word"
OWN_DECISION = "what ended one loop is not heard by the next; the original let it skip the next one whole"

# Index of the trace, and why its order is another one here.
OTHER_ORDER = {
    16: OWN_DECISION,
    20: OWN_DECISION,
    21: LOUD,
    52: LOUD,
    53: LOUD,
    55: LOUD,
    64: LOUD,
    67: LOUD,
    69: LOUD,
    176: OWN_DECISION,
    177: OWN_DECISION,
    179: OWN_DECISION,
    180: OWN_DECISION,
    181: OWN_DECISION,
    182: OWN_DECISION,
    183: OWN_DECISION,
}


def read(path):
    return json.loads((CORPUS / path).read_text(encoding="utf-8"))


def traces():
    return read("rail/vectors/interpreter-traces.json")["traces"] if CORPUS.is_dir() else []


@cache
def program(file):
    """As the originals read it: with their routines, and without our stricter eye."""
    routines = {
        path.stem: json.loads(path.read_bytes()) for path in (CORPUS / "rail/workflows/routines").glob("*.json")
    }
    schema = StepsSchema.V0_0_1 if file.startswith("lookup/") else None
    source = Source(
        format=SourceFormat.STEPS_JSON,
        files={"workflow.json": (CORPUS / file).read_bytes()},
        origin=Origin.BUNDLED,
        strictness=Strictness.LEGACY,
        schema=schema,
    )
    compilation = compile_source(source=source, library=Library(routines=routines))
    assert compilation.errors == ()
    return compilation.program


def rounds(trace):
    return int(trace["loopControl"].rpartition(" ")[2])


def answers(trace):
    """The originals' walker said "stop" wherever a decision was asked for outside of a loop."""
    stop = {"artifacts": [{"kind": LOOP_CONTROL_KIND, "decision": "stop"}]}
    return {"init-loop": stop} if trace["id"] == "test-artifact-loop-control" else {}


def simulated(trace):
    return simulate(
        program=program(f"rail/{trace['file']}"),
        variables=trace["context"],
        answers=answers(trace),
        loop_rounds=rounds(trace),
    )


def agrees(trace, found):
    return (
        list(found.keys) == trace["stepInstanceKeys"]
        and (found.outcome is SimulatedOutcome.COMPLETE) == trace["complete"]
    )


def test_there_are_as_many_traces_as_the_corpus_tells_of():
    assert len(traces()) == 184


def test_every_trace_but_the_listed_ones_has_the_order_of_the_original():
    differing = {index for index, trace in enumerate(traces()) if not agrees(trace, simulated(trace))}

    assert differing == set(OTHER_ORDER)


@pytest.mark.parametrize("index", sorted(index for index, why in OTHER_ORDER.items() if why is LOUD))
def test_where_the_original_left_a_loop_in_silence_this_one_stops_at_the_same_place(index):
    trace = traces()[index]

    found = simulated(trace)

    assert found.failure.kind is FailureKind.MAX_ITERATIONS
    assert list(found.keys) == trace["stepInstanceKeys"][: len(found.keys)]


@pytest.mark.parametrize("index", sorted(index for index, why in OTHER_ORDER.items() if why is LOUD))
def test_a_run_that_never_stops_goes_where_the_original_went_and_tells(index):
    trace = traces()[index]
    given = {"program": program(f"rail/{trace['file']}"), "variables": trace["context"], "press_on": True}
    walk = walker.start(**given)
    keys, told = [], []
    while not walk.position.complete:
        keys.append(walk.position.pending)
        decision = "stop" if iteration_of(keys[-1]) >= rounds(trace) else "continue"
        said = ({"kind": LOOP_CONTROL_KIND, "decision": decision},) if "::" in keys[-1] else ()
        walk = walker.complete_pending(**given, position=walk.position, artifacts=said)
        told.extend(failure.kind for failure in walk.passed)

    assert keys == trace["stepInstanceKeys"]
    assert set(told) == {FailureKind.MAX_ITERATIONS}


def iteration_of(key):
    return int(key.partition("@")[2].partition("::")[0]) + 1 if "@" in key else 0


@pytest.mark.parametrize("index", sorted(index for index, why in OTHER_ORDER.items() if why is OWN_DECISION))
def test_a_loop_that_the_original_skipped_is_run_and_nothing_else_differs(index):
    trace = traces()[index]

    found = simulated(trace)

    added = [key for key in found.keys if key not in trace["stepInstanceKeys"]]
    assert found.outcome is SimulatedOutcome.COMPLETE
    assert [key for key in found.keys if key not in added] == trace["stepInstanceKeys"]
    assert len({key.partition("@")[0] for key in added}) == 1


def test_the_order_of_the_first_generation_is_the_order_here():
    cases = read("lookup/vectors/workflow-next-v1.json")

    walked = [
        list(simulate(program=program(f"lookup/{case['file']}"), variables=case["context"], answers={}).keys)
        for case in cases
    ]

    assert len(cases) == 18
    assert walked == [case["order"] for case in cases]
