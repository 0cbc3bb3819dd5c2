"""Resources by number: of the session's workflow, or of one that is named before a slash."""

import re
from dataclasses import dataclass

from teams_app.engine.actors import Actor
from teams_app.engine.errors import NotFoundError
from workflows_app.engine.activities.documents import read_markdown
from workflows_app.engine.activities.references import resources_by_key, wanted_keys
from workflows_app.engine.program import Attachment, Program
from workflows_app.engine.source import ContentKind
from workflows_app.selectors.catalog import find_program
from workflows_app.selectors.programs import load_content
from workrail_site.mcp.answers import PAGE_BYTES

_MARKDOWN = "markdown"
_PART = re.compile(r"(?P<reference>[^#]*)#part-(?P<number>.*)")


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
    """`03` is of the workflow itself, `meta/03` of the one that is named; `03#part-2` goes on in a long one."""
    whole, part = part_in(reference)
    found = _find(actor, program, whole)
    if found is None:
        raise NotFoundError(
            f"Resource not found: {reference[:80]}",
            suggestion=f"{_known(program)} Those of another workflow are named with it, for example meta/04.",
        )
    parts = parts_of(body_of(found))
    number = number_of(part, whole, len(parts))
    return ResourceReading(
        found=found,
        asked=reference.strip(),
        content=parts[number - 1],
        part=number,
        parts=len(parts),
        next=f"{whole}#part-{number + 1}" if number < len(parts) else "",
    )


def part_in(reference: str) -> tuple[str, str | None]:
    """What a reference names, and which part of it, where it names one."""
    cut = _PART.fullmatch(reference.strip())
    return (cut["reference"], cut["number"]) if cut else (reference.strip().partition("#")[0], None)


def number_of(part: str | None, whole: str, parts: int) -> int:
    """A part that there is; what were told in place of another would be taken for it."""
    if part is None:
        return 1
    known = {str(number): number for number in range(1, parts + 1)}
    if part not in known:
        has = f"parts 1 to {parts}" if parts > 1 else "one part"
        raise NotFoundError(f"{whole} has {has}, and no part {part[:20]!r}.", suggestion=f"Ask for {whole}.")
    return known[part]


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
    keys = resources_by_key(item for item in program.resources if item.owner == owner)
    return next((keys[key] for key in wanted_keys(name) if key in keys), None)


def _known(program: Program) -> str:
    own = ", ".join(f"{item.index} {item.id}".strip() for item in program.resources if item.owner == program.id)
    return f"{program.id} has: {own}." if own else f"{program.id} has no resources of its own."
