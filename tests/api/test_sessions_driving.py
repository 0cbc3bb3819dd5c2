"""A run driven by REST: the same services as the rail's tools, and the recorded bytes handed on as they are."""

import orjson
import pytest

from tests import run_doors
from tests.run_cast import assert_healthy, events, plain_steps, published
from tests.run_doors import V1, begin_run, go_on
from tests.step_documents import step

# Being told a step again reads in a read-only transaction, which Postgres allows only at the outermost.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def doors():
    return run_doors.open_doors()


def test_a_run_goes_from_its_start_to_its_end(doors):
    value = begin_run(doors)
    seen = []
    while value["nextCall"] is not None:
        seen.append(value["pending"]["stepId"])
        value = go_on(doors.agent, value).json()

    assert seen == ["step-0", "step-1", "step-2"]
    assert (value["isComplete"], value["nextIntent"]) == (True, "complete")
    assert_healthy(value)


def test_what_a_run_begins_with_is_recorded(doors):
    value = begin_run(
        doors,
        context={"quantity": 3},
        title="Flaky checkout",
        preferences={"preset": "full_auto_stop"},
        observations={"gitBranch": "fix/x", "ticket": "SHOP-1"},
    )

    session = doors.agent.get(f"{V1}/sessions/{value['session']['sessionId']}").json()

    assert value["preferences"] == {"autonomy": "full_auto_stop_on_user_deps", "riskPolicy": "balanced"}
    assert (session["title"], session["gitBranch"], session["ticket"]) == ("Flaky checkout", "fix/x", "SHOP-1")
    assert [event["data"]["delta"] for event in events(value, "context_set")] == [{"quantity": 3}]


def test_the_same_tokens_are_answered_the_same_bytes_and_record_nothing_twice(doors):
    value = begin_run(doors)

    first = go_on(doors.agent, value)
    again = go_on(doors.agent, value)

    assert first.status_code == again.status_code == 200
    assert again.content == first.content
    assert len(events(value, "advance_recorded")) == 1


def test_a_request_to_begin_that_has_a_key_begins_one_run(doors):
    published(doors.desk, *plain_steps(1))
    body = {"workflowId": "team.sample", "goal": "Try it"}

    first = doors.agent.post(f"{V1}/runs", body, **{"Idempotency-Key": "one-request"})
    again = doors.agent.post(f"{V1}/runs", body, **{"Idempotency-Key": "one-request"})
    other = doors.agent.post(f"{V1}/runs", body, **{"Idempotency-Key": "another-request"})

    assert first.content == again.content
    assert other.json()["session"] != first.json()["session"]


def test_without_an_ack_token_the_step_is_told_again_and_nothing_is_written(doors):
    value = begin_run(doors)
    go_on(doors.agent, value, notes="Read the diff.")
    told_before = len(events(value))

    again = doors.agent.post(f"{V1}/runs/continue", {"stateToken": value["stateToken"]})
    same = doors.agent.post(f"{V1}/runs/rehydrate", {"stateToken": value["stateToken"]})

    assert again.json()["pending"] == same.json()["pending"] == value["pending"]
    assert again.json()["nextIntent"] == "rehydrate_only"
    assert again.json()["branch"]["siblings"][0]["title"] == "Title of step-1"
    assert len(events(value)) == told_before


def test_a_note_beside_a_step_leaves_the_run_where_it_is(doors):
    value = begin_run(doors)
    tokens = {"stateToken": value["stateToken"], "checkpointToken": value["checkpointToken"]}

    noted = doors.agent.post(f"{V1}/runs/checkpoint", {**tokens, "output": {"notesMarkdown": "Half way."}})
    again = doors.agent.post(f"{V1}/runs/checkpoint", {**tokens, "output": {"notesMarkdown": "Half way."}})

    assert noted.status_code == 200
    assert noted.content == again.content
    assert noted.json()["pending"] == value["pending"]
    assert len(events(value, "node_output_appended")) == 1


def test_a_block_is_an_answer_and_no_error(doors):
    value = begin_run(doors, step("write", notesOptional=False), *plain_steps(1))

    blocked = go_on(doors.agent, value, notes="")
    mended = go_on(doors.agent, blocked.json(), notes="Written.")

    assert (blocked.status_code, blocked.json()["kind"]) == (200, "blocked")
    assert [blocker["code"] for blocker in blocked.json()["blockers"]] == ["MISSING_REQUIRED_NOTES"]
    assert mended.json()["kind"] == "ok"


def test_a_reply_is_what_the_contract_describes(doors):
    """Every kind of reply, read by the type that the OpenAPI document is made from: no field that is not described."""
    import msgspec

    from sessions_app.api.answers import ReplyAnswer

    value = begin_run(doors, step("write", notesOptional=False), *plain_steps(2))
    blocked = go_on(doors.agent, value, notes="")
    advanced = go_on(doors.agent, blocked.json())
    told = doors.agent.post(f"{V1}/runs/rehydrate", {"stateToken": value["stateToken"]})
    forked = go_on(doors.agent, told.json())

    for reply in (orjson.dumps(value), blocked.content, advanced.content, told.content, forked.content):
        msgspec.json.decode(reply, type=ReplyAnswer)


