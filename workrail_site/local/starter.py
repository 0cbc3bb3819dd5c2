"""The first half of `./workrail`, before there is an environment: makes it, then runs the second half inside it.

Nothing here, nor in what it imports, may need more than the standard library.
"""

import importlib
import os
import sys
from pathlib import Path

from workrail_site.local.places import Places, find_places
from workrail_site.local.problems import SetupProblem
from workrail_site.local.venvs import Environment, ensure_environment, find_environment, is_satisfied, lock_for

_COMMANDS = {
    "up": "workrail_site.local.up",
    "test": "workrail_site.local.checks",
    "doctor": "workrail_site.local.doctor",
    "backup": "workrail_site.local.backup",
    "restore": "workrail_site.local.backup",
    "mcp": "workrail_site.local.mcp_command",
    "connect": "workrail_site.local.connect",
    "storm": "workrail_site.local.storm_command",
}
_ANY_OTHER = "workrail_site.local.manage_command"

USAGE = """\
./workrail up        start everything: servers, migrations, web, worker, beat
                     [--port 8000] [--host 127.0.0.1] [--no-worker] [--reset [--yes]]
./workrail test      every check; arguments go to pytest
                     [--only lint|types|imports|migrations|tests]
./workrail backup FILE    the database and the keys in one file, also while everything runs
./workrail restore FILE   into an empty home, or with --replace; verifies what it restored
./workrail doctor    say what is wrong with this set-up
./workrail storm     kill everything again and again, in a home of its own, and see that nothing is lost
                     [--kills 1300] [--seed 1] [--json FILE]
./workrail mcp       speak MCP by lines, for clients that start a process
                     --dialect rail|navigation|session|orchestrator|lookup, or --url https://…/mcp/rail
./workrail connect   print or write how a client is told of the server, and try it
                     claude-code|claude-desktop|cursor|vscode|codex|gemini|… [--url …] [--write]
./workrail COMMAND   any manage.py command, with the servers it needs (./workrail help lists them)
"""


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in {"-h", "--help"}:
        print(USAGE, end="")
        return 0
    try:
        return _run(arguments)
    except SetupProblem as problem:
        print(problem.as_text(), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _run(arguments: list[str]) -> int:
    places = find_places(environ=os.environ)
    lock = lock_for(arguments[0])
    if arguments[0] == "doctor":
        environment = find_environment(places, lock)
        if not is_satisfied(environment, lock):
            raise _no_environment(environment)
    else:
        environment = ensure_environment(places, lock)
    return _continue_inside(environment, places, arguments)


def _no_environment(environment: Environment) -> SetupProblem:
    return SetupProblem(
        f"the environment {environment.folder} is missing, incomplete or older than its lock file.",
        next_move="./workrail up makes it",
    )


def _continue_inside(environment: Environment, places: Places, arguments: list[str]) -> int:
    if Path(sys.prefix).resolve() != environment.folder.resolve():
        python = str(environment.python)
        os.execv(python, [python, str(places.checkout / "workrail"), *arguments])
    os.environ["WORKRAIL_HOME"] = str(places.home)
    # By name, because the other half imports what only the environment holds, and each command only what it needs.
    command = importlib.import_module(_COMMANDS.get(arguments[0], _ANY_OTHER))
    return int(command.run(arguments, places=places, environment=environment))
