"""`validationCriteria`: a list of rules, one rule, or a composition of them, read into one `Validation`."""

from typing import Any

from workflows_app.engine import validation
from workflows_app.engine.contracts import check_schema
from workflows_app.engine.patterns import BadPatternError, compile_pattern
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import AllRules, AnyRule, NotRule, Rule, RuleKind, Validation
from workflows_app.engine.steps import parts
from workflows_app.engine.steps.findings import StepFindings, join, shown
from workflows_app.engine.steps.scope import Build, StepScope
from workflows_app.engine.steps.shape import DROPPED, did_mean, kind_of, misspelt, shown_number

_COMPOSITIONS = ("and", "or", "not")
KEYS_OF = {
    RuleKind.CONTAINS: frozenset({"value"}),
    RuleKind.REGEX: frozenset({"pattern", "flags"}),
    RuleKind.LENGTH: frozenset({"min", "max"}),
    RuleKind.SCHEMA: frozenset({"schema"}),
}
_KIND_KEYS = frozenset[str]().union(*KEYS_OF.values())


def read(build: Build, scope: StepScope, value: Any, path: str, *, prompt: str) -> Validation | None:
    """The whole of it, or None when it asks for nothing. A rule that the prompt itself answers is warned of."""
    place, before = path, scope.findings.errors
    is_whole = True
    if isinstance(value, list):
        rules = [_read(build, scope, item, f"{path}[{index}]") for index, item in enumerate(value)]
        is_whole = None not in rules
        found = _all_of([rule for rule in rules if rule is not None])
    else:
        found = _read(build, scope, value, path)
        place = next((f"{path}.{key}" for key in _COMPOSITIONS if isinstance(value, dict) and key in value), path)
    # What the rules that are left ask for says nothing of those that could not be read.
    if is_whole and scope.findings.errors == before:
        scope.findings.take(validation.lint(found, place, prompt=prompt))
    return found


def _read(build: Build, scope: StepScope, value: Any, path: str) -> Validation | None:
    if not isinstance(value, dict):
        message = f"This is {kind_of(value)}; a rule, a list of rules, or `and`, `or`, `not` of rules is wanted."
        scope.findings.error(ProblemCode.WRONG_TYPE, path, message)
        return None
    if any(key in value for key in _COMPOSITIONS):
        return _composition(build, scope, value, path)
    if value.keys().isdisjoint({"type", "message"}) and (meant := _composition_otherwise(scope, value)):
        instead, key = meant
        message = f"{shown(instead)} is not a key of a rule or of a composition of them."
        scope.findings.error(ProblemCode.UNKNOWN_KEY, join(path, instead), message, did_mean(key))
        return None
    return _rule(build, scope, value, path) if build.count_rule(path) else None


def _composition_otherwise(scope: StepScope, value: dict[str, Any]) -> tuple[str, str] | None:
    """The key that is nearly one of a composition, and that one."""
    near = ((misspelt(value, key, _KIND_KEYS, scope.findings), key) for key in _COMPOSITIONS)
    return next((found for found in near if found[0]), None)


def _composition(build: Build, scope: StepScope, value: dict[str, Any], path: str) -> Validation | None:
    given = [key for key in _COMPOSITIONS if key in value]
    others = sorted(value.keys() - {given[0]})
    if others:
        message = f"`{given[0]}` stands alone in its object; beside it stands `{others[0][:64]}`."
        scope.findings.error(ProblemCode.CONFLICTING_KEYS, path, message, "Nest one inside the other.")
    if given[0] == "not":
        inner = _read(build, scope, value["not"], f"{path}.not")
        return None if inner is None else NotRule(rule=inner)
    return _group(build, scope, value[given[0]], f"{path}.{given[0]}", any_of=given[0] == "or")


