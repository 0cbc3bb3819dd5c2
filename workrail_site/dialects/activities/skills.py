"""Skills by reference: the workflow's own, those of the folder that an activity was borrowed from, then the universal ones."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from teams_app.engine.actors import Actor
from teams_app.engine.errors import NotFoundError
from workflows_app.engine.activities.references import (
    META,
    PROTOCOLS,
    find_resource,
    find_skill,
    leading_skills,
    resource_names,
    skill_names,
)
from workflows_app.engine.activity_documents import instructions_json, step_json
from workflows_app.engine.problems import did_you_mean
from workflows_app.engine.program import Activity, Attachment, Family, Parallel, Program, Step, walk_items
from workflows_app.engine.source import ContentKind
from workflows_app.engine.toon_text import toon_text
from workflows_app.selectors.catalog import find_program
from workflows_app.selectors.handed_out import InheritedTechnique, inherited_by, is_technique
from workflows_app.selectors.programs import load_content
from workrail_site.dialects.activities.catalog import universal
from workrail_site.dialects.activities.definitions import is_shortened
from workrail_site.dialects.activities.printing import fits, next_call
from workrail_site.dialects.activities.resources import Asked, parts_of
from workrail_site.dialects.inherited import document_with, with_inherited, without_rules

EXECUTE_ACTIVITY = "execute-activity"
_AS_WRITTEN = frozenset({"toon", "markdown", "md"})
_REFERENCES = frozenset({"resource", "resources"})
# What is told of a skill beside a part of its text.
_NAMING = ("id", "version", "capability")
_HOW_TO_READ = "Read what else they say with get_skill, and the name as step_id."


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSkill:
    """`text` is what its author wrote where that is TOON or Markdown, else the same value as TOON."""

    id: str
    document: dict[str, Any]
    text: str
    # Each by what finds it in its workflow.
    resources: tuple[tuple[str, Attachment], ...] = ()
    owner: str = ""
    inherited: tuple[InheritedTechnique, ...] = ()
    # The text without what is inherited.
    written: str = ""

    def beside(self, others: Iterable["ReadSkill"]) -> "ReadSkill":
        """Without the rules that are told with one of these."""
        told = {each.reference for other in others for each in other.inherited}
        if not any(each.rules and each.reference in told for each in self.inherited):
            return self
        left = [replace(each, rules="") if each.reference in told else each for each in self.inherited]
        return replace(
            self,
            document=document_with(without_rules(self.document), left, called=_reference),
            text=with_inherited(self.written, left, called=_reference, how_to_read=_HOW_TO_READ),
        )

    @property
    def reference(self) -> str:
        """By which get_skill tells it wherever the session stands."""
        return f"{self.owner}/{self.id}"

    def bundled(self, *, within: str) -> dict[str, Any]:
        """With its resources by number, to be read one by one when the work needs them."""
        said = {key: value for key, value in self.document.items() if key not in _REFERENCES}
        listed = [
            {"index": _index(name, item, within), "id": item.id, "version": item.version}
            for name, item in self.resources
        ]
        return {**said, "_resources": listed} if listed else said

    def indexes(self, *, within: str) -> str:
        return ", ".join(_index(name, item, within) for name, item in self.resources)


def in_parts(skill: ReadSkill, asked: Asked, *, token: str) -> ReadSkill:
    """The skill where it fits into a reply; else a part of its text."""
    is_whole = fits(skill.document) and fits(skill.text)
    parts = [skill.text] if is_whole else parts_of(skill.text)
    number = asked.number_among(parts)
    if is_whole:
        return skill
    said: dict[str, Any] = {key: skill.document[key] for key in _NAMING if key in skill.document}
    said |= {"text": parts[number - 1], "part": number, "parts": len(parts)}
    if number == len(parts):
        return replace(skill, document=said, text=f"{said['text']}\n\n[This was part {number} of {len(parts)}.]")
    following = asked.after(number, parts)
    said["next_action"] = next_call("get_skill", token=token, step_id=following)
    goes_on = f"[This was part {number} of {len(parts)}. The next: get_skill with step_id {following}]"
    return replace(skill, document=said, text=f"{said['text']}\n\n{goes_on}")


def beginning(skill: ReadSkill, *, token: str, told: Sequence[ReadSkill] = ()) -> ReadSkill:
    """The skill without the rules that are told with one of those; of one that is too long so, the first part of all of it, which names
    the call for the next one.
    """
    shorter = skill.beside(told)
    is_whole = fits(shorter.document) and fits(shorter.text)
    return shorter if is_whole else in_parts(skill, Asked(whole=skill.reference), token=token)


class Shelf:
    """The skills that a session can read. `meta` is looked up when the program was compiled without it."""

    def __init__(self, *, actor: Actor, program: Program) -> None:
        self._actor = actor
        self._program = program

    def declared(self) -> tuple[list[ReadSkill], list[str]]:
        """Those that the workflow names for the whole of it, and the names that lead nowhere."""
        named = list(dict.fromkeys(filter(None, (self._program.primary_skill, *self._program.skill_ids))))
        if not named:
            return [skill for name in PROTOCOLS if (skill := self.find(name)) is not None], []
        return self._found(named)

    def leading(self) -> tuple[list[ReadSkill], list[str]]:
        """What whoever leads the workflow reads beside its primary skill, and the names that lead nowhere."""
        return self._found(leading_skills(self._program))

    def _found(self, names: Iterable[str]) -> tuple[list[ReadSkill], list[str]]:
        found = {name: self.find(name) for name in names}
        return [skill for skill in found.values() if skill is not None], [
            name for name, skill in found.items() if skill is None
        ]

    def primary(self) -> ReadSkill | None:
        """That of the workflow; of one that names none, the primary skill of `meta`."""
        if self._program.primary_skill:
            return self.find(self._program.primary_skill)
        meta = universal(self._actor, beside=self._program.id)
        return self.find(meta.primary_skill) if meta is not None and meta.primary_skill else None

    def of_activity(self, activity: Activity) -> ReadSkill:
        reference = activity.primary_skill or EXECUTE_ACTIVITY
        return self.require(reference, home=activity.borrowed_from)

    def of_step(self, activity: Activity, step_id: str) -> ReadSkill:
        """Where the step is told in short among the others, what it says itself goes before the skill that it names. What is no
        step may be a skill that a reply has named.
        """
        named = None if step_id in _steps(activity) else self.named(step_id, home=activity.borrowed_from)
        if named is not None:
            return named
        step = _step(activity, step_id)
        own = self._own_words(activity, step)
        if isinstance(step, Step) and step.skill:
            skill = self.require(step.skill, home=activity.borrowed_from)
            return skill if own is None else _below(own, skill)
        if own is not None:
            return own
        raise NotFoundError(
            f"Step '{step.id}' in activity '{activity.id}' has no associated skill.",
            suggestion="Do the step as its description says; call get_skill only for steps that name a skill.",
        )

    def _own_words(self, activity: Activity, step: Step | Parallel) -> ReadSkill | None:
        """A step of the other family is its own skill: how it is done stands in it."""
        if self._program.family is Family.STEPS:
            document = instructions_json(self._program, step)
        elif is_shortened(self._program, activity):
            document = {"id": step.id, "step": step_json(self._program, step)}
        else:
            return None
        return ReadSkill(id=step.id, document=document, text=toon_text(document))

    def require(self, reference: str, *, home: str = "") -> ReadSkill:
        found = self.find(reference, home=home)
        if found is None:
            known = skill_names(self._program)
            raise NotFoundError(
                f"Skill not found: {reference[:80]}",
                suggestion=did_you_mean(reference, known) or "Do the step as its description says, and tell your user.",
            )
        return found

    def find(self, reference: str, *, home: str = "") -> ReadSkill | None:
        for program in self._programs(reference):
            found = find_skill(program=program, reference=reference, home=home)
            if found is not None:
                return _read(self._actor, program, found)
        return None

    def named(self, reference: str, *, home: str = "") -> ReadSkill | None:
        """By a name that the program has, as it is told wherever the session stands; else as the activity at hand means it."""
        found = find_skill(program=self._program, reference=reference)
        found = found or find_skill(program=self._program, reference=reference, home=home)
        return None if found is None else _read(self._actor, self._program, found)

    def _programs(self, reference: str) -> Iterable[Program]:
        yield self._program
        owner, slash, _name = reference.partition("/")
        named = find_program(actor=self._actor, workflow_id=owner, beside=self._program.id) if slash else None
        if named is not None:
            yield named
        if not slash or owner == META:
            # That of the workflow's own namespace goes first; what it lacks is read from the one that serves all.
            for meta in (universal(self._actor, beside=self._program.id), universal(self._actor)):
                if meta is not None:
                    yield meta


def _read(actor: Actor, program: Program, found: Attachment) -> ReadSkill:
    content = load_content(found.digest, ContentKind.SKILL)
    document = content.document if isinstance(content.document, dict) else {"content": content.text}
    inherited = inherited_by(actor=actor, program=program, skill=found)
    document = document_with(document, inherited, called=_reference) if is_technique(found) else document
    text = content.text if found.format in _AS_WRITTEN else toon_text(document)
    references = (find_resource(program=program, reference=name, home=found.owner) for name in found.resources)
    resources = dict.fromkeys(item for item in references if item is not None)
    return ReadSkill(
        id=found.id,
        document=document,
        text=with_inherited(text, inherited, called=_reference, how_to_read=_HOW_TO_READ),
        resources=tuple((_name_of(item, program), item) for item in resources),
        owner=found.owner,
        inherited=inherited,
        written=text,
    )


def _reference(inherited: InheritedTechnique) -> str:
    return inherited.reference


def _name_of(item: Attachment, program: Program) -> str:
    """By what it is found in its workflow."""
    return resource_names(each for each in program.resources if each.owner == item.owner)[item]


def _below(own: ReadSkill, skill: ReadSkill) -> ReadSkill:
    document = {**skill.document, **{key: value for key, value in own.document.items() if key != "id"}}
    return replace(skill, document=document, text=f"{own.text.strip()}\n\n---\n\n{skill.text}")


def _step(activity: Activity, step_id: str) -> Step | Parallel:
    steps = _steps(activity)
    if step_id not in steps:
        known = ", ".join(steps) or "none"
        raise NotFoundError(
            f"Step '{step_id[:80]}' not found in activity '{activity.id}'. Available steps: [{known}]",
            suggestion=did_you_mean(step_id, steps) or "Take a step_id of the current activity.",
        )
    return steps[step_id]


def _steps(activity: Activity) -> dict[str, Step | Parallel]:
    """Also within loops."""
    return {item.id: item for item in walk_items(activity.body) if isinstance(item, Step | Parallel)}


def _index(name: str, item: Attachment, within: str) -> str:
    """As get_resource takes it: with its workflow where that is another one."""
    return name if item.owner == within else f"{item.owner}/{name}"
