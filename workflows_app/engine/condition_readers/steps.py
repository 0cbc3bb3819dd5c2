"""Conditions of step workflows: `{"var": …, "equals": …}`, `and`, `or`, `not`."""

from typing import Any

from workflows_app.engine.condition_readers.reading import Reading
from workflows_app.engine.problems import ProblemCode, WorkflowProblem, did_you_mean
from workflows_app.engine.program import AllOf, AnyOf, Broken, Condition, ConditionMode, Not, Operator, Truthy

# When several stand in one object, the first of these is the one that counts.
_OPERATORS = tuple(Operator)
_LOGICAL = ("and", "or", "not")
_KEYS = frozenset({"var", *_LOGICAL, *(operator.value for operator in _OPERATORS)})


def parse_steps_condition(
    value: Any, *, path: str, mode: ConditionMode
) -> tuple[Condition | None, tuple[WorkflowProblem, ...]]:
    """The condition and what is wrong with it. Null and `{}` say nothing and hold; inside another condition they never do."""
    if value is None or value == {}:
        return None, ()
    reading = Reading(mode=mode)
    condition = _read(reading, value, path=path, depth=1)
    return condition, tuple(reading.problems)


def _read(reading: Reading, value: Any, *, path: str, depth: int) -> Condition:
    if over := reading.over_limit(path=path, depth=depth):
        return over
    if not isinstance(value, dict):
        return reading.error(
            ProblemCode.WRONG_TYPE,
            "A condition is an object.",
            path=path,
            suggestion='Write {"var": "name", "equals": "value"}.',
        )
    if not value:
        return reading.warning(ProblemCode.BAD_CONDITION, "An empty condition inside another never holds.", path=path)
    is_told = _report_unknown(reading, value, path=path)
    if "var" in value:
        return _read_variable(reading, value, path=path)
    if is_told and value.keys().isdisjoint(_LOGICAL):
        # What is missing may be what is misspelt.
        return Broken(reason="The condition cannot be read.")
    return _read_logical(reading, value, path=path, depth=depth)


def _report_unknown(reading: Reading, value: dict[str, Any], *, path: str) -> bool:
    """Whether there is any."""
    unknown = sorted(str(key) for key in value if key not in _KEYS)
    for key in unknown:
        reading.error(
            ProblemCode.UNKNOWN_OPERATOR,
            f"A condition has no operator {key!r:.80}.",
            path=_at(path, key),
            suggestion=did_you_mean(key[:80], _KEYS),
        )
    return bool(unknown)


def _read_variable(reading: Reading, value: dict[str, Any], *, path: str) -> Condition:
    name = reading.name(value["var"], path=_at(path, "var"))
    if name is None:
        return Broken(reason="The condition names no variable.")
    given = [key for key in (*_OPERATORS, *_LOGICAL) if key in value]
    _report_conflict(reading, given, path=path)
    if not given or given[0] in _LOGICAL:
        return Truthy(path=name)
    operator = Operator(given[0])
    operand = value[operator.value]
    here = _at(path, operator.value)
    if operator in {Operator.EXISTS, Operator.NOT_EXISTS}:
        return _read_presence(reading, name, operator, operand, path=here)
    return reading.compare(name, operator, operand, path=here)


def _read_presence(
    reading: Reading, name: tuple[str, ...], operator: Operator, operand: Any, *, path: str
) -> Condition:
    """`exists: false` is `notExists: true`."""
    if not isinstance(operand, bool):
        return reading.error(ProblemCode.WRONG_TYPE, f"{operator.value!r} is true or false.", path=path)
    wanted = operator is Operator.EXISTS if operand else operator is Operator.NOT_EXISTS
    return reading.compare(name, Operator.EXISTS if wanted else Operator.NOT_EXISTS, None, path=path)


def _read_logical(reading: Reading, value: dict[str, Any], *, path: str, depth: int) -> Condition:
    given = [key for key in _LOGICAL if key in value]
    stray = [operator.value for operator in _OPERATORS if operator.value in value]
    if not given:
        if not stray:
            return Broken(reason="The condition has no operator.")
        return reading.error(
            ProblemCode.BAD_CONDITION,
            f"{stray[0]!r} has no variable to compare.",
            path=path,
            suggestion='Add "var" with the name of the variable.',
        )
    _report_conflict(reading, [*given, *stray], path=path)
    logical, operand, here = given[0], value[given[0]], _at(path, given[0])
    if logical == "not":
        return Not(condition=_read(reading, operand, path=here, depth=depth + 1))
    if not isinstance(operand, list | tuple):
        return reading.error(ProblemCode.WRONG_TYPE, f"{logical!r} takes a list of conditions.", path=here)
    if not operand:
        always = "always" if logical == "and" else "never"
        reading.warning(ProblemCode.BAD_CONDITION, f"An empty {logical!r} {always} holds.", path=here)
    parts = tuple(_read(reading, part, path=f"{here}[{index}]", depth=depth + 1) for index, part in enumerate(operand))
    return AllOf(conditions=parts) if logical == "and" else AnyOf(conditions=parts)


def _report_conflict(reading: Reading, given: list[str], *, path: str) -> None:
    if len(given) > 1:
        others = ", ".join(repr(str(key)) for key in given[1:])
        reading.warning(
            ProblemCode.CONFLICTING_KEYS,
            f"Only {str(given[0])!r} counts here; {others} is ignored.",
            path=path,
            suggestion='Join several tests with "and".',
        )


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
