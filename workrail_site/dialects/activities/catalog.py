"""What needs no session: the way in, the workflows, and whether the server answers."""

import time
from collections.abc import Sequence
from typing import Any

from teams_app.engine.actors import Actor
from workflows_app.engine.activities.references import META, find_resource
from workflows_app.engine.program import Program
from workflows_app.engine.values import WorkflowValue
from workflows_app.selectors.catalog import count_published, find_program, list_published
from workrail_site.dialects.activities.resources import body_of

VERSION = "1"
_BOOTSTRAP = "00"
_began = time.monotonic()


def choices(actor: Actor) -> tuple[WorkflowValue, ...]:
    """What a user's goal can be matched with. `meta` serves all of them and is the goal of nobody."""
    return tuple(each for each in list_published(actor=actor) if each.workflow_id != META)


def left_out(actor: Actor, told: Sequence[WorkflowValue]) -> int:
    """How many more there are to choose from than are told of."""
    return count_published(actor=actor, without=META) - len(told)


def universal(actor: Actor, *, beside: str = "") -> Program | None:
    """The workflow whose skills and resources serve all others; a team may have none that can be run, or one in the
    namespace of `beside`, which goes first.
    """
    return find_program(actor=actor, workflow_id=META, beside=beside)


def bootstrap_text(actor: Actor) -> str:
    program = universal(actor)
    found = None if program is None else find_resource(program=program, reference=_BOOTSTRAP)
    return "" if found is None else body_of(found).strip()


def health(actor: Actor, *, server: str) -> dict[str, Any]:
    return {
        "status": "healthy",
        "server": server,
        "version": VERSION,
        "workflows_available": count_published(actor=actor, without=META),
        "uptime_seconds": int(time.monotonic() - _began),
    }
