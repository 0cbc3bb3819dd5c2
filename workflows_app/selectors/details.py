"""One workflow with as much of it as is asked for."""

from teams_app.engine.actors import Actor, Permission
from teams_app.engine.pages import DEFAULT_LIMIT
from workflows_app.engine.values import Include, RevisionValue, WorkflowDetail
from workflows_app.models import Alias, Revision, Workflow
from workflows_app.selectors.programs import load_program
from workflows_app.selectors.rows import revision_told, workflow_value
from workflows_app.selectors.sources import find_revision, require_internals, source_files
from workflows_app.selectors.workflows import find_workflow, old_name_warning

_INTERNALS = frozenset({Include.SOURCE, Include.PROGRAM})


def read_workflow(
    *, actor: Actor, workflow_id: str, number: int | None = None, include: frozenset[Include] = frozenset()
) -> WorkflowDetail:
    """By id or alias, in any state; revision `number`, or the latest."""
    if include & _INTERNALS:
        require_internals(actor)
    else:
        actor.require(Permission.READ_WORKFLOWS)
    row = find_workflow(actor, workflow_id)
    revision = find_revision(row, number)
    return WorkflowDetail(
        workflow=workflow_value(row),
        requested_id=workflow_id,
        revision=revision_told(revision, actor=actor, workflow_id=row.workflow_id),
        published=None
        if row.published is None
        else revision_told(row.published, actor=actor, workflow_id=row.workflow_id),
        aliases=_aliases(actor, row),
        warnings=old_name_warning(workflow_id, row.workflow_id),
        source=source_files(row, revision) if Include.SOURCE in include else None,
        program=load_program(revision.program_id) if Include.PROGRAM in include and revision.program_id else None,
        history=_history(actor, row) if Include.HISTORY in include else (),
    )


def _aliases(actor: Actor, row: Workflow) -> tuple[str, ...]:
    rows = Alias.objects.filter(team_id=actor.team_id, workflow=row).order_by("alias")
    return tuple(rows.values_list("alias", flat=True))


def _history(actor: Actor, row: Workflow) -> tuple[RevisionValue, ...]:
    newest = Revision.objects.filter(workflow=row).order_by("-number")[:DEFAULT_LIMIT]
    return tuple(revision_told(revision, actor=actor, workflow_id=row.workflow_id) for revision in newest)
