"""The vectors of the originals through the real services and tables, not through the engine alone."""

import json
from functools import cache
from pathlib import Path

import pytest

from teams_app.engine.errors import InvalidInputError, PreconditionFailedError
from tests import run_cast
from tests.corpus import test_condition_vectors as told, test_walker_vectors as walked
from tests.engine_play import NEVER_STOP
from tests.run_cast import (
    advanced,
    assert_healthy,
    blocker_codes,
    bookmark,
    events,
    notes_free,
    rehydrate,
    run_id,
    session_id,
    warning_codes,
)
from workflows_app.engine import canonical
from workflows_app.engine.program import ConditionMode, program_bytes, workflow_hash

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "corpus"

pytestmark = [
    # To tell a lost chat where it stands, a transaction is begun that only reads, which Postgres allows outermost only.
    pytest.mark.django_db(transaction=True),
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

    for index, trace in _traces_of(file):
        keys, end = _walked(desk, trace)

        if walked.OTHER_ORDER.get(index) is walked.OWN_DECISION:
            assert [key for key in keys if key in trace["stepInstanceKeys"]] == trace["stepInstanceKeys"]
        elif trace["complete"]:
            assert keys == trace["stepInstanceKeys"]
        else:
            assert keys[: len(trace["stepInstanceKeys"])] == trace["stepInstanceKeys"]
        assert _is_told_loudly(end) is (walked.OTHER_ORDER.get(index) is walked.LOUD)
        assert_healthy(end)


def _is_told_loudly(end):
    from sessions_app.models import Gap

    return Gap.objects.filter(run_id=run_id(end), severity="critical", detail="evaluation_error").exists()


def test_every_trace_is_walked():
    assert sum(len(_traces_of(file)) for file in files()) == len(walked.traces()) == 184


# Those of the loud ones whose steps ask for nothing beside their order, so that a run that stops gets as far.
PLAIN_AND_LOUD = [
    index
    for index, trace in enumerate(walked.traces())
    if walked.OTHER_ORDER.get(index) is walked.LOUD and "/loops/" in trace["file"]
]


@pytest.mark.parametrize("index", PLAIN_AND_LOUD)
def test_where_the_original_left_a_loop_in_silence_a_run_is_blocked_there(desk, index):
    trace = walked.traces()[index]
    _publish_program(desk, walked.program(f"rail/{trace['file']}"))
    value = run_cast.start(desk, context=trace["context"]).value
    keys = []
    while value["kind"] == "ok":
        keys.append(key_of(value))
        value = advanced(desk.agent, value, artifacts=_artifacts(trace, keys[-1]))

    again = rehydrate(desk.agent, value).value

    assert blocker_codes(again) == blocker_codes(value) == ["INVARIANT_VIOLATION"]
    assert key_of(again) == keys[-1]
    assert len(keys) > 1
    assert keys == trace["stepInstanceKeys"][: len(keys)]
    assert_healthy(again)


def _traces_of(file):
    return [(index, trace) for index, trace in enumerate(walked.traces()) if trace["file"] == file]


def _walked(desk, trace):
    """The keys of a run that never stops, so that what a step asks for beside its order does not hold it up.

    Every other step is acknowledged with the tokens that a lost chat is given.
    """
    value = run_cast.start(desk, context=trace["context"], preferences=NEVER_STOP, actor=desk.person).value
    keys = []
    while not value["isComplete"]:
        keys.append(key_of(value))
        again = rehydrate(desk.agent, value).value
        assert key_of(again) == keys[-1]
        at = again if len(keys) % 2 else value
        value = advanced(desk.agent, at, artifacts=_artifacts(trace, keys[-1]))
    return keys, value


def _artifacts(trace, key):
    if "::" in key:
        decision = "stop" if walked.iteration_of(key) >= walked.rounds(trace) else "continue"
        return [{"kind": "wr.loop_control", "decision": decision}]
    return walked.answers(trace).get(key, {}).get("artifacts", [])


def key_of(value):
    pending = value["pending"]
    return "" if pending is None else pending.get("stepKey") or pending["stepId"]


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
    """In the state, in what a lost chat is told to go on from, and in the log, whose deltas add up to the same."""
    case = vectors("context-merge")[index]
    run_cast.published(desk, notes_free("first-step"), notes_free("next-step"), notes_free("last-step"))
    value = run_cast.start(desk, context=case["stored"] or {}).value

    if case["ok"]:
        then = advanced(desk.agent, value, context=case["delta"])
        later = advanced(desk.agent, rehydrate(desk.agent, then).value)
        assert [snapshot_of(at).get("variables", {}) for at in (then, later)] == [case["result"]] * 2
        assert _told_by_the_log(later) == case["result"]
        assert_healthy(later)
    else:
        before = len(events(value))
        with pytest.raises(InvalidInputError) as refusal:
            advanced(desk.agent, value, context=case["delta"])
        assert refusal.value.details["reason"] == case["result"]
        assert len(events(value)) == before
        with pytest.raises(InvalidInputError):
            run_cast.start(desk, context=case["delta"])


def test_every_case_of_merging_is_among_them():
    assert len(vectors("context-merge")) == 9


def _told_by_the_log(value):
    told = {}
    for event in events(value, "context_set"):
        told |= event["data"]["delta"]
    return {key: value for key, value in told.items() if value is not None}


# Notes


@pytest.mark.parametrize("index", range(8))
def test_notes_are_cut_as_they_should_be_and_never_longer(desk, index):
    """Where the original kept more than its limit it had a bug; its other rows hold here to the byte, or to a character.

    Notes of a step and notes beside it, in the table and in what a lost chat is told.
    """
    vector = vectors("notes-truncation")
    case = vector["cases"][index]
    notes = case["char"] * case["count"]
    run_cast.published(desk, notes_free("first-step"), notes_free("next-step"))

    beside = bookmark(desk.agent, run_cast.start(desk).value, notes).value
    then = advanced(desk.agent, beside, notes)

    kept = _notes_of(then)
    assert [entry["notes"] for entry in rehydrate(desk.agent, then).value["recap"]["entries"]] == kept
    assert len(kept) == 2
    assert kept[0] == kept[1]
    assert len(kept[0].encode()) <= vector["maxBytes"]
    assert kept[0].endswith(vector["marker"]) == case["truncated"]
    assert notes.startswith(kept[0].removesuffix(vector["marker"]))
    if case["outBytes"] <= vector["maxBytes"]:
        assert case["outBytes"] - len(kept[0].encode()) < len(case["char"].encode())
    assert ("NOTES_TRUNCATED" in warning_codes(then)) is case["truncated"]
    assert_healthy(then)


def test_every_case_of_cutting_is_among_them():
    assert len(vectors("notes-truncation")["cases"]) == 8


def _notes_of(value):
    from sessions_app.models import Output

    return list(
        Output.objects.filter(session_id=session_id(value)).order_by("event_index").values_list("body", flat=True)
    )


# Canonical JSON


def test_every_value_comes_back_from_context_and_artifact_in_its_canonical_form(desk):
    """A null is wrapped, because as a value of the context it would remove its key."""
    from sessions_app.models import Output

    run_cast.published(desk, notes_free("first-step"), notes_free("next-step"))
    rows = vectors("jcs")
    refused = []

    for row in rows:
        value = run_cast.start(desk).value
        wrapped = {"v": row["input"]}
        try:
            then = advanced(
                desk.agent, value, context={"wrapped": wrapped}, artifacts=[{"kind": "own.value", **wrapped}]
            )
        except InvalidInputError as refusal:
            refused.append((row["canonical"], refusal.details["reason"]))
            continue
        body = Output.objects.get(session_id=session_id(then), channel="artifact").body
        assert body == f'{{"kind":"own.value","v":{row["canonical"]}}}'
        again = rehydrate(desk.agent, then).value
        for at in (then, advanced(desk.agent, again)):
            found = canonical.canonical_bytes(snapshot_of(at)["variables"]["wrapped"]["v"])
            assert found.decode() == row["canonical"]
        assert_healthy(then)

    assert len(rows) == 31
    # Postgres cannot hold U+0000 in a text: it is refused by name, and nothing is written.
    assert [reason for _, reason in refused] == ["nul_character"]


# Conditions


def test_every_condition_decides_whether_its_step_comes(desk):
    """One workflow for each condition; one run for each row of the table, which meets the condition with an advance."""
    table = vectors("conditions")
    checked = disagreeing = 0
    for index, condition in _conditions():
        name = f"team.condition-{index}"
        conditional = notes_free("conditional-step", runCondition=condition)
        run_cast.published(desk, notes_free("first-step"), conditional, notes_free("last-step"), workflow_id=name)
        for context, expected in _results(index):
            value = run_cast.start(desk, name).value
            then = advanced(desk.agent, value, context=context)
            again = rehydrate(desk.agent, then).value
            checked += 1
            wanted = "conditional-step" if expected else "last-step"
            disagreeing += [then["pending"]["stepId"], again["pending"]["stepId"]] != [wanted] * 2

    left_out = sum(1 for index, context, _ in table["results"] if _differs(index, table["contexts"][context]))
    assert checked + left_out == len(table["results"]) == 559
    assert disagreeing == 0


def test_a_condition_decides_the_first_step_of_a_run_as_well(desk):
    for index, condition in _conditions():
        name = f"team.condition-{index}"
        run_cast.published(
            desk, notes_free("conditional-step", runCondition=condition), notes_free("last-step"), workflow_id=name
        )
        for context, expected in _results(index)[:3]:
            value = run_cast.start(desk, name, context=context).value
            assert (value["pending"]["stepId"] == "conditional-step") is expected


@pytest.mark.parametrize("index", sorted(index for mode, index in told.REFUSED_HERE if mode is ConditionMode.LENIENT))
def test_a_condition_that_means_nothing_is_not_published(desk, index):
    from tests.workflow_cast import create, publish

    odd = notes_free("conditional-step", runCondition=vectors("conditions")["conditions"][index])
    create(desk.person, "team.odd", steps=[odd])

    with pytest.raises(PreconditionFailedError):
        publish(desk.person, "team.odd")


def _conditions():
    return [
        (index, condition)
        for index, condition in enumerate(vectors("conditions")["conditions"])
        if (ConditionMode.LENIENT, index) not in told.REFUSED_HERE
        and told.is_accepted(condition, ConditionMode.LENIENT)
    ]


def _results(index):
    table = vectors("conditions")
    found = [(table["contexts"][context], expected) for row, context, expected in table["results"] if row == index]
    return [(context, expected) for context, expected in found if not _differs(index, context)]


def _differs(index, context):
    """Where the engine's own test of this table says, with a reason, that this project means to differ."""
    if index not in dict(_conditions()):
        return True
    contexts, _ = told.OTHER_RESULTS.get((ConditionMode.LENIENT, index), ([], ""))
    return contexts is None or context in contexts
