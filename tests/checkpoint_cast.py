"""The props of the tests of checkpoints: runs that stand at a question, and calls made short."""

import os
from datetime import timedelta

from sessions_app.models import CheckpointRequest
from sessions_app.services.people import checkpoints
from tests.activity_folders import activity, checkpoint, equals, folder, step, workflow
from tests.run_cast import advanced, run_id, start
from tests.workflow_cast import NOW, publish
from workflows_app.engine.source import Source, SourceFormat
from workflows_app.services import workflows

SOON = NOW + timedelta(minutes=1)
ABOUT = workflow(description="Asks before it goes on.", initialActivity="plan")
YES_SETS = [
    {"id": "yes", "label": "Yes", "effect": {"setVariable": {"on": "true"}}},
    {"id": "no", "label": "No", "effect": {"transitionTo": "redo"}},
]


def asking(**fields):
    """Asks `agreed` first; `yes` sets a variable that step `work` needs, `no` leads to another activity."""
    question = checkpoint("agreed", message="Is the plan for {goal} right?", options=YES_SETS, **fields)
    return folder(
        activity(
            "plan",
            checkpoints=[question],
            steps=[
                {"id": "ask", "name": "Ask", "checkpoint": "agreed"},
                step("work", condition=equals("on", "true")),
                step("last"),
            ],
            transitions=[{"to": "redo"}],
        ),
        activity("redo", steps=[step("again")]),
        about=ABOUT,
    )


def publish_folder(desk, files, workflow_id="team.plan"):
    source = Source(format=SourceFormat.ACTIVITY_FOLDER, files=files)
    saved = workflows.create_workflow(actor=desk.person, source=source, message="", now=NOW)
    errors = [problem for problem in saved.revision.problems if problem.severity == "error"]
    assert errors == []
    publish(desk.person, workflow_id, saved.revision.number)
    return workflow_id


def at_question(desk, *, context=None, **fields):
    """The reply of a run that stands at the question."""
    publish_folder(desk, asking(**fields))
    before = start(desk, "team.plan", context=context or {}).value
    value = advanced(desk.agent, before, now=NOW)
    assert value["pending"]["checkpoint"]["checkpointId"] == "agreed", value
    return value


def relayed(option_id):
    return [{"kind": "wr.checkpoint_answer", "checkpointId": "agreed", "optionId": option_id}]


def rows(value):
    """The questions of the run, in the order in which they were asked."""
    return list(CheckpointRequest.objects.filter(run_id=run_id(value)).order_by("event_index"))


def only_row(value):
    (row,) = rows(value)
    return row


def answer(actor, row, option_id="yes", *, reason="", digest=None, now=SOON):
    return checkpoints.answer_checkpoint(
        actor=actor,
        request_id=row.id,
        option_id=option_id,
        digest=row.digest if digest is None else digest,
        reason=reason,
        now=now,
        entropy=os.urandom,
    )
