"""The props of the tests of gates: workflows in which something must be answered, and agents who try to get past it.

Everything goes through the tools of a dialect or through REST, so that the tests hold whatever lies behind the doors.
"""

from dataclasses import dataclass, replace

import orjson
import time_machine
from django.utils import timezone

from sessions_app.models import CheckpointRequest, Gap, Node, Run
from tests import logs, run_cast
from tests.activity_folders import activity, checkpoint, equals, folder, step as activity_step, workflow
from tests.checkpoint_cast import answer, publish_folder
from tests.handover_play import Caller
from tests.run_cast import notes_free, published
from tests.step_documents import step

DIALECTS = ("rail", "navigation", "session", "orchestrator")
HANDED_OVER = ("session", "orchestrator")
STEPS = "team.steps"
FOLDER = "team.folder"
READ_SECONDS = 60
NEVER_STOP = {"preset": "full_auto_never_stop"}
APPROVAL = {"kind": "human_approval"}
COMPLETE = "complete"


@dataclass(frozen=True, kw_only=True)
class Floor:
    """One team's tools at every address, and a clock that only moves when it is shifted."""

    desk: run_cast.Desk
    clock: time_machine.Traveller
    rail: Caller
    navigation: Caller
    session: Caller
    orchestrator: Caller

    def __getitem__(self, dialect):
        return getattr(self, dialect)

    def read_it(self):
        """Time passes, as if somebody had read the question."""
        self.clock.shift(READ_SECONDS)


def open_floor(desk, clock):
    return Floor(desk=desk, clock=clock, **{dialect: Caller(dialect, desk.agent) for dialect in DIALECTS})


class RestCaller(Caller):
    """The tools of a dialect by REST, answered in the form of MCP."""

    def __init__(self, dialect, api):
        self.dialect, self.api = dialect, api

    def raw(self, tool, **arguments):
        given = {key: value for key, value in arguments.items() if value is not None}
        answer = self.api.post(f"/api/v1/dialects/{self.dialect}/tools/{tool}", given)
        body = {"content": [{"text": answer.content.decode()}]}
        return {**body, "isError": True} if answer.status_code >= 400 else {**body, "structuredContent": answer.json()}


def rest_floor(floor, api):
    """The same floor, where every tool is called by REST."""
    return replace(floor, **{dialect: RestCaller(dialect, api) for dialect in DIALECTS})


# Workflows


def approval_steps(desk, **gated):
    """`before`, then `gated`, that a person must approve, then `after`."""
    return published(
        desk,
        notes_free("before"),
        step("gated", **{"requireConfirmation": APPROVAL, "notesOptional": True, **gated}),
        notes_free("after"),
        workflow_id=STEPS,
    )


def asking_folder(desk, *, workflow_id=FOLDER, transitions=None, triggers=(), steps=None, others=(), **question):
    """`plan` asks `agreed` between `draft` and `after`, or as its `steps` say; `build` follows. `yes` allows it, `no` does not."""
    options = [
        {"id": "yes", "label": "Yes", "effect": {"setVariable": {"approved": True}}},
        {"id": "no", "label": "No", "effect": {"setVariable": {"approved": False}}},
    ]
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", message="Is the plan right?", **{"options": options, **question}), *others],
        steps=steps or [activity_step("draft", checkpoint="agreed"), activity_step("after")],
        transitions=transitions or [{"to": "build"}],
        **({"triggers": [{"workflow": child} for child in triggers]} if triggers else {}),
    )
    files = folder(
        plan,
        activity("build", steps=[activity_step("make")]),
        activity("redo", steps=[activity_step("again")]),
        about=workflow(id=workflow_id, description="Asks before it goes on.", initialActivity="plan"),
    )
    return publish_folder(desk, files, workflow_id)


def led_by_the_answer():
    """Only where the answer was yes, `build` follows."""
    return [{"to": "build", "condition": equals("approved", value=True)}, {"to": "redo", "isDefault": True}]


# What came of it


