"""Defects for the simulation to find: stores that keep a promise of the statement less, and services that forget a rule."""

from dataclasses import replace

from msgspec import structs

from sessions_app.engine import projections
from sessions_app.selectors import standings
from sessions_app.services.moves import acknowledging, moving, runs, steered
from sessions_app.services.moves.moving import Landing, Mover, Use
from sessions_app.services.moves.speech import Speech
from sessions_app.services.people import checkpoints
from workrail_site.simulation.requests import DiedError
from workrail_site.simulation.store import MemoryStore


class WithoutHeadCheck(MemoryStore):
    """Whoever comes later writes over what the other has written."""

    def is_head(self, session, before):
        return True


class WithoutUniqueAttempts(MemoryStore):
    """The same request begins a run each time that two of it meet."""

    def answer(self, plan, undo):
        for new in plan.attempts:
            self.attempts.pop((new.node_id, new.nonce), None)
        super().answer(plan, undo)


class RepliesInASecondStep(MemoryStore):
    """Whoever dies between the two steps has moved the run, and nobody knows the reply."""

    steps = 0

    def write(self, *, actor, plans):
        written = super().write(actor=actor, plans=[structs.replace(plan, attempts=()) for plan in plans])
        self.steps += 1
        if written and self.steps % 7 == 0:
            raise DiedError("died between the two steps")
        if written:
            for plan in plans:
                self._second_step(plan)
        return written

    def _second_step(self, plan):
        for new in plan.attempts:
            # Another reply of the same use may have come in between; then this one is not kept.
            if (new.node_id, new.nonce) not in self.attempts:
                self.answer(structs.replace(plan, attempts=[new]), [])


class HalfTransitions(MemoryStore):
    """Of a transition of two runs one is kept when the other finds another writer."""

    def write(self, *, actor, plans):
        done = [super(HalfTransitions, self).write(actor=actor, plans=[plan]) for plan in plans]
        return all(done)


class LosesWrites(MemoryStore):
    """Answers that it has written, and has not."""

    calls = 0

    def write(self, *, actor, plans):
        self.calls += 1
        return True if self.calls % 9 == 0 else super().write(actor=actor, plans=plans)


class ServesEveryTeam(MemoryStore):
    def read_standing(self, *, team_id, node_id, nonce):
        placed = self.nodes.get(node_id)
        return super().read_standing(team_id=placed.team_id if placed else team_id, node_id=node_id, nonce=nonce)


class ForgetsToWithdraw(MemoryStore):
    """Questions stay open where the run does not stand any more."""

    def close(self, plan, undo):
        super().close(structs.replace(plan, moved=None), undo)


class ForgetsTheSibling(MemoryStore):
    """The newest state of the run, whichever branch was asked for."""

    def standing(self, node, recorded):
        standing = super().standing(node, recorded)
        newest = max(
            (placed.row for placed in self.nodes.values() if placed.row.run_id == node.run_id),
            key=lambda row: row.event_index,
        )
        return replace(standing, snapshot=self.snapshot(newest), snapshot_digest=newest.snapshot_digest)


class TornLog(MemoryStore):
    """The last event of a long transition is left out."""

    def append(self, plan, undo):
        super().append(plan, undo)
        if len(plan.events) > 6:
            self.sessions[plan.session_id].events.pop()


STORES = {
    "a write without a look at the head": WithoutHeadCheck,
    "attempts that are not unique": WithoutUniqueAttempts,
    "a reply that is recorded in a second step": RepliesInASecondStep,
    "half of a transition of two runs": HalfTransitions,
    "a write that is acknowledged and lost": LosesWrites,
    "a read that does not look at the team": ServesEveryTeam,
    "questions that are not withdrawn": ForgetsToWithdraw,
    "the state of a sibling": ForgetsTheSibling,
    "a torn log": TornLog,
}


def draws_replies_anew(patch):
    patch.setattr(Use, "recorded", lambda _use, _recorded, _speech: None)


def mints_tokens_for_a_replay(patch):
    def anew(speech, recorded, *, keyring):
        reply = _recorded(speech, recorded, keyring=keyring)
        return replace(reply, data=reply.data + b" ")

    _recorded = Speech.recorded
    patch.setattr(Speech, "recorded", anew)


def answers_hold_twice(patch):
    patch.setattr(checkpoints, "_refuse_closed", lambda _value: None)


def lands_on_the_newest_branch(patch):
    """An acknowledgement of an older step takes effect where the run was last worked on."""

    def wrong(actor, at):
        leaf = acknowledging.branches.newest_leaf(actor=actor, node_id=at.standing.node_id)
        standing = standings.read_standing(team_id=actor.team_id, node_id=leaf.node_id, nonce=b"")
        return moving.point_of(standing), None

    patch.setattr(runs, "same_work", wrong)
    patch.setattr(steered, "same_work", wrong)


def bookmarks_become_the_tip(patch):
    """A bookmark at a step forgets the blocked attempt, or whatever else came after it."""
    patch.setattr(runs, "landing_beside", lambda _actor, at: Landing(tip=at.standing.node_id))


def agents_approve(patch):
    patch.setattr(runs, "approves", lambda _actor: True)


def parents_are_forgotten(patch):
    patch.setattr(Mover, "_go_on_above", lambda _mover, _at, _snapshot: ())


def joins_are_no_activity(patch):
    """As it was until the simulation found it: whoever joined a run left a row that the log does not tell."""

    def fold(view, event, run_id):
        before = view.runs[run_id].last_activity_ms if run_id in view.runs else 0
        _fold(view, event, run_id)
        if run_id in view.runs:
            view.runs[run_id].last_activity_ms = before

    _fold = projections._fold_handle
    patch.setattr(projections, "_fold_handle", fold)


def stopped_runs_go_on(patch):
    patch.setattr(moving, "stop_of", lambda _team_id, _standing: None)


SERVICES = {
    "a replay that is drawn anew": draws_replies_anew,
    "a replay with other bytes": mints_tokens_for_a_replay,
    "an answer that holds twice": answers_hold_twice,
    "an effect on the newest branch": lands_on_the_newest_branch,
    "a bookmark that takes the run back": bookmarks_become_the_tip,
    "an agent that approves": agents_approve,
    "a parent that is forgotten": parents_are_forgotten,
    "a join that is no activity": joins_are_no_activity,
    "a stop that is forgotten": stopped_runs_go_on,
}
