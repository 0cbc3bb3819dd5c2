"""One scripted agent that takes a workflow through each dialect, and what the log tells of it afterwards."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from sessions_app.engine.actions import AdvanceLoop, CompleteStep, RespondToCheckpoint, TakeTransition
from sessions_app.engine.decisions import AnswerMode, EnterActivity
from sessions_app.engine.handover_refusals import ConditionHoldsError
from sessions_app.engine.log import NodeKind
from sessions_app.engine.manifests import ManifestEntry
from sessions_app.engine.projections import project
from sessions_app.engine.runs import Dialect, OutputChannel
from sessions_app.engine.submissions import Submission
from sessions_app.models import CheckpointRequest, Run
from sessions_app.services.moves import handed_over, runs, steered
from sessions_app.services.moves.beginning import Beginning, start_run
from sessions_app.services.moves.session_tokens import read_held
from sessions_app.services.people import checkpoints
from tests import logs
from tests.handover_cast import answered, begun, call, yielded
from tests.workflow_cast import NOW
from workflows_app.engine import walker
from workflows_app.engine.program import Gate, Loop, LoopKind, walk_items
from workflows_app.engine.simulate import SimulatedOutcome, simulate
from workflows_app.selectors.programs import load_program
from workrail_site.dialects.navigation.situations import NAVIGATION
from workrail_site.dialects.rail.replies import RAIL

MAX_CALLS = 200


@dataclass(frozen=True, kw_only=True)
class Script:
    """`knows` is the agent's context at the start, `learns` what it knows besides when an item is done, `chooses` its
    option by checkpoint (else the first), `rounds` how often it repeats a loop that its own word ends.
    """

    knows: Mapping[str, Any] = field(default_factory=dict)
    learns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    chooses: Mapping[str, str] = field(default_factory=dict)
    rounds: int = 2


@dataclass(frozen=True, kw_only=True)
class Deed:
    """A step that is done, or, where there is an option, a question that is answered."""

    key: str
    item: str
    activity: str
    option: str = ""

    @property
    def visit(self):
        return self.key.split("::")[0].split("/")[0] if self.activity != "main" else ""

    @property
    def rounds(self):
        """The rounds around it, outermost first: `[("tasks", 1)]`."""
        around = self.key.rpartition("::")[0].split("/") if "::" in self.key else []
        named = [part.rpartition("@") for part in around if part != self.visit]
        return [(loop, int(iteration)) for loop, _, iteration in named]


def story_of(program, script):
    """What the agent does, in its order. The script is read with the library's own simulation, which knows no dialect."""
    gates = [item for activity in program.activities for item in walk_items(activity.body) if isinstance(item, Gate)]
    asked = {checkpoint.id: checkpoint for activity in program.activities for checkpoint in activity.checkpoints}
    options = {gate.id: script.chooses.get(gate.checkpoint, asked[gate.checkpoint].options[0].id) for gate in gates}
    answers = {item: {"context": learnt} for item, learnt in script.learns.items()}
    answers |= {gate: {"option": option} for gate, option in options.items()}
    told = simulate(program=program, variables=script.knows, answers=answers, loop_rounds=script.rounds)
    assert told.outcome is SimulatedOutcome.COMPLETE, told
    return [
        Deed(
            key=stop.key,
            item=stop.key.rpartition("::")[2],
            activity=stop.activity,
            option=stop.answer.get("option", ""),
        )
        for stop in told.path
    ]


def steps_of(story):
    return [deed for deed in story if not deed.option]


def visits_of(story):
    """What is done in each visit of an activity."""
    return [list(deeds) for _, deeds in groupby(story, key=lambda deed: deed.visit)]


# What the agent writes


