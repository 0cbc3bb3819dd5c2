"""Sessions as files: written out, checked without believing any of it, and taken in so that their runs go on.

An import is one transaction. What is read is checked whole before the first row is written, and again while it is written.
"""

import gzip
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import BinaryIO, cast
from uuid import UUID

from django.conf import settings
from django.db import DataError, IntegrityError, ProgrammingError, transaction

from sessions_app.engine import session_tokens, tokens
from sessions_app.engine.bundle_checks import Examined, ExaminedSession, examine_bundle
from sessions_app.engine.bundle_reader import EventPart, Part, ReadLine, read_bundle
from sessions_app.engine.bundle_renaming import Renaming, renaming_for
from sessions_app.engine.bundles import (
    MAX_BUNDLE_BYTES,
    SCHEMA_VERSION,
    BundleContentInvalidError,
    BundledContent,
    BundleIntegrityFailedError,
    BundleInvalidFormatError,
    BundleUntrustedSignerError,
    PinnedWorkflow,
    Preamble,
    Producer,
    SessionPart,
    bundle_id_of,
    write_bundle,
)
from sessions_app.engine.tokens import TokenKind
from sessions_app.models import LedgerEntry, WorkSession
from sessions_app.selectors.bundle_jobs import require_export
from sessions_app.selectors.bundles import StoredSession, moment_text, read_with_children
from sessions_app.selectors.standings import birth_date
from sessions_app.services.bundles.rows import write_parts
from sessions_app.services.bundles.signing import installation_key, own_signers
from sessions_app.services.store.signing_keys import current_keys
from sessions_app.services.upkeep.ledger import enter_imported
from sessions_app.services.upkeep.tables import ensure_partition
from teams_app.engine.actors import NO_TEAM, Actor, Door, Permission, system_actor
from teams_app.engine.ids import Prefix, birth_ms, to_text, uuid7
from teams_app.engine.redaction import holds_own_key
from teams_app.services import storage
from teams_app.services.audit import record_audit
from workflows_app.selectors.programs import attached_contents, program_bytes

APPLICATION = "workrail"
Entropy = Callable[[int], bytes]
# Told how many events of how many are done.
Progress = Callable[[int, int], None]
_GZIP = b"\x1f\x8b"
_SALT_BYTES = 16
_EVENTS_BETWEEN_WORD = 1000
_A_YEAR = timedelta(days=366)


