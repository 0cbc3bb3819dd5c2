"""`verify_store` names a run that went past people: its history is planted, since no call makes one."""

import pytest
from django.db import connection
from django.utils import timezone

from sessions_app.engine.projections import project
from sessions_app.models import Run, WorkSession
from sessions_app.selectors.gates_passed import REASON, gates_passed
from sessions_app.selectors.integrity import verify_session
from sessions_app.selectors.stored_sessions import read_stored
from tests import logs, run_cast
from tests.activity_folders import activity, checkpoint, equals, folder, step as activity_step, workflow
from tests.checkpoint_cast import answer, publish_folder
from tests.gate_kinds import KINDS
from tests.gate_matrix import PEOPLE
from tests.gate_play import (
    APPROVAL,
    NEVER_STOP,
    asking_folder,
    hand_in,
    hand_next,
    nav,
    nav_start,
    nav_step,
    only_run,
    open_floor,
    person_answers,
    questions,
    rail_ack,
    rail_at_gate,
    rail_read,
    rail_start,
    reached,
)
from tests.gate_scenes import Mode, people_answer, set_scene
from tests.run_cast import notes_free, published
from tests.step_documents import loop
from workflows_app.selectors import programs

FREE, GUARDED = "team.free", "team.guarded"


@pytest.fixture
def planted(db, clock):
    """In one transaction that is rolled back, so that the database may be maltreated."""
    yield open_floor(run_cast.make_desk(), clock)
    programs._programs.clear()


def findings(reason=REASON):
    found = [finding for session in WorkSession.objects.all() for finding in verify_session(session.id)]
    return [str(finding) for finding in found if finding.reason == reason]


def publish_twins(floor):
    """Two workflows of the same steps; in one of them a person has to approve the second."""
    for workflow_id, fields in ((FREE, {}), (GUARDED, {"requireConfirmation": APPROVAL})):
        steps = (notes_free("before"), notes_free("gated", **fields), notes_free("after"))
        published(floor.desk, *steps, workflow_id=workflow_id)


def plant_the_guard(floor):
    """Who owns the database puts the program with the guard where the one without it was: the history stays as it was."""
    rail_start(floor, GUARDED)
    hashes = dict(Run.objects.values_list("workflow_id", "workflow_hash"))
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE workflows_app_program DROP CONSTRAINT program_named_by_content")
        cursor.execute(
            """UPDATE workflows_app_program SET data = (
                   SELECT data FROM workflows_app_program WHERE workflow_hash = %s
               ) WHERE workflow_hash = %s""",
            [hashes[GUARDED], hashes[FREE]],
        )
    programs._programs.clear()


def by_rail(floor):
    rail_ack(floor, rail_at_gate(floor, FREE))


def by_hand(floor):
    nav_step(
        floor,
        nav_step(floor, nav_step(floor, nav_start(floor, FREE)["state"], "before")["state"], "gated")["state"],
        "after",
    )


def by_manifest(dialect, *done):
    def walk(floor):
        hand_next(floor, dialect, hand_in(floor, dialect, FREE, "main"), "workflow-end", *done)

    return walk


@pytest.mark.parametrize(
    "walk",
    [
        by_rail,
        by_hand,
        by_manifest("session", "before", "gated", "after"),
        by_manifest("session", "before", "after"),
        by_manifest("orchestrator"),
        by_manifest("orchestrator", "after"),
    ],
)
def test_a_run_that_is_past_an_approval_is_named(planted, walk):
    floor = planted
    publish_twins(floor)
    walk(floor)
    assert findings() == []

    plant_the_guard(floor)

    (found,) = findings()
    assert "past 'gated'" in found


ROUNDS = {"var": "on", "equals": True}
LATER = {"runCondition": {"var": "currentIteration", "gt": 1}}
# What stands before the first work in the loop: the engine once took the first round, or its first item, for begun.
BODIES = {
    "work at once": [notes_free("inner"), notes_free("second")],
    "a first round without a step": [notes_free("inner", **LATER), notes_free("second", **LATER)],
    "a step that is left out": [notes_free("never", runCondition=ROUNDS), notes_free("inner"), notes_free("second")],
    "a loop without a round": [
        loop("empty", [notes_free("never")], type="while", condition=ROUNDS),
        notes_free("inner"),
        notes_free("second"),
    ],
    "a loop whose first round has no step": [
        loop("within", [notes_free("inner", **LATER)], type="for", count=2),
        notes_free("second"),
    ],
}


