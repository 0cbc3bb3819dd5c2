"""Sessions that nobody has worked in for long: told of, archived where the rules say so, and deleted. Safe to stop anywhere.

Each session with what it triggered is one transaction, and is judged again under its lock. An archive is made and read back
before that; one that was made by a run that was stopped is found again.
"""

import gzip
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import BinaryIO, cast
from uuid import UUID, uuid4

import structlog
from django.conf import settings
from django.db import transaction

from sessions_app.engine.bundle_checks import examine_bundle
from sessions_app.engine.bundle_reader import read_bundle
from sessions_app.engine.bundles import BundleJobKind, BundleJobState
from sessions_app.engine.decisions import derive_id
from sessions_app.engine.expiry import ExpiryVerdict, Judged, judge
from sessions_app.engine.runs import COMPLETE
from sessions_app.models import Announcement, BundleJob, BundlePart, ExpiryWarning, Run, WorkSession
from sessions_app.selectors.bundle_jobs import stored_pieces
from sessions_app.selectors.expiry import judged_sessions, known_of, rules_of, teams_with_sessions
from sessions_app.services.bundles.bundle_jobs import KEPT, FileParts
from sessions_app.services.bundles.files import export_session
from sessions_app.services.expiry.deletion import forget, history_may_go, lock_sessions
from sessions_app.services.upkeep.tables import require_system
from teams_app.engine.actors import Actor, Door, system_actor
from teams_app.engine.errors import WorkrailError
from teams_app.engine.fail_points import FailPoint, go_on
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.webhooks import NoticeKind
from teams_app.services.audit import record_audit
from teams_app.services.ids import new_id

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """How many groups of sessions came to which verdict, and how many sessions were deleted."""

    verdicts: dict[ExpiryVerdict, int] = field(default_factory=dict)
    deleted: int = 0


def foresee_expiry(*, actor: Actor, now: datetime, team_id: UUID | None = None) -> Iterator[Judged]:
    """What the next run would do, without doing it."""
    require_system(actor)
    for each in [team_id] if team_id else teams_with_sessions():
        yield from judged_sessions(team_id=each, now=now)


def expire_sessions(*, actor: Actor, now: datetime, most: int, fail: FailPoint = go_on) -> Expired:
    """Deletes at most so many groups of sessions; what is left is for the next run. Several may run at once."""
    require_system(actor)
    verdicts: dict[ExpiryVerdict, int] = {}
    deleted = groups = 0
    for judged in foresee_expiry(actor=actor, now=now):
        if groups >= most:
            break
        verdicts[judged.verdict] = verdicts.get(judged.verdict, 0) + 1
        match judged.verdict:
            case ExpiryVerdict.WARN:
                _warn(judged, now, fail)
            case ExpiryVerdict.EXPIRED:
                groups += 1
                deleted += _expire(judged, now, fail)
            case (
                ExpiryVerdict.ACTIVE
                | ExpiryVerdict.KEPT
                | ExpiryVerdict.HELD
                | ExpiryVerdict.WAITS
                | ExpiryVerdict.WARNED
            ):
                pass
    return Expired(verdicts=verdicts, deleted=deleted)


def _warn(judged: Judged, now: datetime, fail: FailPoint) -> None:
    root = judged.known.root
    with transaction.atomic(durable=True):
        session = WorkSession.objects.select_for_update().filter(pk=root).order_by("pk").first()
        run = _unfinished_run(judged)
        if session is None or run is None or _judged_again(session, now) != judged:
            return
        ExpiryWarning.objects.update_or_create(session_id=root, defaults={"team_id": session.team_id, "warned_at": now})
        fail("warned")
        Announcement.objects.create(
            id=derive_id("notice", uuid4().bytes, NoticeKind.SESSION_EXPIRING.value.encode()),
            team_id=session.team_id,
            session_id=run.session_id,
            run_id=run.pk,
            kind=NoticeKind.SESSION_EXPIRING.value,
            at=now,
        )


