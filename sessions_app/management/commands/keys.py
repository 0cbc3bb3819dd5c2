"""The keys that sign tokens: `keys show` tells the generation, `keys rotate` begins a new one."""

import os
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.services.store.signing_keys import KNOWN_AFTER, current_keys, moment_of_the_database, rotate_keys
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import PreconditionFailedError


class Command(BaseCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["show", "rotate"])

    def handle(self, *_args: Any, **options: Any) -> None:
        if options["action"] == "show":
            self.stdout.write(f"Tokens are signed by generation {current_keys().generation}.")
            return
        actor = system_actor(team_id=NO_TEAM, door=Door.CLI)
        try:
            generation = rotate_keys(actor=actor, now=moment_of_the_database(), entropy=os.urandom)
        except PreconditionFailedError as error:
            raise CommandError(f"{error} {error.suggestion}") from error
        self.stdout.write(
            f"Generation {generation} signs as soon as every process knows it, within {2 * KNOWN_AFTER.seconds} seconds. "
            f"Tokens that were signed before stay good for {settings.TOKEN_TRUST_DAYS} days."
        )
