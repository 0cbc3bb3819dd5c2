"""Histories that no call makes: a run behind an approval, judged by the program that asks for it."""

from uuid import UUID

import msgspec
import pytest

from sessions_app.engine.checkpoints import APPROVE, Authority
from sessions_app.engine.gates_passed import Given, Stood, asks_people, passed_gates
from sessions_app.engine.runs import StopKind
from sessions_app.engine.state import Snapshot, Stop
from tests.engine_play import BALANCED, NEVER_STOP, WAIVED, activities, asking, built, do, played, steps_program
from tests.step_documents import step
from tests.walking import loop
from workflows_app.engine.program import (
    Activity,
    Compare,
    Confirmation,
    ConfirmationKind,
    Effect,
    Operator,
    Option,
)
from workflows_app.engine.walks import Frame, Position

FREE = steps_program(step("gated"), step("after"))
GUARDED = steps_program(step("gated", requireConfirmation={"kind": "human_approval"}), step("after"))


def stood(stand, **changes):
    return Stood(
        node_id=stand.node_id,
        parent_id=stand.place.node_id,
        snapshot=msgspec.structs.replace(stand.snapshot, **changes),
    )


def named(*stands, answers=(), program=GUARDED):
    nodes = [each if isinstance(each, Stood) else stood(each) for each in stands]
    return [(each.node_id, each.gate) for each in passed_gates(program=program, nodes=nodes, answers=answers)]


def answer(at, *, instance="gated", option=APPROVE, authority=Authority.HUMAN):
    return Given(node_id=at.node_id, checkpoint="gated", instance=instance, option=option, authority=authority)


def test_a_program_says_whether_it_asks_people():
    assert (asks_people(FREE), asks_people(GUARDED)) == (False, True)


def test_only_a_persons_approval_of_this_very_step_takes_a_run_past_it():
    play, at = played(FREE)
    then = play.advance(at)
    others = [
        answer(then, authority=Authority.RELAYED),
        answer(then, authority=Authority.DEFAULT),
        answer(then, option="send_back"),
        answer(then, instance="after"),
    ]

    assert named(at, then) == named(at, then, answers=others) == [(then.node_id, "gated")]
    assert named(at, then, answers=[answer(then)]) == []


def test_an_approval_holds_on_its_branch_and_for_what_follows_it_there():
    play, at = played(FREE)
    approved = play.change(at, BALANCED)
    then, beside = play.advance(approved), play.advance(at)

    assert named(at, approved, then, beside, answers=[answer(approved)]) == [(beside.node_id, "gated")]


@pytest.mark.parametrize(("mode", "found"), [(WAIVED, 0), (NEVER_STOP, 1)], ids=["a person's", "an agent's"])
def test_only_a_person_who_had_the_run_never_stop_waived_it(mode, found):
    play, at = played(FREE, preferences=mode)

    assert len(named(at, play.advance(at))) == found


def test_what_an_attempt_has_set_does_not_lift_the_question_that_it_was_blocked_by():
    asks = {"kind": "human_approval", "condition": {"var": "risk", "not_equals": "none"}}
    program = steps_program(step("gated", requireConfirmation=asks), step("after"))
    play, at = played(FREE)
    blocked, claimed = play.change(at, BALANCED), {"risk": "none"}
    then = play.advance(blocked)
    lifted, past = stood(blocked, variables=claimed), stood(then, variables=claimed)

    assert named(at, lifted, past, program=program) == [(then.node_id, "gated")]
    assert named(stood(at, variables=claimed), lifted, past, program=program) == []
    assert named(at, lifted, past, program=program, answers=[answer(then)]) == []


def test_a_run_that_a_person_stopped_went_nowhere():
    play, at = played(FREE)
    then = play.advance(at)
    stop = Stop(kind=StopKind.CANCELLED, by="person_alice", reason="Enough.")

    assert named(at, stood(then, stop=stop)) == []


def test_a_run_that_has_not_gone_on_is_past_nothing():
    play, at = played(FREE)

    assert named(at, play.change(at, BALANCED)) == []


# Places that were made by hand, in an activity that asks people between its steps

ELSEWHERE = Option(id="elsewhere", label="Elsewhere", effect=Effect(transition_to="other"))
GO_ON = Option(id="go-on", label="Go on")
IS_ON = Compare(path=("on",), operator=Operator.EQUALS, value=True)


def asking_between(*options, condition=None, human=True):
    gate, checkpoint = asking("agreed", *(options or (GO_ON,)), human=human, condition=condition)
    main = Activity(id="main", title="Main", body=(do("first"), gate, do("last")), checkpoints=(checkpoint,))
    return activities(main, Activity(id="other", title="Other", body=(do("far"),)))


def went(*places, program=None, variables=(), answers=(), said=None, **fields):
    """What is named of a run that stood at these places, one after the other; `said` are answers that its state keeps."""
    told = [*variables, *({} for _ in places)]
    nodes = [
        Stood(
            node_id=UUID(int=number + 1),
            parent_id=UUID(int=number) if number else None,
            snapshot=Snapshot(position=place, variables=told[number], answers=said or {}, **fields),
        )
        for number, place in enumerate(places)
    ]
    return [each.gate for each in passed_gates(program=program or asking_between(), nodes=nodes, answers=answers)]


def at(item, *done, activity="main", **fields):
    return Position(activity=activity, pending=f"{activity}@0::{item}", pending_item=item, done=done, **fields)


