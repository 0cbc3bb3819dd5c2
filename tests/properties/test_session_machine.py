"""Any order of starts, advances, replays, rehydrations, forks, bookmarks, blocks, retries and changes of the mode, against
a small model of what should come of it.

The model knows the workflow by heart and keeps a tree of plain values. Two worlds are driven: the real services on a real
database, and the engine over a log in memory, which is many times faster. At the end of each run the oracle looks at the log.
"""

import os
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from sessions_app.engine.decisions import PreferenceChange
from sessions_app.engine.log import NodeKind, StoredEvent, verify_chain
from sessions_app.engine.projections import project
from sessions_app.engine.refusals import MAX_CONSECUTIVE_BLOCKS
from sessions_app.engine.state import is_same_work
from sessions_app.services.moves import runs
from teams_app.engine.errors import PreconditionFailedError
from tests import run_cast
from tests.engine_play import RUN, Play, steps_program
from tests.step_documents import loop, step
from workflows_app.engine import canonical
from workflows_app.engine.program import Autonomy
from workrail_site.dialects.rail.replies import RAIL

STEPS = 50
# Runs of fifty steps: those of the suite, and those that are asked for with -m slow.
REAL_IN_SUITE, MEMORY_IN_SUITE = 60, 500
SLOW = 10_000

ROUNDS = 2
WORKFLOW = (
    step("first-step"),
    step("flagged-step", notesOptional=True, runCondition={"var": "flag", "equals": True}),
    loop("the-loop", [step("inside-step"), step("free-step", notesOptional=True)], type="for", count=ROUNDS),
    step("last-step"),
)
NOTED = frozenset({"first-step", "inside-step", "last-step"})
MODES = st.sampled_from(list(Autonomy))


# The model


@dataclass(kw_only=True)
class Spot:
    """A node as it should be. `changed` tells that only the mode lies between it and its parent."""

    name: int
    pending: str = "first-step"
    parent: "Spot | None" = None
    done: frozenset = frozenset()
    inside: int = 0
    flag: bool = False
    mode: Autonomy = Autonomy.GUIDED
    # That a person has it never stop; an agent that asks for the same waives nobody.
    waived: bool = False
    blocked: bool = False
    blocks: int = 0
    forgiven: int = 0
    changed: bool = False
    children: list = field(default_factory=list)

    @property
    def step(self):
        return self.pending.rpartition("::")[2]

    @property
    def circuit_is_open(self):
        return self.blocks - self.forgiven >= MAX_CONSECUTIVE_BLOCKS

    def child(self, name, **fields):
        kept = {key: getattr(self, key) for key in ("pending", "done", "inside", "flag", "mode")}
        kept["waived"] = self.waived and fields.get("mode", self.mode) is Autonomy.NEVER_STOP
        made = Spot(name=name, parent=self, **{**kept, **fields})
        self.children.append(made)
        return made

    def newest_leaf(self):
        return max(self.branch(), key=lambda spot: spot.name)

    def branch(self):
        yield self
        for child in self.children:
            yield from child.branch()

    def standing(self):
        """Where an acknowledgement lands: here, or at the same work under modes that were changed since."""
        leaf = at = self.newest_leaf()
        while at is not self:
            if not at.changed:
                return self
            at = at.parent
        return leaf


@dataclass(kw_only=True)
class Handle:
    """Tokens of one reply, and what was answered to each of them when it was used."""

    spot: Spot
    value: object
    acked: object = None
    kept: object = None


def following(pending, done, *, inside, flag):
    """The key of the next step; empty at the end. At the top the first that is not done, in a loop the next one."""
    if "::" in pending and "the-loop" not in done:
        return in_the_loop(inside)
    if flag and "flagged-step" not in done:
        return "flagged-step"
    if "the-loop" not in done:
        return in_the_loop(0)
    return "" if "last-step" in done else "last-step"


def in_the_loop(inside):
    return f"the-loop@{inside // 2}::{'free-step' if inside % 2 else 'inside-step'}"


