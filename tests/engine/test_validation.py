import pytest

from workflows_app.engine.problems import ProblemCode, Severity
from workflows_app.engine.program import (
    AllRules,
    AnyRule,
    Compare,
    ConditionMode,
    NotRule,
    Operator,
    Rule,
    RuleKind,
)
from workflows_app.engine.validation import check_notes, lint, requirements


def contains(value, message="", **more):
    return Rule(check=RuleKind.CONTAINS, value=value, message=message or f"needs {value}", **more)


def regex(pattern, flags="", message="needs the pattern"):
    return Rule(check=RuleKind.REGEX, pattern=pattern, flags=flags, message=message)


def length(least=None, most=None, message="wrong length"):
    return Rule(check=RuleKind.LENGTH, min_length=least, max_length=most, message=message)


def schema(document):
    return Rule(check=RuleKind.SCHEMA, schema=document, message="wrong JSON")


def only_when(variable):
    return Compare(path=(variable,), operator=Operator.EQUALS, value=True)


def check(validation, notes, **variables):
    return check_notes(validation, notes=notes, variables=variables, mode=ConditionMode.STRICT)


# Rules


@pytest.mark.parametrize(
    ("rule", "notes", "passes"),
    [
        (contains("jwt"), "uses jwt", True),
        (contains("jwt"), "uses JWT", False),
        (regex("(?i)##?\\s*Title:?"), "## title", True),
        (regex("\\b401\\b"), "a 4010", False),
        (regex("UNAUTHORIZED", "i"), "unauthorized", True),
        (regex("^(?!.*TODO)"), "TODO: all", False),
        (regex("["), "[", False),
        (length(3), "ab", False),
        (length(3), "abc", True),
        (length(None, 3), "abcd", False),
        (length(0, 0), "", True),
        (schema({"type": "object", "required": ["a"]}), '{"a":1}', True),
        (schema({"type": "object", "required": ["a"]}), "{}", False),
        (schema({"type": "object"}), "not JSON", False),
        (schema({"type": "object"}), '{"a":1,"a":2}', False),
        (schema({"$ref": "#"}), "{}", False),
    ],
)
def test_a_rule_passes_or_gives_its_message(rule, notes, passes):
    assert check(rule, notes) == (() if passes else (rule.message,))


def test_lengths_are_counted_in_characters_and_not_in_halves_of_them():
    assert check(length(None, 1), "😀") == ()
    assert check(length(2), "😀") == ("wrong length",)


def test_every_failed_rule_of_a_list_is_told_once_and_in_order():
    rules = AllRules(rules=(contains("a"), contains("b"), contains("a"), contains("c")))

    assert check(rules, "c") == ("needs a", "needs b")


def test_nothing_asked_is_nothing_failed():
    assert check(None, "") == ()


def test_a_rule_is_asked_only_when_its_condition_holds():
    rule = contains("deep", condition=only_when("complex"))

    assert check(rule, "shallow") == ()
    assert check(rule, "shallow", complex=True) == ("needs deep",)


def test_one_of_several_is_enough():
    either = AnyRule(rules=(contains("a"), AllRules(rules=(contains("b"), contains("c")))))

    assert check(either, "a") == ()
    assert check(either, "bc") == ()
    assert check(either, "b") == ("needs a", "needs c")


def test_what_may_not_be_there_is_told_as_that_before_and_after():
    """In the author's words, which say what to write, and in ours."""
    worded = NotRule(rule=contains("TODO", "Leave nothing open."))
    plain = NotRule(rule=Rule(check=RuleKind.CONTAINS, value="TODO", message=""))

    assert requirements(worded) == ("Leave nothing open. (The notes must not contain 'TODO'.)",)
    assert check(worded, "TODO") == ("Leave nothing open.",)
    assert requirements(plain) == check(plain, "TODO") == ("The notes must not contain 'TODO'.",)


def test_not_turns_a_rule_around():
    assert check(NotRule(rule=contains("TODO", "no TODO may be left")), "TODO") == ("no TODO may be left",)
    assert check(NotRule(rule=contains("TODO")), "all done") == ()
    assert check(NotRule(rule=NotRule(rule=contains("a"))), "b") != ()


