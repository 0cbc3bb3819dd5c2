"""Pausing, letting go on and cancelling runs: one by one from its page, or several from the list."""

import os
from collections.abc import Callable
from uuid import UUID

from sessions_app.admin import pages, showing
from sessions_app.admin.bulk import ReasonForm, RowsReasonForm, each_row
from sessions_app.engine.runs import ENDED, RunStatus
from sessions_app.services.people import stops
from teams_app.admin.pages import Act, Done, Order
from teams_app.engine.actors import Permission


def _stop(order: Order, stop: Callable[..., None], row_id: UUID) -> None:
    stop(actor=order.actor, run_id=row_id, reason=order.values["reason"], now=order.now, entropy=os.urandom)


def _cancel(order: Order) -> Done:
    row_id = pages.some(order.row_id)
    _stop(order, stops.cancel_run, row_id)
    return Done(message="The run is cancelled.", url=showing.run_url(row_id))


def _pause(order: Order) -> Done:
    row_id = pages.some(order.row_id)
    _stop(order, stops.pause_run, row_id)
    return Done(message="The run is paused.", url=showing.run_url(row_id))


def _resume(order: Order) -> Done:
    row_id = pages.some(order.row_id)
    stops.resume_run(actor=order.actor, run_id=row_id, now=order.now, entropy=os.urandom)
    return Done(message="The run goes on.", url=showing.run_url(row_id))


def _each(order: Order, stop: Callable[..., None], done: str) -> Done:
    return each_row(order, lambda row_id: _stop(order, stop, row_id), noun="run", done=done)


def _cancel_each(order: Order) -> Done:
    return _each(order, stops.cancel_run, "cancelled")


def _pause_each(order: Order) -> Done:
    return _each(order, stops.pause_run, "paused")


PAUSE = Act(
    slug="pause",
    label="Pause",
    question="The run is held where it stands until somebody lets it go on. Its agent is told so at its next call.",
    needs=Permission.STEER_RUNS,
    run=_pause,
    form=ReasonForm,
    is_main=True,
)
RESUME = Act(
    slug="resume",
    label="Let it go on",
    question="The agent goes on where the run was paused.",
    needs=Permission.STEER_RUNS,
    run=_resume,
    is_main=True,
)
CANCEL = Act(
    slug="cancel",
    label="Cancel run",
    question="The run ends for good, and its questions are withdrawn. What was done stays in the log.",
    needs=Permission.STEER_RUNS,
    run=_cancel,
    form=ReasonForm,
    not_now="Keep it",
    is_stop=True,
)
PAUSE_RUNS = Act(
    slug="pause-runs",
    label="Pause",
    question="Each of the runs is held where it stands until somebody lets it go on.",
    needs=Permission.STEER_RUNS,
    run=_pause_each,
    form=RowsReasonForm,
    on_row=False,
    is_bulk=True,
)
CANCEL_RUNS = Act(
    slug="cancel-runs",
    label="Cancel runs",
    question="Each of the runs ends for good, and its questions are withdrawn. What was done stays in the log.",
    needs=Permission.STEER_RUNS,
    run=_cancel_each,
    form=RowsReasonForm,
    not_now="Keep them",
    on_row=False,
    is_bulk=True,
    is_stop=True,
)


def offered(status: RunStatus) -> tuple[Act, ...]:
    """What is not refused to a run that stands so."""
    if status in ENDED:
        return ()
    return (RESUME, CANCEL) if status is RunStatus.PAUSED else (PAUSE, CANCEL)
