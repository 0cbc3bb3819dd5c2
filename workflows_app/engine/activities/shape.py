"""One object of an authored document, read key by key. What nobody asked for is reported, and kept."""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from workflows_app.engine import conditions
from workflows_app.engine.activities.findings import SHOWN_CHARS, FolderFindings
from workflows_app.engine.canonical import MAX_SAFE_INTEGER, canonical_bytes
from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem
from workflows_app.engine.program import AllOf, Condition

_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_NOT_IN_ID = re.compile(r"[^A-Za-z0-9_.-]+")


class FolderShape:
    """An object at a path of a file. Every getter takes one key; `extra` closes it and tells of the keys not taken."""

    def __init__(self, value: Mapping[str, Any], *, findings: FolderFindings, file: str, path: str = "") -> None:
        self._value = value
        self._taken: set[str] = set()
        self.findings = findings
        self.file = file
        self.path = path

    def at(self, key: str) -> str:
        name = key[:SHOWN_CHARS]
        return f"{self.path}.{name}" if self.path else name

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
        self.findings.add(
            WorkflowProblem(
                code=code,
                message=message,
                severity=severity or self.findings.loose,
                path=self.at(key) if key else self.path,
                file=self.file,
                suggestion=suggestion,
                tells_of_other=tells_of_other,
            ),
        )

    def warn(self, code: ProblemCode, key: str, message: str, suggestion: str = "") -> None:
        self.problem(code, key, message, severity=Severity.WARNING, suggestion=suggestion)

    # Single values

    def text(self, key: str, *, default: str = "", required: bool = False) -> str:
        value = self.raw(key)
        if value is None or (value == "" and required):
            if required:
                self.problem(ProblemCode.MISSING_KEY, key, f"The key {key!r} is missing.")
            return default
        return self._as_text(value, key) or default

    def id(self, key: str = "id", *, default: str, required: bool = True, until: str = "") -> str:
        """A name that others refer to. Characters that would make a reference ambiguous are refused; what comes after
        `until` is not part of it.
        """
        value = self.text(key, default=default, required=required)
        if until:
            value = value.partition(until)[0]
        if _ID.fullmatch(value):
            return value
        slug = _NOT_IN_ID.sub("-", value[:128]).strip("-.") or default
        message = f"{_shown(value)} is not an id: letters, digits, '_', '-' and '.' are."
        self.problem(ProblemCode.BAD_ID, key, message, suggestion=f"Write {slug!r}.")
        return slug

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.raw(key)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        self.wrong_type(key, "true or false")
        return default

    def positive(self, key: str) -> int | None:
        value = self.raw(key)
        if value is None:
            return None
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(number, int) and not isinstance(number, bool) and 0 < number <= MAX_SAFE_INTEGER:
            return number
        self.problem(ProblemCode.BAD_VALUE, key, f"{_shown(value)} is not a whole number above 0.")
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
        return self.inner(self.mapping(key), key) if self.has(key) else None

    def inner(self, value: Mapping[str, Any], key: str) -> "FolderShape":
        return FolderShape(value, findings=self.findings, file=self.file, path=self.at(key))

    def over(self, beneath: Mapping[str, Any]) -> "FolderShape":
        """The same object with the values of another under it; keys taken so far stay taken."""
        merged = FolderShape({**beneath, **self._value}, findings=self.findings, file=self.file, path=self.path)
        merged._taken = set(self._taken)
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
            self.warn(ProblemCode.UNKNOWN_KEY, key, message, hints.get(key) or self.findings.hint(key, self._taken))
        return {key: self._value[key] for key in unknown}

    def wrong_type(self, key: str, wanted: str) -> None:
        self.problem(ProblemCode.WRONG_TYPE, key, f"{_shown(self._value.get(key))} is not {wanted}.")

    def _list(self, key: str) -> list[Any]:
        value = self.raw(key)
        if value is None or isinstance(value, list):
            return value or []
        self.wrong_type(key, "a list")
        return []

    def _as_text(self, value: Any, key: str) -> str:
        if isinstance(value, str):
            return value
        self.problem(
            ProblemCode.WRONG_TYPE, key, f"{_shown(value)} is not text.", suggestion="Put it in quotation marks."
        )
        return "" if isinstance(value, dict | list) else canonical_bytes(value).decode()

    def _one_condition(self, key: str) -> Condition | None:
        value = self.raw(key)
        if value is None:
            return None
        parsed, problems = conditions.parse_activity_condition(value, path=self.at(key), file=self.file)
        self.findings.take(problems)
        return parsed


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str | int | float | None) else _kind(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def _kind(value: Any) -> str:
    return "a list" if isinstance(value, list) else "an object"
