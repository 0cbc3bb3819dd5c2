"""What a source of the actor's team may refer to, gathered for the compiler."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

import msgspec

from teams_app.engine.actors import Actor
from workflows_app.engine import canonical
from workflows_app.engine.program import Contract, Family, WorkflowKind
from workflows_app.engine.source import Library, Source, SourceFormat
from workflows_app.models import Alias, Binding, TeamContract, Workflow
from workflows_app.selectors.sources import files_of_all
from workflows_app.selectors.workflows import visible_workflows

MAX_ROUTINE_BYTES = 1024 * 1024

_ROUTINE_PREFIX = "routine-"
_RESERVED = "wr."


def library_for(*, actor: Actor, source_format: SourceFormat, workflow_id: str) -> Library:
    """The published workflows that the team sees, its contracts, and its bindings for that workflow.

    No permission is asked: what is read here only ever reaches a program of the same team.
    """
    rows = list(visible_workflows(actor).select_related("published").order_by("order_key"))
    shared = Library(
        contracts=_contracts(actor.team_id),
        bindings=_bindings(actor.team_id, workflow_id),
        workflow_ids=frozenset(row.workflow_id for row in rows),
    )
    chosen = {row.workflow_id: row.published.pk for row in rows if row.published and _is_wanted(row, source_format)}
    files = files_of_all(chosen.values())
    by_id = {workflow_id: files[revision_id] for workflow_id, revision_id in chosen.items()}
    return _with_parts(shared, source_format, by_id, _old_names(actor))


def with_sources(library: Library, sources: Mapping[str, Source]) -> Library:
    """The library as it would be with those sources in it, for workflows that arrive together."""
    folders = {
        workflow_id: source.files
        for workflow_id, source in sources.items()
        if source.format is SourceFormat.ACTIVITY_FOLDER
    }
    routines = {
        routine_name(workflow_id): document
        for workflow_id, source in sources.items()
        if source.format is SourceFormat.STEPS_JSON and (document := parsed_document(source.files)) is not None
    }
    return replace(
        library,
        folders={**folders, **library.folders},
        routines={**routines, **library.routines},
        workflow_ids=library.workflow_ids | frozenset(sources),
    )


def routine_name(workflow_id: str) -> str:
    """What stands behind `wr.templates.routine.`: ours by their bare name, a team's with its namespace before it."""
    namespace, dot, name = workflow_id.rpartition(".")
    bare = name.removeprefix(_ROUTINE_PREFIX)
    return bare if not dot or f"{namespace}." == _RESERVED else f"{namespace}.{bare}"


def parsed_document(files: Mapping[str, bytes]) -> Any | None:
    data = next(iter(files.values()), b"")
    try:
        return canonical.loads_strict(data, max_bytes=MAX_ROUTINE_BYTES)
    except canonical.UnreadableJsonError:
        return None


def contract_of(definition: bytes) -> Contract:
    return msgspec.json.decode(definition, type=Contract)


def _is_wanted(row: Workflow, source_format: SourceFormat) -> bool:
    match source_format:
        case SourceFormat.STEPS_JSON:
            return row.kind == WorkflowKind.ROUTINE and row.family == Family.STEPS
        case SourceFormat.ACTIVITY_FOLDER:
            return row.family == Family.ACTIVITIES


def _with_parts(
    library: Library,
    source_format: SourceFormat,
    files: Mapping[str, Mapping[str, bytes]],
    old_names: Mapping[str, str],
) -> Library:
    match source_format:
        case SourceFormat.STEPS_JSON:
            documents = {routine_name(workflow_id): parsed_document(found) for workflow_id, found in files.items()}
            return replace(library, routines={name: found for name, found in documents.items() if found is not None})
        case SourceFormat.ACTIVITY_FOLDER:
            aliased = {alias: files[workflow_id] for alias, workflow_id in old_names.items() if workflow_id in files}
            return replace(library, folders={**aliased, **files})


def _old_names(actor: Actor) -> dict[str, str]:
    rows = Alias.objects.filter(team_id=actor.team_id).order_by("alias")
    return dict(rows.values_list("alias", "workflow__workflow_id"))


def _contracts(team_id: UUID) -> dict[str, Contract]:
    rows = TeamContract.objects.filter(team_id=team_id).order_by("contract_id").values_list("contract_id", "definition")
    return {contract_id: contract_of(bytes(definition)) for contract_id, definition in rows}


def _bindings(team_id: UUID, workflow_id: str) -> dict[str, str]:
    """A binding for the workflow goes before one for every workflow."""
    rows = Binding.objects.filter(team_id=team_id, workflow_id__in=["", workflow_id]).order_by("workflow_id")
    return dict(rows.values_list("slot", "routine"))
