"""Ways in which gates were once walked around. In each an agent does its best; the work behind the gate stays out of reach."""

import pytest
from django.utils import timezone

from sessions_app.models import Node, Output
from tests.checkpoint_cast import answer
from tests.gate_play import (
    APPROVAL,
    COMPLETE,
    FOLDER,
    HANDED_OVER,
    NEVER_STOP,
    READ_SECONDS,
    STEPS,
    approval_steps,
    asking_folder,
    critical_gaps,
    hand_in,
    hand_next,
    hand_start,
    led_by_the_answer,
    logged,
    nav,
    nav_start,
    nav_step,
    person_answers,
    questions,
    rail_ack,
    rail_at_gate,
    rail_read,
    rail_start,
    reached,
    relayed,
)
from tests.run_cast import notes_free, published
from tests.run_doors import V1, go_on
from tests.step_documents import loop

pytestmark = pytest.mark.django_db(transaction=True)

BEHIND = {"after", "make", "again", COMPLETE}
SAFE, EVIL = "SAFE PLAN", "EVIL PLAN"
VERDICT = "wr.contracts.review_verdict"
DECISION = "wr.contracts.loop_control"


def assert_held(run=None):
    assert not reached(run) & BEHIND, reached(run)


def states(run=None):
    return [(row.authority, row.state) for row in questions(run)]


# 1. By mode


def test_an_agent_that_never_stops_waits_for_an_approval_all_the_same(floor):
    approval_steps(floor.desk)
    at = rail_at_gate(floor)

    told = rail_ack(floor, at, preferences=NEVER_STOP)

    assert told["kind"] == "blocked"
    assert_held()
    assert states() == [("human", "open")]


def test_a_run_that_an_agent_began_as_never_stopping_waits_for_an_approval(floor):
    approval_steps(floor.desk)

    told = rail_ack(floor, rail_at_gate(floor, preferences=NEVER_STOP))

    assert told["kind"] == "blocked"
    assert_held()


def test_an_agent_that_never_stops_waits_for_a_question_that_only_people_answer(floor):
    asking_folder(floor.desk, authority="human")

    at = rail_at_gate(floor, FOLDER, preferences=NEVER_STOP)
    floor.read_it()

    stuck = rail_ack(floor, at)
    told = rail_ack(floor, stuck, artifacts=[relayed("yes")])

    assert (stuck["kind"], told["kind"]) == ("blocked", "blocked")
    assert_held()


def test_a_key_that_never_stops_waits_by_rest_as_well(doors):
    approval_steps(doors.desk)
    begun = doors.agent.post(f"{V1}/runs", {"workflowId": STEPS, "preferences": NEVER_STOP}).json()

    told = go_on(doors.agent, go_on(doors.agent, begun).json(), preferences=NEVER_STOP).json()

    assert told["kind"] == "blocked"
    assert_held()


def test_no_key_changes_the_mode_of_a_run_or_of_a_session(doors):
    approval_steps(doors.desk)
    begun = doors.agent.post(f"{V1}/runs", {"workflowId": STEPS}).json()

    for kind, name in (("runs", "runId"), ("sessions", "sessionId")):
        refused = doors.agent("PUT", f"{V1}/{kind}/{begun['session'][name]}/preferences", NEVER_STOP)
        assert refused.status_code == 403

    assert doors.agent("PUT", f"{V1}/preferences", NEVER_STOP).status_code == 403


def test_the_log_says_that_an_agent_chose_the_mode(floor):
    approval_steps(floor.desk)

    rail_start(floor, preferences=NEVER_STOP)
    rail_ack(floor, rail_start(floor), preferences=NEVER_STOP)

    chosen = [entry["source"] for entry in logged("preferences_changed") if entry["delta"]]
    assert len(chosen) >= 2
    assert "user" not in chosen


