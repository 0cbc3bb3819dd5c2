"""`mcp --dialect D`: this installation, to a client that starts a process and speaks by lines to it."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import BinaryIO
from urllib.parse import urlsplit

from workrail_site.dialects.introductions import INTRODUCTIONS
from workrail_site.mcp.stdio.lines import converse
from workrail_site.mcp.stdio.talks import DialectTalk, Served

KEY_VARIABLE = "WORKRAIL_KEY"
MAX_LINE_BYTES = 4 * 1024 * 1024
TEXT, BOTH = "text", "both"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--dialect", choices=sorted(INTRODUCTIONS), help="serve this dialect from the local database")
    where.add_argument(
        "--url",
        type=read_address,
        help="pass everything on to a server, for example https://rails.example.com/mcp/rail",
    )
    parser.add_argument(
        "--reply", choices=[BOTH, TEXT], default=BOTH, help="text: leave the JSON form of replies out (default: both)"
    )
    parser.epilog = f"The agent key comes from the environment: {KEY_VARIABLE}=wr_key_…"


def read_address(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_one = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_one = False
    if not is_one:
        raise argparse.ArgumentTypeError(f"{text!r} is no http or https address of a server")
    return text


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./workrail mcp", description=__doc__)
    add_arguments(parser)
    return parser.parse_args(arguments)


def serve_dialect(*, dialect: str, reply: str, key: str, prepare: Callable[[], None]) -> int:
    """`prepare` makes ready what Django needs, when the first request comes that needs it."""
    opened: list[Callable[[], None]] = []

    def load() -> Served:
        prepare()
        from workrail_site.mcp.stdio.serving import ServedDialect  # noqa: PLC0415  the weight of Django and of the SDK

        served = ServedDialect(dialect, key=key, text_only=reply == TEXT)
        opened.append(served.close)
        return served

    leave_when_told()
    sink = claim_stdout()
    try:
        talk = DialectTalk(dialect, load=load)
        return converse(source=sys.stdin.buffer, sink=sink, talk=talk, max_bytes=MAX_LINE_BYTES)
    finally:
        for close in opened:
            close()


def leave_when_told() -> None:
    """By whoever started it, or with their terminal: what was recorded is written first."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)


def _leave(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)


def claim_stdout() -> BinaryIO:
    """The real one, for messages alone. What else is printed goes where the client expects logs."""
    sink = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return sink