class Machine(RuleBasedStateMachine):
    """`world` is set by the test: what is driven, and how its answers are read."""

    world = None

    def __init__(self):
        super().__init__()
        self.spots, self.handles = [], []
        self.tip = None
        self.clock = 0
        self.critical = False

    @initialize(mode=MODES)
    def start(self, mode):
        value = self.world.start(mode)
        self._made(Spot(name=0, mode=mode), value)

    @rule(pick=st.integers(0, 999), notes=st.booleans(), flag=st.sampled_from([None, True, False]))
    def advance(self, pick, notes, flag):
        self._advance(self._handle(pick), notes=notes, flag=flag, mode=None)

    @rule(pick=st.integers(0, 999), notes=st.booleans(), mode=MODES)
    def advance_in_another_mode(self, pick, notes, mode):
        self._advance(self._handle(pick), notes=notes, flag=None, mode=mode)

    @rule(notes=st.booleans())
    def advance_the_newest(self, notes):
        """So that runs reach their ends, and blocks their retries."""
        self._advance(self.handles[-1], notes=notes, flag=None, mode=None)

    @rule(pick=st.integers(0, 999))
    def replay(self, pick):
        used = [handle for handle in self.handles if handle.acked is not None]
        if used:
            handle = used[pick % len(used)]
            again = self.world.advance(handle.value, "Other notes.", {"flag": "other"}, None)
            assert self.world.bytes_of(again) == self.world.bytes_of(handle.acked)

    @rule(pick=st.integers(0, 999))
    def rehydrate(self, pick):
        spot = self._handle(pick).spot
        before = self.world.size()
        value = self.world.rehydrate(self._handle(pick).value)
        assert self.world.size() == before
        standing = spot.standing()
        self._check(standing, value)
        assert self.world.tells_branches(value) == bool(standing.children)
        self.handles.append(Handle(spot=standing, value=value))

    @rule(pick=st.integers(0, 999))
    def bookmark(self, pick):
        handle = self._handle(pick)
        again = handle.kept is not None
        value = self.world.bookmark(handle.value)
        if again:
            assert self.world.bytes_of(value) == self.world.bytes_of(handle.kept)
            return
        handle.kept = value
        self.tip = handle.spot.newest_leaf()
        self._check(handle.spot, value)
        self.handles.append(Handle(spot=handle.spot, value=value))

    @precondition(lambda self: self.tip is not None)
    @rule(mode=MODES)
    def change_the_mode(self, mode):
        tip = self.tip
        before = self.world.size()
        value = self.world.change(mode)
        never = mode is Autonomy.NEVER_STOP
        if tip.mode is mode and (tip.waived or not never):
            assert self.world.size() == before
            self.handles.append(Handle(spot=tip, value=value))
            return
        same = {"blocked": tip.blocked, "blocks": tip.blocks, "forgiven": tip.blocks}
        self._made(tip.child(len(self.spots), mode=mode, waived=never, changed=True, **same), value)

    def teardown(self):
        if self.tip is not None:
            self.world.verify(self.tip, complete=not self.tip.pending, critical=self.critical)

    # One acknowledgement

    def _advance(self, handle, *, notes, flag, mode):
        context = None if flag is None else {"flag": flag}
        text = "Done." if notes else ""
        spot = handle.spot.standing()
        if not handle.spot.pending:
            return
        if handle.acked is not None:
            value = self.world.advance(handle.value, text, context, mode)
            assert self.world.bytes_of(value) == self.world.bytes_of(handle.acked)
            return
        effective = mode or spot.mode
        if effective is not Autonomy.NEVER_STOP and spot.circuit_is_open:
            with pytest.raises(PreconditionFailedError):
                self.world.advance(handle.value, text, context, mode)
            return
        forks = bool(spot.children)
        value = self.world.advance(handle.value, text, context, mode)
        assert self.world.is_fork(value) == forks
        handle.acked = value
        self._made(self._outcome(spot, notes=notes, flag=flag, mode=effective), value)

    def _outcome(self, spot, *, notes, flag, mode):
        name = len(self.spots)
        flagged = spot.flag if flag is None else flag
        lacking = spot.step in NOTED and not notes
        if lacking and mode is not Autonomy.NEVER_STOP:
            blocks = {"blocked": True, "blocks": spot.blocks + 1, "forgiven": spot.forgiven}
            return spot.child(name, flag=flagged, mode=mode, **blocks)
        self.critical = self.critical or lacking
        in_loop = "::" in spot.pending
        inside = spot.inside + in_loop
        finished = {spot.step} if not in_loop else {"the-loop"} if inside == ROUNDS * 2 else set()
        done = spot.done | finished
        pending = following(spot.pending, done, inside=inside, flag=flagged)
        return spot.child(name, pending=pending, done=done, inside=inside, flag=flagged, mode=mode)

    # Keeping the model

    def _handle(self, pick):
        return self.handles[pick % len(self.handles)]

    def _made(self, spot, value):
        never = Autonomy.NEVER_STOP
        taken_back = spot.parent is not None and spot.parent.mode is never and spot.mode is not never
        if taken_back and self.world.withdraws:
            # Never to stop was taken back: whoever waived people before waives them nowhere any more.
            for before in self.spots:
                before.waived = False
        self.spots.append(spot)
        self.tip = spot
        self.handles.append(Handle(spot=spot, value=value))
        self._check(spot, value)

    def _check(self, spot, value):
        assert self.world.pending(value) == spot.pending
        assert self.world.is_blocked(value) == spot.blocked
        assert self.world.mode(value) == spot.mode.value


