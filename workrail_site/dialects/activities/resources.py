"""Resources by number: of the session's workflow, or of one that is named before a slash."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from teams_app.engine.actors import Actor
from teams_app.engine.errors import NotFoundError, RepresentationChangedError
from workflows_app.engine.activities.documents import read_markdown
from workflows_app.engine.activities.references import find_among
from workflows_app.engine.program import Attachment, Program
from workflows_app.engine.source import ContentKind
from workflows_app.selectors.catalog import find_program
from workflows_app.selectors.programs import load_content
from workrail_site.mcp.answers import PAGE_BYTES

_MARKDOWN = "markdown"
_PART = re.compile(r"(?P<whole>[^#]*)#part-(?P<number>.*?)(?:-of-(?P<mark>[0-9a-f]{8}))?")
_MARK_CHARACTERS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a reference names, which part of it, where it names one, and the mark of the text that this is a part of."""

    whole: str
    number: str | None = None
    mark: str = ""

    def number_among(self, parts: Sequence[Any]) -> int:
        """Of a part that there is, of the text that was begun: what were told in place of another would be taken for it."""
        if self.mark and self.mark != _mark_of(parts):
            raise RepresentationChangedError(
                f"{self.whole or 'It'} has changed since its first part was told. {self._again}", suggestion=self._again
            )
        if self.number is None:
            return 1
        known = {str(number): number for number in range(1, len(parts) + 1)}
        if self.number not in known:
            has = f"parts 1 to {len(parts)}" if len(parts) > 1 else "one part"
            said = f"{self.whole or 'It'} has {has}, and no part {self.number[:20]!r}."
            raise NotFoundError(said, suggestion=self._again)
        return known[self.number]

    def after(self, number: int, parts: Sequence[Any]) -> str:
        """The reference of the part behind this one; empty behind the last."""
        return f"{self.whole}#part-{number + 1}-of-{_mark_of(parts)}" if number < len(parts) else ""

    @property
    def _again(self) -> str:
        return f"Ask for {self.whole}, from its beginning." if self.whole else "Ask again without naming a part."


def _mark_of(parts: Sequence[Any]) -> str:
    return hashlib.sha256(orjson.dumps(list(parts))).hexdigest()[:_MARK_CHARACTERS]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceReading:
    """A resource, or one part of a long one. `next` asks for the part after it."""

    found: Attachment
    asked: str
    content: str
    part: int
    parts: int
    next: str = ""


def read_resource(*, actor: Actor, program: Program, reference: str) -> ResourceReading:
    """`03` is of the workflow itself, `meta/03` of the one that is named; `03#part-2-of-…` goes on in a long one."""
    asked = part_in(reference)
    found = _find(actor, program, asked.whole)
    if found is None:
        raise NotFoundError(
            f"Resource not found: {reference[:80]}",
            suggestion=f"{_known(program)} Those of another workflow are named with it, for example meta/04.",
        )
    parts = parts_of(body_of(found))
    number = asked.number_among(parts)
    return ResourceReading(
        found=found,
        asked=reference.strip(),
        content=parts[number - 1],
        part=number,
        parts=len(parts),
        next=asked.after(number, parts),
    )


def part_in(reference: str) -> Asked:
    cut = _PART.fullmatch(reference.strip())
    if cut is None:
        return Asked(whole=reference.strip().partition("#")[0])
    return Asked(whole=cut["whole"], number=cut["number"], mark=cut["mark"] or "")


def body_of(found: Attachment) -> str:
    """The text without the front matter that describes it."""
    text = load_content(found.digest, ContentKind.RESOURCE).text
    if found.format != _MARKDOWN:
        return text
    read, _problems = read_markdown(data=text.encode(), file=found.id)
    return text if read is None else read.body.lstrip("\n")


def parts_of(text: str) -> list[str]:
    """Whole lines, as many as a page takes; a line that is longer than a page is cut."""
    parts: list[str] = []
    held = ""
    for line in (piece for whole in text.splitlines(keepends=True) for piece in _pieces(whole)):
        if held and len((held + line).encode()) > PAGE_BYTES:
            parts.append(held)
            held = ""
        held += line
    return [*parts, held]


def _pieces(line: str) -> list[str]:
    room = PAGE_BYTES // 4
    return [line[start : start + room] for start in range(0, len(line), room)] if len(line) > room else [line]


def _find(actor: Actor, program: Program, reference: str) -> Attachment | None:
    """Bare numbers stay in the workflow: another one's guide of the same number is another guide."""
    owner, slash, name = reference.rpartition("/")
    if not slash or owner in {program.id, program.id.rpartition(".")[2]}:
        return _held(program, program.id, name)
    return _held(program, owner, name) or _published(actor, program, owner, name)


def _published(actor: Actor, program: Program, owner: str, name: str) -> Attachment | None:
    """What the run was not pinned with, since nothing in its workflow refers to it."""
    for beside in (program.id, ""):
        other = find_program(actor=actor, workflow_id=owner, beside=beside)
        found = None if other is None else _held(other, other.id, name)
        if found is not None:
            return found
    return None


def _held(program: Program, owner: str, name: str) -> Attachment | None:
    return find_among((item for item in program.resources if item.owner == owner), name)


def _known(program: Program) -> str:
    own = ", ".join(f"{item.index} {item.id}".strip() for item in program.resources if item.owner == program.id)
    return f"{program.id} has: {own}." if own else f"{program.id} has no resources of its own."