def _judged_again(root: WorkSession, now: datetime) -> Judged:
    return judge(known=known_of(root), rules=rules_of(team_id=root.team_id), now=now)


def _unfinished_run(judged: Judged) -> Run | None:
    runs = Run.objects.filter(session_id__in=judged.known.sessions)
    return runs.exclude(status__in=[status.value for status in COMPLETE]).order_by("started_at", "id").first()


def _expire(judged: Judged, now: datetime, fail: FailPoint) -> int:
    root = WorkSession.objects.filter(pk=judged.known.root).order_by("pk").first()
    if root is None:
        return 0
    if judged.archives:
        try:
            _archive(root, now, fail)
        except WorkrailError as error:
            # It stays, and keeps no other.
            log.warning("session_not_archived", session=to_text(Prefix.SESSION, root.pk), code=error.code)
            _forget_archives(root)
            return 0
        fail("archived")
    with history_may_go():
        row = next((each for each in lock_sessions(judged.known.sessions) if each.pk == root.pk), None)
        if row is None:
            return 0
        again = _judged_again(row, now)
        # Whoever has worked in it, held it or asked a person meanwhile keeps it, and the archive is of no use.
        if again != judged or again.known.sessions != tuple(judged.known.sessions):
            return 0
        fail("judged again")
        reason = f"Idle for {judged.idle_days} days."
        forget(sessions=again.known.sessions, reason=reason, now=now, with_archives=False)
        fail("deleted")
        record_audit(
            actor=system_actor(team_id=row.team_id, door=Door.TASK),
            action="session.expired",
            target=to_text(Prefix.SESSION, row.pk),
            now=now,
            details={"idleDays": judged.idle_days, "archived": judged.archives, "sessions": len(again.known.sessions)},
        )
    fail("committed")
    return len(judged.known.sessions)


def _archive(root: WorkSession, now: datetime, fail: FailPoint) -> None:
    """A bundle beside the exports, which is read back before anything is deleted. One that was begun and not finished is
    forgotten like a file that expires.
    """
    reader = system_actor(team_id=root.team_id, door=Door.TASK)
    _forget_archives(root)
    job = BundleJob.objects.create(
        id=new_id(now=now),
        team_id=root.team_id,
        kind=BundleJobKind.ARCHIVE.value,
        state=BundleJobState.RUNNING.value,
        session_id=root.pk,
        actor_kind=reader.kind.value,
        actor_id=reader.id,
        actor_name=reader.name,
        created_at=now,
        touched_at=now,
        expires_at=now + KEPT,
    )
    store = FileParts(job_id=job.pk, team_id=root.team_id)
    with gzip.GzipFile(filename="", fileobj=cast("BinaryIO", store), mode="wb", mtime=0) as archive:
        done = export_session(actor=reader, session_id=root.pk, write=archive.write, now=now)
    store.close()
    fail("archive written")
    with gzip.GzipFile(fileobj=io.BufferedReader(_Pieces(job.pk)), mode="rb") as source:
        examine_bundle(read_bundle(read_line=source.readline))
    BundleJob.objects.filter(pk=job.pk).update(
        state=BundleJobState.DONE.value,
        done_events=done.events,
        total_events=done.events,
        size_bytes=store.size_bytes,
        finished_at=now,
        expires_at=now + timedelta(days=settings.ARCHIVE_DAYS),
    )


def _forget_archives(root: WorkSession) -> None:
    """Of a session that is still there: it has changed since, or whoever made them was stopped."""
    old = list(
        BundleJob.objects.filter(session_id=root.pk, kind=BundleJobKind.ARCHIVE.value).values_list("pk", flat=True)
    )
    with transaction.atomic(durable=True):
        BundlePart.objects.filter(job_id__in=old).delete()
        BundleJob.objects.filter(pk__in=old).delete()


class _Pieces(io.RawIOBase):
    """The parts of a job's file as one stream."""

    def __init__(self, job_id: UUID) -> None:
        self._pieces = stored_pieces(job_id)
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the stubs say any writable buffer
        if not self._left:
            self._left = next(self._pieces, b"")
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size
