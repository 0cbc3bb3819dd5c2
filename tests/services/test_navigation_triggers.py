"""A run driven by hand triggers another: it waits, and goes on with what that gives back; both sessions tell the same."""

import os
from dataclasses import replace

import pytest

from sessions_app.engine.actions import AdvanceLoop, CompleteStep
from sessions_app.engine.decisions import PreferenceChange
from sessions_app.engine.journal import Journal
from sessions_app.engine.runs import Dialect
from sessions_app.engine.state import snapshot_from_bytes
from sessions_app.engine.steering_refusals import CheckpointBlockingError
from sessions_app.engine.tokens import TokenBadSignatureError, TokenInvalidFormatError, TokenKind, TokenUnknownNodeError
from sessions_app.models import CheckpointRequest, Handle, Node, Run, WorkSession
from sessions_app.selectors.integrity import verify_session
from sessions_app.selectors.standings import read_tip
from sessions_app.services.moves import runs
from sessions_app.services.store.signing_keys import read_token
from sessions_app.services.upkeep.tables import rebuild_projections
from teams_app.engine.actors import NO_TEAM, Door, Scope, system_actor
from teams_app.engine.errors import WorkrailError
from teams_app.engine.ids import Prefix, to_text
from tests import run_cast
from tests.activity_folders import activity, checkpoint, folder, step, workflow
from tests.checkpoint_cast import answer, publish_folder
from tests.key_turns import rotate_long_ago
from tests.trigger_play import (
    VARIABLES,
    act,
    child_files,
    complete,
    empty_files,
    look,
    moved,
    offered,
    parent_files,
    publish_all,
    start,
    triggered,
)
from tests.workflow_cast import NOW
from workflows_app.engine.program import Autonomy
from workflows_app.services import extensions
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db(transaction=True)

SYSTEM = system_actor(team_id=NO_TEAM, door=Door.CLI)


@pytest.fixture
def desk():
    return run_cast.make_desk()


def run_of(workflow_id):
    return Run.objects.get(workflow_id=workflow_id)


def snapshot_at_tip(workflow_id="team.parent"):
    run = run_of(workflow_id)
    return snapshot_from_bytes(read_tip(team_id=run.team_id, run_id=run.id).snapshot)


def assert_sound():
    for session in WorkSession.objects.all():
        assert [str(found) for found in verify_session(session.id)] == []
        assert rebuild_projections(actor=SYSTEM, session_id=session.id) == 0


def test_a_trigger_is_offered_with_what_the_child_begins_with(desk):
    publish_all(desk)

    value = start(desk, ticket="T-1")

    assert offered(value) == [
        {
            "action": "nav_start",
            "workflow": "team.child",
            "passContext": ["ticket"],
            "known": ["ticket"],
            "initial_variables": {"ticket": "T-1", "parent_state": value["state"]},
        }
    ]


def test_a_triggered_run_is_linked_and_its_parent_offers_nothing_but_what_it_waits_for(desk):
    publish_all(desk)
    parent = start(desk, ticket="T-1")

    child = triggered(desk, parent)

    handle = Handle.objects.get()
    assert (handle.dialect, handle.agent_id, handle.parent_activity) == (Dialect.NAVIGATION.value, "", "plan")
    assert handle.parent_run_id == run_of("team.parent").id
    assert WorkSession.objects.get(pk=handle.session_id).parent_id == run_of("team.parent").session_id
    assert snapshot_at_tip("team.child").variables == {"ticket": "T-1"}
    told = look(desk, parent["state"])
    assert told["message"].endswith("Waits for: team.child")
    assert (told["availableActions"]["required"], told["availableActions"]["optional"]) == ([], [])
    [waits] = told["availableActions"]["blocked"]
    assert (waits["workflow"], waits["state"]) == ("team.child", child["state"])
    assert_sound()


