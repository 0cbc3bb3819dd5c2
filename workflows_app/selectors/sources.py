"""Sources, programs and differences of revisions, as the actor's team sees them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from uuid import UUID

from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError, PreconditionFailedError
from workflows_app.engine.diffs import MAX_CHANGES, diff_files, diff_programs, titles_of
from workflows_app.engine.program import Program
from workflows_app.engine.source import SourceFormat, StepsSchema
from workflows_app.engine.values import SourceFiles, WorkflowDiff
from workflows_app.models import Revision, RevisionFile, Workflow
from workflows_app.selectors.cache import ByteBoundedCache
from workflows_app.selectors.programs import load_program
from workflows_app.selectors.workflows import find_workflow

FILE_CACHE_BYTES = 32 * 1024 * 1024

_files: ByteBoundedCache[UUID, Mapping[str, bytes]] = ByteBoundedCache(max_bytes=FILE_CACHE_BYTES)


def require_internals(actor: Actor) -> None:
    """Whoever is shown all of a workflow may read workflows at all: a key that writes alone does not."""
    actor.require(Permission.READ_INTERNALS)
    actor.require(Permission.READ_WORKFLOWS)


def read_source(*, actor: Actor, workflow_id: str, number: int | None = None) -> SourceFiles:
    """The files of a revision, byte for byte; of the latest when no number is given."""
    require_internals(actor)
    row = find_workflow(actor, workflow_id)
    revision = find_revision(row, number)
    return source_files(row, revision)


def read_program(*, actor: Actor, workflow_id: str, number: int | None = None) -> Program:
    """The program of a revision; of the latest when no number is given."""
    require_internals(actor)
    revision = find_revision(find_workflow(actor, workflow_id), number)
    program = _program_of(revision)
    if program is None:
        raise PreconditionFailedError(
            f"Revision {revision.number} of {workflow_id!r} has errors and therefore no program.",
            suggestion="Correct the problems and save a new revision.",
            details={"problems": revision.problems},
        )
    return program


def diff_revisions(*, actor: Actor, workflow_id: str, number: int, base: int | None) -> WorkflowDiff:
    """From revision `base` to revision `number`; everything is new when `base` is None."""
    require_internals(actor)
    row = find_workflow(actor, workflow_id)
    after = find_revision(row, number)
    return diff_rows(row, base=None if base is None else find_revision(row, base), after=after)


def diff_rows(row: Workflow, *, base: Revision | None, after: Revision) -> WorkflowDiff:
    programs = (None if base is None else _program_of(base), _program_of(after))
    changes = diff_programs(before=programs[0], after=programs[1])
    return WorkflowDiff(
        workflow_id=row.workflow_id,
        base=None if base is None else base.number,
        number=after.number,
        files=diff_files(before={} if base is None else files_of(base.pk), after=files_of(after.pk)),
        program=changes[:MAX_CHANGES],
        titles=titles_of(before=programs[0], after=programs[1]),
        omitted=max(0, len(changes) - MAX_CHANGES),
        unread=next((each.number for each in (after, base) if each is not None and each.program_id is None), None),
    )


def source_files(row: Workflow, revision: Revision) -> SourceFiles:
    return SourceFiles(
        workflow_id=row.workflow_id,
        number=revision.number,
        format=SourceFormat(revision.format),
        files=files_of(revision.pk),
        source_digest=revision.source_digest,
        schema=StepsSchema(revision.schema) if revision.schema else None,
    )


def find_revision(row: Workflow, number: int | None) -> Revision:
    wanted = row.latest_number if number is None else number
    found = Revision.objects.filter(workflow=row, number=min(max(wanted, 0), 2**31 - 1)).order_by("id").first()
    if found is None:
        raise NotFoundError(
            f"The workflow {row.workflow_id!r} has no revision {wanted}.",
            suggestion=f"Its revisions are numbered from 1 to {row.latest_number}.",
        )
    return found


def files_of(revision_id: UUID) -> Mapping[str, bytes]:
    return files_of_all([revision_id])[revision_id]


def files_of_all(revision_ids: Iterable[UUID]) -> dict[UUID, Mapping[str, bytes]]:
    """One query for those that this process has not read yet: a revision's files never change."""
    found = {revision_id: _files.get(revision_id) for revision_id in revision_ids}
    missing = [revision_id for revision_id, files in found.items() if files is None]
    read = _read_files(missing) if missing else {}
    for revision_id, files in read.items():
        _files.put(revision_id, files, size_bytes=sum(len(data) for data in files.values()))
    return {revision_id: read[revision_id] if files is None else files for revision_id, files in found.items()}


def _read_files(revision_ids: list[UUID]) -> dict[UUID, Mapping[str, bytes]]:
    rows = RevisionFile.objects.filter(revision_id__in=revision_ids).order_by("revision_id", "path")
    read: dict[UUID, dict[str, bytes]] = defaultdict(dict)
    for revision_id, path, data in rows.values_list("revision_id", "path", "blob__data"):
        read[revision_id][path] = bytes(data)
    return {revision_id: read[revision_id] for revision_id in revision_ids}


def _program_of(revision: Revision) -> Program | None:
    return None if revision.program_id is None else load_program(revision.program_id)