_GOOD = {
    (entry["workflow"], entry["step"]): entry["notes"]
    for entry in json.loads((Path(__file__).parent / "corpus" / "bundled_notes.json").read_bytes())
}
_ROUTINES = {step: notes for (workflow, step), notes in _GOOD.items() if workflow.startswith("wr.routine-")}
_PLAIN = "Done as the step says; src/app.py:12 shows it.\n$ make check\n12 passed\nexit 0"
# What the checks of single steps ask for besides.
_LINES = {
    "post": "Posted at https://tracker.example/reviews/1",
    "announce-phase": "Run: make phase\nStop if: lock waits pass 2 s\nBefore: 10 rows at 2025-03-14T14:05Z",
    "run-phase": "Begin 2025-03-14T14:05Z, end 2025-03-14T14:09Z.\n$ make phase\nexit 0",
    "look-once": "2025-03-14T14:10Z: rows remaining: 0",
    "upgrade-one": "commit 1a2b3c4d",
    "outline": "1. Start [src/app.py:12]\n2. Use [from make check]",
    "follow-literally": "Stumble: none",
    "design": "Chosen: A, since it changes one table only.",
    "failing-test": "$ pytest tests/test_app.py\n1 failed\nexit 1",
    "map-users": "Outside: nothing; the package is not published (grep over all repositories).",
    "compare": "Before: 120 ms\nAfter: 80 ms",
    "attack-weakest": "No gap: every claim has two sources.",
    "write-report": "Report: docs/report.md\nRecommendation: go on [C1] [C2]",
    "file": "T1 -> https://tracker.example/1",
    "failures": "F1: a review missed a lock (incident 12)\nF2: notes were empty (run 7)\nDone means: a report\nNot for: chores",
    "draft": "Path: workflows/review.json",
    "simulate-and-read": "Found: nothing",
}


def notes_of(program, deed):
    """Notes that pass the checks of the bundled steps, and that say of which instance they are."""
    item = deed.item.rpartition(".")[2]
    found = _GOOD.get((program.id, item)) or _ROUTINES.get(item) or f"{_PLAIN}\n{_LINES.get(item, '')}"
    return f"{found.strip()}\n\nAt {deed.key}."


def artifacts_of(program, story, at):
    """What the contract or the assessments of the step ask for; a loop is decided as the story goes on."""
    item = item_of(program, story[at])
    contract = getattr(item, "contract", None)
    if contract is None:
        return [_graded(program, assessment) for assessment in getattr(item, "assessments", ())]
    example = program.contracts[contract.contract].example
    return [{**example, "decision": _decision(story, at)} if "decision" in example else example]


def _graded(program, assessment_id):
    assessment = next(each for each in program.assessments if each.id == assessment_id)
    levels = {dimension.id: dimension.levels[0] for dimension in assessment.dimensions}
    return {"kind": "wr.assessment", "assessmentId": assessment_id, "dimensions": levels}


def _decision(story, at):
    """Whether the next deed stands in a further round of the loop that this one ends."""
    *around, (loop, iteration) = story[at].rounds
    following = story[at + 1].rounds if at + 1 < len(story) else []
    return "continue" if following[: len(around) + 1] == [*around, (loop, iteration + 1)] else "stop"


def item_of(program, deed):
    items = walk_items(program.activity(deed.activity).body)
    return next(item for item in items if item.id == deed.item)


class Clock:
    """Each call comes a minute after the one before it, so that every question can have been read."""

    def __init__(self):
        self.now = NOW

    def __call__(self):
        self.now += timedelta(minutes=1)
        return self.now


def persons_answer(desk, run_id, clock):
    """A signed-in person answers whatever waits for one; whether anything did."""
    waiting = CheckpointRequest.objects.filter(run_id=run_id, state="open", authority="human").order_by("event_index")
    for row in waiting:
        checkpoints.answer_checkpoint(
            actor=desk.person,
            request_id=row.id,
            option_id=row.options[0]["id"],
            digest=row.digest,
            reason="",
            now=clock(),
            entropy=os.urandom,
        )
    return bool(waiting)


def run_of(workflow_id):
    """The only run."""
    return Run.objects.get(workflow_id=workflow_id)


