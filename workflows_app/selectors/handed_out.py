"""Skills, guides and templates of published workflows, as they were written."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from msgspec.structs import replace

from teams_app.engine.actors import Actor
from teams_app.engine.errors import NotFoundError
from workflows_app.engine.activities.documents import MARKDOWN
from workflows_app.engine.activities.references import (
    META,
    SkillNames,
    find_among,
    find_resource,
    find_skill,
    lent_name,
    resource_names,
    skill_names,
)
from workflows_app.engine.activities.techniques import rules_of
from workflows_app.engine.program import Attachment, Program
from workflows_app.engine.source import ContentKind
from workflows_app.selectors.catalog import find_program, list_published, read_published
from workflows_app.selectors.programs import load_content


class HandedOut(StrEnum):
    """What a workflow holds beside its steps."""

    SKILLS = "skills"
    RESOURCES = "resources"
    TEMPLATES = "templates"


# How techniques are told apart from skills of older forms, which inherit nothing.
_TECHNIQUE = MARKDOWN.removeprefix(".")
_KINDS = {
    HandedOut.SKILLS: ContentKind.SKILL,
    HandedOut.RESOURCES: ContentKind.RESOURCE,
    HandedOut.TEMPLATES: ContentKind.TEMPLATE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InheritedTechnique:
    """What holds for every technique of a folder, or of a group in it. `name` reads it beside the skills of the program that was
    asked, and is empty where nobody can read it; `reference` names it by its workflow.
    """

    name: str
    reference: str
    rules: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentText:
    attachment: Attachment
    text: str
    inherited: tuple[InheritedTechnique, ...] = ()
    # Of a skill of another workflow the guides that it links to, which are that workflow's: its id, and by what they are found there.
    linked: tuple[tuple[str, str], ...] = ()


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
        found = skill_elsewhere(actor=actor, program=program, name=name)
    if found is None:
        known = _known(program, held)
        raise NotFoundError(
            f"The workflow {program.id} has no {held.value.rstrip('s')} {name[:80]!r}.",
            suggestion=f"It has: {', '.join(known) or 'none'}.",
        )
    text = load_content(found.digest, _KINDS[held]).text
    inherited = inherited_by(actor=actor, program=program, skill=found) if held is HandedOut.SKILLS else ()
    linked = linked_by(actor=actor, program=program, skill=found) if held is HandedOut.SKILLS else ()
    shown = _indexed(found, _indexes(program, held))
    return AttachmentText(attachment=shown, text=text, inherited=inherited, linked=linked)


def linked_by(*, actor: Actor, program: Program, skill: Attachment) -> tuple[tuple[str, str], ...]:
    """What a skill that was lent links to, with the workflow that it is of: by a bare name another one may be found, or none. A program
    names lenders as its source does, where a bare name means first what has it in the same namespace.
    """
    found = (find_resource(program=program, reference=name, home=skill.owner) for name in skill.resources)
    lent = dict.fromkeys(item for item in found if item is not None and item.owner != program.id)
    names: dict[Attachment, str] = {}
    for owner in {item.owner for item in lent}:
        names |= resource_names(each for each in program.resources if each.owner == owner)
    lenders = {
        owner: find_program(actor=actor, workflow_id=owner, beside=program.id)
        for owner in {item.owner for item in lent}
    }
    ids = {owner: owner if found is None else found.id for owner, found in lenders.items()}
    return tuple((ids[item.owner], names[item]) for item in lent)


def is_technique(skill: Attachment) -> bool:
    return skill.format == _TECHNIQUE


def inherited_by(*, actor: Actor, program: Program, skill: Attachment) -> tuple[InheritedTechnique, ...]:
    """The techniques whose rules hold for this one as well."""
    document = load_content(skill.digest, ContentKind.SKILL).document if is_technique(skill) else None
    named = document.get("inherits") if isinstance(document, dict) else None
    if not named:
        return ()
    held = {each.id: each for each in program.skills if each.owner == skill.owner}
    if not all(name in held for name in named):
        # A compiler before the fifth kept nothing of what a lent technique inherits.
        lender = find_program(actor=actor, workflow_id=skill.owner, beside=program.id)
        lent = () if lender is None else (each for each in lender.skills if each.owner == lender.id)
        held = {**{each.id: each for each in lent}, **held}
    names = SkillNames(program)
    return tuple(_inherited(names, skill.owner, name, held.get(name)) for name in named)


def _inherited(names: SkillNames, owner: str, name: str, found: Attachment | None) -> InheritedTechnique:
    reference = f"{owner}/{name}"
    if found is None:
        return InheritedTechnique(name="", reference=reference, rules="")
    return InheritedTechnique(
        name=names.name_of(found) or f"{owner}::{name}",
        reference=reference,
        rules=rules_of(load_content(found.digest, ContentKind.SKILL).text),
    )


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


def _known(program: Program, held: HandedOut) -> list[str]:
    """Each as it is asked for."""
    if held is HandedOut.SKILLS:
        return skill_names(program)
    return sorted(f"{item.index} ({item.id})" if item.index else item.id for item in _held(program, held))


def _indexes(program: Program, held: HandedOut) -> Mapping[Attachment, str]:
    """Skills are read by their ids."""
    return {} if held is HandedOut.SKILLS else resource_names(_held(program, held))


def _indexed(item: Attachment, indexes: Mapping[Attachment, str]) -> Attachment:
    return replace(item, index=indexes.get(item, item.index))


def skill_elsewhere(*, actor: Actor, program: Program, name: str) -> Attachment | None:
    """One that the program has not: of a workflow that lends it others, or of `meta`, which serves all, where the team has it."""
    owner, rest = lent_name(program, name)
    lender = find_program(actor=actor, workflow_id=owner, beside=program.id) if owner else None
    found = find_skill(program=lender, reference=rest) if lender is not None else None
    if found is not None:
        return found
    if program.id == META or not any(each.workflow_id == META for each in list_published(actor=actor)):
        return None
    return find_skill(program=read_published(actor=actor, workflow_id=META), reference=name)
