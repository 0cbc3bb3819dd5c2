"""What a refusal gives as the right call has the form of a call: all that must be there, and nothing that there is not."""

import json
import random
import re

import pytest
from jsonschema import Draft202012Validator

from sessions_app.models import Node
from tests.activity_folders import activity, checkpoint, equals, folder, step, workflow
from tests.checkpoint_cast import publish_folder
from tests.handover_play import caller, load_library, text_of
from tests.run_cast import make_desk, notes_free, plain_steps, published
from tests.step_documents import loop, step as step_document
from workflows_app.engine.contract_catalog import BUILT_IN

pytestmark = pytest.mark.django_db(transaction=True)

SEED, TURNS = 20261119, 12
ODD = (1, True, [], {}, "x", [1], {"a": 1}, 1.5, "", "y" * 300)


def spoiled(chance, schema, given):
    """Arguments of which one is left out, of another type, misspelt, doubled under a like name, or not known at all."""
    names, said = list(schema["properties"]), dict(given)
    name = chance.choice(names)
    match chance.randrange(4):
        case 0:
            said.pop(name, None)
        case 1:
            said[name] = chance.choice(ODD)
        case 2:
            said[f"{name}_"] = said.pop(name, chance.choice(ODD))
        case _:
            said[chance.choice(["nonsense", name.upper(), name[::-1]])] = chance.choice(ODD)
    return said


def test_the_right_call_that_a_refusal_gives_fits_the_schema_of_its_tool():
    from workrail_site.mcp.toolsets import all_servers

    chance, agent, wrong, seen = random.Random(SEED), make_desk().agent, [], 0
    for dialect, server in all_servers().items():
        call = caller(dialect, agent)
        for tool in server.tools():
            plain = {name: f"<{name}>" for name in tool.schema.get("required", ())}
            if "action" in plain:
                plain["action"] = chance.choice(tool.schema["properties"]["action"]["enum"])
            for _ in range(TURNS if tool.schema["properties"] else 0):
                given = spoiled(chance, tool.schema, plain)
                result = call.raw(tool.name, **given)
                template = refusal_in(result).get("correctTemplate")
                if template is None:
                    continue
                seen += 1
                faults = [fault.message for fault in faults_of(tool.schema, template)]
                wrong += [(dialect, tool.name, given, template, faults)] if faults else []
    assert seen > 100
    assert wrong == []


def faults_of(schema, template):
    """But for the places that are left to fill in."""
    for fault in Draft202012Validator(dict(schema)).iter_errors(template):
        if not str(fault.instance).startswith("<"):
            yield fault


def refusal_in(result):
    return json.loads(text_of(result)).get("details", {}) if result.get("isError") else {}


def test_an_action_that_lacks_an_argument_is_given_back_whole():
    from workrail_site.mcp.toolsets import all_servers

    tool = next(tool for tool in all_servers()["navigation"].tools() if tool.name == "nav_action")
    call = caller("navigation", make_desk().agent)
    for action in tool.schema["properties"]["action"]["enum"]:
        template = refusal_in(call.raw("nav_action", state="st.v1.x", action=action))["correctTemplate"]

        assert template["action"] == action
        assert "state" in template
        assert len(template) > 2


def to(target, **when):
    return {"to": target, **when}


WAYS = folder(
    activity("begin", steps=[step("look")], transitions=[to("aside", condition=equals("odd", "true")), to("agree")]),
    activity("agree", steps=[step("show", checkpoint="sure")], checkpoints=[checkpoint("sure", authority="human")]),
    activity("aside", steps=[step("wander")], transitions=[to("agree")]),
    about=workflow(id="team.ways", initialActivity="begin", variables=[{"name": "odd", "type": "string"}]),
)


@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_whoever_would_pass_a_person_by_is_told_where_to_go_instead(dialect):
    desk = make_desk()
    publish_folder(desk, WAYS, "team.ways")
    call = caller(dialect, desk.agent)
    token = call("start_session", workflow_id="team.ways", agent_id="a")["session_token"]
    token = call("next_activity", session_token=token, activity_id="begin")["session_token"]

    refused = call.refused("next_activity", session_token=token, activity_id="workflow-end")

    leads_to = refused["details"]["leadsTo"]
    assert leads_to[0] in refused["details"]["suggestion"]
    for target in leads_to:
        assert not call.raw("next_activity", session_token=token, activity_id=target).get("isError")


