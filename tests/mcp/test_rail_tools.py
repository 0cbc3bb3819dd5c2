"""The tools of the rail: what each answers, and how each refuses what it cannot do."""

import pytest

from teams_app.engine.actors import Scope
from tests.activity_folders import activity, folder, step
from tests.checkpoint_cast import publish_folder
from tests.run_cast import NOTES, notes_free, plain_steps, published
from tests.workflow_cast import NOW, publish
from workflows_app.engine.source import Source, SourceFormat
from workflows_app.services import extensions, workflows

OUTPUT = {"notesMarkdown": NOTES}
TOOLS = {
    "list_workflows",
    "inspect_workflow",
    "start_workflow",
    "continue_workflow",
    "checkpoint_workflow",
    "start_session",
    "resume_session",
}


@pytest.fixture
def begun(wire, desk):
    """A run of three steps at its first: the value of the reply."""
    published(desk, *plain_steps(3))
    return wire.value("start_workflow", workflowId="team.sample", goal="Try it")


def tokens_of(reply):
    return {"stateToken": reply["stateToken"], "ackToken": reply["ackToken"]}


def paths(answer):
    return [issue["path"] for issue in answer.details["validationErrors"]]


def messages(answer):
    return [issue["message"] for issue in answer.details["validationErrors"]]


# What there is


def test_the_rail_has_the_tools_of_its_contract_and_no_other(wire):
    listed = wire.send("tools/list").json()["result"]["tools"]

    assert {tool["name"] for tool in listed} == TOOLS


@pytest.mark.parametrize(
    ("name", "hint"), [("start_workflows", "'start_workflow'"), ("next_activity", "The rail dialect has")]
)
def test_a_tool_of_no_or_another_dialect_is_a_protocol_error_that_names_ours(wire, name, hint):
    error = wire.send("tools/call", {"name": name, "arguments": {}}).json()["error"]

    assert error["code"] == -32602
    assert hint in f"{error['message']} {error['data']['details']['suggestion']}"


# The list


def test_workflows_are_listed_by_namespace_then_kind_then_id(wire, desk):
    for workflow_id in ("zeta.a", "team.routine-x", "team.b", "team.a"):
        published(desk, notes_free("only-step"), workflow_id=workflow_id)

    listed = wire.value("list_workflows")["workflows"]

    assert [entry["workflowId"] for entry in listed] == ["team.a", "team.b", "team.routine-x", "zeta.a"]
    assert {entry["idStatus"] for entry in listed} == {"namespaced"}
    assert [entry["kind"] for entry in listed] == ["workflow", "workflow", "routine", "workflow"]


def test_a_workflow_with_errors_is_listed_and_says_so(wire, desk):
    from tests.workflow_cast import create

    create(desk.person, "team.broken", steps=[{"id": "x", "title": "Too short an id"}])

    (entry,) = wire.value("list_workflows")["workflows"]
    answer = wire("inspect_workflow", workflowId="team.broken")

    assert (entry["startable"], entry["state"]) == (False, "draft")
    assert entry["problems"]["errors"] > 0
    assert answer.value["problems"][0]["severity"] == "error"
    assert answer.value["problems"][0]["message"] in answer.text
    assert "Cannot be started" in wire("list_workflows").text


def test_a_list_goes_on_at_its_cursor_and_ends(wire, desk):
    for number in range(5):
        published(desk, notes_free("only-step"), workflow_id=f"team.w{number}")

    seen, cursor = [], None
    while cursor or not seen:
        page = wire.value("list_workflows", limit=2, **({"cursor": cursor} if cursor else {}))
        seen.extend(entry["workflowId"] for entry in page["workflows"])
        cursor = page["nextCursor"]

    assert seen == [f"team.w{number}" for number in range(5)]


def test_a_page_is_never_longer_than_clients_bear(wire, desk):
    from workrail_site.mcp.answers import PAGE_BYTES

    for number in range(50):
        words = "ж" * 500
        published(desk, notes_free("only-step"), workflow_id=f"team.w{number}", description=words, name="ж" * 120)

    response = wire.send("tools/call", {"name": "list_workflows", "arguments": {"limit": 50}}).json()["result"]
    cursor = response["structuredContent"]["nextCursor"]

    assert 0 < len(response["structuredContent"]["workflows"]) < 50
    assert len(response["content"][0]["text"].encode()) <= PAGE_BYTES
    assert wire.value("list_workflows", limit=50, cursor=cursor)["workflows"]