# Rail: the server leads


def by_rail(desk, workflow_id, program, script):
    story, clock = story_of(program, script), Clock()
    value = _started(desk, workflow_id, script, clock, Dialect.RAIL)
    run = run_of(workflow_id)
    for at, deed in enumerate(story):
        persons_answer(desk, run.id, clock)
        submission = _submission(program, script, story, at)
        value = _advanced(desk, value, submission, clock)
        if value["kind"] == "blocked" and persons_answer(desk, run.id, clock):
            value = _advanced(desk, value, Submission(), clock)
        assert value["kind"] == "ok", (deed, value["blockers"])
    assert value["isComplete"], value["pending"]
    return run, []


def _advanced(desk, value, submission, clock):
    return runs.advance_run(
        actor=desk.agent,
        state_token=value["stateToken"],
        ack_token=value["ackToken"],
        submission=submission,
        preferences=None,
        now=clock(),
        entropy=os.urandom,
        speech=RAIL,
    ).value


def _started(desk, workflow_id, script, clock, dialect):
    beginning = Beginning(workflow_id=workflow_id, goal="Try it", context=dict(script.knows), dialect=dialect)
    speech = NAVIGATION if dialect is Dialect.NAVIGATION else RAIL
    return start_run(actor=desk.agent, beginning=beginning, now=clock(), entropy=os.urandom, speech=speech).value


def _submission(program, script, story, at):
    deed = story[at]
    if deed.option:
        answer = {"kind": "wr.checkpoint_answer", "checkpointId": deed.item, "optionId": deed.option}
        return Submission(artifacts=(answer,))
    return Submission(
        notes=notes_of(program, deed),
        artifacts=tuple(artifacts_of(program, story, at)),
        context=script.learns.get(deed.item),
    )


# Navigation: the agent takes what is offered


def by_navigation(desk, workflow_id, program, script):
    story, clock = story_of(program, script), Clock()
    value = _started(desk, workflow_id, script, clock, Dialect.NAVIGATION)
    run = run_of(workflow_id)
    for at in range(len(story)):
        for action in _ways_to(program, story, at):
            value = _steered(desk, value, action, clock)
        if persons_answer(desk, run.id, clock):
            value = steered.read_situation(actor=desk.agent, state_token=value["state"], speech=NAVIGATION).value
        value = _steered(desk, value, _done_by(program, script, story, at), clock, run)
    for action in _ways_out_of(program, story[-1], []):
        value = _steered(desk, value, action, clock)
    if not value.get("complete"):
        value = _steered(desk, value, TakeTransition(activity_id=_offered_end(program, value)), clock)
    assert value["complete"]
    return run, []


def _steered(desk, value, action, clock, run=None):
    reply = steered.steer_run(
        actor=desk.agent, state_token=value["state"], action=action, now=clock(), entropy=os.urandom, speech=NAVIGATION
    ).value
    if run is not None and "blockers" in reply and persons_answer(desk, run.id, clock):
        reply = steered.read_situation(actor=desk.agent, state_token=reply["state"], speech=NAVIGATION).value
    assert reply["success"], (action, reply)
    return reply


def _done_by(program, script, story, at):
    deed = story[at]
    if deed.option:
        return RespondToCheckpoint(checkpoint_id=deed.item, option_id=deed.option)
    return CompleteStep(step_id=deed.item, submission=_submission(program, script, story, at))


def _ways_to(program, story, at):
    """The loops that are left, the activity that is entered, and the loops that are begun or turned before the deed."""
    deed, known = story[at], []
    if at and story[at - 1].visit != deed.visit:
        yield from _ways_out_of(program, story[at - 1], [])
        if not _led_on(program, story[at - 1]):
            yield TakeTransition(activity_id=deed.activity)
    elif at:
        known = story[at - 1].rounds
        yield from _ways_out_of(program, story[at - 1], deed.rounds)
    same = [one == other for one, other in zip(known, deed.rounds, strict=False)]
    shared = same.index(False) if False in same else len(same)
    yield from (AdvanceLoop(loop_id=loop) for loop, _ in deed.rounds[shared:])


