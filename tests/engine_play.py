"""Plays the engine without tables: programs made by hand, decisions one after the other, and the log that they make."""

from dataclasses import dataclass, field
from uuid import UUID

from sessions_app.engine.decide import decide
from sessions_app.engine.decisions import Advance, Bookmark, ChangePreferences, Place, PreferenceChange, Start
from sessions_app.engine.drafts import session_draft
from sessions_app.engine.log import Head, seal
from sessions_app.engine.state import Preferences, snapshot_from_bytes
from sessions_app.engine.submissions import Submission
from tests.step_documents import program_of as compiled_program, workflow
from workflows_app.engine.program import (
    Activity,
    Autonomy,
    Checkpoint,
    ConditionMode,
    Family,
    Gate,
    Program,
    RiskPolicy,
    Step,
)

SESSION, RUN = UUID(int=1 << 80), UUID(int=2)
NEVER_STOP = PreferenceChange(autonomy=Autonomy.NEVER_STOP)
# A person who steers the run has it never stop; an agent that asks for it waives nobody's approval.
WAIVED = PreferenceChange(autonomy=Autonomy.NEVER_STOP, person="person_alice")
STOP_ON_USER = PreferenceChange(autonomy=Autonomy.STOP_ON_USER_DEPS)
BALANCED = PreferenceChange(risk_policy=RiskPolicy.BALANCED)
AGGRESSIVE = PreferenceChange(risk_policy=RiskPolicy.AGGRESSIVE)


def steps_program(*steps, **fields):
    """The program of a step workflow as authors write it."""
    return compiled_program(workflow(*steps, **fields))


def built(*items, **fields):
    """A program of one activity with these items, past every reader."""
    return activities(Activity(id="main", title="Main", body=tuple(items)), **{"family": Family.STEPS, **fields})


def activities(*acts, **fields):
    given = {
        "compiler": 1,
        "family": Family.ACTIVITIES,
        "id": "team.sample",
        "title": "Sample",
        "version": "1.0.0",
        "conditions": ConditionMode.STRICT,
        "activities": acts,
        "initial_activity": acts[0].id,
    }
    return Program(**{**given, **fields})


def do(step_id, **fields):
    return Step(id=step_id, title=f"Title of {step_id}", prompt=f"Do {step_id}.", notes_required=False, **fields)


def asking(checkpoint_id, *options, **fields):
    """A gate and the checkpoint that it asks."""
    gate = Gate(id=f"ask-{checkpoint_id}", checkpoint=checkpoint_id)
    checkpoint = Checkpoint(
        id=checkpoint_id, name=f"Name of {checkpoint_id}", message="Is {what} right?", options=options, **fields
    )
    return gate, checkpoint


@dataclass(kw_only=True)
class Play:
    """One session whose log grows by every decision; `at` is the decision that the next call goes on from."""

    program: Program
    head: Head = field(default_factory=Head)
    bodies: list = field(default_factory=list)
    children: set = field(default_factory=set)
    made: int = 0
    gaps: int = 0
    clock_ms: int = 1_000_000

    def start(self, *, context=None, preferences=None, baseline=None, goal="Try it"):
        baseline = baseline or Preferences()
        self._write([session_draft(session_id=SESSION, title="Play", parent_id=None, baseline=baseline)])
        command = Start(goal=goal, context=context or {}, baseline=baseline, preferences=preferences)
        return self._decide(None, command, node=None)

    def advance(self, at, notes="Done.", *, artifacts=(), context=None, preferences=None, by_person=False):
        submission = Submission(notes=notes, artifacts=tuple(artifacts), context=context)
        return self._decide(at, Advance(submission=submission, preferences=preferences, by_person=by_person))

    def bookmark(self, at, notes="Half way.", *, artifacts=()):
        return self._decide(at, Bookmark(submission=Submission(notes=notes, artifacts=tuple(artifacts))))

    def change(self, at, change):
        return self._decide(at, ChangePreferences(change=change))

    def _decide(self, at, command, node=...):
        self.made += 1
        node_id = at.node_id if node is ... else node
        place = Place(
            session_id=SESSION,
            run_id=RUN,
            node_id=node_id,
            next_node=UUID(int=1000 + self.made),
            nonce=b"" if node_id is None else self.made.to_bytes(8, "big"),
            workflow_id=self.program.id,
            workflow_hash="sha256:" + "0" * 64,
            has_children=node_id in self.children,
            has_critical_gaps=self.gaps > 0,
        )
        decision = decide(program=self.program, snapshot=at.snapshot if at else None, command=command, place=place)
        self._write(decision.drafts)
        if decision.edge_kind is not None and decision.edge_kind.value == "acked_step":
            self.children.add(node_id)
        self.gaps += sum(1 for gap in decision.gaps if gap.gap.severity.value == "critical")
        return Stand(decision=decision, node_id=place.next_node, place=place)

    def _write(self, drafts):
        self.clock_ms += 1000
        ids = [UUID(int=self.head.next_index + index + 1) for index in range(len(drafts))]
        sealed = seal(drafts=drafts, session_id=SESSION, head=self.head, event_ids=ids, timestamp_ms=self.clock_ms)
        self.head = sealed.head
        self.bodies.extend(event.body for event in sealed.events)


@dataclass(frozen=True, kw_only=True)
class Stand:
    """Where a play stands after a decision."""

    decision: object
    node_id: UUID
    place: Place

    @property
    def snapshot(self):
        """As the table gives it back."""
        return snapshot_from_bytes(self.decision.snapshot_data)

    @property
    def pending(self):
        return self.snapshot.position.pending

    @property
    def outcome(self):
        return self.decision.outcome

    @property
    def blockers(self):
        return [blocker.code.value for blocker in self.snapshot.blocked.blockers] if self.snapshot.blocked else []

    @property
    def fixes(self):
        return [blocker.suggested_fix for blocker in self.snapshot.blocked.blockers]

    @property
    def gaps(self):
        return [(gap.gap.severity.value, gap.gap.detail.value) for gap in self.decision.gaps]

    @property
    def warnings(self):
        return [warned.code.value for warned in self.decision.warnings]

    def drafts(self, *kinds):
        return [draft.data for draft in self.decision.drafts if draft.kind.value in kinds]

    @property
    def kinds(self):
        return [draft.kind.value for draft in self.decision.drafts]


def played(program, **fields):
    """A play and where it stands after its start."""
    play = Play(program=program)
    return play, play.start(**fields)
