"""Which revision of a workflow runs: published and retired by people with the role author, never by a key."""

from datetime import datetime

from django.db import transaction

from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import PreconditionFailedError
from teams_app.engine.ids import Prefix, to_text
from teams_app.services.audit import record_audit
from workflows_app.engine.problems import WorkflowProblem
from workflows_app.engine.values import Publication, WorkflowState, WorkflowValue
from workflows_app.models import Revision, Workflow
from workflows_app.selectors.programs import load_program
from workflows_app.selectors.publications import forget_publications
from workflows_app.selectors.rows import revision_value, workflow_value
from workflows_app.selectors.sources import diff_rows, find_revision
from workflows_app.services.compiling import problem_details
from workflows_app.services.storing import published_is, retired_is
from workflows_app.services.variants import refresh_variants
from workflows_app.services.workflows import locked, own_workflow


def publish_revision(*, actor: Actor, workflow_id: str, number: int, base: int | None, now: datetime) -> Publication:
    """From now on runs start with this revision's program, exactly as it was saved; an older one may be published again.

    `base` is the published revision that the person compared with, 0 for none; when given, it must still be the one.
    """
    actor.require(Permission.PUBLISH_WORKFLOWS)
    found = own_workflow(actor, workflow_id)
    with transaction.atomic(durable=True):
        transaction.on_commit(forget_publications)
        row = locked(found)
        before, revision = row.published, find_revision(row, number)
        _check_base(row, base)
        diff = diff_rows(row, base=before, after=revision)
        if before is None or before.pk != revision.pk:
            _publish(row, revision, now)
            _require_bindings_to_fit(row, refresh_variants(team_id=actor.team_id, rows=[row], now=now))
            _record(actor, "workflow.published", row, number, now)
        return Publication(
            workflow=workflow_value(row),
            revision=revision_value(revision, workflow_id=row.workflow_id),
            diff=diff,
        )


def retire_workflow(*, actor: Actor, workflow_id: str, now: datetime) -> WorkflowValue:
    """No run starts with it any more; runs that are on their way go on. Publishing a revision brings it back."""
    actor.require(Permission.PUBLISH_WORKFLOWS)
    found = own_workflow(actor, workflow_id)
    with transaction.atomic(durable=True):
        transaction.on_commit(forget_publications)
        row = locked(found)
        if row.published is not None:
            _record(actor, "workflow.retired", row, row.published.number, now)
            retired_is(row, now=now)
        elif row.state == WorkflowState.DRAFT:
            raise PreconditionFailedError(
                f"{row.workflow_id!r} is a draft: nothing of it runs.", suggestion="Publish a revision, or leave it."
            )
        return workflow_value(row)


def _publish(row: Workflow, revision: Revision, now: datetime) -> None:
    if revision.program_id is None:
        raise PreconditionFailedError(
            f"Revision {revision.number} of {row.workflow_id!r} has {revision.error_count} errors; only one without runs.",
            suggestion="Correct the problems, save a new revision, and publish that.",
            details={"problems": revision.problems},
        )
    published_is(row, revision=revision, program=load_program(revision.program_id), now=now)


def _require_bindings_to_fit(row: Workflow, broken: dict[str, tuple[WorkflowProblem, ...]]) -> None:
    if row.workflow_id in broken:
        raise PreconditionFailedError(
            f"{row.workflow_id!r} does not compile with the routines that your team has bound to its slots.",
            suggestion="Bind other routines, or correct the workflow.",
            details=problem_details(broken[row.workflow_id]),
        )


def _check_base(row: Workflow, base: int | None) -> None:
    current = row.published.number if row.published else 0
    if base is None or base == current:
        return
    raise PreconditionFailedError(
        f"Revision {current} is published now, not {base}: the difference that was looked at is not the one that counts.",
        suggestion="Look at the difference to the published revision again, then publish.",
        details={"publishedRevision": current},
    )


def _record(actor: Actor, action: str, row: Workflow, number: int, now: datetime) -> None:
    record_audit(
        actor=actor,
        action=action,
        target=to_text(Prefix.WORKFLOW, row.pk),
        now=now,
        details={"workflowId": row.workflow_id, "revision": number},
    )
