"""A run that stands at a gate, in one dialect and under one mode; and how an agent of that dialect tries to go on."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from django.utils import timezone

from sessions_app.models import Run
from teams_app.engine.ids import Prefix, to_text
from tests.checkpoint_cast import answer
from tests.gate_kinds import KINDS, Gated, Kind
from tests.gate_play import (
    NEVER_STOP,
    Floor,
    critical_gaps,
    hand_next,
    hand_start,
    nav,
    nav_start,
    nav_step,
    questions,
    rail_ack,
    rail_read,
    rail_start,
    reached,
    relayed,
    said,
)
from tests.run_doors import V1, Doors


class Mode(StrEnum):
    GUIDED = "guided"
    STOP = "full_auto_stop"
    NEVER_BY_AGENT = "never_stop_by_agent"
    NEVER_BY_PERSON = "never_stop_by_person"


STOP = {"preset": "full_auto_stop"}
# What an agent says itself when it begins a run of the rail.
_CHOSEN = {Mode.STOP: STOP, Mode.NEVER_BY_AGENT: NEVER_STOP}


@dataclass(kw_only=True)
class Scene:
    """`held` are the agent's handles in the order in which it got them: replies of the rail, states, or session tokens."""

    floor: Floor
    doors: Doors
    kind: Kind
    dialect: str
    mode: Mode
    workflow_id: str
    run: Run
    held: list[Any] = field(default_factory=list)
    parent: Run | None = None

    @property
    def gate(self) -> Gated:
        return KINDS[self.kind]

    @property
    def at(self):
        """The newest handle."""
        return self.held[-1]

    @property
    def run_path(self):
        return f"{V1}/runs/{to_text(Prefix.RUN, self.run.id)}"

    def move(self, handle=None, **more):
        return MOVES[self.dialect](self, self.at if handle is None else handle, **more)

    # What came of it

    @property
    def has_passed(self):
        around = reached(self.parent) & {"make"} if self.parent else set()
        return bool(reached(self.run) & self.gate.behind | around)

    @property
    def is_disclosed(self):
        return bool(critical_gaps(self.run))

    @property
    def names_person(self):
        person = self.doors.desk.person
        told = " ".join(gap.summary for gap in critical_gaps(self.run))
        return person.name in told or person.id in told


def set_scene(floor, doors, kind, dialect, mode, workflow_id):
    """A run of the workflow at its gate. None where the dialect knows no way to choose the mode."""
    scene = BEGINNINGS[dialect](floor, doors, kind, dialect, mode, workflow_id)
    if scene is not None and mode is Mode.NEVER_BY_PERSON:
        set_by_person(scene, NEVER_STOP)
    return scene


def set_by_person(scene, preferences):
    changed = scene.doors.person("PUT", f"{scene.run_path}/preferences", preferences)
    assert changed.status_code == 200, changed.content
    value = changed.json()
    if scene.dialect == "rail":
        scene.held.append(value)
    elif scene.dialect == "navigation":
        scene.held.append(value["stateToken"])


def another_try(scene):
    """The same run, as if nothing had been tried on it: the rail hands a token of another attempt out."""
    assert not scene.has_passed
    again = replace(scene, held=list(scene.held))
    if scene.dialect == "rail":
        again.held[-1] = rail_read(scene.floor, scene.at)
    return again


def newest_run(workflow_id):
    return Run.objects.filter(workflow_id=workflow_id).order_by("-id")[0]


def _by_rail(floor, doors, kind, dialect, mode, workflow_id):
    value = rail_start(floor, workflow_id, preferences=_CHOSEN.get(mode))
    scene = _scene(floor, doors, kind, dialect, mode, workflow_id, value)
    for _ in scene.gate.lead:
        scene.held.append(rail_ack(floor, scene.at))
    return scene


def _by_hand(floor, doors, kind, dialect, mode, workflow_id):
    """An agent chooses a mode by the rail only; its token drives the run by hand as well."""
    if mode in _CHOSEN:
        state = rail_start(floor, workflow_id, preferences=_CHOSEN[mode])["stateToken"]
    else:
        state = nav_start(floor, workflow_id)["state"]
    scene = _scene(floor, doors, kind, dialect, mode, workflow_id, state)
    for step_id in scene.gate.lead:
        scene.held.append(nav_step(floor, scene.at, step_id)["state"])
    return scene


