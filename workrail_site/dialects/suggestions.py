"""The next move after a refusal in the words of a dialect. The engine says what is wrong; which tool mends it, a dialect knows."""

from teams_app.engine.errors import WorkrailError

_FIND_AGAIN = "Call resume_session to find the run again; it gives fresh tokens."
_LOST = (
    "TOKEN_UNKNOWN_NODE",
    "TOKEN_BAD_SIGNATURE",
    "TOKEN_INVALID_FORMAT",
    "TOKEN_UNSUPPORTED_VERSION",
    "TOKEN_SCOPE_MISMATCH",
)
# Beside what the refusal suggests itself.
_BESIDE: dict[str, dict[str, str]] = {
    "rail": dict.fromkeys(_LOST, _FIND_AGAIN),
    "navigation": dict.fromkeys(_LOST, "Where no reply is left, begin again with nav_start."),
    "session": dict.fromkeys(_LOST, "Where no reply is left, begin again with start_session."),
    "orchestrator": dict.fromkeys(_LOST, "Where no reply is left, call start_session."),
}


def in_words_of(dialect: str, refusal: WorkrailError) -> WorkrailError:
    """The same refusal; its suggestion names what this dialect has."""
    beside = _BESIDE.get(dialect, {}).get(refusal.code, "")
    if beside and beside not in (refusal.suggestion or ""):
        refusal.suggestion = " ".join(part for part in (refusal.suggestion, beside) if part)
    return refusal
