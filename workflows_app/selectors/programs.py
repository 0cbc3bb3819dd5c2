"""Programs and what they attach, by digest. No actor: a digest is reached only over a run or a revision, which have one."""

from collections.abc import Iterable, Iterator, Set as AbstractSet
from dataclasses import dataclass

import msgspec
from django.db.models import BinaryField, F, Func, TextField, Value
from django.db.models.functions import Concat

from teams_app.engine.errors import NotFoundError
from workflows_app.engine.program import Program, program_from_bytes
from workflows_app.engine.source import ContentKind, SourceContent, attached_to, is_named_by_content
from workflows_app.models import Content as ContentRow, Program as ProgramRow, ProgramContent
from workflows_app.selectors.asked import asked
from workflows_app.selectors.cache import ByteBoundedCache, CacheInfo

# Counted in canonical bytes; the decoded tree takes a few times as much.
PROGRAM_CACHE_BYTES = 32 * 1024 * 1024
CONTENT_CACHE_BYTES = 16 * 1024 * 1024
_CONTENTS_AT_ONCE = 100
_PROGRAMS_AT_ONCE = 20

_programs: ByteBoundedCache[str, Program] = ByteBoundedCache(max_bytes=PROGRAM_CACHE_BYTES)
_contents: ByteBoundedCache[tuple[str, ContentKind], SourceContent] = ByteBoundedCache(max_bytes=CONTENT_CACHE_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredContent:
    """`document` is JSON text in the author's order."""

    kind: ContentKind
    digest: str
    text: str
    document: str | None


def load_program(workflow_hash: str) -> Program:
    """The program of that hash. In this process the second call for it makes no query and parses nothing."""
    found = _programs.get(workflow_hash)
    if found is not None:
        return found
    data = program_bytes(workflow_hash)
    program = program_from_bytes(data)
    _programs.put(workflow_hash, program, size_bytes=len(data))
    return program


def load_programs(workflow_hashes: Iterable[str]) -> dict[str, Program]:
    """Those of these hashes that are there. At most one query, and none where all of them are known in this process."""
    wanted = set(workflow_hashes)
    found = {name: program for name in wanted if (program := _programs.get(name)) is not None}
    if len(found) < len(wanted):
        rows = ProgramRow.objects.filter(pk__in=wanted - found.keys()).order_by("pk")
        for name, stored in rows.values_list("pk", "data"):
            data = bytes(stored)
            found[name] = program_from_bytes(data)
            _programs.put(name, found[name], size_bytes=len(data))
    return found


@asked
def program_bytes(workflow_hash: str) -> bytes:
    """The stored canonical bytes, whose digest the hash is."""
    data = ProgramRow.objects.filter(pk=workflow_hash).values_list("data", flat=True).order_by("pk").first()
    if data is None:
        raise NotFoundError(
            f"There is no program {workflow_hash}.",
            suggestion="Read the workflow for the hash of its published revision.",
        )
    return bytes(data)


def unsound_programs(workflow_hashes: Iterable[str]) -> dict[str, str]:
    """Of these hashes, those whose program is gone or has other bytes, with what is wrong. For the check of the whole store."""
    wanted = set(workflow_hashes)
    hexadecimal = Func(
        Func(F("data"), function="sha256", output_field=BinaryField()),
        Value("hex"),
        function="encode",
        output_field=TextField(),
    )
    rows = (
        ProgramRow.objects.filter(pk__in=wanted)
        .annotate(has=Concat(Value("sha256:"), hexadecimal, output_field=TextField()))
        .order_by()
    )
    stored = dict(rows.values_list("workflow_hash", "has"))
    wrong = {name: "has other bytes" for name, has in stored.items() if has != name}
    return wrong | dict.fromkeys(sorted(wanted - stored.keys()), "is gone")


def unsound_contents(workflow_hashes: Iterable[str]) -> Iterator[str]:
    """What is wrong with what these programs attach: agents are shown it too. Few of them are held at a time."""
    judged: set[tuple[str, ContentKind]] = set()
    rows = ProgramRow.objects.filter(pk__in=list(workflow_hashes)).order_by("pk").values_list("pk", "data")
    for workflow_hash, data in rows.iterator(chunk_size=_PROGRAMS_AT_ONCE):
        attached = attached_to(program_from_bytes(bytes(data)))
        if not attached:
            continue
        held = set(ContentRow.objects.filter(programs=workflow_hash).order_by().values_list("digest", "kind"))
        if not attached <= held:
            yield f"The program {workflow_hash} is there without all that it attaches."
        wanted = attached - judged
        judged |= wanted
        sound = _sound_contents(wanted) if wanted else set()
        for digest, kind in sorted(wanted - sound):
            yield f"The {kind.value} {digest}, which the program {workflow_hash} attaches, is not what was written, or is gone."


def _sound_contents(wanted: AbstractSet[tuple[str, ContentKind]]) -> set[tuple[str, ContentKind]]:
    """Those of them of which there is one row, and that one is named by what it holds."""
    found: dict[tuple[str, str], list[bool]] = {}
    rows = ContentRow.objects.filter(digest__in={digest for digest, _ in wanted}).order_by("pk")
    for row in rows.iterator(chunk_size=_CONTENTS_AT_ONCE):
        found.setdefault((row.digest, row.kind), []).append(_is_sound(row))
    return {key for key in wanted if found.get((key[0], key[1].value)) == [True]}


def _is_sound(row: ContentRow) -> bool:
    """Whoever owns the table can have it hold what nobody can read."""
    try:
        document = None if row.document is None else msgspec.json.decode(bytes(row.document))
        return is_named_by_content(digest=row.digest, text=row.text, document=document)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return False


def attached_contents(workflow_hash: str) -> tuple[StoredContent, ...]:
    """All that a program attaches, as it is stored, in one order."""
    held = ProgramContent.objects.filter(program_id=workflow_hash).values("content_id")
    attached = attached_to(program_from_bytes(program_bytes(workflow_hash)))
    # Releases before have taken in with a bundle what its programs do not attach.
    rows = [
        row
        for row in ContentRow.objects.filter(pk__in=held).order_by("kind", "digest")
        if (row.digest, row.kind) in attached
    ]
    return tuple(
        StoredContent(
            kind=ContentKind(row.kind),
            digest=row.digest,
            text=row.text,
            document=None if row.document is None else bytes(row.document).decode(),
        )
        for row in rows
    )


def load_content(digest: str, kind: ContentKind) -> SourceContent:
    """The skill, resource, template or rules behind an attachment's digest, as `load_program` loads."""
    found = _contents.get((digest, kind))
    if found is not None:
        return found
    row = ContentRow.objects.filter(digest=digest, kind=kind.value).order_by("pk").first()
    if row is None:
        raise NotFoundError(
            f"There is no content {digest}.", suggestion="Take the digest from an attachment of the program."
        )
    content = _content(row)
    _contents.put((digest, kind), content, size_bytes=len(content.text) + len(row.document or b""))
    return content


def program_cache_info() -> CacheInfo:
    return _programs.info()


def clear_caches() -> None:
    """For a benchmark or a test that wants to begin cold."""
    _programs.clear()
    _contents.clear()


def _content(row: ContentRow) -> SourceContent:
    document = None if row.document is None else msgspec.json.decode(bytes(row.document))
    return SourceContent(kind=ContentKind(row.kind), digest=row.digest, text=row.text, document=document)
