"""`mcp --url …`: a server elsewhere, for a client that only starts processes. Its restarts are waited for here."""

import base64
import random
import select
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO
from uuid import uuid4

import httpx2

from teams_app.engine.named_requests import CALL_KEY
from workrail_site.json_rpc import RpcCode
from workrail_site.mcp.doubled_keys import DoubledKeyError
from workrail_site.mcp.messages import Json, LargeNumberError, Request, RpcError, parse, written
from workrail_site.mcp.revisions import BATCHES, VERSION_KEY
from workrail_site.mcp.stdio.command import MAX_LINE_BYTES, TEXT, claim_stdout, leave_when_told
from workrail_site.mcp.stdio.lines import ClientLeftError, FinishedError, converse

# A server that is started anew is back within this; a client rarely waits longer.
PATIENCE_SECONDS = 60.0
_READ_SECONDS = 300.0
_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 5.0
_TOO_BUSY = frozenset({429, 503})
_NOT_FOUND = 404
_ACCEPTED = frozenset({202, 204})
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_SESSION = "mcp-session-id"


def pass_on(*, url: str, reply: str, key: str) -> int:
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    if reply == TEXT:
        headers["Workrail-Reply"] = TEXT
    leave_when_told()
    sink = claim_stdout()
    timeout = httpx2.Timeout(_READ_SECONDS, connect=10.0)
    with httpx2.Client(headers=headers, timeout=timeout, follow_redirects=False) as http:
        talk = BridgeTalk(http, url, patience=Patience(seconds=PATIENCE_SECONDS, pause=pause_for(sink)))
        return converse(source=sys.stdin.buffer, sink=sink, talk=talk, max_bytes=MAX_LINE_BYTES)


