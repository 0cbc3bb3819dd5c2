"""Skills, guides and templates of published workflows, as they were written."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from msgspec.structs import replace

from teams_app.engine.actors import Actor
from teams_app.engine.errors import NotFoundError
from workflows_app.engine.activities.references import META, find_among, find_skill, resource_names
from workflows_app.engine.program import Attachment, Program
from workflows_app.engine.source import ContentKind
from workflows_app.selectors.catalog import list_published, read_published
from workflows_app.selectors.programs import load_content


class HandedOut(StrEnum):
    """What a workflow holds beside its steps."""

    SKILLS = "skills"
    RESOURCES = "resources"
    TEMPLATES = "templates"


_KINDS = {
    HandedOut.SKILLS: ContentKind.SKILL,
    HandedOut.RESOURCES: ContentKind.RESOURCE,
    HandedOut.TEMPLATES: ContentKind.TEMPLATE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentText:
    attachment: Attachment
    text: str


def list_attachments(*, actor: Actor, workflow_id: str, held: HandedOut) -> tuple[Attachment, ...]:
    """Those of the published program. The index of a guide or template is what `read_attachment` finds it by."""
    program = read_published(actor=actor, workflow_id=workflow_id)
    indexes = _indexes(program, held)
    return tuple(_indexed(item, indexes) for item in _held(program, held))


def read_attachment(*, actor: Actor, workflow_id: str, held: HandedOut, name: str) -> AttachmentText:
    """By its name, or its number where it has one. Raises NotFoundError with those that there are."""
    return attachment_of(
        actor=actor, program=read_published(actor=actor, workflow_id=workflow_id), held=held, name=name
    )


def attachment_of(*, actor: Actor, program: Program, held: HandedOut, name: str) -> AttachmentText:
    """The same of a program that the actor may read."""
    found = find_skill(program=program, reference=name) if held is HandedOut.SKILLS else None
    found = found or find_among(_held(program, held), name)
    if found is None and held is HandedOut.SKILLS:
        found = _shared_skill(actor, program, name)
    if found is None:
        known = sorted(f"{item.index} ({item.id})" if item.index else item.id for item in _held(program, held))
        raise NotFoundError(
            f"The workflow {program.id} has no {held.value.rstrip('s')} {name[:80]!r}.",
            suggestion=f"It has: {', '.join(known) or 'none'}.",
        )
    text = load_content(found.digest, _KINDS[held]).text
    return AttachmentText(attachment=_indexed(found, _indexes(program, held)), text=text)


def _held(program: Program, held: HandedOut) -> tuple[Attachment, ...]:
    match held:
        case HandedOut.SKILLS:
            return program.skills
        case HandedOut.RESOURCES:
            return program.resources
        case HandedOut.TEMPLATES:
            return program.templates
        case _:
            assert_never(held)


def _indexes(program: Program, held: HandedOut) -> Mapping[Attachment, str]:
    """Skills are read by their ids."""
    return {} if held is HandedOut.SKILLS else resource_names(_held(program, held))


def _indexed(item: Attachment, indexes: Mapping[Attachment, str]) -> Attachment:
    return replace(item, index=indexes.get(item, item.index))


def _shared_skill(actor: Actor, program: Program, name: str) -> Attachment | None:
    """Of `meta`, which serves all other workflows, where the team has it."""
    if program.id == META or not any(each.workflow_id == META for each in list_published(actor=actor)):
        return None
    return find_skill(program=read_published(actor=actor, workflow_id=META), reference=name)
