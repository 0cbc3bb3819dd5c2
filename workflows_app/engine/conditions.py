"""The one closed language of conditions: read from either authoring format, evaluated, and said in a line.

STRICT compares as written. LENIENT is what the 0.3.0 format promises: texts are trimmed and compared without case, "1" is 1,
"yes" is true, null and missing are one. A condition that cannot be evaluated does not hold.
"""

import math
import re
from collections.abc import Callable, Container, Hashable, Iterator, Mapping
from typing import Any, Final, TypeVar, assert_never

from workflows_app.engine import canonical
from workflows_app.engine.condition_readers.activities import OPERATORS, parse_activity_condition
from workflows_app.engine.condition_readers.reading import LENIENT_FLAGS
from workflows_app.engine.condition_readers.steps import parse_steps_condition
from workflows_app.engine.patterns import BadPatternError, compile_pattern
from workflows_app.engine.program import AllOf, AnyOf, Broken, Compare, Condition, ConditionMode, Not, Operator, Truthy

__all__ = [
    "MISSING",
    "Looking",
    "could_hold",
    "describe",
    "evaluate",
    "is_ruled_out",
    "is_same_value",
    "is_same_variable",
    "lookup",
    "parse_activity_condition",
    "parse_steps_condition",
    "root_of",
    "variables_of",
    "with_dotted",
]

Variables = Mapping[str, Any]
_Made = TypeVar("_Made")
_Test = Callable[[Any, Any, "Looking"], bool]


