"""Where a person has paused a run and let it go on again, whoever holds the tokens of that place works on a run that goes on."""

from dataclasses import replace

import pytest
from django.utils import timezone

from sessions_app.models import Node, Run
from sessions_app.services.people.forking import hand_out_node
from sessions_app.services.upkeep.verification import verify_all
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.ids import Prefix, to_text
from tests.gate_play import nav_start, nav_step, rail_ack, rail_read, rail_start, said
from tests.run_cast import notes_free, published
from tests.run_doors import V1

pytestmark = pytest.mark.django_db(transaction=True)

WORKFLOW = "team.pausable"
SYSTEM = system_actor(team_id=NO_TEAM, door=Door.TASK)


def act(doors, floor, name, **body):
    floor.clock.shift(1)
    told = doors.person.post(f"{V1}/runs/{to_text(Prefix.RUN, Run.objects.get().id)}/{name}", body)
    assert told.status_code in {200, 204}, told.content
    floor.clock.shift(1)


class ByNavigation:
    """An agent that looks where the run stands while it is paused, which gives it that place's state."""

    def __init__(self, doors, floor):
        self.floor = floor
        self.state = nav_step(floor, nav_start(floor, WORKFLOW)["state"], "first")["state"]

    def take_hold(self):
        self.held = said(self.floor.navigation.raw("nav_situation", state=self.state))["state"]

    def go_on(self):
        return nav_step(self.floor, self.state, "second")["complete"]

    def go_on_from_the_pause(self):
        return nav_step(self.floor, self.held, "second")["complete"]

    def look_at_the_pause(self):
        return said(self.floor.navigation.raw("nav_situation", state=self.held))


class ByRail:
    """An agent to whom a person has handed the place of the pause."""

    def __init__(self, doors, floor):
        self.doors, self.floor = doors, floor
        self.at = rail_ack(floor, rail_start(floor, WORKFLOW))

    def take_hold(self):
        operator = replace(self.doors.desk.person, door=Door.STUDIO)
        place = Run.objects.get().tip_node_id
        self.held = {"stateToken": hand_out_node(actor=operator, node_id=place, now=timezone.now())}

    def go_on(self):
        return rail_ack(self.floor, self.at)["isComplete"]

    def go_on_from_the_pause(self):
        return rail_ack(self.floor, rail_read(self.floor, self.held))["isComplete"]

    def look_at_the_pause(self):
        return rail_read(self.floor, self.held)


@pytest.mark.parametrize("made", [ByNavigation, ByRail])
@pytest.mark.parametrize("is_done_elsewhere", [False, True], ids=["while it goes on", "when it is complete"])
def test_the_place_of_a_pause_is_one_like_any_other_once_the_run_goes_on(doors, doored, made, is_done_elsewhere):
    published(doors.desk, notes_free("first"), notes_free("second"), workflow_id=WORKFLOW)
    agent = made(doors, doored)
    act(doors, doored, "pause", reason="Wait.")
    agent.take_hold()
    act(doors, doored, "resume")
    if is_done_elsewhere:
        assert agent.go_on()
        doored.clock.shift(1)

    looked = agent.look_at_the_pause()
    assert not looked.get("stopped"), looked
    assert agent.go_on_from_the_pause()

    run = Run.objects.get()
    assert (run.status, run.completed_at is None) == ("complete", False)
    assert Node.objects.filter(pending_key="").count() == 1 + is_done_elsewhere
    assert list(verify_all(actor=SYSTEM)) == []
