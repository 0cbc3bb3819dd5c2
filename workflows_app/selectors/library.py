"""What a source of the actor's team may refer to, gathered for the compiler."""

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from teams_app.engine.actors import Actor
from workflows_app.engine.names import RESERVED_NAMESPACE, is_legacy, is_namespaced
from workflows_app.engine.program import Contract, Family, WorkflowKind
from workflows_app.engine.reading import SharedReading, read_json
from workflows_app.engine.source import Library, Source, SourceFormat
from workflows_app.models import Alias, Binding, TeamContract, Workflow
from workflows_app.selectors.sources import files_of
from workflows_app.selectors.workflows import visible_workflows

_ROUTINE_PREFIX = "routine-"
_Files = Mapping[str, bytes]
_Member = TypeVar("_Member")


def library_for(*, actor: Actor, source_format: SourceFormat, workflow_id: str) -> Library:
    """The published workflows that the team sees, its contracts, and its bindings for that workflow.

    A bare name means first what has that name in the workflow's own namespace, then what is called so, then an alias.
    No permission is asked: what is read here only ever reaches a program of the same team.
    """
    columns = ("workflow_id", "kind", "family", "published_id")
    rows = list(visible_workflows(actor).only(*columns).order_by("order_key"))
    chosen = {
        row.workflow_id: row.published_id
        for row in rows
        if row.published_id is not None and _is_wanted(row, source_format)
    }
    names = _LibraryNames(within=workflow_id, aliases=_aliases(actor))
    library = Library(
        contracts=_contracts(actor.team_id),
        bindings=_bindings(actor.team_id, workflow_id),
        workflow_ids=names.all_of([row.workflow_id for row in rows]),
    )
    match source_format:
        case SourceFormat.STEPS_JSON:
            routines = _ReadWhenAsked(_routines(chosen, names), _document_of)
            drafts = {row.workflow_id: row.published_id for row in rows if _is_routine_row(row)}
            known = (drafts, names.nearby(drafts), names.aliased(drafts))
            return replace(library, routines=routines, routine_ids=frozenset(name for some in known for name in some))
        case SourceFormat.ACTIVITY_FOLDER:
            folders = names.aliased(chosen) | chosen | names.nearby(chosen)
            return replace(library, folders=_ReadWhenAsked(folders, files_of))


def with_sources(
    library: Library,
    sources: Mapping[str, Source],
    *,
    within: str = "",
    places: Mapping[str, Source] = MappingProxyType({}),
    reading: SharedReading | None = None,
) -> Library:
    """The library as it would be with those sources in it, for workflows that arrive together. `places` are the same by the
    folders that they lie in, which is how their authors call them. `reading` is shared by those that arrive together.

    A folder that arrives goes before one that is there: they were written together. A routine never does. The workflow
    `within` knows its siblings in its own namespace by their bare names as well.
    """
    near = _LibraryNames(within=within, aliases={})
    sources = {**near.nearby(sources), **sources}
    folders = {key: source.files for key, source in sources.items() if source.format is SourceFormat.ACTIVITY_FOLDER}
    steps = {key: source.files for key, source in sources.items() if source.format is SourceFormat.STEPS_JSON}
    documents = {key: files for key, files in steps.items() if is_routine(key)}
    return replace(
        library,
        folders=_first_of(folders, {name: source.files for name, source in places.items()}, library.folders),
        routines=_first_of(library.routines, _parsed(documents, reading or SharedReading())),
        # What has another form is no name by which anything is begun, also where a workflow had it before it was renamed.
        workflow_ids=library.workflow_ids | frozenset(key for key in sources if is_legacy(key) or is_namespaced(key)),
        routine_ids=None if library.routine_ids is None else library.routine_ids | frozenset(documents),
    )


def is_routine(workflow_id: str) -> bool:
    return workflow_id.rpartition(".")[2].startswith(_ROUTINE_PREFIX)


def routine_name(workflow_id: str) -> str:
    """What stands behind `wr.templates.routine.`: ours by their bare name, a team's with its namespace before it."""
    namespace, dot, name = workflow_id.rpartition(".")
    bare = name.removeprefix(_ROUTINE_PREFIX)
    return bare if not dot or namespace == RESERVED_NAMESPACE else f"{namespace}.{bare}"


