"""What the readers of conditions share: the problems they collect, the limits they keep, and the values they accept."""

import re
from dataclasses import dataclass, field
from typing import Any

from workflows_app.engine.patterns import BadPatternError, compile_pattern
from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem
from workflows_app.engine.program import Broken, Compare, Condition, ConditionMode, Operator

MAX_DEPTH = 32
MAX_PARTS = 500
MAX_LIST = 500
MAX_NAME_CHARS = 256
LENIENT_FLAGS = "i"
ORDERING = frozenset({Operator.GT, Operator.GTE, Operator.LT, Operator.LTE})
TEXTUAL = frozenset({Operator.CONTAINS, Operator.STARTS_WITH, Operator.ENDS_WITH})
NUMERAL = re.compile(r"\s*-?[0-9]{1,15}(?:\.[0-9]{1,15})?\s*", re.ASCII)


@dataclass(slots=True, kw_only=True)
class Reading:
    """One condition being read. A part that cannot be read becomes `Broken`, so that the rest is read as well."""

    mode: ConditionMode
    file: str = ""
    problems: list[WorkflowProblem] = field(default_factory=list)
    parts: int = 0

    def error(self, code: ProblemCode, message: str, *, path: str, suggestion: str = "") -> Broken:
        self._report(Severity.ERROR, code, message, path=path, suggestion=suggestion)
        return Broken(reason=message)

    def warning(self, code: ProblemCode, message: str, *, path: str, suggestion: str = "") -> Broken:
        self._report(Severity.WARNING, code, message, path=path, suggestion=suggestion)
        return Broken(reason=message)

    def over_limit(self, *, path: str, depth: int) -> Broken | None:
        """Count one more part; the problem when there are too many or they nest too deep."""
        self.parts += 1
        if depth > MAX_DEPTH:
            return self.error(ProblemCode.TOO_DEEP, f"The condition nests deeper than {MAX_DEPTH} levels.", path=path)
        if self.parts == MAX_PARTS + 1:
            return self.error(ProblemCode.TOO_LARGE, f"The condition has more than {MAX_PARTS} parts.", path=path)
        return Broken(reason="The condition is too large.") if self.parts > MAX_PARTS else None

    def name(self, value: Any, *, path: str) -> tuple[str, ...] | None:
        """The path that a dotted variable name means; None after reporting one that means nothing."""
        if not isinstance(value, str):
            self.error(ProblemCode.WRONG_TYPE, "The name of a variable is text.", path=path)
            return None
        if len(value) > MAX_NAME_CHARS:
            self.error(
                ProblemCode.TOO_LONG, f"The name of a variable has at most {MAX_NAME_CHARS} characters.", path=path
            )
            return None
        segments = tuple(value.split("."))
        if not all(segment.strip() for segment in segments):
            self.error(
                ProblemCode.BAD_CONDITION,
                f"{value!r} names no variable.",
                path=path,
                suggestion="Write a name, or a path such as plan.steps.length.",
            )
            return None
        return segments

    def compare(self, name: tuple[str, ...], operator: Operator, value: Any, *, path: str) -> Condition:
        """The comparison, or `Broken` when the value is one that it can never be made with."""
        if operator in {Operator.EXISTS, Operator.NOT_EXISTS}:
            return Compare(path=name, operator=operator)
        if operator in ORDERING:
            return self._ordering(name, operator, value, path=path)
        if operator in TEXTUAL and not isinstance(value, str | int | float):
            return self.error(ProblemCode.WRONG_TYPE, f"{operator.value!r} looks for a text.", path=path)
        if operator is Operator.MATCHES:
            return self._matches(name, value, path=path)
        if operator is Operator.IN:
            return self._in(name, value, path=path)
        self._warn_of_containers([value], path=path)
        return Compare(path=name, operator=operator, value=value)

    def _ordering(self, name: tuple[str, ...], operator: Operator, value: Any, *, path: str) -> Condition:
        if isinstance(value, str) and NUMERAL.fullmatch(value):
            number = float(value)
            self.warning(
                ProblemCode.WRONG_TYPE, f"{value!r} is read as a number.", path=path, suggestion="Leave out the quotes."
            )
            return Compare(path=name, operator=operator, value=int(number) if number.is_integer() else number)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return self.error(ProblemCode.WRONG_TYPE, f"{operator.value!r} compares with a number.", path=path)
        return Compare(path=name, operator=operator, value=value)

    def _matches(self, name: tuple[str, ...], value: Any, *, path: str) -> Condition:
        if not isinstance(value, str):
            return self.error(ProblemCode.WRONG_TYPE, "'matches' takes a pattern, which is text.", path=path)
        try:
            compile_pattern(value, flags=LENIENT_FLAGS if self.mode is ConditionMode.LENIENT else "")
        except BadPatternError as error:
            return self.error(ProblemCode.BAD_PATTERN, error.message, path=path, suggestion=error.suggestion)
        return Compare(path=name, operator=Operator.MATCHES, value=value)

    def _in(self, name: tuple[str, ...], value: Any, *, path: str) -> Condition:
        if not isinstance(value, list | tuple):
            return self.error(ProblemCode.WRONG_TYPE, "'in' takes a list of the values that hold.", path=path)
        if len(value) > MAX_LIST:
            return self.error(ProblemCode.TOO_LONG, f"'in' lists at most {MAX_LIST} values.", path=path)
        self._warn_of_containers(value, path=path)
        return Compare(path=name, operator=Operator.IN, value=list(value))

    def _warn_of_containers(self, values: list[Any] | tuple[Any, ...], *, path: str) -> None:
        if any(isinstance(value, dict | list | tuple) for value in values):
            self.warning(
                ProblemCode.BAD_CONDITION,
                "A list or an object never equals anything.",
                path=path,
                suggestion="Compare a member by its path, or use 'contains'.",
            )

    def _report(self, severity: Severity, code: ProblemCode, message: str, *, path: str, suggestion: str) -> None:
        self.problems.append(
            WorkflowProblem(
                code=code, message=message, severity=severity, path=path, file=self.file, suggestion=suggestion
            )
        )
