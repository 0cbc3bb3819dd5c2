"""`./workrail up --reset`: back to before the first run."""

import os
import shutil
import sys
from pathlib import Path

from workrail_site.local.places import Places
from workrail_site.local.problems import SetupProblem
from workrail_site.local.servers import lasting_storage, named_addresses
from workrail_site.local.venvs import say


def delete_data(places: Places, *, is_sure: bool) -> None:
    """Deletes what the embedded servers wrote and the keys. Servers that are named by a URL are never touched."""
    if named_addresses(os.environ).database_url:
        raise SetupProblem(
            "--reset deletes the embedded data only, and DATABASE_URL names a server of your own.",
            next_move="empty that database with its own tools, or unset DATABASE_URL",
        )
    folder = lasting_storage(places).postgres.parent
    if not is_sure:
        _ask_before_reset(places, folder)
    for path in (folder / "postgres", folder / "postgres.unfinished", places.redis_data):
        shutil.rmtree(path, ignore_errors=True)
    for path in (places.keys, *places.home.glob(f"{places.beat_schedule.name}*")):
        path.unlink(missing_ok=True)
    say("the data was deleted; this is a first run again")


def _ask_before_reset(places: Places, folder: Path) -> None:
    if not sys.stdin.isatty():
        raise SetupProblem(
            "--reset deletes all sessions, workflows, accounts and keys, and nobody is here to confirm it.",
            next_move="./workrail up --reset --yes",
        )
    inside = f"{places.home}" if folder == places.home else f"{places.home} and {folder}"
    say(f"this deletes all sessions, workflows, accounts and keys in {inside}.")
    if input("Type yes to delete them: ").strip() != "yes":
        raise SetupProblem("nothing was deleted.", next_move="./workrail up starts with the data as it is")
