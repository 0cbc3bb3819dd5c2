"""JavaScript's spelling of regular expressions, translated to RE2's. Values in, text out; nothing is matched here."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_SPACE = "\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}"
_NOT_SPACE = (
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}"
    "\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}"
)
_ANYTHING = "[\\x{0}-\\x{10ffff}]"
_NOTHING = "[^\\x{0}-\\x{10ffff}]"
_NOT_LINE_END = "[^\\n\\r\\x{2028}\\x{2029}]"
_SHORTHAND = frozenset("dDwWsS")
_KEPT_LETTERS = frozenset("dDwWfnrtv")
_CONTROL_LETTERS = re.compile(r"[A-Za-z]")
_CODE_POINT = re.compile(r"u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|x\{([0-9A-Fa-f]{1,6})\}")
_PROPERTY = re.compile(r"([pP])\{(?:(?:Script|sc|Script_Extensions|scx|General_Category|gc)=)?(\^?[A-Za-z_]{1,40})\}")
_INLINE_FLAGS = re.compile(r"\(\?([imsU]*)(?:-[imsU]+)?[:)]")
_GROUP = re.compile(r"\(\?(?::|P?<[A-Za-z_]\w*>)", re.ASCII)
_LOOK_AHEAD = re.compile(r"\(\?([=!])")
_WORDS = re.compile(r"(?:\.\*)?[\w\s:;,#!@/<>=\"'-]+")
_EXPLICIT_LINE_END = re.compile(r"\\(?:[rn]|c[jmJM]|u202[89]|u000[adAD]|x0[adAD]|[ux]\{)|[\r\n\u2028\u2029]")
_LAST_CODE_POINT = 0x10FFFF


class BadPatternError(ValueError):
    """A pattern that cannot run here: why, and what to write instead."""

    def __init__(self, message: str, suggestion: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.suggestion = suggestion


@dataclass(frozen=True, slots=True, kw_only=True)
class Translated:
    """RE2 text. `ahead` and `not_ahead` are what must and must not match at the start of the text besides `main`.

    RE2 knows one line end, JavaScript four. `folds_line_ends` says that the pattern names none of them, so that writing all
    four as one in the text leaves its meaning as it was.
    """

    main: str
    prefix: str
    ahead: tuple[str, ...] = ()
    not_ahead: tuple[str, ...] = ()
    folds_line_ends: bool = False


def translate(pattern: str, *, flags: str = "") -> Translated:
    """RE2's spelling of a JavaScript pattern; raises `BadPatternError` where there is none."""
    prefix, sticky = _prefix(flags)
    inline = "".join(_INLINE_FLAGS.findall(pattern))
    folds = not _EXPLICIT_LINE_END.search(pattern)
    writer = _PatternWriter(dot="." if folds or "s" in prefix or "s" in inline else _NOT_LINE_END)
    leading = _INLINE_FLAGS.match(pattern)
    start = leading.end() if leading and leading.group().endswith(")") else 0
    head, body = pattern[:start], pattern[start:]
    looks, rest = _leading_looks(body, multiline="m" in prefix or "m" in inline)
    main = f"{head}{writer.write(rest)}"
    return Translated(
        main=f"\\A(?:{main})" if sticky else main,
        prefix=prefix,
        ahead=tuple(f"{head}(?:{writer.write(text)})" for negative, text in looks if not negative),
        not_ahead=tuple(f"{head}(?:{writer.write(text)})" for negative, text in looks if negative),
        folds_line_ends=folds,
    )


def _prefix(flags: str) -> tuple[str, bool]:
    """RE2's inline flags, and whether the match must begin where the text does.

    `g` asks for more than the first match, `d` for its place, `u` and `v` for characters instead of halves of them: none
    changes whether there is a match, because RE2 always reads whole characters.
    """
    unknown = sorted(set(flags) - set("dgimsuvy"))
    if unknown or len(set(flags)) != len(flags):
        wrong = f"{unknown[0]!r} is no flag" if unknown else "a flag stands twice"
        raise BadPatternError(f"The flags {flags!r} cannot be read: {wrong}.", "Known flags: g, i, m, s, u, y.")
    kept = "".join(flag for flag in "ims" if flag in flags)
    return (f"(?{kept})" if kept else ""), "y" in flags