def test_the_log_says_that_a_person_chose_the_mode(doors):
    approval_steps(doors.desk)
    begun = doors.agent.post(f"{V1}/runs", {"workflowId": STEPS}).json()

    doors.person("PUT", f"{V1}/runs/{begun['session']['runId']}/preferences", NEVER_STOP)

    assert logged("preferences_changed")[-1]["source"] == "user"


def waived_run(doors, floor, workflow_id):
    """A run at its gate that a person has told never to stop."""
    at = rail_at_gate(floor, workflow_id)
    path = f"{V1}/runs/{at['session']['runId']}/preferences"
    changed = doors.person("PUT", path, NEVER_STOP)
    assert changed.status_code == 200, changed.content
    return changed.json()


@pytest.mark.parametrize("makes", [approval_steps, lambda desk: asking_folder(desk, authority="human")])
def test_a_person_waives_an_approval_and_a_critical_gap_names_them(doors, doored, makes):
    workflow_id = makes(doors.desk)
    at = waived_run(doors, doored, workflow_id)

    told = rail_ack(doored, at)

    assert (told["kind"], told["pending"]["stepId"]) == ("ok", "after")
    gaps = [gap.summary for gap in critical_gaps() if gap.detail == "needs_user_approval"]
    assert len(gaps) == 1
    assert doors.desk.person.name in gaps[0] or doors.desk.person.id in gaps[0]


def test_what_a_person_waived_is_not_waived_any_more_when_an_agent_chooses_the_mode_again(doors, doored):
    """Guided again, and then never stopping by the agent's own word: that is the agent's mode, not the person's."""
    approval_steps(doors.desk)
    at = waived_run(doors, doored, STEPS)
    path = f"{V1}/runs/{at['session']['runId']}/preferences"
    back = doors.person("PUT", path, {"preset": "guided"}).json()

    told = rail_ack(doored, back, preferences=NEVER_STOP)

    assert told["kind"] == "blocked"
    assert_held()


# 2. By omission


@pytest.mark.parametrize("dialect", HANDED_OVER)
@pytest.mark.parametrize("done", [(), ("before",), ("before", "after"), ("after",), ("before", "gated", "after")])
def test_no_manifest_ends_a_run_past_an_approval(floor, dialect, done):
    approval_steps(floor.desk)
    token = hand_in(floor, dialect, STEPS, "main")

    hand_next(floor, dialect, token, "workflow-end", *done)

    assert_held()


@pytest.mark.parametrize("dialect", HANDED_OVER)
@pytest.mark.parametrize("done", [(), ("draft",), ("draft", "after"), ("after",)])
@pytest.mark.parametrize("target", ["build", "workflow-end", "redo"])
def test_no_manifest_leads_past_a_question_that_only_people_answer(floor, dialect, done, target):
    asking_folder(floor.desk, authority="human")
    token = hand_in(floor, dialect, FOLDER, "plan")

    hand_next(floor, dialect, token, target, *done)

    assert_held()


@pytest.mark.parametrize("dialect", HANDED_OVER)
@pytest.mark.parametrize("target", ["build", "workflow-end"])
def test_an_activity_that_was_never_entered_is_not_jumped_over_with_its_gate(floor, dialect, target):
    asking_folder(floor.desk, authority="human")

    hand_next(floor, dialect, hand_start(floor, dialect, FOLDER), target)

    assert_held()


@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_a_run_does_not_end_past_an_approval_that_was_never_come_to(floor, dialect):
    approval_steps(floor.desk)

    hand_next(floor, dialect, hand_start(floor, dialect, STEPS), "workflow-end")

    assert_held()


@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_an_approval_that_is_asked_for_by_what_became_true_on_the_way_is_not_left_out(floor, dialect):
    """Its condition does not hold when the activity is entered, and does when its step comes."""
    folder_of_two_questions(floor.desk)
    token = hand_in(floor, dialect, FOLDER, "plan")
    token = answered_by_agent(floor, dialect, token, "first", "yes")

    hand_next(floor, dialect, token, "build", "ask", "draft", "after")

    assert not reached() & {"make", COMPLETE}


