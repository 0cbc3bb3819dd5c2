"""Exports and imports of the actor's team, and the files of those that are done."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sessions_app.engine.bundle_values import BundleJobValue
from sessions_app.engine.bundles import BundleJobKind, BundleJobState
from sessions_app.models import BundleJob, BundlePart
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError, PreconditionFailedError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.pages import Page, PageRequest, cut_page


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleFile:
    name: str
    pieces: Iterator[bytes]


def require_export(*, actor: Actor) -> None:
    """A bundle has the programs of its runs in it, with the steps that nobody has come to yet."""
    actor.require(Permission.READ_RUNS)
    actor.require(Permission.READ_INTERNALS)


def list_bundle_jobs(*, actor: Actor, page: PageRequest) -> Page[BundleJobValue]:
    """The newest first."""
    actor.require(Permission.READ_RUNS)
    rows = BundleJob.objects.filter(team_id=actor.team_id)
    if page.after is not None:
        rows = rows.filter(pk__lt=UUID(page.after))
    return cut_page(
        rows=rows.order_by("-id")[: page.limit + 1],
        limit=page.limit,
        value_of=job_value,
        position_of=lambda row: str(row.pk),
    )


def read_bundle_job(*, actor: Actor, job_id: UUID) -> BundleJobValue:
    actor.require(Permission.READ_RUNS)
    return job_value(_row(actor, job_id))


def read_bundle_file(*, actor: Actor, job_id: UUID, now: datetime) -> BundleFile:
    """The file of an export, piece by piece, until it expires."""
    require_export(actor=actor)
    row = _row(actor, job_id)
    if row.kind == BundleJobKind.IMPORT.value or row.expires_at <= now:
        raise NotFoundError("There is no file.", suggestion="Ask for a new export of the session.")
    if row.state != BundleJobState.DONE.value:
        raise PreconditionFailedError(
            f"The export is {row.state}.", suggestion="Read the job again in a moment: it tells how far it is."
        )
    name = to_text(Prefix.SESSION, row.session_id) if row.session_id else to_text(Prefix.BUNDLE_JOB, row.pk)
    return BundleFile(name=f"{name}.json.gz", pieces=stored_pieces(row.pk))


def stored_pieces(job_id: UUID) -> Iterator[bytes]:
    index = 0
    while True:
        data = BundlePart.objects.filter(job_id=job_id, index=index).values_list("data", flat=True).first()
        if data is None:
            return
        yield bytes(data)
        index += 1


def job_value(row: BundleJob) -> BundleJobValue:
    return BundleJobValue(
        id=row.pk,
        kind=BundleJobKind(row.kind),
        state=BundleJobState(row.state),
        session_id=row.session_id,
        asked_by=row.actor_id,
        done_events=row.done_events,
        total_events=row.total_events,
        size_bytes=row.size_bytes,
        result=row.result,
        created_at=row.created_at,
        finished_at=row.finished_at,
        expires_at=row.expires_at,
    )


def _row(actor: Actor, job_id: UUID) -> BundleJob:
    row = BundleJob.objects.filter(team_id=actor.team_id, pk=job_id).order_by("pk").first()
    if row is None:
        raise NotFoundError(
            "There is no such job in your team.", suggestion="List the jobs of your team for their ids."
        )
    return row
