"""What agents hand in, as a page shows it: notes as Markdown, diffs as files, documents, and all else as JSON."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from sessions_app.engine.runs import OutputChannel
from sessions_app.engine.values import OutputValue
from teams_app.admin.diffs import Diff, looks_like_diff, read_diff
from teams_app.engine.markdown import render_markdown

FOLDED_AT_LINES = 40
_MOST_JSON_CHARACTERS = 100_000
_TEXT_FIELDS = ("diff", "patch", "content", "markdown", "text", "body")
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownNotes:
    """`beginning` is what stands there while the whole is folded away."""

    html: SafeString
    beginning: SafeString | None
    lines: int
    at: datetime
    is_superseded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownArtifact:
    """One of `diff`, `document` and `json` is there. `text` is what the copy button copies."""

    title: str
    text: str
    at: datetime
    is_superseded: bool
    diff: Diff | None = None
    document: SafeString | None = None
    json: SafeString | None = None


def shown_notes(output: OutputValue, *, new: Sequence[str] = ()) -> ShownNotes:
    lines = output.body.splitlines()
    is_long = len(lines) > FOLDED_AT_LINES
    return ShownNotes(
        html=_tagged(prose(output.body), new),
        beginning=prose("\n".join(lines[:FOLDED_AT_LINES])) if is_long else None,
        lines=len(lines),
        at=output.created_at,
        is_superseded=output.is_superseded,
    )


def shown_artifact(output: OutputValue) -> ShownArtifact:
    data = orjson.loads(output.body)
    text = _text_of(data)
    title = _title_of(data) or output.artifact_kind or "Artifact"
    shared: dict[str, Any] = {"title": title, "at": output.created_at, "is_superseded": output.is_superseded}
    if text and looks_like_diff(text):
        named = "Diff" if title == "diff" else title
        return ShownArtifact(**{**shared, "title": named}, text=text, diff=read_diff(text))
    if text:
        return ShownArtifact(**shared, text=text, document=prose(text))
    whole = _indented(data)
    # Indentation may take sixty times the room of what is indented.
    text = whole if len(whole) <= _MOST_JSON_CHARACTERS else output.body
    return ShownArtifact(**shared, text=text, json=json_html(data))


def diffs_in(bodies: Iterable[str]) -> list[Diff]:
    """Of artifacts as they were handed in, those that are diffs."""
    texts = (_text_of(orjson.loads(body)) for body in bodies)
    return [read_diff(text) for text in texts if looks_like_diff(text)]


def is_notes(output: OutputValue) -> bool:
    return output.channel is OutputChannel.RECAP


def prose(text: str) -> SafeString:
    return mark_safe(render_markdown(text))  # noqa: S308  the one function that makes HTML of words has cleaned it


def headings_of(text: str) -> list[str]:
    return [found.rstrip().rstrip("#").rstrip() for found in _HEADING.findall(text)]


def json_html(data: Any) -> SafeString:
    """Indented, with its keys, texts and numbers told apart."""
    text = _indented(data)
    # What is told apart is longer than the text: of one that is too long nothing is told apart in vain.
    html = _value(data, 0) if len(text) <= _MOST_JSON_CHARACTERS else None
    if html is None or len(html) > _MOST_JSON_CHARACTERS:
        return format_html("{}\n… the rest is left out here; REST has all of it", text[:_MOST_JSON_CHARACTERS])
    return html


def _indented(data: Any) -> str:
    return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()


def _value(data: Any, depth: int) -> SafeString:
    match data:
        case dict() if data:
            parts = (
                (format_html('<span class="j-k">{}</span>: ', _text(key)), _value(value, depth + 1))
                for key, value in data.items()
            )
            return _block("{", "}", parts, depth)
        case list() if data:
            return _block("[", "]", (("", _value(value, depth + 1)) for value in data), depth)
        case str():
            return format_html('<span class="j-s">{}</span>', _text(data))
        case _:
            return format_html('<span class="j-n">{}</span>', orjson.dumps(data).decode())


def _block(opening: str, closing: str, parts: Any, depth: int) -> SafeString:
    inner = "\n" + "  " * (depth + 1)
    joined = format_html_join("," + inner, "{}{}", parts)
    return format_html("{}{}{}{}{}", opening, inner, joined, "\n" + "  " * depth, closing)


def _text(text: str) -> str:
    return orjson.dumps(text).decode()


def _text_of(data: Any) -> str:
    """The one long text of an artifact that is little else."""
    if not isinstance(data, Mapping):
        return ""
    for name in _TEXT_FIELDS:
        value = data.get(name)
        if isinstance(value, str) and (looks_like_diff(value) or "\n" in value):
            return value
    return ""


def _title_of(data: Any) -> str:
    if not isinstance(data, Mapping):
        return ""
    for name in ("title", "name", "path", "file"):
        value = data.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()[:120]
    return ""


def _tagged(html: SafeString, new: Sequence[str]) -> SafeString:
    """Headings that were not there before say so."""
    tagged = str(html)
    for name in new:
        heading = str(format_html("{}</h", name))
        tagged = tagged.replace(heading, str(format_html('{} <span class="tag is-accent">new</span></h', name)), 1)
    return mark_safe(tagged)  # noqa: S308  cleaned before; what was put in is a constant
