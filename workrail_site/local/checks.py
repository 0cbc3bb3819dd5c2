"""`./workrail test`: every check by name, the quick ones first, each timed, and a summary."""

import argparse
import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from workrail_site.local.accounts import server_account
from workrail_site.local.environs import application_environ
from workrail_site.local.foreground import run_in_foreground
from workrail_site.local.keys import new_keys
from workrail_site.local.places import Places, is_writable
from workrail_site.local.servers import fleeting_storage, running_servers
from workrail_site.local.venvs import Environment

_APPS = ("workrail_site", "teams_app", "workflows_app", "sessions_app", "traces_app")
# One waits for servers while two work; whoever has no tests left takes over those of another.
_PROCESSES = ("-n", "3", "--dist", "worksteal")


class CheckStage(StrEnum):
    LINT = "lint"
    TYPES = "types"
    IMPORTS = "imports"
    MIGRATIONS = "migrations"
    TESTS = "tests"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    stage: CheckStage
    name: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinding:
    check: Check
    exit_code: int
    seconds: float

    @property
    def is_good(self) -> bool:
        return self.exit_code == 0

    def as_line(self) -> str:
        verdict = "ok" if self.is_good else f"failed ({self.exit_code})"
        return f"  {self.check.name:<12} {verdict:<12} {self.seconds:6.1f} s"


def read_arguments(arguments: Sequence[str]) -> tuple[frozenset[CheckStage], list[str]]:
    """The stages that are wanted, and what belongs to pytest."""
    parser = argparse.ArgumentParser(
        prog="./workrail test", allow_abbrev=False, epilog="Everything else goes to pytest."
    )
    parser.add_argument("--only", choices=[stage.value for stage in CheckStage], action="append", default=[])
    found, rest = parser.parse_known_args(arguments)
    return frozenset(CheckStage(name) for name in found.only) or frozenset(CheckStage), rest


def run(arguments: Sequence[str], *, places: Places, environment: Environment) -> int:
    """Returns the exit code of the first check that failed. The tests run only when all before them passed."""
    stages, for_pytest = read_arguments(arguments[1:])
    with _tool_environ(stages, places) as environ:
        findings: list[CheckFinding] = []
        for each in planned_checks(stages, for_pytest, environment=environment, places=places):
            if each.stage is CheckStage.TESTS and not all(finding.is_good for finding in findings):
                break
            findings.append(_run(each, environ=environ, places=places))
    print("\n" + "\n".join(finding.as_line() for finding in findings), flush=True)
    return next((finding.exit_code for finding in findings if not finding.is_good), 0)


def planned_checks(
    stages: frozenset[CheckStage], for_pytest: Sequence[str], *, environment: Environment, places: Places
) -> list[Check]:
    return [
        each for stage in CheckStage if stage in stages for each in _checks_of(stage, for_pytest, environment, places)
    ]


def _checks_of(stage: CheckStage, for_pytest: Sequence[str], environment: Environment, places: Places) -> list[Check]:
    ruff, python = environment.tool("ruff"), str(environment.python)
    match stage:
        case CheckStage.LINT:
            return [
                Check(stage=stage, name="lint", command=(ruff, "check", ".", "workrail")),
                Check(stage=stage, name="format", command=(ruff, "format", "--check", "--quiet", ".", "workrail")),
            ]
        case CheckStage.TYPES:
            return [Check(stage=stage, name="types", command=(environment.tool("mypy"), *_APPS))]
        case CheckStage.IMPORTS:
            command = (environment.tool("lint-imports"), *_import_cache(places))
            return [Check(stage=stage, name="imports", command=command)]
        case CheckStage.MIGRATIONS:
            arguments = ("manage.py", "makemigrations", "--check", "--dry-run")
            return [Check(stage=stage, name="migrations", command=(python, *arguments))]
        case CheckStage.TESTS:
            flags = (*_parallel(for_pytest), *for_pytest)
            return [Check(stage=stage, name="tests", command=(python, "-m", "pytest", *flags))]
        case _:
            assert_never(stage)


def _parallel(for_pytest: Sequence[str]) -> list[str]:
    """Three processes, unless the arguments say how many or ask for a debugger, which needs the terminal."""
    says = any(each.startswith("-n") or each in {"--pdb", "--numprocesses", "--trace"} for each in for_pytest)
    return [] if says else [*_PROCESSES]


@contextlib.contextmanager
def _tool_environ(stages: frozenset[CheckStage], places: Places) -> Iterator[dict[str, str]]:
    """One pair of servers serves the migrations check and the tests; the other checks need none."""
    environ = {**os.environ, **_caches(places)}
    if not stages & {CheckStage.MIGRATIONS, CheckStage.TESTS}:
        yield environ
        return
    account = server_account()
    with fleeting_storage(account) as storage, running_servers(storage, environ=os.environ) as running:
        yield application_environ(
            {**environ, "WORKRAIL_ENV": "test"}, places=places, keys=new_keys(), addresses=running.addresses
        )


def _caches(places: Places) -> dict[str, str]:
    """In the checkout, where tools look for them; in the home when the checkout can only be read.

    Hundreds of processes that the tests start would each compile the product anew where the environment forbids bytecode.
    """
    if is_writable(places.checkout):
        return {"PYTHONDONTWRITEBYTECODE": ""}
    names = {"MYPY_CACHE_DIR": "mypy", "RUFF_CACHE_DIR": "ruff", "HYPOTHESIS_STORAGE_DIRECTORY": "hypothesis"}
    return {name: str(places.home / "cache" / folder) for name, folder in names.items()} | {
        "PYTHONDONTWRITEBYTECODE": "1"
    }


def _import_cache(places: Places) -> tuple[str, ...]:
    return () if is_writable(places.checkout) else ("--cache-dir", str(places.home / "cache" / "imports"))


def _run(each: Check, *, environ: Mapping[str, str], places: Places) -> CheckFinding:
    print(f"\n== {each.name}: {' '.join(each.command)}", flush=True)
    started_at = time.monotonic()
    exit_code = run_in_foreground(each.command, environ=environ, folder=places.checkout)
    return CheckFinding(check=each, exit_code=exit_code, seconds=time.monotonic() - started_at)