def _leading_looks(body: str, *, multiline: bool) -> tuple[list[tuple[bool, str]], str]:
    """Take look-aheads off the start of an anchored pattern: there they are tests of the text beside the rest."""
    anchored = body.startswith("^")
    position = 1 if anchored else 0
    looks: list[tuple[bool, str]] = []
    while look := _LOOK_AHEAD.match(body, position):
        end = _closing(body, position)
        looks.append((look.group(1) == "!", body[look.end() : end]))
        position = end + 1
    if not looks:
        return [], body
    rest = body[position:]
    if not anchored:
        return [], _vacuous(looks, rest)
    if multiline or rest[:1] in set("*+?{") or _has_alternative(rest):
        raise _look_around("a look-ahead")
    return looks, f"^{rest}"


def _vacuous(looks: list[tuple[bool, str]], rest: str) -> str:
    """A lone unanchored `(?!words)` holds at the end of every text, where no word follows: it asks for nothing."""
    negative, text = looks[0]
    if rest or len(looks) > 1 or not negative or not _WORDS.fullmatch(text):
        raise _look_around("a look-ahead")
    return ""


def _look_around(what: str) -> BadPatternError:
    return BadPatternError(
        f"The pattern uses {what} where it cannot be run in linear time.",
        "Put ^ before look-aheads at the start, or use several rules with and, or, not.",
    )


def _closing(text: str, opening: int) -> int:
    """Where the group that opens at `opening` closes."""
    depth = 0
    for position, bracket in _brackets(text, opening):
        depth += 1 if bracket == "(" else -1 if bracket == ")" else 0
        if depth == 0:
            return position
    raise BadPatternError("The pattern cannot be read: missing ).", "Close the group, or escape a literal ( as \\(.")


def _has_alternative(text: str) -> bool:
    depth = 0
    for _, bracket in _brackets(text, 0):
        if bracket == "|" and depth == 0:
            return True
        depth += 1 if bracket == "(" else -1 if bracket == ")" else 0
    return False


def _brackets(text: str, position: int) -> Iterable[tuple[int, str]]:
    """The brackets and bars that mean something: neither escaped nor in a class."""
    in_class = False
    while position < len(text):
        char = text[position]
        if char == "\\":
            position += 2
            continue
        if in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
        elif char in "()|":
            yield position, char
        position += 1


class _PatternWriter:
    """Writes one pattern in RE2's spelling, character by character."""

    def __init__(self, *, dot: str) -> None:
        self.dot = dot

    def write(self, text: str) -> str:
        parts: list[str] = []
        position = 0
        while position < len(text):
            part, position = self._next(text, position)
            parts.append(part)
        return "".join(parts)

    def _next(self, text: str, position: int) -> tuple[str, int]:
        char = text[position]
        if char == "\\":
            return _escape(text, position + 1)
        if char == "[":
            return _class(text, position + 1)
        if char == ".":
            return self.dot, position + 1
        if text.startswith("(?", position):
            return _group(text, position)
        return char, position + 1


def _group(text: str, position: int) -> tuple[str, int]:
    known = _GROUP.match(text, position) or _INLINE_FLAGS.match(text, position)
    if known:
        return known.group(), known.end()
    what = text[position + 2 : position + 4]
    if what[:1] in {"=", "!"}:
        raise _look_around("a look-ahead")
    if what in {"<=", "<!"}:
        raise _look_around("a look-behind")
    raise BadPatternError(f"The pattern opens a group with {text[position : position + 4]!r}, which is not known here.")


