import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.services.first_run import prepare_first_run


class Command(BaseCommand):
    help = "Makes the first team, its owner and an agent key, once. Prints one line of JSON."

    def handle(self, *_args: Any, **_options: Any) -> None:
        done = prepare_first_run(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())
        self.stdout.write(json.dumps(asdict(done)))
