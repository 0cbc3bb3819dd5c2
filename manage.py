#!/usr/bin/env python3
"""Django's own command line, for an environment and servers that are ready. `./workrail <command>` provides both."""

import os
import sys

from django.core.management import execute_from_command_line
from django.db import OperationalError

from workrail_site.environment import BadEnvironmentError

# What a shell reports of a program that nobody reads any more.
_LEFT = 128 + 13


def run() -> None:
    try:
        execute_from_command_line(sys.argv)
    finally:
        sys.stdout.flush()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workrail_site.settings")
    # What its user has typed, for usages and hints.
    sys.argv[0] = os.environ.pop("WORKRAIL_CALLED_AS", sys.argv[0])
    try:
        run()
    except BrokenPipeError:
        # Whoever reads has enough, as `head` has. What is left is written nowhere, or Python would say the same as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_LEFT)
    except BadEnvironmentError as error:
        sys.exit(f"workrail: {error}\n  next: docs/configuration.md says what each variable takes")
    except OperationalError as error:
        if "--traceback" in sys.argv:
            raise
        said = " ".join(str(error).split("\n")[0].split())
        sys.exit(f"workrail: the database does not answer as it should: {said}\n  next: ./workrail doctor checks it")
