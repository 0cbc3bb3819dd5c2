"""Every text of an author that an agent reads on its way through a run has the values of the run in place of `{{name}}`."""

import re

import pytest

from tests.activity_folders import activity, checkpoint, folder, step as activity_step, workflow
from tests.checkpoint_cast import publish_folder
from tests.gate_play import FOLDER, STEPS, person_answers, rail_ack, rail_read, said
from tests.run_cast import notes_free, published
from tests.step_documents import loop, step

pytestmark = pytest.mark.django_db(transaction=True)

KNOWS = {"who": "Ada"}
LEVEL = {"kind": "wr.assessment", "assessmentId": "ready", "dimensions": {"proof": "none"}}
SURE = {**LEVEL, "dimensions": {"proof": "some"}}


def mark(place):
    return f"«{place}» {{{{who}}}}"


FIRST = {
    "title": mark("title"),
    "promptBlocks": {
        "goal": mark("goal"),
        "constraints": [mark("constraint")],
        "procedure": [mark("procedure")],
        "outputRequired": {"notes": mark("outputRequired")},
        "verify": [mark("verify")],
    },
    "agentRole": mark("agentRole"),
    "guidance": [mark("guidance")],
    "validationCriteria": [{"type": "contains", "value": "Result:", "message": mark("message")}],
    "functionDefinitions": [{"name": "own", "definition": mark("definition")}],
    "functionReferences": ["own()"],
    "audit": {"prompt": mark("audit"), "rubric": [mark("rubric")]},
    "verification": {"command": mark("command"), "prompt": mark("verification")},
    "promptFragments": [{"id": "more", "text": mark("fragment")}],
}
ASSESSED = {
    "prompt": "Assess it.",
    "assessmentRefs": ["ready"],
    "assessmentConsequences": [
        {
            "when": {"anyEqualsLevel": "none"},
            "effect": {"kind": "require_followup", "guidance": mark("consequence")},
        }
    ],
}
HANDED_OUT = {
    "id": "apart",
    "type": "parallel",
    "title": mark("parallel"),
    "parallelDelegations": [
        {"workflowId": "wr.routine-context-gathering", "goal": mark("delegated"), "args": {"lens": mark("argument")}}
    ],
    "synthesis": {"prompt": mark("synthesis")},
}
ABOUT = {
    "description": "Names who it is for.",
    "agentRole": mark("role"),
    "preconditions": [mark("precondition")],
    "clarificationPrompts": [mark("clarification")],
    "metaGuidance": [mark("metaGuidance")],
    "references": [
        {
            "id": "rules",
            "title": mark("referenceTitle"),
            "source": mark("referenceSource"),
            "purpose": mark("referencePurpose"),
            "authoritative": False,
        }
    ],
    "assessments": [
        {
            "id": "ready",
            "purpose": mark("purpose"),
            "dimensions": [{"id": "proof", "purpose": mark("dimension"), "levels": ["none", "some"]}],
        }
    ],
}
ROUNDS = loop("rounds", [step("inner", prompt=mark("inner"))], type="for", count=1) | {"title": mark("loop")}
STEPS_OF_ALL = [
    {"id": "one", **FIRST},
    {"id": "two", "title": "Two", **ASSESSED},
    HANDED_OUT,
    ROUNDS,
    notes_free("last"),
]
# What each dialect tells of a run. Definitions that are handed over as they were written are none of these.
TOLD = {
    "rail": set(re.findall("«([a-zA-Z]+)»", str([STEPS_OF_ALL, ABOUT]))) - {"loop"},
    "navigation": {"title", "message", "dimension", "consequence", "parallel", "loop"},
    "session": {"message", "dimension", "consequence"},
    "orchestrator": {"message", "dimension", "consequence"},
}


class Reader:
    """What was told by one dialect, in text and as data."""

    def __init__(self, tools):
        self.tools, self.read = tools, []

    def __call__(self, tool, **arguments):
        result = self.tools.raw(tool, **arguments)
        self.read.append(str(result.get("structuredContent") or ""))
        self.read += [part.get("text", "") for part in result["content"]]
        return said(result)

    def places(self, *values):
        found = re.findall(r"«([a-zA-Z]+)» (\{+who\}+|Ada|\[unset: who\])", "\n".join(self.read))
        return {place for place, value in found if value in values}


def by_rail(read, workflow_id):
    value = read("start_workflow", workflowId=workflow_id, goal="Try it", context=KNOWS)
    handed_in = [("x", ()), ("Result: 1", ()), ("x", ()), ("x", [LEVEL]), ("x", [SURE]), *[("Did it.", ())] * 3]
    for notes, artifacts in handed_in:
        tokens = {"stateToken": value["stateToken"], "ackToken": value["ackToken"]}
        value = read("continue_workflow", **tokens, output={"notesMarkdown": notes, "artifacts": list(artifacts)})
        read("continue_workflow", stateToken=value["stateToken"])


def by_hand(read, workflow_id):
    state = read("nav_start", workflow_id=workflow_id, initial_variables=KNOWS)["state"]
    moves = [
        {"step_id": "one", "notes": "x"},
        {"step_id": "one", "notes": "Result: 1"},
        {"step_id": "two"},
        {"step_id": "two", "artifacts": [LEVEL]},
        {"step_id": "two", "artifacts": [SURE]},
        {"step_id": "apart"},
    ]
    for move in moves:
        state = read("nav_action", state=state, action="complete_step", **move)["state"]
        read("nav_situation", state=state)