def test_whoever_reads_a_waiting_run_by_the_rail_is_told_what_it_waits_for(desk):
    """And of no call that would be refused."""
    publish_all(desk)
    parent = start(desk, ticket="T-1")
    triggered(desk, parent)

    reply = runs.rehydrate_run(actor=desk.agent, state_token=parent["state"], entropy=os.urandom, speech=RAIL)

    (waited,) = reply.value["movedElsewhere"]["waitsFor"]
    assert waited == to_text(Prefix.RUN, run_of("team.child").id)
    assert reply.value["nextCall"] is None
    text = run_cast.words_of(reply)
    assert f"Waits for: {waited}" in text
    assert "When the step is done" not in text


def test_an_action_on_a_suspended_run_is_refused_and_writes_nothing(desk):
    publish_all(desk)
    parent = start(desk)
    triggered(desk, parent)
    before = Node.objects.count()

    refused = act(desk, parent["state"], CompleteStep(step_id="draft"))

    assert (refused["success"], refused["error"]["code"]) == (False, "RUN_SUSPENDED")
    assert "Complete the triggered run" in refused["message"]
    again = act(desk, refused["state"], CompleteStep(step_id="draft"))
    assert again["error"]["code"] == "RUN_SUSPENDED"
    assert Node.objects.count() == before


def test_the_parent_goes_on_from_its_older_state_with_what_the_child_gave_back(desk):
    publish_all(desk)
    parent = start(desk, ticket="T-1")
    child = triggered(desk, parent)

    ended = complete(desk, child["state"], "do", "end")

    assert ended["complete"] is True
    assert "the run that triggered it goes on" in ended["message"]
    after = snapshot_at_tip()
    assert (after.waits_for, after.returned, after.variables) == ((), 1, {"ticket": "T-1", "outcome": "merged"})
    told = look(desk, parent["state"])
    assert told["state"] != parent["state"]
    assert told["availableActions"]["required"][0]["step"] == "draft"
    gone_on = complete(desk, parent["state"], "draft", "check")
    assert "warnings" not in gone_on
    assert snapshot_at_tip().variables["outcome"] == "merged"
    assert moved(desk, gone_on["state"], "build")["position"]["activity"]["id"] == "build"
    assert_sound()


def test_the_last_action_of_a_child_again_is_answered_the_same_and_releases_nothing_twice(desk):
    publish_all(desk)
    child = triggered(desk, start(desk))
    at = complete(desk, child["state"], "do")
    ended = complete(desk, at["state"], "end")
    nodes = Node.objects.count()

    assert complete(desk, at["state"], "end") == ended
    assert Node.objects.count() == nodes


def test_a_recorded_reply_offers_its_triggers_with_a_state_that_is_trusted_now(desk):
    publish_all(desk)
    parent = start(desk, state="no token", ticket="T-1")
    before = complete(desk, parent["state"], "draft")
    rotate_long_ago(3)

    again = complete(desk, parent["state"], "draft")

    assert again["state"] != before["state"]
    assert offered(again)[0]["initial_variables"] == {"ticket": "T-1", "parent_state": again["state"]}
    with pytest.raises(TokenBadSignatureError):
        triggered(desk, before)
    assert triggered(desk, again)["success"]


def test_what_the_agent_gives_a_child_itself_wins(desk):
    publish_all(desk)
    parent = start(desk, ticket="T-1")

    start(desk, "team.child", parent_state=parent["state"], ticket="T-2")

    assert snapshot_at_tip("team.child").variables == {"ticket": "T-2"}


def test_what_is_passed_on_need_not_be_repeated(desk):
    publish_all(desk)
    parent = start(desk, ticket="T-1")

    start(desk, "team.child", parent_state=parent["state"])

    assert snapshot_at_tip("team.child").variables == {"ticket": "T-1"}


def test_a_child_with_nothing_to_do_suspends_and_returns_at_once(desk):
    publish_folder(desk, empty_files(), "team.child")
    publish_folder(desk, parent_files(), "team.parent")
    parent = start(desk)

    child = triggered(desk, parent)

    assert child["complete"] is True
    assert "the run that triggered it goes on" in child["message"]
    assert (snapshot_at_tip().waits_for, snapshot_at_tip().variables) == ((), {"outcome": "merged"})
    assert complete(desk, parent["state"], "draft")["success"]
    assert_sound()