# The worlds


class RealWorld:
    """The services, with a database behind them. What a person takes back counts on every branch."""

    withdraws = True

    def __init__(self, desk):
        self.desk = desk
        self.begun = None

    def start(self, mode):
        preferences = PreferenceChange(autonomy=mode)
        self.begun = run_cast.start(self.desk, preferences=preferences).value
        return self.begun

    def advance(self, value, notes, context, mode):
        preferences = None if mode is None else PreferenceChange(autonomy=mode)
        return run_cast.advance(self.desk.agent, value, notes, context=context, preferences=preferences).value

    def rehydrate(self, value):
        return run_cast.rehydrate(self.desk.agent, value).value

    def bookmark(self, value):
        return run_cast.bookmark(self.desk.agent, value).value

    def change(self, mode):
        return runs.change_preferences(
            actor=self.desk.person,
            run_id=run_cast.run_id(self.begun),
            change=PreferenceChange(autonomy=mode),
            now=run_cast.NOW + timedelta(minutes=2),
            entropy=os.urandom,
            speech=RAIL,
        ).value

    def size(self):
        from sessions_app.models import WorkSession

        return WorkSession.objects.values_list("next_event_index", flat=True).get(pk=run_cast.session_id(self.begun))

    def bytes_of(self, value):
        return value

    def pending(self, value):
        pending = value["pending"]
        return "" if pending is None else pending.get("stepKey") or pending["stepId"]

    def is_blocked(self, value):
        assert (value["kind"] == "blocked") == bool(value.get("blockers"))
        return value["kind"] == "blocked"

    def mode(self, value):
        return value["preferences"]["autonomy"]

    def is_fork(self, value):
        return value.get("branch", {}).get("forked", False)

    def tells_branches(self, value):
        return "branch" in value

    def verify(self, tip, *, complete, critical):
        from sessions_app.models import Run

        run_cast.assert_healthy(self.begun)
        run = Run.objects.get(pk=run_cast.run_id(self.begun))
        ended = "complete_with_gaps" if critical else "complete"
        assert run.status == ("blocked" if tip.blocked else ended if complete else "in_progress")