def folder_of_two_questions(desk):
    """`first` is the agent's to pass on, and its answer is what makes `second` a matter of people."""
    from tests.activity_folders import activity, checkpoint, equals, folder, step, workflow
    from tests.checkpoint_cast import publish_folder

    options = [{"id": "yes", "label": "Yes", "effect": {"setVariable": {"risky": True}}}, {"id": "no", "label": "No"}]
    plan = activity(
        "plan",
        checkpoints=[
            checkpoint("first", options=options),
            checkpoint("second", authority="human", condition=equals("risky", value=True)),
        ],
        steps=[step("ask", checkpoint="first"), step("draft", checkpoint="second"), step("after")],
        transitions=[{"to": "build"}],
    )
    about = workflow(id=FOLDER, initialActivity="plan", variables=[{"name": "risky", "type": "boolean"}])
    return publish_folder(desk, folder(plan, activity("build", steps=[step("make")]), about=about), FOLDER)


def answered_by_agent(floor, dialect, token, name, option):
    """The token after the agent passed its user's answer on."""
    call = floor[dialect]
    if dialect == "orchestrator":
        token = call("yield_checkpoint", session_token=token, checkpoint_id=name)["checkpoint_handle"]
        floor.read_it()
        return call("respond_checkpoint", checkpoint_handle=token, option_id=option)["session_token"]
    floor.read_it()
    return call("respond_checkpoint", session_token=token, checkpoint_id=name, option_id=option)["session_token"]


# 3. Around


def test_nothing_behind_an_approval_is_done_by_hand(floor):
    approval_steps(floor.desk)
    state = nav_start(floor)["state"]
    state = nav_step(floor, state, "before")["state"]

    for step_id in ("gated", "after"):
        assert not nav_step(floor, state, step_id)["success"]
    nav(floor, state, "transition", activity_id="workflow-end")

    assert_held()


def test_nothing_behind_an_approval_is_done_by_hand_before_it_is_come_to(floor):
    approval_steps(floor.desk)
    state = nav_start(floor)["state"]

    assert not nav_step(floor, state, "after")["success"]

    assert_held()
    assert [row.state for row in questions()] in ([], ["open"])


def test_the_token_of_the_rail_leads_no_hand_past_an_approval(floor):
    approval_steps(floor.desk)
    at = rail_at_gate(floor)

    for step_id in ("gated", "after"):
        assert not nav_step(floor, at["stateToken"], step_id).get("success")

    assert_held()


def test_the_approval_of_a_loop_holds_what_follows_the_loop_by_hand(floor):
    published(
        floor.desk,
        notes_free("before"),
        loop("rounds", [notes_free("inner")], type="for", count=1, maxIterations=3) | {"requireConfirmation": APPROVAL},
        notes_free("after"),
        workflow_id=STEPS,
    )
    state = nav_step(floor, nav_start(floor)["state"], "before")["state"]

    nav_step(floor, state, "after")
    nav_step(floor, state, "inner")
    turned = nav(floor, state, "advance_loop", loop_id="rounds").get("state", state)
    left = nav_step(floor, turned, "inner").get("state", turned)
    nav_step(floor, nav_step(floor, left, "rounds").get("state", left), "after")

    assert_held()


@pytest.mark.parametrize("step_id", ["after", "draft"])
def test_a_question_that_only_people_answer_is_not_gone_around_by_hand(floor, step_id):
    asking_folder(floor.desk, authority="human")
    state = nav_start(floor, FOLDER)["state"]
    state = nav_step(floor, state, "draft").get("state", state)

    nav_step(floor, state, step_id)
    nav(floor, state, "transition", activity_id="build")
    nav(floor, state, "respond_to_checkpoint", checkpoint_id="agreed", option_id="yes")

    assert_held()


# 4. Through another dialect


