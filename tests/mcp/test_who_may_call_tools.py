"""Every tool of every dialect, as the servers declare them, called by whoever may not: the answers are of one kind each."""

import json
import re
from dataclasses import replace
from functools import partial
from uuid import uuid4

import httpx
import pytest
from django.test import Client
from django.utils import timezone
from oauth2_provider.models import AccessToken

from sessions_app.engine import tokens
from sessions_app.engine.tokens import TokenKind
from sessions_app.services.store.signing_keys import current_keys
from teams_app.engine.actors import Role, Scope
from teams_app.engine.ids import Prefix, to_text
from teams_app.models import AgentKey, Membership, Person
from teams_app.services.keys import revoke_key
from tests.cast import Api, play
from tests.checkpoint_cast import publish_folder
from tests.handover_play import plan_files
from tests.kept_rows import rows_in_tables
from tests.mcp.test_oauth import Person as Browser, Program, told
from tests.mcp_play import ACCEPT, HANDSHAKE
from tests.nobodies import CODES, bad_bearers
from tests.run_cast import make_desk, plain_steps, published
from traces_app.services.recording import flush_calls

pytestmark = pytest.mark.django_db(transaction=True)

READ, DRIVE, START = "workflows:read", "runs:write", "workflows:read runs:write"
LOOK = "runs:read"
# What each tool needs, and how it is called: by rows of the caller's (`name=row` where they are called otherwise) and by WORDS.
# After a plus stand scopes that only this way needs besides; a third value is the code by which even the right caller is refused.
TOOLS = {
    "lookup.workflow_get": (READ, ["id mode", "id sessionId"]),
    "lookup.workflow_get_schema": ("", ["sessionId"]),
    "lookup.workflow_list": (READ, ["sessionId"]),
    "lookup.workflow_next": (READ, ["workflowId completedSteps", "workflowId completedSteps sessionId"]),
    "lookup.workflow_validate": (READ, ["workflowId stepId output=notes", "workflowId stepId output=notes sessionId"]),
    "lookup.workflow_validate_json": (READ, ["workflowJson sessionId"]),
    "navigation.discover_resources": (READ, [""]),
    "navigation.get_activities": (READ, [""]),
    "navigation.get_activity": (READ, ["activity_id"]),
    "navigation.get_checkpoint": (READ, ["workflow_id activity_id checkpoint_id", "workflow_id activity_id checkpoint_id state + runs:read"]),
    "navigation.get_resource": (READ, ["workflow_id index", "workflow_id index state + runs:read"]),
    "navigation.get_rules": (READ, [""], "NOT_FOUND"),
    "navigation.get_skill": (READ, ["workflow_id skill_id", "workflow_id skill_id state + runs:read", "skill_id state + runs:read"]),
    "navigation.get_skills": (READ, [""]),
    "navigation.get_template": (READ, ["workflow_id index", "workflow_id index state + runs:read"]),
    "navigation.get_workflow": (READ, ["workflow_id", "workflow_id state + runs:read"]),
    "navigation.get_workflow_activity": (READ, ["workflow_id activity_id", "workflow_id activity_id state + runs:read"]),
    "navigation.health_check": (READ, [""]),
    "navigation.list_skills": (READ, ["workflow_id", "workflow_id state + runs:read", "state + runs:read"]),
    "navigation.list_templates": (READ, ["workflow_id", "workflow_id state + runs:read"]),
    "navigation.list_workflow_resources": (READ, ["workflow_id", "workflow_id state + runs:read"]),
    "navigation.list_workflows": (READ, [""]),
    "navigation.nav_action": (DRIVE, ["state action step_id notes"]),
    "navigation.nav_checkpoint": (LOOK, ["state"]),
    "navigation.nav_situation": (LOOK, ["state"]),
    "navigation.nav_start": (START, ["workflow_id"]),
    "navigation.validate_transition": (READ, ["workflow_id from_activity to_activity", "workflow_id from_activity to_activity state + runs:read"]),
    "orchestrator.discover": (READ, [""]),
    "orchestrator.get_activity": (LOOK, ["session_token"]),
    "orchestrator.get_resource": (LOOK, ["session_token resource_id=index"]),
    "orchestrator.get_skill": (LOOK, ["session_token step_id"]),
    "orchestrator.get_skills": (LOOK, ["session_token"]),
    "orchestrator.get_trace": (f"{LOOK} traces:read", ["session_token trace_tokens"]),
    "orchestrator.get_workflow": (LOOK, ["session_token summary"]),
    "orchestrator.get_workflow_status": (LOOK, ["session_token"]),
    "orchestrator.health_check": (READ, [""]),
    "orchestrator.list_workflows": (READ, [""]),
    "orchestrator.next_activity": (DRIVE, ["session_token=fresh activity_id"]),
    "orchestrator.present_checkpoint": (LOOK, ["checkpoint_handle", "session_token=yielded"]),
    "orchestrator.respond_checkpoint": (
        DRIVE, ["checkpoint_handle option_id", "session_token=yielded option_id"], "CHECKPOINT_TOO_EARLY",
    ),
    "orchestrator.resume_checkpoint": (LOOK, ["session_token=yielded"], "CHECKPOINT_OPEN"),
    "orchestrator.start_session": (DRIVE, ["workflow_id agent_id parent_session_token + runs:read workflows:read", "session_token agent_id"]),
    "orchestrator.yield_checkpoint": (DRIVE, ["session_token checkpoint_id"]),
    "rail.checkpoint_workflow": (DRIVE, ["stateToken checkpointToken output", "sessionToken output"]),
    "rail.continue_workflow": (DRIVE, ["stateToken ackToken output"]),
    "rail.inspect_workflow": (READ, ["workflowId", "workflowId part"]),
    "rail.list_workflows": (READ, ["search"]),
    "rail.resume_session": (LOOK, ["query", "runId", "sessionId", "workflowId"]),
    "rail.start_session": (DRIVE, ["title"]),
    "rail.start_workflow": (START, ["workflowId sessionId goal"]),
    "session.discover": (READ, [""]),
    "session.get_checkpoint": (LOOK, ["session_token activity_id checkpoint_id"]),
    "session.get_resource": (LOOK, ["session_token resource_index=index"]),
    "session.get_skill": (LOOK, ["session_token step_id"]),
    "session.get_skills": (LOOK, ["session_token"]),
    "session.get_trace": (f"{LOOK} traces:read", ["session_token trace_tokens"]),
    "session.get_workflow": (LOOK, ["session_token summary"]),
    "session.health_check": (READ, [""]),
    "session.list_workflows": (READ, [""]),
    "session.next_activity": (DRIVE, ["session_token=fresh activity_id"]),
    "session.respond_checkpoint": (DRIVE, ["session_token checkpoint_id option_id"], "CHECKPOINT_TOO_EARLY"),
    "session.start_session": (DRIVE, ["workflow_id agent_id + workflows:read", "session_token agent_id workflow_id"]),
}  # fmt: skip
WORDS = {
    "action": "complete_step",
    "activity_id": "draft",
    "agent_id": "an agent",
    "checkpoint_id": "sure",
    "completedSteps": [],
    "from_activity": "draft",
    "goal": "Try it",
    "index": "01",
    "mode": "metadata",
    "notes": "Did it.",
    "option_id": "yes",
    "output": {"notesMarkdown": "Did it."},
    "part": "preview",
    "query": "sample",
    "search": "sample",
    "skill_id": "drafting",
    "stepId": "step-0",
    "step_id": "write",
    "summary": True,
    "title": "A title",
    "to_activity": "build",
    "workflowJson": "{}",
}
# Arguments that name no row, and are not needed for a call.
FREE = {
    *("activity_manifest", "artifacts", "auto_advance", "condition_not_met", "context", "cursor", "initial_variables"),
    *("intent", "kind", "limit", "loop_id", "loop_items", "observations", "preferences", "revision", "skill"),
    *("step_manifest", "tags", "title", "transition_condition", "currentStep", "activity_id", "checkpoint_id"),
    *("option_id", "step_id", "goal"),
    # A program is the same for whoever knows its digest, of whichever team: docs/security.md says so.
    "workflowHash",
}
# What looks for something, and says that it found nothing.
SEARCHES = {"rail.resume_session", "session.get_trace", "orchestrator.get_trace"}
MARK = "quokka of another team"
MINTED = re.compile(r"\b(?:st|ack|chk|ses|tr)\.v1\.[a-z0-9]+|\b(?:sess|run|node|ckpt|gap)_[a-z0-9]{20,}")