def test_two_children_are_both_waited_for(desk):
    publish_all(desk)
    parent = start(desk)
    first, second = triggered(desk, parent), triggered(desk, parent)

    complete(desk, first["state"], "do", "end")

    assert len(look(desk, parent["state"])["availableActions"]["blocked"]) == 1
    assert act(desk, parent["state"], CompleteStep(step_id="draft"))["error"]["code"] == "RUN_SUSPENDED"
    complete(desk, second["state"], "do", "end")
    assert snapshot_at_tip().returned == 2
    assert complete(desk, parent["state"], "draft")["success"]
    assert_sound()


def test_a_child_of_a_child_returns_to_it_and_that_to_its_own_parent(desk):
    publish_folder(desk, child_files(), "team.child")
    publish_folder(desk, parent_files(workflow_id="team.middle"), "team.middle")
    publish_folder(desk, parent_files("team.middle"), "team.parent")
    parent = start(desk)
    middle = triggered(desk, parent)
    child = triggered(desk, middle)
    assert act(desk, middle["state"], CompleteStep(step_id="draft"))["error"]["code"] == "RUN_SUSPENDED"

    complete(desk, child["state"], "do", "end")
    assert look(desk, parent["state"])["availableActions"]["required"] == []
    out = complete(desk, middle["state"], "draft", "check")
    complete(desk, moved(desk, out["state"], "build")["state"], "make")

    assert snapshot_at_tip("team.middle").position.complete
    assert snapshot_at_tip().variables == {"outcome": "merged"}
    assert complete(desk, parent["state"], "draft")["success"]
    assert_sound()


def test_a_workflow_that_the_activity_does_not_trigger_is_linked_and_not_waited_for(desk):
    publish_all(desk)
    publish_folder(desk, child_files("team.other"), "team.other")
    parent = start(desk, ticket="T-1")

    other = start(desk, "team.other", parent_state=parent["state"])

    assert Handle.objects.get().parent_run_id == run_of("team.parent").id
    assert snapshot_at_tip("team.other").variables == {}
    assert look(desk, parent["state"])["state"] == parent["state"]
    ended = complete(desk, other["state"], "do", "end")
    assert "goes on" not in ended["message"]
    assert snapshot_at_tip().returned == 0
    assert_sound()


def test_a_trigger_by_an_alias_is_waited_for_as_well(desk):
    publish_folder(desk, child_files(), "team.child")
    extensions.set_alias(actor=desk.person, alias="team.errand", workflow_id="team.child", now=NOW)
    publish_folder(desk, parent_files("team.errand"), "team.parent")
    parent = start(desk)

    start(desk, "team.child", parent_state=parent["state"])

    assert len(snapshot_at_tip().waits_for) == 1


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("nonsense", TokenInvalidFormatError),
        ({"a": 1}, TokenInvalidFormatError),
        ("st.v1." + "0" * 42, TokenBadSignatureError),
    ],
)
def test_a_parent_state_that_is_no_state_is_refused_and_begins_nothing(desk, text, error):
    publish_all(desk)

    with pytest.raises(error):
        start(desk, "team.child", parent_state=text)

    assert Run.objects.count() == 0


def test_another_teams_state_is_no_parent(desk):
    publish_all(desk)
    parent = start(desk)

    with pytest.raises(TokenUnknownNodeError):
        start(desk, "team.child", parent_state=stranger_state(desk))

    assert Run.objects.count() == 2
    assert look(desk, parent["state"])["availableActions"]["required"]


def stranger_state(desk):
    """A state of a run of another team."""
    author = replace(desk.person, team_id=desk.stranger.team_id)
    there = replace(desk, person=author, agent=desk.stranger)
    publish_folder(there, child_files("team.theirs"), "team.theirs")
    return start(there, "team.theirs")["state"]


