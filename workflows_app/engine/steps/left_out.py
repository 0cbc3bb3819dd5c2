"""What stands in the parts of a document that were left out for a mistake in them: it is no mistake of others that they refer to it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from teams_app.engine.closest import closest
from workflows_app.engine.steps.shape import MISSPELT

# The key by which others refer to a part, in the lists of a document that others refer to.
_NAMES = {"functionDefinitions": "name", "assessments": "id", "extensionPoints": "slotId", "steps": "id"}


@dataclass(slots=True)
class LeftOut:
    """`_names` are those of the left-out parts by their list; the empty one stands for each that cannot be read."""

    _names: dict[str, set[str]] = field(default_factory=dict)
    _texts: set[str] = field(default_factory=set)
    _no_steps: bool = False

    def add(self, document: Mapping[str, Any], checked: Mapping[str, Any]) -> None:
        """Note what the document says and what is left of it does not."""
        self._no_steps |= "steps" not in checked
        for key, part in _lost(document, checked):
            self._texts.update(_texts(part))
            self._no_steps |= key == "steps" and not isinstance(part, dict)
            listed = key if key in _NAMES else closest(key[:64], _NAMES, like_enough=MISSPELT)
            if listed is not None:
                names = part if isinstance(part, list) else [part]
                self._names.setdefault(listed, set()).update(_name(each, _NAMES[listed]) for each in names)

    def may_hold(self, listed: str, name: str) -> bool:
        """Whether a part of this list is so called, or one whose name cannot be read."""
        return not self._names.get(listed, set()).isdisjoint({name, ""})

    def has_any(self, listed: str) -> bool:
        return listed in self._names

    def refers_to(self, name: str) -> bool:
        """Whether a part names this, or may: of steps that cannot be read at all nobody knows."""
        return self._no_steps or name in self._texts or f"{name}()" in self._texts

    def texts(self) -> Iterable[str]:
        return self._texts


def _lost(document: Mapping[str, Any], checked: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The parts with a mistake in them, as they were written, with the key that they stand under."""
    for key, value in document.items():
        kept = checked.get(key)
        if not isinstance(value, list) or not isinstance(kept, list) or len(kept) != len(value):
            if key not in checked or kept != value:
                yield key, value
            continue
        yield from ((key, said) for said, left in zip(value, kept, strict=True) if _is_hole(said, left))


def _is_hole(said: Any, left: Any) -> bool:
    """A part that is given on has all its keys; of one that is left out nothing is, or the name."""
    return isinstance(left, dict | str) and len(left) < 2 and said != left


def _name(part: Any, key: str) -> str:
    name = part.get(key) if isinstance(part, dict) else None
    return name if isinstance(name, str) else ""


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting += [*each, *each.values()]
        elif isinstance(each, list):
            waiting += each
