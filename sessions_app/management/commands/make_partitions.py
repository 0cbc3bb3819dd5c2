"""Makes the event partitions of this month and the next ones. The schedule does so daily; this is for the first day."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from sessions_app.services.upkeep.tables import ensure_partitions
from teams_app.engine.actors import NO_TEAM, Door, system_actor


class Command(BaseCommand):
    help = __doc__ or ""

    def handle(self, *_args: Any, **_options: Any) -> None:
        actor = system_actor(team_id=NO_TEAM, door=Door.CLI)
        made = ensure_partitions(actor=actor, today=timezone.now().date())
        self.stdout.write(f"{len(made)} event partitions made.")
