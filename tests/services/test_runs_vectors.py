"""The vectors of the originals through the real services and tables, not through the engine alone."""

import json
from functools import cache
from pathlib import Path

import pytest

from teams_app.engine.errors import InvalidInputError
from tests import run_cast
from tests.corpus import test_condition_vectors as told, test_walker_vectors as walked
from tests.engine_play import NEVER_STOP
from tests.run_cast import advanced, assert_healthy, notes_free, run_id, session_id
from workflows_app.engine import canonical
from workflows_app.engine.program import ConditionMode, program_bytes, workflow_hash

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "corpus"

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout"),
]


def read(path):
    return json.loads((CORPUS / path).read_text(encoding="utf-8"))


@cache
def vectors(name):
    return read(f"rail/vectors/{name}.json") if CORPUS.is_dir() else []


@pytest.fixture
def desk():
    return run_cast.make_desk()


def snapshot_of(value):
    from sessions_app.models import Node, Run, Snapshot

    tip = Run.objects.get(pk=run_id(value)).tip_node_id
    row = Snapshot.objects.get(digest=Node.objects.get(pk=tip).snapshot_digest)
    return json.loads(bytes(row.data))


# Order of steps


def files():
    if not CORPUS.is_dir():
        return []
    return sorted({trace["file"] for trace in vectors("interpreter-traces")["traces"]})


@pytest.mark.parametrize("file", files())
def test_runs_through_the_services_have_the_order_of_the_original(desk, file):
    """The program is the one that the walk's own vectors compile; here it is stored, pinned and walked by tokens."""
    _publish_program(desk, walked.program(f"rail/{file}"))
    numbered = list(enumerate(vectors("interpreter-traces")["traces"]))

    for index, trace in [(index, trace) for index, trace in numbered if trace["file"] == file]:
        keys, end = _walked(desk, trace)

        if walked.OTHER_ORDER.get(index) is walked.OWN_DECISION:
            assert [key for key in keys if key in trace["stepInstanceKeys"]] == trace["stepInstanceKeys"]
        elif trace["complete"]:
            assert keys == trace["stepInstanceKeys"]
        else:
            assert keys[: len(trace["stepInstanceKeys"])] == trace["stepInstanceKeys"]
    assert_healthy(end)


def _walked(desk, trace):
    """The keys of a run that never stops, so that what a step asks for beside its order does not hold it up."""
    value = run_cast.start(desk, context=trace["context"], preferences=NEVER_STOP).value
    keys = []
    while not value["isComplete"]:
        keys.append(value["pending"].get("stepKey") or value["pending"]["stepId"])
        decision = "stop" if walked.iteration_of(keys[-1]) >= walked.rounds(trace) else "continue"
        said = [{"kind": "wr.loop_control", "decision": decision}] if "::" in keys[-1] else []
        said = said or walked.answers(trace).get(keys[-1], {}).get("artifacts", [])
        value = advanced(desk.agent, value, artifacts=said)
    return keys, value


def _publish_program(desk, program):
    """In the place of what a small workflow was compiled to: how one gets there is the matter of other tests."""
    from workflows_app.models import Program, Revision

    run_cast.published(desk, notes_free("only-step"))
    row = Program.objects.get()
    row.pk, row.data = workflow_hash(program), program_bytes(program)
    row.save(force_insert=True)
    Revision.objects.update(program_id=row.pk)


# Context


@pytest.mark.parametrize("index", range(9))
def test_context_is_merged_as_the_original_merged_it(desk, index):
    case = vectors("context-merge")[index]
    run_cast.published(desk, notes_free("first-step"), notes_free("next-step"), notes_free("last-step"))
    value = run_cast.start(desk, context=case["stored"] or {}).value

    if case["ok"]:
        then = advanced(desk.agent, value, context=case["delta"])
        assert snapshot_of(then).get("variables", {}) == case["result"]
        assert_healthy(then)
    else:
        with pytest.raises(InvalidInputError) as refusal:
            advanced(desk.agent, value, context=case["delta"])
        assert refusal.value.details["reason"] == case["result"]


# Notes


@pytest.mark.parametrize("index", range(8))
def test_notes_are_cut_as_they_should_be_and_never_longer(desk, index):
    """Where the original kept more than its limit it had a bug; its other rows hold here to the byte, or to a character."""
    from sessions_app.models import Output

    vector = vectors("notes-truncation")
    case = vector["cases"][index]
    run_cast.published(desk, notes_free("first-step"), notes_free("next-step"))

    then = advanced(desk.agent, run_cast.start(desk).value, case["char"] * case["count"])

    kept = Output.objects.get(session_id=session_id(then)).body
    assert len(kept.encode()) <= vector["maxBytes"]
    assert kept.endswith(vector["marker"]) == case["truncated"]
    assert not kept.endswith("\ufffd")
    if case["outBytes"] <= vector["maxBytes"]:
        assert case["outBytes"] - len(kept.encode()) < len(case["char"].encode())
    assert_healthy(then)


# Canonical JSON


def test_every_value_comes_back_from_context_and_artifact_in_its_canonical_form(desk):
    from sessions_app.models import Output

    run_cast.published(desk, notes_free("first-step"), notes_free("next-step"))
    rows = [row for row in vectors("jcs") if row["input"] is not None]
    refused = []

    for row in rows:
        value = run_cast.start(desk).value
        artifact = {"kind": "own.value", "value": row["input"]}
        try:
            then = advanced(desk.agent, value, context={"value": row["input"]}, artifacts=[artifact])
        except InvalidInputError as refusal:
            refused.append((row["canonical"], refusal.details["reason"]))
            continue
        body = Output.objects.get(session_id=session_id(then), channel="artifact").body
        assert body == f'{{"kind":"own.value","value":{row["canonical"]}}}'
        assert canonical.canonical_bytes(snapshot_of(then)["variables"]["value"]).decode() == row["canonical"]
        assert_healthy(then)

    assert len(rows) > 10
    # Postgres cannot hold U+0000 in a text: it is refused by name, and nothing is written.
    assert {reason for _, reason in refused} <= {"nul_character"}
    assert len(refused) <= 1


# Conditions


def test_every_condition_decides_whether_its_step_comes(desk):
    """One workflow for each condition, one run for each context in which the table tells a result."""
    table = vectors("conditions")
    mode = ConditionMode.LENIENT
    skipped = {index for _, index in told.REFUSED_HERE} | {index for _, index in told.OTHER_RESULTS}
    checked = wrong = 0
    for index, condition in enumerate(table["conditions"]):
        results = [row for row in table["results"] if row[0] == index][:6]
        if index in skipped or not results or not told.is_accepted(condition, mode):
            continue
        name = f"team.condition-{index}"
        conditional = notes_free("conditional-step", runCondition=condition)
        run_cast.published(desk, conditional, notes_free("always-step"), workflow_id=name)
        for _, context, expected in results:
            try:
                value = run_cast.start(desk, name, context=table["contexts"][context]).value
            except InvalidInputError:
                continue
            checked += 1
            wrong += (value["pending"]["stepId"] == "conditional-step") is not expected

    assert checked > 100
    assert wrong == 0
