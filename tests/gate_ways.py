"""Every way in which an agent can try to get past a gate, by dialect; a text says why a dialect has no such way."""

import re
from dataclasses import replace
from enum import StrEnum

from django.core.management import call_command

from teams_app.engine.ids import Prefix, to_text
from tests.gate_kinds import CHILD, PARENT, Kind, publish_ungated
from tests.gate_play import (
    HANDED_OVER,
    NEVER_STOP,
    hand_next,
    hand_start,
    nav,
    nav_start,
    nav_step,
    questions,
    rail_ack,
    rail_read,
    rail_start,
    rest_floor,
    said,
)
from tests.gate_scenes import agent_answers, asked, newest_run, people_answer
from tests.run_doors import V1
from tests.workflow_cast import publish


class Way(StrEnum):
    """`SATISFY` is the way that is meant: the right authority answers, or what is demanded is handed in."""

    ADVANCE = "advance"
    OMIT = "omit"
    JUMP = "jump"
    COMPLETE = "complete"
    END = "end"
    FORK_BEFORE = "fork_before"
    REHYDRATE = "rehydrate_elsewhere"
    CHILD = "child"
    TRIGGER = "trigger"
    MODE = "mode_change"
    CROSS = "another_dialect"
    REPLAY = "replay"
    ROTATE = "key_rotation"
    CONTEXT = "context"
    BOOKMARK = "bookmark"
    ANSWER = "agents_answer"
    EARLY = "early_answer"
    WRONG = "answer_to_another"
    DISMISS = "dismissal"
    TOKEN = "personal_token"
    REVISION = "revision_change"
    RETRY = "retry"
    REST_TOOLS = "tools_by_rest"
    REST_RUNS = "runs_by_rest"
    SATISFY = "satisfy"


# Tried in vain, they leave the run as they found it, or a branch of it that stays behind.
LEAVES_NO_MARK = frozenset(
    {Way.ADVANCE, Way.OMIT, Way.COMPLETE, Way.END, Way.FORK_BEFORE, Way.REHYDRATE, Way.CROSS, Way.BOOKMARK, Way.TOKEN}
)

NAMES_NO_STEP = "the server leads: no tool of the rail names a step"
HAS_NO_END = "no tool of the rail ends a run"
TRIGGERS_NOTHING = "steps workflows and runs of the rail trigger nothing"
KNOWS_NO_PARENT = "its contract has no sessions within sessions"
TAKES_NO_CONTEXT = "its contract has no argument for it"
HAS_NO_BOOKMARK = "its contract has no bookmarks"
HANDLE_NAMES_IT = "the handle names the question: none can be mistaken for another"
HAS_NO_DISMISSAL = "its contract dismisses no questions"


def advance(scene):
    scene.move()


# Omission, jumps, the end


def rail_omit(scene):
    tokens = {"stateToken": scene.at["stateToken"], "ackToken": scene.at["ackToken"]}
    scene.floor.rail.raw("continue_workflow", **tokens)


def nav_omit(scene):
    nav(scene.floor, scene.at, "transition", activity_id=scene.gate.onward)


def hand_omit(scene):
    for done in ((), scene.gate.lead, ("after",)):
        hand_next(scene.floor, scene.dialect, scene.at, scene.gate.onward, *done)


def nav_jump(scene):
    for step_id in ("after", "inner"):
        nav_step(scene.floor, scene.at, step_id)
        nav_step(scene.floor, scene.held[0], step_id)
    for activity_id in ("build", "redo", "main"):
        nav(scene.floor, scene.at, "transition", activity_id=activity_id)


def hand_jump(scene):
    for activity_id in {scene.gate.onward, "redo", "build"}:
        hand_next(scene.floor, scene.dialect, scene.held[0], activity_id)
    fresh = hand_start(scene.floor, scene.dialect, scene.workflow_id)
    scene.run = newest_run(scene.workflow_id)
    hand_next(scene.floor, scene.dialect, fresh, scene.gate.onward)


def nav_end(scene):
    for activity_id in ("workflow-end", "end-workflow"):
        nav(scene.floor, scene.at, "transition", activity_id=activity_id)


def hand_end(scene):
    for activity_id in ("workflow-end", "end-workflow"):
        hand_next(scene.floor, scene.dialect, scene.at, activity_id)


# Everything there is, over and over


def rail_complete(scene):
    value = scene.at
    for _ in range(3):
        value = rail_ack(scene.floor, value)
        if value.get("kind") != "blocked":
            return


