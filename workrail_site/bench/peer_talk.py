"""A server of MCP behind a command, spoken to by lines, and what its replies say in whichever form it says it."""

import json
import re
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from toon_format import decode as decode_toon

from workrail_site.bench.processor_time import processor_seconds

_REVISION = "2025-06-18"
_FENCE = re.compile(r"^---\s*$", re.MULTILINE)
_HEADERS = re.compile(r"^([A-Za-z_]+): *(\S+) *$", re.MULTILINE)
_PATIENCE_SECONDS = 10


class PeerError(Exception):
    """The server cannot be measured: what it said, or that it said nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerReply:
    """`said` are the objects that a reply holds: as JSON of its own, as text that is JSON or TOON, in its metadata."""

    text: str
    said: tuple[Mapping[str, Any], ...]
    is_error: bool
    size_bytes: int

    def find(self, *names: str) -> Any:
        """The first of the names that anything in the reply has, at whatever depth; None without one."""
        return next((value for one in self.said for key, value in _walk(one) if key in names), None)


@dataclass(slots=True)
class Peer:
    """One process, one conversation. `times_ms` are those of its tools, by name."""

    process: subprocess.Popen[bytes]
    tools: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    times_ms: dict[str, list[float]] = field(default_factory=dict)
    sizes: dict[str, list[int]] = field(default_factory=dict)
    _last_id: int = 0

    @classmethod
    def started(cls, command: str) -> "Peer":
        try:
            process = subprocess.Popen(
                shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            raise PeerError(f"The command cannot be run: {error}") from None
        peer = cls(process)
        try:
            peer._greet()
        except BaseException:
            peer.close()
            raise
        return peer

    def call(self, tool: str, arguments: Mapping[str, Any]) -> PeerReply:
        """Raises PeerError for a refusal: the work of a measurement is work that is right."""
        began = time.perf_counter()
        line = self._ask("tools/call", {"name": tool, "arguments": dict(arguments)})
        self.times_ms.setdefault(tool, []).append((time.perf_counter() - began) * 1e3)
        self.sizes.setdefault(tool, []).append(len(line))
        reply = read_reply(line)
        if reply.is_error:
            raise PeerError(f"{tool} was refused: {reply.text[:500]}")
        return reply

    def processor_seconds(self) -> float | None:
        return processor_seconds(self.process.pid)

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                # What nobody reads any more cannot be written out either.
                with suppress(BrokenPipeError):
                    stream.close()
        try:
            self.process.wait(timeout=_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _greet(self) -> None:
        who = {"name": "workrail-bench", "version": "1"}
        self._ask("initialize", {"protocolVersion": _REVISION, "capabilities": {}, "clientInfo": who})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        listed = json.loads(self._ask("tools/list", {}))
        self.tools = {tool["name"]: tool for tool in listed["result"]["tools"]}

    def _ask(self, method: str, params: Mapping[str, Any]) -> bytes:
        """The line that answers; what comes besides, notices and questions, is passed over."""
        self._last_id += 1
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        while line := self._read():
            message = json.loads(line)
            if message.get("id") == self._last_id and "method" not in message:
                if "error" in message:
                    raise PeerError(f"{method} was refused: {json.dumps(message['error'])[:500]}")
                return line
        raise PeerError(f"The server ended before it answered {method}.")

    def _send(self, message: Mapping[str, Any]) -> None:
        if self.process.stdin is None:
            raise PeerError("The server has no way in.")
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise PeerError("The server has ended.") from None

    def _read(self) -> bytes:
        return b"" if self.process.stdout is None else self.process.stdout.readline()


def read_reply(line: bytes) -> PeerReply:
    result = json.loads(line)["result"]
    text = "\n".join(part.get("text", "") for part in result.get("content", ()) if isinstance(part, Mapping))
    objects = (result.get("structuredContent"), *_objects_in(text), result.get("_meta"))
    return PeerReply(
        text=text,
        said=tuple(one for one in objects if isinstance(one, Mapping)),
        is_error=bool(result.get("isError")),
        size_bytes=len(line),
    )


def _objects_in(text: str) -> Iterator[Any]:
    """Parts of a text are divided by fences; a part is JSON, or TOON, or words, and before it may stand lines of headers."""
    for part in (text, *_FENCE.split(text)):
        for read in (json.loads, decode_toon):
            try:
                found = read(part.strip())
            except Exception:  # noqa: BLE001, S112  what is no JSON may be TOON, and what is neither is words
                continue
            yield found
            break
    yield dict(_HEADERS.findall(text))


def _walk(value: Any) -> Iterator[tuple[str, Any]]:
    """Names and values, those further out first."""
    if isinstance(value, Mapping):
        yield from value.items()
        for inner in value.values():
            yield from _walk(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _walk(inner)
