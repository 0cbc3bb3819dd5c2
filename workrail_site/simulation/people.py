"""People of a simulation: they answer what waits for them, stop runs and let them go on, and change how runs are driven."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from sessions_app.engine.decisions import PreferenceChange
from sessions_app.services.moves import runs
from sessions_app.services.moves.moving import Entropy
from sessions_app.services.people import checkpoints, preferring, stops
from teams_app.engine.actors import Actor
from workflows_app.engine.program import Autonomy, RiskPolicy
from workrail_site.dialects.rail.replies import RAIL
from workrail_site.simulation.agents import SimulatedAgent
from workrail_site.simulation.requests import Call, CallAnswer, SimulatedRequest, of_reply


class Desk(Protocol):
    """What people see of the store."""

    def waiting(self) -> Sequence[tuple[UUID, str, Sequence[str]]]:
        """The questions for people that nobody has answered: their ids, digests and options."""
        ...

    def run_ids(self) -> Sequence[UUID]: ...

    def node_ids(self, run_id: UUID) -> Sequence[UUID]: ...


_NOTHING = CallAnswer(data=b"", value={})


@dataclass(kw_only=True, eq=False)
class SimulatedPerson(SimulatedAgent):
    desk: Desk

    def take(self, request: SimulatedRequest, answer: CallAnswer) -> None:
        """People look at the Studio, and keep no tokens."""

    def next_request(self) -> SimulatedRequest | None:
        waiting, known = self.desk.waiting(), self.desk.run_ids()
        if waiting and self.chance.in_hundred(85):
            return self._answer(*self.chance.one(waiting))
        if not known or self.chance.in_hundred(55):
            return None
        run_id = self.chance.newest(list(known), share=40)
        kind = self.chance.below(100)
        if kind < 40:
            return self._change(run_id)
        if kind < 55:
            return self._stop("pauses", run_id, stops.pause_run)
        if kind < 60:
            return self._prefer(run_id, place=kind)
        return self._go_on(run_id) if kind < 95 else self._stop("cancels", run_id, stops.cancel_run)

    def _answer(self, request_id: UUID, digest: str, options: Sequence[str]) -> SimulatedRequest:
        option = str(self.chance.one(options))

        def call(actor: Actor, now: datetime, entropy: Entropy) -> CallAnswer:
            checkpoints.answer_checkpoint(
                actor=actor,
                request_id=request_id,
                option_id=option,
                digest=digest,
                reason="",
                now=now,
                entropy=entropy,
            )
            return _NOTHING

        return self.request(f"answers {option}", call, is_named=False)

    def _change(self, run_id: UUID) -> SimulatedRequest:
        modes = [Autonomy.GUIDED, Autonomy.GUIDED, Autonomy.STOP_ON_USER_DEPS, Autonomy.NEVER_STOP]
        change = PreferenceChange(autonomy=self.chance.one(modes), risk_policy=self.chance.one(list(RiskPolicy)))

        def call(actor: Actor, now: datetime, entropy: Entropy) -> CallAnswer:
            return of_reply(
                runs.change_preferences(
                    actor=actor, run_id=run_id, change=change, now=now, entropy=entropy, speech=RAIL
                )
            )

        return self.request("changes the mode", call, is_named=False)

    def _stop(self, name: str, run_id: UUID, stop: Any) -> SimulatedRequest:
        def call(actor: Actor, now: datetime, entropy: Entropy) -> CallAnswer:
            stop(actor=actor, run_id=run_id, reason="Not now.", now=now, entropy=entropy)
            return _NOTHING

        return self._plain(name, call)

    def _prefer(self, run_id: UUID, *, place: int) -> SimulatedRequest:
        known = self.desk.node_ids(run_id)
        node_id = known[place % len(known)]

        def call(actor: Actor, now: datetime, entropy: Entropy) -> CallAnswer:
            preferring.prefer_branch(actor=actor, run_id=run_id, node_id=node_id, now=now, entropy=entropy)
            return _NOTHING

        return self._plain("prefers a branch", call)

    def _go_on(self, run_id: UUID) -> SimulatedRequest:
        def call(actor: Actor, now: datetime, entropy: Entropy) -> CallAnswer:
            stops.resume_run(actor=actor, run_id=run_id, now=now, entropy=entropy)
            return _NOTHING

        return self._plain("lets it go on", call)

    def _plain(self, name: str, call: Call) -> SimulatedRequest:
        return self.request(name, call, is_named=False)
