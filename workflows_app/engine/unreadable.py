"""Of a text that cannot be read: at which line, and what its author does next."""

import re

from workflows_app.engine.canonical import UnreadableJsonError
from workflows_app.engine.places import lines_of_seconds

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
# What stands before and behind the key that is told.
_DOUBLED = ("The key '", "' stands twice in one object.")

# Of what the parsers say, in this order.
_OF_JSON = (
    (re.compile("control character"), r"Write a line break within a text as `\n`, and a tab as `\t`."),
    (re.compile("Extra data"), "Keep one document in the file."),
    (re.compile("Unterminated string"), "Close the text with a quotation mark."),
    (re.compile("escape"), r"Write a backslash as `\\`."),
    (re.compile("delimiter"), "Put what is missing there, or close what is open before it."),
)
_OF_YAML = (
    (re.compile("anchor|[Aa]lias"), "Write out what it stands for, at each place."),
    (re.compile("The tag"), "Remove the tag; what is to be text stands in quotation marks."),
    (re.compile("more than one document|document start"), "Keep one document in the file."),
    (re.compile("stands twice"), DOUBLED_ADVICE),
    (re.compile("not a number"), _NUMBER_ADVICE),
    (re.compile("nests deeper"), _DEPTH_ADVICE),
    (re.compile("control characters|invalid .* UTF-8"), _CHARACTER_ADVICE),
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
)
_TOON_ADVICE = (
    "Write the line as `key: value`, or as what the list above it holds; there are no code fences and no front matter."
)


def line_of_json(error: UnreadableJsonError, text: str) -> int | None:
    """The parser counts characters, the decoder before it bytes. Of a key that stands twice it is where it stands again."""
    if error.reason == "duplicate_key":
        key = error.message.removeprefix(_DOUBLED[0]).removesuffix(_DOUBLED[1])
        return lines_of_seconds(text, [key]).get(key)
    if error.offset is None:
        return None
    if error.reason == "not_json":
        return text[: error.offset].count("\n") + 1
    return text.encode("utf-8", "surrogatepass")[: error.offset].count(b"\n") + 1


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