def nav_complete(scene):
    state = scene.at
    for step_id in (scene.gate.gated, scene.gate.loop, "before", "draft", "inner", "after", "make"):
        if step_id:
            state = nav_step(scene.floor, state, step_id).get("state", state)
    nav(scene.floor, state, "transition", activity_id=scene.gate.onward)


def hand_complete(scene):
    everything = [*scene.gate.lead, scene.gate.gated, "before", "inner", "after", "make", "nothing"]
    told = hand_next(scene.floor, scene.dialect, scene.at, scene.gate.onward, *filter(None, everything))
    hand_next(scene.floor, scene.dialect, told.get("session_token", scene.at), "workflow-end", "make")


# Back, and from elsewhere


def rail_fork(scene):
    value = rail_read(scene.floor, scene.held[0])
    for _ in range(len(scene.gate.lead) + 1):
        value = rail_ack(scene.floor, value)


def nav_fork(scene):
    state = scene.held[0]
    for step_id in (*scene.gate.lead, scene.gate.gated or "after"):
        state = nav_step(scene.floor, state, step_id).get("state", state)
    scene.move(state)


def hand_fork(scene):
    """The oldest token: the run is entered again, and left again."""
    told = hand_next(scene.floor, scene.dialect, scene.held[0], scene.gate.activity)
    scene.move(told.get("session_token", scene.held[0]))
    scene.move(scene.held[0])


_STATE = re.compile(r"st\.v1\.[0-9a-z]+")


def rail_rehydrate(scene):
    scene.move(rail_read(scene.floor, scene.at))
    found = scene.floor.rail.text("resume_session")
    for state in dict.fromkeys(_STATE.findall(found)):
        value = said(scene.floor.rail.raw("continue_workflow", stateToken=state))
        if value.get("session", {}).get("runId") == scene.held[0]["session"]["runId"]:
            scene.move(value)


def nav_rehydrate(scene):
    scene.move(scene.floor.navigation("nav_situation", state=scene.at)["state"])


def hand_rehydrate(scene):
    """Another agent joins the session, and moves it on."""
    workflow = {"workflow_id": scene.workflow_id} if scene.dialect == "session" else {}
    for token in (scene.at, scene.held[0]):
        joined = scene.floor[scene.dialect]("start_session", session_token=token, agent_id="worker", **workflow)
        scene.move(joined["session_token"])


# Other runs


def rail_child(scene):
    """What is satisfied in another run of the session is not satisfied in this one."""
    session = scene.at["session"]["sessionId"]
    value = rail_start(scene.floor, scene.workflow_id, sessionId=session)
    this, scene.run = scene.run, newest_run(scene.workflow_id)
    for _ in scene.gate.lead:
        value = rail_ack(scene.floor, value)
    rail_satisfy(scene, value)
    scene.run = this
    scene.move()


def nav_child(scene):
    """The gate is in a run that another one has triggered and waits for."""
    parent = nav_start(scene.floor, PARENT)
    offered = next(
        each
        for each in parent["availableActions"]["optional"]
        if each["action"] == "nav_start" and each["workflow"] == scene.workflow_id
    )
    nav_start(scene.floor, scene.workflow_id, **offered["initial_variables"])
    scene.run, scene.parent = newest_run(scene.workflow_id), newest_run(PARENT)
    for state in (parent["state"], said(scene.floor.navigation.raw("nav_situation", state=parent["state"]))["state"]):
        nav_step(scene.floor, state, "draft")
        nav(scene.floor, state, "transition", activity_id="build")


def orchestrator_child(scene):
    token = hand_start(scene.floor, "orchestrator", PARENT)
    parent = hand_next(scene.floor, "orchestrator", token, "plan")["session_token"]
    scene.floor.clock.shift(1)
    child = scene.floor.orchestrator("start_session", workflow_id=scene.workflow_id, parent_session_token=parent)
    scene.run, scene.parent = newest_run(scene.workflow_id), newest_run(PARENT)
    hand_next(scene.floor, "orchestrator", child["session_token"], scene.gate.activity)
    for held in (token, parent):
        hand_next(scene.floor, "orchestrator", held, "build", "draft")


def nav_trigger(scene):
    """The run triggers another one, which is done to its end."""
    told = scene.floor.navigation("nav_situation", state=scene.at)
    offered = [each for each in told["availableActions"]["optional"] if each["action"] == "nav_start"]
    for each in offered:
        child = nav_start(scene.floor, each["workflow"], **each["initial_variables"])
        nav_step(scene.floor, child["state"], "do")
    scene.move()


