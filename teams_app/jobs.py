"""Asks for later work by the name of the task, once the transaction has committed."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from datetime import datetime, timedelta
from functools import partial
from queue import Full, Queue
from typing import Any
from uuid import UUID

import structlog
from celery import Signature, signature
from django.db import transaction
from kombu.exceptions import OperationalError

log = structlog.get_logger("workrail.tasks")

EXPIRE_KEYS = "teams_app.tasks.expire_keys"
DELIVER_NOTICES = "teams_app.tasks.deliver_notices"
MEASURE_STORAGE = "teams_app.tasks.measure_storage"
SEND_MAILS = "teams_app.tasks.send_mails"
FORGET_DELIVERIES = "teams_app.tasks.forget_deliveries"

# Whoever asks waits for nobody: a broker that does not answer is tried once more, and the schedule makes up for it.
_PUBLISHING = {"max_retries": 1, "interval_start": 0, "interval_step": 0.1}

# Once a server did not answer, it is left alone for so long: every request that asks would wait for it.
_REST_SECONDS = 5.0

# So much waits for the thread that asks, and so long is waited for it when the process ends.
_MOST_WAITING = 1_000
_LEAVE_SECONDS = 2.0

# The broker hands a message out again after an hour without an answer, so nothing is parked there for longer; the
# schedule in workrail_site.celery finds what expires later.
_LONGEST_WAIT = timedelta(minutes=30)


class Rest:
    """Whether a server is to be left alone. One thread asks again when the time is over; the others wait for what it finds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until = 0.0

    def is_on(self) -> bool:
        with self._lock:
            now = time.monotonic()
            if self._until == 0.0:
                return False
            if now < self._until:
                return True
            self._until = now + _REST_SECONDS
            return False

    def begin(self) -> None:
        with self._lock:
            self._until = time.monotonic() + _REST_SECONDS

    def end(self) -> None:
        with self._lock:
            self._until = 0.0


class Messenger:
    """A thread that asks the broker for whoever has handed it what to ask, one after the other."""

    def __init__(self) -> None:
        self._waiting: Queue[Callable[[], object] | None] = Queue(_MOST_WAITING)
        self._thread = threading.Thread(target=self._ask_all, name="messenger", daemon=True)
        self._thread.start()

    def take(self, ask: Callable[[], object]) -> bool:
        """False when as many wait as may be."""
        try:
            self._waiting.put_nowait(ask)
        except Full:
            return False
        return True

    def leave(self) -> None:
        """When what waits has been asked, or after a moment: the schedule makes up for the rest."""
        with suppress(Full):
            self._waiting.put_nowait(None)
            self._thread.join(_LEAVE_SECONDS)

    def _ask_all(self) -> None:
        while (ask := self._waiting.get()) is not None:
            try:
                ask()
            except Exception:
                log.exception("task_not_asked_for")


_messenger: Messenger | None = None


@contextmanager
def asking_beside() -> Iterator[None]:
    """Meanwhile nobody in this process waits for the broker: a thread of its own asks, and finds out when it does not answer."""
    global _messenger  # noqa: PLW0603  one for the process, while it serves
    _messenger = Messenger()
    try:
        yield
    finally:
        messenger, _messenger = _messenger, None
        messenger.leave()


# By the address of the broker.
_rests: defaultdict[str, Rest] = defaultdict(Rest)


def ask_after_commit(*, ask: Signature, is_made_up_for: bool = True, **options: Any) -> None:
    """Robust: what is asked for waits in a table, whether or not the broker can be reached, and the schedule finds it. What no
    schedule makes up for is asked for also of a broker that is left alone.
    """
    transaction.on_commit(lambda: _ask_or_hand_over(ask, options, is_made_up_for=is_made_up_for), robust=True)


def _ask_or_hand_over(ask: Signature, options: dict[str, Any], *, is_made_up_for: bool) -> None:
    """What no schedule makes up for is asked at once: what a messenger has may go with its process."""
    messenger = _messenger
    if messenger is None or not is_made_up_for or ask.app.conf.task_always_eager:
        _ask(ask, options, is_made_up_for=is_made_up_for)
    elif not messenger.take(partial(copy_context().run, partial(_ask, ask, options, is_made_up_for=True))):
        log.warning("task_left_to_schedule", task=ask.task, error="Too many others wait for the broker.")


def _ask(ask: Signature, options: dict[str, Any], *, is_made_up_for: bool) -> None:
    rest = _rests[ask.app.conf.broker_write_url]
    if is_made_up_for and rest.is_on():
        log.warning("task_left_to_schedule", task=ask.task, error="The broker did not answer a moment ago.")
        return
    try:
        ask.apply_async(retry_policy=_PUBLISHING, **options)
    except OperationalError as error:
        rest.begin()
        log.warning("task_left_to_schedule", task=ask.task, error=str(error))
    else:
        rest.end()


def ask_to_expire_keys(*, at: datetime, now: datetime) -> None:
    if at - now > _LONGEST_WAIT:
        return
    ask_after_commit(ask=signature(EXPIRE_KEYS, immutable=True), eta=at)


def ask_to_deliver(*, team_id: UUID) -> None:
    ask_after_commit(ask=signature(DELIVER_NOTICES, args=(str(team_id),), immutable=True))


def ask_to_send_mails(*, team_id: UUID) -> None:
    ask_after_commit(ask=signature(SEND_MAILS, args=(str(team_id),), immutable=True))