def publish_looping_twins(floor, body):
    for workflow_id, fields in ((FREE, {}), (GUARDED, {"requireConfirmation": APPROVAL})):
        rounds = loop("rounds", body, type="for", count=2) | fields
        published(floor.desk, notes_free("before"), rounds, notes_free("after"), workflow_id=workflow_id)


@pytest.mark.parametrize("body", BODIES)
def test_a_run_that_is_past_the_approval_of_a_loop_is_named(planted, body):
    floor = planted
    publish_looping_twins(floor, BODIES[body])
    at = rail_start(floor, FREE)
    while not at["isComplete"]:
        at = rail_ack(floor, at)
    assert findings() == []

    plant_the_guard(floor)

    (found,) = findings()
    assert "past 'rounds'" in found


@pytest.mark.parametrize("body", BODIES)
def test_an_approval_of_a_loop_is_found_wherever_its_first_work_was(floor, body):
    publish_looping_twins(floor, BODIES[body])
    at = rail_start(floor, GUARDED)
    while not at["isComplete"]:
        told = rail_ack(floor, at)
        if told["kind"] == "blocked":
            person_answers(floor, "approve")
            told = rail_read(floor, told)
        at = told

    assert [row.checkpoint_id for row in questions()] != []
    assert findings() == []


def test_an_answer_that_was_an_agents_is_named(planted):
    """The log said that a person answered, and now says that an agent did."""
    asking_folder(planted.desk, authority="human")
    rail_at_gate(planted, "team.folder")
    person_answers(planted, "yes")
    (session,) = WorkSession.objects.all()

    logs.spread(session.id)
    logs.without_guard(
        """UPDATE sessions_app_event
           SET body = convert_to(replace(convert_from(body, 'UTF8'), '"authority":"human"', '"authority":"relayed"'), 'UTF8')
           WHERE session_id = %s AND kind = 'checkpoint_answered'""",
        [session.id],
    )
    stored = read_stored(session.id)

    (found,) = gates_passed(stored, project(event.body for event in stored.events))
    assert "past 'agreed'" in found


@pytest.mark.parametrize("kind", sorted(PEOPLE))
@pytest.mark.parametrize("mode", [Mode.GUIDED, Mode.NEVER_BY_PERSON])
@pytest.mark.parametrize("dialect", ["rail", "navigation", "session", "orchestrator"])
def test_what_people_answered_or_waived_is_not_named(doors, doored, kind, mode, dialect):
    workflow_id = KINDS[kind].publish(doors.desk, "team.gated")
    scene = set_scene(doored, doors, kind, dialect, mode, workflow_id)

    for _ in range(2):
        scene.move()
        people_answer(scene)
    scene.move()

    assert findings() == []


def test_what_a_person_refused_or_sent_back_is_not_named(floor):
    published(floor.desk, notes_free("gated", requireConfirmation=APPROVAL), notes_free("after"), workflow_id=GUARDED)
    stuck = rail_ack(floor, rail_start(floor, GUARDED, preferences=NEVER_STOP))
    person_answers(floor, "send_back", reason="Not yet.")
    rail_ack(floor, rail_read(floor, stuck), "Better.")

    person_answers(floor, "reject", reason="Never.")

    assert Run.objects.get().status == "rejected"
    assert findings() == []


NEVER_DUE = {"var": "never", "equals": True}


@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_telling_of_a_step_before_an_approval_is_not_going_past_it(floor, dialect):
    steps = [notes_free("maybe", runCondition=NEVER_DUE), notes_free("gated", requireConfirmation=APPROVAL)]
    published(floor.desk, *steps, workflow_id=GUARDED)

    waiting = hand_next(floor, dialect, hand_in(floor, dialect, GUARDED, "main"), "workflow-end", "maybe", "gated")

    assert waiting["status"] == "waiting"
    assert findings() == []
    person_answers(floor, "approve")
    assert findings() == []


