"""Fragments: rule texts and checkpoints that a workflow keeps once, for its own places and for those of other workflows."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from workflows_app.engine.activities.findings import SHOWN_CHARS
from workflows_app.engine.activities.references import META, owner_named
from workflows_app.engine.activities.shape import AuthoredPlace
from workflows_app.engine.problems import ProblemCode, WorkflowProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragments:
    """The fragments of one workflow by name, as authored in `file`: a rule is one text or a list of them, a checkpoint an
    object. Some are not known where what holds them `is_whole` no more, and none where it is `unread`.
    """

    file: str = ""
    is_whole: bool = True
    # Why what holds them cannot be read at all.
    unread: tuple[WorkflowProblem, ...] = ()
    rules: Mapping[str, Any] = field(default_factory=dict)
    checkpoints: Mapping[str, Any] = field(default_factory=dict)


_NONE = Fragments()
# The key by which a place refers to a fragment. A fragment itself has none.
REFERRING = "ref"


class FragmentIndex:
    """What a `ref` means. `name` is looked for where it stands, then in `meta`; `workflow::name` in that workflow only."""

    def __init__(
        self,
        *,
        own: str,
        held: Fragments,
        of: Callable[[str], Fragments | None],
        unpublished: Callable[[str], str],
    ) -> None:
        self._own = own
        self._held = held
        self._of = of
        self._unpublished = unpublished

    def rule(self, reference: str) -> tuple[str, ...] | None:
        """The texts of a rule fragment; None where there is none of that name."""
        found = (fragments.rules.get(name) for name, fragments in self._candidates(reference, ""))
        return next((texts for value in found if (texts := _texts(value)) is not None), None)

    def checkpoint(self, reference: str, *, home: str = "") -> tuple[Mapping[str, Any], AuthoredPlace] | None:
        """The body of a checkpoint fragment and where it stands. `home` is the workflow that the referring activity was
        borrowed from.
        """
        for name, fragments in self._candidates(reference, home):
            body = fragments.checkpoints.get(name)
            if isinstance(body, dict) and ("message" in body or not body.get(REFERRING)):
                return body, AuthoredPlace(file=fragments.file, path=f"fragments.checkpoints.{name[:SHOWN_CHARS]}")
        return None

    def is_kept_here(self, reference: str) -> bool:
        """Whether the workflow itself has something of that name: what cannot be read of it was told where it stands."""
        owner, colons, name = reference.rpartition("::")
        here = not colons or owner_named(owner, self._own) == self._own
        return here and (not self._held.is_whole or name in self._held.rules or name in self._held.checkpoints)

    def lost_rule(self, reference: str) -> tuple[WorkflowProblem, ...]:
        """Why a workflow that the rule is looked for in cannot give it, told at its own file; nothing where it has none of that name."""
        places = ((owner, name, self._in(owner).rules) for owner, name in self._places(reference, ""))
        return next(filter(None, (self._lost(*place, kind="rules") for place in places)), ())

    def lost_checkpoint(self, reference: str, *, home: str = "") -> tuple[WorkflowProblem, ...]:
        """The same of a checkpoint."""
        places = ((owner, name, self._in(owner).checkpoints) for owner, name in self._places(reference, home))
        return next(filter(None, (self._lost(*place, kind="checkpoints") for place in places)), ())

    def _lost(self, owner: str, name: str, kept: Mapping[str, Any], *, kind: str) -> tuple[WorkflowProblem, ...]:
        held = self._in(owner)
        # Of this workflow it is told where it stands.
        if owner == self._own or held.unread or (held.is_whole and name not in kept):
            return held.unread
        message = f"What {owner[:SHOWN_CHARS]!r} keeps as {name[:SHOWN_CHARS]!r} has no form in which it can be read."
        path = f"fragments.{kind}.{name[:SHOWN_CHARS]}" if held.is_whole else "fragments"
        return (WorkflowProblem(code=ProblemCode.WRONG_TYPE, message=message, file=held.file, path=path),)

    def rule_names(self) -> Iterable[str]:
        return (*self._held.rules, *self._in(META).rules)

    def checkpoint_names(self, *, home: str = "") -> Iterable[str]:
        return (*self._in(home or self._own).checkpoints, *self._in(META).checkpoints)

    def absent_owner(self, reference: str) -> str:
        """The workflow that the reference names and that is not at hand; empty where it is, or where none is named."""
        owner, colons, _ = reference.partition("::")
        known = not colons or owner_named(owner, self._own) == self._own or self._of(owner) is not None
        return "" if known else owner

    def advice_on(self, owner: str) -> str:
        """How an absent one comes to be at hand."""
        return self._unpublished(owner) or f"Import {owner[:80]!r} as well, then this one again."

    def _candidates(self, reference: str, home: str) -> Iterator[tuple[str, Fragments]]:
        return ((name, self._in(owner)) for owner, name in self._places(reference, home))

    def _places(self, reference: str, home: str) -> Iterator[tuple[str, str]]:
        owner, colons, name = reference.partition("::")
        if colons:
            yield owner_named(owner, self._own), name
            return
        for place in dict.fromkeys((home or self._own, META)):
            yield place, reference

    def _in(self, owner: str) -> Fragments:
        return self._held if owner == self._own else self._of(owner) or _NONE


def fragments_of(document: Mapping[str, Any], *, file: str) -> Fragments:
    """Those of the document that describes a workflow; what is no object holds none."""
    fragments = document.get("fragments")
    held = fragments if isinstance(fragments, dict) else {}
    parts = (fragments, held.get("rules"), held.get("checkpoints"))
    is_whole = all(part is None or isinstance(part, dict) for part in parts)
    return Fragments(
        file=file, is_whole=is_whole, rules=_object(held.get("rules")), checkpoints=_object(held.get("checkpoints"))
    )


def text_length(value: Any) -> int:
    """How many characters stand in a fragment, roundly."""
    if isinstance(value, dict):
        return sum(len(key) + text_length(each) for key, each in value.items())
    if isinstance(value, list):
        return sum(map(text_length, value))
    return len(value) if isinstance(value, str) else 1


def _texts(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list):
        return tuple(text for text in value if isinstance(text, str))
    return None


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
