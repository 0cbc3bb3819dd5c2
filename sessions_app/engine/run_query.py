"""What is typed into the box of a list of runs: `status:waiting workflow:wr.* agent:ci gap: since:3d sort:started` and words."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from enum import StrEnum

from teams_app.engine.errors import InvalidInputError

MAX_QUERY_CHARACTERS = 400
MAX_WORDS = 3
MAX_VIEW_NAME_CHARACTERS = 40

_SINCE = re.compile(r"(\d{1,4})(h|d|w)")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


class RunWord(StrEnum):
    """The states by which runs are asked for, in the words of the pages."""

    OPEN = "open"
    STUCK = "stuck"
    RUNNING = "running"
    WAITING = "waiting"
    BLOCKED = "blocked"
    IDLE = "idle"
    PAUSED = "paused"
    DONE = "done"
    GAPS = "gaps"
    REJECTED = "rejected"
    CANCELLED = "cancelled"


class RunSort(StrEnum):
    """By what a list is sorted. With a minus before it the list is the other way round."""

    CALL = "call"
    STARTED = "started"
    WORKFLOW = "workflow"
    STATUS = "status"


class ViewedList(StrEnum):
    """The lists of which people save views."""

    RUNS = "runs"
    SESSIONS = "sessions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One part of a query as it was typed, and the query without it."""

    text: str
    rest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """`workflow` may end in a star; `ticket` and `branch` are of the session."""

    status: RunWord | None = None
    workflow: str = ""
    agent: str = ""
    ticket: str = ""
    branch: str = ""
    has_gap: bool = False
    since: datetime | None = None
    sort: RunSort = RunSort.CALL
    is_reversed: bool = False
    words: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()


_KEYS = ("status", "workflow", "agent", "gap", "since", "ticket", "branch", "sort")


def read_query(*, text: str, now: datetime) -> RunQuery:
    """A key or a state that there is not is refused, with the one that was meant."""
    if len(text) > MAX_QUERY_CHARACTERS:
        raise InvalidInputError("The query is too long.", suggestion="Ask for fewer words.")
    parts = text.replace("\x00", "").split()
    said: dict[str, str] = {}
    words: list[str] = []
    for part in parts:
        key, colon, value = part.partition(":")
        if not colon or not key.isalpha():
            words.append(part)
        else:
            said[_key(key.lower())] = value
    sort, is_reversed = _sort(said.get("sort", RunSort.CALL.value))
    terms = tuple(
        Term(text=part, rest=" ".join(parts[:at] + parts[at + 1 :])) for at, part in enumerate(parts) if ":" in part
    )
    return RunQuery(
        status=_status(said),
        workflow=said.get("workflow", ""),
        agent=said.get("agent", ""),
        ticket=said.get("ticket", ""),
        branch=said.get("branch", ""),
        has_gap="gap" in said,
        since=_since(said["since"], now) if "since" in said else None,
        sort=sort,
        is_reversed=is_reversed,
        words=tuple(words[:MAX_WORDS]),
        terms=terms,
    )


def _key(key: str) -> str:
    if key in _KEYS:
        return key
    meant = get_close_matches(key, _KEYS, n=1)
    raise InvalidInputError(
        f"There is no “{key}:”.",
        suggestion=f"Did you mean {meant[0]}:?" if meant else f"There are {', '.join(f'{each}:' for each in _KEYS)}.",
    )


def _status(said: Mapping[str, str]) -> RunWord | None:
    if "status" not in said:
        return None
    return RunWord(_known(said["status"], RunWord, key="status", noun="state"))


def _sort(value: str) -> tuple[RunSort, bool]:
    by = value.removeprefix("-")
    return RunSort(_known(by, RunSort, key="sort", noun="order")), by != value


def _known(value: str, closed: type[StrEnum], *, key: str, noun: str) -> str:
    known = [word.value for word in closed]
    if value.lower() in known:
        return value.lower()
    meant = get_close_matches(value.lower(), known, n=1)
    raise InvalidInputError(
        f"There is no {noun} “{value}”.",
        suggestion=f"Did you mean {key}:{meant[0]}?" if meant else f"There are {', '.join(known)}.",
    )


def _since(value: str, now: datetime) -> datetime:
    found = _SINCE.fullmatch(value.lower())
    if found is not None:
        return now - timedelta(**{_UNITS[found[2]]: int(found[1])})
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        raise InvalidInputError(
            f"“since:{value}” is no time.", suggestion="Write since:3d, since:12h or since:2026-11-01."
        ) from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
