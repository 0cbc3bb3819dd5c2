"""Deletes sessions with all that is theirs. What remains is the entry of the team's ledger: that it was there, and its head.

The one place that deletes history; `history_may_go` is the one way into it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction

from sessions_app import jobs
from sessions_app.engine.bundles import BundleJobKind
from sessions_app.engine.expiry import Known
from sessions_app.models import (
    Announcement,
    BundleJob,
    BundlePart,
    ExpiryWarning,
    Hold,
    WorkSession,
)
from sessions_app.selectors.expiry import known_of
from sessions_app.selectors.sessions import no_session, team_sessions
from sessions_app.selectors.standings import birth_date
from sessions_app.services.upkeep.ledger import enter_deletion
from teams_app.engine.actors import Actor, Door, Permission, person_id_of, require_present, system_actor
from teams_app.engine.errors import InvalidInputError, PreconditionFailedError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.names import require_seen
from teams_app.engine.normal_forms import trimmed
from teams_app.services.audit import record_audit

MAX_REASON_CHARACTERS = 256


@contextmanager
def history_may_go() -> Iterator[None]:
    """A transaction in which the trigger lets events be deleted. A role of its own for this is taken up here."""
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('workrail.expiry', 'on', true)")
        yield


def delete_session(*, actor: Actor, session_id: UUID, reason: str, now: datetime) -> tuple[UUID, ...]:
    """For privacy: the session, what its runs triggered, its exports, archives and traces. Returns what was deleted.

    An owner's own decision; the audit log and the ledger keep that it was there, and nothing of what was in it.
    """
    actor.require(Permission.MANAGE_TEAM)
    person_id_of(actor=actor)
    require_present(actor=actor, to_do="delete a session")
    check_reason(reason)
    with history_may_go():
        known = _locked_with_what_it_triggered(actor, session_id)
        if known.held:
            raise PreconditionFailedError(
                "The session is held.", suggestion="Let it go first, when whoever holds it agrees."
            )
        forget(sessions=known.sessions, reason=reason, now=now, with_archives=True)
        record_audit(
            actor=actor,
            action="session.deleted",
            target=to_text(Prefix.SESSION, session_id),
            now=now,
            details={"reason": reason, "sessions": len(known.sessions)},
        )
        jobs.ask_to_forget_traces(team_id=actor.team_id, session_ids=known.sessions)
    return known.sessions


def lock_sessions(session_ids: Sequence[UUID]) -> list[WorkSession]:
    """Those that are there, locked against their writers: no call adds to what is being deleted.

    Those born last come first, as a run that ends is written before the one that waits for it. Ledgers are locked after them, and
    the audit log last: whoever takes locks in another order throws others out.
    """
    return list(WorkSession.objects.select_for_update().filter(pk__in=session_ids).order_by("-pk"))


def forget(*, sessions: Sequence[UUID], reason: str, now: datetime, with_archives: bool) -> None:
    """Inside of `history_may_go`. Twice is once: what is gone is passed over."""
    for row in lock_sessions(sessions):
        _forget(row, reason, now, with_archives=with_archives)


def check_reason(reason: str) -> None:
    if not trimmed(reason) or len(reason) > MAX_REASON_CHARACTERS:
        raise InvalidInputError(
            f"A reason is one line of at most {MAX_REASON_CHARACTERS} characters.",
            suggestion="Say why, without telling what is to be forgotten: the ledger and the audit log keep it.",
        )
    require_seen(reason, what="The reason")


def _locked_with_what_it_triggered(actor: Actor, session_id: UUID) -> Known:
    seen = team_sessions(actor).filter(pk=session_id).order_by("pk").first()
    locked = lock_sessions(known_of(seen).sessions) if seen is not None else []
    root = next((row for row in locked if row.pk == session_id), None)
    if root is None:
        raise no_session()
    # Once more: a run may have begun meanwhile.
    return known_of(root)


def _forget(row: WorkSession, reason: str, now: datetime, *, with_archives: bool) -> None:
    system = system_actor(team_id=row.team_id, door=Door.TASK)
    enter_deletion(actor=system, session_id=row.id, reason=reason, now=now)
    for of_session in (Hold, ExpiryWarning, Announcement):
        of_session.objects.filter(session_id=row.id).delete()
    _forget_files(row, with_archives=with_archives)
    # By a function of the owner, which wants the entry of the ledger first: the role that serves requests deletes no history.
    with connection.cursor() as cursor:
        cursor.execute("SELECT workrail_forget_session(%s, %s)", [row.id, birth_date(row.id)])


def _forget_files(row: WorkSession, *, with_archives: bool) -> None:
    files = BundleJob.objects.filter(team_id=row.team_id, session_id=row.id)
    if not with_archives:
        files = files.exclude(kind=BundleJobKind.ARCHIVE.value)
    job_ids = list(files.values_list("pk", flat=True))
    BundlePart.objects.filter(job_id__in=job_ids).delete()
    BundleJob.objects.filter(pk__in=job_ids).delete()
