"""The props of the tests of runs that are handed over: a folder with questions, and calls made short."""

import os
from datetime import timedelta

import pytest

from sessions_app.engine.decisions import AnswerMode, EnterActivity
from sessions_app.engine.manifests import ManifestEntry
from sessions_app.engine.runs import Dialect
from sessions_app.services.moves import handed_over, session_tokens
from sessions_app.services.moves.handed_over import HandoverCall
from sessions_app.services.moves.session_tokens import Wish
from tests.activity_folders import activity, checkpoint, equals, folder, step, workflow
from tests.checkpoint_cast import publish_folder
from tests.workflow_cast import NOW
from workrail_site.dialects.activities.speech import ACTIVITIES

LATER = NOW + timedelta(minutes=5)
WORKFLOW = "team.handed"
ABOUT = workflow(id=WORKFLOW, description="Two activities with questions.", initialActivity="plan")
OPTIONS = [
    {"id": "yes", "label": "Yes", "effect": {"setVariable": {"agreed": "true"}}},
    {"id": "stop", "label": "Stop", "effect": {"transitionTo": "wrap"}},
]


def two_activities(*questions, about=ABOUT, **fields):
    """`plan` asks what is given and has two steps and a loop; `build` and `wrap` follow."""
    loop = {
        "id": "tasks",
        "name": "Tasks",
        "type": "forEach",
        "variable": "task",
        "over": "task_list",
        "steps": [step("code"), step("check")],
    }
    return folder(
        activity(
            "plan",
            checkpoints=list(questions),
            steps=[step("draft"), step("review")],
            loops=[loop],
            transitions=[{"to": "build", "isDefault": True}, {"to": "wrap", "condition": equals("small", "true")}],
            **fields,
        ),
        activity("build", steps=[step("make")], transitions=[{"to": "wrap"}]),
        activity("wrap", steps=[step("tidy")]),
        about=about,
    )


def triggering(name="team.child"):
    return folder(
        activity(
            "plan",
            steps=[step("draft")],
            triggers=[{"workflow": name, "passContext": ["ticket"]}],
            transitions=[{"to": "build"}],
            entryActions=[{"action": "set", "target": "ticket", "value": "T-1"}],
        ),
        activity("build", steps=[step("make")]),
        about=workflow(
            id=WORKFLOW,
            initialActivity="plan",
            variables=[{"name": "ticket", "type": "string"}, {"name": "outcome", "type": "string"}],
        ),
    )


def child_files():
    end = activity("only", steps=[step("do")], exitActions=[{"action": "set", "target": "outcome", "value": "merged"}])
    return folder(end, about=workflow(id="team.child", initialActivity="only"))


def question(name="agreed", **more):
    return checkpoint(name, message="Shall we?", **{"options": OPTIONS, **more})


def handed(desk, files=None, *, dialect=Dialect.SESSION, agent_id="orchestrator"):
    publish_folder(desk, two_activities() if files is None else files, WORKFLOW)
    return begun(desk, dialect=dialect, agent_id=agent_id).held


def begun(desk, *, dialect=Dialect.SESSION, workflow_id=WORKFLOW, actor=None, now=NOW, **wish):
    return session_tokens.begin(
        actor=actor or desk.agent,
        wish=Wish(dialect=dialect, workflow_id=workflow_id, **wish),
        now=now,
        entropy=os.urandom,
    )


def call(desk, token, *, dialect=Dialect.SESSION, now=NOW, actor=None):
    return HandoverCall(
        actor=actor or desk.agent, dialect=dialect, token=token, now=now, entropy=os.urandom, speech=ACTIVITIES
    )


def entries(*names, output="Did it."):
    return tuple(ManifestEntry(step_id=name, output=f"{output} ({name})") for name in names)


def entered(
    desk,
    token,
    activity_id,
    *done,
    claim=None,
    dialect=Dialect.SESSION,
    now=NOW,
    actor=None,
    output="Did it.",
    refused=None,
):
    """The reply's value; None where it is refused as expected."""
    if refused is not None:
        with pytest.raises(refused):
            entered(desk, token, activity_id, *done, claim=claim, dialect=dialect, now=now, actor=actor, output=output)
        return None
    command = EnterActivity(
        activity_id=activity_id,
        claim=claim,
        manifest=entries(*done, output=output) if done else None,
        asks_on_entry=dialect is Dialect.SESSION,
    )
    return handed_over.enter_activity(call(desk, token, dialect=dialect, now=now, actor=actor), command).reply.value


def answered(
    desk, token, name="", *, option="yes", mode=AnswerMode.OPTION, dialect=Dialect.SESSION, now=LATER, actor=None
):
    at = call(desk, token, dialect=dialect, now=now, actor=actor)
    return handed_over.respond_checkpoint(at, checkpoint_id=name, mode=mode, option_id=option).reply.value


def yielded(desk, token, name="agreed", *, now=NOW):
    at = call(desk, token, dialect=Dialect.ORCHESTRATOR, now=now)
    return handed_over.yield_checkpoint(at, checkpoint_id=name).reply.value
