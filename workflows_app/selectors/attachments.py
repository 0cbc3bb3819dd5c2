"""Skills, resources and templates by their ids: what the workflows that a team sees attach, and where."""

from dataclasses import dataclass
from uuid import UUID

from teams_app.engine.actors import Actor, Permission
from workflows_app.engine.program import Attachment, Program
from workflows_app.engine.source import ContentKind, SourceContent
from workflows_app.models import Revision, Workflow
from workflows_app.selectors.programs import load_content, load_program
from workflows_app.selectors.workflows import visible_workflows

MAX_WORKFLOWS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """One thing of one owner; `used_by` are the ids and titles of the workflows whose programs attach it."""

    attachment: Attachment
    used_by: tuple[tuple[str, str], ...]


def list_attached(*, actor: Actor, kind: ContentKind) -> tuple[Attached, ...]:
    """Of what runs, or of the latest draft of what never did; by owner and id."""
    actor.require(Permission.READ_WORKFLOWS)
    rows = list(
        visible_workflows(actor).select_related("published").defer("search_text").order_by("order_key")[:MAX_WORKFLOWS]
    )
    drafts = _latest_programs([row for row in rows if row.published is None])
    found: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    things: dict[tuple[str, str, str], Attachment] = {}
    for row in rows:
        program_id = row.published.program_id if row.published else drafts.get(row.pk)
        for each in _of_kind(load_program(program_id), kind) if program_id else ():
            place = (each.owner, each.id, each.digest)
            things[place] = each
            found.setdefault(place, []).append((str(row.pk), row.title or row.workflow_id))
    return tuple(Attached(attachment=things[place], used_by=tuple(used)) for place, used in sorted(found.items()))


def read_attached(*, actor: Actor, kind: ContentKind, digest: str) -> tuple[Attached, SourceContent] | None:
    """None for what no workflow of the team attaches."""
    found = next((each for each in list_attached(actor=actor, kind=kind) if each.attachment.digest == digest), None)
    return None if found is None else (found, load_content(digest, kind))


def _latest_programs(rows: list[Workflow]) -> dict[UUID, str | None]:
    newest = Revision.objects.filter(workflow__in=rows).order_by("workflow_id", "-number").distinct("workflow_id")
    return dict(newest.values_list("workflow_id", "program_id"))


def _of_kind(program: Program, kind: ContentKind) -> tuple[Attachment, ...]:
    match kind:
        case ContentKind.SKILL:
            return program.skills
        case ContentKind.RESOURCE:
            return program.resources
        case ContentKind.TEMPLATE:
            return program.templates
        case ContentKind.RULES:
            return ()
