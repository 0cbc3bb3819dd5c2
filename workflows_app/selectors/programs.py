"""Programs and what they attach, by digest. No actor: a digest is reached only over a run or a revision, which have one."""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
from django.db.models import BinaryField, F, Func, TextField, Value
from django.db.models.functions import Concat

from teams_app.engine.errors import NotFoundError
from workflows_app.engine.program import Program, program_from_bytes
from workflows_app.engine.source import ContentKind, SourceContent
from workflows_app.models import Content as ContentRow, Program as ProgramRow, ProgramContent
from workflows_app.selectors.asked import asked
from workflows_app.selectors.cache import ByteBoundedCache, CacheInfo

# Counted in canonical bytes; the decoded tree takes a few times as much.
PROGRAM_CACHE_BYTES = 32 * 1024 * 1024
CONTENT_CACHE_BYTES = 16 * 1024 * 1024

_programs: ByteBoundedCache[str, Program] = ByteBoundedCache(max_bytes=PROGRAM_CACHE_BYTES)
_contents: ByteBoundedCache[str, SourceContent] = ByteBoundedCache(max_bytes=CONTENT_CACHE_BYTES)


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


def attached_contents(workflow_hash: str) -> tuple[StoredContent, ...]:
    """All that a program attaches, as it is stored, in one order."""
    held = ProgramContent.objects.filter(program_id=workflow_hash).values("content_id")
    rows = ContentRow.objects.filter(pk__in=held).order_by("kind", "digest")
    return tuple(
        StoredContent(
            kind=ContentKind(row.kind),
            digest=row.digest,
            text=row.text,
            document=None if row.document is None else bytes(row.document).decode(),
        )
        for row in rows
    )


def load_content(digest: str) -> SourceContent:
    """The skill, resource, template or rules behind an attachment's digest, as `load_program` loads."""
    found = _contents.get(digest)
    if found is not None:
        return found
    row = ContentRow.objects.filter(digest=digest).order_by("kind").first()
    if row is None:
        raise NotFoundError(
            f"There is no content {digest}.", suggestion="Take the digest from an attachment of the program."
        )
    content = _content(row)
    _contents.put(digest, content, size_bytes=len(content.text) + len(row.document or b""))
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
