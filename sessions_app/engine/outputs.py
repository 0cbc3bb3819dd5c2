"""What an agent hands in: notes, cut at a budget of bytes, context, merged as a delta, and how an output stands in the log."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import orjson

from sessions_app.engine.runs import OutputChannel
from sessions_app.engine.state import BlockerCode
from teams_app.engine.errors import InvalidInputError
from workflows_app.engine import canonical

MAX_NOTES_BYTES = 4096
TRUNCATION_MARKER = "\n\n[TRUNCATED]"
MAX_CONTEXT_BYTES = 256 * 1024
MAX_CONTEXT_DEPTH = 32
RESERVED_KEYS = frozenset(
    {
        "__proto__",
        "constructor",
        "prototype",
        "eat_token",
        "parent_eat_token",
        "metrics_harness",
        "metrics_active_model",
    },
)


def cut_text(text: str, *, max_bytes: int, marker: str = TRUNCATION_MARKER) -> str:
    """The text if it fits, else as many whole characters as leave room for the marker, itself cut where it has none."""
    raw = text.encode("utf-8")
    if len(raw) <= max_bytes:
        return text
    end = marker.encode("utf-8")[:max_bytes]
    return (raw[: max_bytes - len(end)]).decode("utf-8", "ignore") + end.decode("utf-8", "ignore")


def cut_notes(notes: str) -> str:
    return cut_text(notes, max_bytes=MAX_NOTES_BYTES)


def check_text(text: str, *, name: str, max_characters: int | None = None) -> None:
    """Refuse what the log cannot hold, before anything is decided on it."""
    try:
        canonical.check_storable(text)
    except canonical.UnreadableJsonError as error:
        raise InvalidInputError(
            f"{name} cannot be stored. {error.message}",
            suggestion="Send plain text without that character.",
            details={"parameter": name, "reason": error.reason},
        ) from error
    if max_characters is not None and len(text) > max_characters:
        raise InvalidInputError(
            f"{name} has {len(text)} characters; at most {max_characters} are kept.",
            suggestion="Say it in fewer words; what is longer belongs into notes.",
            details={"parameter": name, "maxCharacters": max_characters},
        )


def merge_context(stored: Mapping[str, Any] | None, delta: Mapping[str, Any] | None) -> dict[str, Any]:
    """A shallow merge in which null deletes. Raises for reserved keys and for a result beyond the budget."""
    merged = dict(stored or {})
    for key, value in (delta or {}).items():
        if key in RESERVED_KEYS:
            raise InvalidInputError(
                f"The context key {key!r} is reserved.",
                suggestion="Choose another name for the variable and call again.",
                details={"reason": "RESERVED_KEY_REJECTED", "key": key},
            )
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    if delta:
        check_context(merged)
    return merged


def check_context(context: Mapping[str, Any]) -> None:
    try:
        canonical.check_storable(context, max_depth=MAX_CONTEXT_DEPTH)
        size = len(canonical.canonical_bytes(dict(context)))
    except canonical.UnreadableJsonError as error:
        raise InvalidInputError(
            f"The context cannot be stored. {error.message}",
            suggestion="Send plain JSON values and keep large material in the workspace.",
            details={"reason": error.reason},
        ) from error
    except canonical.NotCanonicalError as error:
        raise InvalidInputError("The context has no canonical form.", details={"reason": str(error)}) from error
    if size > MAX_CONTEXT_BYTES:
        raise InvalidInputError(
            f"The context would have {size} bytes; at most {MAX_CONTEXT_BYTES} are kept.",
            suggestion="Remove keys with null, or keep large material in the workspace and pass its path.",
            details={
                "reason": BlockerCode.CONTEXT_BUDGET_EXCEEDED.value,
                "measuredBytes": size,
                "maxBytes": MAX_CONTEXT_BYTES,
            },
        )


def output_name(*, channel: OutputChannel, output_id: UUID) -> str:
    """An output as the log names it."""
    return f"out_{channel.value}_{output_id.hex}"


def payload(*, channel: OutputChannel, body: str, sha256: str, kind: str) -> dict[str, Any]:
    """What the log keeps of an output."""
    if channel is OutputChannel.RECAP:
        return {"payloadKind": "notes", "notesMarkdown": body}
    return {
        "payloadKind": "artifact_ref",
        "sha256": sha256,
        "contentType": "application/json",
        "byteLength": len(body.encode("utf-8")),
        "artifactKind": kind,
        # Inline: what the tables keep of it can be made again from the log alone.
        "content": orjson.loads(body),
    }
