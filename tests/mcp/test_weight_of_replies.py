"""What a step costs a model beside what the author of the workflow wrote, and that the ready call lacks nothing."""

import pytest
from django.utils import timezone

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests import checkpoint_cast, logs, run_cast
from tests.activity_folders import activity, checkpoint, equals, folder, skill, step as activity_step, workflow
from tests.activity_play import READ_SECONDS
from tests.handover_play import caller, stopped_clock
from tests.mcp_play import CONTEXT, output_for
from tests.step_documents import step
from workflows_app.services.bundled import load_bundled

pytestmark = pytest.mark.django_db(transaction=True)
MOST_TOKENS = 200


def tokens(text):
    return len(text.encode()) / 4


def authored(pending):
    """What the workflow itself says of the step."""
    lists = (
        pending.get(name, []) for name in ("guidance", "workflowGuidance", "activityGuidance", "outputRequirements")
    )
    functions = [function["definition"] for function in pending.get("functions", ())]
    return [*functions, pending["prompt"], pending.get("agentRole", ""), *(text for texts in lists for text in texts)]


@pytest.fixture
def call():
    load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())
    return caller("rail", run_cast.make_desk().agent)


@pytest.mark.parametrize("workflow", ["wr.code-review", "wr.bug-investigation", "wr.research"])
def test_a_step_costs_little_beside_what_its_author_wrote(call, workflow):
    reply = call("start_workflow", workflowId=workflow, goal="Look at it", context=CONTEXT)
    costs = []
    for _ in range(6):
        given = {"stateToken": reply["stateToken"], "ackToken": reply["ackToken"]}
        raw = call.raw("continue_workflow", **given, output=output_for(reply))
        reply, text = raw["structuredContent"], raw["content"][0]["text"]
        if reply["kind"] == "ok" and reply["pending"] is not None:
            costs.append(tokens(text) - sum(map(tokens, authored(reply["pending"]))))
        if reply["pending"] is None:
            break

    assert costs
    assert max(costs) <= MOST_TOKENS, costs


def test_a_block_tells_what_is_missing_and_not_the_step_again(call):
    first = call("start_workflow", workflowId="wr.code-review", goal="Look at it", context=CONTEXT)
    given = {"stateToken": first["stateToken"], "ackToken": first["ackToken"]}
    second = call("continue_workflow", **given, output=output_for(first))

    given = {"stateToken": second["stateToken"], "ackToken": second["ackToken"]}
    raw = call.raw("continue_workflow", **given, output={})
    blocked = raw["structuredContent"]
    again = call("continue_workflow", stateToken=blocked["stateToken"])

    assert blocked["kind"] == "blocked"
    assert second["pending"]["prompt"] not in raw["content"][0]["text"]
    assert tokens(raw["content"][0]["text"]) <= 1.25 * MOST_TOKENS
    assert again["pending"]["prompt"] == second["pending"]["prompt"]
    assert blocked["nextCall"]["params"]["output"]["notesMarkdown"].startswith("<")


def test_the_ready_call_holds_what_the_step_asks_for(call):
    first = call("start_workflow", workflowId="wr.code-review", goal="Look at it")

    params = first["nextCall"]["params"]

    assert params["stateToken"] == first["stateToken"]
    assert params["output"]["notesMarkdown"].startswith("<")
    assert params["context"] == {"reviewScope": "<reviewScope>"}


def test_the_ready_call_of_a_question_has_its_options(call):
    desk = run_cast.make_desk()
    asked = checkpoint_cast.at_question(desk)

    (artifact,) = asked["nextCall"]["params"]["output"]["artifacts"]

    assert artifact == {"kind": "wr.checkpoint_answer", "checkpointId": "agreed", "optionId": "<yes | no>"}


def test_places_that_were_not_filled_in_say_nothing(call):
    desk = run_cast.make_desk()
    run_cast.published(desk, step("one", prompt="Look.\n\nSet in context: `size` = small or large."), step("two"))
    ask = caller("rail", desk.agent)
    first = ask("start_workflow", workflowId="team.sample")
    params = first["nextCall"]["params"]

    unfilled = ask("continue_workflow", **params)
    given = {"stateToken": unfilled["stateToken"], "ackToken": unfilled["ackToken"]}
    done = ask("continue_workflow", **given, context=params["context"], output={"notesMarkdown": "Done."})

    assert params["context"] == {"size": "<size>"}
    assert unfilled["kind"] == "blocked"
    assert done["kind"] == "ok"
    assert not any(b"<size>" in event.body for event in logs.logged())


PLAN = activity(
    "plan",
    rules=["Ask before you cut."],
    skills={"primary": "drawing", "supporting": ["unknown"]},
    entryActions=[
        {"action": "message", "message": "We draw first."},
        {"action": "set", "target": "scale"},
        {"action": "set", "target": "drawn", "value": False},
    ],
    triggers=[{"workflow": "team.child", "description": "One for each part.", "passContext": ["part"]}],
    outcome=["A drawing that can be built"],
    artifacts=[
        {"id": "sheet", "name": "drawing.md", "location": "drawings", "description": "What is drawn."},
        {"id": "log", "name": "log.md", "location": "docs/log", "action": "update"},
    ],
    exitActions=[
        {"action": "message", "message": "It is drawn."},
        {"action": "set", "target": "sheets"},
        {"action": "log", "target": "drawn"},
    ],
    steps=[activity_step("draw"), activity_step("measure")],
    transitions=[{"to": "plan", "condition": equals("drawn", value="again")}, {"to": "build", "isDefault": True}],
)
BUILD = activity("build", rules=["Measure twice."], steps=[activity_step("cut")])