def pause_for(sink: BinaryIO) -> Callable[[float], None]:
    """Waits so many seconds, unless the client leaves: nobody else would end a process that waits for its server."""
    waiting = select.poll()
    # Nothing is asked for but what is told unasked, that the other end is closed.
    waiting.register(sink.fileno(), 0)

    def pause(seconds: float) -> None:
        if waiting.poll(seconds * 1000):
            raise ClientLeftError

    return pause


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a server that does not answer is waited for, in all, for one message."""

    seconds: float
    pause: Callable[[float], None]


class BridgeTalk:
    """Each message is one request. What the server forgot of the session, it is told again."""

    def __init__(self, http: httpx2.Client, url: str, *, patience: Patience) -> None:
        self._http = http
        self._url = url
        self._patience = patience
        self._greeting: Json | None = None
        self._session = ""
        self._version = ""
        self._repeatable: frozenset[str] = frozenset()
        self._nameable: frozenset[str] = frozenset()

    def takes_batches(self) -> bool:
        return self._version == BATCHES

    def notice(self, request: Request) -> None:
        """Said once: nobody waits for an answer, and what comes next is not to wait for a server that is away."""
        self._try(request.body, may_repeat=True)

    def answer(self, request: Request) -> Any:
        if request.method == "shutdown":
            raise FinishedError
        if request.method == "initialize":
            self._session = self._version = ""
        response = self._exchange(request)
        result = _result_of(response)
        if request.method == "initialize":
            self._remember(request.body, response, result)
        elif request.method == "tools/list":
            self._repeatable |= _repeatable(result)
            self._nameable |= _nameable(result)
        return result

    def _remember(self, greeting: Json, response: httpx2.Response, result: Any) -> None:
        self._greeting = greeting
        self._session = _sendable(response.headers.get(_SESSION, ""))
        self._version = _sendable(result.get("protocolVersion", "")) if isinstance(result, dict) else ""

    def _exchange(self, request: Request) -> httpx2.Response:
        body, may_repeat = self._named(request), self._may_repeat(request)
        response = self._send(body, may_repeat=may_repeat)
        if response.status_code == _NOT_FOUND and self._session and self._greeting is not None:
            self._greet_again(self._greeting)
            response = self._send(body, may_repeat=may_repeat)
        return response

    def _named(self, request: Request) -> Json:
        """A call that begins something has a name, so that it can be repeated; a client that names its calls has done so."""
        if _tool_in(request) not in self._nameable:
            return request.body
        params = dict(request.params)
        meta = params.get("_meta")
        if meta is not None and not isinstance(meta, dict):
            return request.body
        return {**request.body, "params": {**params, "_meta": {CALL_KEY: str(uuid4()), **(meta or {})}}}

    def _greet_again(self, greeting: Json) -> None:
        self._session = ""
        response = self._send(greeting, may_repeat=True)
        self._remember(greeting, response, _result_of(response))
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"}, may_repeat=True)

    def _may_repeat(self, request: Request) -> bool:
        """Whether it does no harm when the server has done it already and its answer was lost."""
        return request.method != "tools/call" or _tool_in(request) in self._repeatable | self._nameable

    def _send(self, body: Json, *, may_repeat: bool) -> httpx2.Response:
        """Tried again where the server did not take it up, or where taking it up twice is the same."""
        ends_at = time.monotonic() + self._patience.seconds
        pause = _FIRST_PAUSE_SECONDS
        while True:
            found = self._try(body, may_repeat=may_repeat)
            if isinstance(found, httpx2.Response) and found.status_code not in _TOO_BUSY:
                return found
            wait = _asked_pause(found, default=pause)
            if time.monotonic() + wait > ends_at:
                return _given_up(found)
            self._patience.pause(wait * random.uniform(0.8, 1.2))  # noqa: S311  so that clients do not come all at once
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    def _try(self, body: Json, *, may_repeat: bool) -> httpx2.Response | str:
        """The response, or why there is none."""
        try:
            return self._http.post(self._url, content=written(body), headers=self._headers(body))
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            return f"{self._url} does not answer: {error}"
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            failure = f"The answer of {self._url} was lost: {error}"
        if not may_repeat:
            raise _lost(f"{failure}. It may have been done: look where the run stands before you repeat it.")
        return failure

    def _headers(self, body: Mapping[str, Any]) -> dict[str, str]:
        """Those of the session; or, for a message that says its own revision, those that route it."""
        params = body.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        said = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
        if isinstance(said, str):
            method = str(body.get("method", ""))
            name = params.get(_NAMED_BY[method]) if method in _NAMED_BY and isinstance(params, dict) else None
            routing = {"MCP-Protocol-Version": in_header(said), "Mcp-Method": in_header(method)}
            return routing | ({"Mcp-Name": in_header(str(name))} if name is not None else {})
        session = {_SESSION: self._session} if self._session else {}
        return session | ({"MCP-Protocol-Version": self._version} if self._version else {})


def _result_of(response: httpx2.Response) -> Any:
    """Raises RpcError for an answer that is an error, and for one that is none of JSON-RPC."""
    if response.status_code in _ACCEPTED:
        return {}
    message = _message_of(response)
    if isinstance(message, dict) and isinstance(message.get("error"), dict):
        error = message["error"]
        code = error.get("code")
        text = str(error.get("message", "")) or "Server error"
        raise RpcError(code if isinstance(code, int) else RpcCode.SERVER, error.get("data"), message=text)
    if isinstance(message, dict) and "result" in message:
        return message["result"]
    raise _lost(f"The server answered {response.status_code} without a message of MCP.")


def _message_of(response: httpx2.Response) -> Any:
    """Of a stream of events, the last message that answers. What cannot be read is none."""
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        return _read(response.content)
    messages = [_read(event.encode("utf-8", "replace")) for event in _events(response.text)]
    answers = [each for each in messages if isinstance(each, dict) and ("result" in each or "error" in each)]
    return answers[-1] if answers else None


def _read(data: bytes) -> Any:
    try:
        return parse(data)
    except (RpcError, DoubledKeyError, LargeNumberError):
        return None


def _events(text: str) -> Iterator[str]:
    """The data of each event, which may stand in several lines."""
    for event in text.replace("\r\n", "\n").split("\n\n"):
        lines = [
            line.removeprefix("data:").removeprefix(" ") for line in event.splitlines() if line.startswith("data:")
        ]
        if lines:
            yield "\n".join(lines)


def in_header(text: str) -> str:
    """As 2026-07-28 writes into a header what no header can hold as it is."""
    if text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode()}?="


def _sendable(said: object) -> str:
    """What the server has said, where it can be said to it again."""
    return said if isinstance(said, str) and said.isascii() and said.isprintable() else ""


def _tool_in(request: Request) -> str:
    name = request.params.get("name")
    return name if request.method == "tools/call" and isinstance(name, str) else ""


def _repeatable(result: Any) -> frozenset[str]:
    """The tools that say of themselves that calling them twice is the same as once."""
    tools = result.get("tools") if isinstance(result, dict) else None
    named = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    hints = ((tool.get("name"), tool.get("annotations")) for tool in named)
    return frozenset(
        name for name, said in hints if isinstance(name, str) and isinstance(said, dict) and _is_harmless(said)
    )


def _is_harmless(said: Mapping[str, Any]) -> bool:
    return bool(said.get("idempotentHint") or said.get("readOnlyHint"))


def _nameable(result: Any) -> frozenset[str]:
    """The tools of which two calls of one name are the same as one."""
    meta = result.get("_meta") if isinstance(result, dict) else None
    names = meta.get(CALL_KEY) if isinstance(meta, dict) else None
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()


def _asked_pause(found: httpx2.Response | str, *, default: float) -> float:
    said = found.headers.get("retry-after", "") if isinstance(found, httpx2.Response) else ""
    return float(said) if said.isascii() and said.isdigit() else default


def _given_up(found: httpx2.Response | str) -> httpx2.Response:
    if isinstance(found, str):
        raise _lost(found)
    return found


def _lost(details: str) -> RpcError:
    return RpcError(RpcCode.SERVER, {"details": details})