def only_run():
    return Run.objects.get()


def reached(run=None):
    """The items that were pending at any node of the run, and `complete` where it was finished."""
    found = run or only_run()
    items = {
        key.rpartition("::")[2] for key in Node.objects.filter(run_id=found.id).values_list("pending_key", flat=True)
    }
    found.refresh_from_db()
    return items | ({COMPLETE} if found.status.startswith(COMPLETE) else set())


def questions(run=None):
    return list(CheckpointRequest.objects.filter(run_id=(run or only_run()).id).order_by("event_index"))


def logged(kind):
    return [event["data"] for event in logs.told(kind)]


def critical_gaps(run=None):
    return list(Gap.objects.filter(run_id=(run or only_run()).id, severity="critical").order_by("event_index"))


# An agent of the rail


def rail_start(floor, workflow_id=STEPS, **more):
    floor.clock.shift(1)
    return floor.rail("start_workflow", workflowId=workflow_id, goal="Try it", **more)


def rail_ack(floor, value, notes="Did it.", *, artifacts=(), **more):
    """The reply of an acknowledgement, or its refusal."""
    output = {"notesMarkdown": notes, "artifacts": list(artifacts)}
    tokens = {"stateToken": value["stateToken"], "ackToken": value["ackToken"]}
    return said(floor.rail.raw("continue_workflow", **tokens, output=output, **more))


def rail_read(floor, value):
    return floor.rail("continue_workflow", stateToken=value["stateToken"])


def rail_at_gate(floor, workflow_id=STEPS, **more):
    """A run that stands at the second thing that is to be done."""
    return rail_ack(floor, rail_start(floor, workflow_id, **more))


def relayed(option_id, checkpoint_id="agreed"):
    return {"kind": "wr.checkpoint_answer", "checkpointId": checkpoint_id, "optionId": option_id}


def lacking(count):
    """What an agent says that only its user can give, so that the attempt is blocked by so many reasons."""
    each = {"detail": "needs_user_secret_or_token", "severity": "critical", "summary": "A key."}
    return {"kind": "wr.gaps", "gaps": [{**each, "contextKey": f"a{number}"} for number in range(count)]}


# An agent that drives by hand


def nav_start(floor, workflow_id=STEPS, **variables):
    floor.clock.shift(1)
    return floor.navigation("nav_start", workflow_id=workflow_id, initial_variables=variables)


def nav(floor, state, action, **arguments):
    """The reply of an action; one that is refused has `success` false, or is an error."""
    return said(floor.navigation.raw("nav_action", state=state, action=action, **arguments))


def nav_step(floor, state, step_id):
    return nav(floor, state, "complete_step", step_id=step_id)


# Agents to whom activities are handed over


def hand_start(floor, dialect, workflow_id=STEPS):
    floor.clock.shift(1)
    return floor[dialect]("start_session", workflow_id=workflow_id, agent_id="agent")["session_token"]


def hand_next(floor, dialect, token, activity_id, *done):
    """The reply of `next_activity`, or its refusal; what was done is told as a manifest, if anything was."""
    manifest = [{"step_id": name, "output": f"Did {name}."} for name in done] or None
    return said(
        floor[dialect].raw("next_activity", session_token=token, activity_id=activity_id, step_manifest=manifest)
    )


def hand_in(floor, dialect, workflow_id, activity_id):
    """A session token that stands in its first activity."""
    return hand_next(floor, dialect, hand_start(floor, dialect, workflow_id), activity_id)["session_token"]


def said(result):
    """What a tool answered, a refusal included; the text is the JSON where nothing else is."""
    return result.get("structuredContent") or orjson.loads(result["content"][0]["text"])


# A person


def person_answers(floor, option_id, *, reason="", actor=None):
    """A signed-in person answers the only question that waits for one."""
    (row,) = [row for row in questions() if row.state == "open"]
    floor.read_it()
    return answer(actor or floor.desk.person, row, option_id, reason=reason, now=timezone.now())
