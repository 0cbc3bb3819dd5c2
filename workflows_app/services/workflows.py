"""Workflows of a team: made, revised, forked. What runs is decided in `publishing`."""

from dataclasses import replace
from datetime import datetime

from django.db import IntegrityError, transaction

from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, PreconditionFailedError
from teams_app.engine.ids import Prefix, to_text
from teams_app.services.audit import record_audit
from workflows_app.engine.names import check_id
from workflows_app.engine.packing import source_digest
from workflows_app.engine.problems import without_others
from workflows_app.engine.source import Origin, Source, SourceFormat, StepsSchema, Strictness
from workflows_app.engine.values import Checked, Saved
from workflows_app.models import Alias, Revision, Workflow
from workflows_app.selectors.programs import load_program
from workflows_app.selectors.rows import revision_value, workflow_value
from workflows_app.selectors.sources import files_of, find_revision
from workflows_app.selectors.workflows import find_workflow
from workflows_app.services.compiling import Compiled, compile_for, problem_details, renamed, require_own_id
from workflows_app.services.storing import add_revision, add_workflow, latest_is
from workflows_app.services.turns import hold_names


def validate_source(*, actor: Actor, source: Source) -> Checked:
    """What saving would say; nothing is saved."""
    actor.require(Permission.READ_WORKFLOWS)
    compiled = compile_for(actor=actor, source=source)
    problems = compiled.problems
    if not actor.may(Permission.READ_INTERNALS):
        problems = without_others(problems, own_files=compiled.source.files)
    return Checked(workflow_id=compiled.workflow_id, workflow_hash=compiled.workflow_hash, problems=problems)


def create_workflow(*, actor: Actor, source: Source, message: str, now: datetime) -> Saved:
    """A new draft. It may have errors, which it then tells wherever it is listed; its id must be one of a team's own."""
    actor.require(Permission.EDIT_WORKFLOWS)
    compiled = compile_for(actor=actor, source=source)
    return insert_workflow(actor=actor, compiled=compiled, message=message, forked_from="", now=now)


def revise_workflow(
    *, actor: Actor, workflow_id: str, source: Source, base_revision: int, message: str, now: datetime
) -> Saved:
    """A new revision on top of `base_revision`, which must still be the latest. What runs does not change."""
    actor.require(Permission.EDIT_WORKFLOWS)
    found = own_workflow(actor, workflow_id)
    compiled = compile_for(actor=actor, source=_as_before(source, find_revision(found, None)))
    if compiled.workflow_id != found.workflow_id:
        raise InvalidInputError(
            f"The source says the id {compiled.workflow_id!r}, and the workflow is {found.workflow_id!r}.",
            suggestion="Keep the id, or fork the workflow to give it another.",
            details=problem_details(compiled.problems),
        )
    with transaction.atomic(durable=True):
        row = locked(found)
        if base_revision != row.latest_number:
            raise PreconditionFailedError(
                f"The latest revision is {row.latest_number}, not {base_revision}: somebody has revised it since.",
                suggestion=f"Read revision {row.latest_number}, join your change to it, and send it as the base.",
                details={"latestRevision": row.latest_number},
            )
        return append_revision(actor=actor, row=row, compiled=compiled, message=message, now=now)


def fork_workflow(
    *, actor: Actor, workflow_id: str, new_id: str, number: int | None, message: str, now: datetime
) -> Saved:
    """A draft of the actor's team with another id; without a number, of the published revision, or else the latest."""
    actor.require(Permission.EDIT_WORKFLOWS)
    found = find_workflow(actor, workflow_id)
    revision = found.published if number is None and found.published else find_revision(found, number)
    wrong = check_id(workflow_id=new_id, origin=Origin.TEAM)
    if wrong:
        raise InvalidInputError(wrong[0].message, suggestion=wrong[0].suggestion, details=problem_details(wrong))
    program = None if revision.program_id is None else load_program(revision.program_id)
    source = renamed(source=_own_source(revision), program=program, workflow_id=new_id)
    compiled = compile_for(actor=actor, source=source, siblings={found.workflow_id: source})
    origin = f"{found.workflow_id}@{revision.number}"
    return insert_workflow(actor=actor, compiled=compiled, message=message, forked_from=origin, now=now)