def handed_over(read, workflow_id):
    token = Reader(read.tools)("start_session", workflow_id=workflow_id, agent_id="agent")["session_token"]
    token = Reader(read.tools)("next_activity", session_token=token, activity_id="main")["session_token"]
    first = {"step_id": "one", "output": "Result: 1", "context": KNOWS}
    for manifest in (
        [{**first, "output": "x"}],
        [first],
        [first, {"step_id": "two", "output": "x", "artifacts": [LEVEL]}],
    ):
        read("next_activity", session_token=token, activity_id="workflow-end", step_manifest=manifest)


WALKS = {"rail": by_rail, "navigation": by_hand, "session": handed_over, "orchestrator": handed_over}


@pytest.mark.parametrize("dialect", WALKS)
def test_what_is_told_of_a_step_has_its_values(floor, dialect):
    published(floor.desk, *STEPS_OF_ALL, workflow_id=STEPS, **ABOUT)
    read = Reader(floor[dialect])

    WALKS[dialect](read, STEPS)

    assert read.places("{{who}}") == set()
    assert read.places("Ada") == TOLD[dialect]


def asking():
    options = [{"id": "yes", "label": mark("label"), "description": mark("description")}, {"id": "no", "label": "No"}]
    asked = checkpoint("agreed", name=mark("name"), message=mark("question"), options=options)
    plan = activity("plan", checkpoints=[asked], steps=[activity_step("draft", checkpoint="agreed")])
    about = workflow(
        id=FOLDER,
        description="Asks.",
        initialActivity="plan",
        variables=[{"name": "who", "type": "string", "defaultValue": "Ada"}],
    )
    return folder(plan, about=about)


@pytest.mark.parametrize("dialect", WALKS)
def test_what_is_asked_has_its_values(floor, dialect):
    publish_folder(floor.desk, asking(), FOLDER)
    read, quiet = Reader(floor[dialect]), Reader(floor[dialect])

    if dialect == "rail":
        value = read("start_workflow", workflowId=FOLDER, goal="Try it", context=KNOWS)
        tokens = {"stateToken": value["stateToken"], "ackToken": value["ackToken"]}
        read("continue_workflow", **tokens, output={"notesMarkdown": "Did it."})
    elif dialect == "navigation":
        state = read("nav_start", workflow_id=FOLDER, initial_variables=KNOWS)["state"]
        state = read("nav_action", state=state, action="complete_step", step_id="draft")["state"]
        read("nav_checkpoint", state=state)
    else:
        token = quiet("start_session", workflow_id=FOLDER, agent_id="agent")["session_token"]
        token = quiet("next_activity", session_token=token, activity_id="plan")["session_token"]
        if dialect == "session":
            read("get_checkpoint", session_token=token, activity_id="plan", checkpoint_id="agreed")
        else:
            handle = read("yield_checkpoint", session_token=token, checkpoint_id="agreed")["checkpoint_handle"]
            read("present_checkpoint", checkpoint_handle=handle)

    assert read.places("{{who}}") == set()
    assert read.places("Ada") >= {"question", "label", "description"}


@pytest.mark.parametrize("dialect", ["rail", "navigation"])
def test_what_is_said_of_a_workflow_to_start_has_its_values(floor, dialect):
    published(floor.desk, step("only"), workflow_id=STEPS)
    starts = [{"workflow": STEPS, "description": mark("trigger")}]
    own = [{"workflow": STEPS, "description": mark("ofStep")}]
    plan = activity("plan", triggers=starts, steps=[activity_step("draft", triggers=own)])
    publish_folder(floor.desk, folder(plan, about=workflow(id=FOLDER, initialActivity="plan")), FOLDER)
    read = Reader(floor[dialect])

    if dialect == "rail":
        read("start_workflow", workflowId=FOLDER, goal="Try it", context=KNOWS)
    else:
        read("nav_start", workflow_id=FOLDER, initial_variables=KNOWS)

    assert read.places("{{who}}") == set()
    assert read.places("Ada") >= {"trigger", "ofStep"}


def test_an_answer_given_in_a_round_is_told_with_the_item_of_the_round(floor):
    options = [{"id": "yes", "label": "Keep {part.name}"}, {"id": "no", "label": "No"}]
    asked = checkpoint("agreed", message="Keep {part.name}?", options=options, authority="human")
    each = {"id": "each", "name": "Each", "type": "forEach", "variable": "part", "over": "parts"}
    rounds = {**each, "steps": [activity_step("draft", checkpoint="agreed"), activity_step("after")]}
    plan = activity("plan", checkpoints=[asked], loops=[rounds])
    publish_folder(floor.desk, folder(plan, about=workflow(id=FOLDER, initialActivity="plan")), FOLDER)
    value = floor.rail("start_workflow", workflowId=FOLDER, goal="Try it", context={"parts": [{"name": "door"}]})
    value = rail_ack(floor, value)

    person_answers(floor, "yes")

    told = rail_read(floor, value)["answered"]
    assert (told["label"], told["optionId"]) == ("Keep door", "yes")