def _ways_out_of(program, before, following):
    """The loops that have no further round, innermost first. A counted one finds that itself when it is turned once more."""
    for depth, (loop_id, _) in reversed(list(enumerate(before.rounds))):
        goes_on = before.rounds[:depth] == following[:depth] and [name for name, _ in following[depth:]][:1] == [
            loop_id
        ]
        if not goes_on:
            items = walk_items(program.activity(before.activity).body)
            loop = next(item for item in items if isinstance(item, Loop) and item.id == loop_id)
            counted = loop.loops in {LoopKind.FOR, LoopKind.FOR_EACH}
            yield AdvanceLoop(loop_id=loop_id) if counted else CompleteStep(step_id=loop_id)


def _led_on(program, deed):
    """Whether the chosen option goes to another activity by itself."""
    if not deed.option:
        return False
    checkpoints = program.activity(deed.activity).checkpoints
    gate = item_of(program, deed)
    options = next(each for each in checkpoints if each.id == gate.checkpoint).options
    effect = next(option for option in options if option.id == deed.option).effect
    return effect is not None and bool(effect.transition_to)


def _offered_end(program, value):
    """The end as the server calls it."""
    offered = [*value["availableActions"]["required"], *value["availableActions"]["optional"]]
    return next(each["activity"] for each in offered if each.get("activity") in walker.end_names(program))


# Session and orchestrator: activities are handed over whole


def by_session(desk, workflow_id, program, script):
    return _handed_over(desk, workflow_id, program, script, Dialect.SESSION, _at_once)


def by_orchestrator(desk, workflow_id, program, script):
    return _handed_over(desk, workflow_id, program, script, Dialect.ORCHESTRATOR, _as_they_come)


def _handed_over(desk, workflow_id, program, script, dialect, settle):
    story, clock = story_of(program, script), Clock()
    token = begun(desk, dialect=dialect, workflow_id=workflow_id, agent_id="agent", now=clock()).held.token
    run = run_of(workflow_id)
    hands = _Hands(desk=desk, run=run, program=program, dialect=dialect, clock=clock, story=story, script=script)
    done, warnings = (), []
    for deeds in visits_of(story):
        token, said = hands.enter(token, deeds[0].activity, done)
        warnings += said
        token = settle(hands, token, deeds)
        done = tuple(deed for deed in deeds if not deed.option)
    _, said = hands.enter(token, walker.end_name(program), done)
    return run, [*warnings, *said]


@dataclass(frozen=True, kw_only=True)
class _Hands:
    desk: Any
    run: Run
    program: Any
    dialect: Dialect
    clock: Clock
    story: list[Deed]
    script: Any

    def enter(self, token, activity_id, done):
        """What waits for a person is told of up to there; when they have agreed, what follows is."""
        reply = self._entered(token, activity_id, done)
        while reply["status"] == "waiting":
            assert persons_answer(self.desk, self.run.id, self.clock)
            done = done[reply["recorded_steps"] :]
            reply = self._entered(reply["session_token"], activity_id, done)
        return reply["session_token"], reply["warnings"]

    def _entered(self, token, activity_id, done):
        manifest = tuple(self._entry(deed) for deed in done)
        command = EnterActivity(
            activity_id=activity_id,
            manifest=manifest or None,
            asks_on_entry=self.dialect is Dialect.SESSION,
        )
        at = call(self.desk, token, dialect=self.dialect, now=self.clock())
        return handed_over.enter_activity(at, command).reply.value

    def _entry(self, deed):
        artifacts = tuple(artifacts_of(self.program, self.story, self.story.index(deed)))
        return ManifestEntry(
            step_id=deed.item,
            output=notes_of(self.program, deed),
            artifacts=artifacts,
            context=self.script.learns.get(deed.item),
        )

    def read(self, token):
        return read_held(actor=self.desk.agent, token=token, dialect=self.dialect)

    def answer(self, token, name, option):
        mode = AnswerMode.OPTION if option else AnswerMode.NOT_MET
        return answered(self.desk, token, name, option=option, mode=mode, dialect=self.dialect, now=self.clock())[
            "session_token"
        ]


