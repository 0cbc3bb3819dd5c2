"""How long a long session takes to leave as a file and to come back, and how much memory that takes."""

import os
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, cast
from uuid import UUID

from django.utils import timezone

from sessions_app.engine.submissions import Submission
from sessions_app.selectors.sessions import read_session
from sessions_app.services.bundles.files import export_session, import_bundle
from sessions_app.services.moves import runs
from sessions_app.services.moves.beginning import Beginning, start_run
from teams_app.engine.actors import ActorKind, Role
from teams_app.engine.ids import Prefix, from_text
from workrail_site.bench.stage import NOTES, BenchStage
from workrail_site.dialects.rail.replies import RAIL

_MEBIBYTE = 1024 * 1024
_FORGET, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


def bundle_report(*, stage: BenchStage, events: int) -> str:
    session_id, count = _long_session(stage, events)
    author = replace(stage.actor, kind=ActorKind.PERSON, role=Role.OWNER, scopes=frozenset())
    with tempfile.TemporaryFile() as file:
        source = cast("BinaryIO", file)
        before = _peak_from_here()
        export = _seconds(
            lambda: export_session(actor=author, session_id=session_id, write=source.write, now=timezone.now())
        )
        size = source.tell()
        exported = _peak_bytes() - before
        before = _peak_from_here()
        taken_in = _seconds(lambda: import_bundle(actor=author, source=source, now=timezone.now()))
        imported = _peak_bytes() - before
    return "\n".join(
        [
            f"A session of {count} events, a bundle of {size / _MEBIBYTE:.1f} MiB:",
            f"  export                   {export:8.2f} s, {exported / _MEBIBYTE:6.1f} MiB more memory at its peak",
            f"  import, checked twice    {taken_in:8.2f} s, {imported / _MEBIBYTE:6.1f} MiB",
        ],
    )


def _long_session(stage: BenchStage, events: int) -> tuple[UUID, int]:
    """Advanced until its log is so long. A run that is at its end is followed by another one in the same session."""
    now = timezone.now()
    value = _begun(stage, now)
    session_id = from_text(Prefix.SESSION, value["session"]["sessionId"])
    if session_id is None:
        raise RuntimeError("A start answers with the id of its session.")
    count = 0
    while count < events:
        for _ in range(100):
            now += timedelta(seconds=1)
            value = _begun(stage, now, session_id) if value["isComplete"] else _advanced(stage, now, value)
        count = read_session(actor=stage.actor, session_id=session_id).event_count
    return session_id, count


def _begun(stage: BenchStage, now: datetime, session_id: UUID | None = None) -> dict[str, Any]:
    beginning = Beginning(workflow_id=stage.workflow_id, goal="Leave as a file", session_id=session_id)
    return start_run(actor=stage.actor, beginning=beginning, now=now, entropy=os.urandom, speech=RAIL).value


def _advanced(stage: BenchStage, now: datetime, value: dict[str, Any]) -> dict[str, Any]:
    return runs.advance_run(
        actor=stage.actor,
        state_token=value["stateToken"],
        ack_token=value["ackToken"],
        submission=Submission(notes=NOTES),
        preferences=None,
        now=now,
        entropy=os.urandom,
        speech=RAIL,
    ).value


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _peak_from_here() -> int:
    """Where memory stands; on Linux what was the peak before this is forgotten."""
    if _FORGET.exists():
        _FORGET.write_text("5", encoding="utf-8")
    return _peak_bytes()


def _peak_bytes() -> int:
    if _STATUS.exists():
        (peak,) = [line for line in _STATUS.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM:")]
        return int(peak.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
