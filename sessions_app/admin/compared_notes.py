"""Notes beside other notes: Markdown as far as it can be drawn word by word, with what is only here marked."""

import re
from collections.abc import Iterable, Iterator, Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from sessions_app.engine.comparing import ComparedPart

_HEADING = re.compile(r"^#{1,6}\s+")
_ITEM = re.compile(r"^\s*[-*]\s+")
_FENCE = "```"

Line = list[ComparedPart]


def compared_html(parts: Sequence[ComparedPart], *, lane: int) -> SafeString:
    """`lane` is the colour of what is only on this side."""
    blocks: list[SafeString] = []
    code: list[SafeString] = []
    is_code = False
    for line in _lines(_joined(parts)):
        text = "".join(part.text for part in line)
        if text.lstrip().startswith(_FENCE):
            is_code = not is_code
            blocks += _pre(code)
        elif is_code:
            code.append(_plain(line, lane))
        elif text.strip():
            blocks.append(_block(line, text, lane))
    return format_html_join("", "{}", ((each,) for each in (*blocks, *_pre(code))))


def _joined(parts: Sequence[ComparedPart]) -> list[ComparedPart]:
    """The space between two words of one's own is one's own: what is marked is a stretch, not single words."""
    found: list[ComparedPart] = []
    for place, part in enumerate(parts):
        between = 0 < place < len(parts) - 1 and parts[place - 1].is_own and parts[place + 1].is_own
        is_own = part.is_own or (between and not part.text.strip() and "\n" not in part.text)
        if found and found[-1].is_own == is_own:
            found[-1] = ComparedPart(text=found[-1].text + part.text, is_own=is_own)
        else:
            found.append(ComparedPart(text=part.text, is_own=is_own))
    return found


def _lines(parts: Iterable[ComparedPart]) -> Iterator[Line]:
    line: Line = []
    for part in parts:
        first, *rest = part.text.split("\n")
        line.append(ComparedPart(text=first, is_own=part.is_own))
        for text in rest:
            yield line
            line = [ComparedPart(text=text, is_own=part.is_own)]
    yield line


def _block(line: Line, text: str, lane: int) -> SafeString:
    if _HEADING.match(text):
        return format_html("<p><strong>{}</strong></p>", _prose(_without(line, _HEADING), lane))
    if _ITEM.match(text):
        return format_html('<p class="item">{}</p>', _prose(_without(line, _ITEM), lane))
    return format_html("<p>{}</p>", _prose(line, lane))


def _without(line: Line, mark: re.Pattern[str]) -> Line:
    """The sign at the beginning is drawn, not read."""
    found = mark.match("".join(part.text for part in line))
    left = found.end() if found else 0
    kept: Line = []
    for part in line:
        cut = min(left, len(part.text))
        left -= cut
        kept.append(ComparedPart(text=part.text[cut:], is_own=part.is_own))
    return kept


def _prose(line: Line, lane: int) -> SafeString:
    """Backticks begin and end code, also where a word of it is marked."""
    pieces: list[SafeString] = []
    is_code = False
    for part in line:
        for place, text in enumerate(part.text.split("`")):
            is_code = is_code != (place > 0)
            shown = format_html('<code class="code">{}</code>', text) if is_code else text.replace("**", "")
            if text:
                pieces.append(_marked(shown, lane) if part.is_own else format_html("{}", shown))
    return _together(pieces)


def _plain(line: Line, lane: int) -> SafeString:
    return _together([_marked(part.text, lane) if part.is_own else format_html("{}", part.text) for part in line])


def _marked(shown: str, lane: int) -> SafeString:
    return format_html('<mark class="only-{}">{}</mark>', lane, shown)


def _together(pieces: Iterable[SafeString]) -> SafeString:
    return format_html_join("", "{}", ((piece,) for piece in pieces))


def _pre(code: list[SafeString]) -> list[SafeString]:
    if not code:
        return []
    shown = format_html("<pre>{}</pre>", format_html_join("\n", "{}", ((line,) for line in code)))
    code.clear()
    return [shown]
