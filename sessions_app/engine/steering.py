"""Runs that are steered: a step completed by name, a checkpoint answered, a loop turned, a transition taken.

What the program demands of a step it demands here as well; what only a signed-in person may do stays theirs.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace as with_facts
from typing import Any, assert_never

from msgspec.structs import replace

from sessions_app.engine import endings, failures, landscape, outputs, settling, warnings as warned
from sessions_app.engine.actions import AdvanceLoop, CompleteStep, RespondToCheckpoint, TakeTransition
from sessions_app.engine.advancing import Acknowledgement, acknowledge
from sessions_app.engine.decisions import Decision, Outcome, Place, Steer
from sessions_app.engine.findings import Findings
from sessions_app.engine.journal import Journal
from sessions_app.engine.landscape import Landscape, Waiting
from sessions_app.engine.log import NodeKind
from sessions_app.engine.reasons import Gap, GapSeverity
from sessions_app.engine.refusals import refuse_hopeless, refuse_repeated
from sessions_app.engine.runs import Drive
from sessions_app.engine.state import Snapshot
from sessions_app.engine.steering_refusals import (
    ActivityNotCompleteError,
    ActivityNotFoundError,
    CheckpointAlreadyRespondedError,
    CheckpointBlockingError,
    CheckpointNotFoundError,
    InvalidTransitionError,
    LoopExhaustedError,
    LoopItemsRequiredError,
    LoopNotFoundError,
    OptionNotFoundError,
    RoundNotCompleteError,
    RunCompleteError,
    StepAlreadyCompleteError,
    StepNotFoundError,
    TargetActivityNotFoundError,
)
from sessions_app.engine.submissions import NOTHING, Submission
from sessions_app.engine.ways import Exit
from teams_app.engine.errors import WorkrailError
from workflows_app.engine import walker, walks
from workflows_app.engine.problems import did_you_mean
from workflows_app.engine.program import (
    Checkpoint,
    Gate,
    Loop,
    Option,
    Parallel,
    Program,
    Step,
    walk_items,
)
from workflows_app.engine.walks import FailureKind, Position, Walk

_ASK = "Look at the situation for what is to be done now."


def begin(*, program: Program, variables: Mapping[str, Any]) -> Walk:
    """The start of a steered run: in the first activity, at the first thing that must be done there."""
    walk = walker.enter_activity(
        program=program,
        position=None,
        activity_id=program.initial_activity,
        variables=variables,
        by_hand=True,
    )
    now = {**variables, **walk.assigned}
    begun = Snapshot(position=walk.position, variables=now, drive=Drive.STEERED)
    return endings.with_nothing_to_say(program=program, walk=walk, snapshot=begun)


def steer(*, program: Program, snapshot: Snapshot, command: Steer, place: Place) -> Decision:
    """One action, or the refusal that its code names, which leaves no trace.

    A question that a person has waived is passed first, with a node of its own and a gap that names them.
    """
    if landscape.waived_question(program=program, snapshot=snapshot) is not None:
        return _past_waived(program, snapshot, command, place)
    land = landscape.survey(program=program, snapshot=snapshot)
    if land is None:
        raise ActivityNotFoundError(
            f"The workflow has no activity {snapshot.position.activity!r}.", suggestion="Start the workflow again."
        )
    if land.waiting is Waiting.NOTHING:
        raise RunCompleteError("The workflow is complete.", suggestion="Start it again, or use an earlier state.")
    hand = _Hand(program, snapshot, place, land, command)
    match command.action:
        case CompleteStep():
            return hand.complete(command.action)
        case RespondToCheckpoint():
            return hand.respond(command.action)
        case TakeTransition():
            return hand.transition(command.action.activity_id)
        case AdvanceLoop():
            return hand.advance_loop(command.action)
        case _:
            assert_never(command.action)


def nodes_before(program: Program, snapshot: Snapshot) -> int:
    """How many nodes an action may make before its own: one for each waived question that it passes."""
    activity = program.activity(snapshot.position.activity)
    if activity is None or not snapshot.preferences.waives_people:
        return 0
    return sum(isinstance(item, Gate) for item in walk_items(activity.body))


def _past_waived(program: Program, snapshot: Snapshot, command: Steer, place: Place) -> Decision:
    here = with_facts(place, next_node=place.more_nodes[0], more_nodes=())
    said = Acknowledgement(drive=Drive.STEERED, voice=command.voice)
    passed = acknowledge(program=program, snapshot=snapshot, said=said, place=here)
    there = with_facts(
        place, node_id=here.next_node, more_nodes=place.more_nodes[1:], has_children=False, has_critical_gaps=True
    )
    after = steer(program=program, snapshot=passed.snapshot, command=command, place=there)
    return with_facts(after, earlier=(passed, *after.earlier))


class _Hand:
    """One action at one landscape."""

    def __init__(self, program: Program, snapshot: Snapshot, place: Place, land: Landscape, command: Steer) -> None:
        self.program = program
        self.snapshot = snapshot
        self.place = place
        self.land = land
        self.command = command
        self.journal = Journal(place, asked=snapshot.asked, voice=command.voice)
        self.variables = snapshot.variables

    def complete(self, action: CompleteStep) -> Decision:
        self._refuse_blocked()
        outputs.check_text(action.submission.notes, name="notes")
        step_id = action.step_id
        loop = self.land.loop
        if loop is not None and step_id == loop.id and (self.land.may_leave_loop or self.land.turn_failure is not None):
            return self._leave(loop, action.submission)
        item = self._open_step(step_id)
        position = walker.point_at(program=self.program, position=self.snapshot.position, item_id=item.id)
        if position is None:
            raise self._not_this_step(step_id)
        snapshot = replace(self.snapshot, position=position)
        refuse_hopeless(snapshot)
        return self._acknowledged(snapshot, Acknowledgement(submission=action.submission))

    def _leave(self, loop: Loop, submission: Submission) -> Decision:
        """A loop in which a person is asked is left by what its own test reads, so what the agent has found out counts first."""
        if submission.context:
            variables = outputs.merge_context(self.variables, submission.context)
            self._hear(submission.context, variables)
            self.land = landscape.surveyed(
                program=self.program, snapshot=replace(self.snapshot, variables=self.variables)
            )
        if self.land.may_leave_loop:
            walk = self._moved(walker.leave_loop, loop_id=loop.id)
            return self._written(walk, gaps=self._exhausted(), submission=submission)
        walk = self._moved(walker.begin_round, loop_id=loop.id)
        if walk.failure is not None:
            raise _loop_refusal(loop, walk.failure, may_leave=False)
        return self._written(walk, submission=submission)

    def _hear(self, context: Mapping[str, Any], variables: dict[str, Any]) -> None:
        """What is said with an action, and the variables that it leads to. What is people's to say an agent is refused."""
        if not self.command.by_person:
            settling.refuse_presumed(self.program, before=self.variables, contexts=(context,))
            settling.refuse_overwritten(program=self.program, snapshot=self.snapshot, variables=variables)
        self.variables = variables

    def _acknowledged(self, snapshot: Snapshot, said: Acknowledgement) -> Decision:
        steered = with_facts(said, drive=Drive.STEERED, by_person=self.command.by_person, voice=self.command.voice)
        if not steered.by_person and steered.findings is None:
            refuse_repeated(self.program, snapshot, steered.submission)
        return acknowledge(program=self.program, snapshot=snapshot, said=steered, place=self.place)

    def respond(self, action: RespondToCheckpoint) -> Decision:
        checkpoint = self._named_checkpoint(action.checkpoint_id)
        if self.land.checkpoint is None or self.land.checkpoint.id != checkpoint.id:
            raise CheckpointAlreadyRespondedError(
                f"Checkpoint {checkpoint.id} waits for no answer now.", suggestion=_ASK
            )
        if checkpoint.human:
            raise CheckpointBlockingError(
                f"Checkpoint {checkpoint.id} is answered by a signed-in person only.",
                suggestion="Ask your user to answer it in the Studio, then look again.",
            )
        option = _option(checkpoint, action.option_id)
        return self._acknowledged(self.snapshot, Acknowledgement(findings=Findings(answer=option)))

    def transition(self, target: str) -> Decision:
        self._refuse_blocked()
        if self.land.waiting is not Waiting.WAY_OUT:
            raise ActivityNotCompleteError(
                f"Activity {self.land.activity.id} is not complete.",
                suggestion="Do what is required first.",
            )
        if target not in walker.TERMINAL_TARGETS and self.program.activity(target) is None:
            known = [known.id for known in self.program.activities]
            raise TargetActivityNotFoundError(
                f"The workflow has no activity {target!r}.", suggestion=did_you_mean(target, known) or _ASK
            )
        way = next((way for way in self.land.ways if way.target == target and way.is_open), None)
        if way is None:
            raise self._no_such_way(target)
        walk = walker.enter_activity(
            program=self.program,
            position=self._finished(),
            activity_id=target,
            variables=self.variables,
            by_hand=True,
        )
        return self._written(walk, gaps=() if way.holds else (self._claimed(way),))

    def _finished(self) -> Position:
        finished = dict.fromkeys((*self.snapshot.position.completed_activities, self.land.activity.id))
        return replace(self.snapshot.position, completed_activities=tuple(finished), frames=())

    def advance_loop(self, action: AdvanceLoop) -> Decision:
        self._refuse_blocked()
        loop = self._named_loop(action.loop_id)
        failure = self.land.turn_failure
        if failure is not None and action.items is None:
            raise _loop_refusal(loop, failure, may_leave=self.land.may_leave_loop)
        if failure is None and not self.land.may_turn_loop:
            raise RoundNotCompleteError(
                f"A round of loop {loop.id} is under way.",
                suggestion="Complete the step that is required first.",
            )
        if action.items is not None and loop.items:
            named = {".".join(loop.items): list(action.items)}
            variables = self.variables | named
            outputs.check_context(variables)
            self._hear(named, variables)
        elif self.land.needs_items:
            raise _items_required(loop)
        walk = self._moved(walker.begin_round, loop_id=loop.id)
        if walk.failure is not None:
            raise _loop_refusal(loop, walk.failure, may_leave=self.land.may_leave_loop)
        return self._written(walk)

    # What is at hand

    def _moved(self, move: Callable[..., Walk], *, loop_id: str) -> Walk:
        position = replace(self.snapshot.position, pending="", pending_item="")
        return move(program=self.program, position=position, loop_id=loop_id, variables=self.variables)

    def _refuse_blocked(self) -> None:
        checkpoint = self.land.checkpoint
        if checkpoint is not None:
            raise CheckpointBlockingError(
                f"Checkpoint {checkpoint.id} waits for an answer.",
                suggestion="Show the question to your user, and pass on what they choose.",
            )

    def _no_such_way(self, target: str) -> InvalidTransitionError:
        way = next((way for way in self.land.ways if way.target == target), None)
        listed = ", ".join(way.target for way in self.land.ways if way.is_open) or "none"
        why = f" {way.why_closed}" if way else ""
        return InvalidTransitionError(
            f"No transition leads from {self.land.activity.id} to {target} now.{why} Open: {listed}.", suggestion=_ASK
        )

    def _open_step(self, step_id: str) -> Step | Parallel:
        item = next((step for step in self.land.may_do if step.id == step_id), None)
        if item is None:
            raise self._not_this_step(step_id)
        return item

    def _not_this_step(self, step_id: str) -> WorkrailError:
        if step_id in self.snapshot.position.done:
            return StepAlreadyCompleteError(f"Step {step_id} is complete.", suggestion=_ASK)
        known = [item.id for item in walk_items(self.land.activity.body) if isinstance(item, Step | Parallel)]
        if step_id in known:
            return StepNotFoundError(f"It is not the turn of step {step_id}.", suggestion=_ASK)
        return StepNotFoundError(
            f"Activity {self.land.activity.id} has no step {step_id!r}.",
            suggestion=did_you_mean(step_id, known) or _ASK,
        )

    def _named_checkpoint(self, checkpoint_id: str) -> Checkpoint:
        known = {checkpoint.id: checkpoint for checkpoint in self.land.activity.checkpoints}
        if checkpoint_id not in known:
            raise CheckpointNotFoundError(
                f"Activity {self.land.activity.id} has no checkpoint {checkpoint_id!r}.",
                suggestion=did_you_mean(checkpoint_id, known) or "Read the checkpoint that waits.",
            )
        return known[checkpoint_id]

    def _named_loop(self, loop_id: str) -> Loop:
        loop = self.land.loop
        if loop is not None and loop.id == loop_id:
            return loop
        known = [item.id for item in walk_items(self.land.activity.body) if isinstance(item, Loop)]
        raise LoopNotFoundError(
            f"Loop {loop_id!r} is not at hand in activity {self.land.activity.id}.",
            suggestion=_ASK if loop_id in known else did_you_mean(loop_id, known) or _ASK,
        )

    # Writing it down

    def _exhausted(self) -> tuple[Gap, ...]:
        """The loop is left although its own test says to go on."""
        failure = self.land.turn_failure
        if failure is None or failure.kind is not FailureKind.MAX_ITERATIONS:
            return ()
        return (with_facts(failures.as_gap(failure), severity=GapSeverity.WARNING),)

    def _claimed(self, way: Exit) -> Gap:
        gap = failures.as_gap(walks.no_way(self.land.activity))
        why = way.condition or "no condition"
        said = (
            f"{self.land.activity.id} was left for {way.target} on the agent's word; the server does not find: {why}."
        )
        return Gap(
            severity=GapSeverity.WARNING,
            category=gap.category,
            detail=gap.detail,
            summary=outputs.cut_text(said, max_bytes=500, marker="…"),
            pointer=gap.pointer,
        )

    def _written(self, walk: Walk, *, gaps: tuple[Gap, ...] = (), submission: Submission = NOTHING) -> Decision:
        if walk.failure is not None:
            raise InvalidTransitionError(
                walk.failure.message, suggestion=failures.remedy(walk.failure, settled=self.snapshot.settled)
            )
        variables = {**self.variables, **walk.assigned}
        after = replace(
            self.snapshot,
            drive=Drive.STEERED,
            variables=variables,
            claimed=settling.claimed_with(self.program, submission.context, self.snapshot),
            blocked=None,
            consecutive_blocks=0,
            questions=(),
            answered=None,
            work=None,
        )
        walk = endings.with_nothing_to_say(program=self.program, walk=walk, snapshot=after)
        self.journal.advance_recorded(Outcome.ADVANCED, ())
        if submission.context:
            self.journal.context(submission.context, source="agent_delta")
        identified = self.journal.gaps((*gaps, *map(failures.as_gap, walk.passed)))
        self.journal.trace(walk.notes)
        handed_in = self.journal.prepare_outputs(submission)
        settled = settling.settled_after(
            program=self.program,
            before=self.snapshot,
            position=walk.position,
            is_led=bool(self.snapshot.led_to),
        )
        return self.journal.decision(
            outcome=Outcome.ADVANCED,
            snapshot=self.journal.ask(self.program, replace(after, position=walk.position, settled=settled)),
            node_kind=NodeKind.STEP,
            outputs=handed_in,
            gaps=identified,
            warnings=warned.of_gaps(identified),
        )


