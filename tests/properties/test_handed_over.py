"""Whatever a manifest tells, it is refused with a reason or it is in the log, word for word; and the log holds together."""

from dataclasses import dataclass, field, replace
from uuid import UUID

import orjson
from hypothesis import given, settings, strategies as st

from sessions_app.engine.checkpoints import Voice
from sessions_app.engine.decide import decide
from sessions_app.engine.decisions import Answer, AnswerMode, AskQuestion, EnterActivity, Place, Start, WarningCode
from sessions_app.engine.drafts import session_draft
from sessions_app.engine.log import Head, StoredEvent, seal, verify_chain
from sessions_app.engine.outputs import MAX_NOTES_BYTES
from sessions_app.engine.projections import project
from sessions_app.engine.runs import Drive
from sessions_app.engine.state import Preferences, snapshot_from_bytes
from teams_app.engine.errors import WorkrailError
from tests.engine_play import activities, asking, do
from tests.handed_over_moves import ANY
from workflows_app.engine import walker
from workflows_app.engine.program import (
    Activity,
    Compare,
    Confirmation,
    ConfirmationKind,
    Effect,
    Loop,
    LoopKind,
    Operator,
    Option,
    Transition,
    WorkflowMode as ProgramMode,
)

PROFILE = settings(derandomize=True, database=None, deadline=None, max_examples=400)
SESSION, RUN = UUID(int=1 << 80), UUID(int=2)

APPROVAL = Confirmation(confirms=ConfirmationKind.HUMAN_APPROVAL)
PERSON = Voice(who="a person", door="studio")
ON = Compare(path=("on",), operator=Operator.EQUALS, value=True)
YES = Option(id="yes", label="Yes", effect=Effect(set_variable={"on": True}))
LEADS = Option(id="leads", label="Elsewhere", effect=Effect(transition_to="build", skip_activities=("plan",)))
GATE, SURE = asking("sure", YES, LEADS)
SOFT_GATE, SOFT = asking("soft", YES, blocking=False, default_option="yes", auto_advance_ms=1000, condition=ON)
ONLY_PERSON, HUMAN = asking("human", YES, human=True)

INNER = Loop(
    id="inner", title="Inner", loops=LoopKind.DO_WHILE, body=(do("deep"), SOFT_GATE, do("deeper")), condition=ON
)
OUTER = Loop(
    id="outer",
    title="Outer",
    loops=LoopKind.FOR_EACH,
    items=("list",),
    body=(do("first"), INNER, do("last", run_condition=ON)),
    max_iterations=2,
)
PROGRAM = activities(
    Activity(
        id="plan",
        title="Plan",
        body=(do("draft"), GATE, OUTER, do("review"), do("free", required=False)),
        checkpoints=(SURE, SOFT),
        transitions=(Transition(to="build", condition=ON), Transition(to="plan", is_default=True)),
    ),
    Activity(
        id="build",
        title="Build",
        body=(do("make"), do("ship", confirmation=APPROVAL)),
        transitions=(Transition(to="ask"),),
    ),
    Activity(id="ask", title="Ask", body=(ONLY_PERSON, do("tidy")), checkpoints=(HUMAN,)),
    modes=(ProgramMode(id="quick", name="Quick", activation_variable="on", skip_activities=("ask",)),),
)


