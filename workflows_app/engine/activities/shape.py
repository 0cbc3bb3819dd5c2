"""One object of an authored document, read key by key. What nobody asked for is reported, and kept."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any

from teams_app.engine.closest import is_misspelt
from workflows_app.engine import conditions
from workflows_app.engine.activities.findings import SHOWN_CHARS, FolderFindings
from workflows_app.engine.canonical import MAX_SAFE_INTEGER, canonical_bytes
from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem
from workflows_app.engine.program import AllOf, Condition

_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_NOT_IN_ID = re.compile(r"[^A-Za-z0-9_.-]+")
_ROOT = re.compile(r"[^.\[]*")
_LOSING = frozenset({ProblemCode.WRONG_TYPE})
# So alike are two keys of which one is misspelt, and so many are looked at.
_MISSPELT = 0.75
_MOST_COMPARED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthoredPlace:
    """Where something was authored: a file, and the path in it as one would reach the value."""

    file: str
    path: str = ""

    def inner(self, key: str) -> "AuthoredPlace":
        joined = f"{self.path}.{key}" if self.path and key and not key.startswith("[") else f"{self.path}{key}"
        return AuthoredPlace(file=self.file, path=joined)


class FolderShape:
    """An object at a path of a file. Every getter takes one key; `extra` closes it and tells of the keys not taken."""

    def __init__(self, value: Mapping[str, Any], *, findings: FolderFindings, file: str, path: str = "") -> None:
        self._value = value
        self._taken: set[str] = set()
        self._beneath: Mapping[str, AuthoredPlace] = MappingProxyType({})
        self.findings = findings
        self.file = file
        self.path = path

    def place(self, key: str = "") -> AuthoredPlace:
        """Where a key stands, which may say further what is meant in it: `options[1].effect`."""
        root = _ROOT.match(key)
        lent = self._beneath.get(root.group()) if root else None
        if root is not None and lent is not None:
            return lent.inner(key[root.end() :].removeprefix("."))
        return AuthoredPlace(file=self.file, path=self.path).inner(key[:SHOWN_CHARS])

    def has(self, key: str) -> bool:
        """A key with a value; `null` says nothing, as no key does."""
        self._taken.add(key)
        return self._value.get(key) is not None

    def knows(self, key: str) -> bool:
        """Whether the key is there at all, if only with `null`."""
        self._taken.add(key)
        return key in self._value

    def raw(self, key: str) -> Any:
        self._taken.add(key)
        return self._value.get(key)

    def problem(
        self,
        code: ProblemCode,
        key: str,
        message: str,
        *,
        severity: Severity | None = None,
        suggestion: str = "",
        tells_of_other: bool = False,
    ) -> None:
        place, severity = self.place(key), severity or self.findings.loose
        self.findings.add(
            WorkflowProblem(
                code=code,
                message=message,
                severity=severity,
                path=place.path,
                file=place.file,
                suggestion=suggestion,
                tells_of_other=tells_of_other,
            ),
        )
        if code in _LOSING:
            self.lose(key, severity)

    def warn(self, code: ProblemCode, key: str, message: str, suggestion: str = "") -> None:
        self.problem(code, key, message, severity=Severity.WARNING, suggestion=suggestion)

    # What is not what its author meant

    def lose(self, key: str, severity: Severity) -> None:
        """What stands there was told as a mistake: what others would say of it follows from that. Of a list one is lost."""
        for name in dict.fromkeys((key, _listed(key))):
            place = self.place(name)
            self.findings.lose(file=place.file, path=place.path, severity=severity)

    def lose_name(self) -> None:
        """By which name others refer to this one of a list nobody knows."""
        self.findings.lose(file=self.file, path=_listed(self.path), severity=self.findings.loose)

    def is_lost(self, key: str, severity: Severity | None = None) -> bool:
        place = self.place(key)
        return self.findings.is_lost(file=place.file, path=place.path, severity=severity or self.findings.loose)

    def is_unread(self, key: str) -> bool:
        """Whether what was meant to stand there was, or will be, told as a mistake."""
        return self.is_lost(key, Severity.WARNING) or self.is_misspelt(key)

    # Single values

    def text(self, key: str, *, default: str = "", required: bool = False) -> str:
        value = self.raw(key)
        if value is None or (value == "" and required):
            if required:
                self.missing(key)
            return default
        return self._as_text(value, key) or default

    def missing(self, key: str, *, severity: Severity | None = None) -> None:
        """That it is not there, once: where it is misspelt, that it is not known is no second mistake."""
        meant = self._meant_as(key, self._value)
        if meant:
            self._taken.add(meant)
        suggestion = f"Write it instead of {_shown(meant)}." if meant else ""
        message = f"The key {key!r} is missing."
        self.problem(ProblemCode.MISSING_KEY, key, message, severity=severity, suggestion=suggestion)
        self.lose(key, self.findings.loose)

    def is_misspelt(self, key: str, *, of: type = object) -> bool:
        """Whether it is not there, and one that nobody knows is nearly it, with a value `of` this type."""
        return bool(self._meant_as(key, [name for name, value in self._value.items() if isinstance(value, of)]))

    def misspelt(self, key: str, words: Iterable[str]) -> str:
        """The key, if there is one, under which one of these words stands and which is nearly the one that it belongs under."""
        known = {str(word) for word in words}
        return self._meant_as(
            key, [name for name, value in self._value.items() if isinstance(value, str) and value in known]
        )

    def _meant_as(self, key: str, names: Iterable[str]) -> str:
        if self._value.get(key) is not None or not self.findings.may_compare(min(len(self._value), _MOST_COMPARED)):
            return ""
        untaken = (name for name in islice(names, _MOST_COMPARED) if name not in self._taken)
        return next((name for name in untaken if is_misspelt(name, key, like_enough=_MISSPELT)), "")

    def id(self, key: str = "id", *, default: str, required: bool = True, until: str = "") -> str:
        """A name that others refer to. Characters that would make a reference ambiguous are refused; what comes after
        `until` is not part of it.
        """
        value = self.text(key, default=default, required=required)
        if self.is_lost(key):
            self.lose_name()
        if until:
            value = value.partition(until)[0]
        if is_id(value):
            return value
        slug = _NOT_IN_ID.sub("-", value[:128]).strip("-.") or default
        message = f"{_shown(value)} is not an id: letters, digits, '_', '-' and '.' are."
        self.problem(ProblemCode.BAD_ID, key, message, suggestion=f"Write {slug!r}.")
        self.lose(key, self.findings.loose)
        self.lose_name()
        return slug

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.raw(key)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        self.wrong_type(key, "true or false", "Write one of the two, without quotation marks.")
        return default

    def positive(self, key: str) -> int | None:
        value = self.raw(key)
        if value is None:
            return None
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(number, int) and not isinstance(number, bool) and 0 < number <= MAX_SAFE_INTEGER:
            return number
        message, advice = (
            f"{_shown(value)} is not a whole number above 0.",
            "Write digits alone, without quotation marks.",
        )
        self.problem(ProblemCode.BAD_VALUE, key, message, suggestion=advice)
        return None

    def choice(self, key: str, known: Iterable[str], *, default: str) -> str:
        value = self.raw(key)
        if value is None:
            return default
        words = [str(word) for word in known]
        if isinstance(value, str) and value in words:
            return value
        hint = self.findings.hint(str(value), words)
        self.problem(
            ProblemCode.BAD_VALUE, key, f"{_shown(value)} is not known here.", severity=Severity.ERROR, suggestion=hint
        )
        self.lose(key, Severity.ERROR)
        return default

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(self._as_text(item, f"{key}[{index}]") for index, item in enumerate(self._list(key)))

    def mapping(self, key: str) -> dict[str, Any]:
        value = self.raw(key)
        if value is None or isinstance(value, dict):
            return value or {}
        self.wrong_type(key, "an object")
        return {}

    def condition(self, *keys: str) -> Condition | None:
        """What the keys say together; a key that is absent says nothing."""
        said = [found for found in (self._one_condition(key) for key in keys) if found is not None]
        if len(said) > 1:
            return AllOf(conditions=tuple(said))
        return said[0] if said else None

    # Objects within

    def shape(self, key: str) -> "FolderShape | None":
        """The object under the key. That it is none is the one mistake; what should stand in it is not missed."""
        value = self.mapping(key)
        return self.inner(value, key) if isinstance(self._value.get(key), dict) else None

    def inner(self, value: Mapping[str, Any], key: str) -> "FolderShape":
        place = self.place(key)
        return FolderShape(value, findings=self.findings, file=place.file, path=place.path)

    def over(self, beneath: Mapping[str, Any], *, place: AuthoredPlace) -> "FolderShape":
        """The same object with the values of another, which stands at `place`, under it; keys taken so far stay taken."""
        merged = FolderShape({**beneath, **self._value}, findings=self.findings, file=self.file, path=self.path)
        merged._taken = set(self._taken)
        merged._beneath = {key: place.inner(key[:SHOWN_CHARS]) for key in beneath if key not in self._value}
        return merged

    def shapes(self, key: str) -> "Iterator[FolderShape]":
        """The objects of a list; anything else in it is a problem and left out."""
        for index, item in enumerate(self._list(key)):
            place = f"{key}[{index}]"
            if isinstance(item, dict):
                yield self.inner(item, place)
            else:
                self.problem(ProblemCode.WRONG_TYPE, place, f"{_shown(item)} is not an object.")

    def extra(self, *, hints: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
        """The keys that no getter asked for, as they are. `hints` say where some of them would mean something."""
        unknown = sorted(key for key in self._value if key not in self._taken)
        for key in unknown:
            message = f"The key {_shown(key)} is not known here; it is kept, and nothing reads it."
            hint = hints.get(key) or self.findings.hint(key, self._taken)
            self.warn(ProblemCode.UNKNOWN_KEY, key, message, hint)
            for meant in self._taken - self._value.keys() if hint else ():
                if is_misspelt(key, meant, like_enough=_MISSPELT):
                    self.lose(meant, Severity.WARNING)
        return {key: self._value[key] for key in unknown}

    def take_rest(self) -> None:
        """What it is was told as a mistake: what else stands in it belongs to whatever was meant, and is none."""
        self._taken.update(self._value)

    def wrong_type(self, key: str, wanted: str, suggestion: str = "") -> None:
        message = f"{_shown(self._value.get(key))} is not {wanted}."
        self.problem(ProblemCode.WRONG_TYPE, key, message, suggestion=suggestion)

    def _list(self, key: str) -> list[Any]:
        value = self.raw(key)
        if value is None or isinstance(value, list):
            return value or []
        self.wrong_type(key, "a list")
        return []

    def _as_text(self, value: Any, key: str) -> str:
        if isinstance(value, str):
            return value
        advice = "Write a text, or leave it out." if isinstance(value, dict | list) else "Put it in quotation marks."
        self.problem(ProblemCode.WRONG_TYPE, key, f"{_shown(value)} is not text.", suggestion=advice)
        lost = isinstance(value, dict | list) or self.findings.loose is Severity.ERROR
        return "" if lost else canonical_bytes(value).decode()

    def _one_condition(self, key: str) -> Condition | None:
        value = self.raw(key)
        if value is None:
            return None
        place = self.place(key)
        parsed, problems = conditions.parse_activity_condition(value, path=place.path, file=place.file)
        self.findings.take(problems)
        return parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityPlaces:
    """Where the parts of one activity of the program were authored, its checkpoints and the items of its body by their ids
    in the program. `graph` is where the workflow says to what its exits lead.
    """

    shape: FolderShape
    graph: AuthoredPlace
    checkpoints: Mapping[str, FolderShape]
    items: Mapping[str, FolderShape]

    def own(self, key: str = "") -> AuthoredPlace:
        return self.shape.place(key)

    def checkpoint(self, checkpoint_id: str, key: str = "") -> AuthoredPlace:
        found = self.checkpoints.get(checkpoint_id)
        return self.own() if found is None else found.place(key)

    def option(self, checkpoint_id: str, option_id: str, key: str = "") -> AuthoredPlace:
        found = self.checkpoints.get(checkpoint_id)
        listed = found.raw("options") if found is not None else None
        ids = (
            [item.get("id") if isinstance(item, dict) else None for item in listed] if isinstance(listed, list) else []
        )
        index = f"options[{ids.index(option_id)}]" if option_id in ids else "options"
        return self.checkpoint(checkpoint_id, f"{index}.{key}" if key and option_id in ids else index)

    def item(self, item_id: str, key: str = "") -> AuthoredPlace:
        found = self.items.get(item_id)
        return self.own() if found is None else found.place(key)


def _listed(path: str) -> str:
    """The list that this is one of; itself, where it stands in none."""
    return path.rpartition("[")[0] if path.endswith("]") else path


def is_id(name: str) -> bool:
    return _ID.fullmatch(name) is not None


def _shown(value: Any) -> str:
    """As its author wrote it, roughly."""
    is_word = value is None or isinstance(value, bool)
    text = json.dumps(value) if is_word else repr(value) if isinstance(value, str | int | float) else _kind(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def _kind(value: Any) -> str:
    return "a list" if isinstance(value, list) else "an object"
