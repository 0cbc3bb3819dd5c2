"""Runs by hand in the engine alone: begun, and taken on by one action."""

from uuid import UUID

from sessions_app.engine.decide import decide
from sessions_app.engine.decisions import Place, Start, Steer
from sessions_app.engine.reply_facts import NodeTokens, ReplyFacts
from sessions_app.engine.runs import Drive
from sessions_app.engine.state import Preferences
from workrail_site.dialects.navigation.situations import situation

ITEMS = ("one", "two")


def place(number=0):
    return Place(
        session_id=UUID(int=1),
        run_id=UUID(int=2),
        node_id=UUID(int=number + 10) if number else None,
        next_node=UUID(int=number + 11),
        nonce=bytes(8),
        workflow_id="team.plan",
        workflow_hash="sha256:0",
    )


def begun(program, **variables):
    start = Start(goal="", context=variables, baseline=Preferences(), drive=Drive.STEERED)
    return decide(program=program, snapshot=None, command=start, place=place()).snapshot


def steered(program, snapshot, action):
    return decide(program=program, snapshot=snapshot, command=Steer(action=action), place=place(1)).snapshot


def situation_at(program, snapshot):
    """As the navigation dialect tells it."""
    facts = ReplyFacts(
        outcome=None,
        program=program,
        snapshot=snapshot,
        workflow_id=program.id,
        workflow_hash="",
        session_id=UUID(int=1),
        run_id=UUID(int=2),
        goal="",
        tokens=NodeTokens(state="st"),
    )
    return situation(facts)
