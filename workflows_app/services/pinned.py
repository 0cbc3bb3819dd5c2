"""Programs that a run is pinned to and that no workflow here may have: they are kept under their hash, and never offered."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from teams_app.engine.actors import Actor, Permission
from workflows_app.engine import canonical
from workflows_app.engine.program import program_from_bytes
from workflows_app.engine.source import Content
from workflows_app.selectors.programs import StoredContent
from workflows_app.services.storing import store_program


def keep_program(*, actor: Actor, program: bytes, contents: Iterable[StoredContent], now: datetime) -> str:
    """Store the program under the hash of its bytes; returns the hash. Nothing is published by it.

    Whoever brings a program decides what agents are told, as whoever publishes one does.
    """
    actor.require(Permission.PUBLISH_WORKFLOWS)
    workflow_hash = canonical.digest(program)
    attached = [
        Content(
            kind=content.kind,
            digest=content.digest,
            text=content.text,
            document=None if content.document is None else msgspec.json.decode(content.document.encode()),
        )
        for content in contents
    ]
    store_program(program=program_from_bytes(program), workflow_hash=workflow_hash, contents=attached, now=now)
    return workflow_hash
