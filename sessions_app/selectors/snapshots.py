"""States as they are stored. Their bytes are named by their digest, so what was changed in the table is not acted on."""

from sessions_app.engine.state import Snapshot, snapshot_from_bytes
from sessions_app.engine.tokens import SessionNotHealthyError
from workflows_app.engine import canonical


def sound_snapshot(*, data: bytes, digest: str) -> Snapshot:
    """Refuses bytes that are gone or are not those that were written."""
    return snapshot_from_bytes(sound_bytes(data=data, digest=digest))


def sound_bytes(*, data: bytes, digest: str) -> bytes:
    if canonical.digest(data) != digest:
        raise SessionNotHealthyError(
            "What is stored of this step is not what was written.",
            suggestion="Tell the operators of the server: `./workrail verify_store` shows what is damaged.",
            details={"health": "digest_mismatch"},
        )
    return data
