"""Agents and people of the demo: each move is one call of the service that the doors call, and leaves its trace."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sessions_app.engine.actions import Action
from sessions_app.engine.decisions import PreferenceChange
from sessions_app.engine.runs import Dialect, ObservationKey
from sessions_app.engine.submissions import Submission
from sessions_app.selectors.checkpoints import CheckpointValue, Wanted, list_checkpoints
from sessions_app.selectors.runs import RunFilters, list_runs
from sessions_app.services.moves import runs, steered
from sessions_app.services.moves.beginning import Beginning, start_run
from sessions_app.services.moves.speech import Reply
from sessions_app.services.people import checkpoints, naming
from teams_app.engine.actors import Actor
from teams_app.engine.errors import WorkrailError
from teams_app.engine.ids import Prefix, from_text
from teams_app.engine.pages import PageRequest
from traces_app.services.recording import record_call
from workrail_site.demo.clock import Clock
from workrail_site.dialects.navigation.readings import beginning_of
from workrail_site.dialects.navigation.situations import NAVIGATION
from workrail_site.dialects.rail.replies import RAIL

_USUAL_MS, _SPREAD_MS = 9, 23


@dataclass(slots=True)
class Agent:
    """One agent at one run, over one dialect. `value` is the last reply, which holds the tokens for the next call."""

    actor: Actor
    clock: Clock
    dialect: Dialect = Dialect.RAIL
    value: dict[str, Any] = field(default_factory=dict)
    calls: int = 0

    @property
    def run_id(self) -> UUID:
        found = from_text(Prefix.RUN, self.value["session"]["runId"])
        if found is None:
            raise LookupError(self.value["session"]["runId"])
        return found

    @property
    def is_blocked(self) -> bool:
        return self.value.get("kind") == "blocked"

    @property
    def lacks_something(self) -> bool:
        """Besides a person's word."""
        return any(blocker["code"] != "USER_ONLY_DEPENDENCY" for blocker in self.value.get("blockers", ()))

    def start(
        self,
        workflow_id: str,
        goal: str,
        *,
        context: Mapping[str, Any] | None = None,
        preferences: PreferenceChange | None = None,
        observed: Mapping[ObservationKey, str] | None = None,
    ) -> None:
        beginning = Beginning(
            workflow_id=workflow_id,
            goal=goal,
            context=context or {},
            preferences=preferences,
            observations=observed or {},
        )
        told = {"workflowId": workflow_id, "goal": goal}
        self._call(
            "start_workflow",
            told,
            lambda: start_run(
                actor=self.actor, beginning=beginning, now=self.clock.now, entropy=os.urandom, speech=RAIL
            ),
        )

    def go(
        self,
        notes: str,
        *,
        context: Mapping[str, Any] | None = None,
        artifacts: Sequence[Mapping[str, Any]] = (),
    ) -> dict[str, Any]:
        """Hand in what was done at the pending step."""
        held = self.value
        submission = Submission(notes=notes, artifacts=tuple(artifacts), context=context)
        self._call(
            "continue_workflow",
            {"stateToken": held["stateToken"], "output": {"notesMarkdown": notes}},
            lambda: runs.advance_run(
                actor=self.actor,
                state_token=held["stateToken"],
                ack_token=held["ackToken"],
                submission=submission,
                now=self.clock.now,
                entropy=os.urandom,
                speech=RAIL,
            ),
        )
        return self.value

    def come_back(self, held: Mapping[str, Any]) -> None:
        """A new chat with a state of before: what is handed in next is another branch, when one went on from there."""
        self._call(
            "continue_workflow",
            {"stateToken": held["stateToken"]},
            lambda: runs.rehydrate_run(
                actor=self.actor, state_token=held["stateToken"], entropy=os.urandom, speech=RAIL
            ),
        )

    def bookmark(self, notes: str) -> None:
        held = self.value
        self._call(
            "checkpoint_workflow",
            {"stateToken": held["stateToken"]},
            lambda: runs.bookmark_run(
                actor=self.actor,
                state_token=held["stateToken"],
                checkpoint_token=held["checkpointToken"],
                submission=Submission(notes=notes),
                now=self.clock.now,
                entropy=os.urandom,
                speech=RAIL,
            ),
        )

    def look_around(self) -> None:
        """A call that fails as calls do: a workflow that is not there."""
        self._call(
            "start_workflow",
            {"workflowId": "team.hotfixx"},
            lambda: start_run(
                actor=self.actor,
                beginning=Beginning(workflow_id="team.hotfixx"),
                now=self.clock.now,
                entropy=os.urandom,
                speech=RAIL,
            ),
        )

    def begin_by_hand(self, workflow_id: str, variables: Mapping[str, Any]) -> None:
        self._call(
            "nav_start",
            {"workflow_id": workflow_id},
            lambda: start_run(
                actor=self.actor,
                beginning=beginning_of(workflow_id, variables, request_key=""),
                now=self.clock.now,
                entropy=os.urandom,
                speech=NAVIGATION,
            ),
        )

    def is_called(self, name: str, *, workflow_id: str, by: Actor) -> None:
        """A run that is begun by hand has no goal: a person names the newest one of the workflow."""
        filters = RunFilters(workflow_id=workflow_id)
        (newest,) = list_runs(actor=by, filters=filters, page=PageRequest(limit=1)).items
        now = self.clock.now
        naming.rename_run(actor=by, run_id=newest.id, name=name, now=now, entropy=os.urandom)
        naming.rename_session(actor=by, session_id=newest.session_id, name=name, now=now, entropy=os.urandom)

    def act(self, action: Action) -> None:
        state = self.value["state"]
        self._call(
            "nav_action",
            {"state": state},
            lambda: steered.steer_run(
                actor=self.actor,
                state_token=state,
                action=action,
                now=self.clock.now,
                entropy=os.urandom,
                speech=NAVIGATION,
            ),
        )

    def look(self) -> None:
        """Where the run stands, which others have moved."""
        state = self.value["state"]
        self._call(
            "nav_situation",
            {"state": state},
            lambda: steered.read_situation(actor=self.actor, state_token=state, speech=NAVIGATION),
        )

    def _call(self, tool: str, told: Mapping[str, Any], make: Callable[[], Reply]) -> None:
        self.calls += 1
        code, data = "", b""
        try:
            reply = make()
        except WorkrailError as refusal:
            code = refusal.code
        else:
            self.value, data = reply.value, reply.data
        record_call(
            actor=self.actor,
            dialect=self.dialect,
            tool=tool,
            arguments=told,
            reply=data or None,
            error_code=code,
            ended_ns=int(self.clock.now.timestamp() * 1e9) + self.calls,
            duration_ns=(_USUAL_MS + self.calls * 7 % _SPREAD_MS) * 1_000_000,
        )


def waiting(*, actor: Actor, run_id: UUID, clock: Clock) -> CheckpointValue | None:
    """The question that the run stands at."""
    page = PageRequest(limit=1)
    found = list_checkpoints(actor=actor, page=page, wanted=Wanted(run_id=run_id), now=clock.now).items
    return found[0] if found else None


def answer(*, actor: Actor, run_id: UUID, option: str, reason: str, clock: Clock) -> None:
    question = waiting(actor=actor, run_id=run_id, clock=clock)
    if question is None:
        return
    checkpoints.answer_checkpoint(
        actor=actor,
        request_id=question.id,
        option_id=option,
        digest=question.digest,
        reason=reason,
        now=clock.now,
        entropy=os.urandom,
    )


def open_question(*, actor: Actor, dialect: Dialect, clock: Clock) -> CheckpointValue | None:
    """The one that was asked last over that dialect: the replies of runs driven by hand do not name their run."""
    found = list_checkpoints(actor=actor, page=PageRequest(limit=100), wanted=Wanted(), now=clock.now).items
    asked = [each for each in found if each.dialect is dialect]
    return max(asked, key=lambda each: each.presented_at, default=None)