def test_a_session_for_notes_alone_is_begun_and_noted_on(doors):
    import msgspec

    from sessions_app.api.answers import SessionReplyAnswer

    begun = doors.agent.post(f"{V1}/sessions", {"title": "Notes", "observations": {"ticket": "OPS-1"}})
    note = {"sessionToken": begun.json()["sessionToken"], "output": {"notesMarkdown": "Remember this."}}
    noted = doors.agent.post(f"{V1}/sessions/checkpoint", note)
    outputs = doors.agent.get(f"{V1}/sessions/{begun.json()['session']['sessionId']}/outputs").json()

    assert (begun.status_code, noted.status_code) == (201, 200)
    assert [output["body"] for output in outputs["items"]] == ["Remember this."]
    for reply in (begun, noted):
        msgspec.json.decode(reply.content, type=SessionReplyAnswer)


def test_what_is_observed_later_stands_with_the_session(doors):
    value = begin_run(doors)
    path = f"{V1}/sessions/{value['session']['sessionId']}"

    observed = doors.agent.post(f"{path}/observations", {"gitBranch": "fix/y"})

    assert observed.status_code == 204
    assert doors.agent.get(path).json()["gitBranch"] == "fix/y"


def test_a_run_is_found_again_in_a_new_chat(doors):
    import msgspec

    from sessions_app.api.answers import ResumeAnswer

    value = begin_run(doors, observations={"ticket": "SHOP-1"})

    found = doors.agent.post(f"{V1}/sessions/resume", {"ticket": "SHOP-1"})
    called = doors.agent.post(f"{V1}/runs/continue", found.json()["candidates"][0]["nextCall"]["params"])

    assert called.json()["pending"] == value["pending"]
    msgspec.json.decode(found.content, type=ResumeAnswer)


def test_a_gap_is_closed_by_a_person_and_says_how(doors):
    value = begin_run(doors, step("write", notesOptional=False), preferences={"preset": "full_auto_never_stop"})
    go_on(doors.agent, value, notes="")
    path = f"{V1}/runs/{value['session']['runId']}/gaps"
    (gap,) = doors.agent.get(path).json()["items"]

    closed = doors.person.post(f"{V1}/gaps/{gap['id']}/resolve", {"summary": "Notes came by mail."})
    after = doors.agent.get(path).json()["items"]

    assert closed.status_code == 204
    assert [(item["closes"], item["resolvedBy"]) for item in after] == [(False, after[1]["id"]), (True, None)]
    assert after[1]["summary"] == "Notes came by mail."


def test_a_person_changes_the_mode_of_a_run_and_the_agent_goes_on_with_its_tokens(doors):
    value = begin_run(doors)
    path = f"{V1}/runs/{value['session']['runId']}/preferences"

    refused = doors.agent("PUT", path, {"autonomy": "full_auto_never_stop"})
    changed = doors.person("PUT", path, {"autonomy": "full_auto_never_stop"})
    advanced = go_on(doors.agent, value)

    assert refused.status_code == 403
    assert changed.json()["preferences"]["autonomy"] == "full_auto_never_stop"
    assert doors.agent.get(path).json() == {"autonomy": "full_auto_never_stop", "riskPolicy": "conservative"}
    assert advanced.json()["preferences"]["autonomy"] == "full_auto_never_stop"


def test_a_sessions_preferences_are_what_its_next_run_begins_with(doors):
    value = begin_run(doors)
    session = value["session"]["sessionId"]

    changed = doors.person("PUT", f"{V1}/sessions/{session}/preferences", {"preset": "full_auto_stop"})
    second = doors.agent.post(f"{V1}/runs", {"workflowId": "team.sample", "sessionId": session}).json()

    assert changed.json() == {"autonomy": "full_auto_stop_on_user_deps", "riskPolicy": "balanced"}
    assert second["preferences"] == changed.json()
    assert doors.agent.get(f"{V1}/sessions/{session}/preferences").json() == changed.json()
    assert_healthy(second)


def test_a_teams_preferences_are_what_its_next_session_begins_with(doors):
    before = doors.agent.get(f"{V1}/preferences").json()

    refused = doors.person("PUT", f"{V1}/preferences", {"riskPolicy": "balanced"})
    changed = doors.owner("PUT", f"{V1}/preferences", {"riskPolicy": "balanced"})
    value = begin_run(doors)

    assert before == {"autonomy": "guided", "riskPolicy": "conservative"}
    assert refused.status_code == 403
    assert changed.json() == value["preferences"] == {"autonomy": "guided", "riskPolicy": "balanced"}


@pytest.mark.parametrize("by", ["runs", "dialects/rail/tools/start_workflow"])
@pytest.mark.parametrize(
    "change", [{"goal": "Other"}, {"context": {"a": 1}}, {"title": "T"}, {"workflowId": "team.other"}]
)
def test_a_key_that_names_another_request_begins_nothing(doors, by, change):
    published(doors.desk, *plain_steps(1))
    published(doors.desk, *plain_steps(1), workflow_id="team.other")
    body = {"workflowId": "team.sample", "goal": "Try it"}

    first = doors.agent.post(f"{V1}/{by}", body, **{"Idempotency-Key": "one-request"})
    again = doors.agent.post(f"{V1}/{by}", body, **{"Idempotency-Key": "one-request"})
    other = doors.agent.post(f"{V1}/{by}", body | change, **{"Idempotency-Key": "one-request"})

    assert again.json()["session"] == first.json()["session"]
    assert (other.status_code, other.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
