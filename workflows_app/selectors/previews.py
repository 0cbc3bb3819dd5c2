"""What somebody sees of a workflow before running it, and the programs that runs are pinned to."""

from dataclasses import dataclass

from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, NotFoundError
from workflows_app.engine.outlines import FirstStep, OutlineItem, first_step, outline
from workflows_app.engine.problems import WorkflowProblem
from workflows_app.engine.program import Program
from workflows_app.engine.values import RevisionValue, WorkflowValue
from workflows_app.models import Revision, Variant
from workflows_app.selectors.programs import load_program
from workflows_app.selectors.rows import revision_told, workflow_value
from workflows_app.selectors.sources import find_revision
from workflows_app.selectors.workflows import (
    find_published,
    find_workflow,
    ids_named,
    old_name_warning,
    visible_workflows,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowPreview:
    """`revision` is the one that a run would be pinned to, or the latest when nothing is published.

    `program` is None for a revision with errors. `outline` is there for those who edit workflows; everybody else sees the
    first step, as in a run.
    """

    workflow: WorkflowValue
    revision: RevisionValue
    requested_id: str
    workflow_hash: str | None
    program: Program | None
    first: FirstStep | None
    outline: tuple[OutlineItem, ...] | None
    warnings: tuple[WorkflowProblem, ...]


def preview_workflow(*, actor: Actor, workflow_id: str) -> WorkflowPreview:
    actor.require(Permission.READ_WORKFLOWS)
    row = find_workflow(actor, workflow_id)
    revision = row.published or find_revision(row, None)
    pinned = (
        find_published(actor=actor, workflow_id=workflow_id).workflow_hash if row.published else revision.program_id
    )
    program = load_program(pinned) if pinned else None
    return WorkflowPreview(
        workflow=workflow_value(row),
        revision=revision_told(revision, actor=actor, workflow_id=row.workflow_id),
        requested_id=workflow_id,
        workflow_hash=pinned,
        program=program,
        first=first_step(program) if program else None,
        outline=outline(program) if program and actor.may(Permission.READ_INTERNALS) else None,
        warnings=old_name_warning(workflow_id, row.workflow_id),
    )


def read_pinned(*, actor: Actor, workflow_id: str, workflow_hash: str) -> Program:
    """The program of that hash, when a workflow that the team sees was ever compiled to it."""
    actor.require(Permission.READ_INTERNALS)
    return find_pinned(actor=actor, workflow_id=workflow_id, workflow_hash=workflow_hash)


def find_pinned(*, actor: Actor, workflow_id: str, workflow_hash: str) -> Program:
    """The same, for whoever tells of it only what every reader of workflows is told."""
    actor.require(Permission.READ_WORKFLOWS)
    mine = Revision.objects.filter(program_id=workflow_hash, workflow__in=visible_workflows(actor))
    if mine.exists() or Variant.objects.filter(program_id=workflow_hash, team_id=actor.team_id).exists():
        program = load_program(workflow_hash)
        _check_same(actor, workflow_id, {program.id, *mine.values_list("workflow__workflow_id", flat=True)})
        return program
    raise NotFoundError(
        "No workflow of your team was compiled to this hash.",
        suggestion="Take the workflowHash from a reply of the run, or from inspect_workflow.",
    )


def _check_same(actor: Actor, workflow_id: str, known: set[str]) -> None:
    """By any name that the workflow has, or had."""
    if known & ids_named(actor, workflow_id):
        return
    names = " or ".join(sorted(known))
    raise InvalidInputError(
        f"The workflowHash is of {names}, and not of {workflow_id[:80]!r}.",
        suggestion=f"Send workflowId {names}, or the workflowHash of a run of the workflow that you mean.",
        details={"parameter": "workflowHash"},
    )