def test_what_holds_in_an_activity_is_told_with_the_first_of_it_and_to_whoever_asks():
    desk = run_cast.make_desk()
    about = workflow(
        initialActivity="plan",
        variables=[{"name": "drawn", "type": "string"}],
        artifactLocations={"drawings": "docs/drawings"},
    )
    files = folder(PLAN, BUILD, about=about, **{"skills__00-drawing.toon": skill("drawing")})
    checkpoint_cast.publish_folder(desk, files, "team.plan")
    ask = caller("rail", desk.agent)
    held = [
        "Ask before you cut.",
        "Tell the user: We draw first.",
        "Set `scale`",
        "Skills of this activity: drawing. Read one with inspect_workflow: workflowId team.plan, part skill, and its name as skill.",
        "Start the workflow `team.child`: One for each part. Pass on: part.",
        "To come of it: A drawing that can be built",
        "Write the document `01-drawing.md` in docs/drawings: What is drawn.",
        "Update the document `log.md` in docs/log",
        "When it is done: Tell the user: It is drawn.",
        "When it is done: Set `sheets`",
    ]

    def on(reply, **more):
        raw = ask.raw("continue_workflow", **tokens_of(reply), output={"notesMarkdown": "Done."}, **more)
        told = raw["structuredContent"]
        guidance = told["pending"].get("activityGuidance")
        assert all(said in raw["content"][0]["text"] for said in guidance or ())
        return told, guidance

    first = ask("start_workflow", workflowId="team.plan", goal="Draw it")
    assert first["pending"]["activityGuidance"] == held
    second, guidance = on(first)
    assert guidance is None
    assert ask("continue_workflow", stateToken=second["stateToken"])["pending"]["activityGuidance"] == held
    again, guidance = on(second, context={"drawn": "again"})
    assert (again["pending"]["stepId"], guidance) == ("draw", held)
    last, guidance = on(on(again)[0], context={"drawn": "done"})
    assert (last["pending"]["stepId"], guidance) == ("cut", ["Measure twice."])


def test_what_holds_throughout_is_told_at_the_beginning_also_where_a_question_comes_first():
    desk = run_cast.make_desk()
    asked = activity("plan", checkpoints=[checkpoint("sure")], steps=[activity_step("draw"), activity_step("cut")])
    about = workflow(initialActivity="plan", rules=["Keep the shop clean."])
    checkpoint_cast.publish_folder(desk, folder(asked, about=about), "team.plan")
    ask = caller("rail", desk.agent)

    with stopped_clock() as clock:
        first = ask("start_workflow", workflowId="team.plan", goal="Draw it")
        again = ask("continue_workflow", stateToken=first["stateToken"])
        clock.shift(READ_SECONDS)
        answer = {"kind": "wr.checkpoint_answer", "checkpointId": "sure", "optionId": "yes"}
        onward = ask("continue_workflow", **tokens_of(first), output={"artifacts": [answer]})

    assert first["pending"]["stepId"] == "sure"
    assert first["pending"]["workflowGuidance"] == again["pending"]["workflowGuidance"] == ["Keep the shop clean."]
    assert (onward["pending"]["stepId"], onward["pending"]["workflowGuidanceStands"]) == ("draw", True)
    assert "workflowGuidance" not in onward["pending"]


def test_what_a_step_leaves_to_the_agent_to_set_has_its_place_in_the_ready_call():
    actions = [
        {"action": "set", "target": "scale"},
        {"action": "set", "target": "drawn", "value": True},
        {"action": "set", "target": "gone", "value": None},
        {"action": "log", "target": "kept", "message": "Kept."},
    ]
    files = folder(activity("plan", steps=[activity_step("draw", actions=actions)]), about=workflow(id="team.plan"))
    desk = run_cast.make_desk()
    checkpoint_cast.publish_folder(desk, files, "team.plan")

    raw = caller("rail", desk.agent).raw("start_workflow", workflowId="team.plan", goal="Draw it")

    assert raw["structuredContent"]["nextCall"]["params"]["context"] == {"scale": "<scale>"}
    assert "- In context: scale, as you find or decide." in raw["content"][0]["text"]


def test_a_client_that_looks_up_is_told_what_holds_with_each_step_of_the_activity():
    desk = run_cast.make_desk()
    checkpoint_cast.publish_folder(desk, folder(PLAN, BUILD, about=workflow(initialActivity="plan")), "team.plan")
    ask = caller("lookup", desk.agent)
    done, told = [], []
    for _ in range(3):
        found = ask("workflow_next", workflowId="team.plan", completedSteps=done)
        done.append(found["step"]["id"])
        told.append(found["guidance"]["prompt"].partition("\n\n")[0].splitlines())

    assert told[0] == told[1]
    assert told[0][:2] == ["## Activity Guidance", "- Ask before you cut."]
    assert told[2] == ["## Activity Guidance", "- Measure twice."]


def tokens_of(reply):
    return {"stateToken": reply["stateToken"], "ackToken": reply["ackToken"]}
