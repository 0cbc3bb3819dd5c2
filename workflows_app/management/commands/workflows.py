"""`./workrail workflows …`: an author's tools, and the ways of a team's library in and out of the database."""

from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

import msgspec
from django.core.management.base import BaseCommand, CommandError

from teams_app.engine.errors import WorkrailError
from workflows_app.engine.json_schemas import SCHEMAS
from workflows_app.engine.program import WorkflowKind
from workflows_app.engine.simulate import DEFAULT_MAX_STEPS
from workflows_app.engine.source import Origin
from workflows_app.engine.values import WorkflowState
from workflows_app.management import printing, subcommands

_OWN_ORIGINS = [origin.value for origin in Origin if origin is not Origin.BUNDLED]


class Command(BaseCommand):
    help = "Imports, checks, shows, compares, simulates and publishes workflows."
    # Files are checked also where there is neither a deployment nor a database.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(dest="subcommand", required=True, metavar="subcommand")
        for name, (run, text) in _SUBCOMMANDS.items():
            command = commands.add_parser(name, help=text, description=text)
            command.set_defaults(run=run)
            command.add_argument("--json", action="store_true", help="print JSON")
            _ARGUMENTS[name](command)

    def handle(self, *_args: Any, **options: Any) -> None:
        run: subcommands.Subcommand = options["run"]
        try:
            report = run(options)
        except WorkrailError as error:
            raise CommandError(printing.shown(_told(error))) from error
        except CommandError as error:
            raise CommandError(printing.shown(str(error)), returncode=error.returncode) from error
        if options["json"]:
            self.stdout.write(msgspec.json.format(msgspec.json.encode(report.data)).decode())
        else:
            for line in report.lines:
                self.stdout.write(printing.shown(line))
        if report.failed:
            raise SystemExit(1)


def _told(error: WorkrailError) -> str:
    problems = error.details.get("problems", ())
    listed = [f"  {printing.told_line(problem)}" for problem in problems if isinstance(problem, dict)]
    return "\n".join([f"{error.message} {error.suggestion or ''}".strip(), *listed])


def _files(parser: ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="path", help="a JSON file, a folder, or an archive")
    parser.add_argument("--origin", choices=_OWN_ORIGINS, default=Origin.PROJECT.value, help="who brings them")
    _legacy(parser)


def _legacy(parser: ArgumentParser) -> None:
    parser.add_argument("--legacy", action="store_true", help="read what older readers let pass, with warnings")


def _team(parser: ArgumentParser) -> None:
    parser.add_argument("--team", default="", help="the name or id of the team; not needed when there is one")


def _workflow(parser: ArgumentParser) -> None:
    parser.add_argument("workflow", help="the id or an alias of a workflow")
    parser.add_argument("--revision", type=int, help="the latest when it is not given")
    _team(parser)


def _list(parser: ArgumentParser) -> None:
    _team(parser)
    parser.add_argument("--text", default="", help="words, parts of words, or words spelt nearly so")
    parser.add_argument("--tag", action="append", default=[], help="may be given again; all must be there")
    parser.add_argument("--kind", choices=[kind.value for kind in WorkflowKind])
    parser.add_argument("--state", choices=[state.value for state in WorkflowState])


def _show(parser: ArgumentParser) -> None:
    _workflow(parser)
    parser.add_argument("--source", action="store_true", help="with --json: the source as well")


def _diff(parser: ArgumentParser) -> None:
    _workflow(parser)
    parser.add_argument("--base", type=int, help="the published revision when it is not given; 0 for nothing")


def _import(parser: ArgumentParser) -> None:
    _files(parser)
    _team(parser)
    parser.add_argument("--rename", action="store_true", help="give ids that a team cannot have the suggested ones")
    parser.add_argument("--message", default="", help="why, for the history")


def _simulate(parser: ArgumentParser) -> None:
    parser.add_argument("workflow", help="a file, a folder, or the id of a workflow")
    parser.add_argument("--revision", type=int, help="the latest when it is not given")
    parser.add_argument("--set", action="append", default=[], metavar="name=value", help="a variable to begin with")
    parser.add_argument("--answers", metavar="file", help="JSON: what is handed in, by step")
    parser.add_argument("--max-steps", type=_number, default=DEFAULT_MAX_STEPS)
    parser.add_argument("--rounds", type=_number, default=1, help="rounds of a loop that an artifact decides")
    _team(parser)
    _legacy(parser)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 0 < len(text) < 10 or not int(text):
        raise ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _schema(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", choices=list(SCHEMAS), help="which; all of them, by name, when it is not given"
    )


def _nothing(_parser: ArgumentParser) -> None:
    pass


_SUBCOMMANDS = {
    "list": (subcommands.list_command, "The workflows that a team has"),
    "show": (subcommands.show_command, "One workflow: its state, problems and outline"),
    "diff": (subcommands.diff_command, "What a revision changes, in the source and in the program"),
    "validate": (subcommands.validate_command, "Compiles files, without a database; fails on errors"),
    "lint": (subcommands.lint_command, "Compiles files, without a database; fails on warnings too"),
    "simulate": (subcommands.simulate_command, "Walks a workflow with given answers and prints the path"),
    "schema": (subcommands.schema_command, "The JSON Schemas of workflow files, for editors"),
    "import": (subcommands.import_command, "Saves files as drafts of a team"),
    "publish": (subcommands.publish_command, "Lets runs start with a revision, and shows what changes"),
    "load-bundled": (subcommands.load_bundled_command, "Brings the bundled library up to date for all teams"),
}
_ARGUMENTS = {
    "list": _list,
    "show": _show,
    "diff": _diff,
    "validate": _files,
    "lint": _files,
    "simulate": _simulate,
    "schema": _schema,
    "import": _import,
    "publish": _workflow,
    "load-bundled": _nothing,
}
