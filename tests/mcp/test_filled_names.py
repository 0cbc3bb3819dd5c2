"""What a step, a loop, a question and a rule say has its values wherever a dialect shows it as something to do now."""

import pytest

from tests.activity_folders import activity, checkpoint, folder, step, workflow
from tests.checkpoint_cast import publish_folder
from tests.handover_play import caller, stopped_clock
from tests.run_cast import make_desk, notes_free, published
from tests.step_documents import loop

pytestmark = pytest.mark.django_db(transaction=True)

CONTEXT = {"kind": "bug", "files": ["a"]}


def told(value):
    """Every text in it, but for what names another thing of the definition."""
    if isinstance(value, dict):
        return [text for child in value.values() for text in told(child)]
    if isinstance(value, list):
        return [text for child in value for text in told(child)]
    return [value] if isinstance(value, str) else []


def unfilled(value):
    return [text for text in told(value) if "{{kind}}" in text]


@pytest.fixture
def clock():
    with stopped_clock() as moved:
        yield moved


@pytest.fixture
def desk(clock):
    made = make_desk()
    body = [notes_free("in-loop", title="Mend the {{kind}}", guidance=["Read the {{kind}}."])]
    around = loop("each-file", body, type="forEach", items="files")
    first = notes_free("first-one", title="Find the {{kind}}", guidance=["Look for the {{kind}}."])
    steps = [first, {**around, "title": "Each {{kind}}"}, notes_free("last-one", title="Tell of the {{kind}}")]
    published(made, *steps, workflow_id="team.steps", metaGuidance=["Think of the {{kind}}."])
    asked = checkpoint("sure", name="About the {{kind}}", message="Is the {{kind}} gone?")
    begins = activity("begin", steps=[step("look"), step("ask", checkpoint="sure")], checkpoints=[asked])
    begins |= {"name": "Begin with the {{kind}}"}
    begins["steps"][0]["name"] = "Look at the {{kind}}"
    variables = [{"name": "kind", "type": "string", "defaultValue": "bug"}]
    about = workflow(id="team.folder", initialActivity="begin", variables=variables, rules=["No second {{kind}}."])
    publish_folder(made, folder(begins, about=about), "team.folder")
    return made


@pytest.mark.parametrize("workflow_id", ["team.steps", "team.folder"])
def test_by_the_rail(desk, clock, workflow_id):
    call, replies = caller("rail", desk.agent), []
    replies.append(call("start_workflow", workflowId=workflow_id, context=CONTEXT))
    while not replies[-1]["isComplete"]:
        replies.append(call("continue_workflow", stateToken=replies[-1]["stateToken"]))
        params = replies[-1]["nextCall"]["params"]
        params["output"] = {"notesMarkdown": "Did it."}
        clock.shift(10)
        if "checkpoint" in replies[-1]["pending"]:
            answer = {"kind": "wr.checkpoint_answer", "checkpointId": "sure", "optionId": "yes"}
            params["output"]["artifacts"] = [answer]
        replies.append(call("continue_workflow", **params))
        assert len(replies) < 20

    assert unfilled(replies) == []


@pytest.mark.parametrize("workflow_id", ["team.steps", "team.folder"])
def test_by_navigation(desk, clock, workflow_id):
    call = caller("navigation", desk.agent)
    replies = [call("nav_start", workflow_id=workflow_id, initial_variables=CONTEXT)]
    while not replies[-1].get("complete"):
        replies.append(call("nav_situation", state=replies[-1]["state"]))
        offered = replies[-1]["availableActions"]
        act = [*offered["required"], *offered["optional"]][0]
        names = {"step": "step_id", "checkpoint": "checkpoint_id", "activity": "activity_id", "loop": "loop_id"}
        given = {argument: act[name] for name, argument in names.items() if name in act}
        clock.shift(10)
        answer = {"option_id": "yes"} if "checkpoint_id" in given else {}
        replies.append(call("nav_action", state=replies[-1]["state"], action=act["action"], **given, **answer))
        assert len(replies) < 30, replies[-1]

    assert unfilled(replies) == []


@pytest.mark.parametrize("workflow_id", ["team.steps", "team.folder"])
def test_by_lookup(desk, workflow_id):
    call, done, steps = caller("lookup", desk.agent), [], []
    while True:
        reply = call("workflow_next", workflowId=workflow_id, completedSteps=done, context=CONTEXT)
        if reply["isComplete"]:
            break
        steps.append(reply)
        done.append(reply["step"]["id"])
        assert len(done) < 10

    assert unfilled(steps) == []