def test_a_cursor_of_another_team_is_refused(wire, stranger, desk):
    for number in range(2):
        published(desk, notes_free("only-step"), workflow_id=f"team.w{number}")
    cursor = wire.value("list_workflows", limit=1)["nextCursor"]

    answer = stranger("list_workflows", limit=1, cursor=cursor)

    assert (answer.is_error, answer.code) == (True, "VALIDATION_ERROR")


# One workflow


def test_an_agent_without_the_scope_of_authors_sees_the_first_step_only(wire, agent, desk):
    published(desk, *plain_steps(3))
    reader = agent(scopes=frozenset({Scope.WORKFLOWS_READ}))

    seen = reader("inspect_workflow", workflowId="team.sample")

    assert (seen.value["firstStep"]["stepId"], seen.value["outline"]) == ("step-0", None)
    assert "Title of step-1" not in seen.text


def test_an_author_sees_the_whole_outline(wire, desk):
    published(desk, *plain_steps(3))

    seen = wire("inspect_workflow", workflowId="team.sample")

    assert [item["id"] for item in seen.value["outline"]] == ["step-0", "step-1", "step-2"]
    assert "Title of step-2" in seen.text


def test_metadata_tells_no_step(wire, desk):
    published(desk, *plain_steps(2), about="What it is about, at some length, so that an agent can choose.")

    seen = wire("inspect_workflow", workflowId="team.sample", part="metadata")

    assert "firstStep" not in seen.value
    assert "Title of step-0" not in seen.text
    assert seen.value["about"] in seen.text


def test_a_long_source_comes_in_pieces_that_make_the_whole(wire, desk):
    from workrail_site.mcp.answers import MAX_REPLY_BYTES

    published(desk, *[notes_free(f"step-{index}", prompt=f"{index} " + "Work. " * 1000) for index in range(12)])
    text, cursor = "", None
    while cursor or not text:
        arguments = {"cursor": cursor} if cursor else {}
        answer = wire("inspect_workflow", workflowId="team.sample", part="source", **arguments)
        assert len(answer.text.encode()) < MAX_REPLY_BYTES
        (piece,) = answer.value["files"]
        assert piece["from"] == len(text)
        text += piece["text"]
        cursor = answer.value["nextCursor"]

    assert len(text) == piece["characters"]
    assert text.count('"step-11"') == 1


@pytest.mark.parametrize("given", [{"part": "source"}, {"part": "program"}, {"part": "skill", "skill": "drafting"}])
def test_the_pieces_of_a_document_are_never_of_two_revisions(wire, desk, given):
    publish_folder(desk, long_folder("old"))
    asked = {"workflowId": "team.plan", **given}
    first = wire.value("inspect_workflow", **asked)
    revised = Source(format=SourceFormat.ACTIVITY_FOLDER, files=long_folder("new"))
    workflows.revise_workflow(
        actor=desk.person, workflow_id="team.plan", source=revised, base_revision=1, message="", now=NOW
    )
    publish(desk.person, "team.plan", 2)

    torn = wire("inspect_workflow", **asked, cursor=first["nextCursor"])
    anew = wire.value("inspect_workflow", **asked)
    onward = wire.value("inspect_workflow", **asked, cursor=anew["nextCursor"])

    assert (torn.is_error, torn.value["code"]) == (True, "VALIDATION_ERROR")
    assert "begin without a cursor" in torn.details["suggestion"]
    assert "old" in str(first["files"])
    assert "new" in str(anew["files"])
    assert "new" in str(onward["files"])


def long_folder(word):
    words = f"{word} " * 12_000
    return folder(
        activity("work", steps=[step("do", description=words)]),
        **{"skills__01-drafting.md": f"# Drafting\n\n{words}".encode()},
    )