def no_progress(_done: int, _total: int) -> None:
    """For whoever waits and does not look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedSession:
    bundle_id: str
    sessions: int
    events: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRun:
    """Where a run goes on: by the token of its tip, or by that of an agent to which its activities are handed over."""

    run_id: UUID
    session_id: UUID
    workflow_id: str
    dialect: str
    state_token: str
    session_tokens: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedBundle:
    """`renamed` tells that the ids of the bundle were taken, so that all have new ones."""

    bundle_id: str
    signer: str
    renamed: bool
    session_ids: tuple[UUID, ...]
    events: int
    runs: tuple[ImportedRun, ...]


def export_session(
    *,
    actor: Actor,
    session_id: UUID,
    write: Callable[[bytes], object],
    now: datetime,
    progress: Progress = no_progress,
) -> ExportedSession:
    """Hands the bundle of the session and of what its runs triggered to `write`, piece by piece."""
    require_export(actor=actor)
    stored = read_with_children(actor=actor, session_id=session_id)
    total = sum(session.row.next_event_index for session in stored)
    preamble = Preamble(
        bundle_schema_version=SCHEMA_VERSION,
        bundle_id=bundle_id_of(session.row.head_digest for session in stored),
        exported_at=moment_text(now),
        producer=Producer(application=APPLICATION, version=settings.VERSION),
        root=to_text(Prefix.SESSION, session_id),
    )
    size_bytes = 0
    counted = _Counted(progress=progress, total=total)
    lines = write_bundle(
        preamble=preamble,
        pinned=_pinned(stored),
        sessions=(counted.part(session.part()) for session in stored),
        key=installation_key(),
    )
    for line in lines:
        write(line)
        size_bytes += len(line)
    return ExportedSession(bundle_id=preamble.bundle_id, sessions=len(stored), events=total, size_bytes=size_bytes)


@contextmanager
def open_bundle(source: BinaryIO) -> Iterator[BinaryIO]:
    """The bundle behind a file, which may be gzipped; a broken archive is refused like any other damage."""
    packed = source.read(len(_GZIP)) == _GZIP
    source.seek(0)
    if not packed:
        yield source
        return
    try:
        with gzip.GzipFile(fileobj=source, mode="rb") as unpacked:
            # Whatever reads it asks for lines and goes back to the beginning, and so does a file.
            yield cast("BinaryIO", unpacked)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BundleInvalidFormatError(
            "The gzip archive is broken.", suggestion="Copy the file again, or export it again."
        ) from error


def verify_bundle(*, source: BinaryIO, max_bytes: int = MAX_BUNDLE_BYTES) -> Examined:
    """Everything that can be said of a bundle without a database; raises one of the `BUNDLE_*` errors."""
    source.seek(0)
    return examine_bundle(read_bundle(read_line=source.readline, max_bytes=max_bytes))


def import_bundle(
    *,
    actor: Actor,
    source: BinaryIO,
    now: datetime,
    entropy: Entropy = os.urandom,
    progress: Progress = no_progress,
    finish: Callable[[ImportedBundle], None] | None = None,
    max_bytes: int = MAX_BUNDLE_BYTES,
) -> ImportedBundle:
    """Takes in all sessions of the bundle, or nothing. `finish` is called inside of the transaction that writes them.

    Whoever imports vouches for what the file tells, answers of people included, and brings the programs that it is pinned
    to; so it takes the right to publish.
    """
    actor.require(Permission.PUBLISH_WORKFLOWS)
    storage.require_room(team_id=actor.team_id)
    source.seek(0)
    examined = examine_bundle(read_bundle(read_line=_without_own_keys(source.readline), max_bytes=max_bytes))
    check_signer(examined)
    writing = _Writing(
        actor=actor, source=source, examined=examined, now=now, progress=progress, finish=finish, max_bytes=max_bytes
    )
    if not examined.leads_outside and not _taken(examined) and _is_of_our_time(examined, now):
        _make_months(examined)
        try:
            return writing.run(None)
        except IntegrityError:
            # A node or an output of the same id is here, under another session: then all get new ids.
            pass
    try:
        return writing.run(_renaming(examined, now=now, entropy=entropy))
    except (IntegrityError, DataError) as error:
        raise BundleContentInvalidError(
            "The tables do not take what the bundle tells.", suggestion="Import a file that was made by an export."
        ) from error


def _without_own_keys(read_line: ReadLine) -> ReadLine:
    """A bundle is taken in as it is sealed, so nothing of it can be hidden: a key of ours is refused, as in whatever is sent."""

    def read(size: int) -> bytes:
        line = read_line(size)
        if holds_own_key(line.decode("utf-8", "replace")):
            raise BundleContentInvalidError(
                "The bundle holds a key of Workrail. Nothing was imported.",
                suggestion="Revoke that key, because it has been written where it can be read, and ask for a bundle without it.",
            )
        return line

    return read


def check_signer(examined: Examined) -> None:
    """Any valid signature will do, unless the settings name whose."""
    trusted = (*settings.BUNDLE_SIGNERS, *own_signers())
    if settings.BUNDLE_SIGNERS and examined.seal.signer not in trusted:
        raise BundleUntrustedSignerError(
            f"The bundle was signed by {examined.seal.signer}, which this server does not trust.",
            suggestion="Ask whoever runs the server to add that key to WORKRAIL_BUNDLE_SIGNERS, after asking its owner.",
            details={"signer": examined.seal.signer},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Writing:
    actor: Actor
    source: BinaryIO
    examined: Examined
    now: datetime
    progress: Progress
    finish: Callable[[ImportedBundle], None] | None
    max_bytes: int

    def run(self, renaming: Renaming | None) -> ImportedBundle:
        self.source.seek(0)
        parts = read_bundle(read_line=self.source.readline, max_bytes=self.max_bytes)
        counted = _Counted(progress=self.progress, total=self.examined.event_count)
        with transaction.atomic(durable=True):
            seal = write_parts(
                actor=self.actor,
                examined=self.examined,
                parts=counted.parts(parts),
                renaming=renaming,
                now=self.now,
            )
            if seal != self.examined.seal:
                # The file is another one than the one that was checked.
                raise BundleIntegrityFailedError(
                    "The file was changed while it was read.", suggestion="Import it again when nobody writes to it."
                )
            imported = self._imported(renaming)
            # Now: the task looks for what was born lately, and what was taken in under its own id was not. Before the audit log, as
            # whoever deletes does: see `lock_sessions`.
            enter_imported(actor=self.actor, session_ids=imported.session_ids, now=self.now)
            self._record(imported)
            if self.finish is not None:
                self.finish(imported)
        storage.charge(team_id=self.actor.team_id, stored_bytes=self.source.tell())
        return imported

    def _imported(self, renaming: Renaming | None) -> ImportedBundle:
        sessions = self.examined.sessions
        return ImportedBundle(
            bundle_id=self.examined.preamble.bundle_id,
            signer=self.examined.seal.signer,
            renamed=renaming is not None,
            session_ids=tuple(_new(renaming, session.session_id) for session in sessions),
            events=self.examined.event_count,
            runs=tuple(run for session in sessions for run in _runs(session, renaming)),
        )

    def _record(self, imported: ImportedBundle) -> None:
        for old, new in zip(self.examined.sessions, imported.session_ids, strict=True):
            record_audit(
                actor=self.actor,
                action="session.imported",
                target=to_text(Prefix.SESSION, new),
                now=self.now,
                details={
                    "bundle": imported.bundle_id,
                    "signer": imported.signer,
                    "ownSigner": imported.signer in own_signers(),
                    "from": old.head.session_id,
                    "head": old.head.head.digest,
                },
            )


def _runs(session: ExaminedSession, renaming: Renaming | None) -> Iterator[ImportedRun]:
    """Tokens are minted anew: those of the file's own server mean nothing here."""
    ring = current_keys().ring
    for run in session.view.runs.values():
        tip = run.tip
        held = [each.handle.id for each in session.view.handles.values() if each.handle.run_id == run.run_id]
        index = session.at.next_index
        yield ImportedRun(
            run_id=_new(renaming, run.run_id),
            session_id=_new(renaming, session.session_id),
            workflow_id=run.workflow_id,
            dialect=session.dialects[run.run_id].value,
            state_token=""
            if tip is None
            else tokens.mint(keyring=ring, kind=TokenKind.STATE, node_id=_new(renaming, tip.node_id)),
            session_tokens=tuple(
                session_tokens.mint(keyring=ring, handle_id=_new(renaming, handle), index=index) for handle in held
            ),
        )


