"""Agents of the four walking dialects: each knows what it was answered, and draws its next call from that."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from sessions_app.engine.actions import Action, AdvanceLoop, CompleteStep, RespondToCheckpoint, TakeTransition
from sessions_app.engine.approvals import ANSWER_KIND
from sessions_app.engine.decisions import AnswerMode, EnterActivity
from sessions_app.engine.manifests import ManifestEntry
from sessions_app.engine.runs import Dialect
from sessions_app.engine.submissions import Submission
from sessions_app.services.moves import handed_over, runs, session_tokens, steered
from sessions_app.services.moves.beginning import Beginning, start_run
from sessions_app.services.moves.handed_over import HandoverCall
from sessions_app.services.moves.moving import Entropy
from sessions_app.services.moves.session_tokens import Wish
from teams_app.engine.actors import Actor
from workrail_site.dialects.activities.speech import ACTIVITIES
from workrail_site.dialects.navigation.readings import beginning_of
from workrail_site.dialects.navigation.situations import NAVIGATION
from workrail_site.dialects.rail.replies import RAIL
from workrail_site.simulation.faults import Chance
from workrail_site.simulation.requests import Call, CallAnswer, SimulatedRequest, of_reply
from workrail_site.simulation.workflows import CHILD, PLAN, STEPS

# What an agent remembers of one run, and of all of them.
_MOST_HELD = 40


class Office(Protocol):
    """Where requests get their numbers."""

    chance: Chance

    def next_number(self) -> int: ...


@dataclass(kw_only=True, eq=False)
class SimulatedAgent(ABC):
    name: str
    actor: Actor
    office: Office
    held: list[dict[str, Any]] = field(default_factory=list)

    @abstractmethod
    def next_request(self) -> SimulatedRequest | None: ...

    @property
    def chance(self) -> Chance:
        return self.office.chance

    def take(self, request: SimulatedRequest, answer: CallAnswer) -> None:
        del request
        self.hold(dict(answer.value))

    def hold(self, value: dict[str, Any]) -> None:
        self.held.append(value)
        del self.held[:-_MOST_HELD]

    def request(
        self, name: str, call: Call, *, mark: str = "", is_named: bool = True, number: int = 0
    ) -> SimulatedRequest:
        return SimulatedRequest(
            number=number or self.office.next_number(),
            caller=self,
            name=name,
            call=call,
            actor=self.actor,
            mark=mark,
            is_named=is_named,
        )

    def submission(self, number: int) -> Submission:
        """Marked: nobody else hands this in."""
        notes = f"Notes of request {number}." if self.chance.in_hundred(85) else ""
        context: dict[str, Any] = {mark_of(number): number}
        if self.chance.in_hundred(20):
            context["flag"] = self.chance.in_hundred(50)
        return Submission(notes=notes, context=context)

    def workflow(self) -> str:
        return str(self.chance.one((STEPS, PLAN, PLAN)))


def mark_of(number: int) -> str:
    return f"m{number}"


class RailAgent(SimulatedAgent):
    """Advances, notes, forks from older tokens, forgets and asks again."""

    def next_request(self) -> SimulatedRequest | None:
        walking = [value for value in self.held if value.get("ackToken")]
        if not walking or self.chance.in_hundred(5):
            return self._start()
        value = self.chance.newest(walking)
        kind = self.chance.below(100)
        if kind < 74:
            return self._advance(value)
        return self._bookmark(value) if kind < 84 else self._rehydrate(value)

    def _start(self) -> SimulatedRequest:
        number = self.office.next_number()
        beginning = Beginning(
            workflow_id=self.workflow(),
            goal=f"Goal of request {number}",
            context={mark_of(number): number},
            request_key=f"key {number}",
        )

        def call(actor: Actor, now: datetime, entropy: Entropy) -> CallAnswer:
            return of_reply(start_run(actor=actor, beginning=beginning, now=now, entropy=entropy, speech=RAIL))

        return self.request(f"starts {beginning.workflow_id}", call, mark=mark_of(number), number=number)

    def _advance(self, value: Mapping[str, Any]) -> SimulatedRequest:
        number = self.office.next_number()
        handed_in = self.submission(number)
        question = (value.get("pending") or {}).get("checkpoint")
        if question and self.chance.in_hundred(80):
            option = self.chance.one([each["id"] for each in question["options"]])
            answer = {"kind": ANSWER_KIND, "checkpointId": question["checkpointId"], "optionId": option}
            handed_in = Submission(artifacts=(answer,), context=handed_in.context)
        elif self.chance.in_hundred(5):
            handed_in = Submission()

        def call(actor: Actor, now: datetime, entropy: Entropy) -> CallAnswer:
            return of_reply(
                runs.advance_run(
                    actor=actor,
                    state_token=value["stateToken"],
                    ack_token=value["ackToken"],
                    submission=handed_in,
                    now=now,
                    entropy=entropy,
                    speech=RAIL,
                )
            )

        mark = mark_of(number) if handed_in.context else ""
        return self.request(f"advances {_step_of(value)}", call, mark=mark, number=number)

    def _bookmark(self, value: Mapping[str, Any]) -> SimulatedRequest:
        number = self.office.next_number()
        notes = Submission(notes=f"Notes of request {number}.")

        def call(actor: Actor, now: datetime, entropy: Entropy) -> CallAnswer:
            return of_reply(
                runs.bookmark_run(
                    actor=actor,
                    state_token=value["stateToken"],
                    checkpoint_token=value["checkpointToken"],
                    submission=notes,
                    now=now,
                    entropy=entropy,
                    speech=RAIL,
                )
            )

        return self.request(f"bookmarks {_step_of(value)}", call, number=number)

    def _rehydrate(self, value: Mapping[str, Any]) -> SimulatedRequest:
        def call(actor: Actor, now: datetime, entropy: Entropy) -> CallAnswer:
            del now
            return of_reply(
                runs.rehydrate_run(actor=actor, state_token=value["stateToken"], entropy=entropy, speech=RAIL)
            )

        return self.request(f"rehydrates {_step_of(value)}", call, is_named=False)


def _step_of(value: Mapping[str, Any]) -> str:
    return str((value.get("pending") or {}).get("stepId", "nothing"))


class NavigationAgent(SimulatedAgent):
    """Takes what is offered, and sometimes what was offered once."""

    def next_request(self) -> SimulatedRequest | None:
        if not self.held or self.chance.in_hundred(6):
            return self._start(self.workflow(), {})
        value = self.chance.newest(self.held)
        offered = [*value["availableActions"]["required"], *value["availableActions"]["optional"]]
        if not offered or self.chance.in_hundred(12):
            return self._look(value)
        triggers = [offer for offer in offered if offer["action"] == "nav_start"]
        return self._take(value, self.chance.one(triggers if triggers and self.chance.in_hundred(20) else offered))

    def _start(self, workflow_id: str, variables: Mapping[str, Any]) -> SimulatedRequest:
        number = self.office.next_number()
        given = {**variables, mark_of(number): number}
        beginning = beginning_of(workflow_id, given, request_key=f"key {number}")

        def call(actor: Actor, now: datetime, entropy: Entropy) -> CallAnswer:
            return of_reply(start_run(actor=actor, beginning=beginning, now=now, entropy=entropy, speech=NAVIGATION))

        return self.request(f"starts {workflow_id}", call, mark=mark_of(number), number=number)

    def _look(self, value: Mapping[str, Any]) -> SimulatedRequest:
        def call(actor: Actor, now: datetime, entropy: Entropy) -> CallAnswer:
            del now, entropy
            return of_reply(steered.read_situation(actor=actor, state_token=value["state"], speech=NAVIGATION))

        return self.request("looks", call, is_named=False)

    def _take(self, value: Mapping[str, Any], offer: Mapping[str, Any]) -> SimulatedRequest | None:
        if offer["action"] == "nav_start":
            return self._start(offer["workflow"], offer["initial_variables"])
        number = self.office.next_number()
        action = self._action(value, offer, number)
        if action is None:
            return None

        def call(actor: Actor, now: datetime, entropy: Entropy) -> CallAnswer:
            return of_reply(
                steered.steer_run(
                    actor=actor, state_token=value["state"], action=action, now=now, entropy=entropy, speech=NAVIGATION
                )
            )

        mark = mark_of(number) if isinstance(action, CompleteStep) else ""
        return self.request(f"takes {offer['action']}", call, mark=mark, number=number)

    def _action(self, value: Mapping[str, Any], offer: Mapping[str, Any], number: int) -> Action | None:
        match offer["action"]:
            case "complete_step":
                return CompleteStep(step_id=offer["step"], submission=self.submission(number))
            case "respond_to_checkpoint":
                option = self.chance.one([each["id"] for each in value["checkpoint"]["options"]])
                return RespondToCheckpoint(checkpoint_id=offer["checkpoint"], option_id=option)
            case "transition":
                return TakeTransition(activity_id=offer["activity"])
            case "advance_loop":
                return AdvanceLoop(loop_id=offer["loop"])
            case _:
                return None


# What is to be done in each activity of the workflows.
_WORK = {
    "plan": ("draft", "work"),
    "build": ("make",),
    "wrap": ("tidy",),
    "only": ("do", "end"),
    "main": ("first", "flagged", "approve", "inner", "free", "inner", "free", "confirm", "last"),
}
_ENTERED = ("plan", "build", "wrap", "only", "main", "workflow-end")
_NEXT = {"": ("plan", "main", "only"), "plan": ("build", "wrap"), "build": ("wrap", "plan"), "wrap": ("workflow-end",)}
_ENDS = ("workflow-end",)


@dataclass(kw_only=True, eq=False)
class HandedAgent(SimulatedAgent):
    """Takes activities whole, in one of the two dialects that hand them over."""

    dialect: Dialect

    def next_request(self) -> SimulatedRequest | None:
        if not self.held or self.chance.in_hundred(6):
            return self._begin()
        value = self.chance.newest(self.held)
        pending = value.get("pending_checkpoints") or value.get("remaining_checkpoints") or ()
        kind = self.chance.below(100)
        if kind < 5:
            return self._join(value)
        if kind < 13:
            return self._child(value)
        if pending and kind < 70:
            return self._respond(value, str(self.chance.one(pending)))
        if self.dialect is Dialect.ORCHESTRATOR and kind < 25:
            return self._yield(value, str(self.chance.one(("agreed", "signed"))))
        return self._enter(value)

    def _begin(self) -> SimulatedRequest:
        return self._begun(Wish(dialect=self.dialect, workflow_id=self.workflow(), agent_id=self.name))

    def _join(self, value: Mapping[str, Any]) -> SimulatedRequest:
        agent = str(self.chance.one(("one", "two", self.name)))
        return self._begun(Wish(dialect=self.dialect, session_token=value["session_token"], agent_id=agent))

    def _child(self, value: Mapping[str, Any]) -> SimulatedRequest:
        wish = Wish(dialect=self.dialect, workflow_id=CHILD, agent_id=self.name, parent_token=value["session_token"])
        return self._begun(wish)

    def _begun(self, wish: Wish) -> SimulatedRequest:
        def call(actor: Actor, now: datetime, entropy: Entropy) -> CallAnswer:
            held = session_tokens.begin(actor=actor, wish=wish, now=now, entropy=entropy).held
            value = {"activity_id": held.snapshot.position.activity, "session_token": held.token}
            return CallAnswer(data=held.token.encode(), value=value)

        return self.request("begins", call, is_named=False)

    def _enter(self, value: Mapping[str, Any]) -> SimulatedRequest:
        number = self.office.next_number()
        here = str(value.get("activity_id") or "")
        there = self.chance.one(_NEXT.get(here, _ENDS)) if self.chance.in_hundred(85) else self.chance.one(_ENTERED)
        work = _WORK.get(here, ())
        done = work[self.chance.below(len(work)) :] if work and self.chance.in_hundred(30) else work
        told = f"Notes of request {number}"
        manifest = tuple(
            ManifestEntry(step_id=step, output=f"{told}, entry {at}.", context={mark_of(number): number})
            for at, step in enumerate(done)
        )
        command = EnterActivity(
            activity_id=there, manifest=manifest or None, asks_on_entry=self.dialect is Dialect.SESSION
        )

        def call(actor: Actor, now: datetime, entropy: Entropy) -> CallAnswer:
            at = self._call(value, actor, now, entropy)
            return of_reply(handed_over.enter_activity(at, command).reply)

        return self.request(f"enters {there}", call, mark=mark_of(number), number=number)

    def _respond(self, value: Mapping[str, Any], name: str) -> SimulatedRequest:
        option = str(self.chance.one(("yes", "stop", "more")))

        def call(actor: Actor, now: datetime, entropy: Entropy) -> CallAnswer:
            at = self._call(value, actor, now, entropy)
            handed = handed_over.respond_checkpoint(at, checkpoint_id=name, mode=AnswerMode.OPTION, option_id=option)
            return CallAnswer(data=handed.reply.data, value=self._here(value, handed.reply.value))

        return self.request(f"answers {name}", call)

    def _yield(self, value: Mapping[str, Any], name: str) -> SimulatedRequest:
        def call(actor: Actor, now: datetime, entropy: Entropy) -> CallAnswer:
            at = self._call(value, actor, now, entropy)
            handed = handed_over.yield_checkpoint(at, checkpoint_id=name)
            pending = {"pending_checkpoints": [name]} if handed.reply.value["status"] == "yielded" else {}
            return CallAnswer(data=handed.reply.data, value=self._here(value, handed.reply.value) | pending)

        return self.request(f"yields {name}", call)

    def _here(self, value: Mapping[str, Any], reply: Mapping[str, Any]) -> dict[str, Any]:
        """Replies to questions do not say where the run is."""
        return {"activity_id": value.get("activity_id", ""), **reply}

    def _call(self, value: Mapping[str, Any], actor: Actor, now: datetime, entropy: Entropy) -> HandoverCall:
        return HandoverCall(
            actor=actor,
            dialect=self.dialect,
            token=value["session_token"],
            now=now,
            entropy=entropy,
            speech=ACTIVITIES,
        )
