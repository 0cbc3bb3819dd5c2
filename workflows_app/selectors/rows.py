"""Rows into values."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from teams_app.engine.actors import Actor, Permission
from workflows_app.engine.names import is_namespaced
from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem
from workflows_app.engine.program import Family, WorkflowKind
from workflows_app.engine.source import Origin, SourceFormat, StepsSchema, Strictness
from workflows_app.engine.values import IdStatus, RevisionValue, WorkflowState, WorkflowValue
from workflows_app.models import Revision, Workflow


def workflow_value(row: Workflow) -> WorkflowValue:
    return WorkflowValue(
        id=row.pk,
        workflow_id=row.workflow_id,
        title=row.title,
        description=row.description,
        version=row.version,
        kind=WorkflowKind(row.kind),
        family=Family(row.family),
        state=WorkflowState(row.state),
        id_status=IdStatus.NAMESPACED if is_namespaced(row.workflow_id) else IdStatus.LEGACY,
        tags=tuple(row.tags),
        bundled=row.team_id is None,
        error_count=row.error_count,
        warning_count=row.warning_count,
        latest_number=row.latest_number,
        published_number=None if row.published is None else row.published.number,
        forked_from=row.forked_from,
        updated_at=row.updated_at,
    )


def revision_value(row: Revision, *, workflow_id: str) -> RevisionValue:
    return RevisionValue(
        id=row.pk,
        workflow_id=workflow_id,
        number=row.number,
        format=SourceFormat(row.format),
        origin=Origin(row.origin),
        strictness=Strictness(row.strictness),
        schema=StepsSchema(row.schema) if row.schema else None,
        version=row.version,
        source_digest=row.source_digest,
        workflow_hash=row.program_id,
        problems=tuple(problem_value(item) for item in row.problems),
        message=row.message,
        author_name=row.author_name,
        created_at=row.created_at,
        published_at=row.published_at,
    )


def revision_told(row: Revision, *, actor: Actor, workflow_id: str) -> RevisionValue:
    """Problems name steps, files and variables of what comes later: all but those of the id are for whoever sees all steps."""
    value = revision_value(row, workflow_id=workflow_id)
    if actor.may(Permission.READ_INTERNALS):
        return value
    return replace(value, problems=tuple(each for each in value.problems if each.code is ProblemCode.LEGACY_ID))


def problem_value(item: Mapping[str, Any]) -> WorkflowProblem:
    return WorkflowProblem(
        code=ProblemCode(item["code"]),
        message=item["message"],
        severity=Severity(item["severity"]),
        path=item.get("path", ""),
        file=item.get("file", ""),
        line=item.get("line"),
        suggestion=item.get("suggestion", ""),
    )
