"""Everything published that a team can run, as programs: for guides that speak of all workflows at once."""

from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError, PreconditionFailedError
from teams_app.engine.pages import MAX_LIMIT, PageRequest
from workflows_app.engine.program import Program, WorkflowKind
from workflows_app.engine.values import WorkflowState, WorkflowValue
from workflows_app.selectors.programs import load_program, load_programs
from workflows_app.selectors.workflows import (
    WorkflowFilters,
    count_workflows,
    find_published,
    list_workflows,
    visible_workflows,
)

# So many at most are told of in one guide.
MAX_WORKFLOWS = 200
_PUBLISHED = WorkflowFilters(kind=WorkflowKind.WORKFLOW, state=WorkflowState.PUBLISHED)


def list_published(*, actor: Actor) -> tuple[WorkflowValue, ...]:
    """The published workflows, routines left out, in the order of their ids, as far as they are told of."""
    found: list[WorkflowValue] = []
    after: str | None = None
    while len(found) < MAX_WORKFLOWS:
        page = list_workflows(actor=actor, filters=_PUBLISHED, page=PageRequest(after=after, limit=MAX_LIMIT))
        found.extend(page.items)
        after = page.next_position
        if after is None:
            break
    return tuple(found[:MAX_WORKFLOWS])


def count_published(*, actor: Actor, without: str = "") -> int:
    """All of them, however many are told of, save the one that is left out."""
    return count_workflows(actor=actor, filters=_PUBLISHED, without=without)


def read_published(*, actor: Actor, workflow_id: str, beside: str = "") -> Program:
    """What a run of that workflow would be pinned to now. `beside` is the workflow that names it: siblings go first."""
    actor.require(Permission.READ_WORKFLOWS)
    return load_program(find_published(actor=actor, workflow_id=workflow_id, beside=beside).workflow_hash)


def find_program(*, actor: Actor, workflow_id: str, beside: str = "") -> Program | None:
    """The same; none where there is none that runs."""
    try:
        return read_published(actor=actor, workflow_id=workflow_id, beside=beside)
    except (NotFoundError, PreconditionFailedError):
        return None


def published_programs(*, actor: Actor) -> tuple[Program, ...]:
    """What runs would be pinned to now, as far as they are told of. Two queries, one where this process knows the programs."""
    actor.require(Permission.READ_WORKFLOWS)
    rows = visible_workflows(actor).filter(kind=WorkflowKind.WORKFLOW.value, state=WorkflowState.PUBLISHED.value)
    hashes = rows.order_by("order_key").values_list("published__program_id", flat=True)[:MAX_WORKFLOWS]
    return tuple(load_programs(hashes).values())