def test_nothing_is_triggered_while_a_question_waits(desk):
    publish_folder(desk, child_files(), "team.child")
    publish_folder(desk, parent_files(checkpoints=[checkpoint("sure", required=True)]), "team.parent")
    parent = start(desk)
    assert parent["checkpoint"]["id"] == "sure"

    with pytest.raises(CheckpointBlockingError):
        start(desk, "team.child", parent_state=parent["state"])

    assert Run.objects.count() == 1


def test_a_persons_answer_that_ends_a_child_lets_its_parent_go_on(desk):
    ends = {"id": "yes", "label": "Yes", "effect": {"transitionTo": "end-workflow"}}
    ask = checkpoint("sure", required=True, authority="human", options=[ends])
    files = folder(
        activity("only", checkpoints=[ask], entryActions=[{"action": "set", "target": "outcome", "value": "agreed"}]),
        about=workflow(id="team.child", title="Child", initialActivity="only", variables=VARIABLES),
    )
    publish_folder(desk, files, "team.child")
    publish_folder(desk, parent_files(), "team.parent")
    parent = start(desk)
    child = triggered(desk, parent)
    assert child["checkpoint"]["id"] == "sure"

    answer(desk.person, CheckpointRequest.objects.get(), "yes")

    assert run_of("team.child").status.startswith("complete")
    assert (snapshot_at_tip().waits_for, snapshot_at_tip().variables) == ((), {"outcome": "agreed"})
    assert complete(desk, parent["state"], "draft")["success"]
    assert_sound()


def test_a_state_before_the_trigger_of_an_earlier_branch_suspends_that_branch(desk):
    publish_all(desk)
    parent = start(desk)
    complete(desk, parent["state"], "draft")

    child = triggered(desk, parent)

    assert snapshot_at_tip().position.done == ()
    complete(desk, child["state"], "do", "end")
    assert snapshot_at_tip().returned == 1
    assert_sound()


def test_a_change_of_the_mode_while_a_run_waits_keeps_it_waiting(desk):
    publish_all(desk)
    parent = start(desk)
    child = triggered(desk, parent)
    never_stop = PreferenceChange(autonomy=Autonomy.NEVER_STOP)
    runs.change_preferences(
        actor=desk.person, run_id=run_of("team.parent").id, change=never_stop, now=NOW, entropy=os.urandom, speech=RAIL
    )

    assert act(desk, parent["state"], CompleteStep(step_id="draft"))["error"]["code"] == "RUN_SUSPENDED"
    complete(desk, child["state"], "do", "end")

    assert complete(desk, parent["state"], "draft")["success"]
    assert snapshot_at_tip().preferences.autonomy is Autonomy.NEVER_STOP
    assert_sound()


def test_a_step_of_the_activity_triggers_as_well(desk):
    publish_folder(desk, child_files(), "team.child")
    steps = [step("draft", triggers=[{"workflow": "team.child"}]), step("check")]
    about = workflow(id="team.parent", title="Parent", initialActivity="plan", variables=VARIABLES)
    publish_folder(desk, folder(activity("plan", steps=steps), about=about), "team.parent")
    parent = start(desk)

    child = triggered(desk, parent)

    assert len(snapshot_at_tip().waits_for) == 1
    complete(desk, child["state"], "do", "end")
    assert complete(desk, parent["state"], "draft")["success"]


def each_ticket(**more):
    """A parent whose loop goes through the tickets, and triggers in each round."""
    each = {"id": "each", "name": "Each", "type": "forEach", "variable": "ticket", "over": "tickets"}
    loop = {**each, "steps": [step("hand-out", **more)]}
    files = parent_files(loops=[loop])
    return {**files, "activities/01-plan.toon": files["activities/01-plan.toon"].replace(b"draft", b"first")}