def tools():
    from workrail_site.mcp.toolsets import all_servers

    return {f"{dialect}.{tool.name}": tool for dialect, server in all_servers().items() for tool in server.tools()}


def call(actor, name, given):
    """What is answered, as one value; `isError` and its text in it."""
    from mcp.shared.exceptions import MCPError

    from workrail_site.mcp.calling import Caller, calls_as

    calls_as(Caller(actor=actor))
    try:
        found = tools()[name].call(given)
    except MCPError as error:
        return {"isError": True, "message": error.error.message, **(error.error.data or {})}
    value = found.get("structuredContent") or {}
    return {**value, "isError": found.get("isError", False), "text": found["content"][0]["text"]}


def ok(actor, name, **given):
    found = call(actor, name, given)
    assert not found["isError"], (name, given, found)
    return found


# The rows of whoever calls, by the names of the arguments that they are given by


def rail_rows(actor, steps, _folder):
    begun = ok(actor, "rail.start_workflow", workflowId=steps, goal=MARK if steps in THEIRS else "Try it")
    return {
        **{name: begun[name] for name in ("stateToken", "ackToken", "checkpointToken")},
        "sessionToken": ok(actor, "rail.start_session", title="Notes")["sessionToken"],
        "sessionId": begun["session"]["sessionId"],
        "runId": begun["session"]["runId"],
        "workflowId": steps,
    }


