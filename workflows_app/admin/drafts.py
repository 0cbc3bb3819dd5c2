"""A source while it is being edited: the files of the revision that it began from, and what was changed since in the browser."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count, takewhile
from typing import Any

from django import forms

from teams_app.engine.errors import InvalidInputError, NotFoundError
from workflows_app.admin.source_view import text_of
from workflows_app.engine.intake import normalise_paths
from workflows_app.engine.packing import entry_file
from workflows_app.engine.places import lines_of_text
from workflows_app.engine.safe_paths import checked_path
from workflows_app.engine.source import Origin, Source, SourceFormat, StepsSchema, Strictness
from workflows_app.models import MESSAGE_CHARACTERS, Revision, Workflow
from workflows_app.selectors.sources import files_of, find_revision

_PATH_CHARACTERS = 400
_ENDS = re.compile(r"(\r\n|\r|\n)")
# A form gives these back as others, or not at all.
_UNSHOWN = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")


_NO_NUL = "null_characters_not_allowed"
_AS_SHOWN = "It is shown as \ufffd: write something else there."
_OF_PATHS = {
    "required": "The form does not say the name of the file that was open: what was typed stands in the one that is open now.",
    "max_length": f"The name of the file is longer than {_PATH_CHARACTERS} characters: choose a shorter one.",
    _NO_NUL: "The name of the file has the character U+0000, which none may have: choose another one.",
}
_OF_BASES = dict.fromkeys(
    ("required", "invalid", "min_value"),
    "The form does not say the revision that it began from. It stands on the latest one now: look at it, and save again.",
)


class _SourceField(forms.Field):
    """Told by its place, for a source is long: what a page could not show and get back."""

    def clean(self, value: Any) -> str:
        text = str(value or "")
        unshown = _UNSHOWN.search(text)
        if unshown is None:
            return text
        line = len(lines_of_text(_plain(text[: unshown.end()])))
        raise forms.ValidationError(
            f"The source has the character U+{ord(unshown[0]):04X} in line {line}, which none may have. {_AS_SHOWN}"
        )


class DraftForm(forms.Form):
    """`changed` are the other files that were changed, as JSON: the text of each, or null for one that is gone."""

    base = forms.IntegerField(min_value=1, error_messages=_OF_BASES)
    path = forms.CharField(max_length=_PATH_CHARACTERS, strip=False, error_messages=_OF_PATHS)
    new_path = forms.CharField(required=False, max_length=_PATH_CHARACTERS, error_messages=_OF_PATHS)
    text = _SourceField(required=False)
    changed = forms.CharField(required=False, strip=False)
    message = forms.CharField(
        required=False,
        max_length=MESSAGE_CHARACTERS,
        error_messages={
            "max_length": f"The note has %(show_value)d characters, and at most {MESSAGE_CHARACTERS} are kept: shorten it.",
            _NO_NUL: f"The note has the character U+0000, which no text may have. {_AS_SHOWN}",
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """`base` is the revision that it began from, `path` the file that is open. `files` are all as they are now."""

    base: int
    path: str
    files: Mapping[str, bytes]
    changed: Mapping[str, str | None]
    message: str = ""

    @property
    def is_text(self) -> bool:
        """What is none is shown as such, and kept as it is."""
        return _text_of(self.files.get(self.path, b"")) is not None

    @property
    def text(self) -> str:
        return _text_of(self.files.get(self.path, b"")) or ""

    @property
    def others(self) -> str:
        """What the form carries along: every change but that of the open file, which is its text."""
        return json.dumps({path: text for path, text in self.changed.items() if path != self.path})

    def opened(self, path: str) -> "Draft":
        files = dict(self.files)
        changed = dict(self.changed)
        if path not in files:
            files[path], changed[path] = b"", ""
        return Draft(base=self.base, path=path, files=files, changed=changed, message=self.message)

    def added(self, path: str) -> "Draft":
        """With a new file, which is open from now on; a name that none may have here is refused."""
        _, problems = normalise_paths(files={**self.files, path: b""})
        if problems:
            raise InvalidInputError(
                f"The new file cannot be called {path[:80]!r}: {problems[0].message}",
                suggestion="Write the folder, `/` and the name, such as resources/02-style.md.",
            )
        return self.opened(checked_path(path))

    def written(self, path: str, text: str) -> "Draft":
        files, changed = {**self.files, path: _written(text, self.files.get(path))}, {**self.changed, path: text}
        return Draft(base=self.base, path=self.path, files=files, changed=changed, message=self.message)

    def dropped(self, path: str) -> "Draft":
        files = {name: data for name, data in self.files.items() if name != path}
        first = min(files, default="")
        return Draft(
            base=self.base, path=first, files=files, changed={**self.changed, path: None}, message=self.message
        )

    def mended(self, path: str, *, line: int, wrong: str, right: str) -> "Draft":
        lines = _plain(text_of(self.files[path]) or "").split("\n")
        lines[line - 1] = lines[line - 1].replace(wrong, right, 1)
        return self.opened(path).written(path, "\n".join(lines))

    def on_top_of(self, latest: Mapping[str, bytes]) -> "Draft":
        """The same changes where somebody has saved others meanwhile: a file without a change of one's own is as it is there."""
        files = {path: data for path, data in latest.items() if path not in self.changed}
        own = {path: self.files[path] for path in self.changed if path in self.files}
        files = {**files, **own}
        path = self.path if self.path in files else min(files, default="")
        return replace(self, files=files, path=path)


