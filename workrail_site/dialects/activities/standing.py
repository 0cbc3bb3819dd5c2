"""Where a call stands: what its token names, what is to be warned of, and what the trace is told of it."""

import os
from collections.abc import Callable
from contextlib import suppress

from django.utils import timezone

from sessions_app.engine import stops
from sessions_app.engine.handover_refusals import no_activity
from sessions_app.engine.runs import Dialect
from sessions_app.services.moves.handed_over import Handed, HandoverCall, changed_since
from sessions_app.services.moves.session_tokens import Held, read_held, refuse_gated
from teams_app.engine.errors import WorkrailError
from traces_app.services.writing import Noted
from workflows_app.engine.program import Activity
from workrail_site.dialects.activities.speech import ACTIVITIES
from workrail_site.mcp.calling import acting, note_call


def standing(token: str, *, dialect: Dialect) -> Held:
    held = read_held(actor=acting(), token=token, dialect=dialect)
    note(held)
    return held


def ungated(token: str) -> Held:
    """For the tools of the orchestrator dialect that hand out work: none while a question is open."""
    held = standing(token, dialect=Dialect.ORCHESTRATOR)
    refuse_gated(held)
    return held


def note(held: Held, *, warning: str = "", activity: str | None = None) -> None:
    """Its token names a holder, which only the service can look up; so the trace is told where the call belongs. Warnings
    that the reply lists are known to it; one that stands elsewhere is told.
    """
    handle = held.handle
    note_call(
        Noted(
            session_id=handle.session_id,
            run_id=handle.run_id,
            agent_id=handle.agent_id,
            activity=held.snapshot.position.activity if activity is None else activity,
            warnings=[{"code": "", "message": warning}] if warning else (),
        )
    )


def moving(token: str, *, dialect: Dialect, move: Callable[[HandoverCall], Handed]) -> Handed:
    """A call that moves the run. The trace is told where it found it; of one that is refused, where it stands."""
    actor = acting()
    try:
        handed = move(
            HandoverCall(
                actor=actor, dialect=dialect, token=token, now=timezone.now(), entropy=os.urandom, speech=ACTIVITIES
            )
        )
    except WorkrailError:
        with suppress(WorkrailError):
            note(read_held(actor=actor, token=token, dialect=dialect))
        raise
    note(handed.held, activity=handed.found_in)
    return handed


def notices_of(held: Held) -> list[str]:
    """That a person has stopped the run, and that the workflow was published anew since the run began with it."""
    stop = held.snapshot.stop
    stopped = [] if stop is None else [str(stops.refusal(stop))]
    return [*stopped, *changed_since(acting(), held.standing, held.program, now=timezone.now())]


def current_activity(held: Held) -> Activity:
    if held.activity is None:
        raise no_activity()
    return held.activity
