"""What a move would get around is found with bounded work, however many activities go round in loops that set variables."""

import pytest
from msgspec.structs import replace

from sessions_app.engine import children, declining, evasions, settling
from sessions_app.engine.landscape import survey
from tests.activity_folders import activity, checkpoint, equals, folder, program_of, step, workflow
from tests.flood_play import Work, allowed
from tests.hand_play import begun
from workflows_app.engine import walker
from workflows_app.engine.program import Effect, Trigger


def going_round(number, count):
    body = {**step(f"turn-{number}"), "actions": [{"action": "set", "target": "seen", "value": f"{number}"}]}
    test = {"type": "simple", "variable": "never", "operator": "!=", "value": "x"}
    loop = {"id": f"loop-{number}", "name": "Loop", "type": "while", "condition": test, "maxIterations": 1000}
    ways = [{"to": f"act-{(number + 1) % count}", "condition": equals("go", "yes")}]
    if number == 0:
        ways.insert(0, {"to": "asks", "condition": equals("seen", "0")})
    ways.append({"to": f"act-{(number + 2) % count}", "isDefault": True})
    return activity(
        f"act-{number}", steps=[step(f"step-{number}")], loops=[{**loop, "steps": [body]}], transitions=ways
    )


@pytest.mark.parametrize("count", [10, 80])
def test_activities_in_thought_take_bounded_work(monkeypatch, count):
    asks = activity(
        "asks",
        checkpoints=[checkpoint("agreed", authority="human")],
        steps=[step("asked", checkpoint="agreed")],
        transitions=[{"to": "act-0"}],
    )
    acts = [going_round(number, count) for number in range(count)]
    program = program_of(folder(*acts, asks, about=workflow(initialActivity="act-0")))
    looks, look = [], walker.LookAhead.come_to
    monkeypatch.setattr(walker.LookAhead, "come_to", lambda *at: looks.append(1) or look(*at))

    found = evasions.evaded(program=program, snapshot=begun(program), target="act-5")

    assert found is not None
    assert found.guarding == ("asks",)
    assert len(looks) < 10_000


@pytest.mark.parametrize("asks", [False, True])
def test_what_may_be_done_is_told_in_proportion_to_the_activity(asks):
    human = [checkpoint("agreed", authority="human")] if asks else []
    last = step("last", checkpoint="agreed") if asks else step("last")
    files = folder(
        activity("work", checkpoints=human, steps=[*(step(f"step-{number}") for number in range(1_900)), last])
    )
    program = program_of(files)
    snapshot = begun(program)

    with Work() as work:
        land = survey(program=program, snapshot=snapshot)

    assert len(land.may_do) > 1_800
    assert work.seconds <= allowed(plain=0, size=sum(map(len, files.values()))) / 4


def of_one_root(count):
    """A workflow whose one option sets so many parts of a variable, and a run in which an agent has set all of them."""
    effect = {"setVariable": {f"review.a{number}": True for number in range(count)}}
    options = [{"id": "yes", "label": "Yes", "effect": effect}, {"id": "no", "label": "No"}]
    asked = checkpoint("agreed", authority="human", options=options)
    program = program_of(folder(activity("work", checkpoints=[asked], steps=[step("draft", checkpoint="agreed")])))
    said = dict.fromkeys(effect["setVariable"], True)
    return program, program.activities[0].checkpoints[0], said, replace(begun(program), variables=said)


def test_what_an_answer_holds_is_looked_for_in_proportion():
    program, asked, said, run = of_one_root(6_000)
    dotted = {"a" + ".b" * 40_000: True}

    with Work() as work:
        claimed = settling.claimed_with(program, said | dotted, run)
        before = replace(run, claimed=claimed)
        chosen = declining.as_chosen(program=program, checkpoint=asked, chosen=Effect(), snapshot=before)
        held = replace(run, settled=tuple(sorted(settling.held_by(asked, Effect()))))
        settling.refuse_overwritten(program=program, snapshot=held, variables=said | {"review": {"a1": False}} | dotted)
        left = children.settled_of(Trigger(workflow="x", pass_context=tuple(said)), parent=held)

    assert (claimed, chosen, left) == (tuple(sorted(said)), {}, tuple(sorted(said)))
    assert work.seconds <= allowed(plain=0, size=500_000)


@pytest.mark.parametrize("root", ["review.a", "a"])
def test_what_reads_like_a_declined_value_is_looked_for_in_proportion(root):
    """So many variables, as many ways that read them, and as many others that an agent has sent."""
    count = 1_500
    effect = {"setVariable": {f"{root}{number}": 1200 for number in range(count)}}
    options = [{"id": "yes", "label": "Yes", "effect": effect}, {"id": "no", "label": "No"}]
    asked = checkpoint("agreed", authority="human", options=options)
    ways = [{"to": "work", "condition": {**equals(name, 1000), "operator": ">"}} for name in effect["setVariable"]]
    body = activity("work", checkpoints=[asked], steps=[step("draft", checkpoint="agreed")], transitions=ways)
    program = program_of(folder(body))
    said = dict.fromkeys(effect["setVariable"], 1300)
    others = {f"{root}.other{number}": number for number in range(40_000)}
    run = replace(begun(program), variables=said | others, claimed=tuple(sorted(said)))

    with Work() as work:
        chosen = declining.as_chosen(
            program=program, checkpoint=program.activities[0].checkpoints[0], chosen=Effect(), snapshot=run
        )

    assert chosen == others
    assert work.seconds <= allowed(plain=0, size=500_000) / 2


@pytest.mark.parametrize("root", ["review.a", "a"])
def test_what_a_run_takes_back_of_declined_words_is_looked_for_in_proportion(root):
    """As many variables that an agent has said in the parent, that it reads, and that a person in the child has declined."""
    count = 1_500
    effect = {"setVariable": {f"{root}{number}": 1200 for number in range(count)}}
    options = [{"id": "yes", "label": "Yes", "effect": effect}, {"id": "no", "label": "No"}]
    asked = checkpoint("agreed", authority="human", options=options)
    child = program_of(folder(activity("work", checkpoints=[asked], steps=[step("draft", checkpoint="agreed")])))
    ways = [{"to": "work", "condition": {**equals(name, 1000), "operator": ">"}} for name in effect["setVariable"]]
    parent = program_of(folder(activity("work", steps=[step("draft")], transitions=ways)))
    said = dict.fromkeys(effect["setVariable"], 1300)
    others = {f"{root}.other{number}": number for number in range(40_000)}
    before = replace(begun(parent), variables=said | others)
    ended = replace(begun(child), settled=tuple(sorted(said)))
    trigger = Trigger(workflow="x", pass_context=tuple(said))

    with Work() as work:
        back = children.given_back(parent=parent, trigger=trigger, before=before, program=child, child=ended)

    assert back == dict.fromkeys(said)
    assert work.seconds <= allowed(plain=0, size=500_000) / 2
