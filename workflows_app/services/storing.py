"""Writes what a revision is made of. Rows named by their content are written once, whoever brings them."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from teams_app.engine.actors import Actor
from teams_app.engine.redaction import read_kept_text
from teams_app.services import storage
from teams_app.services.ids import new_id
from workflows_app.engine import canonical
from workflows_app.engine.packing import source_digest
from workflows_app.engine.problems import WorkflowProblem
from workflows_app.engine.program import Family, Program, WorkflowKind, program_bytes
from workflows_app.engine.source import SourceContent, SourceFormat
from workflows_app.engine.values import WorkflowState
from workflows_app.models import (
    MESSAGE_CHARACTERS,
    TITLE_CHARACTERS,
    Blob,
    Content as ContentRow,
    Program as ProgramRow,
    ProgramContent,
    Revision,
    RevisionFile,
    Workflow,
)
from workflows_app.services.compiling import Compiled

MAX_TAGS = 50
TAG_CHARACTERS = 64
VERSION_CHARACTERS = 64
SEARCH_CHARACTERS = 20_000

_DESCRIBING = ("kind", "family", "title", "description", "version", "tags", "search_text")


def add_workflow(
    *, team_id: UUID | None, workflow_id: str, compiled: Compiled, forked_from: str, now: datetime
) -> Workflow:
    """A draft whose first revision is still to be added in the same transaction."""
    row = Workflow(
        id=new_id(now=now),
        team_id=team_id,
        workflow_id=workflow_id,
        kind=WorkflowKind.WORKFLOW.value,
        family=_family(compiled.source.format).value,
        state=WorkflowState.DRAFT.value,
        title=workflow_id,
        search_text=workflow_id,
        latest_number=1,
        error_count=compiled.error_count,
        warning_count=compiled.warning_count,
        forked_from=forked_from,
        created_at=now,
        updated_at=now,
    )
    _describe(row, compiled.program)
    row.save(force_insert=True)
    return row


def add_revision(
    *, row: Workflow, number: int, compiled: Compiled, message: str, actor: Actor, now: datetime
) -> Revision:
    """The caller holds the lock of the workflow's row, or has just made it."""
    if row.team_id is not None:
        storage.require_room(team_id=row.team_id)
        # The files, and about as much again for what they become.
        storage.charge(team_id=row.team_id, stored_bytes=2 * storage.size_of(compiled.source.files.values()))
    if compiled.program is not None and compiled.workflow_hash is not None:
        store_program(
            program=compiled.program, workflow_hash=compiled.workflow_hash, contents=compiled.contents, now=now
        )
    source = compiled.source
    revision = Revision.objects.create(
        id=new_id(now=now),
        team_id=row.team_id,
        workflow=row,
        number=number,
        format=source.format.value,
        origin=source.origin.value,
        strictness=source.strictness.value,
        schema="" if source.schema is None else source.schema.value,
        version="" if compiled.program is None else compiled.program.version[:VERSION_CHARACTERS],
        source_digest=source_digest(source),
        program_id=compiled.workflow_hash,
        problems=[_storable(problem) for problem in compiled.problems],
        error_count=compiled.error_count,
        warning_count=compiled.warning_count,
        message=read_kept_text(message, field="message")[:MESSAGE_CHARACTERS],
        author_kind=actor.kind.value,
        author_id=actor.id,
        author_name=actor.name,
        created_at=now,
    )
    _store_files(revision, source.files.items(), now)
    return revision


def latest_is(row: Workflow, *, compiled: Compiled, now: datetime) -> None:
    """What a list says of a workflow after a new latest revision; the words change only while none is published."""
    row.error_count, row.warning_count, row.updated_at = compiled.error_count, compiled.warning_count, now
    if row.published_id is None:
        _describe(row, compiled.program)
    row.save(update_fields=[*_DESCRIBING, "latest_number", "error_count", "warning_count", "updated_at"])


def published_is(row: Workflow, *, revision: Revision, program: Program, now: datetime) -> None:
    row.published, row.state, row.updated_at = revision, WorkflowState.PUBLISHED.value, now
    _describe(row, program)
    row.save(update_fields=[*_DESCRIBING, "published", "state", "updated_at"])
    revision.published_at = now
    revision.save(update_fields=["published_at"])


