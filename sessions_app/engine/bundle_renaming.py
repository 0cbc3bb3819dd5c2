"""New names for what a bundle brings, where the old ones are taken. What agents and people wrote stays as they wrote it."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sessions_app.engine.decisions import derive_id
from sessions_app.engine.projections import ProjectedSession
from teams_app.engine.ids import Prefix, from_text, to_text
from workflows_app.engine import canonical

_NAMED = (Prefix.SESSION, Prefix.RUN, Prefix.NODE, Prefix.ATTEMPT, Prefix.EVENT, Prefix.CHECKPOINT, Prefix.HANDLE)
_ID = re.compile(rf"(?<![a-z2-7])({'|'.join(_NAMED)})_[a-z2-7]{{26}}(?![a-z2-7])")
# `val_attempt_…`, `cap_attempt_…_0`: a name that is made of an id; and those of gaps and outputs.
_MADE_OF_ID = re.compile(rf"([a-z]+_)?({'|'.join(_NAMED)})_[a-z2-7]{{26}}(_[0-9]+)?")
_HEX = re.compile(r"((?:gap|out_[a-z]+)_)?([0-9a-f]{32})")
# What these keys hold is of agents and people, or of the workflow.
_THEIRS = frozenset(
    {"payload", "delta", "variables", "message", "title", "goal", "summary", "options", "entries", "value"}
)
_KEPT_BITS = 48


@dataclass(slots=True, kw_only=True)
class Renaming:
    """`fixed` are the ids whose new ones follow from something else; every other one follows from the salt.

    `snapshots` are the new digests of snapshots that speak of ids, by the old ones.
    """

    salt: bytes
    fixed: Mapping[UUID, UUID]
    snapshots: dict[str, str] = field(default_factory=dict)
    _known: dict[UUID, UUID] = field(default_factory=dict)

    def id(self, old: UUID) -> UUID:
        """The moment of its birth stays: it tells how long a question has been shown."""
        found = self.fixed.get(old) or self._known.get(old)
        if found is None:
            drawn = int.from_bytes(hashlib.sha256(self.salt + old.bytes).digest()[:16], "big")
            kept = ((1 << _KEPT_BITS) - 1) << (128 - _KEPT_BITS) | 0xF << 76 | 0x3 << 62
            found = self._known[old] = UUID(int=old.int & kept | drawn & ~kept)
        return found

    def event(self, event: dict[str, Any], *, previous: str) -> bytes:
        """The body of the event under its new names, behind its new predecessor."""
        renamed = self._value(event)
        renamed["previousDigest"] = previous
        return canonical.canonical_bytes(renamed)

    def snapshot(self, digest: str, snapshot: dict[str, Any]) -> tuple[str, bytes]:
        data = canonical.canonical_bytes(self._value(snapshot))
        self.snapshots[digest] = canonical.digest(data)
        return self.snapshots[digest], data

    def _value(self, value: Any, key: str = "") -> Any:
        if key in _THEIRS:
            return value
        match value:
            case dict():
                return {name: self._value(child, name) for name, child in value.items()}
            case list():
                return [self._value(child, key) for child in value]
            case str() if key == "dedupeKey":
                return _ID.sub(lambda found: self._text(found[0]), self._hex_within(value))
            case str() if key == "snapshotRef":
                return self.snapshots.get(value, value)
            case str():
                return self._name(value)
            case _:
                return value

    def _name(self, text: str) -> str:
        if _MADE_OF_ID.fullmatch(text):
            return _ID.sub(lambda found: self._text(found[0]), text)
        found = _HEX.fullmatch(text)
        return text if found is None else f"{found[1] or ''}{self.id(UUID(hex=found[2])).hex}"

    def _hex_within(self, text: str) -> str:
        """`gap_recorded:gap_<hex>`: the last part of what an event says once."""
        head, colon, tail = text.rpartition(":")
        return f"{head}{colon}{self._name(tail)}" if _HEX.fullmatch(tail) else text

    def _text(self, text: str) -> str:
        prefix, _, _ = text.partition("_")
        old = from_text(Prefix(prefix), text)
        return text if old is None else to_text(Prefix(prefix), self.id(old))


def renaming_for(*, salt: bytes, sessions: Mapping[UUID, UUID], views: list[ProjectedSession]) -> Renaming:
    """`sessions` are the new ids of the sessions. An agent of a run is named by both, so that it is found again."""
    renaming = Renaming(salt=salt, fixed=dict(sessions))
    holders = {
        held.id: derive_id("handle", renaming.id(held.run_id).bytes, held.agent_id.encode("utf-8"))
        for view in views
        for held in (each.handle for each in view.handles.values())
    }
    return Renaming(salt=salt, fixed={**sessions, **holders})
