"""An installation of a storm's own: servers, web, worker and beat in a home that is deleted afterwards, each of which can die."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from workrail_site.local.accounts import give, server_account
from workrail_site.local.environs import allowed_hosts, application_environ
from workrail_site.local.keys import ensure_keys
from workrail_site.local.places import Places
from workrail_site.local.postgres_server import APP_ROLE, UPKEEP_ROLE, as_role
from workrail_site.local.preparation import preparing
from workrail_site.local.problems import SetupProblem
from workrail_site.local.processes import Child, LocalProgram, ignore_line, start, stop_together
from workrail_site.local.programs import beat_program, web_program, worker_program
from workrail_site.local.servers import Running, Storage, running_servers
from workrail_site.local.supervision import Start
from workrail_site.local.temporary import short_folder
from workrail_site.storms.judge import read_judgement
from workrail_site.storms.stage import StormStage, read_stage

_NO_LIMITS = dict.fromkeys(
    ("WORKRAIL_THROTTLE_ACTOR_PER_MINUTE", "WORKRAIL_THROTTLE_TEAM_PER_MINUTE", "WORKRAIL_TEAM_STORAGE_MIB_PER_MINUTE"),
    "0",
)
# What the environment of whoever starts a storm says of servers of their own is not for it.
_NAMED = ("DATABASE_URL", "DATABASE_OWNER_URL", "DATABASE_MAINTENANCE_URL", "DATABASE_REPLICA_URL", "REDIS_URL")
_DISK_MEBIBYTES = 2_048
_MEBIBYTE = 1024 * 1024
_FAKETIME = (
    Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"),
    Path("/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1"),
    Path("/usr/lib/faketime/libfaketimeMT.so.1"),
)
_END_SECONDS = 30


@dataclass(slots=True, kw_only=True, eq=False)
class SiteMember:
    """One process of the installation, and how it is started again."""

    name: str
    child: Child
    start: Start
    is_frozen: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class StormSite:
    """For the main thread, which starts what died. `skipped` says why a kind of fault cannot be had here."""

    port: int
    environ: Mapping[str, str]
    owner_url: str
    disk: Path | None
    members: dict[str, SiteMember] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    web: LocalProgram

    # Deaths and their ends

    def kill(self, name: str) -> None:
        """With all that it has started, none of it asked."""
        child = self.members[name].child
        frozen = [child.process.pid, *_descendants(child.process.pid)]
        for pid in frozen:
            _signal(pid, signal.SIGSTOP)
        for pid in {*frozen, *_descendants(child.process.pid)}:
            _signal(pid, signal.SIGKILL)
        child.process.wait()

    def kill_one_backend(self, place: int) -> None:
        """Of the processes that PostgreSQL has started; it ends all others then, and recovers."""
        found = sorted(_descendants(self.members["postgres"].child.process.pid))
        if found:
            _signal(found[place % len(found)], signal.SIGKILL)

    def freeze(self, name: str) -> None:
        for pid in (self.members[name].child.process.pid, *_descendants(self.members[name].child.process.pid)):
            _signal(pid, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        for pid in (*_descendants(self.members[name].child.process.pid), self.members[name].child.process.pid):
            _signal(pid, signal.SIGCONT)

    def shift_clock(self, seconds: int) -> None:
        """The web server dies, and is there again with another time of day."""
        library = faketime()
        if library is None:
            raise SetupProblem("There is no libfaketime.", next_move="install it, or do without clock jumps")
        environ = {**self.web.environ, "LD_PRELOAD": str(library), "FAKETIME": f"{seconds:+d}s"}
        environ |= {"FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        self.members["web"].start = partial(start, replace(self.web, environ=environ), sink=ignore_line)
        self.kill("web")

    def fill_disk(self) -> None:
        if self.disk is not None:
            with contextlib.suppress(OSError), (self.disk / "filler").open("wb") as file:
                while True:
                    file.write(b"\0" * min(_MEBIBYTE, max(shutil.disk_usage(self.disk).free, 1)))
                    file.flush()

    def free_disk(self) -> None:
        if self.disk is not None:
            (self.disk / "filler").unlink(missing_ok=True)

    def revive(self) -> list[str]:
        """Starts what is dead; the names of it."""
        dead = [member for member in self.members.values() if not member.child.is_alive]
        for member in dead:
            # What it started in turn must not stay behind with its port.
            stop_together([member.child], grace_seconds=0)
            with contextlib.suppress(SetupProblem):
                member.child = member.start()
        return [member.name for member in dead]

    # What is asked of it

    def run(self, module: str, *arguments: str) -> str:
        """A program of ours on the storm's database, as its owner."""
        environ = {**self.environ, "DATABASE_URL": self.owner_url}
        command = [sys.executable, "-m", module, *arguments]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, cwd=_checkout())
        if done.returncode != 0:
            raise SetupProblem(
                f"{module} failed:\n{done.stderr[-2000:] or done.stdout[-2000:]}", next_move="see the lines above"
            )
        return done.stdout

    def stage(self, key: str, agents: int) -> StormStage:
        return read_stage(self.run("workrail_site.storms.stage", key, str(agents)))

    def notes(self) -> dict[str, int]:
        return read_judgement(self.run("workrail_site.storms.judge"))

    def unsound(self) -> str:
        """What `verify_store` finds; empty where the store is sound."""
        environ = {**self.environ, "DATABASE_URL": self.owner_url}
        command = [sys.executable, "manage.py", "verify_store"]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, cwd=_checkout())
        return "" if done.returncode == 0 else f"{done.stdout[-3000:]}{done.stderr[-1000:]}"


