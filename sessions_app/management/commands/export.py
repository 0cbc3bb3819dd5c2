"""Writes a session to a file: `.json` or `.json.gz` is a bundle that can be imported, `.md`, `.html` and `.pdf` are for people.

A bundle has the session, what its runs triggered, and the programs that they are pinned to; it has no tokens and no keys.
"""

import gzip
import os
import tempfile
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from sessions_app.management.printing import print_to_pdf
from sessions_app.selectors.session_teams import team_of_session
from sessions_app.services.bundles.files import export_session
from sessions_app.services.bundles.session_reports import ReportForm, render_session
from teams_app.engine.actors import NO_TEAM, Actor, Door, system_actor
from teams_app.engine.counting import counted
from teams_app.engine.errors import WorkrailError
from teams_app.engine.ids import Prefix, from_text

_REPORTS = {".md": ReportForm.MARKDOWN, ".html": ReportForm.HTML}


class Command(BaseCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("session", help="which one (sess_…)")
        parser.add_argument("file", type=Path, help="where to; the ending says what is written")

    def handle(self, *_args: Any, **options: Any) -> None:
        session_id = from_text(Prefix.SESSION, options["session"])
        if session_id is None:
            raise CommandError(f"{options['session']} is no session id; one begins with sess_.")
        path: Path = options["file"]
        try:
            system = system_actor(team_id=NO_TEAM, door=Door.CLI)
            actor = system_actor(team_id=team_of_session(actor=system, session_id=session_id), door=Door.CLI)
            self._write(actor, session_id, path)
        except WorkrailError as error:
            raise CommandError(f"{error.code}: {error.message} {error.suggestion or ''}".strip()) from error
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from error

    def _write(self, actor: Actor, session_id: Any, path: Path) -> None:
        # Beside its place first: a file of that name is a whole one.
        with tempfile.NamedTemporaryFile(dir=path.absolute().parent, delete=False) as target:
            try:
                if path.suffix == ".pdf":
                    page = render_session(actor=actor, session_id=session_id, form=ReportForm.HTML)
                    target.write(print_to_pdf(page))
                elif path.suffix in _REPORTS:
                    target.write(render_session(actor=actor, session_id=session_id, form=_REPORTS[path.suffix]))
                else:
                    self._bundle(actor, session_id, target, packed=path.suffix == ".gz")
                target.flush()
                os.fsync(target.fileno())
                Path(target.name).replace(path)
            except BaseException:
                Path(target.name).unlink(missing_ok=True)
                raise
        self.stdout.write(f"Wrote {path}, {path.stat().st_size} bytes.")

    def _bundle(self, actor: Actor, session_id: Any, target: Any, *, packed: bool) -> None:
        now = timezone.now()
        if packed:
            with gzip.GzipFile(filename="", fileobj=target, mode="wb", mtime=0) as archive:
                done = export_session(actor=actor, session_id=session_id, write=archive.write, now=now)
        else:
            done = export_session(actor=actor, session_id=session_id, write=target.write, now=now)
        self.stdout.write(f"{counted(done.sessions, 'session')} with {counted(done.events, 'event')}.")
