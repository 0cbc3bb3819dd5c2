"""Exports and imports that nobody waits for: asked for, done by a worker, and kept for a while.

A try that died is begun again by the next one. What an import writes and that its job is done are one transaction, so it is
done once, however often it is tried; an export writes its file anew.
"""

import gzip
import tempfile
import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import BinaryIO, cast
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, OuterRef, Q, QuerySet, Subquery, Sum

from sessions_app import jobs
from sessions_app.engine.bundle_values import BundleJobValue
from sessions_app.engine.bundles import BundleJobKind, BundleJobState, BundleTooLargeError
from sessions_app.models import BundleJob, BundlePart
from sessions_app.selectors.bundle_jobs import job_value, require_export, stored_pieces
from sessions_app.selectors.sessions import read_session
from sessions_app.services.bundles.files import ImportedBundle, Progress, export_session, import_bundle, open_bundle
from sessions_app.services.upkeep.tables import require_system
from teams_app.engine.actors import Actor, ActorKind, Door, Permission, Role, TokenGrant, TokenScope, system_actor
from teams_app.engine.errors import RateLimitedError, StorageFullError, WorkrailError, retry_after
from teams_app.engine.fail_points import FailPoint, go_on
from teams_app.engine.ids import Prefix, to_text
from teams_app.services import storage
from teams_app.services.ids import new_id

KEPT = timedelta(days=1)
# A worker that has said nothing for so long is gone.
SILENCE = timedelta(minutes=5)
# One that is silent for so long keeps its job, and holds up no other team's any more: it may be gone. An import is silent until its end.
_IN_DOUBT = timedelta(seconds=30)
_MIB = 1024 * 1024
PART_BYTES = _MIB
# Of one team, archives left out, until they expire.
MOST_KEPT = 2_000
_TO_ASK_AGAIN = timedelta(minutes=1)
# The name of the lock under which the next job is chosen.
_TURNS = 27_018


class _LostError(Exception):
    """Another worker has taken the job over."""


def ask_to_export(*, actor: Actor, session_id: UUID, now: datetime) -> BundleJobValue:
    require_export(actor=actor)
    session = read_session(actor=actor, session_id=session_id)
    _require_room_for_files(actor.team_id, now)
    with transaction.atomic(durable=True):
        row = _new_job(actor, BundleJobKind.EXPORT, now, session_id=session.id)
    return job_value(row)


def ask_to_import(*, actor: Actor, pieces: Iterable[bytes], now: datetime, max_bytes: int) -> BundleJobValue:
    """The file is kept as it is sent; whether it is a bundle is found out by the worker."""
    actor.require(Permission.PUBLISH_WORKFLOWS)
    storage.require_room(team_id=actor.team_id)
    with transaction.atomic(durable=True):
        row = _new_job(actor, BundleJobKind.IMPORT, now, session_id=None)
        store = FileParts(job_id=row.pk, team_id=row.team_id)
        for piece in pieces:
            store.write(piece)
            if store.size_bytes > max_bytes:
                raise BundleTooLargeError(
                    f"The bundle is larger than {max_bytes} bytes.",
                    suggestion="Import it from the command line: ./workrail import FILE.",
                    details={"maxBytes": max_bytes},
                )
        store.close()
        row.size_bytes = store.size_bytes
        row.save(update_fields=["size_bytes"])
    return job_value(row)


def run_bundle_job(*, actor: Actor, job_id: UUID, now: datetime, fail: FailPoint = go_on) -> BundleJobState:
    """Does the job whose turn it is, which need not be the one that was asked for, and tells what has become of that one.

    Safe to be called twice and by several workers at once: one of them has the job. As many are done at once as
    `BUNDLE_JOBS_AT_ONCE` says, and one of a team: notices, and what happens by the clock, have the other threads.
    """
    require_system(actor)
    taken_id = _claim(now)
    taken = BundleJob.objects.filter(pk=taken_id).order_by("pk").first() if taken_id else None
    if taken is not None and _done_or_given_back(taken, now, fail) is not BundleJobState.RUNNING:
        _ask_for_next(now)
    state = BundleJob.objects.filter(pk=job_id).order_by("pk").values_list("state", flat=True).first()
    return BundleJobState(state) if state else BundleJobState.FAILED