def test_the_pinned_program_of_a_run_is_found_by_its_hash(wire, desk, begun):
    pinned = begun["workflow"]["workflowHash"]

    seen = wire.value("inspect_workflow", workflowId="team.sample", part="pinned", workflowHash=pinned)

    assert (seen["workflowHash"], seen["files"][0]["path"]) == (pinned, "program.json")


@pytest.mark.parametrize("asked", [{"part": "pinned"}, {"part": "skill", "skill": "drafting"}], ids=["pinned", "skill"])
def test_the_hash_of_another_workflow_than_the_one_that_is_named_is_refused(wire, desk, begun, asked):
    published(desk, *plain_steps(1), workflow_id="team.other")
    pinned = begun["workflow"]["workflowHash"]

    refused = wire("inspect_workflow", workflowId="team.other", workflowHash=pinned, **asked)
    unknown = wire("inspect_workflow", workflowId="team.nowhere", workflowHash=pinned, **asked)

    for told in (refused, unknown):
        assert (told.code, told.value["details"]["parameter"]) == ("VALIDATION_ERROR", "workflowHash")
        assert "team.sample" in told.value["details"]["suggestion"]


def test_the_pinned_program_is_found_by_another_name_of_its_workflow_too(wire, desk, begun):
    extensions.set_alias(actor=desk.person, alias="team.brief", workflow_id="team.sample", now=NOW)
    pinned = begun["workflow"]["workflowHash"]

    assert wire.value("inspect_workflow", workflowId="team.brief", part="pinned", workflowHash=pinned)["files"]


def test_another_teams_pinned_program_is_the_same_as_none(stranger, begun):
    pinned = begun["workflow"]["workflowHash"]

    theirs = stranger("inspect_workflow", workflowId="team.sample", part="pinned", workflowHash=pinned)
    nobodys = stranger("inspect_workflow", workflowId="team.sample", part="pinned", workflowHash="sha256:" + "0" * 64)

    assert theirs.value == nobodys.value
    assert theirs.code == "NOT_FOUND"


def test_a_misspelt_workflow_is_answered_with_the_right_one(wire, desk):
    published(desk, *plain_steps(1))

    answer = wire("start_workflow", workflowId="team.smaple")

    assert answer.code == "NOT_FOUND"
    assert "'team.sample'" in answer.details["suggestion"]


# Arguments


def test_an_unknown_argument_is_refused_with_the_one_that_was_meant(wire):
    answer = wire("start_workflow", workflow_id="team.sample", goal="Try it")

    assert answer.code == "VALIDATION_ERROR"
    assert paths(answer) == ["workflow_id"]
    assert answer.details["suggestions"] == [
        {"kind": "unknown_key", "path": "workflow_id", "didYouMean": "workflowId"},
    ]
    assert answer.details["correctTemplate"] == {"workflowId": "team.sample", "goal": "Try it"}


def test_an_unknown_key_in_a_group_is_refused_with_the_one_that_was_meant(wire, begun):
    answer = wire("continue_workflow", **tokens_of(begun), output={"notes_markdown": NOTES})

    assert paths(answer) == ["output.notes_markdown"]
    assert answer.details["correctTemplate"] == {**tokens_of(begun), "output": {"notesMarkdown": NOTES}}


def test_a_missing_argument_is_named_and_has_a_place_in_the_template(wire):
    answer = wire("continue_workflow")

    assert paths(answer) == ["stateToken"]
    assert answer.details["suggestions"][0]["kind"] == "missing_required"
    assert answer.details["correctTemplate"] == {"stateToken": "<stateToken>"}


def test_a_word_that_is_not_of_the_set_is_answered_with_the_set(wire):
    answer = wire("list_workflows", kind="flow")

    assert answer.details["suggestions"] == [
        {"kind": "invalid_enum", "path": "kind", "allowed": ["workflow", "routine"]},
    ]
    assert messages(answer) == ["One of: workflow, routine."]


def test_an_object_that_came_as_the_text_of_its_json_is_read(wire, begun):
    reply = wire.value("continue_workflow", **tokens_of(begun), context='{"ticketId": "AUTH-1"}')

    assert reply["pending"]["stepId"] == "step-1"


def test_null_is_the_same_as_leaving_out(wire, begun):
    reply = wire.value("continue_workflow", **tokens_of(begun), output=None, preferences=None, intent=None)

    assert reply["pending"]["stepId"] == "step-1"


