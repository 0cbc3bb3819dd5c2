"""`validationCriteria`: rules that the notes of a step must meet.

Lengths are counted in characters (Unicode code points), not in the halves of them that JavaScript counts. A rule whose
condition does not hold is not asked, whatever stands around it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from workflows_app.engine import canonical
from workflows_app.engine.budgets import fit_bytes
from workflows_app.engine.conditions import describe, evaluate
from workflows_app.engine.contracts import MAX_ISSUE_BYTES, check_instance
from workflows_app.engine.patterns import BadPatternError, compile_pattern
from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem
from workflows_app.engine.program import (
    AllRules,
    AnyRule,
    Condition,
    ConditionMode,
    NotRule,
    Rule,
    RuleKind,
    Validation,
)

MAX_REQUIREMENTS = 5
MAX_NOTES_BYTES = 1 << 20

Variables = Mapping[str, Any]
# None: not asked. Empty: passed. Else the messages of what failed.
_Failures = tuple[str, ...] | None


def check_notes(
    validation: Validation | None, *, notes: str, variables: Variables, mode: ConditionMode
) -> tuple[str, ...]:
    """The messages of the rules that the notes fail; empty when they pass. Never raises."""
    if validation is None:
        return ()
    failed = _check(validation, notes, variables, mode) or ()
    return tuple(dict.fromkeys(fit_bytes(message, max_bytes=MAX_ISSUE_BYTES) for message in failed))


def requirements(validation: Validation | None) -> tuple[str, ...]:
    """What the notes will be asked for, in words, before they are: the first few."""
    if validation is None:
        return ()
    rules = validation.rules if isinstance(validation, AllRules) else (validation,)
    return tuple(fit_bytes(_describe(rule), max_bytes=MAX_ISSUE_BYTES) for rule in rules[:MAX_REQUIREMENTS])


def lint(validation: Validation | None, path: str, *, prompt: str = "") -> tuple[WorkflowProblem, ...]:
    """Warnings for rules that notes pass without evidence of any work."""
    if validation is None:
        return ()
    rules = list(_rules(validation, path))
    problems = [_gameable(reason, place) for rule, place in rules if (reason := _weakness(rule, prompt))]
    if rules and all(rule.check is RuleKind.LENGTH for rule, _ in rules):
        problems.append(_gameable("Only the length is checked; any text that is long enough passes.", path))
    return tuple(problems)


# Checking


def _check(validation: Validation, notes: str, variables: Variables, mode: ConditionMode) -> _Failures:
    match validation:
        case Rule():
            if not evaluate(validation.condition, variables=variables, mode=mode):
                return None
            return () if _passes(validation, notes) else (_message(validation),)
        case AllRules() | AnyRule():
            results = [_check(rule, notes, variables, mode) for rule in validation.rules]
            if all(result is None for result in results):
                return None
            # A rule that was not asked stands in no one's way: it is as good as passed.
            if isinstance(validation, AnyRule) and not all(results):
                return ()
            return tuple(message for result in results for message in result or ())
        case NotRule():
            result = _check(validation.rule, notes, variables, mode)
            return None if result is None else () if result else (_denied(validation.rule),)
        case _:
            assert_never(validation)


def _passes(rule: Rule, notes: str) -> bool:
    match rule.check:
        case RuleKind.CONTAINS:
            return rule.value in notes
        case RuleKind.REGEX:
            return _matches(rule, notes)
        case RuleKind.LENGTH:
            least, most = rule.min_length or 0, rule.max_length
            return least <= len(notes) and (most is None or len(notes) <= most)
        case RuleKind.SCHEMA:
            return _satisfies(rule, notes)
        case _:
            assert_never(rule.check)


def _matches(rule: Rule, notes: str) -> bool:
    try:
        return compile_pattern(rule.pattern, flags=rule.flags).search(notes)
    except BadPatternError:
        return False


def _satisfies(rule: Rule, notes: str) -> bool:
    try:
        value = canonical.loads_strict(notes, max_bytes=MAX_NOTES_BYTES)
    except canonical.UnreadableJsonError:
        return False
    return not check_instance(rule.schema or {}, value)


def _message(rule: Rule) -> str:
    return rule.message or f"The notes must {_wish(rule)}."


def _denied(validation: Validation) -> str:
    """The message of what should have failed: its own words when it has some, else what it looked for."""
    if isinstance(validation, Rule):
        return validation.message or f"The notes must not {_wish(validation)}."
    return f"The notes must not meet this: {_describe(validation)}"


# Saying beforehand


def _describe(validation: Validation) -> str:
    match validation:
        case Rule():
            return f"{_message(validation)}{_hint(validation)}{_unless(validation.condition)}"
        case AllRules():
            return " And: ".join(_describe(rule) for rule in validation.rules)
        case AnyRule():
            return f"One of these: {' Or: '.join(_describe(rule) for rule in validation.rules)}"
        case NotRule(rule=Rule() as rule):
            hint = f" (The notes must not {_wish(rule)}.)" if rule.message else ""
            return f"{_denied(rule)}{hint}{_unless(rule.condition)}"
        case NotRule():
            return f"Not this: {_describe(validation.rule)}"
        case _:
            assert_never(validation)


def _hint(rule: Rule) -> str:
    return f" (The notes must {_wish(rule)}.)" if rule.message else ""


def _unless(condition: Condition | None) -> str:
    return f" Only when {describe(condition)}." if condition is not None else ""


def _wish(rule: Rule) -> str:
    match rule.check:
        case RuleKind.CONTAINS:
            return f"contain {rule.value!r}"
        case RuleKind.REGEX:
            return f"match /{rule.pattern}/{rule.flags}"
        case RuleKind.LENGTH:
            return _length_wish(rule)
        case RuleKind.SCHEMA:
            return "be JSON and nothing else, in the form that the step describes"
        case _:
            assert_never(rule.check)


def _length_wish(rule: Rule) -> str:
    if rule.max_length is None:
        return f"have at least {rule.min_length or 0} characters"
    if not rule.min_length:
        return f"have at most {rule.max_length} characters"
    return f"have {rule.min_length} to {rule.max_length} characters"


# Looking for rules that prove nothing

# Notes of somebody who did nothing; a rule that one of them meets asks for no evidence.
_EMPTY_NOTES = (
    "x",
    "ok",
    "yes",
    "Yes",
    "true",
    "done",
    "Done.",
    "DONE",
    "complete",
    "Complete",
    "completed",
    "Completed.",
    "finished",
    "fixed",
    "tested",
    "it works",
    "no problems",
    "success",
    "passed",
    "PASS",
    "none",
    "n/a",
    "no issues found",
    "all good",
    "looks good",
    "LGTM",
)
_EMPTY_WORDS = frozenset(text.lower().strip(".") for text in _EMPTY_NOTES)
_WORD = re.compile(r"[\w'-]+")


def _rules(validation: Validation, path: str) -> Iterator[tuple[Rule, str]]:
    """Every rule that must be met, with its place. What stands under `not` is none."""
    match validation:
        case Rule():
            yield validation, path
        case AllRules() | AnyRule():
            for index, rule in enumerate(validation.rules):
                yield from _rules(rule, f"{path}[{index}]")
        case NotRule():
            return
        case _:
            assert_never(validation)


def _weakness(rule: Rule, prompt: str) -> str:
    match rule.check:
        case RuleKind.CONTAINS:
            return _weak_text(rule.value, prompt)
        case RuleKind.REGEX:
            met = next((text for text in _EMPTY_NOTES if _matches(rule, text)), "")
            return f"The notes {met!r} meet this pattern." if met else ""
        case RuleKind.LENGTH:
            return "" if rule.max_length is not None or (rule.min_length or 0) > 1 else "Any notes are long enough."
        case RuleKind.SCHEMA:
            return "" if rule.schema else "Any JSON meets an empty schema."
        case _:
            assert_never(rule.check)


def _weak_text(value: str, prompt: str) -> str:
    bare = value.strip().lower()
    if not bare:
        return "Any notes contain this."
    if bare.strip(".!:") in _EMPTY_WORDS:
        return f"Notes that say {value!r} and nothing else meet this."
    if value in prompt and len(_WORD.findall(value)) == 1:
        return f"The prompt itself gives the word {value!r}; notes that repeat it meet this."
    return ""


def _gameable(reason: str, path: str) -> WorkflowProblem:
    return WorkflowProblem(
        code=ProblemCode.GAMEABLE_VALIDATION,
        message=reason,
        severity=Severity.WARNING,
        path=path,
        suggestion="Ask for evidence: an output contract, a command's result, or several facts that only the work yields.",
    )