@pytest.mark.parametrize("contract_id", BUILT_IN)
def test_the_form_of_an_artifact_leaves_texts_to_fill_in_and_has_its_objects(contract_id):
    desk, contract = make_desk(), BUILT_IN[contract_id]
    published(desk, step_document("hand", outputContract={"contractRef": contract_id}))
    call = caller("rail", desk.agent)
    begun = call("start_workflow", workflowId="team.sample")

    (form,) = begun["nextCall"]["params"]["output"]["artifacts"]

    faults = Draft202012Validator(dict(contract.schema)).iter_errors(form)
    assert [
        fault.message for fault in faults if fault.validator == "type" and fault.validator_value in ("object", "array")
    ] == []
    assert set(contract.schema["required"]) <= set(form)


def test_a_place_that_is_not_filled_in_is_found_within_the_objects_of_an_artifact_too():
    desk = make_desk()
    published(desk, step_document("hand", outputContract={"contractRef": "wr.contracts.review_verdict"}))
    call = caller("rail", desk.agent)
    params = call("start_workflow", workflowId="team.sample")["nextCall"]["params"]
    (form,) = params["output"]["artifacts"]
    filled = {**form, "verdict": "minor", "confidence": "high", "summary": "Sound."}
    finding = {**form["findings"][0], "severity": "minor"}

    blocked = call("continue_workflow", **{**params, "output": {"artifacts": [{**filled, "findings": [finding]}]}})
    assert blocked["kind"] == "blocked"
    assert "summary: Its place is not filled in." in json.dumps(blocked["blockers"])
    said = {**finding, "summary": "The retry has no upper bound."}
    params = {**blocked["nextCall"]["params"], "output": {"artifacts": [{**filled, "findings": [said]}]}}
    assert call("continue_workflow", **params)["isComplete"]


@pytest.mark.parametrize("capability", ["web_browsing", "delegation"])
def test_the_ready_made_call_of_a_probe_speaks_of_the_capability_that_is_probed(capability):
    desk = make_desk()
    published(desk, *plain_steps(1), workflow_id="team.probes", capabilities={capability: "required"})
    call = caller("rail", desk.agent)
    begun = call("start_workflow", workflowId="team.probes")

    (form,) = begun["nextCall"]["params"]["output"]["artifacts"]
    assert form["capability"] == capability
    form["status"] = "available"
    told = call("continue_workflow", **begun["nextCall"]["params"])
    assert (told["kind"], told["pending"]["stepId"]) == ("ok", "step-0")


# What a run is blocked for want of has a place in the call that stands ready, and that call takes the run on.


def one(step_id="one"):
    return notes_free(step_id)


BLOCKED = {
    "a condition": (
        loop("again", [one()], condition={"var": "more"}, maxIterations=2),
        {"more": True},
        {"more": False},
    ),
    "until a condition": (
        loop("again", [one()], type="until", condition={"var": "enough"}, maxIterations=1),
        {"enough": False},
        {"enough": True},
    ),
    "a list that is too long": (
        loop("again", [one()], type="forEach", items="parts", maxIterations=2),
        {"parts": [1, 2, 3]},
        {"parts": [1, 2]},
    ),
    "a number that is too large": (
        loop("again", [one()], type="for", count="times", maxIterations=2),
        {"times": 3},
        {"times": 2},
    ),
    "a list that nobody gave": (loop("again", [one()], type="forEach", items="parts"), {}, {"parts": [1]}),
    "a list within what nobody gave": (
        loop("again", [one()], type="forEach", items="plan.parts"),
        {"plan": {"size": 1}},
        {"plan": {"parts": [1]}},
    ),
    "a list that an item lacks": (
        loop(
            "ships",
            [one("board"), loop("legs", [one()], type="forEach", items="ship.legs")],
            type="forEach",
            items="all",
            itemVar="ship",
        ),
        {"all": [{"name": "Vega"}]},
        {"all": [{"name": "Vega", "legs": ["out"]}]},
    ),
}


@pytest.mark.parametrize("case", BLOCKED)
def test_what_a_run_is_blocked_for_has_its_place_in_the_ready_made_call_which_takes_it_on(case):
    looped, given, mended = BLOCKED[case]
    desk = make_desk()
    published(desk, one("first"), looped, one("last"))
    call = caller("rail", desk.agent)
    reply = call("start_workflow", workflowId="team.sample", context=given)
    for _ in range(6):
        if reply["kind"] == "blocked":
            break
        reply = call("continue_workflow", **reply["nextCall"]["params"])

    (name,) = mended
    (blocker,) = reply["blockers"]
    assert f"sets {name} so that" in blocker["suggestedFix"]
    ready = reply["nextCall"]["params"]
    assert ready["context"] == {name: f"<{name}>"}
    untouched = call("continue_workflow", **ready)
    assert untouched["kind"] == "blocked"
    assert call("continue_workflow", **{**untouched["nextCall"]["params"], "context": mended})["kind"] == "ok"


