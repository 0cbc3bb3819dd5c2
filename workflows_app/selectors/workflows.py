"""Workflows as the actor's team sees them: its own and the bundled ones. Another team's is the same as none."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

import orjson
from django.contrib.postgres.lookups import TrigramWordSimilar
from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db.models import F, Q, QuerySet

from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, NotFoundError, PreconditionFailedError
from teams_app.engine.pages import Page, PageRequest, cut_page
from teams_app.engine.redaction import shown_without_keys
from workflows_app.engine.names import RESERVED_NAMESPACE, is_legacy, is_namespaced
from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem, did_you_mean
from workflows_app.engine.program import WorkflowKind
from workflows_app.engine.values import (
    Published,
    RevisionValue,
    WorkflowState,
    WorkflowValue,
)
from workflows_app.models import SEARCH_CONFIG, Alias, Revision, Workflow
from workflows_app.selectors.asked import asked, prepared_cursor
from workflows_app.selectors.cache import ByteBoundedCache
from workflows_app.selectors.rows import problem_value, revision_told, workflow_value

MAX_SEARCH_CHARS = 200
MAX_TAGS = 20

# Long, and shown by no list.
_NOT_LISTED = ("search_text", "published__problems")
# Each name by its index, so that a large library is not read through.
_READ_PUBLISHED = """
WITH named AS (
  SELECT id FROM workflows_app_workflow WHERE team_id = $1 AND workflow_id = ANY($2)
  UNION SELECT id FROM workflows_app_workflow WHERE team_id IS NULL AND workflow_id = ANY($2)
  UNION SELECT workflow_id FROM workflows_app_alias WHERE team_id = $1 AND alias = $3
)
SELECT w.workflow_id, w.state, w.latest_number, w.kind, w.title, w.version, w.team_id IS NULL,
       r.id, r.number, coalesce(v.program_id, r.program_id), r.problems
