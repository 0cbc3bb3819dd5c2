"""A clone of HEAD on a machine that has a Python and nothing else, as root and as an ordinary user."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from workrail_site.local.places import CHECKOUT

_MUST_BE_ABSENT = re.compile(r"uvx?|psql|initdb|postgres|pg_.*|pgbench|redis-.*|valkey.*|docker.*")
# Where packages come from is the machine's business: mirrors, proxies and certificates stay.
_INDEX_VARIABLES = re.compile(r"(?i)(pip_.*|.*_proxy|ssl_cert_.*|requests_ca_bundle)")
NOBODY = 65534


@dataclass(frozen=True)
class Person:
    name: str
    uid: int

    def identity(self):
        """For subprocess; empty when nothing has to change."""
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.uid, "extra_groups": []}


@dataclass(frozen=True)
class Machine:
    person: Person
    folder: Path
    checkout: Path
    environ: dict

    def start(self, *arguments, log, person=None, **environ):
        """`./workrail …` as the person, from the checkout."""
        with log.open("w") as file:
            return subprocess.Popen(
                ["./workrail", *arguments],
                cwd=self.checkout,
                env=self.environ | environ,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                **(person or self.person).identity(),
            )


def _people():
    if os.geteuid() == 0:
        return [Person("root", 0), Person("ordinary-user", NOBODY)]
    return [Person("ordinary-user", os.geteuid())]


def _python_for(person):
    """An interpreter that the person may run, with a pip that can fill an environment."""
    question = "import sys, pip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))"
    for python in (Path("/usr/bin/python3"), Path(sys._base_executable).resolve()):
        if python.exists():
            try:
                answer = subprocess.run([python, "-c", question], cwd="/", check=False, **person.identity())
            except PermissionError:
                continue
            if answer.returncode == 0:
                return python
    return None


def _bare_path(folder, python):
    """The commands of the system without any server, and without uv."""
    folder.mkdir()
    for source in ("/usr/bin", "/bin"):
        for program in Path(source).iterdir():
            if not _MUST_BE_ABSENT.fullmatch(program.name) and not program.name.startswith("python"):
                (folder / program.name).unlink(missing_ok=True)
                (folder / program.name).symlink_to(program)
    (folder / "python3").symlink_to(python)
    return folder


@pytest.fixture(scope="module")
def nameless():
    """A user id that no account has, as containers give it; None where it cannot be had."""
    person = Person("nameless", 54321)
    try:
        command = ["unshare", "--user", "--map-user=nobody", "true"]
        answer = subprocess.run(command, cwd="/", check=False, capture_output=True, **person.identity())
    except OSError:
        return None
    return person if answer.returncode == 0 else None


@pytest.fixture(scope="module", params=_people(), ids=lambda person: person.name)
def machine(request):
    person = request.param
    python = _python_for(person)
    if python is None:
        pytest.skip(f"no Python from 3.11 to 3.14 that {person.name} may run")
    folder = Path(tempfile.mkdtemp(prefix="fresh-", dir="/tmp"))
    try:
        folder.chmod(0o755)
        (folder / "home").mkdir()
        subprocess.run(["git", "clone", "--quiet", CHECKOUT, folder / "checkout"], check=True)
        environ = {name: value for name, value in os.environ.items() if _INDEX_VARIABLES.fullmatch(name)}
        environ |= {"HOME": str(folder / "home"), "PATH": str(_bare_path(folder / "bin", python)), "CI": "true"}
        for path in (folder / "home", *(folder / "checkout").rglob("*"), folder / "checkout"):
            os.chown(path, person.uid, person.uid, follow_symlinks=False)
        yield Machine(person=person, folder=folder, checkout=folder / "checkout", environ=environ)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