@pytest.mark.parametrize("notes", ["a\x00b", "lone \ud800 surrogate"])
def test_text_that_no_database_holds_is_refused_and_not_a_defect(wire, begun, notes):
    answer = wire("continue_workflow", **tokens_of(begun), output={"notesMarkdown": notes})

    assert answer.code == "VALIDATION_ERROR"


def test_deep_nesting_is_refused_and_not_a_defect(wire, begun):
    deep = current = {}
    for _ in range(80):
        current["a"] = current = {}

    assert wire("continue_workflow", **tokens_of(begun), context=deep).code == "VALIDATION_ERROR"


# The walk


def test_the_same_tokens_again_are_answered_the_same(wire, begun):
    first = wire("continue_workflow", **tokens_of(begun), output=OUTPUT)
    again = wire("continue_workflow", **tokens_of(begun), output=OUTPUT)
    other = wire("continue_workflow", **tokens_of(begun), output={"notesMarkdown": "Something else."})

    assert (again.text, again.value) == (first.text, first.value)
    assert other.text.startswith(first.text)
    assert "was not recorded" in other.value.pop("recordedBefore")
    assert other.value == first.value


def test_notes_on_a_session_that_come_with_a_used_token_are_said_not_to_be_recorded(wire):
    token = wire("start_session", title="Notes").value["sessionToken"]
    first = wire("checkpoint_workflow", sessionToken=token, output=OUTPUT)
    again = wire("checkpoint_workflow", sessionToken=token, output=OUTPUT)
    other = wire("checkpoint_workflow", sessionToken=token, output={"notesMarkdown": "Something else."})

    assert (again.text, again.value) == (first.text, first.value)
    assert other.text.startswith(first.text)
    assert "was not recorded" in other.value.pop("recordedBefore")
    assert other.value == first.value


def test_without_an_ack_token_the_step_is_told_again(wire, begun):
    told = wire("continue_workflow", stateToken=begun["stateToken"])

    assert told.value["pending"] == begun["pending"]
    assert told.value["nextIntent"] == "rehydrate_only"


@pytest.mark.parametrize(
    "lost",
    [{"output": OUTPUT}, {"context": {"a": 1}}, {"preferences": {"preset": "guided"}}, {"intent": "advance"}],
    ids=lambda lost: next(iter(lost)),
)
def test_what_would_be_lost_without_an_ack_token_is_refused(wire, begun, lost):
    answer = wire("continue_workflow", stateToken=begun["stateToken"], **lost)

    assert answer.code == "VALIDATION_ERROR"
    assert answer.value["message"].startswith("Nothing was recorded")
    assert answer.details["nextCall"]["tool"] == "continue_workflow"
    assert answer.details["nextCall"]["params"]["stateToken"] == begun["stateToken"]


def test_an_output_with_nothing_in_it_loses_nothing(wire, begun):
    told = wire.value("continue_workflow", stateToken=begun["stateToken"], output={}, intent="rehydrate")

    assert told["pending"]["stepId"] == "step-0"


def test_an_intent_that_contradicts_the_tokens_is_refused_whichever_way(wire, begun):
    answer = wire("continue_workflow", **tokens_of(begun), intent="rehydrate")

    assert paths(answer) == ["intent"]
    assert wire.value("continue_workflow", **tokens_of(begun), intent="advance")["pending"]["stepId"] == "step-1"


def test_an_older_token_forks_and_says_so(wire, begun):
    wire.value("continue_workflow", **tokens_of(begun), output=OUTPUT)
    old = wire.value("continue_workflow", stateToken=begun["stateToken"])

    fork = wire("continue_workflow", **tokens_of(old), output=OUTPUT)

    assert fork.value["branch"]["forked"] is True
    assert "## This is a fork" in fork.text


def test_another_teams_token_is_the_same_as_none(stranger, begun):
    answer = stranger("continue_workflow", **tokens_of(begun), output=OUTPUT)

    assert answer.code == "TOKEN_UNKNOWN_NODE"