def _at_once(hands, token, deeds):
    """Everything that the activity requires is asked when it is entered. What the story asks nobody has no ground."""
    persons_answer(hands.desk, hands.run.id, hands.clock)
    token = hands.read(token).token
    chosen = {deed.item: deed.option for deed in deeds if deed.option}
    for question in hands.read(token).pending:
        token = _settled(hands, token, question.checkpoint, chosen.get(question.checkpoint, ""))
    return token


def _settled(hands, token, name, option):
    """Of what cannot be dismissed the first option is chosen, although the work never comes by."""
    try:
        return hands.answer(token, name, option)
    except ConditionHoldsError:
        declared = [each for activity in hands.program.activities for each in activity.checkpoints]
        checkpoint = next(each for each in declared if each.id == name)
        return hands.answer(token, name, checkpoint.options[0].id)


def _as_they_come(hands, token, deeds):
    """The worker yields where a question stands."""
    for deed in deeds:
        if deed.option:
            handle = yielded(hands.desk, token, deed.item, now=hands.clock())["checkpoint_handle"]
            token = hands.answer(handle, "", deed.option)
    return token


DIALECTS = {
    Dialect.RAIL: by_rail,
    Dialect.NAVIGATION: by_navigation,
    Dialect.SESSION: by_session,
    Dialect.ORCHESTRATOR: by_orchestrator,
}


# What the log tells


@dataclass(frozen=True, kw_only=True)
class Told:
    """`keys` are the steps that were done, in their order, `notes` what was written of each, and `answers` the checkpoints
    that were asked, each with the option that was chosen or nothing where it was dismissed.
    """

    keys: list[str]
    notes: dict[str, list[str]]
    answers: list[tuple[str, str]]


def read_log(run, program):
    """A step is done by the node at which it was pending when another one follows it on the way to the end."""
    view = project(event.body for event in logs.logged(session_id=run.session_id)).runs[run.id]
    nodes = [node for node in view.nodes.values() if node.kind is NodeKind.STEP]
    steps = {
        item.id
        for activity in program.activities
        for item in walk_items(activity.body)
        if not isinstance(item, Gate | Loop)
    }
    left = [node.pending for node, after in pairwise(nodes) if node.pending != after.pending]
    notes = {}
    for output in view.outputs:
        if output.channel is OutputChannel.RECAP:
            notes.setdefault(view.nodes[output.node_id].pending, []).append(output.body)
    asked = [question for question in view.questions.values() if question.shown["checkpointId"] not in steps]
    return Told(
        keys=[key for key in left if key.rpartition("::")[2] in steps],
        notes=notes,
        answers=[(question.shown["checkpointId"], question.option_id) for question in asked],
    )


def told_of(workflow_id, step_ids):
    """A manifest of a bundled workflow of steps whose entries hold what their steps ask for."""
    program = load_program(Run.objects.filter(workflow_id=workflow_id).latest("started_at").workflow_hash)
    deeds = [Deed(key=step_id, item=step_id, activity="main", option="") for step_id in step_ids]
    return [
        {
            "step_id": deed.item,
            "output": notes_of(program, deed),
            **({"artifacts": _handed_in(program, deed)} if _handed_in(program, deed) else {}),
        }
        for deed in deeds
    ]


def _handed_in(program, deed):
    contract = getattr(item_of(program, deed), "contract", None)
    decides = contract is not None and "decision" in program.contracts[contract.contract].example
    return [] if decides else artifacts_of(program, [deed], 0)
