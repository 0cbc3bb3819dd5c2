"""What the doors are told of an export or import that a worker does."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sessions_app.engine.bundles import BundleJobKind, BundleJobState


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleJobValue:
    """`result` is what an import has come to, or the refusal that ended the job."""

    id: UUID
    kind: BundleJobKind
    state: BundleJobState
    session_id: UUID | None
    asked_by: str
    done_events: int
    total_events: int
    size_bytes: int
    result: Mapping[str, Any] | None
    created_at: datetime
    finished_at: datetime | None
    expires_at: datetime
