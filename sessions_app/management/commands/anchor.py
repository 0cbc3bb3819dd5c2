"""Writes where every log, ledger and audit log ends now to a signed file. Keep it where the database's owner cannot reach.

`./workrail verify_store --anchor FILE` tells what has been rewritten since.
"""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from sessions_app.services.upkeep.anchors import write_anchor
from teams_app.engine.actors import NO_TEAM, Door, system_actor


class Command(BaseCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="where to")

    def handle(self, *_args: Any, **options: Any) -> None:
        actor = system_actor(team_id=NO_TEAM, door=Door.CLI)
        try:
            seal = write_anchor(actor=actor, path=options["file"], now=timezone.now())
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be written: {error.strerror}.") from error
        self.stdout.write(f"{seal.ends} ends, sha256 {seal.sha256}, signed by {seal.signer}.")