def insert_workflow(*, actor: Actor, compiled: Compiled, message: str, forked_from: str, now: datetime) -> Saved:
    """In a transaction of its own."""
    try:
        with transaction.atomic(durable=True):
            hold_names(team_id=actor.team_id, names=[compiled.workflow_id])
            return add_new(actor=actor, compiled=compiled, message=message, forked_from=forked_from, now=now)
    except IntegrityError as error:
        # Two that create the same id at once: the unique constraint lets one in.
        if "workflow_id_unique_per_team" in str(error):
            raise taken(compiled.workflow_id) from error
        raise


def add_new(*, actor: Actor, compiled: Compiled, message: str, forked_from: str, now: datetime) -> Saved:
    """Inside the caller's transaction, which holds its id."""
    workflow_id = require_own_id(compiled)
    if Workflow.objects.filter(team_id=actor.team_id, workflow_id=workflow_id).exists():
        raise taken(workflow_id)
    if Alias.objects.filter(team_id=actor.team_id, alias=workflow_id).exists():
        raise PreconditionFailedError(
            f"{workflow_id!r} is an alias in your team.", suggestion="Remove the alias first, or choose another id."
        )
    row = add_workflow(
        team_id=actor.team_id, workflow_id=workflow_id, compiled=compiled, forked_from=forked_from, now=now
    )
    revision = add_revision(row=row, number=1, compiled=compiled, message=message, actor=actor, now=now)
    _record(actor, "workflow.created", row, revision, now)
    return saved(row, revision, created=True)


def append_revision(*, actor: Actor, row: Workflow, compiled: Compiled, message: str, now: datetime) -> Saved:
    """Inside the caller's transaction, with the row locked. The same source that means the same is not saved twice."""
    latest = find_revision(row, None)
    if latest.source_digest == source_digest(compiled.source) and _means(latest) == _meant(compiled):
        return saved(row, latest, created=False)
    row.latest_number += 1
    revision = add_revision(row=row, number=row.latest_number, compiled=compiled, message=message, actor=actor, now=now)
    latest_is(row, compiled=compiled, now=now)
    _record(actor, "workflow.revised", row, revision, now)
    return saved(row, revision, created=True)


def own_workflow(actor: Actor, workflow_id: str) -> Workflow:
    """The team's own row, by id or alias; the bundled ones are for reading."""
    row = find_workflow(actor, workflow_id)
    if row.team_id is None:
        raise PreconditionFailedError(
            f"{row.workflow_id!r} is bundled with Workrail and cannot be changed.",
            suggestion="Fork it into a namespace of your own, and change that.",
            details={"workflowId": row.workflow_id},
        )
    return row


def locked(row: Workflow) -> Workflow:
    """The row again, locked until the end of the transaction: revisions of one workflow are numbered one at a time."""
    return Workflow.objects.select_for_update(no_key=True, of=("self",)).select_related("published").get(pk=row.pk)


def saved(row: Workflow, revision: Revision, *, created: bool) -> Saved:
    return Saved(
        workflow=workflow_value(row),
        revision=revision_value(revision, workflow_id=row.workflow_id),
        created=created,
    )


def taken(workflow_id: str) -> PreconditionFailedError:
    return PreconditionFailedError(
        f"Your team has a workflow {workflow_id!r} already.",
        suggestion="Revise it, or choose another id.",
        details={"workflowId": workflow_id},
    )


def _as_before(source: Source, latest: Revision) -> Source:
    """A source that does not say for which schema it was written is of the schema of the revision before it."""
    if source.schema is not None or not latest.schema or source.format is not SourceFormat.STEPS_JSON:
        return source
    return replace(source, schema=StepsSchema(latest.schema))


def _own_source(revision: Revision) -> Source:
    """What a fork begins from: the team's from now on, whoever brought the original."""
    return Source(
        format=SourceFormat(revision.format),
        files=files_of(revision.pk),
        origin=Origin.TEAM,
        strictness=Strictness(revision.strictness),
        schema=StepsSchema(revision.schema) if revision.schema else None,
    )


def _means(revision: Revision) -> tuple[str | None, int, int]:
    return revision.program_id, revision.error_count, revision.warning_count


def _meant(compiled: Compiled) -> tuple[str | None, int, int]:
    return compiled.workflow_hash, compiled.error_count, compiled.warning_count


def _record(actor: Actor, action: str, row: Workflow, revision: Revision, now: datetime) -> None:
    record_audit(
        actor=actor,
        action=action,
        target=to_text(Prefix.WORKFLOW, row.pk),
        now=now,
        details={"workflowId": row.workflow_id, "revision": revision.number},
    )