@pytest.mark.parametrize(
    "compose",
    [
        lambda rule: NotRule(rule=rule),
        lambda rule: NotRule(rule=AllRules(rules=(rule,))),
        lambda rule: NotRule(rule=AnyRule(rules=(rule,))),
        lambda rule: AnyRule(rules=(rule, contains("never there"))),
        lambda rule: AllRules(rules=(rule,)),
    ],
)
def test_a_rule_that_is_not_asked_stands_in_no_ones_way(compose):
    assert check(compose(contains("a", condition=only_when("asked"))), "a") == ()


def test_messages_keep_their_budget():
    (message,) = check(contains("a", "é" * 5_000), "b")

    assert len(message.encode()) <= 512


def test_a_rule_without_a_message_speaks_for_itself():
    rule = Rule(check=RuleKind.CONTAINS, value="jwt", message="")

    assert check(rule, "") == ("The notes must contain 'jwt'.",)


# What is said beforehand


def test_the_list_form_is_told_before_it_fails():
    rules = AllRules(rules=(contains("jwt", "Name the token."), length(20, None, "Say more.")))

    assert requirements(rules) == (
        "Name the token. (The notes must contain 'jwt'.)",
        "Say more. (The notes must have at least 20 characters.)",
    )


def test_the_first_five_are_told():
    rules = AllRules(rules=tuple(contains(str(number)) for number in range(9)))

    assert [text[:7] for text in requirements(rules)] == [f"needs {number}" for number in range(5)]


def test_compositions_and_conditions_are_told():
    either = AnyRule(rules=(contains("a"), NotRule(rule=regex("b", "i"))))
    rule = contains("c", condition=only_when("big"))

    assert requirements(either)[0].split(" Or: ") == [
        "One of these: needs a (The notes must contain 'a'.)",
        "needs the pattern (The notes must not match /b/i.)",
    ]
    assert requirements(rule) == ("needs c (The notes must contain 'c'.) Only when big == true.",)
    assert requirements(None) == ()


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (length(5, 9), "have 5 to 9 characters"),
        (length(None, 9), "have at most 9 characters"),
        (schema({"type": "object"}), "be JSON and nothing else"),
    ],
)
def test_every_kind_of_rule_has_words(rule, said):
    assert said in requirements(rule)[0]


# Rules that prove nothing


@pytest.mark.parametrize(
    "rule",
    [
        length(300),
        length(0),
        AllRules(rules=(length(10), length(None, 900))),
        regex(".*"),
        regex(".+"),
        regex("\\w+"),
        regex("done", "i"),
        regex("(?i)^(yes|no)$"),
        regex("(?!.*TODO)"),
        contains("done"),
        contains("  Complete. "),
        contains(""),
        schema({}),
    ],
)
def test_a_rule_that_proves_nothing_is_a_warning(rule):
    problems = lint(rule, "steps[0].validationCriteria")

    assert problems
    assert {(problem.code, problem.severity) for problem in problems} == {
        (ProblemCode.GAMEABLE_VALIDATION, Severity.WARNING),
    }


@pytest.mark.parametrize(
    "rule",
    [
        regex("\\b\\d+ passed in [0-9.]+s\\b"),
        regex("^(?!.*TODO).*\\d{3}"),
        contains("edge cases considered:"),
        AllRules(rules=(length(200), contains("root cause:"))),
        NotRule(rule=contains("done")),
        schema({"type": "object", "required": ["endpoint"]}),
    ],
)
def test_a_rule_that_asks_for_something_is_none(rule):
    assert lint(rule, "p") == ()


def test_a_word_that_the_prompt_gives_is_a_warning():
    assert lint(contains("schedule"), "p") == ()
    assert lint(contains("schedule"), "p", prompt="Write a schedule.")[0].code is ProblemCode.GAMEABLE_VALIDATION
    assert lint(contains("schedule for 2026"), "p", prompt="Write a schedule for 2026.") == ()


def test_a_warning_names_the_rule():
    rules = AllRules(rules=(contains("root cause:"), AnyRule(rules=(contains("owner:"), regex(".*")))))

    assert [problem.path for problem in lint(rules, "v")] == ["v[1][1]"]
    assert lint(None, "v") == ()
