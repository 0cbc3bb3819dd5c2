#!/usr/bin/env python3
"""Django's own command line, for an environment and servers that are ready. `./workrail <command>` provides both."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workrail_site.settings")
    execute_from_command_line(sys.argv)
