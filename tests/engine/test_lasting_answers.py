"""An option of a person's question that sets nothing, where an earlier answer may still say something else, is told."""

import pytest

from tests.activity_folders import activity, checkpoint, compiled, equals, folder, only, step, workflow
from tests.flood_play import Work
from workflows_app.engine.activities import lint
from workflows_app.engine.problems import Severity
from workflows_app.engine.source import Strictness

CODE = "lasting_answer"
APPROVED = equals("approved", value=True)
ROUNDS = {"id": "rounds", "name": "Rounds", "kind": "loop", "loopType": "forEach", "over": "items", "variable": "item"}


def option(name, effect=None):
    return {"id": name, "label": name.title(), **({"effect": effect} if effect else {})}


YES = option("yes", {"setVariable": {"approved": True}})
NO = option("no")


def question(**more):
    return checkpoint("agreed", **{"authority": "human", "options": [YES, NO], **more})


def asks(**more):
    return {"kind": "checkpoint", **question(**more)}


def told(*activities, default=False, **about):
    variables = [{"name": "approved", "type": "boolean", "defaultValue": default}, {"name": "items", "type": "array"}]
    made = workflow(variables=variables, initialActivity=activities[0]["id"], **about)
    compilation = compiled(folder(*activities, about=made))
    assert compilation.program is not None, compilation.errors
    return [problem for problem in compilation.problems if problem.code == CODE]


def rounds(*steps, after=(), **more):
    return activity("work", steps=[{**ROUNDS, **more, "steps": list(steps)}, *after])


PUBLISH = step("publish", condition=APPROVED)
WHILE = {"loopType": "while", "over": None, "variable": None}


def again(condition, **more):
    return {**WHILE, "loopType": "doWhile", "condition": condition, **more}


OPEN = equals("other", value=True)

TOLD = {
    "of each item of a list": [rounds(asks(), PUBLISH)],
    "read behind the loop": [rounds(asks(), after=[PUBLISH])],
    "named by a step, in a loop within a loop": [
        activity(
            "work",
            checkpoints=[question()],
            steps=[
                {**ROUNDS, "steps": [{**ROUNDS, "id": "inner", "steps": [step("s", checkpoint="agreed"), PUBLISH]}]}
            ],
        )
    ],
    "what repeats a loop is what stays": [rounds(asks(), **again(APPROVED))],
    "while what an agent sets": [rounds(asks(), PUBLISH, **again(OPEN))],
    "a loop around one that ends by the answer": [
        activity(
            "work",
            steps=[
                {
                    **ROUNDS,
                    "steps": [{**ROUNDS, **again(equals("approved", value=False)), "id": "in", "steps": [asks()]}],
                }
            ],
            transitions=[{"to": "make", "condition": APPROVED}, {"to": "__terminal__"}],
        ),
        activity("make"),
    ],
    "entered again by what follows": [
        activity("plan", steps=[asks()], transitions=[{"to": "make", "condition": APPROVED}, {"to": "plan"}]),
        activity("make", steps=[step("do")], transitions=[{"to": "plan", "condition": OPEN}, {"to": "__terminal__"}]),
    ],
    "entered again by an option of another question": [
        activity("plan", steps=[asks()], transitions=[{"to": "make", "condition": APPROVED}, {"to": "__terminal__"}]),
        activity(
            "make",
            steps=[{"kind": "checkpoint", **checkpoint("ok", options=[option("back", {"transitionTo": "plan"})])}],
        ),
    ],
    "a loop that repeats the activity": [
        activity("lead", loops=[{**ROUNDS, "type": "forEach", "activities": ["work"]}]),
        activity("work", steps=[asks(), PUBLISH]),
    ],
    "no leads to where it is read": [
        activity(
            "work", steps=[asks(options=[YES, option("no", {"transitionTo": "tell"})])], transitions=[{"to": "tell"}]
        ),
        activity("tell", steps=[PUBLISH], transitions=[{"to": "work", "condition": OPEN}, {"to": "__terminal__"}]),
    ],
    "reset under a condition alone": [
        rounds(
            step("begin", condition=OPEN, actions=[{"action": "set", "target": "approved", "value": False}]),
            asks(),
            PUBLISH,
        )
    ],
}
QUIET = {
    "asked once": [activity("work", steps=[asks(), PUBLISH])],
    "read by nothing": [rounds(asks(), step("do"))],
    "not for a person": [rounds(asks(authority="relayed"), PUBLISH)],
    "both set it": [rounds(asks(options=[YES, option("no", {"setVariable": {"approved": False}})]), PUBLISH)],
    "no clears it": [rounds(asks(options=[YES, option("no", {"setVariable": {"approved": None}})]), PUBLISH)],
    "yes clears it": [rounds(asks(options=[option("yes", {"setVariable": {"approved": None}}), NO]), PUBLISH)],
    "the loop ends by yes": [rounds(asks(), after=[PUBLISH], **again(equals("approved", value=False)))],
    "the loop is left by yes": [rounds(asks(), after=[PUBLISH], breakCondition=APPROVED)],
    "the loop is not begun again": [
        activity(
            "work",
            steps=[
                {
                    **ROUNDS,
                    "steps": [
                        {**ROUNDS, **WHILE, "id": "in", "condition": equals("approved", value=False), "steps": [asks()]}
                    ],
                },
                PUBLISH,
            ],
        )
    ],
    "one round": [rounds(asks(), PUBLISH, maxIterations=1)],
    "not asked where it is set": [rounds(asks(condition={"type": "not", "condition": APPROVED}), PUBLISH)],
    "reset in each round": [
        rounds(step("begin", actions=[{"action": "set", "target": "approved", "value": False}]), asks(), PUBLISH)
    ],
    "left to the agent in each round": [
        rounds(asks(), step("judge", actions=[{"action": "set", "target": "approved"}]), PUBLISH)
    ],
    "yes leads away": [
        rounds(asks(options=[option("yes", {**YES["effect"], "transitionTo": "workflow-end"}), NO]), PUBLISH)
    ],
    "asked again until yes, and never after": [
        activity("plan", steps=[asks()], transitions=[{"to": "make", "condition": APPROVED}, {"to": "plan"}]),
        activity("make", steps=[step("do")]),
    ],
    "reset on entry": [
        activity(
            "plan",
            entryActions=[{"action": "set", "target": "approved", "value": False}],
            steps=[asks()],
            transitions=[{"to": "make", "condition": APPROVED}, {"to": "plan"}],
        ),
        activity("make", transitions=[{"to": "plan"}]),
    ],
    "reset on the way back": [
        activity("plan", steps=[asks()], transitions=[{"to": "make", "condition": APPROVED}, {"to": "plan"}]),
        activity("make", transitions=[{"to": "tidy"}]),
        activity(
            "tidy", entryActions=[{"action": "set", "target": "approved", "value": False}], transitions=[{"to": "plan"}]
        ),
    ],
    "no leads to the end": [rounds(asks(options=[YES, option("no", {"transitionTo": "workflow-end"})]), PUBLISH)],
    "no leads past what reads it": [
        activity(
            "work",
            steps=[asks(options=[YES, option("no", {"transitionTo": "work"})]), PUBLISH],
            transitions=[{"to": "more"}],
        ),
        activity("more", transitions=[{"to": "work"}]),
    ],
    "no leaves out what reads it": [
        activity(
            "work",
            steps=[asks(options=[YES, option("no", {"skipActivities": ["tell"]})])],
            transitions=[{"to": "tell"}],
        ),
        activity("tell", steps=[PUBLISH], transitions=[{"to": "work"}]),
    ],
}


