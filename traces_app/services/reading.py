"""Reading the trace from a process that may still hold calls of it: what is held is written first."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sessions_app.engine.tokens import TokenKind, TokenUnknownNodeError, signed_alike
from sessions_app.selectors.places import runs_among
from sessions_app.services.store.signing_keys import current_keys
from teams_app.engine.actors import Actor
from teams_app.engine.errors import InvalidInputError, WorkrailError
from teams_app.engine.pages import Page, PageRequest
from traces_app.engine.calls import TraceCall
from traces_app.engine.reading import MAX_EVENTS, MAX_TRACE_TOKENS, TokenError, TraceReading, TraceSource, merged
from traces_app.engine.spans import Stretch, mint_trace_token, read_trace_token
from traces_app.engine.timeline import Timeline, timeline_of
from traces_app.selectors import traces
from traces_app.selectors.traces import Newest
from traces_app.services.recording import flush_calls

MAX_TIMELINE_CALLS = 2_000
TIMELINE_CALLS = 500


def read_session_trace(*, actor: Actor, session_id: UUID, page: PageRequest) -> Page[TraceCall]:
    flush_calls()
    return traces.trace_of_session(actor=actor, session_id=session_id, page=page)


def read_run_trace(*, actor: Actor, run_id: UUID, page: PageRequest) -> Page[TraceCall]:
    flush_calls()
    return traces.trace_of_run(actor=actor, run_id=run_id, page=page)


def read_session_timeline(
    *, actor: Actor, session_id: UUID, limit: int = TIMELINE_CALLS, before: UUID | None = None
) -> Timeline:
    """Of the newest calls of the session and its runs, or of those that came before a call."""
    flush_calls()
    limit = min(limit, MAX_TIMELINE_CALLS)
    return _timeline(traces.newest_of_session(actor=actor, session_id=session_id, limit=limit, before=before))


def read_run_timeline(
    *, actor: Actor, run_id: UUID, limit: int = TIMELINE_CALLS, before: UUID | None = None
) -> Timeline:
    flush_calls()
    limit = min(limit, MAX_TIMELINE_CALLS)
    return _timeline(traces.newest_of_run(actor=actor, run_id=run_id, limit=limit, before=before))


def read_newest_of_run(*, actor: Actor, run_id: UUID, limit: int, before: UUID | None = None) -> Newest:
    """The newest calls of a run, or those that came before a call."""
    flush_calls()
    return traces.newest_of_run(actor=actor, run_id=run_id, limit=min(limit, MAX_TIMELINE_CALLS), before=before)


def get_trace(
    *, actor: Actor, session_id: UUID, run_id: UUID | None = None, trace_tokens: Sequence[str] = ()
) -> TraceReading:
    """What an agent is told of its own calls: the trace of the run or of the whole session, or that of the
    stretches which the tokens name. A bad token, or one of another team, is told beside what the good ones name.
    """
    traces.require_session(actor=actor, session_id=session_id)
    flush_calls()
    if trace_tokens:
        return _by_tokens(actor, session_id, trace_tokens)
    found = (
        traces.newest_of_session(actor=actor, session_id=session_id, limit=MAX_EVENTS, with_reads=False)
        if run_id is None
        else traces.newest_of_run(actor=actor, run_id=run_id, limit=MAX_EVENTS, with_reads=False)
    )
    return TraceReading(session_id=session_id, source=TraceSource.LOG, event_count=found.count, calls=found.calls)


def trace_token_of(*, run_id: UUID, since: datetime, until: datetime, beside: str = "") -> str:
    """The name of what was called in a run between two transitions. It reads nothing and opens nothing by itself.

    `beside` is the session token of the reply: what signed that signs this, so that a reply is repeated as it was.
    """
    ring = current_keys().ring
    if beside:
        ring = signed_alike(keyring=ring, kind=TokenKind.SESSION, text=beside)
    return mint_trace_token(keyring=ring, run_id=run_id, since=since, until=until)


def _timeline(newest: Newest) -> Timeline:
    return timeline_of(calls=newest.calls, is_cut=newest.count > len(newest.calls))


def _by_tokens(actor: Actor, session_id: UUID, trace_tokens: Sequence[str]) -> TraceReading:
    if len(trace_tokens) > MAX_TRACE_TOKENS:
        raise InvalidInputError(
            f"{len(trace_tokens)} trace tokens are more than one call resolves.",
            suggestion=f"Send at most {MAX_TRACE_TOKENS} at once.",
        )
    read = {text: _stretch(text) for text in dict.fromkeys(trace_tokens)}
    run_ids = {one.run_id for one in read.values() if isinstance(one, Stretch)}
    own = runs_among(actor=actor, run_ids=run_ids) if run_ids else {}
    good = [one for one in read.values() if isinstance(one, Stretch) and one.run_id in own]
    found = traces.newest_of_stretches(actor=actor, stretches=merged(good), limit=MAX_EVENTS)
    return TraceReading(
        session_id=session_id,
        source=TraceSource.TOKENS,
        event_count=found.count,
        calls=found.calls,
        token_errors=tuple(
            TokenError.of(text, _no_such_run() if isinstance(one, Stretch) else one)
            for text, one in read.items()
            if not (isinstance(one, Stretch) and one.run_id in own)
        ),
    )


def _stretch(text: str) -> Stretch | WorkrailError:
    try:
        return read_trace_token(keyring=current_keys().ring, text=text)
    except WorkrailError as error:
        return error


def _no_such_run() -> TokenUnknownNodeError:
    """The same for a run that never was and for another team's."""
    return TokenUnknownNodeError("This trace token names no run of your team.")
