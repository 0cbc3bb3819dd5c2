"""`./workrail backup FILE` and `./workrail restore FILE`: the database and the keys of an installation in one file.

A backup is made while everything runs. A restore checks the file, fills an empty database, brings it up to date, and runs
`verify_store`. Both work with the embedded PostgreSQL and with the one that DATABASE_URL names.
"""

import argparse
import contextlib
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from workrail_site.local import binaries
from workrail_site.local.claim import claimed, current_holder
from workrail_site.local.environs import application_environ
from workrail_site.local.foreground import run_in_foreground
from workrail_site.local.keys import ensure_keys
from workrail_site.local.places import Places, prepare_home
from workrail_site.local.problems import SetupProblem
from workrail_site.local.servers import Addresses, lasting_storage, named_addresses, running_servers
from workrail_site.local.temporary import working_folder
from workrail_site.local.venvs import Environment, say

_VERSION = 1
_MANIFEST = "workrail-backup.json"
_CHOOSES_POLICIES = 18
_DUMP = "database.dump"
# What a backup is made in; it holds the whole database meanwhile.
_BESIDE = ".workrail-backup-"
_KEYS = "keys.json"
# Those that the file of keys has; the environment comes before it.
_FILED = ("WORKRAIL_SECRET_KEY", "WORKRAIL_TOKEN_KEY")
_KEY_VARIABLES = (*_FILED, "WORKRAIL_TOKEN_KEY_PREVIOUS", "WORKRAIL_SEAL_KEY", "WORKRAIL_SEAL_KEYS_RETIRED")
_CHUNK_BYTES = 1024 * 1024
_COUNT_TABLES = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
_EMPTY = "DROP SCHEMA public CASCADE; CREATE SCHEMA public"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Backup:
    """An archive that was opened and checked, with its parts in a folder."""

    dump: Path
    keys: str


def run(arguments: Sequence[str], *, places: Places, environment: Environment) -> int:
    prepare_home(places)
    options = _read(arguments)
    try:
        if arguments[0] == "backup":
            return _back_up(options.file, places)
        return _restore(options.file, places, environment, replaces=options.replace)
    except OSError as error:
        raise SetupProblem(
            f"{error.filename or options.file} cannot be read or written: {error.strerror}.",
            next_move="look at the disk and at who may write there; ./workrail doctor tells what is free",
        ) from error


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"./workrail {arguments[0]}", allow_abbrev=False, description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE")
    if arguments[0] == "restore":
        parser.add_argument("--replace", action="store_true", help="delete what is in the database now")
    return parser.parse_args(arguments[1:])


def _back_up(file: Path, places: Places) -> int:
    beside = file.absolute().parent
    with _database(places, command="backup") as url, working_folder(base=beside, prefix=_BESIDE) as folder:
        dump = folder / _DUMP
        _tool("pg_dump", "--format=custom", "--no-owner", f"--file={dump}", f"--dbname={url}")
        keys = places.keys.read_bytes() if places.keys.exists() and _goes_by_file() else b""
        unfinished = folder / "archive"
        with _private(unfinished) as target:
            _write_archive(target, dump, keys)
            target.flush()
            os.fsync(target.fileno())
        unfinished.replace(file)
    kept = "with the keys of this installation: keep it where nobody else reads it" if keys else "without the keys"
    say(f"wrote {file}, {file.stat().st_size} bytes, {kept}")
    if named := _named_keys():
        say(f"the keys of the environment ({', '.join(named)}) are not in it: keep them as well")
    return 0


def _write_archive(target: BinaryIO, dump: Path, keys: bytes) -> None:
    manifest = {
        "version": _VERSION,
        "madeAt": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "sha256": {_DUMP: _sha256(dump)} | ({_KEYS: hashlib.sha256(keys).hexdigest()} if keys else {}),
    }
    with tarfile.open(fileobj=target, mode="w", encoding="utf-8") as archive:
        _add(archive, _MANIFEST, json.dumps(manifest, indent=2).encode())
        if keys:
            _add(archive, _KEYS, keys)
        archive.add(dump, arcname=_DUMP)


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), 0o600
    archive.addfile(member, io.BytesIO(data))


def _restore(file: Path, places: Places, environment: Environment, *, replaces: bool) -> int:
    with working_folder(base=Path(tempfile.gettempdir())) as folder:
        backup = _opened(file, folder)
        _put_keys(backup.keys, places, replaces=replaces)
        with (
            claimed(places.claim, command="restore"),
            running_servers(lasting_storage(places), environ=os.environ) as running,
        ):
            _fill(backup.dump, running.addresses.database_url, replaces=replaces)
            return _bring_up_to_date(running.addresses, places, environment)


