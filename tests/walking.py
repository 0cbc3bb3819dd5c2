"""Loops, activities and conditions in a word each, for tests of the walk."""

from workflows_app.engine.conditions import parse_steps_condition
from workflows_app.engine.program import Activity, ConditionMode, Loop, LoopKind, Transition

GO_ON = {"kind": "wr.loop_control", "decision": "continue"}
STOP = {"kind": "wr.loop_control", "decision": "stop"}
CONTRACT = "wr.contracts.loop_control"


def when(**condition):
    parsed, problems = parse_steps_condition(condition, path="", mode=ConditionMode.STRICT)
    assert problems == ()
    return parsed


IS_ON = when(var="on", equals=True)


def loop(loop_id, *body, kind=LoopKind.FOR, **fields):
    return Loop(id=loop_id, title=loop_id, loops=kind, body=body, **fields)


def activity(activity_id, *body, **fields):
    return Activity(id=activity_id, title=activity_id, body=body, **fields)


def to(target, **fields):
    return Transition(to=target, **fields)