FROM named
JOIN workflows_app_workflow w ON w.id = named.id AND (w.team_id = $1 OR w.team_id IS NULL)
LEFT JOIN workflows_app_revision r ON r.id = w.published_id
LEFT JOIN workflows_app_variant v ON v.revision_id = r.id AND v.team_id = $1
"""

# The place of the published revision in a row of it.
_REVISION_ID = 7

_Row = TypeVar("_Row")
# What one remembered revision takes, its key included, roundly.
_REVISION_BYTES = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRevision:
    workflow_row: UUID
    number: int


_revisions: ByteBoundedCache[tuple[UUID, str, str], RunRevision] = ByteBoundedCache(max_bytes=1 << 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowFilters:
    """`tags` must all be there; `text` is words, parts of words, or words spelt nearly so; `beginning` is that of the id."""

    text: str = ""
    beginning: str = ""
    tags: tuple[str, ...] = ()
    kind: WorkflowKind | None = None
    state: WorkflowState | None = None


def list_workflows(*, actor: Actor, filters: WorkflowFilters, page: PageRequest) -> Page[WorkflowValue]:
    """Ordered by namespace, then workflows before routines, then id. One query."""
    actor.require(Permission.READ_WORKFLOWS)
    rows = _filtered(visible_workflows(actor), filters)
    if page.after is not None:
        rows = rows.filter(order_key__gt=page.after)
    return cut_page(
        rows=rows.select_related("published").defer(*_NOT_LISTED).order_by("order_key")[: page.limit + 1],
        limit=page.limit,
        value_of=workflow_value,
        position_of=lambda row: row.order_key,
    )


def count_workflows(*, actor: Actor, filters: WorkflowFilters, without: str = "") -> int:
    """How many `list_workflows` names on all its pages, `without` not counted. One query, which reads none of them."""
    actor.require(Permission.READ_WORKFLOWS)
    return _filtered(visible_workflows(actor), filters).exclude(workflow_id=without).count()


def list_revisions(*, actor: Actor, workflow_id: str, page: PageRequest) -> Page[RevisionValue]:
    """Newest first."""
    actor.require(Permission.READ_WORKFLOWS)
    row = find_workflow(actor, workflow_id)
    of_team = Q(team__isnull=True) if row.team_id is None else Q(team_id=row.team_id)
    revisions = Revision.objects.filter(of_team, workflow=row)
    if page.after is not None:
        revisions = revisions.filter(number__lt=int(page.after))
    return cut_page(
        rows=revisions.order_by("-number")[: page.limit + 1],
        limit=page.limit,
        value_of=lambda revision: revision_told(revision, actor=actor, workflow_id=row.workflow_id),
        position_of=lambda revision: str(revision.number),
    )


@asked
def find_published(*, actor: Actor, workflow_id: str, beside: str = "") -> Published:
    """What a run that starts now is pinned to, under the team's bindings. One prepared statement, since each start and each
    rehydration asks.

    `beside` is the id of the workflow that names this one, when one does: a bare name means first what has that name in
    its namespace. What is not published hides nothing that is.
    """
    actor.require(Permission.READ_WORKFLOWS)
    names = _names(workflow_id, beside)
    rows = prepared_cursor().execute(_READ_PUBLISHED, [actor.team_id, names, workflow_id]).fetchall() if names else []
    named = {row[0]: row for row in rows}
    published = {name: row for name, row in named.items() if row[_REVISION_ID] is not None}
    row = _first_named(names, published) or _first_named(names, named)
    if row is None:
        raise not_found(actor, workflow_id)
    found_id, state, latest_number, kind, title, version, bundled, revision_id, number, program_id, problems = row
    if revision_id is None:
        raise _not_published(found_id, state, latest_number)
    return Published(
        workflow_id=found_id,
        requested_id=workflow_id,
        revision_id=revision_id,
        number=number,
        workflow_hash=program_id,
        kind=WorkflowKind(kind),
        title=title,
        version=version,
        bundled=bundled,
        warnings=(
            *old_name_warning(workflow_id, found_id),
            *(problem_value(problem) for problem in orjson.loads(problems)),
        ),
    )


def find_revision_of_program(*, actor: Actor, workflow_id: str, workflow_hash: str) -> RunRevision | None:
    """The first revision of a workflow that came out as this program, which is what its runs name. It stays the first."""
    actor.require(Permission.READ_WORKFLOWS)
    key = (actor.team_id, workflow_id, workflow_hash)
    known = _revisions.get(key)
    if known is not None:
        return known
    rows = Revision.objects.filter(
        workflow__in=visible_workflows(actor).filter(workflow_id=workflow_id), program_id=workflow_hash
    )
    row = rows.order_by("number").values_list("workflow_id", "number").first()
    if row is None:
        return None
    found = RunRevision(workflow_row=row[0], number=row[1])
    _revisions.put(key, found, size_bytes=_REVISION_BYTES)
    return found


def visible_workflows(actor: Actor) -> QuerySet[Workflow]:
    return Workflow.objects.filter(Q(team_id=actor.team_id) | Q(team__isnull=True))


def find_workflow(actor: Actor, workflow_id: str, *, beside: str = "") -> Workflow:
    """The row behind an id or an alias, with its published revision; an id wins over an alias."""
    names = _names(workflow_id, beside)
    aliased = Alias.objects.filter(team_id=actor.team_id, alias=workflow_id).values("workflow_id")
    named = Q(workflow_id__in=names) | Q(pk__in=aliased)
    rows = visible_workflows(actor).filter(named).select_related("published") if names else Workflow.objects.none()
    found = _first_named(names, {row.workflow_id: row for row in rows})
    if found is None:
        raise not_found(actor, workflow_id)
    return found


def ids_behind(actor: Actor, names: Collection[str]) -> frozenset[str]:
    """The ids of the workflows that the team knows by these other names as well."""
    if not names:
        return frozenset()
    aliased = Alias.objects.filter(team_id=actor.team_id, alias__in=names)
    return frozenset(aliased.order_by("alias").values_list("workflow__workflow_id", flat=True))


def ids_named(actor: Actor, name: str) -> frozenset[str]:
    """The ids that may be meant by a name: itself, and that of the workflow which the team knows by it as well."""
    return frozenset({name, *ids_behind(actor, [name])})


def not_found(actor: Actor, workflow_id: str) -> NotFoundError:
    known = visible_workflows(actor).values_list("workflow_id", flat=True)
    said = shown_without_keys(workflow_id, most=MAX_SEARCH_CHARS + 1)
    shown = said if len(said) <= MAX_SEARCH_CHARS else f"{said[:MAX_SEARCH_CHARS]}…"
    return NotFoundError(
        f"There is no workflow {shown!r} in your team's library.",
        suggestion=did_you_mean(workflow_id, known) or "List the workflows.",
        details={"workflowId": shown},
    )


def _names(workflow_id: str, beside: str) -> list[str]:
    """The ids that may be meant, the nearest first; none where it is no name."""
    if not is_namespaced(workflow_id) and not is_legacy(workflow_id):
        return []
    namespace = beside.rpartition(".")[0]
    own = namespace and namespace != RESERVED_NAMESPACE and is_legacy(workflow_id)
    return [f"{namespace}.{workflow_id}", workflow_id] if own else [workflow_id]


def _first_named(names: Sequence[str], rows: Mapping[str, _Row]) -> _Row | None:
    # An alias leads to a row of any other name, and there is at most one.
    return next((rows[name] for name in (*names, *rows) if name in rows), None)


def _filtered(rows: QuerySet[Workflow], filters: WorkflowFilters) -> QuerySet[Workflow]:
    if filters.tags:
        rows = rows.filter(tags__contains=_bounded_tags(filters.tags))
    if filters.kind is not None:
        rows = rows.filter(kind=filters.kind.value)
    if filters.state is not None:
        rows = rows.filter(state=filters.state.value)
    if filters.beginning:
        rows = rows.filter(workflow_id__startswith=_storable(filters.beginning))
    text = filters.text.strip().lower()
    return rows if not text else _matching(rows, text)


def _matching(rows: QuerySet[Workflow], text: str) -> QuerySet[Workflow]:
    if len(text) > MAX_SEARCH_CHARS or "\x00" in text:
        raise InvalidInputError(
            f"The search text is longer than {MAX_SEARCH_CHARS} characters or holds U+0000.",
            suggestion="Search for a few words.",
        )
    words = SearchQuery(text, config=SEARCH_CONFIG, search_type="websearch")
    vector = SearchVector("search_text", config=SEARCH_CONFIG)
    return rows.annotate(words=vector).filter(
        Q(words=words) | Q(search_text__contains=text) | Q(TrigramWordSimilar(F("search_text"), text)),
    )


def _storable(beginning: str) -> str:
    """No id is longer than that, nor has U+0000, which Postgres refuses."""
    return beginning.replace("\x00", " ")[:MAX_SEARCH_CHARS]


def _bounded_tags(tags: tuple[str, ...]) -> list[str]:
    if len(tags) > MAX_TAGS or any("\x00" in tag for tag in tags):
        raise InvalidInputError(f"At most {MAX_TAGS} tags, none with U+0000.", suggestion="Search for fewer tags.")
    return list(tags)


def warnings_of_name(*, actor: Actor, workflow_id: str) -> tuple[WorkflowProblem, ...]:
    """For whoever reads a workflow by a name that it once had."""
    return old_name_warning(workflow_id, find_workflow(actor, workflow_id).workflow_id)


def old_name_warning(requested_id: str, workflow_id: str) -> tuple[WorkflowProblem, ...]:
    """For whoever asked by an alias that is an id of the old form."""
    if requested_id == workflow_id or not is_legacy(requested_id):
        return ()
    message = f"{requested_id!r} is an old name of {workflow_id!r}. It runs, and will not be given to a new workflow."
    return (
        WorkflowProblem(
            code=ProblemCode.LEGACY_ID,
            severity=Severity.WARNING,
            message=message,
            path="id",
            suggestion=f"Call it {workflow_id!r}.",
        ),
    )


def _not_published(workflow_id: str, state: str, latest_number: int) -> PreconditionFailedError:
    return PreconditionFailedError(
        f"The workflow {workflow_id!r} is {state}; only a published one runs.",
        suggestion="Ask a person with the role author to publish a revision of it.",
        details={"workflowId": workflow_id, "state": state, "latestRevision": latest_number},
    )
