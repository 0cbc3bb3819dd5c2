"""Becomes another program, one that ends when the starter does: PARENT_PID SIGNAL UID GID COMMAND...

A `preexec_fn` would do the same, but is unsafe beside threads. The parent-death signal is asked for after the change of
account, because that change clears it, and the parent is looked at after that, because it may be gone by then.
"""

import ctypes
import os
import signal
import sys

KEEP_ACCOUNT = -1
_PR_SET_PDEATHSIG = 1


def _change_account(uid: int, gid: int) -> None:
    if uid != KEEP_ACCOUNT:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)


def _die_with(parent: int, death_signal: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, death_signal)
    if os.getppid() != parent:
        sys.exit("The starter is gone.")


def _forget_python_signals() -> None:
    """What this interpreter, or a shell that started it in the background, ignores must not be inherited."""
    for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def main(arguments: list[str]) -> None:
    parent, death_signal, uid, gid = (int(text) for text in arguments[:4])
    _change_account(uid, gid)
    _die_with(parent, death_signal)
    _forget_python_signals()
    os.execv(arguments[4], arguments[4:])


if __name__ == "__main__":
    main(sys.argv[1:])
