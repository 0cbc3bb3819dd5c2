"""Runs driven by hand that trigger one another: a parent, the workflows that it triggers, and calls made short."""

import os
from datetime import timedelta

from sessions_app.engine.actions import CompleteStep, TakeTransition
from sessions_app.services.moves import steered
from sessions_app.services.moves.beginning import start_run
from tests.activity_folders import activity, folder, step, workflow
from tests.checkpoint_cast import publish_folder
from tests.workflow_cast import NOW
from workrail_site.dialects.navigation.readings import beginning_of
from workrail_site.dialects.navigation.situations import NAVIGATION

VARIABLES = [{"name": "ticket", "type": "string"}, {"name": "outcome", "type": "string"}]
MERGED = {"action": "set", "target": "outcome", "value": "merged"}


def parent_files(trigger="team.child", *, workflow_id="team.parent", **more):
    plan = activity(
        "plan",
        steps=[step("draft"), step("check")],
        triggers=[{"workflow": trigger, "passContext": ["ticket"]}],
        transitions=[{"to": "build"}],
        **more,
    )
    about = workflow(id=workflow_id, title=workflow_id, initialActivity="plan", variables=VARIABLES)
    return folder(plan, activity("build", steps=[step("make")]), about=about)


def child_files(workflow_id="team.child"):
    only = activity("only", steps=[step("do", actions=[MERGED]), step("end")])
    return folder(only, about=workflow(id=workflow_id, title=workflow_id, initialActivity="only"))


def empty_files():
    """A workflow in which nothing is to be done."""
    only = activity("only", entryActions=[MERGED])
    return folder(only, about=workflow(id="team.child", title="team.child", initialActivity="only"))


def publish_all(desk, **parent):
    publish_folder(desk, child_files(), "team.child")
    publish_folder(desk, parent_files(**parent), "team.parent")


def start(desk, workflow_id="team.parent", *, actor=None, **variables):
    beginning = beginning_of(workflow_id, variables, request_key="")
    return start_run(
        actor=actor or desk.agent, beginning=beginning, now=NOW, entropy=os.urandom, speech=NAVIGATION
    ).value


def act(desk, state, action):
    later = NOW + timedelta(minutes=1)
    return steered.steer_run(
        actor=desk.agent, state_token=state, action=action, now=later, entropy=os.urandom, speech=NAVIGATION
    ).value


def complete(desk, state, *step_ids):
    """The steps one after the other; the last reply."""
    value = {"state": state}
    for step_id in step_ids:
        value = act(desk, value["state"], CompleteStep(step_id=step_id))
        assert value["success"], value
    return value


def moved(desk, state, activity_id):
    return act(desk, state, TakeTransition(activity_id=activity_id))


def look(desk, state):
    return steered.read_situation(actor=desk.agent, state_token=state, speech=NAVIGATION).value


def offered(value):
    """The triggers that the landscape offers."""
    return [each for each in value["availableActions"]["optional"] if each["action"] == "nav_start"]


def triggered(desk, value):
    """The workflow that the landscape offers to begin, begun as it says."""
    entry = offered(value)[0]
    return start(desk, entry["workflow"], **entry["initial_variables"])