def _claim(now: datetime) -> UUID | None:
    """The job that this worker has from now on. One lock for all teams: while somebody counts, nobody else begins."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_TURNS])
        job_id = _next(now)
        if job_id is not None:
            turn = BundleJob.objects.filter(pk=job_id)
            turn.update(state=BundleJobState.RUNNING.value, attempt_id=uuid4(), touched_at=now)
    return job_id


def _next(now: datetime) -> UUID | None:
    """The first job of the team that was served longest ago; None where as many are under way as may be."""
    unfinished = BundleJob.objects.filter(finished_at__isnull=True).exclude(kind=BundleJobKind.ARCHIVE.value)
    under_way = unfinished.filter(state=BundleJobState.RUNNING.value, touched_at__gte=now - SILENCE)
    heard = dict(under_way.order_by("touched_at").values_list("team_id", "touched_at"))
    if sum(touched_at >= now - _IN_DOUBT for touched_at in heard.values()) >= settings.BUNDLE_JOBS_AT_ONCE:
        return None
    served = BundleJob.objects.filter(team_id=OuterRef("team_id"), attempt_id__isnull=False).order_by("-id")
    # Of those that came too soon it is the turn later.
    too_soon = Q(state=BundleJobState.WAITING.value, attempt_id__isnull=False, touched_at__gt=now)
    first = unfinished.exclude(team_id__in=heard).exclude(too_soon).order_by("team_id", "id").distinct("team_id")
    turns = first.annotate(served_at=Subquery(served.values("touched_at")[:1])).values_list("pk", "served_at")
    # Before all of them comes who was not served within the time that jobs are kept.
    return min(turns, key=lambda turn: (turn[1] is not None, turn[1] or now, turn[0]), default=(None, None))[0]


def _ask_for_next(now: datetime) -> None:
    next_id = _next(now)
    if next_id is not None:
        jobs.ask_to_run_bundle_job(job_id=next_id)


def _done_or_given_back(row: BundleJob, now: datetime, fail: FailPoint) -> BundleJobState:
    """A job that fails in a way which nobody expected would else be in the way of everybody's until its silence is over. It is
    asked for again by the schedule, as one whose worker is gone.
    """
    try:
        return _done(row, now, fail)
    except Exception:
        _mine(row).update(state=BundleJobState.WAITING.value)
        raise


def _done(row: BundleJob, now: datetime, fail: FailPoint) -> BundleJobState:
    """What has become of it; RUNNING where another worker has it."""
    try:
        match BundleJobKind(row.kind):
            case BundleJobKind.EXPORT:
                _export(row, now, fail)
            case BundleJobKind.IMPORT:
                _import(row, now, fail)
            case BundleJobKind.ARCHIVE:
                # Made whole by whoever expires the session, and never asked for.
                return BundleJobState(row.state)
    except RateLimitedError:
        # When what was taken is done nobody who asked for it can choose. It comes again when the minute is past.
        _mine(row).update(state=BundleJobState.WAITING.value, touched_at=now + _TO_ASK_AGAIN)
        return BundleJobState.WAITING
    except WorkrailError as error:
        _fail(row, now, error)
        return BundleJobState.FAILED
    except _LostError:
        return BundleJobState.RUNNING
    return BundleJobState.DONE


def ask_again(*, actor: Actor, now: datetime) -> int:
    """Jobs whose request was lost with the broker, or whose worker is gone, are asked for again, the first of each team;
    returns how many.
    """
    require_system(actor)
    lost = BundleJob.objects.filter(
        Q(state=BundleJobState.WAITING.value, touched_at__lt=now - _TO_ASK_AGAIN)
        | Q(state=BundleJobState.RUNNING.value, touched_at__lt=now - SILENCE),
        finished_at__isnull=True,
    ).exclude(kind=BundleJobKind.ARCHIVE.value)
    found = list(lost.order_by("team_id", "id").distinct("team_id").values_list("pk", flat=True))
    with transaction.atomic(durable=True):
        for job_id in found:
            jobs.ask_to_run_bundle_job(job_id=job_id)
    return len(found)


def forget_expired(*, actor: Actor, now: datetime) -> int:
    """Deletes the files and the rows of jobs that are past their time; returns how many."""
    require_system(actor)
    expired = list(BundleJob.objects.filter(expires_at__lte=now).values_list("pk", flat=True)[:1000])
    with transaction.atomic(durable=True):
        BundlePart.objects.filter(job_id__in=expired).delete()
        BundleJob.objects.filter(pk__in=expired).delete()
    return len(expired)


def _new_job(actor: Actor, kind: BundleJobKind, now: datetime, *, session_id: UUID | None) -> BundleJob:
    _require_few(actor, now)
    row = BundleJob.objects.create(
        id=new_id(now=now),
        team_id=actor.team_id,
        kind=kind.value,
        state=BundleJobState.WAITING.value,
        session_id=session_id,
        actor_kind=actor.kind.value,
        actor_id=actor.id,
        actor_name=actor.name,
        actor_role=actor.role.value if actor.role else "",
        token_id=actor.token.id if actor.token else "",
        token_name=actor.token.name if actor.token else "",
        created_at=now,
        touched_at=now,
        expires_at=now + KEPT,
    )
    jobs.ask_to_run_bundle_job(job_id=row.pk)
    return row


def _require_few(actor: Actor, now: datetime) -> None:
    # Of some at once each may be let in: beyond the limit are as many as there are threads.
    kept = BundleJob.objects.filter(team_id=actor.team_id, expires_at__gt=now)
    last_of_them = kept.exclude(kind=BundleJobKind.ARCHIVE.value).order_by("-expires_at")[MOST_KEPT - 1 :].first()
    if last_of_them is not None:
        raise RateLimitedError(
            f"Your team has asked for {MOST_KEPT} exports and imports within a day.",
            suggestion="Go on when the first of them have expired, or use the command line: ./workrail export.",
            details={"limitKept": MOST_KEPT},
            retry=retry_after(ms=int((last_of_them.expires_at - now).total_seconds() * 1000)),
        )


def _require_room_for_files(team_id: UUID, now: datetime) -> None:
    """A team that is full takes its sessions out, but what it does not fetch is no second place to store as much as it likes."""
    kept = BundleJob.objects.filter(team_id=team_id, kind=BundleJobKind.EXPORT.value, expires_at__gt=now)
    size = kept.aggregate(size=Sum("size_bytes"))["size"] or 0
    limit_mib = settings.TEAM_STORAGE_MIB
    if limit_mib and size >= limit_mib * _MIB:
        raise StorageFullError(
            f"The exports that your team has asked for within a day take {limit_mib} MiB, which is all that they may.",
            suggestion="Go on when the first of them have expired, or use the command line: ./workrail export.",
            details={"limitMib": limit_mib},
        )


def _export(row: BundleJob, now: datetime, fail: FailPoint) -> None:
    # Whether they might was asked when they asked; the worker reads for the team.
    reader = system_actor(team_id=row.team_id, door=Door.TASK)
    BundlePart.objects.filter(job_id=row.pk).delete()
    store = FileParts(job_id=row.pk, team_id=row.team_id)
    if row.session_id is None:
        raise _LostError
    # Once more: of many that were asked for at once none was done when it was asked.
    _require_room_for_files(row.team_id, now)
    with gzip.GzipFile(filename="", fileobj=cast("BinaryIO", store), mode="wb", mtime=0) as archive:
        export_session(actor=reader, session_id=row.session_id, write=archive.write, now=now, progress=_told(row, fail))
    store.close()
    fail("written")
    _finish(row, now, size_bytes=store.size_bytes, result=None)


def _import(row: BundleJob, now: datetime, fail: FailPoint) -> None:
    with tempfile.TemporaryFile() as file:
        for piece in stored_pieces(row.pk):
            file.write(piece)
        file.seek(0)
        fail("fetched")

        def finish(done: ImportedBundle) -> None:
            fail("imported")
            _finish(row, now, size_bytes=row.size_bytes, result=_result(done))

        with open_bundle(cast("BinaryIO", file)) as source:
            import_bundle(actor=_asker(row), source=source, now=now, progress=_told(row, fail), finish=finish)
    fail("committed")


def _result(done: ImportedBundle) -> dict[str, object]:
    """No tokens: they would be kept. Agents search for the runs, and people find them by their ids."""
    return {
        "bundleId": done.bundle_id,
        "signer": done.signer,
        "renamed": done.renamed,
        "events": done.events,
        "sessions": [to_text(Prefix.SESSION, session_id) for session_id in done.session_ids],
        "runs": [
            {"runId": to_text(Prefix.RUN, run.run_id), "workflowId": run.workflow_id, "dialect": run.dialect}
            for run in done.runs
        ],
    }


def _finish(row: BundleJob, now: datetime, *, size_bytes: int, result: dict[str, object] | None) -> None:
    finished = _mine(row).update(
        state=BundleJobState.DONE.value,
        done_events=F("total_events"),
        finished_at=now,
        size_bytes=size_bytes,
        result=result,
        expires_at=now + KEPT,
    )
    if not finished:
        raise _LostError


def _fail(row: BundleJob, now: datetime, error: WorkrailError) -> None:
    """The word of why stays. The file goes: what it was refused for may be a key in it."""
    with transaction.atomic(durable=True):
        if _mine(row).update(state=BundleJobState.FAILED.value, finished_at=now, result=error.as_json()):
            BundlePart.objects.filter(job_id=row.pk).delete()


def _told(row: BundleJob, fail: FailPoint) -> Progress:
    """Says how far it is, and notices that another worker has taken over. Inside of a transaction nobody can read it."""
    began = time.monotonic()

    def tell(done: int, total: int) -> None:
        fail("under way")
        touched_at = row.touched_at + timedelta(seconds=time.monotonic() - began)
        if not _mine(row).update(done_events=done, total_events=total, touched_at=touched_at):
            raise _LostError

    return tell


def _mine(row: BundleJob) -> QuerySet[BundleJob]:
    return BundleJob.objects.filter(pk=row.pk, attempt_id=row.attempt_id, state=BundleJobState.RUNNING.value)


def _asker(row: BundleJob) -> Actor:
    return Actor(
        kind=ActorKind(row.actor_kind),
        id=row.actor_id,
        name=row.actor_name,
        team_id=row.team_id,
        door=Door.TASK,
        role=Role(row.actor_role) if row.actor_role else None,
        token=_token_of(row),
    )


def _token_of(row: BundleJob) -> TokenGrant | None:
    """What they might was asked when they asked; what the worker does by it is marked as done by it."""
    if not row.token_id:
        return None
    scopes = frozenset({TokenScope.PUBLISH})
    return TokenGrant(id=row.token_id, name=row.token_name, scopes=scopes, answers_human=False)


class FileParts:
    """A file that is written into rows of `PART_BYTES`."""

    def __init__(self, *, job_id: UUID, team_id: UUID) -> None:
        self._job_id = job_id
        self._team_id = team_id
        self._waiting = bytearray()
        self._index = 0
        self.size_bytes = 0

    def write(self, data: bytes) -> int:
        self._waiting += data
        self.size_bytes += len(data)
        while len(self._waiting) >= PART_BYTES:
            self._flush(PART_BYTES)
        return len(data)

    def flush(self) -> None:
        """For gzip, which asks for it; parts are of one size."""

    def close(self) -> None:
        if self._waiting:
            self._flush(len(self._waiting))

    def _flush(self, length: int) -> None:
        BundlePart.objects.create(job_id=self._job_id, index=self._index, data=bytes(self._waiting[:length]))
        storage.charge(team_id=self._team_id, stored_bytes=length)
        del self._waiting[:length]
        self._index += 1
