"""A person says with which branch a run goes on: there it stands, whoever finds it again begins there, and the log tells it."""

import os

import pytest

from sessions_app.engine.checkpoints import CheckpointState
from sessions_app.engine.resume_signals import ResumeQuery
from sessions_app.engine.tokens import TokenKind
from sessions_app.models import CheckpointRequest, Node, Run
from sessions_app.services.moves.resume import resume_sessions
from sessions_app.services.people import preferring, stops
from sessions_app.services.store.signing_keys import read_token
from sessions_app.services.upkeep.tables import rebuild_projections
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import (
    ForbiddenError,
    HumanRequiredError,
    InvalidInputError,
    NotFoundError,
    PreconditionFailedError,
)
from teams_app.engine.ids import Prefix, to_text
from teams_app.models import AuditEntry
from tests import run_cast
from tests.run_cast import (
    advanced,
    assert_healthy,
    begin,
    bookmark,
    events,
    plain_steps,
    rehydrate,
    run_id,
    session_id,
    soon,
)
from tests.step_documents import step

pytestmark = pytest.mark.django_db(transaction=True)


SYSTEM = system_actor(team_id=NO_TEAM, door=Door.CLI)


@pytest.fixture
def desk():
    return run_cast.make_desk()


def forked(desk, *steps):
    """Two branches from the second step; the run stands on the one that was made last."""
    first = begin(desk, *(steps or plain_steps(4)))
    one = advanced(desk.agent, first, "At once.")
    other = advanced(desk.agent, rehydrate(desk.agent, first).value, "Behind a flag.")
    assert tip(one) == node(other)
    return one, other


def node(value):
    return read_token(kind=TokenKind.STATE, text=value["stateToken"])[0].node_id


def tip(value):
    return Run.objects.get(pk=run_id(value)).tip_node_id


def prefer(actor, value, reason="", **fields):
    at = {"run_id": run_id(value), "node_id": node(value), **fields}
    preferring.prefer_branch(actor=actor, **at, reason=reason, now=soon(5), entropy=os.urandom)


def test_the_run_stands_on_the_branch_that_a_person_prefers(desk):
    one, other = forked(desk)

    prefer(desk.person, one, "No flag to clean up.")

    assert tip(one) == node(one)
    (told,) = events(one, "branch_preferred")
    assert told["data"] == {"by": desk.person.id, "reason": "No flag to clean up."}
    assert list(AuditEntry.objects.filter(action="run.branch_preferred").values_list("target", flat=True)) == [
        to_text(Prefix.RUN, run_id(one))
    ]
    assert "A person prefers this branch. No flag to clean up." in str(rehydrate(desk.agent, one).value)
    assert_healthy(one)
    assert rebuild_projections(actor=SYSTEM, session_id=session_id(one)) == 0
    advanced(desk.agent, other, "Went on.")
    assert tip(one) != node(one)


def test_agents_that_look_for_the_run_begin_on_the_preferred_branch(desk):
    one, _ = forked(desk)

    prefer(desk.person, one)

    asked = ResumeQuery(run_id=to_text(Prefix.RUN, run_id(one)))
    (found,) = resume_sessions(actor=desk.agent, query=asked).candidates
    assert node({"stateToken": found.state_token}) == node(one)


def test_its_question_waits_again_and_that_of_the_other_branch_no_more(desk):
    asked = step("release", requireConfirmation={"kind": "human_approval"})
    one, other = forked(desk, *plain_steps(1), asked)
    one, other = advanced(desk.agent, one, "Ready."), advanced(desk.agent, other, "Ready as well.")
    states = dict(CheckpointRequest.objects.order_by("event_index").values_list("id", "state"))
    assert list(states.values()) == [CheckpointState.WITHDRAWN, CheckpointState.OPEN]

    prefer(desk.person, one)

    after = dict(CheckpointRequest.objects.order_by("event_index").values_list("id", "state"))
    assert list(after.values()) == [CheckpointState.OPEN, CheckpointState.WITHDRAWN]
    assert Run.objects.get().status == "waiting"
    assert_healthy(one)


def test_who_may_not_and_what_cannot_be_preferred(desk):
    one, other = forked(desk)
    bookmark(desk.agent, other)
    aside = Node.objects.get(kind="checkpoint").id
    another = begin(desk, *plain_steps(2), workflow_id="team.other")
    before = events(one)
    for refused, actor, value, fields in (
        (HumanRequiredError, desk.agent, one, {}),
        (ForbiddenError, desk.viewer, one, {}),
        (PreconditionFailedError, desk.person, other, {}),
        (NotFoundError, desk.person, one, {"run_id": run_id(another)}),
        (NotFoundError, desk.person, one, {"node_id": run_id(one)}),
        (InvalidInputError, desk.person, other, {"node_id": aside}),
    ):
        with pytest.raises(refused):
            prefer(actor, value, **fields)
    stops.pause_run(actor=desk.person, run_id=run_id(one), reason="Lunch.", now=soon(4), entropy=os.urandom)
    with pytest.raises(Exception, match="paused this run"):
        prefer(desk.person, one)

    assert [event for event in events(one) if event["kind"] == "branch_preferred"] == []
    assert events(one)[: len(before)] == before


def test_by_rest_people_prefer_and_agents_are_refused():
    from tests import run_doors
    from tests.run_doors import V1, begin_run, go_on

    doors = run_doors.open_doors()
    first = begin_run(doors)
    one = go_on(doors.agent, first).json()
    again = doors.agent.post(f"{V1}/runs/rehydrate", {"stateToken": first["stateToken"]}).json()
    go_on(doors.agent, again, "Another way.")
    named = to_text(Prefix.NODE, node(one))
    place, run = f"{V1}/runs/{one['session']['runId']}/prefer", f"{V1}/runs/{one['session']['runId']}"

    by_agent = doors.agent.post(place, {"node": named})
    by_person = doors.person.post(place, {"node": named, "reason": "Simpler."})

    assert (by_agent.status_code, by_agent.json()["code"]) == (403, "HUMAN_REQUIRED")
    assert by_person.status_code == 204
    assert named in doors.agent.get(run).content.decode()
    assert doors.stranger.post(place, {"node": named}).status_code in {403, 404}
    assert doors.person.post(place, {"node": "node_x"}).status_code == 404


def test_a_bundle_takes_the_preference_with_it(desk):
    from sessions_app.selectors.integrity import verify_session
    from tests.bundle_play import export, take_in

    one, _ = forked(desk)
    prefer(desk.person, one, "Simpler.")
    data = export(desk.owner, session_id(one))

    (taken,) = take_in(desk.owner, data).session_ids

    assert verify_session(taken) == []
    standing = [Node.objects.get(pk=run.tip_node_id) for run in Run.objects.order_by("started_at", "id")]
    assert len({(at.event_index, at.pending_key) for at in standing}) == 1
    assert node(one) in {at.id for at in standing}
