"""An author's test walks a program with given answers and tells the path."""

import pytest
from msgspec.structs import replace

from teams_app.engine.errors import InvalidInputError
from tests.activity_folders import activity as activity_document, checkpoint, folder, program_of, step
from tests.engine_play import activities, asking, built, do
from tests.flood_play import Work, allowed
from tests.walking import CONTRACT, IS_ON, activity, loop, to
from workflows_app.engine.program import Effect, LoopKind, Option, Variable, VariableType
from workflows_app.engine.simulate import SimulatedOutcome, simulate, wrong_answers
from workflows_app.engine.trial import check_answers
from workflows_app.engine.walks import FailureKind


def walked(program, *, variables=None, answers=None, **options):
    return simulate(program=program, variables=variables or {}, answers=answers or {}, **options)


def test_the_path_names_every_item_and_why_it_came():
    found = walked(built(do("a"), do("b", run_condition=IS_ON), do("c")))

    assert (found.outcome, found.keys) == (SimulatedOutcome.COMPLETE, ("a", "c"))
    assert [stop.title for stop in found.path] == ["Title of a", "Title of c"]
    assert [note.summary for note in found.path[1].why] == ["on == true is false.", "Next is c."]


def test_an_answer_puts_values_into_the_context():
    program = built(do("a"), do("b", run_condition=IS_ON))

    found = walked(program, answers={"a": {"context": {"on": True, "gone": None}}}, variables={"gone": 1})

    assert found.keys == ("a", "b")
    assert found.variables == {"on": True}


def test_an_answer_for_one_round_goes_before_one_for_every_round():
    program = built(loop("l", do("a"), count=2))

    found = walked(program, answers={"a": {"context": {"x": 1}}, "l@1::a": {"context": {"x": 2}}})

    assert [stop.answer for stop in found.path] == [{"context": {"x": 1}}, {"context": {"x": 2}}]


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_decided_loop_ends_after_the_rounds_that_are_asked_for(rounds):
    program = built(loop("l", do("a"), kind=LoopKind.WHILE, decision_contract=CONTRACT))

    assert walked(program, loop_rounds=rounds).keys == tuple(f"l@{index}::a" for index in range(rounds))


def test_a_loop_that_only_counts_leaves_the_decision_to_the_one_around_it():
    inner = loop("each", do("a"), count=1)
    program = built(loop("o", inner, kind=LoopKind.WHILE, decision_contract=CONTRACT))

    assert walked(program, loop_rounds=2).keys == ("o@0/each@0::a", "o@1/each@0::a")


def test_a_walk_that_cannot_go_on_is_blocked_and_says_why():
    found = walked(built(do("a"), loop("l", do("b"), kind=LoopKind.FOR_EACH, items=("files",))))

    assert (found.outcome, found.keys) == (SimulatedOutcome.BLOCKED, ("a",))
    assert found.failure.kind is FailureKind.MISSING_CONTEXT


def test_a_walk_that_never_ends_is_cut():
    program = activities(activity("one", do("a"), transitions=(to("one", is_default=True),)))

    found = walked(program, max_steps=7)

    assert (found.outcome, len(found.path)) == (SimulatedOutcome.TOO_LONG, 7)


def test_defaults_of_variables_are_in_the_context():
    on = Variable(name="on", type=VariableType.BOOLEAN, has_default=True, default=True)

    assert walked(built(do("a", run_condition=IS_ON), variables=(on,))).keys == ("a",)


def gated(**fields):
    leave = Option(id="leave", label="Leave", effect=Effect(transition_to="two", skip_activities=("three",)))
    stay = Option(id="stay", label="Stay", effect=Effect(set_variable={"on": True}))
    gate, checkpoint = asking("way", leave, stay, **fields)
    return activities(
        activity("one", gate, do("a", run_condition=IS_ON), checkpoints=(checkpoint,)),
        activity("two", do("b"), transitions=(to("three", is_default=True),)),
        activity("three", do("c")),
    )


@pytest.mark.parametrize(
    ("fields", "answers", "keys"),
    [
        ({}, {}, ("one@0::ask-way", "two@0::b")),
        ({"default_option": "stay"}, {}, ("one@0::ask-way", "one@0::a")),
        ({"default_option": "stay"}, {"ask-way": {"option": "leave"}}, ("one@0::ask-way", "two@0::b")),
    ],
)
def test_a_checkpoint_takes_the_answer_else_its_default_else_its_first_option(fields, answers, keys):
    found = walked(gated(**fields), answers=answers)

    assert (found.outcome, found.keys) == (SimulatedOutcome.COMPLETE, keys)
    assert (found.path[0].kind, found.path[0].title) == ("gate", "Name of way")


