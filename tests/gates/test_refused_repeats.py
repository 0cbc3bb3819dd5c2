"""The same call twice at once, and what was so when the first had read is not so any more: both are answered what was recorded."""

import pytest

from sessions_app.models import Run
from sessions_app.services.moves import acknowledging, beginning, moving
from sessions_app.services.upkeep.verification import verify_all
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.ids import Prefix, to_text
from tests.checkpoint_cast import publish_folder
from tests.gate_play import asking_folder, nav_start, nav_step, rail_ack, rail_at_gate, relayed
from tests.run_cast import notes_free, published
from tests.run_doors import V1
from tests.trigger_play import child_files, parent_files
from tests.workflow_cast import NOW
from workflows_app.services import publishing

pytestmark = pytest.mark.django_db(transaction=True)

SYSTEM = system_actor(team_id=NO_TEAM, door=Door.TASK)


@pytest.fixture
def answered_twice(monkeypatch):
    """A call reads; then others act; then its twin is done; then it goes on with what it has read."""

    def answers(call, *, module, reads, others=lambda: None, afterwards=lambda: None):
        read, twins = getattr(module, reads), []

        def interrupted(*args, **kwargs):
            found = read(*args, **kwargs)
            if not twins:
                twins.append(None)
                others()
                twins[0] = call()
                afterwards()
            return found

        monkeypatch.setattr(module, reads, interrupted)
        first = call()
        assert first == twins[0]
        assert list(verify_all(actor=SYSTEM)) == []
        return first

    return answers


def test_an_answer_that_came_too_early_is_told_what_its_twin_was_told_in_time(doors, doored, answered_twice):
    asking_folder(doors.desk, authority="relayed")
    asked = rail_at_gate(doored, "team.folder")
    assert asked["pending"]["stepId"] == "agreed"

    told = answered_twice(
        lambda: rail_ack(doored, asked, artifacts=[relayed("yes")]),
        module=acknowledging,
        reads="read_standing",
        others=doored.read_it,
    )

    assert told["pending"]["stepId"] == "after"


def test_an_action_on_a_run_that_waited_is_told_what_its_twin_was_told_later(doors, doored, answered_twice):
    publish_folder(doors.desk, child_files(), "team.child")
    publish_folder(doors.desk, parent_files(), "team.parent")
    state = nav_start(doored, "team.parent", ticket="T-1")["state"]
    nav_start(doored, "team.child", parent_state=state)
    child = Run.objects.get(workflow_id="team.child").id

    def cancel():
        path = f"{V1}/runs/{to_text(Prefix.RUN, child)}/cancel"
        assert doors.person.post(path, {"reason": "Enough."}).status_code == 204
        doored.clock.shift(1)

    told = answered_twice(lambda: nav_step(doored, state, "draft"), module=moving, reads="read_tip", others=cancel)

    assert told["success"]


def test_a_named_start_is_answered_again_although_its_workflow_was_retired_meanwhile(doors, answered_twice):
    published(doors.desk, notes_free("first"), workflow_id="team.twice")

    def start():
        asked = {"workflowId": "team.twice", "goal": "Try it"}
        return doors.agent.post(f"{V1}/runs", asked, **{"Idempotency-Key": "only-once"}).json()

    told = answered_twice(
        start,
        module=beginning,
        reads="read_recorded",
        afterwards=lambda: publishing.retire_workflow(actor=doors.desk.person, workflow_id="team.twice", now=NOW),
    )

    assert start() == told
    assert Run.objects.count() == 1
