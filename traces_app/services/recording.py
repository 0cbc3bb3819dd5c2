"""The one way into the trace. A call is put into a buffer of its process, and a thread writes what has gathered.

Losing power, or a kill that nobody can catch, loses what was recorded since the last writing began: at most one interval and
the time of a writing. Every other end of a process writes first. When the buffer is full the call writes by itself, which is slow and is counted.
"""

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import psycopg
import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from prometheus_client import Counter, Histogram
from structlog.contextvars import get_contextvars

from sessions_app.engine.runs import Dialect
from teams_app.engine.actors import Actor
from traces_app.services.writing import MadeCall, Noted, write_calls

log = structlog.get_logger(__name__)

INTERVAL_SECONDS = 0.2
# Each writing costs something beside its calls, so they are few; what a kill may lose is bounded by the interval.
BATCH_CALLS = 400
MOST_BUFFERED = 10_000
# Of all calls that wait in one process, about; a body of a mebibyte may be twenty when it is read.
MOST_BUFFERED_BYTES = 64 * 1024 * 1024
# Looked at singly in one call; what has more is taken for as large as a body may become.
_MOST_WEIGHED = 20_000
_LARGE_BYTES = 16 * 1024 * 1024
_VALUE_BYTES = 64
# One statement takes no more than this; a longer queue, after an outage, goes in several.
_MOST_AT_ONCE = 1_000
_OUTAGES = (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)

_written = Counter("workrail_trace_calls", "Tool calls written into the trace")
_in_call = Counter(
    "workrail_trace_written_in_call", "Tool calls whose trace was written by the call: the buffer was full"
)
_lost = Counter("workrail_trace_lost", "Tool calls whose trace could not be written")
_flush_seconds = Histogram("workrail_trace_flush_seconds", "Time to write the calls that had gathered")

Write = Callable[[Sequence[MadeCall]], None]