def demanding_a_verdict(desk):
    """`gated` demands an artifact, which a program checks."""
    gated = notes_free("gated", outputContract={"contractRef": VERDICT})
    return published(desk, notes_free("before"), gated, notes_free("after"), workflow_id=STEPS)


def test_what_blocks_a_run_of_the_rail_is_not_finished_by_hand_with_its_token(floor):
    demanding_a_verdict(floor.desk)
    at = rail_at_gate(floor)
    stuck = rail_ack(floor, at, "It failed.")
    assert stuck["kind"] == "blocked"

    for value in (at, stuck):
        nav_step(floor, value["stateToken"], "gated")
        nav_step(floor, value["stateToken"], "after")

    assert_held()


def test_a_required_contract_is_demanded_by_hand(floor):
    demanding_a_verdict(floor.desk)
    state = nav_step(floor, nav_start(floor)["state"], "before")["state"]

    nav_step(floor, state, "gated")
    nav_step(floor, state, "after")

    assert_held()


@pytest.mark.parametrize("dialect", HANDED_OVER)
@pytest.mark.parametrize("done", [(), ("before",), ("before", "gated"), ("before", "after")])
def test_a_required_contract_is_demanded_of_what_is_handed_over(floor, dialect, done):
    demanding_a_verdict(floor.desk)
    token = hand_in(floor, dialect, STEPS, "main")

    hand_next(floor, dialect, token, "workflow-end", *done)

    assert_held()


def needing_the_web(desk):
    return published(
        desk,
        notes_free("before"),
        notes_free("after"),
        workflow_id=STEPS,
        capabilities={"web_browsing": "required"},
    )


def test_a_required_capability_is_probed_by_hand_as_well(floor):
    needing_the_web(floor.desk)
    begun = rail_start(floor)
    stuck = rail_ack(floor, begun)
    assert stuck["kind"] == "blocked"
    probe = begun["pending"]["stepId"]

    for value in (begun, stuck):
        for step_id in (probe, "before", "after"):
            nav_step(floor, value["stateToken"], step_id)

    assert not reached() & {"before", *BEHIND}


@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_a_required_capability_is_probed_where_activities_are_handed_over(floor, dialect):
    needing_the_web(floor.desk)
    token = hand_in(floor, dialect, STEPS, "main")

    hand_next(floor, dialect, token, "workflow-end", "before", "after")

    assert_held()


def test_a_context_that_is_needed_is_needed_by_hand_as_well(floor):
    """The loop runs over a list that nobody has given."""
    published(
        floor.desk,
        notes_free("before"),
        loop("rounds", [notes_free("inner")], type="forEach", items="files"),
        notes_free("after"),
        workflow_id=STEPS,
    )
    begun = rail_start(floor)
    stuck = rail_ack(floor, begun)
    assert stuck["kind"] == "blocked"

    for value in (begun, stuck):
        state = nav_step(floor, value["stateToken"], "before").get("state", value["stateToken"])
        nav_step(floor, state, "rounds")
        nav_step(floor, state, "after")

    assert_held()


DECIDED = {
    "artifact": {
        "type": "while",
        "conditionSource": {"kind": "artifact_contract", "contractRef": DECISION, "loopId": "rounds"},
    },
    "while": {"type": "while", "condition": {"var": "over", "not_equals": True}},
    "until": {"type": "until", "condition": {"var": "over", "equals": True}},
}
OWED = {
    "an approval": {"requireConfirmation": {"kind": "human_approval"}},
    "an artifact": {"outputContract": {"contractRef": VERDICT}},
}