class MemoryWorld:
    """The engine over a log in memory; tokens are the stands themselves, and attempts are remembered by them."""

    withdraws = False

    def __init__(self, program):
        self.program = program

    def start(self, mode):
        self.play = Play(program=self.program)
        self.recorded, self.parents, self.made = {}, {}, {}
        self.tip = self.play.start(preferences=PreferenceChange(autonomy=mode))
        self.made[self.tip.node_id] = self.tip
        return _Told(stand=self.tip)

    def advance(self, value, notes, context, mode):
        return self._once(("ack", value), lambda: self._advanced(value.stand, notes, context, mode))

    def _advanced(self, stand, notes, context, mode):
        leaf = self._newest_leaf(stand)
        follows = leaf is not stand and is_same_work(stand.snapshot, leaf.snapshot)
        at = leaf if follows else stand
        preferences = None if mode is None else PreferenceChange(autonomy=mode)
        forks = at.node_id in self.play.children
        made = self.play.advance(at, notes, context=context, preferences=preferences)
        self._joined(at, made)
        return _Told(stand=made, forked=forks)

    def rehydrate(self, value):
        leaf = self._newest_leaf(value.stand)
        follows = leaf is not value.stand and is_same_work(value.stand.snapshot, leaf.snapshot)
        stand = leaf if follows else value.stand
        return _Told(stand=stand, branches=stand.node_id in self.play.children)

    def bookmark(self, value):
        def keep():
            self.play.bookmark(value.stand)
            self.tip = self._newest_leaf(value.stand)
            return _Told(stand=value.stand)

        return self._once(("chk", value), keep)

    def change(self, mode):
        change = PreferenceChange(autonomy=mode, person="person_bob")
        if change.applied_to(self.tip.snapshot.preferences) == self.tip.snapshot.preferences:
            return _Told(stand=self.tip)
        made = self.play.change(self.tip, change)
        self._joined(self.tip, made)
        return _Told(stand=made)

    def _once(self, key, work):
        key = (key[0], id(key[1]))
        if key not in self.recorded:
            self.recorded[key] = work()
        return self.recorded[key]

    def _joined(self, at, made):
        self.parents[made.node_id] = at.node_id
        self.made[made.node_id] = self.tip = made

    def _newest_leaf(self, stand):
        below = [node for node in self.made if self._descends(node, stand.node_id)]
        return self.made[max(below, key=lambda node: node.int)]

    def _descends(self, node, ancestor):
        while node is not None and node != ancestor:
            node = self.parents.get(node)
        return node is not None

    def size(self):
        return len(self.play.bodies)

    def bytes_of(self, value):
        return id(value)

    def pending(self, value):
        return value.stand.pending

    def is_blocked(self, value):
        return value.stand.snapshot.blocked is not None

    def mode(self, value):
        return value.stand.snapshot.preferences.autonomy.value

    def is_fork(self, value):
        return value.forked

    def tells_branches(self, value):
        return value.branches

    def verify(self, tip, *, complete, critical):
        assert verify_chain(_stored(index, body) for index, body in enumerate(self.play.bodies)).faults == ()
        run = project(self.play.bodies).runs[RUN]
        ended = "complete_with_gaps" if critical else "complete"
        assert run.tip.node_id == self.tip.node_id
        assert run.tip.kind is (NodeKind.BLOCKED_ATTEMPT if tip.blocked else NodeKind.STEP)
        assert run.status.value == ("blocked" if tip.blocked else ended if complete else "in_progress")


@dataclass(frozen=True, kw_only=True)
class _Told:
    """A reply of the world in memory."""

    stand: object
    forked: bool = False
    branches: bool = False


def _stored(index, body):
    return StoredEvent(index=index, body=body, digest=canonical.digest(body))


def drive(world, examples):
    machine = type("Driven", (Machine,), {"world": world})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )


@pytest.mark.parametrize(
    "examples", [MEMORY_IN_SUITE, pytest.param(SLOW, marks=pytest.mark.slow)], ids=["suite", "full"]
)
def test_the_engine_does_what_the_model_says(examples):
    drive(MemoryWorld(steps_program(*WORKFLOW)), examples)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("examples", [REAL_IN_SUITE, pytest.param(SLOW, marks=pytest.mark.slow)], ids=["suite", "full"])
def test_the_services_do_what_the_model_says(examples):
    desk = run_cast.make_desk()
    run_cast.published(desk, *WORKFLOW)

    drive(RealWorld(desk), examples)