def in_round_two(desk, **variables):
    publish_folder(desk, child_files(), "team.child")
    publish_folder(desk, each_ticket(), "team.parent")
    begun = complete(desk, start(desk, tickets=["T-1", "T-2"], **variables)["state"], "first", "check")
    first = act(desk, begun["state"], AdvanceLoop(loop_id="each"))
    return act(desk, complete(desk, first["state"], "hand-out")["state"], AdvanceLoop(loop_id="each"))


@pytest.mark.parametrize("variables", [{}, {"ticket": "T-0"}])
def test_a_run_that_a_round_triggers_is_given_the_item_at_hand(desk, variables):
    parent = in_round_two(desk, **variables)

    (entry,) = offered(parent)
    assert (entry["known"], entry["initial_variables"]["ticket"]) == (["ticket"], "T-2")
    start(desk, "team.child", parent_state=parent["state"])
    assert snapshot_at_tip("team.child").variables == {"ticket": "T-2"}


@pytest.mark.parametrize("variables", [{}, {"ticket": "T-0"}])
def test_the_item_of_a_round_is_not_the_childs_to_give_back(desk, variables):
    parent = in_round_two(desk, **variables)
    child = triggered(desk, parent)

    complete(desk, child["state"], "do", "end")

    tip = snapshot_at_tip()
    assert {**tip.variables, "ticket": tip.variables.get("ticket")} == {
        "ticket": variables.get("ticket"),
        "tickets": ["T-1", "T-2"],
        "outcome": "merged",
    }
    assert_sound()


@pytest.mark.parametrize("goes_on_by", ["an action", "another child"])
def test_a_branch_that_waits_for_a_run_goes_on_when_that_has_ended_while_another_branch_was_the_tip(desk, goes_on_by):
    publish_all(desk)
    parent = start(desk, ticket="T-1")
    other_branch = complete(desk, parent["state"], "draft")
    child = triggered(desk, parent)
    first = run_of("team.child").id
    waiting = look(desk, parent["state"])
    complete(desk, other_branch["state"], "check")
    complete(desk, child["state"], "do", "end")
    assert snapshot_at_tip().waits_for == ()
    assert look(desk, waiting["state"])["availableActions"]["required"][0]["action"] == "complete_step"

    if goes_on_by == "an action":
        complete(desk, waiting["state"], "draft")
        assert snapshot_at_tip().waits_for == ()
    else:
        start(desk, "team.child", ticket="T-2", parent_state=waiting["state"])
        second = Run.objects.filter(workflow_id="team.child").exclude(pk=first).get()
        assert snapshot_at_tip().waits_for == (second.id.hex,)
    assert snapshot_at_tip().variables["outcome"] == "merged"
    assert_sound()


@pytest.mark.parametrize("stops", ["cancel_run", "pause_run"])
def test_what_a_person_has_stopped_stays_so_on_a_branch_that_waits_for_a_run_that_has_ended(desk, stops):
    from sessions_app.services.people import stops as by_people

    publish_all(desk)
    waiting = ended_elsewhere(desk, ticket="T-1")
    run = run_of("team.parent")
    getattr(by_people, stops)(actor=desk.person, run_id=run.id, reason="Enough.", now=NOW, entropy=os.urandom)
    before = Run.objects.filter(pk=run.id).values().get(), Node.objects.count()

    with pytest.raises(WorkrailError, match="Enough"):
        assert act(desk, waiting, CompleteStep(step_id="draft")) == {}

    assert (Run.objects.filter(pk=run.id).values().get(), Node.objects.count()) == before
    assert_sound()


def test_a_key_that_reads_no_workflows_ends_a_run_that_an_alias_triggered(desk):
    publish_folder(desk, child_files(), "team.child")
    extensions.set_alias(actor=desk.person, alias="team.errand", workflow_id="team.child", now=NOW)
    publish_folder(desk, parent_files("team.errand"), "team.parent")
    parent = start(desk, ticket="T-1")
    child = triggered(desk, parent)
    drives = replace(desk.agent, scopes=frozenset({Scope.RUNS_READ, Scope.RUNS_WRITE}))

    assert complete(replace(desk, agent=drives), child["state"], "do", "end")["complete"]

    assert (snapshot_at_tip().waits_for, snapshot_at_tip().variables["outcome"]) == ((), "merged")
    assert look(replace(desk, agent=drives), parent["state"])["availableActions"]["required"]