@pytest.mark.parametrize("owed", OWED)
@pytest.mark.parametrize("decided", DECIDED)
def test_a_loop_is_not_left_by_hand_before_a_round_that_a_led_run_goes_through(floor, decided, owed):
    body = [notes_free("gated", **OWED[owed]), notes_free("decide", outputContract={"contractRef": DECISION})]
    body = body if decided == "artifact" else body[:1]
    published(
        floor.desk,
        notes_free("before"),
        loop("rounds", body, **DECIDED[decided]),
        notes_free("after"),
        workflow_id=STEPS,
    )
    at_loop = nav_step(floor, nav_start(floor)["state"], "before")

    refused = nav_step(floor, at_loop["state"], "rounds")

    assert [each["action"] for each in at_loop["availableActions"]["required"]] == ["advance_loop"]
    assert at_loop["availableActions"]["optional"] == []
    assert not refused.get("success")
    assert_held()
    begun = nav(floor, at_loop["state"], "advance_loop", loop_id="rounds")
    assert not nav_step(floor, begun["state"], "rounds").get("success")
    assert_held()


@pytest.mark.parametrize("nested", [False, True])
def test_a_decision_before_a_loop_passes_nobody_by_whom_its_first_round_asks(floor, nested):
    body = [notes_free("gated", **OWED["an approval"])]
    body = [loop("inner", body, type="for", count=1)] if nested else body
    body.append(notes_free("decide", outputContract={"contractRef": DECISION}))
    published(
        floor.desk,
        notes_free("before"),
        loop("rounds", body, **DECIDED["artifact"]),
        notes_free("after"),
        workflow_id=STEPS,
    )
    begun = rail_start(floor)
    for name in ({}, {"loopId": "rounds"}):
        told = rail_ack(
            floor, begun, artifacts=[{"kind": "wr.loop_control", "decision": "stop", **name}], notes=f"Did it {name}."
        )
        told = rail_ack(floor, told, artifacts=[{"kind": "wr.loop_control", "decision": "stop", **name}])
        assert told["kind"] == "blocked"

    assert_held()


# 5. Too early, and to the wrong question


def test_an_answer_by_hand_takes_as_long_as_reading_the_question(floor):
    asking_folder(floor.desk)
    state = nav_step(floor, nav_start(floor, FOLDER)["state"], "draft")["state"]

    early = nav(floor, state, "respond_to_checkpoint", checkpoint_id="agreed", option_id="yes")

    assert not early.get("success")
    assert_held()
    floor.clock.shift(READ_SECONDS)
    assert nav(floor, state, "respond_to_checkpoint", checkpoint_id="agreed", option_id="yes")["success"]


@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_an_answer_to_what_was_handed_over_takes_as_long(floor, dialect):
    asking_folder(floor.desk)
    token = hand_in(floor, dialect, FOLDER, "plan")
    call = floor[dialect]
    if dialect == "orchestrator":
        token = call("yield_checkpoint", session_token=token, checkpoint_id="agreed")["checkpoint_handle"]
    named = {"checkpoint_id": "agreed"} if dialect == "session" else {}

    early = call.refused("respond_checkpoint", session_token=token, option_id="yes", **named)

    assert early["code"] == "CHECKPOINT_TOO_EARLY"


def test_an_answer_on_the_rail_takes_as_long(floor):
    asking_folder(floor.desk)
    at = rail_at_gate(floor, FOLDER)

    assert rail_ack(floor, at, artifacts=[relayed("yes")])["code"] == "CHECKPOINT_TOO_EARLY"
    assert_held()


@pytest.mark.parametrize("name", ["another", "Agreed", "plan-agreed", 7])
def test_an_answer_to_another_question_answers_nothing(floor, name):
    asking_folder(floor.desk)
    at = rail_at_gate(floor, FOLDER)
    floor.read_it()

    rail_ack(floor, at, artifacts=[relayed("yes", name)])

    assert_held()


# 6. What was approved is what goes on


def approved(floor):
    """A run whose step was handed in as a safe plan, and then approved; the replies that the agent has."""
    approval_steps(floor.desk, notesOptional=False)
    at = rail_at_gate(floor)
    stuck = rail_ack(floor, at, SAFE)
    assert stuck["kind"] == "blocked"
    person_answers(floor, "approve")
    return at, stuck