def humans(*names, **more):
    return [checkpoint(name, authority="human", **more) for name in names]


@pytest.mark.parametrize("condition", ["of the step", "of the question"])
def test_a_question_that_work_told_of_late_makes_needless_is_not_missed(floor, condition):
    high = {"condition": equals("risk", "high")}
    of_step, of_question = (high, {}) if condition == "of the step" else ({}, high)
    asks = [{"kind": "checkpoint", **each} for each in humans("agreed", **of_question)]
    asking = activity_step("asking", checkpoint="agreed", **of_step)
    plan = activity(
        "plan",
        checkpoints=humans("agreed") if of_step else [],
        steps=[{**activity_step("look"), "required": False}, *(asks if of_question else [asking])],
        transitions=[{"to": "build"}],
    )
    variables = [{"name": "risk", "type": "string", "defaultValue": "high"}]
    about = workflow(id=GUARDED, initialActivity="plan", variables=variables)
    publish_folder(floor.desk, folder(plan, activity("build", steps=[activity_step("make")]), about=about), GUARDED)
    token = hand_in(floor, "orchestrator", GUARDED, "plan")
    found = {"step_id": "look", "output": "Looked.", "context": {"risk": "none"}}

    floor.orchestrator("next_activity", session_token=token, activity_id="build", step_manifest=[found])

    assert "make" in reached()
    assert findings() == []


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_people_may_answer_the_questions_of_an_activity_in_any_order(floor, order):
    names = ("first", "second", "third")
    plan = activity(
        "plan", checkpoints=humans(*names), steps=[activity_step(f"do-{name}", checkpoint=name) for name in names]
    )
    publish_folder(floor.desk, folder(plan, about=workflow(id=GUARDED, initialActivity="plan")), GUARDED)
    token = hand_in(floor, "session", GUARDED, "plan")
    floor.read_it()
    asked = {row.checkpoint_id: row for row in questions()}
    for place in order:
        answer(floor.desk.person, asked[names[place]], "yes", now=timezone.now())
        assert findings() == []

    told = hand_next(floor, "session", token, "workflow-end", *(f"do-{name}" for name in names))

    assert told["status"] == "completed"
    assert findings() == []


def led_by_rail(floor):
    value = rail_start(floor, GUARDED)
    while not value["isComplete"]:
        value = rail_ack(floor, value)


def led_by_hand(floor):
    nav_step(floor, nav_step(floor, nav_start(floor, GUARDED)["state"], "before")["state"], "after")


@pytest.mark.parametrize("walk", [led_by_rail, led_by_hand])
def test_the_question_of_a_step_whose_condition_does_not_hold_is_not_missed(floor, walk):
    asking = activity_step("asking", checkpoint="agreed", condition=equals("never", value=True))
    plan = activity(
        "plan", checkpoints=humans("agreed"), steps=[activity_step("before"), asking, activity_step("after")]
    )
    publish_folder(floor.desk, folder(plan, about=workflow(id=GUARDED, initialActivity="plan")), GUARDED)

    walk(floor)

    assert only_run().status == "complete"
    assert findings() == []


SETS_RISK = {"action": "set", "target": "risk", "value": "high"}
# Where the variable is set anew by which somebody would have to be asked.
SET_ANEW = {"on leaving": ({"exitActions": [SETS_RISK]}, {}), "on entering": ({}, {"entryActions": [SETS_RISK]})}


