"""Lengths and moments in the words that people read: “12 min”, “due in 3 h”, “18 November 2026”."""

from datetime import datetime, timedelta

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_RELATIVE_DAYS = 7


_SECONDS_SAY_NOTHING = 10 * _MINUTE


def length_words(seconds: float) -> str:
    """One unit, rounded down: a person wants to know whether it is minutes or hours."""
    whole = max(0, int(seconds))
    for unit, word in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if whole >= unit:
            return f"{whole // unit} {word}"
    return f"{whole} s"


def exact_words(seconds: float) -> str:
    """Two units where the second says something: “1 h 4 min”, “4 min 12 s”, “18 min”."""
    whole = max(0, int(seconds))
    for unit, word, smaller, small_word in (
        (_DAY, "d", _HOUR, "h"),
        (_HOUR, "h", _MINUTE, "min"),
        (_MINUTE, "min", 1, "s"),
    ):
        if whole >= unit:
            rest = 0 if whole >= _SECONDS_SAY_NOTHING and smaller == 1 else whole % unit // smaller
            return f"{whole // unit} {word}" + (f" {rest} {small_word}" if rest else "")
    return f"{whole} s"


def ago_words(at: datetime, *, now: datetime) -> str:
    """After seven days it is the date. A clock that runs ahead is “just now”."""
    passed = now - at
    if passed > timedelta(days=_RELATIVE_DAYS):
        return date_words(at, now=now)
    return "just now" if passed < timedelta(seconds=1) else f"{length_words(passed.total_seconds())} ago"


def short_words(at: datetime, *, now: datetime) -> str:
    """For a column of times, which needs no “ago”."""
    passed = now - at
    if passed > timedelta(days=_RELATIVE_DAYS):
        return date_words(at, now=now)
    return length_words(passed.total_seconds())


def due_words(at: datetime, *, now: datetime) -> str:
    left = (at - now).total_seconds()
    return f"due {length_words(-left)} ago" if left < 0 else f"due in {length_words(left)}"


def date_words(at: datetime, *, now: datetime) -> str:
    day = f"{at.day} {at:%b}"
    return day if at.year == now.year else f"{day} {at.year}"


def absolute_words(at: datetime) -> str:
    """`at` is in the reader's zone."""
    zone = at.tzname() or "UTC"
    return f"{at.day} {at:%B %Y, %H:%M:%S} {zone}"
