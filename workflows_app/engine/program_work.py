"""How much a program may ask of one call: patterns and texts that are looked for take linear time each, and one call may have to
look for all of them; and some questions compare each step, or each way out, with every other one.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from workflows_app.engine.condition_readers.reading import LENIENT_FLAGS
from workflows_app.engine.patterns import MAX_PROGRAM_INSTRUCTIONS, BadPatternError, compile_pattern
from workflows_app.engine.problems import ProblemCode, WorkflowProblem
from workflows_app.engine.program import (
    Activity,
    Branch,
    Compare,
    ConditionMode,
    Family,
    Gate,
    Loop,
    Operator,
    Option,
    Parallel,
    Program,
    Rule,
    RuleKind,
    Step,
    Transition,
)
from workflows_app.engine.schema_safety import pattern_instructions
from workflows_app.engine.steps.scope import MAX_ITEMS

MAX_INSTRUCTIONS = 2 * MAX_PROGRAM_INSTRUCTIONS
MAX_LOOKED_FOR = 1_000
MAX_WAYS = 4_000
_ITEMS = (Activity, Step, Parallel, Gate, Loop)
_WAYS = (Transition, Branch, Option)
# What a schema's engine takes for an instruction, and how much longer a text it looks at.
_OF_A_SCHEMA = 32


def find_excess(program: Program) -> WorkflowProblem | None:
    flags = LENIENT_FLAGS if program.conditions is ConditionMode.LENIENT else ""
    instructions = texts = items = ways = 0
    for part in _parts(program):
        instructions += _instructions(part, flags)
        texts += _looks_for_a_text(part)
        items += isinstance(part, _ITEMS)
        ways += isinstance(part, _WAYS)
        if instructions > MAX_INSTRUCTIONS:
            return _too_large(
                f"The patterns of the workflow compile to more than {MAX_INSTRUCTIONS} instructions together.",
                "Use smaller repetition counts, or fewer patterns.",
            )
        if texts > MAX_LOOKED_FOR:
            return _too_large(
                f"The conditions and rules of the workflow look for more than {MAX_LOOKED_FOR} texts ('contains').",
                "Use fewer of them, or compare with 'equals' or 'in'.",
            )
    # The reader of steps counts as it builds them.
    if program.family is Family.ACTIVITIES and (items > MAX_ITEMS or ways > MAX_WAYS):
        return _too_large(
            f"There are more than {MAX_ITEMS} activities, steps, loops and checkpoints, or {MAX_WAYS} transitions, branches and options.",
            "Split the workflow.",
        )
    return None


def _too_large(message: str, suggestion: str) -> WorkflowProblem:
    return WorkflowProblem(code=ProblemCode.TOO_LARGE, message=message, suggestion=suggestion)


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