def _handed_over(floor, doors, kind, dialect, mode, workflow_id):
    if mode is Mode.NEVER_BY_AGENT:
        return None
    token = hand_start(floor, dialect, workflow_id)
    scene = _scene(floor, doors, kind, dialect, mode, workflow_id, token)
    scene.held.append(hand_next(floor, dialect, token, scene.gate.activity)["session_token"])
    if mode is Mode.STOP:
        set_by_person(scene, STOP)
    return scene


def _scene(floor, doors, kind, dialect, mode, workflow_id, handle):
    return Scene(
        floor=floor,
        doors=doors,
        kind=kind,
        dialect=dialect,
        mode=mode,
        workflow_id=workflow_id,
        run=newest_run(workflow_id),
        held=[handle],
    )


BEGINNINGS: dict[str, Callable[..., Scene | None]] = {
    "rail": _by_rail,
    "navigation": _by_hand,
    "session": _handed_over,
    "orchestrator": _handed_over,
}


# An honest move: what is to be done is done and told. Answers `had` or not, it goes on.


def _ack(scene, value, *, artifacts=(), **more):
    return rail_ack(scene.floor, value, artifacts=artifacts, **more)


def _complete(scene, state, **_):
    """The gated step; behind a question there is only the step that follows it. A loop is begun, and turned in the end."""
    loop = scene.gate.loop
    if loop and scene.kind is not Kind.CONTEXT:
        state = nav(scene.floor, state, "advance_loop", loop_id=loop).get("state", state)
    told = nav_step(scene.floor, state, scene.gate.gated or "after")
    if not loop:
        return told
    turned = nav(scene.floor, told.get("state", state), "advance_loop", loop_id=loop)
    return nav_step(scene.floor, turned.get("state", state), "after") if scene.kind is Kind.CONTEXT else turned


def _enter(scene, token, **_):
    done = [*scene.gate.lead, scene.gate.gated, "after"]
    if scene.kind is Kind.CAPABILITY:
        done.insert(1, "before")
    return hand_next(scene.floor, scene.dialect, token, scene.gate.onward, *filter(None, done))


MOVES = {"rail": _ack, "navigation": _complete, "session": _enter, "orchestrator": _enter}


# Answers


def agent_answers(scene, *, question=None, option=None, reads=True):
    """The agent says what its user chose, by the tool that its dialect has for it; then it moves on."""
    name = scene.gate.question if question is None else question
    option = option or ("yes" if scene.gate.question == "agreed" else "approve")
    if reads:
        scene.floor.read_it()
    _ANSWERS[scene.dialect](scene, name or "gated", option, reads=reads)


def _answer_by_rail(scene, name, option, **_):
    told = rail_ack(scene.floor, scene.at, artifacts=[relayed(option, name)])
    if told.get("kind") == "blocked":
        rail_ack(scene.floor, told, artifacts=[relayed(option, name)])


def _answer_by_hand(scene, name, option, **_):
    told = nav(scene.floor, scene.at, "respond_to_checkpoint", checkpoint_id=name, option_id=option)
    scene.move(told.get("state", scene.at))


def _answer_handed_over(scene, name, option, *, reads):
    token = asked(scene) if scene.dialect == "orchestrator" else scene.at
    if scene.dialect == "orchestrator" and reads:
        scene.floor.read_it()
    named = {"checkpoint_id": name} if scene.dialect == "session" else {}
    raw = scene.floor[scene.dialect].raw("respond_checkpoint", session_token=token, option_id=option, **named)
    scene.move(said(raw).get("session_token", token))


def asked(scene):
    """The handle with which an orchestrator is asked the question of the gate; the newest where none can be asked."""
    if not scene.gate.question:
        return scene.at
    raw = scene.floor.orchestrator.raw("yield_checkpoint", session_token=scene.at, checkpoint_id=scene.gate.question)
    return said(raw).get("checkpoint_handle", scene.at)


_ANSWERS = {
    "rail": _answer_by_rail,
    "navigation": _answer_by_hand,
    "session": _answer_handed_over,
    "orchestrator": _answer_handed_over,
}


def people_answer(scene):
    """A signed-in person says yes to whatever waits for one. Whether anything did."""
    waiting = [row for row in questions(scene.run) if row.state == "open" and row.authority == "human"]
    scene.floor.read_it()
    for row in waiting:
        answer(scene.doors.desk.person, row, row.options[0]["id"], now=timezone.now())
    return bool(waiting)
