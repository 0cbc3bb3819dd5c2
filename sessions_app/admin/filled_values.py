"""A prompt as the agent got it, with what the server filled in told apart from what the author wrote.

A value is put between characters that Unicode keeps for private use. They live through the one function that makes HTML, and
only then become markup, around text that it has cleaned. In the address of a link there are none: it is checked as it is.
"""

import re
from collections.abc import Mapping
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from sessions_app.engine import prompts
from sessions_app.engine.state import Snapshot
from teams_app.engine.markdown import render_markdown
from workflows_app.engine.placeholders import Filling
from workflows_app.engine.program import Program

_OPEN, _NAMED, _CLOSE = "\ue000", "\ue001", "\ue002"
_MARKS = re.compile(f"[{_OPEN}{_NAMED}{_CLOSE}]")
_BEFORE_ADDRESS = re.compile(r"(?:\]\(\s*|\]:\s*|<)[^\s<>()]*$")
_LONGEST_ADDRESS = 300
# What makes a list, a quote or a heading of a line stays before the mark; fences, tables and rules have none.
_LEAD = re.compile(r"\s*(?:(?:[-*+>]|#{1,6}|\d{1,9}[.)])\s+)*")
_STRUCTURE = re.compile(r"```|~~~|\||[-=_*\s]*$")
_PIECE = re.compile(f"(<[^>]*(?:>|\\Z))|{_OPEN}(\\d+){_NAMED}|({_CLOSE})|([^<{_OPEN}{_CLOSE}]+|.)", re.DOTALL)


class MarkedFilling(Filling):
    """Fills in as `Filling` does, and marks what it filled in by the place of its name in `names`."""

    def __init__(self, variables: Mapping[str, Any]) -> None:
        super().__init__(variables)
        self.names: list[str] = []

    def _placed(self, said: str, name: str, found: re.Match[str]) -> str:
        start = found.start()
        if _BEFORE_ADDRESS.search(found.string[max(0, start - _LONGEST_ADDRESS) : start]):
            return said
        self.names.append(name)
        mark = f"{_OPEN}{len(self.names) - 1}{_NAMED}"
        return "\n".join(_marked(line, mark) for line in _MARKS.sub("", said).split("\n"))


def prompt_html(*, program: Program, snapshot: Snapshot) -> SafeString:
    fillings: list[MarkedFilling] = []

    def filling_of(variables: Mapping[str, Any]) -> Filling:
        fillings.append(MarkedFilling(variables))
        return fillings[-1]

    pending = prompts.pending_of(program=program, snapshot=snapshot, filling_of=filling_of)
    html = render_markdown(pending.prompt) if pending else ""
    names = [name for filling in fillings for name in filling.names]
    return mark_safe("".join(_pieces(html, names)))  # noqa: S308  cleaned, and each name is escaped


def _marked(line: str, mark: str) -> str:
    found = _LEAD.match(line)
    at = found.end() if found else 0
    words = line[at:].rstrip()
    return line if _STRUCTURE.match(words) else f"{line[:at]}{mark}{words}{_CLOSE}{line[at + len(words) :]}"


def _pieces(html: str, names: list[str]) -> list[str]:
    """The HTML with each text between two marks in a box of its own, whatever markup lies between them."""
    found: list[str] = []
    name = ""
    for tag, opened, closed, text in _PIECE.findall(html):
        if opened:
            name = names[int(opened)] if int(opened) < len(names) else ""
        elif closed:
            name = ""
        elif tag or not name or not text.strip():
            found.append(tag or _MARKS.sub("", text))
        else:
            found.append(format_html('<span class="put" title="from {}">', f"{{{{{name}}}}}") + f"{text}</span>")
    return found
