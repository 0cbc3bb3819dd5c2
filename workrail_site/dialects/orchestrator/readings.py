"""A checkpoint's handle, under either of its names."""

from teams_app.engine.errors import InvalidInputError


def handle_of(checkpoint_handle: str | None, session_token: str | None) -> str:
    """Both are the same opaque text; the handle is meant where both came."""
    given = next((text for text in (checkpoint_handle, session_token) if text and text.strip()), None)
    if given is None:
        raise InvalidInputError(
            "Either checkpoint_handle or session_token must be provided.",
            suggestion="Pass the checkpoint_handle that the worker yielded.",
            details={
                "validationErrors": [{"path": "checkpoint_handle", "message": "Required, and missing."}],
                "correctTemplate": {"checkpoint_handle": "<checkpoint_handle>"},
            },
        )
    return given