def _escape(text: str, position: int) -> tuple[str, int]:
    """What follows a backslash outside a class."""
    char = text[position : position + 1]
    if char in {"s", "S"}:
        return f"[{_SPACE if char == 's' else _NOT_SPACE}]", position + 1
    if char in {"b", "B"}:
        return f"\\{char}", position + 1
    if char in {"A", "Z", "z"}:
        # JavaScript would read a literal letter; nobody who writes this means one.
        return ("\\A" if char == "A" else "\\z"), position + 1
    if char in set("123456789") or text.startswith(("k<", "k{"), position):
        raise BadPatternError(
            f"The pattern refers back to a group with \\{char}, which cannot be run in linear time.",
            "Write the text again instead of referring to it, or use several rules.",
        )
    return _escaped_character(text, position)


def _escaped_character(text: str, position: int) -> tuple[str, int]:
    """An escape that means the same inside and outside a class."""
    char = text[position : position + 1]
    if not char:
        raise BadPatternError("The pattern ends in a backslash.", "Write \\\\ for a literal backslash.")
    if char in _KEPT_LETTERS:
        return f"\\{char}", position + 1
    if char == "0":
        return "\\x{0}", position + 1
    if char == "c" and _CONTROL_LETTERS.match(text, position + 1):
        return f"\\x{{{ord(text[position + 1]) % 32:x}}}", position + 2
    if code := _CODE_POINT.match(text, position):
        return _code_point(text, code)
    if known := _PROPERTY.match(text, position):
        return f"\\{known.group(1)}{{{known.group(2)}}}", known.end()
    if char.isascii() and not char.isalnum() and char.isprintable():
        return f"\\{char}", position + 1
    return re.escape(char), position + 1


def _code_point(text: str, code: re.Match[str]) -> tuple[str, int]:
    value = int(next(digits for digits in code.groups() if digits is not None), 16)
    end = code.end()
    low = _CODE_POINT.match(text, end + 1) if 0xD800 <= value <= 0xDBFF and text.startswith("\\u", end) else None
    if low and low.group(2) and 0xDC00 <= int(low.group(2), 16) <= 0xDFFF:
        value = 0x10000 + ((value - 0xD800) << 10) + int(low.group(2), 16) - 0xDC00
        end = low.end()
    if value > _LAST_CODE_POINT or 0xD800 <= value <= 0xDFFF:
        raise BadPatternError(f"The pattern names U+{value:04X}, which is not a character.")
    return f"\\x{{{value:x}}}", end


def _class(text: str, position: int) -> tuple[str, int]:
    """A character class, from behind its opening bracket."""
    negated = text.startswith("^", position)
    position += negated
    parts: list[str] = []
    after_shorthand = False
    while position < len(text) and text[position] != "]":
        shorthand = text[position] == "\\" and text[position + 1 : position + 2] in _SHORTHAND
        part, position = _class_member(text, position)
        if part == "-" and (after_shorthand or _shorthand_follows(text, position)):
            part = "\\-"
        parts.append(part)
        after_shorthand = shorthand
    if position >= len(text):
        raise BadPatternError(
            "The pattern cannot be read: missing ].", "Close the class, or escape a literal [ as \\[."
        )
    if not parts:
        return (_ANYTHING if negated else _NOTHING), position + 1
    return f"[{'^' if negated else ''}{''.join(parts)}]", position + 1


def _shorthand_follows(text: str, position: int) -> bool:
    return text[position : position + 1] == "\\" and text[position + 1 : position + 2] in _SHORTHAND


def _class_member(text: str, position: int) -> tuple[str, int]:
    char = text[position]
    if char == "[":
        return "\\[", position + 1
    if char != "\\":
        return char, position + 1
    escaped = text[position + 1 : position + 2]
    if escaped in {"s", "S"}:
        return (_SPACE if escaped == "s" else _NOT_SPACE), position + 2
    if escaped == "b":
        return "\\x{8}", position + 2
    return _escaped_character(text, position + 1)
