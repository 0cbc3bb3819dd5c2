"""Writes again, from the log alone, what the tables keep beside it. Tells how many rows were different."""

from typing import Any

from django.core.management.base import BaseCommand

from sessions_app.selectors.integrity import session_ids
from sessions_app.services.upkeep.tables import rebuild_projections
from teams_app.engine.actors import NO_TEAM, Door, system_actor


class Command(BaseCommand):
    help = __doc__ or ""

    def handle(self, *_args: Any, **_options: Any) -> None:
        actor = system_actor(team_id=NO_TEAM, door=Door.CLI)
        changed = checked = 0
        for session_id in session_ids():
            checked += 1
            changed += rebuild_projections(actor=actor, session_id=session_id)
        self.stdout.write(f"{checked} sessions read, {changed} rows written again.")
