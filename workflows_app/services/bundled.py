"""The bundled library into the database: at every start, the same for all teams, safe to run twice and at once."""

from datetime import datetime
from pathlib import Path
from uuid import UUID

import structlog
from django.db import connection, transaction

from teams_app.engine.actors import Actor, ActorKind
from teams_app.engine.errors import ForbiddenError
from workflows_app.engine.packing import source_digest
from workflows_app.engine.values import Loaded, WorkflowState
from workflows_app.models import Binding, Revision, Workflow
from workflows_app.selectors.bundled import BUNDLED_ROOT, read_bundled
from workflows_app.services.compiling import Compiled, compile_with
from workflows_app.services.storing import add_revision, add_workflow, latest_is, published_is, retired_is
from workflows_app.services.variants import refresh_variants

log = structlog.get_logger(__name__)

# Any constant will do, if nothing else of ours locks it: "bundled" in ASCII.
_LOCK = 0x62756E646C6564
_MESSAGE = "Bundled with Workrail"


def load_bundled(*, actor: Actor, now: datetime, root: Path = BUNDLED_ROOT) -> Loaded:
    """What is new or changed becomes a new revision and is published; what is gone is retired.

    One with errors is saved and told of, and what was published of it before goes on to run.
    """
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError("Only the system loads the bundled library.", suggestion="Run ./workrail up.")
    bundled = read_bundled(root=root)
    compiled = {key: compile_with(source=source, library=bundled.library) for key, source in bundled.sources.items()}
    with transaction.atomic(durable=True):
        # Two starters at once: the lock of the transaction lets the second one see what the first one loaded.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        return _load(actor, compiled, now)


def _load(actor: Actor, compiled: dict[str, Compiled], now: datetime) -> Loaded:
    rows = {row.workflow_id: row for row in _bundled_rows()}
    latest = {revision.workflow_id: revision for revision in _latest_revisions(rows)}
    created = tuple(key for key in compiled if key not in rows)
    for key in created:
        _create(actor, key, compiled[key], now)
    changed = tuple(key for key in compiled if key in rows and _differs(rows[key], latest[rows[key].pk], compiled[key]))
    for key in changed:
        _revise(actor, rows[key], compiled[key], now)
    gone = tuple(key for key, row in rows.items() if key not in compiled and row.published is not None)
    for key in gone:
        retired_is(rows[key], now=now)
    _refresh_teams([rows[key] for key in changed], now)
    return Loaded(
        created=created,
        revised=changed,
        retired=gone,
        unchanged=len(compiled) - len(created) - len(changed),
        broken={key: item.problems for key, item in compiled.items() if item.program is None},
    )


def _bundled_rows() -> list[Workflow]:
    rows = Workflow.objects.select_for_update(no_key=True, of=("self",)).filter(team__isnull=True)
    return list(rows.select_related("published").order_by("id"))


def _latest_revisions(rows: dict[str, Workflow]) -> list[Revision]:
    wanted = {row.pk: row.latest_number for row in rows.values()}
    found = Revision.objects.filter(workflow__in=list(wanted)).order_by("id")
    return [revision for revision in found if wanted[revision.workflow_id] == revision.number]


def _differs(row: Workflow, latest: Revision, compiled: Compiled) -> bool:
    same = latest.source_digest == source_digest(compiled.source) and latest.program_id == compiled.workflow_hash
    runs = row.state == WorkflowState.PUBLISHED and row.published_id == latest.pk
    return not same or (compiled.program is not None and not runs)


def _create(actor: Actor, workflow_id: str, compiled: Compiled, now: datetime) -> None:
    row = add_workflow(team_id=None, workflow_id=workflow_id, compiled=compiled, forked_from="", now=now)
    _add(actor, row, 1, compiled, now)


def _revise(actor: Actor, row: Workflow, compiled: Compiled, now: datetime) -> None:
    row.latest_number += 1
    _add(actor, row, row.latest_number, compiled, now)


def _add(actor: Actor, row: Workflow, number: int, compiled: Compiled, now: datetime) -> None:
    revision = add_revision(row=row, number=number, compiled=compiled, message=_MESSAGE, actor=actor, now=now)
    latest_is(row, compiled=compiled, now=now)
    if compiled.program is not None:
        published_is(row, revision=revision, program=compiled.program, now=now)


def _refresh_teams(rows: list[Workflow], now: datetime) -> None:
    teams: list[UUID] = list(Binding.objects.order_by("team_id").values_list("team_id", flat=True).distinct())
    for team_id in teams if rows else []:
        broken = refresh_variants(team_id=team_id, rows=rows, now=now)
        for workflow_id in broken:
            # It runs with its own routines until somebody of the team binds one that fits.
            log.warning("binding_does_not_compile", team_id=str(team_id), workflow_id=workflow_id)
