"""Checks the chain of every log, every seal, the ledgers, the audit logs and every invariant of the tables.

Agents may work meanwhile: it reads one state of the tables. Exits with 1 when a promise is broken.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from sessions_app.engine.anchors import AnchorUnreadableError
from sessions_app.selectors.integrity import Finding
from sessions_app.services.upkeep.anchors import verify_anchor
from sessions_app.services.upkeep.verification import CheckedStore, verify_all, verify_one
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.counting import counted
from teams_app.engine.errors import NotFoundError
from teams_app.engine.ids import Prefix, from_text


class Command(BaseCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--session", help="only this session (sess_…)")
        which.add_argument("--anchor", type=Path, help="whether all that this anchor tells is still there")
        which.add_argument(
            "--since", help="only sessions worked on since then: 2026-11-18, 2026-11-18T12:00, 36h or 7d"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        broken = 0
        checked = CheckedStore(sessions=1 if options["session"] else 0)
        for finding in self._findings(options, checked):
            broken += 1
            self.stdout.write(str(finding))
        shown = "The anchor" if options["anchor"] else counted(checked.sessions, "session")
        self.stdout.write(f"{shown} checked, {counted(broken, 'promise')} broken.")
        if broken:
            raise SystemExit(1)

    def _findings(self, options: dict[str, Any], checked: CheckedStore) -> Iterable[Finding]:
        if options["session"]:
            return _verify_session(options["session"])
        if options["anchor"]:
            return _verify_anchor(options["anchor"])
        since = _read_since(options["since"], timezone.now()) if options["since"] else None
        actor = system_actor(team_id=NO_TEAM, door=Door.CLI)
        return verify_all(actor=actor, since=since, progress=lambda so_far: self._tell(checked, so_far))

    def _tell(self, checked: CheckedStore, so_far: CheckedStore) -> None:
        checked.sessions, checked.events = so_far.sessions, so_far.events
        if self.stderr.isatty():
            self.stderr.write(f"{so_far.sessions} sessions, {so_far.events} events, {so_far.findings} broken promises")


def _verify_session(text: str) -> Iterable[Finding]:
    try:
        yield from verify_one(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), session_id=_read_session(text))
    except NotFoundError as error:
        raise CommandError(f"{text}: {error}") from error


def _verify_anchor(path: Path) -> Iterable[Finding]:
    try:
        with path.open("rb") as source:
            yield from verify_anchor(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), source=source)
    except AnchorUnreadableError as error:
        raise CommandError(f"{path}: {error}") from error
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error


def _read_session(text: str) -> UUID:
    session_id = from_text(Prefix.SESSION, text)
    if session_id is None:
        raise CommandError(f"{text} is no session id; one begins with sess_.")
    return session_id


def _read_since(text: str, now: datetime) -> datetime:
    count, unit = text[:-1], text[-1:]
    if unit in {"h", "d"} and count.isascii() and count.isdigit():
        return now - (timedelta(hours=int(count)) if unit == "h" else timedelta(days=int(count)))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandError(f"{text} is no time. Write 2026-11-18, 2026-11-18T12:00, 36h or 7d.") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