def assert_only_the_safe_plan_went_on():
    """What was handed in on the way to each node behind the gate."""
    behind = Node.objects.filter(pending_key="after")
    parents = set(behind.values_list("parent_id", flat=True))
    handed_in = set(Output.objects.filter(to_node_id__in=parents).values_list("body", flat=True))
    assert handed_in == {SAFE}


def test_what_was_approved_goes_on(floor):
    _, stuck = approved(floor)

    assert rail_read(floor, stuck)["pending"]["stepId"] == "after"
    assert_only_the_safe_plan_went_on()


@pytest.mark.parametrize("artifacts", [[], [{"kind": "plan", "text": EVIL}]])
@pytest.mark.parametrize("reads_first", [True, False])
def test_another_plan_than_the_one_that_was_approved_does_not_go_on(floor, reads_first, artifacts):
    """By the tokens of the block, and by those of the step before it was blocked."""
    for value in approved(floor):
        rail_ack(floor, rail_read(floor, value) if reads_first else value, EVIL, artifacts=artifacts)

    assert_only_the_safe_plan_went_on()


def test_an_approval_is_asked_again_for_another_plan(floor):
    """Who was shown the safe plan has approved nothing, once the evil one is handed in."""
    approval_steps(floor.desk, notesOptional=False)
    stuck = rail_ack(floor, rail_at_gate(floor), SAFE)
    shown = {row.digest for row in questions()}

    rail_ack(floor, stuck, EVIL)

    assert {row.digest for row in questions() if row.state == "open"} - shown


@pytest.mark.parametrize("notes", ["", SAFE])
@pytest.mark.parametrize("dialect", ["rail", "navigation"])
def test_an_approval_is_asked_again_for_the_same_plan_with_another_context(floor, dialect, notes):
    approval_steps(floor.desk)
    stuck = rail_ack(floor, rail_at_gate(floor), SAFE, context={"target": "staging"})
    shown = {row.digest for row in questions()}

    if dialect == "rail":
        rail_ack(floor, stuck, notes, context={"target": "production"})
    else:
        work = {"step_id": "gated", "notes": notes, "context": {"target": "production"}}
        nav(floor, stuck["stateToken"], "complete_step", **work)

    assert {row.digest for row in questions() if row.state == "open"} - shown


def test_one_approval_serves_one_branch(floor):
    at, stuck = approved(floor)

    for value in (at, stuck, at, stuck):
        rail_ack(floor, rail_read(floor, value), SAFE)

    assert Node.objects.filter(pending_key="after").count() == 1


def test_an_approval_of_one_branch_is_none_of_its_sibling(floor):
    approval_steps(floor.desk, notesOptional=False)
    at = rail_at_gate(floor)
    safe = rail_ack(floor, at, SAFE)
    evil = rail_ack(floor, rail_read(floor, at), EVIL)
    floor.read_it()
    row = next(row for row in questions() if row.state == "open")
    answer(floor.desk.person, row, "approve", now=timezone.now())

    for stuck, notes in ((safe, SAFE), (evil, EVIL)):
        rail_ack(floor, rail_read(floor, stuck), notes)

    assert Node.objects.filter(pending_key="after").count() == 1


def test_what_a_person_refused_is_not_allowed_by_the_agents_context(floor):
    asking_folder(floor.desk, authority="human", transitions=led_by_the_answer())
    at = rail_at_gate(floor, FOLDER)
    person_answers(floor, "no")
    after = rail_read(floor, at)

    told = rail_ack(floor, after, context={"approved": True})

    assert "make" not in reached()
    assert told.get("kind") != "ok" or told["pending"]["stepId"] == "again"


def test_what_a_person_refused_is_not_allowed_by_the_context_that_comes_with_collecting_it(floor):
    asking_folder(floor.desk, authority="human", transitions=led_by_the_answer())
    at = rail_at_gate(floor, FOLDER)
    person_answers(floor, "no")

    told = rail_ack(floor, at, context={"approved": True})
    if told.get("pending", {}).get("stepId") == "after":
        rail_ack(floor, told)

    assert "make" not in reached()