def test_a_mangled_token_is_refused_with_its_code(wire, begun):
    changed = begun["stateToken"][:-1] + ("0" if begun["stateToken"][-1] != "0" else "1")

    assert wire("continue_workflow", stateToken=changed).code == "TOKEN_BAD_SIGNATURE"
    assert wire("continue_workflow", stateToken=begun["ackToken"]).code == "TOKEN_INVALID_FORMAT"
    assert wire("continue_workflow", stateToken=f" `{begun['stateToken'].upper()}` ").is_error is False


def test_tokens_of_two_steps_do_not_mix(wire, begun):
    second = wire.value("continue_workflow", **tokens_of(begun), output=OUTPUT)

    answer = wire("continue_workflow", stateToken=begun["stateToken"], ackToken=second["ackToken"])

    assert answer.code == "TOKEN_SCOPE_MISMATCH"


def test_a_key_that_may_only_read_drives_nothing(agent, desk, begun):
    reader = agent(scopes=frozenset({Scope.RUNS_READ, Scope.WORKFLOWS_READ}))

    answer = reader("continue_workflow", **tokens_of(begun), output=OUTPUT)

    assert answer.code == "FORBIDDEN"
    assert reader("continue_workflow", stateToken=begun["stateToken"]).is_error is False


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ({"preset": "full_auto_stop"}, {"autonomy": "full_auto_stop_on_user_deps", "riskPolicy": "balanced"}),
        ({"preset": "full_auto_never_stop"}, {"autonomy": "full_auto_never_stop", "riskPolicy": "conservative"}),
        ({"riskPolicy": "aggressive"}, {"autonomy": "guided", "riskPolicy": "aggressive"}),
    ],
)
def test_a_run_takes_the_mode_that_is_asked_for(wire, desk, asked, given):
    published(desk, *plain_steps(2))

    begun = wire.value("start_workflow", workflowId="team.sample", preferences=asked)

    assert begun["preferences"] == given
    assert wire.value("continue_workflow", **tokens_of(begun), output=OUTPUT)["preferences"] == given


def test_the_mode_can_change_on_the_way(wire, begun):
    reply = wire.value("continue_workflow", **tokens_of(begun), preferences={"preset": "full_auto_stop"})

    assert reply["preferences"]["autonomy"] == "full_auto_stop_on_user_deps"


def test_a_preset_and_a_value_beside_it_contradict_each_other(wire, desk):
    published(desk, *plain_steps(1))

    answer = wire("start_workflow", workflowId="team.sample", preferences={"preset": "guided", "autonomy": "guided"})

    assert paths(answer) == ["preferences.preset"]


# Artifacts


@pytest.mark.parametrize(
    ("artifacts", "path"),
    [
        ([{"kind": "a"}] * 21, "output.artifacts"),
        ([{"kind": "a"}, {"no": "kind"}], "output.artifacts[1]"),
        ([{"kind": "a", "text": "x" * 65_536}], "output.artifacts[0]"),
    ],
    ids=["too many", "without a kind", "too large"],
)
def test_artifacts_beyond_the_limits_are_refused_and_nothing_is_recorded(wire, begun, artifacts, path):
    answer = wire("continue_workflow", **tokens_of(begun), output={**OUTPUT, "artifacts": artifacts})

    assert (answer.code, paths(answer)) == ("VALIDATION_ERROR", [path])
    assert wire.value("continue_workflow", **tokens_of(begun), output=OUTPUT)["pending"]["stepId"] == "step-1"


def test_notes_of_any_length_are_taken(wire, begun):
    reply = wire.value("continue_workflow", **tokens_of(begun), output={"notesMarkdown": "é" * 100_000})

    assert reply["warnings"][0]["code"] == "NOTES_TRUNCATED"


# Beside the walk


def test_a_bookmark_is_recorded_once_and_leaves_the_run_where_it_is(wire, begun):
    call = {"stateToken": begun["stateToken"], "checkpointToken": begun["checkpointToken"], "output": OUTPUT}

    first, again = wire("checkpoint_workflow", **call), wire("checkpoint_workflow", **call)

    assert first.text.startswith("# Recorded\n")
    assert first.value["pending"]["stepId"] == "step-0"
    assert again.value == first.value
    recap = wire.value("continue_workflow", stateToken=begun["stateToken"])["recap"]
    assert [entry["notes"] for entry in recap["entries"]] == [NOTES]