def _group(build: Build, scope: StepScope, value: Any, path: str, *, any_of: bool) -> Validation | None:
    """A rule that cannot be checked leaves `and` shorter, but `or` empty: what it would have let pass is not known."""
    if not isinstance(value, list):
        scope.findings.error(ProblemCode.WRONG_TYPE, path, f"This is {kind_of(value)}; a list is wanted.")
        return None
    if not value:
        scope.findings.error(ProblemCode.TOO_SHORT, path, "This has 0 items; at least 1 are wanted.")
        return None
    rules = [_read(build, scope, item, f"{path}[{index}]") for index, item in enumerate(value)]
    readable = [rule for rule in rules if rule is not None]
    if any_of:
        return AnyRule(rules=tuple(readable)) if len(readable) == len(rules) else None
    return _all_of(readable)


def _all_of(rules: list[Validation]) -> Validation | None:
    return AllRules(rules=tuple(rules)) if rules else None


def _rule(build: Build, scope: StepScope, value: dict[str, Any], path: str) -> Rule | None:
    rule = parts.RULE(value, path, scope.findings)
    if rule is DROPPED:
        return None
    kind = RuleKind(rule["type"])
    _report_stray_keys(scope.findings, rule, kind, path)
    if not _is_complete(scope.findings, rule, kind, path) or not _is_sound(scope, rule, kind, path):
        return None
    return Rule(
        check=kind,
        message=rule["message"],
        value=rule.get("value", "") if kind is RuleKind.CONTAINS else "",
        pattern=rule.get("pattern", "") if kind is RuleKind.REGEX else "",
        flags=rule.get("flags", "") if kind is RuleKind.REGEX else "",
        min_length=rule.get("min") if kind is RuleKind.LENGTH else None,
        max_length=rule.get("max") if kind is RuleKind.LENGTH else None,
        schema=rule.get("schema") if kind is RuleKind.SCHEMA else None,
        condition=build.condition(scope, rule.get("condition"), f"{path}.condition"),
    )


def _report_stray_keys(findings: StepFindings, rule: dict[str, Any], kind: RuleKind, path: str) -> None:
    for key in sorted((_KIND_KEYS - KEYS_OF[kind]) & rule.keys()):
        message = f"A rule of type {kind} does not look at `{key}`."
        findings.warn(ProblemCode.IGNORED_FIELD, f"{path}.{key}", message)


def _is_complete(findings: StepFindings, rule: dict[str, Any], kind: RuleKind, path: str) -> bool:
    wanted = sorted(KEYS_OF[kind] - {"flags"})
    complete = any(key in rule for key in wanted)
    if not complete:
        names = " or ".join(f"`{key}`" for key in wanted)
        findings.error(ProblemCode.MISSING_KEY, path, f"A rule of type {kind} needs {names}.")
    return complete


def _is_sound(scope: StepScope, rule: dict[str, Any], kind: RuleKind, path: str) -> bool:
    if kind is RuleKind.REGEX:
        return _pattern_runs(scope, rule, path)
    if kind is RuleKind.SCHEMA:
        wrong = check_schema(rule["schema"])
        if wrong:
            scope.findings.error(ProblemCode.BAD_SCHEMA, f"{path}.schema", wrong)
        return not wrong
    least, most = rule.get("min", 0), rule.get("max")
    if kind is RuleKind.LENGTH and most is not None and least > most:
        message = f"No text has at least {shown_number(least)} and at most {shown_number(most)} characters."
        scope.findings.error(ProblemCode.CONFLICTING_KEYS, path, message)
        return False
    return True


def _pattern_runs(scope: StepScope, rule: dict[str, Any], path: str) -> bool:
    """A pattern that cannot run is an error; in a document of an older reader it is left out with a warning."""
    try:
        compile_pattern(rule["pattern"], flags=rule.get("flags", ""))
    except BadPatternError as error:
        if scope.tolerant:
            message = f"{error.message} The rule is left out."
            scope.findings.warn(ProblemCode.BAD_PATTERN, f"{path}.pattern", message, error.suggestion)
        else:
            scope.findings.error(ProblemCode.BAD_PATTERN, f"{path}.pattern", error.message, error.suggestion)
        return False
    return True