def test_what_a_person_refused_is_not_allowed_by_rest(doors, doored):
    asking_folder(doors.desk, authority="human", transitions=led_by_the_answer())
    at = rail_at_gate(doored, FOLDER)
    person_answers(doored, "no")
    after = doors.agent.post(f"{V1}/runs/rehydrate", {"stateToken": at["stateToken"]}).json()

    go_on(doors.agent, after, context={"approved": True})

    assert "make" not in reached()


def test_what_the_agents_user_refused_is_not_allowed_by_the_agents_context(floor):
    asking_folder(floor.desk, transitions=led_by_the_answer())
    at = rail_at_gate(floor, FOLDER)
    floor.read_it()
    after = rail_ack(floor, at, artifacts=[relayed("no")], context={"approved": True})

    rail_ack(floor, after, context={"approved": True})

    assert "make" not in reached()


# 7. Who answered is known, and told


def test_an_answer_by_hand_names_the_agent_that_passed_it_on(floor):
    asking_folder(floor.desk)
    state = nav_step(floor, nav_start(floor, FOLDER)["state"], "draft")["state"]
    floor.read_it()

    nav(floor, state, "respond_to_checkpoint", checkpoint_id="agreed", option_id="yes")

    (row,) = questions()
    assert (row.answered_by, row.answered_as, row.door) == (floor.desk.agent.id, "relayed", "mcp")


REASON = "Since the roof leaks."


def at_human_question(floor, dialect):
    """A run of the dialect that waits for a person: what the agent holds."""
    asking_folder(floor.desk, authority="human")
    if dialect == "rail":
        return rail_at_gate(floor, FOLDER)["stateToken"]
    if dialect == "navigation":
        return nav_step(floor, nav_start(floor, FOLDER)["state"], "draft")["state"]
    token = hand_in(floor, dialect, FOLDER, "plan")
    if dialect == "orchestrator":
        floor[dialect]("yield_checkpoint", session_token=token, checkpoint_id="agreed")
    return token


NEXT_CALLS = {
    "rail": [("continue_workflow", "stateToken", {})],
    "navigation": [("nav_situation", "state", {})],
    "session": [("next_activity", "session_token", {"activity_id": "build"})],
    "orchestrator": [
        ("get_workflow_status", "session_token", {}),
        ("resume_checkpoint", "session_token", {}),
        ("next_activity", "session_token", {"activity_id": "build"}),
    ],
}


@pytest.mark.parametrize(
    ("dialect", "tool", "name", "more"),
    [(dialect, *entry) for dialect, entries in NEXT_CALLS.items() for entry in entries],
)
def test_what_a_person_answered_and_why_is_told_with_the_next_reply(floor, dialect, tool, name, more):
    held = at_human_question(floor, dialect)
    person_answers(floor, "yes", reason=REASON)

    told = floor[dialect].text(tool, **{name: held}, **more)

    assert REASON in told
    assert "yes" in told


@pytest.mark.parametrize("dialect", ["rail", "navigation"])
def test_it_is_told_with_the_next_move_too(floor, dialect):
    """Not to those only who look first."""
    if dialect == "rail":
        asking_folder(floor.desk, authority="human")
        at = rail_at_gate(floor, FOLDER)
        person_answers(floor, "yes", reason=REASON)
        told = rail_ack(floor, at)
    else:
        state = at_human_question(floor, dialect)
        person_answers(floor, "yes", reason=REASON)
        told = nav_step(floor, state, "after")

    assert REASON in str(told)


def test_why_an_approval_was_given_is_told_too(floor):
    approval_steps(floor.desk)
    stuck = rail_ack(floor, rail_at_gate(floor))
    person_answers(floor, "approve", reason=REASON)

    assert REASON in str(rail_read(floor, stuck))