class _Missing:
    """What a variable that was never set is. It is not null: strict conditions tell them apart."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()


def lookup(path: tuple[str, ...], *, variables: Variables) -> Any:
    """The value at a dotted path, or `MISSING`. A variable whose whole name is the dotted text comes first."""
    if len(path) == 1:
        return variables.get(path[0], MISSING)
    whole = variables.get(".".join(path), MISSING)
    if whole is not MISSING:
        return whole
    value = variables.get(path[0], MISSING) if path else MISSING
    for segment in path[1:]:
        value = _member(value, segment)
    return value


def root_of(name: str) -> str:
    """The variable of which a dotted name reads a part."""
    return name.partition(".")[0]


def is_same_value(value: Any, other: Any) -> bool:
    """Whether no condition tells them apart: neither `true` and 1, nor null and what was never set."""
    if value is other:
        return True
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(is_same_value(value[key], other[key]) for key in value)
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(is_same_value, value, other))
    return isinstance(value, bool) is isinstance(other, bool) and bool(value == other)


def is_same_variable(name: str, *, variables: Variables, others: Variables) -> bool:
    """Whether all that is read under that name is the same in both, variables with dotted names included."""
    under = f"{name}."
    names = {each for each in (*variables, *others) if each == name or each.startswith(under)}
    return all(is_same_value(variables.get(each, MISSING), others.get(each, MISSING)) for each in names)


def with_dotted(added: Variables, *, variables: Variables) -> dict[str, Any]:
    """What is set, with the variables of dotted names that would hide a part of it: they say the same."""
    found = dict(added)
    for name in variables if added else ():
        root, dot, _ = name.partition(".")
        if dot and root in added and name not in added:
            value = lookup(tuple(name.split(".")), variables=added)
            found[name] = None if value is MISSING else value
    return found


class Looking:
    """What was made of the values that conditions look at, for conditions that are asked together: a long value is read once, and
    not looked through again for the same part. `parts` is how many parts of conditions were asked, and what long values cost.
    """

    __slots__ = ("_kept", "_made", "parts")

    def __init__(self) -> None:
        self.parts = 0
        # Under the identity of a value, which is kept so that no other one gets it.
        self._made: dict[tuple[int, Hashable], Any] = {}
        self._kept: dict[int, Any] = {}

    def once(self, value: Any, what: Hashable, make: Callable[[Any], _Made]) -> _Made:
        if not isinstance(value, str | list | tuple) or (isinstance(value, str) and len(value) <= _SHORT_CHARS):
            return make(value)
        key = (id(value), what)
        if key not in self._made:
            self._kept[id(value)] = value
            self.parts += len(value) // _CHARS_OF_A_PART
            self._made[key] = make(value)
        return self._made[key]  # type: ignore[no-any-return]  # what was made under this key

    def text(self, value: Any) -> str:
        """As the 0.3.0 format compares it."""
        return self.once(value, _folded, _folded)

    def has(self, value: Any, part: Any) -> bool:
        """As the 0.3.0 format looks for it."""
        wanted = _folded(part)
        return self.once(value, ("has", wanted), lambda whole: wanted in self.text(whole))

    def has_exactly(self, value: Any, part: Any) -> bool:
        """A list has the member, a text has the part."""
        if isinstance(value, list | tuple):
            return type(part) in _SCALARS and _member_key(part) in self.once(value, _members, _members)
        if not isinstance(value, str) or not isinstance(part, str):
            return False
        return self.once(value, ("has exactly", part), lambda whole: part in whole)

    def matches(self, value: Any, pattern: Any, flags: str) -> bool:
        return self.once(value, ("matches", pattern, flags), lambda whole: _matches(whole, pattern, flags))


def evaluate(
    condition: Condition | None, *, variables: Variables, mode: ConditionMode, looking: Looking | None = None
) -> bool:
    """Whether the condition holds; an absent one does. Never raises."""
    if condition is None:
        return True
    tests = _LENIENT if mode is ConditionMode.LENIENT else _STRICT
    try:
        return _holds(condition, variables, tests, looking or Looking())
    except (_BrokenConditionError, RecursionError):
        return False


def is_unknown(condition: Condition | None, *, variables: Mapping[str, Any]) -> bool:
    """Whether it asks for a variable that nobody has set."""
    named = (tuple(name.split(".")) for name in variables_of(condition))
    return any(lookup(path, variables=variables) is MISSING for path in named)


def could_hold(
    condition: Condition | None,
    *,
    variables: Variables,
    mode: ConditionMode,
    known: Container[str] = (),
    looking: Looking | None = None,
) -> bool:
    """Whether it asks for a variable that nobody has set, and what is set leaves it open. `known` are those that are as they stay,
    set or not.
    """
    if condition is None or not is_unknown(condition, variables=variables):
        return False

    def is_known(name: str) -> bool:
        return name in known or lookup(tuple(name.split(".")), variables=variables) is not MISSING

    return not is_ruled_out(condition, variables=variables, mode=mode, is_known=is_known, looking=looking)


def is_ruled_out(
    condition: Condition | None,
    *,
    variables: Variables,
    mode: ConditionMode,
    is_known: Callable[[str], bool],
    looking: Looking | None = None,
) -> bool:
    """Whether it does not hold by the known variables alone, whatever the others are."""
    if condition is None:
        return False
    tests = _LENIENT if mode is ConditionMode.LENIENT else _STRICT
    try:
        return _as_far_as_known(condition, variables, tests, looking or Looking(), is_known) is False
    except (_BrokenConditionError, RecursionError):
        return True


def smallest_parts(condition: Condition | None) -> Iterator[Compare | Truthy]:
    """What a condition asks of single variables, without how that is put together."""
    waiting = [] if condition is None else [condition]
    while waiting:
        part = waiting.pop()
        match part:
            case Compare() | Truthy():
                yield part
            case AllOf() | AnyOf():
                waiting.extend(part.conditions)
            case Not():
                waiting.append(part.condition)
            case Broken():
                pass
            case _:
                assert_never(part)


def variables_of(condition: Condition | None) -> frozenset[str]:
    """The variables that a condition reads, as dotted text."""
    return frozenset(".".join(part.path) for part in smallest_parts(condition))


def describe(condition: Condition | None) -> str:
    """The condition as activity workflows write it: `a == true AND NOT (b exists)`; empty when there is none."""
    match condition:
        case None:
            return ""
        case Compare():
            return _describe_compare(condition)
        case Truthy():
            return ".".join(condition.path)
        case AllOf():
            return " AND ".join(describe(part) for part in condition.conditions) or "true"
        case AnyOf():
            return " OR ".join(describe(part) for part in condition.conditions) or "false"
        case Not():
            return f"NOT ({describe(condition.condition)})"
        case Broken():
            return "false"
        case _:
            assert_never(condition)


_SPELLING = {operator: sign for sign, operator in OPERATORS.items()}


def _describe_compare(condition: Compare) -> str:
    name, sign = ".".join(condition.path), _SPELLING[condition.operator]
    if condition.operator in {Operator.EXISTS, Operator.NOT_EXISTS}:
        return f"{name} {sign}"
    try:
        return f"{name} {sign} {canonical.canonical_bytes(condition.value).decode()}"
    except canonical.NotCanonicalError:
        return f"{name} {sign} {condition.value!r}"


class _BrokenConditionError(Exception):
    pass


def _holds(condition: Condition, variables: Variables, tests: Mapping[Operator, _Test], looking: Looking) -> bool:
    looking.parts += 1
    # Types are asked one by one, the most frequent first: `match` costs three times as much here.
    if type(condition) is Compare:
        path = condition.path
        value = variables.get(path[0], MISSING) if len(path) == 1 else lookup(path, variables=variables)
        return tests[condition.operator](value, condition.value, looking)
    if type(condition) is AllOf:
        return all(_holds(part, variables, tests, looking) for part in condition.conditions)
    if type(condition) is AnyOf:
        return any(_holds(part, variables, tests, looking) for part in condition.conditions)
    if type(condition) is Not:
        return not _holds(condition.condition, variables, tests, looking)
    if type(condition) is Truthy:
        return _is_truthy(lookup(condition.path, variables=variables))
    raise _BrokenConditionError


def _as_far_as_known(
    condition: Condition,
    variables: Variables,
    tests: Mapping[Operator, _Test],
    looking: Looking,
    is_known: Callable[[str], bool],
) -> bool | None:
    """As `_holds`, and None where it depends on what is not known."""
    if isinstance(condition, AllOf | AnyOf):
        found = {_as_far_as_known(part, variables, tests, looking, is_known) for part in condition.conditions}
        decides = isinstance(condition, AnyOf)
        return decides if decides in found else None if None in found else not decides
    if isinstance(condition, Not):
        inner = _as_far_as_known(condition.condition, variables, tests, looking, is_known)
        return None if inner is None else not inner
    if isinstance(condition, Compare | Truthy) and not is_known(".".join(condition.path)):
        looking.parts += 1
        return None
    return _holds(condition, variables, tests, looking)


def _member(value: Any, segment: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(segment, MISSING)
    if not isinstance(value, list | tuple):
        return MISSING
    if segment == "length":
        return len(value)
    if segment.isascii() and segment.isdigit() and len(segment) <= 9:
        index = int(segment)
        return value[index] if index < len(value) else MISSING
    return MISSING


def _is_truthy(value: Any) -> bool:
    """Lists and objects count as true even when they are empty, as in the language the workflows were written for."""
    return isinstance(value, list | tuple | Mapping) or (bool(value) and value == value)  # noqa: PLR0124  NaN is false


# Comparison of single values


def _is_same(value: Any, wanted: Any) -> bool:
    """Equal in type and value; the two kinds of number are one type; a list or an object equals nothing."""
    kind, other = type(value), type(wanted)
    if kind is other:
        return kind in _SCALARS and value == wanted
    return kind in _NUMBERS and other in _NUMBERS and value == wanted


def _is_alike(value: Any, wanted: Any, looking: Looking) -> bool:
    """Equal as 0.3.0 compares: without case and outer space, "1" and 1, "yes" and true, null and missing."""
    if value is None or value is MISSING:
        return wanted is None
    kind, other = type(value), type(wanted)
    if kind is other:
        if kind is str:
            return value == wanted or looking.text(value) == _fold(wanted)
        return kind in _SCALARS and value == wanted
    if kind is str or other is str:
        text, rest = (value, wanted) if kind is str else (wanted, value)
        return _says(text, rest, looking)
    return kind in _NUMBERS and other in _NUMBERS and value == wanted


def _says(text: str, value: Any, looking: Looking) -> bool:
    """Whether a text spells a number or a truth value."""
    if type(value) is bool:
        return looking.text(text) in (_TRUE_WORDS if value else _FALSE_WORDS)
    if type(value) in _NUMBERS:
        number = looking.once(text, _number, _number)
        return number is not None and number == value
    return False


def _number(text: str) -> float | None:
    """The number that a text spells in JavaScript; an empty one spells 0."""
    bare = text.strip(_JS_SPACE)
    if not bare:
        return 0
    if _DECIMAL.fullmatch(bare):
        return float(bare)
    if _PREFIXED.fullmatch(bare):
        digits = bare[2:].lstrip("0") or "0"
        return float(int(digits, {"x": 16, "o": 8, "b": 2}[bare[1].lower()])) if len(digits) <= 250 else math.inf
    return None


def _fold(text: str) -> str:
    return text.strip(_JS_SPACE).lower()


def _text(value: Any) -> str:
    """A value as text, the way JavaScript joins it: `a,b` for a list, nothing for null."""
    if type(value) is str:
        return value
    if value is None or value is MISSING:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(_text(item) for item in value)
    if isinstance(value, Mapping):
        return "[object Object]"
    try:
        return canonical.canonical_bytes(value).decode()
    except canonical.NotCanonicalError:
        return str(value) if isinstance(value, float) else ""


def _folded(value: Any) -> str:
    return _fold(_text(value))


def _bare(value: Any) -> str:
    return _text(value).strip(_JS_SPACE)


def _members(value: list[Any] | tuple[Any, ...]) -> frozenset[tuple[bool | None, Any]]:
    """The members that equal something: by what `_is_same` tells apart."""
    return frozenset(_member_key(item) for item in value if type(item) in _SCALARS)


def _member_key(item: Any) -> tuple[bool | None, Any]:
    return (type(item) in _NUMBERS, item) if type(item) is not bool else (None, item)


def _is_over(value: Any, wanted: Any, _looking: Looking) -> bool:
    return type(value) in _NUMBERS and type(wanted) in _NUMBERS and value > wanted


def _is_at_least(value: Any, wanted: Any, _looking: Looking) -> bool:
    return type(value) in _NUMBERS and type(wanted) in _NUMBERS and value >= wanted


def _is_under(value: Any, wanted: Any, _looking: Looking) -> bool:
    return type(value) in _NUMBERS and type(wanted) in _NUMBERS and value < wanted


def _is_at_most(value: Any, wanted: Any, _looking: Looking) -> bool:
    return type(value) in _NUMBERS and type(wanted) in _NUMBERS and value <= wanted


def _exists(value: Any, _wanted: Any, _looking: Looking) -> bool:
    return value is not None and value is not MISSING


def _matches(text: str, pattern: Any, flags: str) -> bool:
    if not isinstance(pattern, str):
        return False
    try:
        return compile_pattern(pattern, flags=flags).search(text)
    except BadPatternError:
        return False


def _is_text_pair(value: Any, wanted: Any) -> bool:
    return isinstance(value, str) and isinstance(wanted, str)


# Longer texts, and all lists, are worth being remembered.
_SHORT_CHARS = 256
# To look through so many of them takes about as long as to ask a part.
_CHARS_OF_A_PART = 1_000
_SCALARS = frozenset({str, int, float, bool, type(None)})
_NUMBERS = frozenset({int, float})
_TRUE_WORDS = frozenset({"true", "1", "yes"})
_FALSE_WORDS = frozenset({"false", "0", "no"})
_JS_SPACE = (
    "\t\n\v\f\r \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_DECIMAL = re.compile(r"[+-]?(?:Infinity|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)", re.ASCII)
_PREFIXED = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)", re.ASCII)

_SHARED: dict[Operator, _Test] = {
    Operator.GT: _is_over,
    Operator.GTE: _is_at_least,
    Operator.LT: _is_under,
    Operator.LTE: _is_at_most,
    Operator.EXISTS: _exists,
    Operator.NOT_EXISTS: lambda value, wanted, looking: not _exists(value, wanted, looking),
}
_STRICT: dict[Operator, _Test] = _SHARED | {
    Operator.EQUALS: lambda value, wanted, _looking: _is_same(value, wanted),
    Operator.NOT_EQUALS: lambda value, wanted, _looking: not _is_same(value, wanted),
    Operator.CONTAINS: lambda value, wanted, looking: looking.has_exactly(value, wanted),
    Operator.STARTS_WITH: lambda value, wanted, _looking: _is_text_pair(value, wanted) and value.startswith(wanted),
    Operator.ENDS_WITH: lambda value, wanted, _looking: _is_text_pair(value, wanted) and value.endswith(wanted),
    Operator.MATCHES: lambda value, wanted, looking: isinstance(value, str) and looking.matches(value, wanted, ""),
    Operator.IN: lambda value, wanted, _looking: (
        isinstance(wanted, list | tuple) and any(_is_same(value, item) for item in wanted)
    ),
}
_LENIENT: dict[Operator, _Test] = _SHARED | {
    Operator.EQUALS: _is_alike,
    Operator.NOT_EQUALS: lambda value, wanted, looking: not _is_alike(value, wanted, looking),
    Operator.CONTAINS: lambda value, wanted, looking: looking.has(value, wanted),
    Operator.STARTS_WITH: lambda value, wanted, looking: looking.text(value).startswith(_folded(wanted)),
    Operator.ENDS_WITH: lambda value, wanted, looking: looking.text(value).endswith(_folded(wanted)),
    Operator.MATCHES: lambda value, wanted, looking: looking.matches(
        looking.once(value, _bare, _bare), wanted, LENIENT_FLAGS
    ),
    Operator.IN: lambda value, wanted, looking: (
        isinstance(wanted, list | tuple) and any(_is_alike(value, item, looking) for item in wanted)
    ),
}
