"""Every kind of gate, in every dialect, under every mode, against every way of moving on: each cell says what must happen."""

from itertools import product

import pytest

from sessions_app.engine.checkpoints import Authority
from sessions_app.engine.reasons import Detail
from tests.gate_debts import MATRIX_STILL_RED
from tests.gate_kinds import KINDS, Kind, publish_child, publish_parent, publish_ungated
from tests.gate_matrix import Outcome, broken, outcome_of
from tests.gate_play import DIALECTS, HANDED_OVER
from tests.gate_scenes import Mode, another_try, set_scene
from tests.gate_ways import LEAVES_NO_MARK, WAYS, Way
from workflows_app.engine.program import ConfirmationKind
from workrail_site.mcp.toolsets import all_servers

pytestmark = pytest.mark.django_db(transaction=True)

NO_GATE = "what an agent says of itself, or a defect: nobody is waited for by it"
PLAYED_BY = {
    Detail.NEEDS_USER_APPROVAL: Kind.APPROVAL,
    Detail.NEEDS_USER_CHOICE: Kind.RELAYED_QUESTION,
    Detail.MISSING_REQUIRED_OUTPUT: Kind.CONTRACT,
    Detail.INVALID_REQUIRED_OUTPUT: Kind.CONTRACT,
    Detail.REQUIRED_CAPABILITY_UNAVAILABLE: Kind.CAPABILITY,
    Detail.REQUIRED_CAPABILITY_UNKNOWN: Kind.CAPABILITY,
    Detail.MISSING_CONTEXT_KEY: Kind.CONTEXT,
    **dict.fromkeys(
        (
            Detail.NEEDS_USER_SECRET_OR_TOKEN,
            Detail.NEEDS_USER_ACCOUNT_ACCESS,
            Detail.NEEDS_USER_ARTIFACT,
            Detail.NEEDS_USER_ENVIRONMENT_ACTION,
            Detail.MISSING_REQUIRED_NOTES,
            Detail.ASSESSMENT_FOLLOWUP_REQUIRED,
            Detail.INVARIANT_VIOLATION,
            Detail.STORAGE_CORRUPTION_DETECTED,
            Detail.EVALUATION_ERROR,
        ),
        NO_GATE,
    ),
}
MOVING_TOOLS = {
    "rail": {"checkpoint_workflow", "continue_workflow", "start_session", "start_workflow"},
    "navigation": {"nav_action", "nav_start"},
    "session": {"next_activity", "respond_checkpoint", "start_session"},
    "orchestrator": {"next_activity", "respond_checkpoint", "start_session", "yield_checkpoint"},
}
_PLAYED = set(Outcome) - {Outcome.FREE, Outcome.NO_SUCH_WAY}


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", Kind)
def test_each_way_past_a_gate_ends_as_the_table_says(doors, doored, kind, dialect, mode):
    expected = {way: outcome_of(kind, dialect, mode, way) for way in Way}
    publish_child(doors.desk)
    workflow_id = KINDS[kind].publish(doors.desk, "team.gated")
    publish_parent(doors.desk, workflow_id)

    wrong, scene = {}, None
    for way in (way for way in Way if expected[way] in _PLAYED):
        scene = scene or set_scene(doored, doors, kind, dialect, mode, workflow_id)
        attempt = another_try(scene)
        WAYS[dialect][way](attempt)
        said = broken(expected[way], attempt)
        if said:
            wrong[way.value] = said
        # What stands where it stood serves the next way as well.
        scene = scene if way in LEAVES_NO_MARK and not attempt.has_passed else None

    owed = MATRIX_STILL_RED.get(f"{kind}-{dialect}-{mode}", "").split()
    assert sorted(wrong) == sorted(owed), wrong


def test_nobody_adds_a_kind_or_a_way_without_saying_what_must_happen():
    cells = product(Kind, DIALECTS, Mode, Way)

    assert set(KINDS) == set(Kind)
    assert all(set(ways) == set(Way) for ways in WAYS.values())
    assert all(outcome_of(*cell) for cell in cells)


def test_every_tool_that_moves_a_run_is_tried_at_the_gates():
    moving = {
        name: {tool.name for tool in server.tools() if not tool.hints.read_only}
        for name, server in all_servers().items()
        if name in DIALECTS
    }

    assert moving == MOVING_TOOLS


def test_every_reason_to_stop_is_a_kind_of_gate_or_said_to_be_none():
    """Whoever teaches the engine another reason says here which row of the matrix plays it."""
    assert set(PLAYED_BY) == set(Detail)
    assert set(PLAYED_BY.values()) - {NO_GATE} <= set(Kind)
    assert {kind.value for kind in ConfirmationKind} == {"always", "conditional", "coordinator_eval", "human_approval"}
    assert {authority.value for authority in Authority} == {"relayed", "human", "default"}


@pytest.mark.parametrize("way", [Way.REST_TOOLS, Way.REST_RUNS, Way.RETRY, Way.REVISION])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_ways_by_other_doors_lead_on_where_nothing_is_gated(doors, doored, dialect, way):
    """Or the matrix would say that a gate holds where nobody moved."""
    workflow_id = KINDS[Kind.APPROVAL].publish(doors.desk, "team.gated")
    publish_ungated(doors.desk, workflow_id, KINDS[Kind.APPROVAL])
    scene = set_scene(doored, doors, Kind.APPROVAL, dialect, Mode.GUIDED, workflow_id)

    WAYS[dialect][way](scene)

    # A session token is none of those that REST has for runs.
    assert scene.has_passed is not (way is Way.REST_RUNS and dialect in HANDED_OVER)
