"""What a bundle is made of, as it stands in the tables: read in pages, so that a long log is never held."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet

from sessions_app.engine import seals
from sessions_app.engine.bundles import BundledHead, BundledRun, BundledSession, SessionPart
from sessions_app.engine.log import GENESIS, Head
from sessions_app.engine.state import sound_bytes
from sessions_app.models import Handle, Node, Run, Snapshot, WorkSession
from sessions_app.selectors.ledgers import awaits_first_run
from sessions_app.selectors.log_reading import not_healthy, read_log
from sessions_app.selectors.reading import one_state
from sessions_app.selectors.sessions import no_session, team_sessions
from teams_app.engine.actors import Actor
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.seals import SealState
from workflows_app.engine import canonical

_NODE_ROWS = 2000
_SNAPSHOT_ROWS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """A session up to the head that it had when the export began; what is appended meanwhile is not in it."""

    row: WorkSession
    runs: tuple[Run, ...]

    def part(self) -> SessionPart:
        return SessionPart(head=self._head(), snapshots=self._snapshots(), events=_bodies(self.row))

    def _snapshots(self) -> Iterator[tuple[str, bytes]]:
        """Each once, in the order in which nodes came to stand for them."""
        seen: set[str] = set()
        waiting: list[str] = []
        for digest in (each for run in self.runs for each in _digests(run, self.row)):
            if digest in seen:
                continue
            seen.add(digest)
            waiting.append(digest)
            if len(waiting) == _SNAPSHOT_ROWS:
                yield from _stored(self.row, waiting)
                waiting = []
        yield from _stored(self.row, waiting)

    def _head(self) -> BundledSession:
        return BundledSession(
            session_id=to_text(Prefix.SESSION, self.row.id),
            created_at=moment_text(self.row.created_at),
            head=BundledHead(next_index=self.row.next_event_index, digest=self.row.head_digest),
            runs=tuple(BundledRun(run_id=to_text(Prefix.RUN, run.id), dialect=run.dialect) for run in self.runs),
        )


def read_with_children(*, actor: Actor, session_id: UUID) -> list[StoredSession]:
    """The session, and behind it those of the runs that its runs triggered, however deep; of one moment.

    Raises SessionNotHealthyError, also while the events are read, where the log is not the one that was sealed: whoever signs it vouches
    for it.
    """
    with one_state():
        root = team_sessions(actor).filter(pk=session_id).order_by("pk").first()
        if root is None:
            raise no_session()
        found: dict[UUID, StoredSession] = {}
        layer = [root]
        while layer:
            for row in layer:
                _require_sealed(row)
                found[row.id] = StoredSession(row=row, runs=_runs(row))
            layer = list(_children(actor, [run.id for row in layer for run in found[row.id].runs], set(found)))
    return list(found.values())


def _runs(session: WorkSession) -> tuple[Run, ...]:
    """In the order of the log."""
    runs = list(Run.objects.filter(team_id=session.team_id, session_id=session.id))
    roots = Node.objects.filter(run_id__in=[run.id for run in runs], parent_id__isnull=True)
    begun = dict(roots.values_list("run_id", "event_index"))
    return tuple(sorted(runs, key=lambda run: begun.get(run.id, session.next_event_index)))


def _children(actor: Actor, run_ids: list[UUID], known: set[UUID]) -> QuerySet[WorkSession]:
    held = Handle.objects.filter(team_id=actor.team_id, parent_run_id__in=run_ids).exclude(session_id__in=known)
    return team_sessions(actor).filter(pk__in=held.values("session_id")).order_by("id")


def _require_sealed(session: WorkSession) -> None:
    """What a release before has written has no seal until the first run has adopted it."""
    state = seals.check_head(
        settings.SEAL_KEYS, session.head_seal, session_id=session.id, team_id=session.team_id, head=_end(session)
    )
    if state is not SealState.HOLDS and not (state is SealState.MISSING and awaits_first_run()):
        raise not_healthy()


def _bodies(session: WorkSession) -> Iterator[bytes]:
    """Each follows the one before, and the last is the one that is sealed."""
    at = Head(next_index=0, digest=GENESIS)
    for event in read_log(session_id=session.id, until=session.next_event_index):
        if event.index != at.next_index or event.envelope.get("previousDigest") != at.digest:
            raise not_healthy()
        at = Head(next_index=event.index + 1, digest=canonical.digest(event.body))
        yield event.body
    if at != _end(session):
        raise not_healthy()


def _end(session: WorkSession) -> Head:
    return Head(next_index=session.next_event_index, digest=session.head_digest)


def _digests(run: Run, session: WorkSession) -> Iterator[str]:
    rows = Node.objects.filter(run_id=run.id, event_index__lt=session.next_event_index)
    last = -1
    while True:
        page = list(
            rows.filter(event_index__gt=last)
            .order_by("event_index")
            .values_list("event_index", "snapshot_digest")[:_NODE_ROWS]
        )
        if not page:
            return
        yield from (digest for _, digest in page)
        last = page[-1][0]


def _stored(session: WorkSession, digests: list[str]) -> Iterator[tuple[str, bytes]]:
    rows = Snapshot.objects.filter(team_id=session.team_id, digest__in=digests).values_list("digest", "data")
    data = {digest: bytes(stored) for digest, stored in rows}
    for digest in digests:
        yield digest, sound_bytes(data=data.get(digest, b""), digest=digest)


def moment_text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
