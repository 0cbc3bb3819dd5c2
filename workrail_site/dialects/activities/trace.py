"""The trace of a session, or what trace tokens name of it."""

from collections.abc import Sequence
from typing import Any

from sessions_app.selectors.session_tokens import begun_children
from sessions_app.services.moves.session_tokens import Held
from traces_app.services.reading import get_trace
from workrail_site.dialects.activities.status import parent_json
from workrail_site.mcp.calling import acting


def trace_of(held: Held, trace_tokens: Sequence[str] | None) -> dict[str, Any]:
    handle = held.handle
    reading = get_trace(
        actor=acting(),
        session_id=handle.session_id,
        run_id=handle.run_id,
        trace_tokens=[token.strip() for token in trace_tokens or ()],
    )
    told = reading.as_json()
    if handle.parent is not None:
        told["parent"] = parent_json(handle.parent)
    children = begun_children(actor=acting(), run_id=handle.run_id)
    return {**told, "children": children} if children else told
