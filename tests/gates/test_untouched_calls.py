"""A call that stands ready in a reply says nothing until its places are filled in: sent as it stands, it records and passes nothing."""

import pytest

from sessions_app.models import Output
from tests.gate_play import HANDED_OVER, STEPS, hand_in, nav, nav_start, rail_start, reached, said
from tests.run_cast import notes_free, published
from tests.step_documents import step
from workflows_app.engine.contracts import BUILT_IN

pytestmark = pytest.mark.django_db(transaction=True)


def stored():
    return [(row.channel, row.body) for row in Output.objects.order_by("event_index")]


@pytest.fixture
def offered(floor):
    """Each place for notes that a reply of the rail offers."""
    published(floor.desk, step("only"), workflow_id=STEPS)
    of_run = rail_start(floor)["nextCall"]["params"]["output"]["notesMarkdown"]
    of_session = floor.rail("start_session", title="Look")["nextCall"]["params"]["output"]["notesMarkdown"]
    refused = said(floor.rail.raw("checkpoint_workflow", output={"notesMarkdown": "A note."}))
    return {of_run, of_session, refused["details"]["correctTemplate"]["output"]["notesMarkdown"]}


def test_a_place_for_notes_is_no_note(floor, offered):
    value = rail_start(floor)
    session = floor.rail("start_session", title="Look")["sessionToken"]
    state = nav_start(floor)["state"]
    before = stored()

    for place in offered:
        output = {"notesMarkdown": f" {place}\n"}
        at_step = {"stateToken": value["stateToken"], "checkpointToken": value["checkpointToken"]}
        refusals = [
            said(floor.rail.raw("checkpoint_workflow", **at_step, output=output)),
            said(floor.rail.raw("checkpoint_workflow", sessionToken=session, output=output)),
        ]
        assert [refused["code"] for refused in refusals] == ["VALIDATION_ERROR"] * 2
        tokens = {"stateToken": value["stateToken"], "ackToken": value["ackToken"]}
        assert said(floor.rail.raw("continue_workflow", **tokens, output=output))["kind"] == "blocked"
        nav(floor, state, "complete_step", step_id="only", notes=place)

    assert stored() == before


@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_a_place_for_notes_is_no_output_of_a_step(floor, offered, dialect):
    token = hand_in(floor, dialect, STEPS, "main")

    manifest = [{"step_id": "only", "output": place} for place in offered]
    floor[dialect].raw("next_activity", session_token=token, activity_id="workflow-end", step_manifest=manifest)

    assert stored() == []


@pytest.mark.parametrize("contract", BUILT_IN)
def test_a_form_that_nobody_filled_in_meets_no_contract(floor, contract):
    gated = notes_free("gated", outputContract={"contractRef": contract})
    published(floor.desk, gated, notes_free("after"), workflow_id=STEPS)
    value = rail_start(floor)
    call = value["nextCall"]

    stuck = said(floor.rail.raw(call["tool"], **call["params"]))

    assert stuck["kind"] == "blocked"
    assert reached() == {"gated"}
