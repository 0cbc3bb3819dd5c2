"""Enters the sessions that began in the ledgers of their teams, also those that a machine with a wrong clock began long ago.

The schedule does so every minute, and looks at those of wrong clocks once a day.

With --adopt it also takes for true what a release before has written without seals since then.
"""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from sessions_app.services.upkeep.ledger import enter_sessions
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.counting import counted


class Command(BaseCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--adopt", action="store_true", help="also seal sessions that have no seal, as they are now"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        actor = system_actor(team_id=NO_TEAM, door=Door.CLI)
        entered = enter_sessions(actor=actor, now=timezone.now(), adopt=options["adopt"], whole=True)
        self.stdout.write(
            f"{counted(entered.begun, 'session')} entered, {entered.adopted} adopted as they are, {entered.refused} not vouched for."
        )
        if entered.refused:
            self.stdout.write("./workrail verify_store tells what is wrong with those.")