ASKING = folder(
    activity_document(
        "plan",
        steps=[step("draft", checkpoint="agreed")],
        checkpoints=[checkpoint("agreed")],
        loops=[{"id": "each", "name": "Each", "type": "forEach", "over": "list", "steps": [step("inner")]}],
    )
)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"draft": {"context": {"x": 1}}, "plan@0::agreed": {"option": "yes"}}, ()),
        ({"each@1::inner": {"artifacts": []}}, ()),
        ({"drafd": {}}, ("'drafd'", "'draft'")),
        ({"plan@0::agreeed": {"option": "yes"}}, ("'agreeed'", "'agreed'")),
        ({"agreed": {"option": "yess"}}, ("'yess'", "'yes'")),
        ({"draft": {"option": "yes"}}, ("not answered with an option",)),
        ({"draft": {"contxt": {}}}, ("'contxt'", "'context'")),
        ({"draft": {"context": []}}, ("an object of variables",)),
        ({"each": {}}, ("'each'",)),
        ({"draft": "done"}, ("an object",)),
        ({"draft": {"context": 5}}, ("an object of variables",)),
        ({"draft": {"artifacts": 5}}, ("a list",)),
        ({"draft": {"artifacts": ["done"]}}, ("an object",)),
        ({"agreed": {"option": 5}}, ("the id of an option",)),
        ({"plam@0::draft": {}}, ("'plam'", "'plan'")),
        ({"plan@0/eech@1::inner": {}}, ("'eech'", "'each'")),
        ({"plan@0/each@1::inner": {"context": {"x": 1}}}, ()),
        ({"plan@0::inner": {}}, ("'inner' stands elsewhere", "'plan@0/each@0::inner'")),
        ({"each@0::draft": {}}, ("'draft' stands elsewhere", "'plan@0::draft'")),
        ({"each@0/plan@0::inner": {}}, ("stands elsewhere",)),
        ({"plan@0/each@0/each@0::inner": {}}, ("stands elsewhere",)),
        ({"each@first::inner": {}}, ("counted from 0", "'each@first'")),
        ({"each@-1::inner": {}}, ("counted from 0",)),
        ({"each@01::inner": {}}, ("counted from 0",)),
        ({"each::inner": {}}, ("counted from 0", "'each'")),
        ({"::draft": {}}, ("counted from 0",)),
    ],
)
def test_answers_that_the_workflow_does_not_have_are_told_and_refused(answers, said):
    program = program_of(ASKING)
    wrong = wrong_answers(program=program, answers=answers)

    assert len(wrong) == (1 if said else 0)
    assert all(part in wrong[0] for part in said)
    if not said:
        check_answers(program=program, answers=answers)
        return
    with pytest.raises(InvalidInputError):
        check_answers(program=program, answers=answers)


TWICE_ASKED = folder(
    activity_document("first", checkpoints=[checkpoint("go")], transitions=[{"to": "second", "isDefault": True}]),
    activity_document("second", checkpoints=[checkpoint("go", options=[{"id": "later", "label": "Later"}])]),
)


COUNTED = built(
    loop(
        "tree",
        do("look"),
        loop("press", do("bark"), count=2, max_iterations=3),
        loop("few", do("leaf"), count=9, max_iterations=4),
        kind=LoopKind.FOR_EACH,
        items=("trees",),
        max_iterations=6,
    ),
    loop("named", do("twig"), count=("often",), max_iterations=5),
    loop("never", do("root"), count=0),
)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("tree@5::look", ""),
        ("tree@5/press@1::bark", ""),
        ("named@4::twig", ""),
        ("tree@6::look", "'tree@5'"),
        ("tree@0/press@2::bark", "'press@1'"),
        ("tree@9/press@1::bark", "'tree@5'"),
        ("tree@0/few@4::leaf", "'few@3'"),
        ("named@5::twig", "'named@4'"),
        ("never@0::root", "no round"),
    ],
)
def test_an_answer_for_a_round_that_cannot_come_is_refused(key, said):
    wrong = wrong_answers(program=COUNTED, answers={key: {}})

    assert len(wrong) == (1 if said else 0)
    assert all(said in each for each in wrong)


