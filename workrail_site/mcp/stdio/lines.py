"""A conversation by lines: one message each, answered in their order, until the client leaves."""

import contextlib
import traceback
from collections.abc import Iterator
from typing import Any, BinaryIO, Protocol

from workrail_site.json_rpc import RpcCode
from workrail_site.mcp.doubled_keys import DoubledKeyError
from workrail_site.mcp.messages import (
    Json,
    LargeNumberError,
    Request,
    RpcError,
    answered,
    failed,
    parse,
    refusal_to,
    request_of,
    usable_id,
    written,
)

MAX_BATCH = 100
_OVER = 1


class FinishedError(Exception):
    """The client has said goodbye: `result` is the last answer."""

    def __init__(self, result: Any = None) -> None:
        super().__init__()
        self.result = result


class FatalError(Exception):
    """Nothing can be answered from here on: `error` is the last answer, and the process ends with a failure."""

    def __init__(self, error: RpcError) -> None:
        super().__init__(error.message)
        self.error = error


class Talk(Protocol):
    """Who answers. `answer` raises RpcError to refuse, FinishedError and FatalError to end."""

    def takes_batches(self) -> bool: ...

    def answer(self, request: Request) -> Any: ...

    def notice(self, request: Request) -> None: ...


class ClientLeftError(Exception):
    """Nobody reads the answers any more."""


def converse(*, source: BinaryIO, sink: BinaryIO, talk: Talk, max_bytes: int) -> int:
    """The exit status. A client that has gone is no failure."""
    with contextlib.suppress(BrokenPipeError, ClientLeftError):
        for line in _lines(source, max_bytes):
            said, status = _reply_to(line, talk)
            if said is not None:
                sink.write(written(said) + b"\n")
                sink.flush()
            if status is not None:
                return status
    return 0


def _lines(source: BinaryIO, max_bytes: int) -> Iterator[bytes | None]:
    """None for a line that is longer than is read."""
    while line := source.readline(max_bytes + _OVER):
        if len(line) > max_bytes and not line.endswith(b"\n"):
            while (rest := source.readline(max_bytes)) and not rest.endswith(b"\n"):
                pass
            yield None
        elif line.strip():
            yield line


def _reply_to(line: bytes | None, talk: Talk) -> tuple[Json | list[Json] | None, int | None]:
    if line is None:
        return failed(None, RpcError(RpcCode.INVALID_REQUEST, {"details": "the line is too long"})), None
    try:
        message = parse(line)
    except RpcError as error:
        return failed(None, error), None
    except (DoubledKeyError, LargeNumberError) as error:
        return failed(
            usable_id({"id": error.request_id}), RpcError(RpcCode.INVALID_REQUEST, {"details": str(error)})
        ), None
    if not isinstance(message, list):
        return _one(message, talk)
    if not talk.takes_batches() or not 0 < len(message) <= MAX_BATCH:
        details = "batches of 1 to 100 messages belong to revision 2025-03-26"
        return failed(None, RpcError(RpcCode.INVALID_REQUEST, {"details": details})), None
    return _batch(message, talk)


def _batch(messages: list[Any], talk: Talk) -> tuple[list[Json] | None, int | None]:
    answers: list[Json] = []
    for message in messages:
        said, status = _one(message, talk)
        answers.extend([] if said is None else [said])
        if status is not None:
            return answers, status
    return answers or None, None


def _one(message: Any, talk: Talk) -> tuple[Json | None, int | None]:
    request_id = usable_id(message)
    try:
        request = request_of(message)
        if request is None:
            return None, None
        if request.id is None:
            talk.notice(request)
            return None, None
        return answered(request.id, talk.answer(request)), None
    except RpcError as error:
        return refusal_to(message, error), None
    except FinishedError as end:
        return answered(request_id, end.result), 0
    except FatalError as end:
        return failed(request_id, end.error), 1
    except ClientLeftError:
        raise
    except Exception:  # noqa: BLE001  the outermost: a defect is told to whoever reads the log, and the conversation goes on
        traceback.print_exc()
        defect = RpcError(RpcCode.INTERNAL, {"details": "A defect; the standard error of the server says more."})
        return None if request_id is None else failed(request_id, defect), None