def faketime() -> Path | None:
    return next((path for path in _FAKETIME if path.exists()), None)


def _checkout() -> Path:
    return Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def own_site(
    environ: Mapping[str, str], *, agents: int, words: Path | None = None
) -> Iterator[tuple[StormSite, StormStage]]:
    """Everything started, and a stage set. Nothing of the installation of whoever calls is read."""
    own = {name: value for name, value in environ.items() if name not in _NAMED}
    account = server_account()
    with short_folder(account) as home, _own_disk(home) as (disk, skipped):
        places = Places(checkout=_checkout(), home=home)
        data = disk or home
        storage = Storage(postgres=data / "pg" / "data", redis=home / "valkey", copies=home, is_durable=True)
        with running_servers(storage, environ=own) as running:
            site, key = _site(places, own, running, disk)
            site.skipped.update(skipped)
            try:
                yield site, site.stage(key, agents)
            finally:
                site.free_disk()
                for name in site.members:
                    site.thaw(name)
                if words is not None:
                    _keep_words(site, words)
                stop_together([member.child for member in site.members.values()], grace_seconds=2)
                # Those that were started again are not the ones that the servers' own end knows.
                running.children[:] = []


def _site(places: Places, environ: Mapping[str, str], running: Running, disk: Path | None) -> tuple[StormSite, str]:
    port = _free_port()
    given = application_environ(environ, places=places, keys=ensure_keys(places.keys), addresses=running.addresses)
    given |= _NO_LIMITS | {"WORKRAIL_ALLOWED_HOSTS": allowed_hosts({}, host="127.0.0.1"), "WORKRAIL_WEB_THREADS": "8"}
    with preparing(sys.executable, environ=given, places=places, sink=ignore_line) as preparation:
        outcome = preparation.wait()
    owner = running.addresses.database_url
    upkeep = {**given, "DATABASE_URL": as_role(owner, UPKEEP_ROLE)}
    requests = {**given, "DATABASE_URL": as_role(owner, APP_ROLE)}
    web = web_program(sys.executable, host="127.0.0.1", port=port, environ=requests, places=places)
    worker = worker_program(sys.executable, environ=upkeep, places=places)
    beat = beat_program(sys.executable, environ=upkeep, places=places)
    site = StormSite(port=port, environ=given, owner_url=owner, disk=disk, web=web)
    for child, again in zip(running.children, running.starts, strict=True):
        site.members[child.name] = SiteMember(name=child.name, child=child, start=again)
    for program in (web, worker, beat):
        begin = partial(start, program, sink=ignore_line)
        site.members[program.name] = SiteMember(name=program.name, child=begin(), start=begin)
    return site, outcome.key


@contextlib.contextmanager
def _own_disk(home: Path) -> Iterator[tuple[Path | None, dict[str, str]]]:
    """Of a size of its own, so that it can be full; for root only."""
    folder = Path(tempfile.mkdtemp(prefix="disk-", dir=home))
    folder.chmod(0o755)
    options = f"size={_DISK_MEBIBYTES}m,mode=755"
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        yield None, {"full disk": "a disk of its own can be mounted by root only"}
        return
    try:
        account = server_account()
        (folder / "pg").mkdir()
        give(account, folder / "pg")
        yield folder, {}
    finally:
        deadline = time.monotonic() + _END_SECONDS
        while subprocess.run(["umount", str(folder)], capture_output=True, check=False).returncode != 0:
            if time.monotonic() > deadline:
                subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=False)
                break
            time.sleep(0.2)


def _keep_words(site: StormSite, folder: Path) -> None:
    """The last lines of each, for whoever looks for what went wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    for member in site.members.values():
        (folder / f"{member.name}.log").write_text("\n".join(member.child.tail), "utf-8")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _descendants(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    except OSError:
        return []
    found = [int(child) for child in children]
    return [*found, *(each for child in found for each in _descendants(child))]


def _signal(pid: int, what: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, what)
