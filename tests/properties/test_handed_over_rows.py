"""The same calls on a real database: a refusal leaves no trace, a replay is the same bytes, and every session verifies."""

import os
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sessions_app.engine.decisions import Answer, EnterActivity
from sessions_app.engine.runs import Dialect
from sessions_app.models import CheckpointRequest, Event, Output
from sessions_app.selectors.integrity import verify_session
from sessions_app.services.moves import handed_over
from sessions_app.services.moves.session_tokens import read_held
from sessions_app.services.people import checkpoints
from sessions_app.services.upkeep.tables import rebuild_projections
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import WorkrailError
from tests.activity_folders import activity, checkpoint, equals, folder, step, workflow
from tests.checkpoint_cast import publish_folder
from tests.handed_over_moves import ANY
from tests.handover_cast import begun, call
from tests.run_cast import make_desk
from tests.workflow_cast import NOW

pytestmark = pytest.mark.django_db(transaction=True)

PROFILE = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
SYSTEM = system_actor(team_id=NO_TEAM, door=Door.CLI)
WORKFLOW = "team.random"
SURE = [
    {"id": "yes", "label": "Yes", "effect": {"setVariable": {"on": True}}},
    {"id": "leads", "label": "Elsewhere", "effect": {"transitionTo": "build", "skipActivities": ["plan"]}},
]


def files():
    """As the program of the same calls in memory, in the words of a folder."""
    outer = {
        "id": "outer",
        "name": "Outer",
        "type": "forEach",
        "variable": "item",
        "over": "list",
        "maxIterations": 2,
        "steps": [
            step("first"),
            step("deep", checkpoint="soft"),
            step("last", condition=equals("on", value=True)),
        ],
    }
    plan = activity(
        "plan",
        checkpoints=[
            checkpoint("sure", options=SURE),
            checkpoint(
                "soft", blocking=False, defaultOption="yes", autoAdvanceMs=1_000, condition=equals("on", value=True)
            ),
        ],
        steps=[step("draft", checkpoint="sure"), step("review"), step("free", required=False)],
        loops=[outer],
        transitions=[{"to": "build", "condition": equals("on", value=True)}, {"to": "plan", "isDefault": True}],
    )
    return folder(
        plan,
        activity("build", steps=[step("make"), step("ship")], transitions=[{"to": "ask"}]),
        activity("ask", checkpoints=[checkpoint("human", human=True)], steps=[step("tidy", checkpoint="human")]),
        about=workflow(
            id=WORKFLOW,
            initialActivity="plan",
            variables=[{"name": "on", "type": "boolean", "defaultValue": False}],
            modes=[{"id": "quick", "name": "Quick", "activationVariable": "on", "skipActivities": ["ask"]}],
        ),
    )


class World:
    """A session of a dialect, and every token that it was ever handed."""

    def __init__(self, desk, dialect):
        self.desk = desk
        self.dialect = dialect
        self.now = NOW
        held = begun(desk, dialect=dialect, workflow_id=WORKFLOW).held
        self.handle = held.handle
        self.tokens = [held.token]

    def move(self, move, age):
        """One call with a token that is so many calls old."""
        self.now += timedelta(seconds=5)
        token = self.tokens[max(0, len(self.tokens) - 1 - age)]
        before = self.counts()
        try:
            reply = self.made(move, token)
        except WorkrailError:
            assert self.counts() == before
            return
        if reply is None:
            return
        self.tokens.append(reply.value["session_token"])
        after = self.counts()
        assert self.made(move, token).data == reply.data or after == before
        assert self.counts() == after

    def made(self, move, token):
        at = call(self.desk, token, dialect=self.dialect, now=self.now)
        match move:
            case EnterActivity():
                asks = self.dialect is Dialect.SESSION
                return handed_over.enter_activity(at, replace(move, asks_on_entry=asks)).reply
            case Answer():
                told = {"checkpoint_id": move.checkpoint_id, "mode": move.mode, "option_id": move.option_id}
                return handed_over.respond_checkpoint(at, **told).reply
            case str():
                return handed_over.yield_checkpoint(at, checkpoint_id=move).reply
        return self.person(move)

    def person(self, options):
        """Answers the question that waits longest."""
        open_now = CheckpointRequest.objects.filter(run_id=self.handle.run_id, state="open")
        for row in open_now.order_by("event_index", "id")[:1]:
            checkpoints.answer_checkpoint(
                actor=self.desk.person,
                request_id=row.id,
                option_id=options[0],
                digest=row.digest,
                reason="",
                now=self.now,
                entropy=os.urandom,
            )

    def counts(self):
        of = {"session_id": self.handle.session_id}
        return Event.objects.filter(**of).count(), Output.objects.filter(**of).count()


@pytest.fixture
def desk():
    desk = make_desk()
    publish_folder(desk, files(), WORKFLOW)
    return desk


@pytest.mark.parametrize("dialect", [Dialect.SESSION, Dialect.ORCHESTRATOR])
@PROFILE
@given(moves=st.lists(st.tuples(ANY, st.integers(0, 3)), min_size=2, max_size=15))
def test_every_session_holds_together_whatever_is_called_with_whichever_token(desk, dialect, moves):
    world = World(desk, dialect)

    for move, age in [(EnterActivity(activity_id="plan"), 0), *moves]:
        world.move(move, age)

    session_id = world.handle.session_id
    assert [str(finding) for finding in verify_session(session_id)] == []
    assert rebuild_projections(actor=SYSTEM, session_id=session_id) == 0
    read_held(actor=desk.agent, token=world.tokens[0], dialect=dialect)
