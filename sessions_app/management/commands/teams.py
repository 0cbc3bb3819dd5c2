"""`./workrail teams …`: which teams there are, and the end of one."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from sessions_app.services.expiry.ended_teams import SETTLED, end_team
from sessions_app.services.expiry.leaving import write_team
from teams_app import selectors
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.counting import counted
from teams_app.engine.errors import WorkrailError
from teams_app.engine.ids import Prefix, to_text


class Command(BaseCommand):
    help = "Lists teams, writes everything of one into a folder, and ends one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(dest="subcommand", required=True, metavar="subcommand")
        commands.add_parser("list", help="Which teams there are")
        export = commands.add_parser(
            "export", help="Writes the sessions, workflows and audit log of a team into a folder"
        )
        end = commands.add_parser("end", help="Ends a team: nobody acts in it any more, and all that it has is deleted")
        for command in (export, end):
            command.add_argument("team", help="its name or id")
        export.add_argument("folder", type=Path, help="an empty one, or one that is made")
        end.add_argument("--export", type=Path, metavar="FOLDER", help="write everything there first")
        end.add_argument("--name", default="", help="the name of the team once more, for who is not asked")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            match options["subcommand"]:
                case "list":
                    self._list()
                case "export":
                    self._export(options["team"], options["folder"])
                case _:
                    self._end(options)
        except WorkrailError as error:
            raise CommandError(f"{error.message} {error.suggestion or ''}".strip()) from error
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be written: {error.strerror}. Nothing was ended.") from error

    def _list(self) -> None:
        for team in selectors.every_team(actor=system_actor(team_id=NO_TEAM, door=Door.CLI)):
            self.stdout.write(f"{to_text(Prefix.TEAM, team.id)}  {team.name}")

    def _export(self, named: str, folder: Path) -> None:
        team = selectors.find_team(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), named=named)
        actor = system_actor(team_id=team.id, door=Door.CLI)
        files = sum(1 for _ in write_team(actor=actor, folder=folder, now=timezone.now()))
        self.stdout.write(f"Wrote {counted(files, 'file')} to {folder}.")

    def _end(self, options: dict[str, Any]) -> None:
        team = selectors.find_team(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), named=options["team"])
        name = options["name"] or input(f"All of {team.name} will be deleted. Write its name to end it: ")
        if name == team.name and options["export"] is not None:
            self._export(options["team"], options["export"])
        end_team(actor=system_actor(team_id=team.id, door=Door.CLI), name=name, now=timezone.now())
        hours = SETTLED.seconds // 3600
        self.stdout.write(
            f"{team.name} has ended. All that it had is deleted by the schedule, after {counted(hours, 'hour')}."
        )
