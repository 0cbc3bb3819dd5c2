"""`./workrail storm`: an installation of its own, agents and a person at work on it, and one kill after the other.

Nothing of the installation in the home is read or written. Exit code 1 says that something was lost, doubled or answered
otherwise.
"""

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

from workrail_site.local.interrupts import interrupts
from workrail_site.local.places import Places
from workrail_site.local.venvs import Environment, say
from workrail_site.storms.site import own_site
from workrail_site.storms.storm import live_through

_KILLS = 1_300
_AT_A_TIME = 25
_AGENTS = 10
_SEED = 1


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./workrail storm", allow_abbrev=False, description=__doc__)
    parser.add_argument("--kills", type=int, default=_KILLS, help=f"how many in all (default: {_KILLS})")
    parser.add_argument("--at-a-time", type=int, default=_AT_A_TIME, help="kills between two looks at everything")
    parser.add_argument("--agents", type=int, default=_AGENTS, help="of the five kinds in turn")
    parser.add_argument("--seed", type=int, default=_SEED, help="what is killed, and after how many calls")
    parser.add_argument("--seconds", type=float, help="end after the storm in which so many have passed")
    parser.add_argument("--json", type=Path, help="a file for what was seen")
    parser.add_argument("--words", type=Path, help="a folder for the last lines of each process")
    return parser.parse_args(arguments)


def run(arguments: list[str], *, places: Places, environment: Environment) -> int:
    del places, environment
    options = read_options(arguments[1:])
    with interrupts():
        say("starting an installation of the storm's own")
        with own_site(os.environ, agents=options.agents, words=options.words) as (site, stage):
            seen = live_through(
                site=site,
                stage=stage,
                kills=options.kills,
                at_a_time=options.at_a_time,
                seed=options.seed,
                seconds=options.seconds,
                tell=say,
            )
    print(seen.told(), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(seen.as_json(), indent=2) + "\n", "utf-8")
    return 1 if seen.findings else 0