@pytest.mark.parametrize(
    "given", [{}, {"stateToken": "st.v1.x"}, {"stateToken": "st.v1.x", "sessionToken": "ses.v1.x"}]
)
def test_a_note_goes_to_one_place(wire, given):
    answer = wire("checkpoint_workflow", output=OUTPUT, **given)

    assert answer.code == "VALIDATION_ERROR"
    assert answer.value["message"].startswith("Nothing was recorded")


def test_a_session_without_a_run_keeps_notes_and_takes_a_run_later(wire, desk):
    published(desk, *plain_steps(1))
    session = wire.value("start_session", title="Find the leak", observations={"ticket": "OPS-7"})

    noted = wire.value("checkpoint_workflow", sessionToken=session["sessionToken"], output=OUTPUT)
    begun = wire.value("start_workflow", workflowId="team.sample", sessionId=session["session"]["sessionId"])

    assert noted["session"] == session["session"]
    assert begun["session"]["sessionId"] == session["session"]["sessionId"]


def test_an_id_that_is_none_is_refused_before_anything_is_begun(wire, desk):
    published(desk, *plain_steps(1))

    answer = wire("start_workflow", workflowId="team.sample", sessionId="AUTH-1234")

    assert paths(answer) == ["sessionId"]


def test_a_new_chat_finds_the_run_of_the_branch(wire, desk):
    published(desk, *plain_steps(2))
    where = {"gitBranch": "fix/login-loop", "ticket": "AUTH-9"}
    begun = wire.value("start_workflow", workflowId="team.sample", goal="Fix the login", observations=where)
    wire.value("start_workflow", workflowId="team.sample", goal="Something else")

    found = wire("resume_session", observations={"gitBranch": "fix/login-loop"})
    first = found.value["candidates"][0]

    assert first["runId"] == begun["session"]["runId"]
    assert first["stateToken"] in found.text.splitlines()
    told = wire.value(first["nextCall"]["tool"], **first["nextCall"]["params"])
    assert told["pending"]["stepId"] == "step-0"


def test_another_teams_runs_are_not_found(stranger, begun):
    assert stranger.value("resume_session", query="Try it")["candidates"] == []
    assert stranger("resume_session", query="Try it", runId=begun["session"]["runId"]).code == "NOT_FOUND"


# The two forms of a reply


def test_a_client_that_would_hide_the_text_can_ask_for_nothing_else(wire, begun):
    wire.headers = {"Workrail-Reply": "text"}

    told = wire("continue_workflow", stateToken=begun["stateToken"])

    assert told.value is None
    assert begun["stateToken"] in told.text.splitlines()


def test_the_text_of_a_refusal_holds_the_whole_envelope(wire):
    import json

    answer = wire("continue_workflow", stateToken="st.v1.nonsense")

    assert json.loads(answer.text) == answer.value
    assert set(answer.value) == {"code", "message", "retry", "details"}


def test_a_complete_run_still_says_that_nothing_is_pending(wire, desk):
    published(desk, *plain_steps(1))
    begun = wire.value("start_workflow", workflowId="team.sample")

    done = wire.value("continue_workflow", **tokens_of(begun))

    assert (done["isComplete"], done["pending"], done["nextCall"]) == (True, None, None)


def test_a_reply_is_never_longer_than_clients_bear(wire, desk):
    from workrail_site.mcp.answers import MAX_REPLY_BYTES

    published(desk, notes_free("big-step", prompt="{{a}}{{b}}{{c}}{{d}}"))
    values = dict.fromkeys("abcd", "語" * 16_000)

    begun = wire("start_workflow", workflowId="team.sample", context=values)

    assert len(begun.text.encode()) <= MAX_REPLY_BYTES
    assert "[TRUNCATED" in begun.text
    assert begun.value["_truncated"]["forms"] == ["text", "structuredContent"]
    token = next(line for line in begun.text.splitlines() if line.startswith("ack.v1."))
    state = next(line for line in begun.text.splitlines() if line.startswith("st.v1."))
    assert wire("continue_workflow", stateToken=state, ackToken=token).is_error is False
