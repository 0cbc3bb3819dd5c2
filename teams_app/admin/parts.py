"""The parts of a Studio page that every template may use: icons, states, times, tabs. They print, and decide nothing.

`settings.TEMPLATES` makes them built in, so no template loads them.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from teams_app.engine import times
from teams_app.engine.counting import counted

register = template.Library()
register.filter(counted)

_SHORT_ID_HEAD, _SHORT_ID_TAIL = 9, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Crumb:
    """A page above this one. The page itself is the title."""

    label: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    label: str
    url: str
    is_here: bool = False
    count: int | None = None
    is_urgent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What a run, a question or a node is in: a shape (`s-…` of the sprite, `is-…` of the stylesheet) and one word."""

    shape: str
    word: str


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    if not label:
        return format_html('<svg class="icon" aria-hidden="true"><use href="#i-{}"/></svg>', name)
    return format_html('<svg class="icon" role="img" aria-label="{}"><use href="#i-{}"/></svg>', label, name)


@register.simple_tag
def mark(shape: str) -> SafeString:
    return format_html('<svg class="mark is-{}" aria-hidden="true"><use href="#s-{}"/></svg>', shape, shape)


@register.simple_tag
def pill(state: State) -> SafeString:
    return format_html(
        '<span class="pill is-{}"><svg class="mark" aria-hidden="true"><use href="#s-{}"/></svg>{}</span>',
        state.shape,
        state.shape,
        state.word,
    )


@register.simple_tag
def face(name: str, kind: str = "person") -> SafeString:
    initials = "".join(word[0] for word in name.replace("-", " ").replace(".", " ").split()[:2]).upper()
    return format_html(
        '<span class="face{}" aria-hidden="true">{}</span>', "" if kind == "person" else " is-agent", initials
    )


@register.simple_tag
def ago(at: datetime | None) -> SafeString | str:
    return "" if at is None else _time(at, times.ago_words(timezone.localtime(at), now=timezone.localtime()))


@register.simple_tag
def age(at: datetime | None) -> SafeString | str:
    """For columns of times: “12 min”, without “ago”."""
    return "" if at is None else _time(at, times.short_words(timezone.localtime(at), now=timezone.localtime()))


@register.simple_tag
def due(at: datetime | None) -> SafeString | str:
    if at is None:
        return ""
    now = timezone.now()
    return format_html("<span{}>{}</span>", _late(at < now), _time(at, times.due_words(at, now=now)))


@register.simple_tag
def copy(text: str, label: str) -> SafeString:
    """Works with a script only, so the stylesheet shows it with a script only."""
    return format_html(
        '<button class="button is-bare is-icon is-small needs-script" type="button" data-copy="{}" title="{}">{}</button>',
        text,
        label,
        icon("copy", label),
    )


@register.simple_tag
def short_id(text: str) -> SafeString:
    """An id at the end of things: short, whole in its title, with a button that copies it."""
    most = _SHORT_ID_HEAD + _SHORT_ID_TAIL
    shown = text if len(text) <= most + 1 else f"{text[:_SHORT_ID_HEAD]}…{text[-_SHORT_ID_TAIL:]}"
    return format_html(
        '<span class="short-id"><span class="mono small quiet" title="{}">{}</span>{}</span>',
        text,
        shown,
        copy(text, "Copy the id"),
    )


@register.filter
def duration(seconds: Any) -> str:
    return times.length_words(float(seconds))


@register.filter
def exact_duration(seconds: Any) -> str:
    return times.exact_words(float(seconds))


def _time(at: datetime, words: str) -> SafeString:
    local = timezone.localtime(at)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        times.absolute_words(local),
        words,
    )


def _late(is_late: bool) -> SafeString:  # noqa: FBT001  called with what a comparison gives
    return SafeString(' class="late"') if is_late else SafeString("")