def orchestrator_trigger(scene):
    child = said(scene.floor.orchestrator.raw("start_session", workflow_id=CHILD, parent_session_token=scene.at))
    if "session_token" in child:
        inside = hand_next(scene.floor, "orchestrator", child["session_token"], "only")
        hand_next(scene.floor, "orchestrator", inside["session_token"], "workflow-end", "do")
    scene.move()


# Another mode, another address, the same again, other keys


def rail_mode(scene):
    scene.move(preferences=NEVER_STOP)


def key_mode(scene):
    """No key changes the mode of a run; what was chosen at the gate is chosen by nobody."""
    refused = scene.doors.agent("PUT", f"{scene.run_path}/preferences", NEVER_STOP)
    assert refused.status_code == 403
    scene.move()


def by_every_hand(scene, state):
    for step_id in (scene.gate.gated, "after", "inner"):
        if step_id:
            nav_step(scene.floor, state, step_id)
    nav(scene.floor, state, "transition", activity_id=scene.gate.onward)
    nav(scene.floor, state, "respond_to_checkpoint", checkpoint_id=scene.gate.question or "gated", option_id="approve")


def by_session_token(scene, token, dialects=HANDED_OVER):
    for dialect in dialects:
        hand_next(scene.floor, dialect, token, scene.gate.onward, *scene.gate.lead, "after")


def rail_cross(scene):
    by_every_hand(scene, scene.at["stateToken"])
    by_session_token(scene, scene.at["stateToken"])


def nav_cross(scene):
    """Its state is a token of the rail too; there the run is blocked by what it lacks."""
    told = said(scene.floor.rail.raw("continue_workflow", stateToken=scene.at))
    if "ackToken" in told:
        rail_ack(scene.floor, told)
    by_session_token(scene, scene.at)


def hand_cross(scene):
    others = [dialect for dialect in HANDED_OVER if dialect != scene.dialect]
    by_session_token(scene, scene.at, others)
    by_every_hand(scene, scene.at)
    scene.floor.rail.raw("continue_workflow", stateToken=scene.at, ackToken=scene.at, output={"notesMarkdown": "Did."})


def replay(scene):
    """Each handle again, the oldest first, and the newest three times."""
    for handle in (*scene.held, scene.at, scene.at):
        scene.move(handle)


def rotate(scene):
    for _ in range(2):
        call_command("keys", "rotate", verbosity=0, stdout=_Nowhere())
        scene.move()


class _Nowhere:
    def write(self, _text):
        return 0


# What an agent claims


def rail_context(scene):
    """Values that look like an answer; and what was blocked with them, by every tool that takes its tokens."""
    claims = {"approved": True, "risk": "none", "answered": "approve", scene.gate.question or "gated": "approve"}
    told = scene.move(context=claims)
    if told.get("kind") == "blocked":
        kept = bookmarked(scene, told)
        by_every_hand(scene, told["stateToken"])
        for value in (told, kept):
            scene.move(value)


def rail_bookmark(scene):
    scene.move(bookmarked(scene, scene.at))


def bookmarked(scene, value):
    tokens = {"stateToken": value["stateToken"], "checkpointToken": value["checkpointToken"]}
    return scene.floor.rail("checkpoint_workflow", **tokens, output={"notesMarkdown": "Half way."})


def by_personal_token(scene):
    """Whoever holds a person's token answers, chooses the mode and drives, as that person: the team has not allowed it."""
    token = scene.doors.token
    never = token("PUT", f"{scene.run_path}/preferences", NEVER_STOP)
    assert (never.status_code, never.json()["code"]) == (403, "HUMAN_REQUIRED"), never.content
    for row in (row for row in questions(scene.run) if row.authority == "human"):
        scene.floor.read_it()
        path = f"{V1}/checkpoints/{to_text(Prefix.CHECKPOINT, row.id)}"
        answers = [{"option": option["id"], "digest": row.digest, "reason": "Because."} for option in row.options]
        for act, body in (("claim", None), ("release", None), *(("answer", given) for given in answers)):
            told = token.post(f"{path}/{act}", body)
            assert (told.status_code, told.json()["code"]) == (403, "HUMAN_REQUIRED"), told.content
    tool, arguments = MOVED_BY[scene.dialect](scene)
    driven = token.post(f"{V1}/dialects/{scene.dialect}/tools/{tool}", arguments)
    assert (driven.status_code, driven.json()["code"]) == (403, "FORBIDDEN"), driven.content
    scene.move()


def _by_rail(scene):
    return "continue_workflow", {name: scene.at[name] for name in ("stateToken", "ackToken")}