def begun(revision: Revision, *, path: str) -> Draft:
    files = files_of(revision.pk)
    return Draft(
        base=revision.number, path=path if path in files else first_of(revision, files), files=files, changed={}
    )


def read_draft(form: DraftForm, revision: Revision) -> Draft:
    return read_draft_of(form.cleaned_data, revision)


def began_from(row: Workflow, base: int) -> Revision:
    try:
        return find_revision(row, base)
    except NotFoundError as missing:
        raise InvalidInputError(missing.message, suggestion=str(_OF_BASES["invalid"])) from missing


def as_typed(form: DraftForm, row: Workflow) -> tuple[Revision, Draft]:
    """What a form holds that was refused, as far as a page can show it, and the revision on which that stands now."""
    read = form.cleaned_data
    typed = {name: read.get(name, _UNSHOWN.sub("\ufffd", form.data.get(name, ""))) for name in ("text", "message")}
    try:
        revision = find_revision(row, read.get("base"))
    except NotFoundError:
        revision = find_revision(row, None)
    path = read.get("path") or _free_path(files_of(revision.pk))
    given = {**typed, "base": revision.number, "path": path, "changed": form.data.get("changed", "")}
    return revision, read_draft_of(given, revision)


def _free_path(files: Mapping[str, bytes]) -> str:
    """For a text of which nobody knows the file: the only one there is, or one that overwrites none."""
    if len(files) == 1:
        return next(iter(files))
    return next(name for name in (f"unnamed{at or ''}.txt" for at in count()) if name not in files)


def read_draft_of(given: Mapping[str, Any], revision: Revision) -> Draft:
    """The draft as the form says it, on top of the revision that it began from."""
    before = files_of(revision.pk)
    text = _plain(given["text"])
    changed = {**_changed(given["changed"]), given["path"]: text}
    files = dict(before)
    for path, now in changed.items():
        if now is None:
            files.pop(path, None)
        else:
            files[path] = _written(now, before.get(path))
    kept = {path: now for path, now in changed.items() if now is None or before.get(path) != files[path]}
    return Draft(base=given["base"], path=given["path"], files=files, changed=kept, message=given["message"])


def source_of(draft: Draft, revision: Revision) -> Source:
    """Read as the revision was from which it began."""
    return Source(
        format=SourceFormat(revision.format),
        files=draft.files,
        origin=Origin(revision.origin),
        strictness=Strictness(revision.strictness),
        schema=StepsSchema(revision.schema) if revision.schema else None,
    )


def first_of(revision: Revision, files: Mapping[str, bytes]) -> str:
    return entry_file(Source(format=SourceFormat(revision.format), files=files)) or min(files, default="")


def _changed(text: str) -> dict[str, str | None]:
    try:
        told = json.loads(text or "{}")
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict) or not all(isinstance(each, str | None) for each in told.values()):
        raise InvalidInputError("The other files cannot be read.", suggestion="Load the page again.")
    return {str(path): None if now is None else _plain(now) for path, now in told.items()}


def _written(text: str, before: bytes | None) -> bytes:
    """A file as it was where nobody touched it, and with the ends of lines that it had."""
    if before is None:
        return text.encode("utf-8", "replace")
    shown = _text_of(before)
    if shown is None or _plain(shown) == _plain(text):
        return before
    return _with_ends(_plain(text), shown).encode("utf-8", "replace")


def _with_ends(text: str, before: str) -> str:
    """What stands before and behind the changed lines keeps the ends that it had, and those get the end that most have."""
    *parts, last = _ENDS.split(before)
    old, ends = [*parts[::2], last], parts[1::2]
    new = text.split("\n")
    usual = max(("\n", "\r\n", "\r"), key=ends.count)
    above = _alike(zip(new[:-1], old[:-1], strict=False))
    below = _alike(zip(new[:above:-1], old[:above:-1], strict=False))
    told = [*ends[:above], *(usual for _ in range(len(new) - 1 - above))]
    kept = min(below, len(told) - above)
    told[len(told) - kept :] = ends[len(ends) - kept :]
    return "".join(f"{line}{end}" for line, end in zip(new, [*told, ""], strict=True))


def _alike(pairs: Iterable[tuple[str, str]]) -> int:
    """How many pairs there are before the first that differ."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _text_of(data: bytes) -> str | None:
    """None for what a page cannot show and get back."""
    text = text_of(data)
    return None if text is None or _UNSHOWN.search(text) else text


def _plain(text: str) -> str:
    """Browsers send the ends of lines in their own way."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