@pytest.mark.parametrize("where", SET_ANEW)
@pytest.mark.parametrize("condition", ["of the step", "of the question"])
def test_a_question_whose_condition_holds_again_when_the_activity_is_left_is_not_missed(floor, condition, where):
    leaving, entering = SET_ANEW[where]
    high = {"condition": equals("risk", "high")}
    of_step, of_question = (high, {}) if condition == "of the step" else ({}, high)
    asking = activity_step("asking", checkpoint="agreed", **{"required": False} if of_question else {}, **of_step)
    plan = activity(
        "plan",
        checkpoints=humans("agreed", **of_question),
        steps=[activity_step("before"), asking],
        transitions=[{"to": "build"}],
        **leaving,
    )
    build = activity("build", steps=[activity_step("make")], **entering)
    variables = [{"name": "risk", "type": "string", "defaultValue": "high"}]
    about = workflow(id=GUARDED, initialActivity="plan", variables=variables)
    publish_folder(floor.desk, folder(plan, build, about=about), GUARDED)
    at = rail_start(floor, GUARDED)
    if of_question:
        at = rail_ack(floor, at)

    at = rail_ack(floor, at, context={"risk": "none"})

    assert at["pending"]["stepId"] == "make"
    assert findings() == []


@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_the_question_of_a_step_that_is_left_out_is_not_missed_where_its_own_condition_does_not_hold(floor, dialect):
    asked = humans("agreed", condition=equals("never", value=True))
    steps = [activity_step("draft", checkpoint="agreed"), activity_step("after")]
    plan = activity("plan", checkpoints=asked, steps=steps)
    variables = [{"name": "never", "type": "boolean", "defaultValue": False}]
    about = workflow(id=GUARDED, initialActivity="plan", variables=variables)
    publish_folder(floor.desk, folder(plan, about=about), GUARDED)
    token = hand_in(floor, dialect, GUARDED, "plan")
    if dialect == "session":
        floor.session("respond_checkpoint", session_token=token, checkpoint_id="agreed", condition_not_met=True)

    hand_next(floor, dialect, token, "workflow-end", "after")

    assert only_run().status == "complete"
    assert findings() == []


@pytest.mark.parametrize("target", ["build", "plan"])
@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_a_question_that_an_answer_before_it_has_made_needless_is_not_missed(floor, dialect, target):
    leading = [{"id": "go", "label": "Go", "effect": {"transitionTo": "build"}}, {"id": "stay", "label": "Stay"}]
    asked = [checkpoint("first", authority="human", options=leading), *humans("second")]
    plan = activity("plan", checkpoints=asked, steps=[activity_step("draft")], transitions=[{"to": "build"}])
    files = folder(
        plan,
        activity("build", steps=[activity_step("make")]),
        about=workflow(id=GUARDED, initialActivity="plan"),
    )
    publish_folder(floor.desk, files, GUARDED)
    token = hand_in(floor, dialect, GUARDED, "plan")
    if dialect == "orchestrator":
        token = floor.orchestrator("yield_checkpoint", session_token=token, checkpoint_id="first")["checkpoint_handle"]
    floor.read_it()
    (row,) = [row for row in questions() if row.checkpoint_id == "first"]
    answer(floor.desk.person, row, "go", now=timezone.now())
    if dialect == "orchestrator":
        token = floor.orchestrator("resume_checkpoint", session_token=token)["session_token"]

    went = hand_next(floor, dialect, token, target)

    assert "session_token" in went
    assert findings() == []


@pytest.mark.parametrize("option", ["again", "stay"])
def test_a_question_behind_one_that_was_asked_late_and_led_elsewhere_is_not_missed(floor, option):
    leading = [{"id": "again", "label": "Again", "effect": {"transitionTo": "plan"}}, {"id": "stay", "label": "Stay"}]
    plan = activity(
        "plan",
        checkpoints=[checkpoint("first", options=leading), *humans("second")],
        steps=[
            {**activity_step("look"), "required": False, "checkpoint": "first"},
            {**activity_step("draft"), "checkpoint": "second"},
        ],
        transitions=[{"to": "build"}],
    )
    build = activity("build", steps=[activity_step("make")])
    publish_folder(floor.desk, folder(plan, build, about=workflow(id=GUARDED, initialActivity="plan")), GUARDED)
    state = nav_start(floor, GUARDED)["state"]
    state = nav_step(floor, state, "look")["state"]
    floor.read_it()

    went = nav(floor, state, "respond_to_checkpoint", checkpoint_id="first", option_id=option)

    assert went["success"]
    assert findings() == []