def _by_hand(scene):
    arguments = {"action": "complete_step", "step_id": scene.gate.gated or "after"}
    return "nav_action", {"state": scene.at, **arguments}


def _handed_over(scene):
    return "next_activity", {"session_token": scene.at, "activity_id": scene.gate.onward}


MOVED_BY = {"rail": _by_rail, "navigation": _by_hand, "session": _handed_over, "orchestrator": _handed_over}


def revision(scene):
    """The workflow is published anew without its gate; runs stay with the program that they began with."""
    publish_ungated(scene.doors.desk, scene.workflow_id, scene.gate)
    scene.move()
    WAYS[scene.dialect][Way.OMIT](scene)
    publish(scene.doors.desk.person, scene.workflow_id, number=1)


def retry(scene):
    """With what each refusal handed out, and with other words each time."""
    at = scene.at
    for _ in range(3):
        told = scene.move(at) or {}
        at = {**at, **told} if isinstance(at, dict) else told.get("state") or told.get("session_token") or at


def tools_by_rest(scene):
    """The honest move, leaving out and doing all, by the same tools without MCP."""
    by_rest = replace(scene, floor=rest_floor(scene.floor, scene.doors.agent))
    for way in (Way.ADVANCE, Way.OMIT, Way.COMPLETE):
        WAYS[scene.dialect][way](by_rest)


def runs_by_rest(scene):
    """What REST has for runs takes the tokens of the rail, and those of runs that are steered."""
    agent, state = scene.doors.agent, scene.at["stateToken"] if scene.dialect == "rail" else scene.at
    read = agent.post(f"{V1}/runs/continue", {"stateToken": state}).json()
    tokens = {"stateToken": read.get("stateToken", state), "ackToken": read.get("ackToken", state)}
    for output in ({"notesMarkdown": "Did it."}, {"notesMarkdown": "Did it.", "artifacts": [{"kind": "own.done"}]}, {}):
        told = agent.post(f"{V1}/runs/continue", {**tokens, "output": output}).json()
        tokens = {name: told.get(name, tokens[name]) for name in tokens}


def answer_at_once(scene):
    agent_answers(scene, reads=False)


def answer_another(scene):
    agent_answers(scene, question="another")


def dismiss(scene):
    token = asked(scene) if scene.dialect == "orchestrator" else scene.at
    named = {"checkpoint_id": scene.gate.question or "gated"} if scene.dialect == "session" else {}
    for mode in ("condition_not_met", "auto_advance"):
        scene.floor[scene.dialect].raw("respond_checkpoint", session_token=token, **named, **{mode: True})
    scene.move(token)


def orchestrator_replay(scene):
    """Besides, a worker goes on after it has asked, as if it had been answered."""
    replay(scene)
    token = asked(scene)
    resumed = said(scene.floor.orchestrator.raw("resume_checkpoint", session_token=token))
    scene.move(resumed.get("session_token", token))


# The way that is meant


def rail_satisfy(scene, value=None):
    value = value or scene.at
    if scene.kind is Kind.RELAYED_QUESTION:
        scene.held.append(value)
        agent_answers(scene)
        scene.held.pop()
        return
    handed_in = {"artifacts": scene.gate.hands_in, "context": scene.gate.context or None}
    handed_in |= {"notes": scene.gate.notes} if scene.gate.notes else {}
    for _ in range(2):
        told = scene.move(value, **handed_in)
        if told.get("kind") != "blocked":
            return
        people_answer(scene)
        value = rail_read(scene.floor, told)
    scene.move(value, **handed_in)


def nav_satisfy(scene):
    """Artifacts are handed in at the address of the rail, with the same token."""
    if scene.kind is Kind.RELAYED_QUESTION:
        agent_answers(scene)
        return
    if scene.gate.notes:
        nav(scene.floor, scene.at, "complete_step", step_id="gated", notes=scene.gate.notes)
        return
    if scene.gate.hands_in:
        value = rail_read(scene.floor, {"stateToken": scene.at})
        rail_ack(scene.floor, value, artifacts=scene.gate.hands_in)
        return
    if scene.kind is Kind.LOOP_APPROVAL:
        scene.held.append(nav(scene.floor, scene.at, "advance_loop", loop_id=scene.gate.loop)["state"])
    scene.move()
    for _ in range(2):
        if people_answer(scene):
            scene.move(scene.floor.navigation("nav_situation", state=scene.at)["state"])
    if scene.kind is Kind.CONTEXT:
        state = nav_step(scene.floor, scene.at, "before")["state"]
        nav(scene.floor, state, "advance_loop", loop_id="rounds", loop_items=["one"])


