"""Checks the chain of every log and every invariant of the tables. Exits with 1 when a promise is broken."""

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.selectors.integrity import session_ids, verify_session
from teams_app.engine.ids import Prefix, from_text


class Command(BaseCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--session", help="only this session (sess_…)")

    def handle(self, *_args: Any, **options: Any) -> None:
        count = broken = 0
        for session_id in [_read(options["session"])] if options["session"] else session_ids():
            count += 1
            for finding in verify_session(session_id):
                broken += 1
                self.stdout.write(str(finding))
        self.stdout.write(f"{count} sessions checked, {broken} promises broken.")
        if broken:
            raise SystemExit(1)


def _read(text: str) -> UUID:
    session_id = from_text(Prefix.SESSION, text)
    if session_id is None:
        raise CommandError(f"{text} is no session id; one begins with sess_.")
    return session_id
