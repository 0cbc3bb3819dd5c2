"""How much the patterns of a program, and what it looks for in texts, may cost: each takes linear time, and one call may have to look
for all of them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from workflows_app.engine.condition_readers.reading import LENIENT_FLAGS
from workflows_app.engine.patterns import MAX_PROGRAM_INSTRUCTIONS, BadPatternError, compile_pattern
from workflows_app.engine.problems import ProblemCode, WorkflowProblem
from workflows_app.engine.program import Compare, ConditionMode, Operator, Program, Rule, RuleKind
from workflows_app.engine.schema_safety import pattern_instructions

MAX_INSTRUCTIONS = 2 * MAX_PROGRAM_INSTRUCTIONS
MAX_LOOKED_FOR = 1_000
# What a schema's engine takes for an instruction, and how much longer a text it looks at.
_OF_A_SCHEMA = 32


def too_much_to_look_for(program: Program) -> WorkflowProblem | None:
    flags = LENIENT_FLAGS if program.conditions is ConditionMode.LENIENT else ""
    total = looked_for = 0
    for part in _parts(program):
        total += _instructions(part, flags)
        looked_for += _looks_for_a_text(part)
        if total > MAX_INSTRUCTIONS:
            return WorkflowProblem(
                code=ProblemCode.TOO_LARGE,
                message=f"The patterns of the workflow compile to more than {MAX_INSTRUCTIONS} instructions together.",
                suggestion="Use smaller repetition counts, or fewer patterns.",
            )
        if looked_for > MAX_LOOKED_FOR:
            return WorkflowProblem(
                code=ProblemCode.TOO_LARGE,
                message=f"The conditions and rules of the workflow look for more than {MAX_LOOKED_FOR} texts ('contains').",
                suggestion="Use fewer of them, or compare with 'equals' or 'in'.",
            )
    return None


def _looks_for_a_text(part: object) -> bool:
    match part:
        case Rule(check=RuleKind.CONTAINS) | Compare(operator=Operator.CONTAINS):
            return True
        case _:
            return False


def _instructions(part: object, flags: str) -> int:
    match part:
        case Rule(check=RuleKind.REGEX):
            return _program_size(part.pattern, part.flags)
        case Rule(check=RuleKind.SCHEMA):
            return _OF_A_SCHEMA * pattern_instructions(part.schema or {})
        case Compare(operator=Operator.MATCHES):
            return _program_size(part.value, flags) if isinstance(part.value, str) else 0
        case _:
            return 0


def _program_size(source: str, flags: str) -> int:
    try:
        pattern = compile_pattern(source, flags=flags)
    except BadPatternError:
        # It is told where it stands, and never runs.
        return 0
    return sum(part.programsize for part in (pattern.main, *pattern.ahead, *pattern.not_ahead))


def _parts(root: object) -> Iterator[Any]:
    waiting: list[Any] = [root]
    while waiting:
        part = waiting.pop()
        if isinstance(part, msgspec.Struct):
            yield part
            waiting.extend(getattr(part, name) for name in part.__struct_fields__)
        elif isinstance(part, Mapping):
            waiting.extend(part.values())
        elif isinstance(part, tuple | list):
            waiting.extend(part)