@dataclass(kw_only=True)
class World:
    """A run over a log in memory."""

    head: Head = field(default_factory=Head)
    stored: list = field(default_factory=list)
    said: list = field(default_factory=list)
    made: int = 0
    refused: int = 0

    def __post_init__(self):
        self.write([session_draft(session_id=SESSION, title="Play", parent_id=None, baseline=Preferences())])
        command = Start(goal="", context={}, baseline=Preferences(), drive=Drive.HANDED_OVER)
        self.node = None
        place = self.place()
        self.land(place, decide(program=PROGRAM, snapshot=None, command=command, place=place))

    def place(self):
        return Place(
            session_id=SESSION,
            run_id=RUN,
            node_id=self.node,
            next_node=self.new_id(),
            nonce=self.made.to_bytes(8, "big"),
            workflow_id=PROGRAM.id,
            workflow_hash="sha256:" + "0" * 64,
            at_ms=1_000_000 + 10_000 * self.made,
        )

    def new_id(self):
        self.made += 1
        return UUID(int=1000 + self.made)

    def land(self, place, decision):
        self.write(decision.drafts)
        self.node, self.snapshot = place.next_node, snapshot_from_bytes(decision.snapshot_data)
        position = self.snapshot.position
        if position.pending_item:
            assert walker.item_at(PROGRAM, position).id == position.pending_item
            key = walker.instance_key(program=PROGRAM, position=position, item_id=position.pending_item)
            assert position.pending == key

    def write(self, drafts):
        ids = [self.new_id() for _ in drafts]
        sealed = seal(
            drafts=drafts, session_id=SESSION, head=self.head, event_ids=ids, timestamp_ms=1_000_000 + self.made
        )
        self.head = sealed.head
        self.stored += [StoredEvent(index=each.index, body=each.body, digest=each.digest) for each in sealed.events]

    def move(self, move):
        """One call; a refusal leaves no trace."""
        try:
            match move:
                case EnterActivity():
                    self.enter(move)
                case Answer():
                    self.resolve(move)
                case tuple():
                    self.answer(move)
                case str():
                    self.decide(AskQuestion(checkpoint_id=move))
        except WorkrailError:
            self.refused += 1

    def enter(self, command):
        command = replace(command, manifest=command.manifest and self.numbered(command.manifest))
        done = frozenset(self.snapshot.position.done)
        decision = self.decide(command)
        cut = any(said.code is WarningCode.NOTES_TRUNCATED for node in decision.nodes for said in node.warnings)
        manifest = command.manifest or ()
        # Where a step waits for a person, the agent is told how many entries were recorded up to there.
        recorded = manifest[: decision.recorded] if decision.recorded else manifest
        for entry in recorded:
            if entry.step_id in done and any(f" {entry.step_id}" in told for told in decision.told):
                continue
            self.said += [(entry, cut)] if entry.output.strip() else []

    def numbered(self, manifest):
        """No two say the same, so that what is found was said once."""
        return tuple(
            replace(entry, output=f"{entry.output}#{self.new_id().hex}") if entry.output.strip() else entry
            for entry in manifest
        )

    def resolve(self, command):
        self.decide(command)

    def decide(self, command):
        count = len(getattr(command, "manifest", None) or ()) + 1
        place = replace(self.place(), more_nodes=tuple(self.new_id() for _ in range(count)))
        decision = decide(program=PROGRAM, snapshot=self.snapshot, command=command, place=place)
        for node in decision.nodes:
            self.land(node.place, node)
        return decision

    def answer(self, options):
        for question in self.snapshot.questions:
            option = options[-1] if question.checkpoint == "ship" else options[0]
            self.resolve(
                Answer(
                    mode=AnswerMode.OPTION,
                    request=question.request,
                    option_id=option,
                    voice=PERSON,
                    digest=question.digest,
                )
            )

    def told(self):
        view = project(event.body for event in self.stored)
        return view.runs[RUN]


def played(moves):
    world = World()
    for move in (EnterActivity(activity_id="plan"), *moves):
        world.move(move)
    return world


@PROFILE
@given(st.lists(ANY, min_size=2, max_size=20))
def test_what_a_manifest_tells_is_in_the_log_or_refused(moves):
    world = played(moves)

    run = world.told()
    written = "\n".join(output.body for output in run.outputs)
    assert [entry for entry, was_cut in world.said if entry.output not in written and not was_cut] == []
    assert max((len(output.body.encode()) for output in run.outputs), default=0) <= MAX_NOTES_BYTES
    assert verify_chain(world.stored).faults == ()
    assert len({orjson.loads(event.body)["dedupeKey"] for event in world.stored}) == len(world.stored)
    assert run.tip.node_id == world.node
