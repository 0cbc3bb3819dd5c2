"""The next move after a refusal in the words of a dialect. The engine says what is wrong; which tool mends it, a dialect knows."""

from collections.abc import Callable, Mapping
from typing import Any

from teams_app.engine.errors import WorkrailError
from workrail_site.dialects.tokens import name_token

Words = Callable[[WorkrailError], str]


def _beside(text: str) -> Words:
    """After what the refusal suggests itself."""

    def words(refusal: WorkrailError) -> str:
        own = refusal.suggestion or ""
        return own if text in own else " ".join(part for part in (own, text) if part)

    return words


def _instead(text: str) -> Words:
    return lambda _refusal: text


def _where_none(text: str) -> Words:
    return lambda refusal: refusal.suggestion or text


def _lost(text: str) -> dict[str, Words]:
    """Of tokens that lead nowhere."""
    codes = ("UNKNOWN_NODE", "BAD_SIGNATURE", "INVALID_FORMAT", "UNSUPPORTED_VERSION", "SCOPE_MISMATCH")
    return {f"TOKEN_{code}": _beside(text) for code in codes}


def _open_by_name(details: Mapping[str, Any]) -> str:
    """A ready-made call for each question that an agent may pass on."""
    calls = [
        f'respond_checkpoint {{"checkpoint_id": "{name}", "option_id": "<what the user chose>"}}'
        for name in _relayed(details)
    ]
    return f"Ask your user, then call: {'; '.join(calls)}." if calls else ""


def _open_by_handle(details: Mapping[str, Any]) -> str:
    """The one call for the question that was yielded."""
    return (
        "The orchestrator shows it to the user (present_checkpoint), then calls respond_checkpoint "
        '{"checkpoint_handle": "<as it was yielded>", "option_id": "<what the user chose>"}; '
        "the worker goes on with resume_checkpoint."
        if _relayed(details)
        else ""
    )


def _relayed(details: Mapping[str, Any]) -> list[str]:
    return [name for name in details["pending"] if name not in details["needsPerson"]]


def _open(relayed: Callable[[Mapping[str, Any]], str], told_by: str) -> Words:
    """Of questions that are open. Where none is, a person is needed, whom `told_by` lets know; or the refusal says itself what
    helps.
    """

    def words(refusal: WorkrailError) -> str:
        if set(refusal.details) == {"needsPerson"}:
            return f"{told_by} Then go on when a person has answered it in the Studio."
        if "pending" not in refusal.details:
            return refusal.suggestion or ""
        persons = ", ".join(refusal.details["needsPerson"])
        parts = (relayed(refusal.details), f"A signed-in person answers in the Studio: {persons}." if persons else "")
        return " ".join(part for part in parts if part)

    return words


def _retired(text: str) -> Words:
    taken_up = "Call start_session with it, which gives a fresh token of the same session where that is allowed."
    return lambda refusal: taken_up if refusal.details.get("retired") else _beside(text)(refusal)


def _of_activities(lost: str, told_by: str, open_questions: Words) -> dict[str, Words]:
    child = f"next_activity with activity_id end-workflow and the child's token, which {told_by} tells."
    return {
        **_lost(lost),
        "TOKEN_BAD_SIGNATURE": _retired(lost),
        "CHECKPOINT_OPEN": open_questions,
        "RUN_SUSPENDED": _instead(f"Complete the child session, or end it: {child}"),
        "RUN_COMPLETE": _instead("Call start_session without a session_token to begin another run."),
        "ACTIVITY_REQUIRED": _instead("Call next_activity first, with the initialActivity that get_workflow names."),
        "ACTIVITY_NOT_FOUND": _where_none("Call get_workflow for the activities."),
        "INVALID_TRANSITION": _where_none("Enter one that follows it: get_workflow names them."),
    }


_TELL = "Tell of that step in the step_manifest of next_activity."
_WORDS: Mapping[str, Mapping[str, Words]] = {
    "rail": _lost("Call resume_session to find the run again; it gives fresh tokens."),
    "navigation": {
        **_lost("Where no reply is left, begin again with nav_start."),
        "CHECKPOINT_BLOCKING": _instead(
            "Answer it first with nav_action respond_to_checkpoint, then start the triggered workflow."
        ),
    },
    "session": _of_activities(
        "Where no reply is left, begin again with start_session.", "its start_session", _open(_open_by_name, _TELL)
    ),
    "orchestrator": _of_activities(
        "Where no reply is left, call start_session.",
        "get_workflow_status",
        _open(_open_by_handle, f"{_TELL[:-1]}, or ask that checkpoint with yield_checkpoint."),
    ),
}


def in_words_of(dialect: str, refusal: WorkrailError) -> WorkrailError:
    """The same refusal; its suggestion names what this dialect has."""
    words = _WORDS.get(dialect, {}).get(refusal.code)
    if words is not None:
        refusal.suggestion = words(refusal) or None
    return name_token(refusal, dialect=dialect)
