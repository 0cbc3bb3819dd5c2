"""Regular expressions of workflows, run by an engine whose time is linear in the text: no pattern can hang a worker.

Patterns were written for JavaScript. What RE2 spells otherwise is translated where the meaning is the same; what it cannot
express (backreferences, look-behind, look-ahead elsewhere than at an anchored start) is refused with a way out.
"""

from dataclasses import dataclass
from functools import lru_cache

import re2

from workflows_app.engine.javascript_patterns import BadPatternError, Translated, translate

__all__ = ["MAX_PATTERN_CHARS", "MAX_TEXT_CHARS", "BadPatternError", "Pattern", "compile_pattern"]

MAX_PATTERN_CHARS = 2_000
MAX_PROGRAM_INSTRUCTIONS = 8_000
# The engine's time is the product of program and text in the worst case, so both are bounded.
MAX_TEXT_CHARS = 65_536
_MEMORY_BYTES = 1 << 20
_CACHED_PATTERNS = 256
_OTHER_LINE_ENDS = frozenset("\r\u2028\u2029")
_LINE_ENDS = str.maketrans(dict.fromkeys(_OTHER_LINE_ENDS, "\n"))
_REFUSALS = (
    ("repetition size", "A repetition counts to 1000 at most; write {1000,} or repeat a smaller group."),
    ("character class range", "Known classes are short names: \\p{L}, \\p{Lu}, \\p{N}, \\p{Greek}."),
    ("no argument for repetition", "Escape a literal *, + or ? with a backslash."),
    ("bad repetition", "A repetition cannot be repeated; possessive quantifiers do not exist here."),
    ("missing )", "Close the group, or escape a literal ( as \\(."),
    ("unexpected )", "Open the group, or escape a literal ) as \\)."),
    ("missing ]", "Close the class, or escape a literal [ as \\[."),
    ("too large", "Make the pattern smaller; several rules say the same as one big pattern."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A compiled pattern. `search` looks at the first `MAX_TEXT_CHARS` characters of a text."""

    source: str
    flags: str
    main: re2._Regexp
    ahead: tuple[re2._Regexp, ...] = ()
    not_ahead: tuple[re2._Regexp, ...] = ()
    folds_line_ends: bool = False

    def search(self, text: str) -> bool:
        if len(text) > MAX_TEXT_CHARS:
            text = text[:MAX_TEXT_CHARS]
        if self.folds_line_ends and not _OTHER_LINE_ENDS.isdisjoint(text):
            text = text.translate(_LINE_ENDS)
        data = text.encode("utf-8", "replace")
        return (
            self.main.search(data) is not None
            and all(regex.match(data) for regex in self.ahead)
            and not any(regex.match(data) for regex in self.not_ahead)
        )


@lru_cache(maxsize=_CACHED_PATTERNS)
def compile_pattern(pattern: str, *, flags: str = "") -> Pattern:
    """The pattern under JavaScript's flags; raises `BadPatternError` for one that cannot run here."""
    if len(pattern) > MAX_PATTERN_CHARS:
        raise BadPatternError(f"The pattern has {len(pattern)} characters; at most {MAX_PATTERN_CHARS} are read.")
    translated = translate(pattern, flags=flags)
    return Pattern(
        source=pattern,
        flags=flags,
        main=_compile(translated.main, translated),
        ahead=tuple(_compile(part, translated) for part in translated.ahead),
        not_ahead=tuple(_compile(part, translated) for part in translated.not_ahead),
        folds_line_ends=translated.folds_line_ends,
    )


def _compile(regex: str, translated: Translated) -> re2._Regexp:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY_BYTES
    try:
        compiled = re2.compile(f"{translated.prefix}{regex}".encode(), options)
    except UnicodeEncodeError as error:
        raise BadPatternError("The pattern holds a lone surrogate, which is not a character.") from error
    except re2.error as error:
        raise _refusal(error) from error
    if compiled.programsize > MAX_PROGRAM_INSTRUCTIONS:
        message = (
            f"The pattern compiles to {compiled.programsize} instructions; at most {MAX_PROGRAM_INSTRUCTIONS} run."
        )
        raise BadPatternError(message, "Use smaller repetition counts.")
    return compiled


def _refusal(error: Exception) -> BadPatternError:
    said = error.args[0] if error.args else ""
    reason = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    suggestion = next((advice for part, advice in _REFUSALS if part in reason), "")
    return BadPatternError(f"The pattern cannot be read: {reason}.", suggestion)