def test_a_round_that_one_of_two_loops_of_a_name_has_can_come():
    programs = [built(loop("l", do("a"), count=count), do("b")) for count in (2, 4)]
    around = zip(programs, "xy", "yx", strict=True)
    both = activities(*(replace(each.activities[0], id=name, transitions=(to(then),)) for each, name, then in around))

    assert wrong_answers(program=both, answers={"l@3::a": {}, "x@7/l@1::a": {}, "y@7/l@3::a": {}}) == ()
    assert len(wrong_answers(program=both, answers={"l@4::a": {}, "x@0/l@2::a": {}})) == 2


def test_an_option_is_an_answer_to_the_questions_that_have_it():
    """Of two checkpoints of one name, in different activities, only one may have it."""
    program = program_of(TWICE_ASKED)
    answers = {"go": {"option": "later"}}

    assert wrong_answers(program=program, answers=answers) == ()
    assert [stop.answer["option"] for stop in walked(program, answers=answers).path] == ["yes", "later"]
    (said,) = wrong_answers(program=program, answers={"first@0::go": {"option": "later"}})
    assert "'later'" in said


def test_an_answer_for_one_round_needs_not_say_the_activity():
    program = program_of(ASKING)

    found = walked(program, variables={"list": [1, 2]}, answers={"each@1::inner": {"context": {"x": 1}}})

    assert {stop.key: stop.answer.get("context") for stop in found.path[-2:]} == {
        "plan@0/each@0::inner": None,
        "plan@0/each@1::inner": {"x": 1},
    }


def test_a_long_walk_with_many_variables_costs_in_proportion():
    program = built(loop("l", *(do(f"a{number}") for number in range(5)), kind=LoopKind.FOR_EACH, items=("things",)))
    few = {"things": list(range(100))}
    many = {**few, **{f"v{number}": "x" for number in range(25_000)}}

    with Work() as plain:
        walked(program, variables=few)
    with Work() as work:
        found = walked(program, variables=many)

    assert len(found.path) == 500
    assert work.seconds <= allowed(plain=plain.seconds, size=len(str(many)))


VISITED = folder(
    activity_document("plan", steps=[step("draft")], transitions=[{"to": "check"}]),
    activity_document(
        "check",
        steps=[step("look", checkpoint="sure")],
        checkpoints=[
            checkpoint(
                "sure",
                options=[
                    {"id": "yes", "label": "Yes"},
                    {"id": "no", "label": "No", "effect": {"transitionTo": "mend"}},
                ],
            )
        ],
        transitions=[{"to": "tell"}],
    ),
    activity_document("mend", steps=[step("sew")], transitions=[{"to": "check"}]),
    activity_document("tell", steps=[step("say")]),
    activity_document("aside", steps=[step("wander")], transitions=[{"to": "aside"}]),
    about={"id": "team.visits", "version": "1.0.0", "title": "Visits", "initialActivity": "plan"},
)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("plan@0::draft", ""),
        ("plan@1::draft", "'plan@0'"),
        ("plan@7::draft", "'plan@0'"),
        ("check@9::look", ""),
        ("check@9::sure", ""),
        ("mend@3::sew", ""),
        ("tell@0::say", ""),
        ("tell@1::say", "'tell@0'"),
        ("aside@0::wander", "no way leads to it"),
        ("aside@1::wander", "no way leads to it"),
        ("wander", ""),
    ],
)
def test_an_answer_for_a_visit_that_cannot_come_is_told(key, said):
    wrong = wrong_answers(program=program_of(VISITED), answers={key: {"context": {"x": 1}}})

    assert len(wrong) == bool(said)
    assert all(key in each and said in each for each in wrong)


def test_in_a_ring_of_activities_every_one_may_be_visited_again():
    ring = [
        activity(name, do(f"do-{name}"), transitions=(to(then),)) for name, then in ("ab", "bc", "cd", "db", "ef", "fe")
    ]
    program = activities(*ring)
    told = {name: bool(wrong_answers(program=program, answers={f"{name}@5::do-{name}": {}})) for name in "abcdef"}

    assert told == {"a": True, "b": False, "c": False, "d": False, "e": True, "f": True}


def test_which_visits_can_come_is_found_by_work_that_goes_by_the_ways():
    count = 5_000
    ways = [activity(f"a{n}", do(f"s{n}"), transitions=(to(f"a{n + 1}"), to(f"a{n // 2}"))) for n in range(count)]
    program = activities(*ways, activity(f"a{count}", do("last")))

    with Work() as work:
        wrong = wrong_answers(program=program, answers={"a0@1::s0": {}, f"a{count}@1::last": {}})

    assert len(wrong) == 1
    assert work.seconds <= allowed(plain=0, size=100 * count)
