"""Under which account PostgreSQL runs: it refuses root, so root lends it an existing account. None is ever created."""

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from workrail_site.local.problems import SetupProblem

_WILLING = ("postgres", "nobody")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    name: str
    uid: int
    gid: int


def server_account() -> Account | None:
    """The account that root lends; None for an ordinary user, who runs the server as itself."""
    if os.geteuid() != 0:
        return None
    for name in _WILLING:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid)
    raise SetupProblem(
        "PostgreSQL refuses to run as root, and there is no account postgres or nobody to run it under.",
        next_move="run ./workrail as an ordinary user, or name a server of your own with DATABASE_URL",
    )


def run_as(account: Account | None, command: list[str], *, text: str = "") -> subprocess.CompletedProcess[str]:
    """`text` is what the command reads."""
    return subprocess.run(
        command,
        cwd="/",
        input=text,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
    )


def runs(account: Account | None, command: list[str]) -> bool:
    """Whether the command succeeds under the account. The surest way to ask what an account may reach."""
    try:
        return run_as(account, command).returncode == 0
    except OSError:
        return False


def can_enter(account: Account | None, folder: Path) -> bool:
    return runs(account, [shutil.which("test") or "/usr/bin/test", "-x", str(folder)])


def give(account: Account | None, folder: Path) -> None:
    if account is not None:
        os.chown(folder, account.uid, account.gid)


def nameless_prefix() -> list[str]:
    """`initdb` wants a name for its user id, which containers often lack: a user namespace lends it the one of nobody.

    The files still belong to the caller. The server itself, once there is a cluster, needs no name.
    """
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        return _as_nobody()
    return []


def _as_nobody() -> list[str]:
    unshare = shutil.which("unshare")
    prefix = [unshare or "unshare", "--user", "--map-user=nobody"]
    if unshare is None or not runs(None, [*prefix, "true"]):
        raise SetupProblem(
            f"PostgreSQL needs an account name, and the user id {os.geteuid()} has none.",
            next_move="run as a user that /etc/passwd knows, or name a server of your own with DATABASE_URL",
        )
    return prefix