ASKED = at("ask-agreed", "first")
AFTER_IT = at("last", "first", "ask-agreed")
ENDED = Position(activity="main", done=("first",), complete=True)


def test_a_question_for_people_is_passed_where_it_was_pending_and_where_it_never_was():
    assert went(at("first"), ASKED, AFTER_IT) == ["ask-agreed"]
    assert went(at("first"), at("last", "first")) == ["ask-agreed"]
    assert went(at("first"), ENDED) == went(ASKED, ENDED) == ["ask-agreed"]
    assert went(at("first"), at("far", activity="other")) == went(ASKED, at("far", activity="other")) == ["ask-agreed"]
    assert went(ASKED, at("ask-agreed", "first", visit=1)) == ["ask-agreed"]


def test_who_is_behind_a_question_already_passes_it_no_second_time():
    assert went(at("last", "first"), ENDED) == []
    assert went(AFTER_IT, ENDED) == []


def test_a_run_that_stands_at_a_question_still_has_not_passed_it():
    assert went(at("first"), ASKED) == []
    assert went(ASKED, at("ask-agreed", "first", "aside")) == []


def test_a_question_that_was_not_due_before_or_is_not_after_is_not_judged():
    program, on = asking_between(condition=IS_ON), {"on": True}
    way = (at("first"), at("last", "first"))

    assert went(*way, program=program, variables=(on, on)) == ["ask-agreed"]
    assert went(*way, program=program, variables=({}, on)) == went(*way, program=program, variables=(on, {})) == []


@pytest.mark.parametrize("instance", ["main@0::ask-agreed", "main@0::agreed", "main@0::agreed#2"])
def test_whichever_option_a_person_chose_is_an_answer_in_this_visit_alone(instance):
    def given(**fields):
        said = {"checkpoint": "agreed", "instance": instance, "option": "go-on", "authority": Authority.HUMAN}
        return [Given(node_id=UUID(int=2), **{**said, **fields})]

    assert went(ASKED, AFTER_IT, answers=given()) == []
    assert went(ASKED, AFTER_IT, answers=given(authority=Authority.RELAYED)) == ["ask-agreed"]
    assert went(ASKED, AFTER_IT, answers=given(instance=instance.replace("@0", "@1"))) == ["ask-agreed"]


def test_what_agents_may_answer_or_confirm_is_passed_by_whoever_likes():
    agents = asking_between(human=False)
    beside = built(do("first", confirmation=Confirmation(confirms=ConfirmationKind.ALWAYS)), do("last"))

    assert (asks_people(asking_between()), asks_people(agents), asks_people(beside)) == (True, False, False)
    assert went(ASKED, AFTER_IT, program=agents) == went(at("first"), AFTER_IT, program=beside) == []


def test_a_loop_that_a_person_approves_is_passed_by_the_first_work_in_it():
    asked = Confirmation(confirms=ConfirmationKind.HUMAN_APPROVAL)
    again = loop("again", do("one"), do("two"), count=2, confirmation=asked)
    program = activities(Activity(id="main", title="Main", body=(again, do("last"))))

    def within(item, iteration, index):
        return at(item, frames=(Frame(loop="again", iteration=iteration, index=index),))

    first, behind = within("one", 0, 0), at("last", "again")
    approved = Given(
        node_id=UUID(int=2), checkpoint="one", instance=first.pending, option=APPROVE, authority=Authority.HUMAN
    )
    for begun in (within("two", 0, 1), within("one", 1, 0)):
        assert went(begun, behind, program=program) == ["again"]
        assert went(first, begun, behind, program=program) == ["again"]
        assert went(first, begun, behind, program=program, answers=[approved]) == []


@pytest.mark.parametrize(("known", "found"), [(({}, {"on": True}), []), (({"on": True}, {"on": True}), ["again"])])
def test_a_loop_that_is_done_is_judged_by_what_was_known_in_it_where_a_step_before_it_is_told_of_late(known, found):
    asked = Confirmation(confirms=ConfirmationKind.HUMAN_APPROVAL, condition=IS_ON)
    again = loop("again", do("one"), do("two"), count=2, confirmation=asked)
    program = activities(Activity(id="main", title="Main", body=(do("first"), again, do("last"))))
    within = at("one", frames=(Frame(loop="again", iteration=0, index=0),))
    variables = (known[0], known[1], known[1])

    assert (
        went(within, at("first", "again"), at("last", "first", "again"), program=program, variables=variables) == found
    )


def test_what_an_option_leads_past_is_left_undone():
    program = asking_between(GO_ON, ELSEWHERE)
    second, checkpoint = asking("later", GO_ON, human=True)
    main = program.activities[0]
    body, asked = (*main.body, second), (*main.checkpoints, checkpoint)
    whole = msgspec.structs.replace(
        program, activities=(msgspec.structs.replace(main, body=body, checkpoints=asked), program.activities[1])
    )
    far = at("far", activity="other")

    assert went(ASKED, far, program=whole) == ["ask-agreed"]
    assert went(at("last", "first"), far, program=whole) == ["ask-later"]
    assert went(at("last", "first"), far, program=whole, led_to="other", said={"main@0::agreed": "elsewhere"}) == []
    assert went(at("ask-agreed"), far, program=whole, led_to="other", said={"main@0::later": "go-on"}) == ["ask-agreed"]
