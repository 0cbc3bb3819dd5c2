"""Takes in a bundle: all is checked before anything is written. Prints the tokens by which agents go on."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from sessions_app.services.bundles.files import import_bundle, open_bundle
from teams_app import selectors as teams
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.counting import counted
from teams_app.engine.errors import WorkrailError
from teams_app.engine.ids import Prefix, to_text


class Command(BaseCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="a bundle, or a gzipped one")
        parser.add_argument("--team", default="", help="its name or id; not needed where there is only one")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            system = system_actor(team_id=NO_TEAM, door=Door.CLI)
            team = teams.find_team(actor=system, named=options["team"])
            actor = system_actor(team_id=team.id, door=Door.CLI)
            with options["file"].open("rb") as file, open_bundle(file) as source:
                done = import_bundle(actor=actor, source=source, now=timezone.now())
        except WorkrailError as error:
            raise CommandError(f"{error.code}: {error.message} {error.suggestion or ''}".strip()) from error
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read: {error.strerror}.") from error
        self.stdout.write(
            f"{counted(len(done.session_ids), 'session')} with {counted(done.events, 'event')}, signed by {done.signer}."
        )
        for session_id in done.session_ids:
            self.stdout.write(f"{to_text(Prefix.SESSION, session_id)}{' (a new id)' if done.renamed else ''}")
        for run in done.runs:
            self.stdout.write(f"{to_text(Prefix.RUN, run.run_id)} {run.workflow_id} ({run.dialect}) goes on by:")
            for token in run.session_tokens or (run.state_token,):
                self.stdout.write(f"  {token}")