def ended_elsewhere(desk, **variables):
    """The state of a branch that waits for a run which has ended while the parent stood on another branch."""
    parent = start(desk, **variables)
    other_branch = complete(desk, parent["state"], "draft")
    child = triggered(desk, parent)
    waiting = look(desk, parent["state"])["state"]
    complete(desk, other_branch["state"], "check")
    complete(desk, child["state"], "do", "end")
    return waiting


def test_a_branch_whose_run_has_ended_meanwhile_is_told_by_the_rail_as_one_to_go_on_with(desk):
    publish_all(desk)
    waiting = ended_elsewhere(desk, ticket="T-1")

    told = run_cast.rehydrate(desk.agent, {"stateToken": waiting}).value

    assert "movedElsewhere" not in told
    assert told["nextCall"]["params"]["ackToken"] == told["ackToken"]
    assert run_cast.advanced(desk.agent, told)["kind"] == "ok"
    assert_sound()


def noted(desk, waiting):
    run_cast.bookmark(desk.agent, run_cast.rehydrate(desk.agent, {"stateToken": waiting}).value)


def preferred(desk, waiting):
    from sessions_app.services.people.preferring import prefer_branch

    token, _ = read_token(kind=TokenKind.STATE, text=waiting)
    run = run_of("team.parent")
    prefer_branch(actor=desk.person, run_id=run.id, node_id=token.node_id, now=NOW, entropy=os.urandom)


@pytest.mark.parametrize("marks", [noted, preferred])
def test_a_branch_that_gets_a_note_waits_for_no_run_that_has_ended(desk, marks):
    publish_all(desk)
    waiting = ended_elsewhere(desk, ticket="T-1")

    marks(desk, waiting)

    assert snapshot_at_tip().waits_for == ()
    tip = run_of("team.parent").tip_node_id
    assert not Node.objects.filter(parent_id=tip).exclude(kind="checkpoint").exists()
    assert look(desk, waiting)["availableActions"]["required"][0]["step"] == "draft"
    assert_sound()
    gone_on = complete(desk, waiting, "draft")
    assert snapshot_at_tip().variables["outcome"] == "merged"
    assert gone_on["availableActions"]["required"][0]["step"] == "check"
    assert_sound()


def test_a_branch_is_preferred_with_the_end_that_it_waits_for_or_not_at_all(desk, monkeypatch):
    publish_all(desk)
    waiting = ended_elsewhere(desk, ticket="T-1")
    tip = run_of("team.parent").tip_node_id
    before = Node.objects.count()

    def die(_journal, _voice):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "preferred", die)
        with pytest.raises(KeyboardInterrupt):
            preferred(desk, waiting)

    assert (run_of("team.parent").tip_node_id, Node.objects.count()) == (tip, before)
    assert_sound()
    preferred(desk, waiting)
    assert Node.objects.count() == before + 2
    assert_sound()


def test_a_run_that_a_branch_triggers_is_given_what_an_earlier_one_gave_back_there(desk):
    publish_folder(desk, child_files(), "team.child")
    files = parent_files()
    files["activities/01-plan.toon"] = files["activities/01-plan.toon"].replace(b"ticket", b"outcome")
    publish_folder(desk, files, "team.parent")
    waiting = ended_elsewhere(desk)
    before = set(Run.objects.values_list("id", flat=True))

    start(desk, "team.child", parent_state=waiting)

    second = Run.objects.exclude(id__in=before).get()
    tip = read_tip(team_id=second.team_id, run_id=second.id)
    assert snapshot_from_bytes(tip.snapshot).variables == {"outcome": "merged"}
    assert_sound()