@pytest.mark.parametrize("case", TOLD)
def test_an_option_that_leaves_an_earlier_answer_is_told(case):
    (problem,) = told(*TOLD[case])

    assert problem.severity is Severity.WARNING
    assert problem.path.endswith("options[1]")
    assert "'no' sets nothing in 'approved', which 'yes' sets to true" in problem.message
    assert problem.suggestion == "Let it set the variable too (`setVariable`): false, or `null` for none."


@pytest.mark.parametrize("case", QUIET)
def test_where_no_answer_outlasts_its_question_nothing_is_told(case):
    assert told(*QUIET[case]) == []


@pytest.mark.parametrize(("default", "count"), [(False, 1), (True, 0), (None, 1)])
def test_what_the_variable_is_from_the_start_is_nobodys_answer(default, count):
    assert len(told(rounds(asks(), PUBLISH), default=default)) == count


def test_each_option_is_told_of_each_variable_once():
    options = [option(name, {"setVariable": {"approved": name, "other": 1}}) for name in ("a", "b")]
    reads = step("read", condition={"type": "and", "conditions": [APPROVED, OPEN]})

    found = told(rounds(asks(options=[*options, option("c"), option("d")]), reads))

    assert [problem.path.rpartition(".")[2] for problem in found] == ["options[2]"] * 2 + ["options[3]"] * 2
    assert [("'approved'" in problem.message, "'other'" in problem.message) for problem in found[:2]] == [
        (True, False),
        (False, True),
    ]
    assert found[0].suggestion == "Let it set the variable too (`setVariable`): another value, or `null` for none."


@pytest.mark.parametrize("strictness", Strictness)
def test_a_warning_refuses_nothing(strictness):
    about = workflow(variables=[{"name": "approved", "type": "boolean"}, {"name": "items", "type": "array"}])

    compilation = compiled(folder(rounds(asks(), PUBLISH), about=about), strictness=strictness)

    assert compilation.program is not None
    assert only(compilation.problems, CODE).severity is Severity.WARNING


LONG = {"type": "and", "conditions": [OPEN] * 2_000}
NAMES = [f"a{number}" for number in range(60)]
COSTLY = {
    "questions that lead everywhere": [
        activity(name, steps=[asks(), PUBLISH], transitions=[{"to": to, "condition": OPEN} for to in NAMES])
        for name in NAMES
    ],
    "questions of one activity": [
        activity("work", steps=[{**ROUNDS, "steps": [{**asks(), "id": f"q{number}"} for number in range(2_000)]}])
    ],
    "long conditions": [
        activity(name, steps=[asks()], transitions=[{"to": to, "condition": LONG} for to in NAMES[:10]])
        for name in NAMES[:10]
    ],
}


@pytest.mark.parametrize("case", COSTLY)
def test_what_follows_from_answers_costs_in_proportion_to_what_is_written(case, monkeypatch):
    files = folder(*COSTLY[case])
    monkeypatch.setattr(lint, "lasting_answers", lambda *_: iter(()))
    with Work() as plain:
        compiled(files)
    monkeypatch.undo()

    with Work() as work:
        compiled(files)

    assert work.seconds <= 2 * plain.seconds + 0.5


def test_a_fragment_is_told_where_it_is_kept():
    kept = {"checkpoints": {"sure": {"message": "Sure?", "authority": "human", "options": [YES, NO]}}}
    files = folder(
        rounds({"kind": "checkpoint", "id": "agreed", "ref": "sure"}, PUBLISH), about=workflow(fragments=kept)
    )

    problem = only(compiled(files).problems, CODE)

    assert (problem.file, problem.path) == ("workflow.toon", "fragments.checkpoints.sure.options[1]")
