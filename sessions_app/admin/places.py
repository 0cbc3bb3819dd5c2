"""Where a step stands in its program: what it is called, which of how many it is, and what its rounds are about."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sessions_app.engine.state import Snapshot
from teams_app.engine.counting import read_count
from workflows_app.engine.program import Gate, Loop, LoopKind, Program, Step, walk_items

_ITEM_CHARACTERS = 60
# What is quoted is a title already, and may hold an id of its own.
_KEY = re.compile(r"“[^“”]*”|(?<![\w.@:-])(?:[.@:-]*\w+)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPlaces:
    """`titles` are of activities, steps and loops; `items` what each round of a loop is about, as far as the run knows them."""

    numbers: Mapping[str, int] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    loops: Mapping[str, str] = field(default_factory=dict)
    items: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of_step(self, pending_key: str) -> str:
        """“Step 4 of 10”. Rounds of a loop are the same step; a step that is in no program has no place."""
        number = self.numbers.get(pending_key.rpartition("::")[2])
        return f"Step {number} of {len(self.numbers)}" if number and len(self.numbers) > 1 else ""

    def title(self, key: str) -> str:
        """What an activity, a step or a loop is called, by its id or the key of a round of it."""
        last = key.rpartition("::")[2]
        return self.titles.get(last, last)

    def in_titles(self, text: str) -> str:
        """The log speaks of ids, people of titles. An id that is a plain word may be just that word, and stays."""
        return _KEY.sub(lambda found: self._titled(found[0]), text)

    def _titled(self, word: str) -> str:
        is_name = "-" in word or "_" in word or "::" in word
        title = self.loops.get(word) or (self.titles.get(word.rpartition("::")[2]) if is_name else None)
        return f"“{title}”" if title else word

    def item(self, pending_key: str) -> str:
        """What the innermost round is about; empty where the loop has no items."""
        outer = pending_key.split("::")[:-1]
        loop, _, number = outer[-1].partition("@") if outer else ("", "", "")
        items = self.items.get(loop, ())
        index = read_count(number)
        return items[index] if index is not None and index < len(items) else ""


def places_of(*, program: Program, state: Snapshot | None) -> ShownPlaces:
    """`state` is the run's where it stands now: the list that a loop goes through is in its variables."""
    items = [item for activity in program.activities for item in walk_items(activity.body)]
    loops = [item for item in items if isinstance(item, Loop)]
    steps = [item.id for item in items if isinstance(item, Step)]
    variables = state.variables if state else {}
    return ShownPlaces(
        # Ids of steps are unique in an activity; where two activities share one, a number would be of either.
        numbers={id_: number for number, id_ in enumerate(steps, start=1)} if len(set(steps)) == len(steps) else {},
        titles={each.id: each.title for each in (*program.activities, *items) if not isinstance(each, Gate)},
        loops={loop.id: loop.title or loop.id for loop in loops},
        items={loop.id: _items(loop, variables) for loop in loops if loop.loops is LoopKind.FOR_EACH},
    )


def _items(loop: Loop, variables: Mapping[str, Any]) -> tuple[str, ...]:
    found: Any = variables
    for name in loop.items:
        found = found.get(name) if isinstance(found, Mapping) else None
    return tuple(_words(each) for each in found) if isinstance(found, list) else ()


def _words(item: Any) -> str:
    if isinstance(item, Mapping):
        item = next((item[name] for name in ("title", "name", "path", "id") if name in item), "")
    text = " ".join(str(item).split())
    return text if len(text) <= _ITEM_CHARACTERS else f"{text[:_ITEM_CHARACTERS].rstrip()}…"
