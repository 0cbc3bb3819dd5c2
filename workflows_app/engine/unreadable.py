"""Of a text that cannot be read: at which line, and what its author does next."""

import json
import math
import re

from workflows_app.engine.canonical import DEFAULT_MAX_DEPTH, UnreadableJsonError, check_storable
from workflows_app.engine.places import lines_of_seconds, pieces_of

NOT_UTF8_ADVICE = "Save it as UTF-8."
DOUBLED_ADVICE = "Keep one."
_DEPTH_ADVICE = "Flatten the document."
_NUMBER_ADVICE = "Write it as a number within range, or as text in quotation marks."
_CHARACTER_ADVICE = "Remove the character."
_BY_REASON = {
    "not_utf8": NOT_UTF8_ADVICE,
    "duplicate_key": DOUBLED_ADVICE,
    "too_deep": _DEPTH_ADVICE,
    "too_large": "Split the workflow.",
    "not_a_number": _NUMBER_ADVICE,
    "nul_character": _CHARACTER_ADVICE,
    "lone_surrogate": _CHARACTER_ADVICE,
}
_OPENING, _CLOSING = frozenset("{["), frozenset("}]")
_OF_CHARACTERS = frozenset({"nul_character", "lone_surrogate"})
_NUMBER = re.compile(r"-?(?:NaN|Infinity|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
# What stands before and behind the key that is told.
_DOUBLED = ("The key '", "' stands twice in one object.")

# Of what the parsers say, in this order.
_OF_JSON = (
    (re.compile("control character"), r"Write a line break within a text as `\n`, and a tab as `\t`."),
    (re.compile("Extra data"), "Keep one document in the file."),
    (re.compile("Unterminated string"), "Close the text with a quotation mark."),
    (re.compile("escape"), r"Write a backslash as `\\`."),
    (re.compile("more digits"), _NUMBER_ADVICE),
    (re.compile("delimiter"), "Put what is missing there, or close what is open before it."),
)
_OF_YAML = (
    (re.compile("anchor|[Aa]lias"), "Write out what it stands for, at each place."),
    (re.compile("The tag"), "Remove the tag; what is to be text stands in quotation marks."),
    (re.compile("more than one document|document start"), "Keep one document in the file."),
    (re.compile("stands twice"), DOUBLED_ADVICE),
    (re.compile("not a number"), _NUMBER_ADVICE),
    (re.compile("nests deeper"), _DEPTH_ADVICE),
    (re.compile("control characters|invalid .* UTF-8|cannot be stored"), _CHARACTER_ADVICE),
    (re.compile("escape"), r"Write a backslash as `\\`, or the text in single quotation marks."),
)
_YAML_ADVICE = (
    "Mend the line or the one before it; a text with `: `, ` #` or a sign at its beginning stands in quotation marks."
)
_OF_TOON = (
    (re.compile("ndent"), "Indent by two spaces for each level."),
    (re.compile("Duplicate"), "Rename one of them or merge the two."),
    (re.compile(r"Declared length (\d+) but found (\d+)"), r"Write `[\2]`, or as many as are declared."),
    (re.compile("Blank line"), "Remove the empty line."),
    (re.compile(r"Expected \d+ values"), "Put a value that holds the delimiter in quotation marks."),
    (re.compile("bracket"), "Write the number of items alone, as in `[2]`."),
    (re.compile("escape"), r"Write a backslash as `\\\\`."),
    (re.compile("nested too deeply"), _DEPTH_ADVICE),
    (re.compile("out of range|[Nn]umber has"), _NUMBER_ADVICE),
)
_TOON_ADVICE = (
    "Write the line as `key: value`, or as what the list above it holds; there are no code fences and no front matter."
)


# Told of all that there is, and of no line.
_OF_THE_WHOLE = frozenset({"too_large", "too_many_values"})


def line_of_json(error: UnreadableJsonError, text: str) -> int | None:
    """The parser counts characters, the decoder before it bytes. Of a key that stands twice it is where it stands again."""
    if error.reason == "duplicate_key":
        key = error.message.removeprefix(_DOUBLED[0]).removesuffix(_DOUBLED[1])
        return lines_of_seconds(text, [key]).get(key)
    if error.reason in _OF_THE_WHOLE:
        return None
    if error.offset is None:
        return line_of_unstorable("not_a_number" if error.reason == "not_json" else error.reason, text)
    if error.reason == "not_json":
        return text[: error.offset].count("\n") + 1
    return text.encode("utf-8", "surrogatepass")[: error.offset].count(b"\n") + 1


def line_of_unstorable(reason: str, text: str) -> int | None:
    """Where the first thing stands that can be read and not be stored: a number, a character, or what is too deep within others."""
    depth = 0
    for line, piece in pieces_of(text):
        depth += (piece in _OPENING) - (piece in _CLOSING)
        is_deep = reason == "too_deep" and depth > DEFAULT_MAX_DEPTH
        if is_deep or (reason == "not_a_number" and _is_beyond(piece)) or _holds(reason, piece):
            return line
    return deepest_line(text) if reason == "too_deep" else None


def deepest_line(text: str) -> int:
    """Of a text that is told by indents."""
    lines = text.split("\n")
    return max(range(len(lines)), key=lambda at: len(lines[at]) - len(lines[at].lstrip(" "))) + 1


def _is_beyond(piece: str) -> bool:
    return _NUMBER.fullmatch(piece) is not None and not math.isfinite(float(piece))


def _holds(reason: str, piece: str) -> bool:
    """Whether it is a text with a character that is refused for that reason."""
    if reason not in _OF_CHARACTERS or not piece.startswith('"') or "\\" not in piece:
        return False
    try:
        check_storable(json.loads(piece))
    except UnreadableJsonError as error:
        return error.reason == reason
    except (ValueError, RecursionError):
        return False
    return False


def advice_on_json(error: UnreadableJsonError, text: str) -> str:
    if error.reason in _BY_REASON:
        return _BY_REASON[error.reason]
    at = error.offset or 0
    before, here = text[:at].rstrip(), text[at : at + 2]
    if not text.strip():
        return "Write the document; the file is empty."
    if here in {"//", "/*"} or here[:1] == "#":
        return "Remove the comment; JSON has none."
    if _is_comma_too_many(before, text[at : at + 200]):
        return "Remove the comma before it."
    if here[:1] == "'":
        return "Write keys and texts in double quotation marks."
    return next((advice for said, advice in _OF_JSON if said.search(error.message)), "Write it as JSON has it.")


def advice_on_yaml(message: str, line: str) -> str:
    """`line` is the one that the message is about."""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "Indent by spaces; YAML takes no tabs for that."
    return next((advice for said, advice in _OF_YAML if said.search(message)), _YAML_ADVICE)


def advice_on_toon(message: str) -> str:
    found = ((said.search(message), advice) for said, advice in _OF_TOON)
    return next((match.expand(advice) for match, advice in found if match), _TOON_ADVICE)


def _is_comma_too_many(before: str, rest: str) -> bool:
    """Behind a comma what was open ends; which of the two the parser names goes by its version."""
    bare = rest.removeprefix(",").lstrip()
    return bare[:1] in {"]", "}"} and (before.endswith(",") or rest.startswith(","))
