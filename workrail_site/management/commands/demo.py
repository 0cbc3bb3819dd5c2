"""`./workrail demo`: a team of its own with two weeks of work in it, to look at."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import WorkrailError
from workrail_site.demo.play import play_demo


class Command(BaseCommand):
    help = "Makes a team named Demo with workflows, runs, questions, forks and gaps of two weeks."

    # They load every page of the site, which `up` has checked; the demo is waited for.
    requires_system_checks = ()

    def handle(self, *_args: Any, **_options: Any) -> None:
        system = system_actor(team_id=NO_TEAM, door=Door.CLI)
        try:
            played = play_demo(system=system, now=timezone.now())
        except WorkrailError as error:
            raise CommandError(f"{error.message} {error.suggestion or ''}".strip()) from error
        self.stdout.write(f"The team {played.team} is there. Sign in as {played.owner} and choose it at the top.")