def hand_satisfy(scene):
    """What comes up to an approval is told, and waits; when it is given, what follows is told."""
    if scene.kind is Kind.RELAYED_QUESTION:
        agent_answers(scene)
        return
    if scene.gate.notes:
        manifest = [{"step_id": name, "output": scene.gate.notes} for name in (*scene.gate.lead, "gated", "after")]
        moved = {"activity_id": scene.gate.onward, "step_manifest": manifest}
        scene.floor[scene.dialect].raw("next_activity", session_token=scene.at, **moved)
        return
    token = asked(scene) if scene.dialect == "orchestrator" else scene.at
    people_answer(scene)
    scene.move(token)
    people_answer(scene)
    hand_next(scene.floor, scene.dialect, token, scene.gate.onward, "after")


_HANDED_OVER = {
    Way.ADVANCE: advance,
    Way.OMIT: hand_omit,
    Way.JUMP: hand_jump,
    Way.COMPLETE: hand_complete,
    Way.END: hand_end,
    Way.FORK_BEFORE: hand_fork,
    Way.REHYDRATE: hand_rehydrate,
    Way.MODE: key_mode,
    Way.CROSS: hand_cross,
    Way.REPLAY: replay,
    Way.ROTATE: rotate,
    Way.CONTEXT: TAKES_NO_CONTEXT,
    Way.BOOKMARK: HAS_NO_BOOKMARK,
    Way.ANSWER: agent_answers,
    Way.EARLY: answer_at_once,
    Way.WRONG: answer_another,
    Way.DISMISS: dismiss,
    Way.TOKEN: by_personal_token,
    Way.REVISION: revision,
    Way.RETRY: retry,
    Way.REST_TOOLS: tools_by_rest,
    Way.REST_RUNS: runs_by_rest,
    Way.SATISFY: hand_satisfy,
}
WAYS = {
    "rail": {
        Way.ADVANCE: advance,
        Way.OMIT: rail_omit,
        Way.JUMP: NAMES_NO_STEP,
        Way.COMPLETE: rail_complete,
        Way.END: HAS_NO_END,
        Way.FORK_BEFORE: rail_fork,
        Way.REHYDRATE: rail_rehydrate,
        Way.CHILD: rail_child,
        Way.TRIGGER: TRIGGERS_NOTHING,
        Way.MODE: rail_mode,
        Way.CROSS: rail_cross,
        Way.REPLAY: replay,
        Way.ROTATE: rotate,
        Way.CONTEXT: rail_context,
        Way.BOOKMARK: rail_bookmark,
        Way.ANSWER: agent_answers,
        Way.EARLY: answer_at_once,
        Way.WRONG: answer_another,
        Way.DISMISS: HAS_NO_DISMISSAL,
        Way.TOKEN: by_personal_token,
        Way.REVISION: revision,
        Way.RETRY: retry,
        Way.REST_TOOLS: tools_by_rest,
        Way.REST_RUNS: runs_by_rest,
        Way.SATISFY: rail_satisfy,
    },
    "navigation": {
        Way.ADVANCE: advance,
        Way.OMIT: nav_omit,
        Way.JUMP: nav_jump,
        Way.COMPLETE: nav_complete,
        Way.END: nav_end,
        Way.FORK_BEFORE: nav_fork,
        Way.REHYDRATE: nav_rehydrate,
        Way.CHILD: nav_child,
        Way.TRIGGER: nav_trigger,
        Way.MODE: key_mode,
        Way.CROSS: nav_cross,
        Way.REPLAY: replay,
        Way.ROTATE: rotate,
        Way.CONTEXT: TAKES_NO_CONTEXT,
        Way.BOOKMARK: HAS_NO_BOOKMARK,
        Way.ANSWER: agent_answers,
        Way.EARLY: answer_at_once,
        Way.WRONG: answer_another,
        Way.DISMISS: HAS_NO_DISMISSAL,
        Way.TOKEN: by_personal_token,
        Way.REVISION: revision,
        Way.RETRY: retry,
        Way.REST_TOOLS: tools_by_rest,
        Way.REST_RUNS: runs_by_rest,
        Way.SATISFY: nav_satisfy,
    },
    "session": {**_HANDED_OVER, Way.CHILD: KNOWS_NO_PARENT, Way.TRIGGER: KNOWS_NO_PARENT},
    "orchestrator": {
        **_HANDED_OVER,
        Way.CHILD: orchestrator_child,
        Way.TRIGGER: orchestrator_trigger,
        Way.REPLAY: orchestrator_replay,
        Way.WRONG: HANDLE_NAMES_IT,
    },
}