def contract_of(definition: bytes) -> Contract:
    return msgspec.json.decode(definition, type=Contract)


def _is_routine_row(row: Workflow) -> bool:
    """Published or not; of a draft that does not compile nobody has said what it is but its id."""
    return row.family == Family.STEPS and is_routine(row.workflow_id)


def _is_wanted(row: Workflow, source_format: SourceFormat) -> bool:
    match source_format:
        case SourceFormat.STEPS_JSON:
            return row.kind == WorkflowKind.ROUTINE and row.family == Family.STEPS
        case SourceFormat.ACTIVITY_FOLDER:
            return row.family == Family.ACTIVITIES


class _ReadWhenAsked(Mapping[str, _Member]):
    """By name what a published revision holds, which is read when it is asked for: most is not, and all of it may be more
    than the memory of this process.
    """

    def __init__(self, revisions: Mapping[str, UUID], read: Callable[[UUID], _Member]) -> None:
        self._revisions = revisions
        self._read = read

    def __getitem__(self, name: str) -> _Member:
        return self._read(self._revisions[name])

    def __contains__(self, name: object) -> bool:
        return name in self._revisions

    def __iter__(self) -> Iterator[str]:
        return iter(self._revisions)

    def __len__(self) -> int:
        return len(self._revisions)


def _first_of(*held: Mapping[str, _Member]) -> Mapping[str, _Member]:
    """What the first of them that knows a name has under it; nothing is read for it."""
    return ChainMap(*held)  # type: ignore[arg-type]  # its type asks for what can be changed, and nothing here changes it


@dataclass(frozen=True, slots=True, kw_only=True)
class _LibraryNames:
    """Under which names besides their ids the members of a library are known to the workflow `within`."""

    within: str
    aliases: Mapping[str, str]

    def nearby(self, members: Mapping[str, _Member]) -> dict[str, _Member]:
        return {name: files for member_id, files in members.items() if (name := self._bare(member_id))}

    def aliased(self, members: Mapping[str, _Member]) -> dict[str, _Member]:
        return {alias: members[member_id] for alias, member_id in self.aliases.items() if member_id in members}

    def all_of(self, member_ids: list[str]) -> frozenset[str]:
        bare = {name for member_id in member_ids if (name := self._bare(member_id))}
        return frozenset(member_ids) | bare | frozenset(self.aliases)

    def _bare(self, member_id: str) -> str:
        namespace, dot, name = member_id.rpartition(".")
        own = self.within.rpartition(".")[0]
        return name if dot and own == namespace != RESERVED_NAMESPACE else ""


def _routines(members: Mapping[str, UUID], names: _LibraryNames) -> dict[str, UUID]:
    """The bundled ones have their names to themselves."""
    known = (names.aliased(members), names.nearby(members), members)
    return {routine_name(member_id): revision_id for some in known for member_id, revision_id in some.items()}


def _document_of(revision_id: UUID) -> Any | None:
    return read_json(data=_only(files_of(revision_id)))


def _parsed(members: Mapping[str, _Files], reading: SharedReading) -> dict[str, Any]:
    """None for one that cannot be read, which is there all the same."""
    return {routine_name(member_id): reading.json(data=_only(files)) for member_id, files in members.items()}


def _only(files: _Files) -> bytes:
    return next(iter(files.values()), b"")


def _aliases(actor: Actor) -> dict[str, str]:
    rows = Alias.objects.filter(team_id=actor.team_id).order_by("alias")
    return dict(rows.values_list("alias", "workflow__workflow_id"))


def _contracts(team_id: UUID) -> dict[str, Contract]:
    rows = TeamContract.objects.filter(team_id=team_id).order_by("contract_id").values_list("contract_id", "definition")
    return {contract_id: contract_of(bytes(definition)) for contract_id, definition in rows}


def _bindings(team_id: UUID, workflow_id: str) -> dict[str, str]:
    """A binding for the workflow goes before one for every workflow."""
    rows = Binding.objects.filter(team_id=team_id, workflow_id__in=["", workflow_id]).order_by("workflow_id")
    return dict(rows.values_list("slot", "routine"))