@pytest.mark.parametrize("case", BLOCKED)
def test_lookup_is_mended_by_the_context_that_it_names_and_by_the_loop_that_it_names(case):
    looped, given, mended = BLOCKED[case]
    desk = make_desk()
    published(desk, one("first"), looped, one("last"))
    call, done = caller("lookup", desk.agent), []

    def following(context, *left):
        return call.raw("workflow_next", workflowId="team.sample", completedSteps=[*done, *left], context=context)

    while not (answer := following(given)).get("isError"):
        done.append(answer["structuredContent"]["step"]["id"])
    advice = json.loads(text_of(answer))["details"]["suggestion"]

    (name,) = mended
    assert f"sets {name} so that" in advice
    assert not following(mended).get("isError")
    for loop_id in re.findall(r"'(\w+)' in completedSteps", advice):
        assert not following(given, loop_id).get("isError")


# Every call that a reply names beside its parameters is made as it stands there, and so are those that its replies name.

LONG_TEXT = "".join(f"Line {number}, read with care.\n" for number in range(5_000))
LONG_STEPS = [step(f"step-{at}", description="Read this with care. " * 300, skill="long-lead") for at in range(16)]


def naming(*leading, **files):
    return folder(
        activity("begin", steps=LONG_STEPS, transitions=[{"to": "end"}], skills={"primary": "long-lead"}),
        activity("end", steps=[step("close")]),
        *(activity(f"more-{at}", steps=[step("read", description="Read on. " * 1_000)]) for at in range(12)),
        about=workflow(
            id="team.naming", initialActivity="begin", skills={"primary": leading[0], "supporting": [*leading[1:]]}
        ),
        **TEXTS,
        **files,
    )


TEXTS = {
    "techniques__long-lead.md": f"# Long\n\n[a guide](../resources/01-guide.md)\n\n{LONG_TEXT}".encode(),
    "techniques__second-lead.md": f"# Second\n\n{LONG_TEXT}".encode(),
    "techniques__conduct.md": b"# Conduct\n\n## Rules\n\n### leader-calm\n\nSTAY CALM.\n",
    "resources__01-guide.md": f"# Guide\n\n{LONG_TEXT}".encode(),
    "templates__01-form.md": f"# Form\n\n{LONG_TEXT}".encode(),
}
NAMING = naming("long-lead", "second-lead", "conduct::leader")
# What holds for all of them is told with the first, and is a part of those that are told in parts.
RULED = naming(
    "short-lead",
    "long-lead",
    "second-lead",
    **{
        "techniques__short-lead.md": b"# Short\n\nLead.\n",
        "techniques__TECHNIQUE.md": b"## Capability\n\nAll.\n\n## Rules\n\n### dry\n\nKEEP IT DRY.\n",
    },
)
PLAIN = {"workflow_id": "team.naming"}
# Where a client of each dialect begins, and where it looks; what a reply has told goes into the places in braces.
BEGINNINGS = {
    "session": [
        ("start_session", PLAIN),
        ("get_workflow", {"session_token": "{session_token}", "summary": True}),
        ("get_workflow", {"session_token": "{session_token}", "summary": False}),
        ("get_skills", {"session_token": "{session_token}"}),
        ("get_resource", {"session_token": "{session_token}", "resource_index": "01"}),
        ("next_activity", {"session_token": "{session_token}", "activity_id": "begin"}),
        ("get_workflow", {"session_token": "{session_token}", "summary": False}),
        ("get_skill", {"session_token": "{session_token}", "step_id": "step-3"}),
    ],
    "orchestrator": [
        ("start_session", {**PLAIN, "agent_id": "a"}),
        ("get_workflow", {"session_token": "{session_token}", "summary": True}),
        ("get_workflow", {"session_token": "{session_token}", "summary": False}),
        ("get_skills", {"session_token": "{session_token}"}),
        ("next_activity", {"session_token": "{session_token}", "activity_id": "begin"}),
        ("get_workflow", {"session_token": "{session_token}", "summary": False}),
        ("get_activity", {"session_token": "{session_token}"}),
        ("get_skill", {"session_token": "{session_token}", "step_id": "step-3"}),
        ("get_resource", {"session_token": "{session_token}", "resource_id": "01"}),
    ],
    "navigation": [
        ("get_activities", {}),
        ("discover_resources", {}),
        ("get_workflow", PLAIN),
        ("get_activity", {"activity_id": "begin"}),
        ("get_skill", {**PLAIN, "skill_id": "long-lead"}),
        ("get_resource", {**PLAIN, "index": "01"}),
        ("get_template", {**PLAIN, "index": "01"}),
        ("nav_start", PLAIN),
        ("nav_situation", {"state": "{state}"}),
    ],
    "lookup": [
        ("workflow_get", {"id": "team.naming"}),
        ("workflow_get", {"id": "team.naming", "skill": "long-lead"}),
        ("workflow_next", {"workflowId": "team.naming", "completedSteps": []}),
    ],
    "rail": [
        ("inspect_workflow", {"workflowId": "team.naming", "part": "skill", "skill": "long-lead"}),
        ("inspect_workflow", {"workflowId": "team.naming", "part": "metadata"}),
        ("start_workflow", {"workflowId": "team.naming", "goal": "Read"}),
    ],
}
# What they must have named, so that nothing passes for want of it.
NAMED = {
    "session": {"get_skill", "get_skills", "get_resource", "next_activity"},
    "orchestrator": {"get_skill", "get_skills", "get_resource", "get_activity", "next_activity"},
    "navigation": {"get_skill", "get_resource", "get_template", "get_workflow_activity", "list_templates", "get_rules"},
    "lookup": {"workflow_get"},
    "rail": {"continue_workflow"},
}