class Recorder:
    """`write` takes a batch, all of it or nothing. With `interval_seconds` of None nothing is written in the background."""

    def __init__(
        self,
        *,
        write: Write,
        interval_seconds: float | None = INTERVAL_SECONDS,
        batch_calls: int = BATCH_CALLS,
        most_buffered: int = MOST_BUFFERED,
        most_buffered_bytes: int = MOST_BUFFERED_BYTES,
    ) -> None:
        self._write = write
        self._interval_seconds = interval_seconds
        self._batch_calls = batch_calls
        self._most_buffered = most_buffered
        self._most_buffered_bytes = most_buffered_bytes
        self._begin()
        # A child has the parent's buffer and not its thread: what is in it is the parent's to write.
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._buffer: deque[_WaitingCall] = deque()
        self._buffered_bytes = 0
        self._weighing = threading.Lock()
        self._writing = threading.Lock()
        self._starting = threading.Lock()
        self._some = threading.Event()
        self._many = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def record(self, call: MadeCall) -> None:
        """Never raises, and takes a few microseconds unless the buffer is full."""
        waiting, one = len(self._buffer), _WaitingCall(call, bytes_of(call))
        if waiting >= self._most_buffered or self._buffered_bytes + one.size > self._most_buffered_bytes:
            _in_call.inc()
            self._save([one], may_wait=False)
            return
        self._weigh(one.size)
        self._buffer.append(one)
        if self._thread is None:
            self._start()
        if not self._some.is_set():
            self._some.set()
        if waiting + 1 >= self._batch_calls and not self._many.is_set():
            self._many.set()

    def flush(self) -> None:
        """What was recorded before this call is in the database when it returns, unless that cannot be written to."""
        with self._writing:
            self._drain()

    def close(self) -> None:
        """Ends the thread and writes what is left. Calls recorded later are written at the next flush or close."""
        self._is_closed = True
        self._some.set()
        self._many.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=10)
        self.flush()

    def _start(self) -> None:
        if self._interval_seconds is None or self._is_closed:
            return
        with self._starting:
            if self._thread is not None:
                return
            self._thread = threading.Thread(target=self._run, name="trace", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            while not self._is_closed:
                self._some.wait()
                self._many.wait(self._interval_seconds)
                # Cleared before the draining: what comes after it sets them again.
                self._some.clear()
                self._many.clear()
                if not self._is_closed:
                    self.flush()
        finally:
            connection.close()

    def _drain(self) -> None:
        # What is recorded meanwhile gathers for the next time: written at once, busy calls would be a few to a statement.
        waiting = len(self._buffer)
        while waiting > 0:
            # Others append meanwhile; only who holds the lock takes out.
            batch = [self._buffer.popleft() for _ in range(min(waiting, _MOST_AT_ONCE))]
            self._weigh(-sum(one.size for one in batch))
            waiting -= len(batch)
            if not self._save(batch, may_wait=True):
                return

    def _weigh(self, size: int) -> None:
        with self._weighing:
            self._buffered_bytes += size

    def _save(self, batch: "Sequence[_WaitingCall]", *, may_wait: bool) -> bool:
        """Whether the next batch is worth trying. In an outage the batch goes back to wait, when it may."""
        began = time.perf_counter()
        try:
            self._write([one.call for one in batch])
        except _OUTAGES as error:
            self._postpone(batch, error, may_wait=may_wait)
            return False
        except Exception as error:  # noqa: BLE001  the trace never breaks a call
            self._save_singly(batch, error)
            return True
        _written.inc(len(batch))
        _flush_seconds.observe(time.perf_counter() - began)
        return True

    def _postpone(self, batch: "Sequence[_WaitingCall]", error: Exception, *, may_wait: bool) -> None:
        _leave_connection()
        kept = self._that_may_wait(batch) if may_wait else ()
        lost = len(batch) - len(kept)
        self._weigh(sum(one.size for one in kept))
        self._buffer.extendleft(reversed(kept))
        log.warning("trace_not_written", waiting=len(self._buffer), lost=lost, error=type(error).__name__)
        if lost:
            _lost.inc(lost)
        if kept:
            self._some.set()

    def _that_may_wait(self, batch: "Sequence[_WaitingCall]") -> "Sequence[_WaitingCall]":
        """The newest of them that there is room for beside what has gathered meanwhile."""
        first, calls, size = len(batch), len(self._buffer), self._buffered_bytes
        while first and calls < self._most_buffered and size + batch[first - 1].size <= self._most_buffered_bytes:
            first, calls, size = first - 1, calls + 1, size + batch[first - 1].size
        return batch[first:]

    def _save_singly(self, batch: "Sequence[_WaitingCall]", error: Exception) -> None:
        """One call that cannot be written does not take the others with it."""
        if len(batch) == 1:
            _lost.inc()
            log.error("trace_lost", tool=batch[0].call.tool, exc_info=error)
            return
        for one in batch:
            self._save([one], may_wait=True)


class _WaitingCall(NamedTuple):
    call: MadeCall
    size: int


def bytes_of(call: MadeCall) -> int:
    """About how much memory a call holds while it waits, by looking at so many of its values and no more."""
    size, left = _VALUE_BYTES, _MOST_WEIGHED
    waiting: list[Any] = [call.arguments, call.reply]
    while waiting:
        value = waiting.pop()
        size += _VALUE_BYTES
        if isinstance(value, str | bytes):
            size += len(value)
        elif isinstance(value, Mapping | list | tuple):
            left -= len(value)
            if left < 0:
                return max(size, _LARGE_BYTES)
            waiting.extend(value)
            waiting.extend(value.values() if isinstance(value, Mapping) else ())
    return size


def _leave_connection() -> None:
    """It is made anew when it is needed; inside somebody's transaction it is theirs to leave."""
    if not connection.in_atomic_block:
        connection.close()


def _recorder_of_the_process() -> Recorder:
    """In the background unless the settings say no; what is left at the end is written then."""
    if not settings.TRACE_IN_BACKGROUND:
        return Recorder(write=_write, interval_seconds=None)
    made = Recorder(write=_write)
    atexit.register(made.close)
    return made


def _write(calls: Sequence[MadeCall]) -> None:
    write_calls(calls=calls)


recorder = _recorder_of_the_process()


def record_call(
    *,
    actor: Actor,
    dialect: Dialect,
    tool: str,
    arguments: Mapping[str, Any],
    reply: Mapping[str, Any] | bytes | None,
    error_code: str,
    ended_ns: int,
    duration_ns: int,
    noted: Noted | None = None,
) -> None:
    """One call that has ended; `ended_ns` is Unix time. The arguments are kept as they are until they are written, so the
    caller must not change them any more.
    """
    request_id = str(get_contextvars().get("request_id", ""))
    recorder.record(
        MadeCall(
            actor=actor,
            dialect=dialect,
            tool=tool,
            arguments=arguments,
            reply=reply,
            error_code=error_code,
            ended_ns=ended_ns,
            duration_ns=duration_ns,
            request_id=request_id,
            noted=noted,
        )
    )


def flush_calls() -> None:
    """Before a trace is read, so that a process sees its own calls."""
    recorder.flush()


def close_recorder() -> None:
    """For the end of a process, where `atexit` may not run. The connection that the calling thread may have is closed."""
    recorder.close()
    _leave_connection()