def _new(renaming: Renaming | None, old: UUID) -> UUID:
    return old if renaming is None else renaming.id(old)


def _make_months(examined: Examined) -> None:
    """Sessions that keep their ids keep the month of their birth, whose partition may be gone or never have been here."""
    system = system_actor(team_id=NO_TEAM, door=Door.TASK)
    for month in sorted({birth_date(session.session_id) for session in examined.sessions}):
        # Whoever may not make it finds the partition that takes what has no other.
        with suppress(ProgrammingError):
            ensure_partition(actor=system, month=month)


def _taken(examined: Examined) -> bool:
    """Here, or told of by a ledger: an id that was deleted is not used again."""
    ids = [session.session_id for session in examined.sessions]
    return WorkSession.objects.filter(pk__in=ids).exists() or LedgerEntry.objects.filter(session_id__in=ids).exists()


def _is_of_our_time(examined: Examined, now: datetime) -> bool:
    """A session that keeps its id keeps the month of its birth, and each month of the log is a table: a file may not make any number."""
    births = [datetime.fromtimestamp(birth_ms(each.session_id) / 1000, tz=UTC) for each in examined.sessions]
    return all(now - 5 * _A_YEAR <= birth <= now + _A_YEAR for birth in births)


def _renaming(examined: Examined, *, now: datetime, entropy: Entropy) -> Renaming:
    """The sessions are born now: the month in which a session is born is where its events are kept."""
    unix_ms = int(now.timestamp() * 1000)
    return renaming_for(
        salt=entropy(_SALT_BYTES),
        sessions={each.session_id: uuid7(unix_ms=unix_ms, random=entropy(10)) for each in examined.sessions},
        views=[each.view for each in examined.sessions],
    )


def _pinned(stored: list[StoredSession]) -> Iterator[PinnedWorkflow]:
    for workflow_hash in sorted({run.workflow_hash for session in stored for run in session.runs}):
        contents = tuple(
            BundledContent(kind=each.kind.value, digest=each.digest, text=each.text, document=each.document)
            for each in attached_contents(workflow_hash)
        )
        yield PinnedWorkflow(workflow_hash=workflow_hash, program=program_bytes(workflow_hash), contents=contents)


@dataclass(slots=True, kw_only=True)
class _Counted:
    """Says now and then how far it is."""

    progress: Progress
    total: int
    done: int = 0

    def part(self, part: SessionPart) -> SessionPart:
        return SessionPart(head=part.head, snapshots=part.snapshots, events=self._events(part.events))

    def parts(self, parts: Iterable[Part]) -> Iterator[Part]:
        for part in parts:
            if isinstance(part, EventPart):
                self._count()
            yield part

    def _events(self, bodies: Iterable[bytes]) -> Iterator[bytes]:
        for body in bodies:
            self._count()
            yield body

    def _count(self) -> None:
        if self.done % _EVENTS_BETWEEN_WORD == 0:
            self.progress(self.done, self.total)
        self.done += 1