def retired_is(row: Workflow, *, now: datetime) -> None:
    row.published, row.state, row.updated_at = None, WorkflowState.RETIRED.value, now
    row.save(update_fields=["published", "state", "updated_at"])


def store_program(*, program: Program, workflow_hash: str, contents: Iterable[SourceContent], now: datetime) -> None:
    """Two that store the same program at once end with one row: the hash is the key."""
    row = ProgramRow(pk=workflow_hash, data=program_bytes(program), compiler=program.compiler, created_at=now)
    ProgramRow.objects.bulk_create([row], ignore_conflicts=True)
    # One order for all, so that two writers of the same rows wait for each other and never in a circle.
    unique = {(content.digest, content.kind.value): content for content in contents}
    wanted = sorted(unique)
    if not wanted:
        return
    stored = _stored_contents(wanted)
    missing = [unique[key] for key in wanted if key not in stored]
    if missing:
        ContentRow.objects.bulk_create([_content_row(content, now) for content in missing], ignore_conflicts=True)
        stored = _stored_contents(wanted)
    links = [
        ProgramContent(id=new_id(now=now), program_id=workflow_hash, content_id=stored[key])
        for key in wanted
        if key in stored
    ]
    ProgramContent.objects.bulk_create(links, ignore_conflicts=True)


def _stored_contents(keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], UUID]:
    """The rows that there are, without what they hold: workflows share most of what they borrow, and it may be long."""
    rows = ContentRow.objects.filter(digest__in=[digest for digest, _kind in keys]).order_by("digest", "kind")
    return {(digest, kind): row_id for digest, kind, row_id in rows.values_list("digest", "kind", "id")}


def _store_files(revision: Revision, files: Iterable[tuple[str, bytes]], now: datetime) -> None:
    by_path = {path: (canonical.digest(data), data) for path, data in files}
    blobs = dict(by_path.values())
    stored = set(Blob.objects.filter(digest__in=blobs).values_list("digest", flat=True))
    missing = [Blob(digest=digest, data=blobs[digest]) for digest in sorted(blobs.keys() - stored)]
    Blob.objects.bulk_create(missing, ignore_conflicts=True)
    RevisionFile.objects.bulk_create(
        [
            RevisionFile(id=new_id(now=now), revision=revision, path=path, blob_id=digest)
            for path, (digest, _) in sorted(by_path.items())
        ],
    )


def _content_row(content: SourceContent, now: datetime) -> ContentRow:
    document = None if content.document is None else msgspec.json.encode(content.document)
    return ContentRow(
        id=new_id(now=now), digest=content.digest, kind=content.kind.value, text=content.text, document=document
    )


def _describe(row: Workflow, program: Program | None) -> None:
    """Columns for lists and for the search; a source that does not compile leaves them as they were."""
    if program is None:
        return
    row.kind, row.family = program.kind.value, program.family.value
    row.title = program.title[:TITLE_CHARACTERS] or row.workflow_id
    row.description = program.description
    row.version = program.version[:VERSION_CHARACTERS]
    row.tags = [tag[:TAG_CHARACTERS] for tag in dict.fromkeys(program.tags)][:MAX_TAGS]
    words = (row.workflow_id, program.title, program.description, *program.tags, program.about, *program.examples)
    row.search_text = "\n".join(words).lower()[:SEARCH_CHARACTERS]


def _family(source_format: SourceFormat) -> Family:
    match source_format:
        case SourceFormat.STEPS_JSON:
            return Family.STEPS
        case SourceFormat.ACTIVITY_FOLDER:
            return Family.ACTIVITIES


def _storable(problem: WorkflowProblem) -> dict[str, object]:
    """A message may quote what Postgres cannot hold."""
    return {
        key: value.replace("\x00", "\\u0000").encode("utf-8", "backslashreplace").decode()
        if isinstance(value, str)
        else value
        for key, value in problem.as_json().items()
    }