def named_calls(value):
    """Each that a reply names, however deep; what is to be done first of all is not made at once."""
    if isinstance(value, dict):
        if isinstance(value.get("tool"), str):
            yield value["tool"], value.get("parameters", value.get("params"))
        for key, each in value.items():
            if key != "when_done":
                yield from named_calls(each)
    elif isinstance(value, list):
        for each in value:
            yield from named_calls(each)


def named_in_text(text):
    """Those that stand in a line of their own."""
    for tool, said in re.findall(r"^next: (\w+) (\{.*\})$", text, re.MULTILINE):
        yield tool, json.loads(said)


@pytest.mark.parametrize("files", [NAMING, RULED], ids=["long", "with rules for all"])
@pytest.mark.parametrize("dialect", BEGINNINGS)
def test_every_call_that_a_reply_names_is_made_as_it_stands_there(dialect, files):
    desk = make_desk()
    load_library()
    publish_folder(desk, files, "team.naming")
    call, told, made, seen = caller(dialect, desk.agent), {}, set(), []
    waiting = list(reversed(BEGINNINGS[dialect]))
    while waiting and len(made) < 80:
        tool, parameters = waiting.pop()
        assert isinstance(parameters, dict), (tool, parameters)
        parameters = {
            name: each.format(**told) if isinstance(each, str) and each.startswith("{") else each
            for name, each in parameters.items()
        }
        if (tool, json.dumps(parameters, sort_keys=True)) in made and waiting:
            continue
        made.add((tool, json.dumps(parameters, sort_keys=True)))
        result = call.raw(tool, **parameters)
        assert not result.get("isError"), (tool, parameters, text_of(result))
        reply = result["structuredContent"]
        told |= {name: reply[name] for name in ("session_token", "state") if name in reply}
        named = [*named_calls(reply), *named_in_text(text_of(result))]
        seen += [name for name, _ in named]
        waiting += [each for each in named if each[0] != "continue_workflow"]

    assert NAMED[dialect] <= {*seen}


@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_the_call_that_ends_an_activity_is_made_as_it_stands_there(dialect):
    desk = make_desk()
    publish_folder(desk, NAMING, "team.naming")
    call = caller(dialect, desk.agent)
    token = call("start_session", **PLAIN, agent_id="a")["session_token"]
    token = call("next_activity", session_token=token, activity_id="begin")["session_token"]
    told = call("next_activity", session_token=token, activity_id="end")
    if dialect == "orchestrator":
        told = call("get_activity", session_token=told["session_token"])

    ending = told["when_done"]

    assert call(ending["tool"], **ending["parameters"])["status"] == "completed"


@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_a_summary_names_no_call_that_would_move_a_run_which_stands_in_an_activity(dialect):
    desk = make_desk()
    turning = folder(
        activity("begin", steps=LONG_STEPS, transitions=[{"to": "begin"}, {"to": "end"}]),
        activity("end", steps=LONG_STEPS),
        about=workflow(id="team.naming", initialActivity="begin"),
        **{"techniques__long-lead.md": b"# Long"},
    )
    publish_folder(desk, turning, "team.naming")
    call = caller(dialect, desk.agent)
    token = call("start_session", **PLAIN, agent_id="a")["session_token"]
    for target in ("begin", "end", "workflow-end"):
        token = call("next_activity", session_token=token, activity_id=target)["session_token"]
        before = Node.objects.count()
        about = call("get_workflow", session_token=token, summary=False)

        assert about["summarized"] is True
        for tool, parameters in named_calls(about):
            call(tool, **parameters)
        assert Node.objects.count() == before
