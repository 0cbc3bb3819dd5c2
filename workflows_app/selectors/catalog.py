"""Everything published that a team can run, as programs: for guides that speak of all workflows at once."""

from teams_app.engine.actors import Actor, Permission
from teams_app.engine.pages import MAX_LIMIT, PageRequest
from workflows_app.engine.program import Program, WorkflowKind
from workflows_app.engine.values import WorkflowState, WorkflowValue
from workflows_app.selectors.programs import load_program
from workflows_app.selectors.workflows import WorkflowFilters, find_published, list_workflows

# So many at most are told of in one guide.
MAX_WORKFLOWS = 200


def list_published(*, actor: Actor) -> tuple[WorkflowValue, ...]:
    """The published workflows, routines left out, in the order of their ids."""
    filters = WorkflowFilters(kind=WorkflowKind.WORKFLOW, state=WorkflowState.PUBLISHED)
    found: list[WorkflowValue] = []
    after: str | None = None
    while len(found) < MAX_WORKFLOWS:
        page = list_workflows(actor=actor, filters=filters, page=PageRequest(after=after, limit=MAX_LIMIT))
        found.extend(page.items)
        after = page.next_position
        if after is None:
            break
    return tuple(found[:MAX_WORKFLOWS])


def read_published(*, actor: Actor, workflow_id: str, beside: str = "") -> Program:
    """What a run of that workflow would be pinned to now. `beside` is the workflow that names it: siblings go first."""
    actor.require(Permission.READ_WORKFLOWS)
    return load_program(find_published(actor=actor, workflow_id=workflow_id, beside=beside).workflow_hash)
