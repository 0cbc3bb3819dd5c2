"""What can be done by hand in a run, and how one such call is known again when it is repeated."""

import hashlib
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sessions_app.engine.submissions import NOTHING, Submission
from sessions_app.engine.tokens import NONCE_BYTES
from workflows_app.engine import canonical


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteStep:
    """What is handed in is judged as in a run that is led."""

    step_id: str
    submission: Submission = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class RespondToCheckpoint:
    checkpoint_id: str
    option_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeTransition:
    activity_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvanceLoop:
    loop_id: str
    items: tuple[Any, ...] | None = None


Action = CompleteStep | RespondToCheckpoint | TakeTransition | AdvanceLoop


def nonce_of(*, node_id: UUID, action: Action) -> bytes:
    """The same action at the same node is the same attempt; raises `canonical.NotCanonicalError` for what is no JSON."""
    said = {name: getattr(action, name) for name in type(action).__dataclass_fields__}
    match action:
        case AdvanceLoop(items=items):
            said["items"] = None if items is None else list(items)
        case CompleteStep(submission=submission):
            said["submission"] = submission.as_json()
        case _:
            pass
    body = canonical.canonical_bytes({"action": type(action).__name__, "arguments": said})
    return hashlib.sha256(node_id.bytes + body).digest()[:NONCE_BYTES]
