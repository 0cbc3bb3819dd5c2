"""Brings the database up to date, in one process that loads Django once: migrations, bundled workflows, first run.

Run as `python -m workrail_site.local.prepare`; the last line that it prints is the outcome, after a marker.
"""

import io
import json

import django
from django.conf import settings
from django.core.management import call_command, get_commands
from django.urls import NoReverseMatch, reverse

from workrail_site.local.marks import COLLECTED
from workrail_site.local.outcome import CommandOutcome
from workrail_site.local.places import CHECKOUT

_STUDIO_NAMES = ("studio:index", "admin:index")


def main() -> None:
    django.setup()
    call_command("migrate", interactive=False, verbosity=1)
    call_command("grant_roles", stdout=io.StringIO())
    call_command("make_partitions", verbosity=0)
    # What a release before wrote without seals is adopted now, not by chance later.
    call_command("seal_store", stdout=io.StringIO())
    if "workflows" in get_commands():
        call_command("workflows", "load-bundled")
    _collect_static_files()
    print(_first_run().as_line())


def _collect_static_files() -> None:
    """Into the folder that `up` names, anew when they have changed. The documents of an API that no page shows are left out."""
    folder = settings.STATIC_ROOT
    if folder is None or COLLECTED.is_in(folder, checkout=CHECKOUT):
        return
    COLLECTED.remove(folder)
    call_command("collectstatic", interactive=False, clear=True, verbosity=0, ignore_patterns=["redoc*"])
    COLLECTED.write(folder, checkout=CHECKOUT)


def _first_run() -> CommandOutcome:
    printed = io.StringIO()
    call_command("first_run", stdout=printed)
    told = json.loads(printed.getvalue().strip().splitlines()[-1])
    return CommandOutcome(
        created=told["created"],
        team=told["team"],
        username=told["username"],
        password=told.get("password") or "",
        key=told.get("key") or "",
        studio_path=_studio_path(),
    )


def _studio_path() -> str:
    for name in _STUDIO_NAMES:
        try:
            return reverse(name)
        except NoReverseMatch:
            continue
    return "/"


if __name__ == "__main__":
    main()
