"""Published revisions as they compile under a team's bindings, so that starting a run never compiles."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from teams_app.engine.actors import Door, system_actor
from teams_app.services.ids import new_id
from workflows_app.engine.problems import WorkflowProblem
from workflows_app.engine.program import ExtensionPoint
from workflows_app.engine.source import Origin, Source, SourceFormat, StepsSchema, Strictness
from workflows_app.models import Binding, Revision, Variant, Workflow
from workflows_app.selectors.programs import load_program
from workflows_app.selectors.sources import files_of
from workflows_app.services.compiling import Compiled, compile_for
from workflows_app.services.storing import store_program


def refresh_variants(
    *, team_id: UUID, rows: Iterable[Workflow], now: datetime
) -> dict[str, tuple[WorkflowProblem, ...]]:
    """Inside the caller's transaction. Gives the problems of those that do not compile so; they keep what they had."""
    bindings = list(Binding.objects.filter(team_id=team_id).order_by("workflow_id"))
    broken: dict[str, tuple[WorkflowProblem, ...]] = {}
    for row in rows:
        if row.published is None:
            continue
        if _is_bound_so(row, bindings):
            Variant.objects.filter(team_id=team_id, revision=row.published).delete()
            continue
        compiled = _compile(team_id, row.published)
        if compiled.program is None:
            broken[row.workflow_id] = compiled.problems
        else:
            _keep(team_id, row.published, compiled, now)
    return broken


def slots_of(revision: Revision) -> frozenset[str]:
    return frozenset(point.slot for point in _points(revision))


def _points(revision: Revision) -> tuple[ExtensionPoint, ...]:
    return () if revision.program_id is None else load_program(revision.program_id).extension_points


def _is_bound_so(row: Workflow, bindings: list[Binding]) -> bool:
    """True when the program that was published already has in each slot what the team wants there."""
    wanted = {binding.slot: binding.routine for binding in bindings if binding.workflow_id in {"", row.workflow_id}}
    points = _points(row.published) if row.published else ()
    return all(point.bound_to == wanted.get(point.slot, point.default) for point in points)


def _compile(team_id: UUID, revision: Revision) -> Compiled:
    source = Source(
        format=SourceFormat(revision.format),
        files=files_of(revision.pk),
        origin=Origin(revision.origin),
        strictness=Strictness(revision.strictness),
        schema=StepsSchema(revision.schema) if revision.schema else None,
    )
    return compile_for(actor=system_actor(team_id=team_id, door=Door.TASK), source=source)


def _keep(team_id: UUID, revision: Revision, compiled: Compiled, now: datetime) -> None:
    if compiled.program is None or compiled.workflow_hash is None:
        return
    store_program(program=compiled.program, workflow_hash=compiled.workflow_hash, contents=compiled.contents, now=now)
    Variant.objects.update_or_create(
        team_id=team_id,
        revision=revision,
        defaults={"program_id": compiled.workflow_hash},
        create_defaults={"id": new_id(now=now), "program_id": compiled.workflow_hash, "created_at": now},
    )