def navigation_rows(actor, _steps, folder):
    return {"state": ok(actor, "navigation.nav_start", workflow_id=folder)["state"], "workflow_id": folder}


def handed_over_rows(actor, _steps, folder, *, dialect):
    begins = partial(ok, actor, f"{dialect}.start_session", workflow_id=folder, agent_id="an agent")
    enters = partial(ok, actor, f"{dialect}.next_activity", activity_id="draft")
    entered = enters(session_token=begins()["session_token"])
    return {
        "fresh": begins()["session_token"],
        "session_token": entered["session_token"],
        "trace_tokens": [entered["trace_token"]],
        "workflow_id": folder,
    }


def orchestrator_rows(actor, steps, folder):
    """Besides, a worker that waits at its question, and a parent."""
    rows, waiting, parent = (
        handed_over_rows(actor, steps, folder, dialect="orchestrator")["session_token"] for _ in range(3)
    )
    asked = ok(actor, "orchestrator.yield_checkpoint", session_token=waiting, checkpoint_id="sure")
    return {
        **handed_over_rows(actor, steps, folder, dialect="orchestrator"),
        "session_token": rows,
        "yielded": asked["session_token"],
        "checkpoint_handle": asked["checkpoint_handle"],
        "parent_session_token": parent,
    }


def lookup_rows(actor, steps, folder):
    return {**rail_rows(actor, steps, folder), "id": steps}


ROWS = {
    "rail": rail_rows,
    "navigation": navigation_rows,
    "session": partial(handed_over_rows, dialect="session"),
    "orchestrator": orchestrator_rows,
    "lookup": lookup_rows,
}
OWN, THEIRS = ("team.sample", "team.plan"), ("team.of-others-a", "team.of-others-b")


def desk_with(steps, folder):
    desk = make_desk()
    published(desk, *plain_steps(3), workflow_id=steps)
    files = plan_files(**{"templates__01-report.md": b"# Report\n"})
    publish_folder(desk, {name: file.replace(b"team.plan", folder.encode()) for name, file in files.items()}, folder)
    return desk


def calls():
    """Each tool with each way to call it, and the rows that the way names."""
    for name, (needs, ways, *code) in TOOLS.items():
        for way in ways:
            arguments, _, further = way.partition(" + ")
            yield name, frozenset(map(Scope, f"{needs} {further}".split())), arguments, "".join(code)


def named(way):
    """The arguments of a way, each with the name of the row or the word that it is given."""
    return {argument: row or argument for argument, _, row in (each.partition("=") for each in way.split())}


def given(way, rows):
    return {argument: {**WORDS, **rows}[row] for argument, row in named(way).items()}


def absent(value):
    """The name of a row of the same kind that is nowhere."""
    if isinstance(value, list):
        return [absent(each) for each in value]
    kind, _, body = value.partition(".v1.")
    if body:
        token = tokens.read(keyring=current_keys().ring, kind=TokenKind(kind), text=value)
        return tokens.mint(keyring=current_keys().ring, kind=token.kind, node_id=uuid4(), nonce=token.nonce)
    prefix = next((each for each in Prefix if value.startswith(f"{each.value}_")), None)
    return to_text(prefix, uuid4()) if prefix else value.replace("others", "nobody")


def masked(answer, *values):
    """An answer without what it was asked, without what it mints, and without the time that it took."""
    text = json.dumps(answer, sort_keys=True)
    for value in values:
        for each in value if isinstance(value, list) else [value]:
            text = text.replace(each, "…")
    return MINTED.sub("…", text)


def test_every_tool_and_every_argument_has_a_row_here():
    """A new tool, or a new argument that could name a row of somebody else's, is thought about before it is served."""
    assert tools().keys() == TOOLS.keys()
    for name, tool in tools().items():
        thought_of = {argument for tool, _, way, _ in calls() if tool == name for argument in named(way)}
        assert thought_of - tool.schema["properties"].keys() == set(), name
        assert tool.schema["properties"].keys() - thought_of - FREE == set(), name


