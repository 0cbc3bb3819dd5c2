"""Under which names tokens travel in each dialect, and of which kind each is."""

from collections.abc import Mapping

from sessions_app.engine.tokens import TokenKind
from teams_app.engine.errors import WorkrailError

RAIL_TOKENS = {
    "stateToken": TokenKind.STATE,
    "ackToken": TokenKind.ACK,
    "checkpointToken": TokenKind.BOOKMARK,
    "sessionToken": TokenKind.SESSION,
}
NAVIGATION_TOKENS = {"state": TokenKind.STATE}
ACTIVITY_TOKENS = {"session_token": TokenKind.SESSION, "checkpoint_handle": TokenKind.SESSION}
_ASKED_FOR = {"parent_session_token": TokenKind.SESSION, "trace_tokens": TokenKind.TRACE}

# Of two names the first is meant where a token is spoken of.
TOKENS_OF: Mapping[str, Mapping[str, TokenKind]] = {
    "rail": RAIL_TOKENS,
    "navigation": NAVIGATION_TOKENS,
    "session": {**ACTIVITY_TOKENS, **_ASKED_FOR},
    "orchestrator": {**ACTIVITY_TOKENS, **_ASKED_FOR},
    "lookup": {},
}


def name_token(refusal: WorkrailError, *, dialect: str) -> WorkrailError:
    """The same refusal; the token that it is about is called as it travels in the dialect."""
    kind = refusal.details.pop("token", None)
    named = next((name for name, known in TOKENS_OF.get(dialect, {}).items() if known.value == kind), "")
    refusal.details |= {"parameter": named} if named else {}
    return refusal
