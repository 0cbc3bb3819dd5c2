"""Conditions written as one line: `a == true && (b != "x" || !c.d)`."""

import re
from typing import Any

from workflows_app.engine.condition_readers.reading import MAX_DEPTH, Reading
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import AllOf, AnyOf, Condition, Not, Operator, Truthy

MAX_CHARS = 4_000
_OPERATORS = {
    "==": Operator.EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GT,
    ">=": Operator.GTE,
    "<": Operator.LT,
    "<=": Operator.LTE,
}
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<sign>&&|\|\||==|!=|>=|<=|[()!<>])(?!=)
      | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<number>-?[0-9]{1,15}(?:\.[0-9]{1,15})?)(?![\w.])
      | (?P<word>[A-Za-z_][\w]*(?:\.\w+)*)
    )""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_HINTS = (
    ("===", "Write == instead of ===."),
    ("!==", "Write != instead of !==."),
    ("=", "Compare with ==."),
    ("&", "Join conditions with &&."),
    ("|", "Join conditions with ||."),
    ('"', "Close the quotes."),
    ("'", "Close the quotes."),
)

_Token = tuple[str, Any]


class _UnreadableWhenError(Exception):
    def __init__(self, message: str, suggestion: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.suggestion = suggestion


def read_when(reading: Reading, text: str, *, path: str) -> Condition:
    """The condition that a line says. `&&` and `||` in one group need brackets; a comparison binds tighter than `!`."""
    if len(text) > MAX_CHARS:
        message = f"The expression has {len(text)} characters; at most {MAX_CHARS} are read."
        return reading.error(ProblemCode.TOO_LONG, message, path=path)
    try:
        return _Parser(reading, _tokens(text), path=path).parse()
    except _UnreadableWhenError as error:
        return reading.error(ProblemCode.BAD_CONDITION, error.message, path=path, suggestion=error.suggestion)


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    end = len(text.rstrip())
    while position < end:
        found = _TOKEN.match(text, position)
        if found is None:
            raise _unknown_text(text[position:].lstrip())
        tokens.append(_token(found))
        position = found.end()
    return tokens


def _token(found: re.Match[str]) -> _Token:
    if found["sign"]:
        return "sign", found["sign"]
    if found["text"]:
        return "value", re.sub(r"\\(.)", r"\1", found["text"][1:-1], flags=re.DOTALL)
    if found["number"]:
        number = float(found["number"])
        return "value", number if "." in found["number"] else int(number)
    word = found["word"]
    return ("value", _WORDS[word]) if word in _WORDS else ("word", word)


def _unknown_text(rest: str) -> _UnreadableWhenError:
    suggestion = next((hint for start, hint in _HINTS if rest.startswith(start)), "")
    return _UnreadableWhenError(f"The expression cannot be read at {rest[:20]!r}.", suggestion)


class _Parser:
    def __init__(self, reading: Reading, tokens: list[_Token], *, path: str) -> None:
        self.reading = reading
        self.tokens = tokens
        self.path = path
        self.position = 0

    def parse(self) -> Condition:
        if not self.tokens:
            raise _UnreadableWhenError("The expression is empty.", "Leave it out, or name a variable.")
        condition = self._group(depth=1)
        if self.position < len(self.tokens):
            raise _misplaced(self.tokens[self.position])
        return condition

    def _group(self, *, depth: int) -> Condition:
        """A chain of one kind of joint."""
        parts = [self._unary(depth=depth)]
        joint = ""
        while self._peek() in {("sign", "&&"), ("sign", "||")}:
            sign = self._take()[1]
            if joint and sign != joint:
                raise _UnreadableWhenError(
                    "&& and || stand in one group.", "Put brackets around one of them: (a && b) || c."
                )
            joint = sign
            parts.append(self._unary(depth=depth))
        if not joint:
            return parts[0]
        return AllOf(conditions=tuple(parts)) if joint == "&&" else AnyOf(conditions=tuple(parts))

    def _unary(self, *, depth: int) -> Condition:
        if depth > MAX_DEPTH:
            raise _UnreadableWhenError(f"The expression nests deeper than {MAX_DEPTH} levels.")
        if self._peek() == ("sign", "!"):
            self._take()
            return Not(condition=self._unary(depth=depth + 1))
        if self._peek() == ("sign", "("):
            self._take()
            inner = self._group(depth=depth + 1)
            if self._take() != ("sign", ")"):
                raise _UnreadableWhenError("A bracket is not closed.", "Add the missing ).")
            return inner
        return self._test()

    def _test(self) -> Condition:
        if over := self.reading.over_limit(path=self.path, depth=1):
            return over
        kind, value = self._take()
        if kind == "value" and isinstance(value, bool):
            return AllOf(conditions=()) if value else AnyOf(conditions=())
        if kind != "word":
            raise _misplaced((kind, value))
        name = tuple(value.split("."))
        following = self._peek()
        if following is None or following[0] != "sign" or following[1] not in _OPERATORS:
            return Truthy(path=name)
        operator = _OPERATORS[self._take()[1]]
        kind, operand = self._take()
        if kind == "sign":
            raise _misplaced((kind, operand))
        # A bare word on the right is a text: `kind == completion`.
        return self.reading.compare(name, operator, operand, path=self.path)

    def _peek(self) -> _Token | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def _take(self) -> _Token:
        token = self._peek()
        if token is None:
            raise _UnreadableWhenError("The expression ends too early.")
        self.position += 1
        return token


def _misplaced(token: _Token) -> _UnreadableWhenError:
    kind, value = token
    suggestion = {"and": "Write &&.", "or": "Write ||.", "not": "Write !."}.get(str(value), "")
    if kind == "value" and not suggestion:
        suggestion = "A variable stands on the left, a value on the right."
    return _UnreadableWhenError(f"{value!r} does not belong there.", suggestion)