def _option(checkpoint: Checkpoint, option_id: str) -> Option:
    options = {option.id: option for option in checkpoint.options}
    if option_id not in options:
        raise OptionNotFoundError(
            f"Checkpoint {checkpoint.id} has no option {option_id!r:.80}; it has {', '.join(options)}.",
            suggestion=did_you_mean(option_id, options) or "Read the checkpoint for its options.",
        )
    return options[option_id]


def _items_required(loop: Loop) -> LoopItemsRequiredError:
    return LoopItemsRequiredError(
        f"Loop {loop.id} runs over {'.'.join(loop.items)!r}, and no such list is known.",
        suggestion="Begin the loop with its list.",
    )


def _loop_refusal(loop: Loop, failure: walks.Failure, *, may_leave: bool) -> WorkrailError:
    spent = failure.kind is FailureKind.MAX_ITERATIONS
    refusal = LoopExhaustedError if spent else LoopItemsRequiredError
    if not may_leave:
        return refusal(failure.message, suggestion=landscape.how_to_leave(loop, failure))
    if spent:
        remedy = f"complete {loop.id}{', or turn it with the list of what is done' if loop.items else ''}"
        return LoopExhaustedError(failure.message, suggestion=f"To leave the loop, {remedy}.")
    names = ", ".join(failure.keys) or "what it lacks"
    remedy = f"Complete {loop.id} to leave the loop, or set {names} in the context of a step that you complete."
    return LoopItemsRequiredError(failure.message, suggestion=remedy)