def test_a_key_needs_the_scopes_of_a_tool_and_no_other():
    desk = desk_with(*OWN)
    cells = 0
    for name, needs, way, code in calls():
        arguments = given(way, ROWS[name.partition(".")[0]](desk.agent, *OWN))
        held = [("every scope but", needs - {scope}) for scope in needs]
        for said, scopes in [*held, *([("none", frozenset())] if needs else [])]:
            refused = call(replace(desk.agent, scopes=scopes), name, arguments)
            assert (refused["isError"], refused.get("code")) == (True, "FORBIDDEN"), (name, way, said, scopes, refused)
        answer = call(replace(desk.agent, scopes=needs), name, arguments)
        assert (answer["isError"], answer.get("code", "")) == (bool(code), code), (name, way, answer)
        cells += len(held) + 2
    assert cells > 200


def test_a_row_of_another_team_is_answered_as_one_that_is_not_there():
    desk, other = desk_with(*OWN), desk_with(*THEIRS)
    own, theirs = (
        {kind: rows(who.agent, *names) for kind, rows in ROWS.items()} for who, names in ((desk, OWN), (other, THEIRS))
    )
    flush_calls()
    before, asked = rows_in_tables(other.team_id), 0
    for name, _, way, _ in calls():
        kind = name.partition(".")[0]
        for argument, row in named(way).items():
            if row not in theirs[kind]:
                continue
            values = theirs[kind][row], absent(theirs[kind][row])
            found, missed = (call(desk.agent, name, {**given(way, own[kind]), argument: value}) for value in values)
            assert masked(found, *values) == masked(missed, *values), (name, way, argument)
            assert MARK not in json.dumps(found), (name, way, argument)
            assert found["isError"] or (name in SEARCHES and argument != "session_token"), (name, way, argument, found)
            asked += 1
    assert rows_in_tables(other.team_id) == before
    assert asked > 60


# Who is not known


def ended_connections(site, house):
    """Access tokens of clients whose key was revoked, whose person has left the team, and whose person is deactivated."""
    found = {}
    for name in ("a connection that is revoked", "one of somebody who has left", "one of somebody deactivated"):
        player = play(name.replace(" ", "-"), house.team, Role.OPERATOR)
        browser = Browser(site, player)
        program = Program(site)
        found[name] = program.fetches(told(browser.answers(program.asks()))["code"]).json()["access_token"]
        browser.http.close()
        assert program.calls(found[name]).status_code == 200
    revoke_key(actor=house.alice.actor, key_id=AgentKey.objects.order_by("pk").first().pk, now=timezone.now())
    Membership.objects.filter(person__username="one-of-somebody-who-has-left").delete()
    Person.objects.filter(username="one-of-somebody-deactivated").update(is_active=False)
    return found


def test_who_is_not_known_is_refused_alike_by_every_tool(served, house):
    ended, bearers = ended_connections(served, house), bad_bearers(house)
    assert len(ended) == 3
    cells = 0
    with httpx.Client(base_url=served.url, timeout=30) as http:
        for path, credentials in (("/mcp", bearers), ("/oauth/mcp", bearers | ended)):
            for who, text in credentials.items():
                answers = {}
                for name in TOOLS:
                    dialect, _, tool = name.partition(".")
                    AccessToken.objects.update(resource=[f"{served.url}/oauth/mcp/{dialect}"])
                    message = {
                        "jsonrpc": "2.0",
                        "id": 1,
                        "method": "tools/call",
                        "params": {"name": tool, "arguments": {}},
                    }
                    headers = {"Accept": ACCEPT, "MCP-Protocol-Version": HANDSHAKE}
                    headers |= {} if text is None else {"Authorization": f"Bearer {text}".strip()}
                    answer = http.post(f"{path}/{dialect}", json=message, headers=headers)
                    challenge = answer.headers["www-authenticate"].replace(f"/mcp/{dialect}", "…")
                    answers.setdefault((answer.status_code, answer.text, challenge), []).append(name)
                    cells += 1
                assert len(answers) == 1, (path, who, answers)
                ((status, said, _),) = answers
                expected = CODES.get(who, "UNAUTHENTICATED") if path == "/mcp" else "UNAUTHENTICATED"
                assert (status, json.loads(said)["error"]["data"]["code"]) == (401, expected), (path, who)
    assert cells > 1000


def test_nor_is_a_tool_called_by_rest(house, settings, redis_client):
    """With each of the others: `test_who_is_let_in.py`."""
    settings.THROTTLE_ACTOR_PER_MINUTE = settings.THROTTLE_TEAM_PER_MINUTE = 0
    bearers = bad_bearers(house)
    for who in ("nothing", "a forged key", "a revoked key"):
        text = bearers[who]
        api = Api(Client(), **({} if text is None else {"Authorization": f"Bearer {text}"}))
        answers = {
            (answer.status_code, answer.json()["code"], answer.json()["detail"])
            for name in TOOLS
            for answer in [api.post("/api/v1/dialects/{}/tools/{}".format(*name.split(".")), {})]
        }
        ((status, code, _),) = answers
        assert (status, code) == (401, CODES.get(who, "UNAUTHENTICATED")), who