def _opened(file: Path, folder: Path) -> _Backup:
    try:
        with tarfile.open(file, mode="r:", encoding="utf-8") as archive:
            for name in (_MANIFEST, _KEYS, _DUMP):
                with contextlib.suppress(KeyError):
                    archive.extract(archive.getmember(name), folder, filter="data")
        manifest = json.loads((folder / _MANIFEST).read_text("utf-8"))
        wanted = dict(manifest["sha256"])
        if manifest["version"] != _VERSION or _DUMP not in wanted:
            raise _unreadable(file)
    except (tarfile.TarError, ValueError, KeyError, TypeError, FileNotFoundError) as error:
        if not file.exists():
            raise
        raise _unreadable(file) from error
    for name, digest in wanted.items():
        if not (folder / name).is_file() or _sha256(folder / name) != digest:
            raise SetupProblem(f"{file} is damaged: {name} is not what was written.", next_move="take another copy")
    keys = folder / _KEYS
    return _Backup(dump=folder / _DUMP, keys=keys.read_text("utf-8") if _KEYS in wanted else "")


def _unreadable(file: Path) -> SetupProblem:
    return SetupProblem(
        f"{file} is not a backup that this version reads.", next_move="name a file that ./workrail backup wrote"
    )


def _put_keys(keys: str, places: Places, *, replaces: bool) -> None:
    if not keys or not _goes_by_file():
        return
    if places.keys.exists():
        if places.keys.read_text("utf-8") == keys:
            return
        if not replaces:
            raise SetupProblem(
                f"{places.keys} has other keys than the backup: tokens of the one are nothing to the other.",
                next_move="restore into an empty home (WORKRAIL_HOME=…), or with --replace",
            )
        places.keys.rename(places.keys.with_name(f"{places.keys.name}.before"))
    with _private(places.keys) as target:
        target.write(keys.encode())


def _fill(dump: Path, url: str, *, replaces: bool) -> None:
    if replaces:
        _tool("psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", f"--command={_EMPTY}", url)
    elif _tool("psql", "--no-psqlrc", "--tuples-only", "--no-align", f"--command={_COUNT_TABLES}", url).strip() != "0":
        raise SetupProblem(
            "the database is not empty.",
            next_move="restore into an empty home (WORKRAIL_HOME=…), or with --replace, which deletes what is there",
        )
    _tool(
        "pg_restore",
        "--no-owner",
        "--no-privileges",
        *_without_policies(),
        "--exit-on-error",
        "--single-transaction",
        f"--dbname={url}",
        str(dump),
    )
    say("the database is filled")


def _bring_up_to_date(addresses: Addresses, places: Places, environment: Environment) -> int:
    environ = application_environ(os.environ, places=places, keys=ensure_keys(places.keys), addresses=addresses)
    python, manage = str(environment.python), str(places.checkout / "manage.py")
    for arguments in ("migrate --no-input --verbosity 0", "grant_roles", "make_partitions", "verify_store"):
        code = run_in_foreground([python, manage, *arguments.split()], environ=environ)
        if code:
            return code
    say("restored and verified; ./workrail up goes on from here")
    return 0


@contextlib.contextmanager
def _database(places: Places, *, command: str) -> Iterator[str]:
    """The named one, that of a running `up`, or the embedded one for as long as this takes."""
    named = named_addresses(os.environ)
    holder = current_holder(places.claim)
    if named.database_url or (holder is not None and holder.database_url):
        yield named.database_url or (holder.database_url if holder else "")
        return
    if not lasting_storage(places).postgres.exists():
        raise SetupProblem(
            f"there is no data in {places.home}.", next_move="name the home that has it: WORKRAIL_HOME=…"
        )
    with (
        claimed(places.claim, command=command),
        running_servers(lasting_storage(places), environ=os.environ) as running,
    ):
        yield running.addresses.database_url


def _without_policies() -> tuple[str, ...]:
    """They name roles, which the server may not have; `grant_roles` makes them again. Older programs cannot leave them out."""
    version = re.search(r"\d+", _tool("pg_restore", "--version"))
    return ("--no-policies",) if version and int(version[0]) >= _CHOOSES_POLICIES else ()


def _tool(name: str, *arguments: str) -> str:
    """One of PostgreSQL's own programs; its last words when it fails."""
    programs = binaries.choose_postgres(binaries.providers(environ=os.environ), major=None)
    done = subprocess.run(
        [programs.program(name), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=_without_libpq(os.environ),
        stdin=subprocess.DEVNULL,
    )
    if done.returncode != 0:
        words = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise SetupProblem(
            f"{name} did not succeed: {words[-1]}",
            next_move="nothing was changed by it; mend what it says and run the command again",
        )
    return done.stdout


def _without_libpq(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if not name.startswith("PG")}


def _goes_by_file() -> bool:
    """Whether any key of this installation is that of its file."""
    return not set(_FILED) <= set(_named_keys())


def _named_keys() -> list[str]:
    return [name for name in _KEY_VARIABLES if os.environ.get(name, "").strip()]


def _sha256(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as source:
        while chunk := source.read(_CHUNK_BYTES):
            found.update(chunk)
    return found.hexdigest()


def _private(path: Path) -> BinaryIO:
    """A new file that nobody else may read, not even for a moment."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
