"""Workflows that come from outside: read whole, checked whole, then saved as drafts in one transaction or not at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath

from django.db import IntegrityError, transaction

from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError
from workflows_app.engine.intake import normalise_paths, unpack
from workflows_app.engine.names import is_legacy, suggested_id
from workflows_app.engine.packing import Found, authored_id, by_folder, split_workflows
from workflows_app.engine.reading import SharedReading
from workflows_app.engine.source import Origin, Source, Strictness
from workflows_app.engine.values import ImportedWorkflow, Saved
from workflows_app.models import Workflow
from workflows_app.selectors.workflows import visible_workflows
from workflows_app.services.compiling import (
    Compiled,
    accepted_files,
    compile_for,
    renamed,
    require_own_id,
)
from workflows_app.services.extensions import alias_is_free, point_alias
from workflows_app.services.turns import hold_names
from workflows_app.services.workflows import add_new, append_revision, locked, taken

MAX_WORKFLOWS = 50

_BY_OPTION = "Import it with rename=true to have that done."
# Renaming looks for the line that says the id; a document may say it otherwise.
_BY_HAND = "Write it as `id: name` in a line of its own: as it is written now it cannot be renamed."


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """`rename` gives a workflow whose id a team cannot have the suggested one, and keeps an old id as an alias."""

    origin: Origin = Origin.TEAM
    strictness: Strictness = Strictness.STRICT
    rename: bool = False
    message: str = ""


def import_archive(
    *, actor: Actor, data: bytes, filename: str, options: ImportOptions, now: datetime
) -> ImportedWorkflow:
    """A zip or a tar of one workflow or several."""
    actor.require(Permission.EDIT_WORKFLOWS)
    files = accepted_files(unpack(data=data, filename=filename), what="The archive")
    return _import(actor, files, options, now)


def import_files(
    *, actor: Actor, files: Mapping[str, bytes], options: ImportOptions, now: datetime
) -> ImportedWorkflow:
    """Files by path: folders with an entry file, and JSON documents. An id that exists gets a new revision."""
    actor.require(Permission.EDIT_WORKFLOWS)
    checked = accepted_files(normalise_paths(files=files), what="The folder")
    return _import(actor, checked, options, now)


def _import(actor: Actor, files: Mapping[str, bytes], options: ImportOptions, now: datetime) -> ImportedWorkflow:
    split = split_workflows(files, origin=options.origin, strictness=options.strictness)
    if not 1 <= len(split.workflows) <= MAX_WORKFLOWS:
        raise InvalidInputError(
            f"There are {len(split.workflows)} workflows in {len(files)} files.",
            suggestion=f"Send 1 to {MAX_WORKFLOWS}: folders with a workflow.toon or workflow.yaml, or JSON files.",
        )
    arrivals = _arrivals(actor, split.workflows, rename=options.rename)
    try:
        with transaction.atomic(durable=True):
            _lock(actor, arrivals)
            saved = tuple(_save(actor, arrival, options.message, now) for arrival in arrivals)
    except IntegrityError as error:
        # Two imports of the same new id at once: the unique constraint lets one in.
        if "workflow_id_unique_per_team" in str(error):
            raise taken(", ".join(arrival.compiled.workflow_id for arrival in arrivals)) from error
        raise
    unread = (
        PurePosixPath(item.place, file).as_posix()
        for item, arrival in zip(split.workflows, arrivals, strict=True)
        for file in arrival.compiled.unread
    )
    return ImportedWorkflow(workflows=saved, ignored=split.ignored, unread=tuple(unread))


def _lock(actor: Actor, arrivals: Sequence["_Arrival"]) -> None:
    """Their names, then all that are there already, before the audit log is told of the first: whoever makes or revises one of
    them locks it before that.
    """
    ids = [arrival.compiled.workflow_id for arrival in arrivals]
    old = [arrival.renamed_from for arrival in arrivals if arrival.renamed_from]
    hold_names(team_id=actor.team_id, names=[*ids, *old])
    rows = Workflow.objects.select_for_update(no_key=True).filter(team_id=actor.team_id, workflow_id__in=ids)
    list(rows.order_by("pk").values_list("pk", flat=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arrival:
    compiled: Compiled
    renamed_from: str


def _arrivals(actor: Actor, found: tuple[Found, ...], *, rename: bool) -> tuple[_Arrival, ...]:
    """Each compiled with the others at hand: by the ids that they come with, and by those that they get."""
    reading = SharedReading()
    named = [_with_own_id(actor, item, reading, rename=rename) for item in found]
    siblings = {source_id: source for old, source in named for source_id in (authored_id(source), old) if source_id}
    said = [source_id for _, source in named if (source_id := authored_id(source))]
    if len(set(said)) < len(said):
        raise InvalidInputError(
            "Two of the workflows have the same id.",
            suggestion="Import them one after the other, or give each its own id.",
            details={"workflowIds": said},
        )
    places = by_folder((item.place, source) for item, (_, source) in zip(found, named, strict=True))
    arrivals = tuple(
        _Arrival(
            compiled=compile_for(actor=actor, source=source, siblings=siblings, places=places, reading=reading),
            renamed_from=old,
        )
        for old, source in named
    )
    for item, arrival in zip(found, arrivals, strict=True):
        _check(item, arrival.compiled, rename=rename)
    return arrivals


def _with_own_id(actor: Actor, item: Found, reading: SharedReading, *, rename: bool) -> tuple[str, Source]:
    """The id that it had, when it was given another, and the source to save."""
    workflow_id = authored_id(item.source)
    suggested = suggested_id(workflow_id=workflow_id, origin=item.source.origin)
    if not rename or not workflow_id or suggested == workflow_id:
        return "", item.source
    # Compiled under its old id once: which schema it was written for shows in what the compiler makes of it.
    before = compile_for(actor=actor, source=item.source, reading=reading)
    return workflow_id, renamed(source=item.source, program=before.program, workflow_id=suggested)


def _check(item: Found, compiled: Compiled, *, rename: bool) -> None:
    try:
        require_own_id(compiled)
    except InvalidInputError as error:
        hint = "" if "suggestedId" not in error.details else _BY_HAND if rename else _BY_OPTION
        raise InvalidInputError(
            f"{item.place or 'The folder'}: {error.message}",
            suggestion=f"{error.suggestion} {hint}".strip(),
            details={"place": item.place, **error.details},
        ) from error


def _save(actor: Actor, arrival: _Arrival, message: str, now: datetime) -> Saved:
    compiled = arrival.compiled
    found = Workflow.objects.filter(team_id=actor.team_id, workflow_id=compiled.workflow_id).order_by("id").first()
    if found is None:
        saved = add_new(actor=actor, compiled=compiled, message=message, forked_from="", now=now)
    else:
        saved = append_revision(actor=actor, row=locked(found), compiled=compiled, message=message, now=now)
    return replace(saved, renamed_from=arrival.renamed_from, alias=_keep_old_name(actor, saved, arrival, now))


def _keep_old_name(actor: Actor, saved: Saved, arrival: _Arrival, now: datetime) -> str:
    """Callers of the old id find the workflow, where nothing else is called so."""
    old = arrival.renamed_from
    if not is_legacy(old) or not alias_is_free(actor=actor, alias=old):
        return ""
    row = visible_workflows(actor).get(pk=saved.workflow.id)
    point_alias(actor=actor, alias=old, row=row, now=now)
    return old
