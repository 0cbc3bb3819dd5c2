"""The document that describes a workflow: everything in it but the activities."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from workflows_app.engine.activities.exits import Graph, read_graph
from workflows_app.engine.activities.folder import ACTIVITIES_FOLDER
from workflows_app.engine.activities.fragments import REFERRING, FragmentIndex
from workflows_app.engine.activities.shape import FolderShape
from workflows_app.engine.activities.value_types import is_of_type
from workflows_app.engine.problems import ProblemCode, Severity
from workflows_app.engine.program import ArtifactLocation, RoleDefinition, Variable, VariableType, WorkflowMode

_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """`inherited_*` is what every activity gets besides its own; `listed` are the entries of `activities` as written;
    `graph` says of each activity where its exits lead.
    """

    id: str
    title: str
    version: str
    description: str
    author: str
    tags: tuple[str, ...]
    rules: tuple[str, ...]
    inherited_rules: tuple[str, ...]
    variables: tuple[Variable, ...]
    modes: tuple[WorkflowMode, ...]
    roles: tuple[RoleDefinition, ...]
    artifact_locations: dict[str, ArtifactLocation]
    primary_skill: str
    skill_ids: tuple[str, ...]
    inherited_skills: tuple[str, ...]
    initial_activity: str
    activities_folder: str
    listed: tuple[Any, ...]
    graph: Graph
    extra: dict[str, Any]


def read_definition(shape: FolderShape, *, fragments: FragmentIndex) -> Definition:
    shape.text("$schema")
    _check_fragments(shape)
    rules, inherited_rules = _rules(shape, fragments)
    primary_skill, skill_ids = _skills(shape)
    techniques = shape.shape("techniques")
    folder = activities_folder(shape.text("activitiesDir"))
    listed = shape.raw("activities")
    if listed is not None and not isinstance(listed, list):
        shape.wrong_type("activities", "a list")
    elif shape.is_misspelt("activities", of=list):
        shape.missing("activities")
    return Definition(
        id=shape.text("id"),
        title=shape.text("title", required=True),
        version=read_version(shape),
        description=shape.text("description"),
        author=shape.text("author"),
        tags=shape.texts("tags"),
        rules=rules,
        inherited_rules=inherited_rules,
        variables=read_variables(shape, "variables"),
        modes=tuple(_mode(item, number) for number, item in enumerate(shape.shapes("modes"), 1)),
        roles=_roles(shape),
        artifact_locations=dict(_locations(shape)),
        primary_skill=primary_skill,
        skill_ids=(*skill_ids, *_closing_texts(techniques, "workflow")),
        inherited_skills=_closing_texts(techniques, "activity", last=True),
        initial_activity=shape.text("initialActivity"),
        activities_folder=folder,
        listed=tuple(listed) if isinstance(listed, list) else (),
        graph=read_graph(shape),
        extra=shape.extra(),
    )


def activities_folder(named: Any) -> str:
    """The folder that `activitiesDir` names, from the top of the workflow's own."""
    folder = named.removeprefix("./").strip("/") if isinstance(named, str) else ""
    return folder or ACTIVITIES_FOLDER


def read_version(shape: FolderShape) -> str:
    version = shape.text("version", required=True)
    if version and _VERSION.fullmatch(version) is None:
        shape.warn(ProblemCode.BAD_VALUE, "version", f"{version[:40]!r} is not a version like '1.0.0'.")
    return version


def read_variables(shape: FolderShape, key: str) -> tuple[Variable, ...]:
    kept: dict[str, Variable] = {}
    for item in shape.shapes(key):
        variable = _variable(item)
        if variable.name in kept:
            item.warn(ProblemCode.DUPLICATE_ID, "name", f"The variable {variable.name!r} is declared twice.")
        elif variable.name:
            kept[variable.name] = variable
    return tuple(kept.values())


def untyped(shape: FolderShape, key: str) -> Iterator[str]:
    """The variables of which it was told that nobody knows their type."""
    listed = shape.raw(key)
    for index, item in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(item, dict) and shape.is_lost(f"{key}[{index}].type", Severity.WARNING):
            yield str(item.get("name"))


def _variable(shape: FolderShape) -> Variable:
    if not shape.has("type"):
        shape.missing("type")
    kind = VariableType(shape.choice("type", list(VariableType), default=VariableType.STRING))
    default = shape.raw("defaultValue")
    if default is not None and not shape.is_lost("type", Severity.WARNING) and not is_of_type(default, kind):
        shape.warn(ProblemCode.BAD_VALUE, "defaultValue", f"The default is not of the type {kind.value!r}.")
    name = shape.text("name", required=True)
    if shape.is_lost("name"):
        shape.lose_name()
    return Variable(
        name=name,
        type=kind,
        description=shape.text("description"),
        has_default=shape.knows("defaultValue"),
        default=default,
        required=shape.flag("required", default=False),
        extra=shape.extra(),
    )


def _check_fragments(shape: FolderShape) -> None:
    """Fragments are read where something refers to them; here only their form is."""
    fragments = shape.shape("fragments")
    if fragments is None:
        return
    rules, checkpoints = fragments.mapping("rules"), fragments.mapping("checkpoints")
    for name, value in rules.items():
        if not isinstance(value, str) and not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
            fragments.problem(ProblemCode.WRONG_TYPE, f"rules.{name}", "A rule fragment is a text or a list of texts.")
    for name, value in checkpoints.items():
        if not isinstance(value, dict):
            fragments.problem(ProblemCode.WRONG_TYPE, f"checkpoints.{name}", "A checkpoint fragment is an object.")
        elif value.get(REFERRING) is not None:
            message = "A fragment does not refer to another one."
            advice = "Write here what the other one says."
            fragments.problem(ProblemCode.UNKNOWN_REF, f"checkpoints.{name}.{REFERRING}", message, suggestion=advice)
    fragments.extra()


def _rules(shape: FolderShape, fragments: FragmentIndex) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The workflow's rules, and those that each activity inherits where rules are parted by whom they are for."""
    if not isinstance(shape.raw("rules"), dict):
        return tuple(_rule_texts(shape, "rules", fragments)), ()
    parted = shape.inner(shape.mapping("rules"), "rules")
    own, inherited, both = (tuple(_rule_texts(parted, key, fragments)) for key in ("workflow", "activity", "universal"))
    parted.extra()
    return (*own, *both), (*inherited, *both)


def _rule_texts(shape: FolderShape, key: str, fragments: FragmentIndex) -> Iterator[str]:
    """Rules as written, and in the place of `{ref: name}` those of that fragment."""
    value = shape.raw(key)
    items = value if isinstance(value, list) else []
    if not any(isinstance(item, dict) for item in items):
        yield from shape.texts(key)
        return
    for index, item in enumerate(items):
        reference = item.get("ref") if isinstance(item, dict) else None
        texts = fragments.rule(reference) if isinstance(reference, str) else None
        if isinstance(item, dict):
            entry = shape.inner(item, f"{key}[{index}]")
            if entry.has("ref"):
                entry.extra()
        if isinstance(item, str):
            yield item
        elif texts is not None:
            # Each at a time: a fragment may hold as many texts as there are references to it.
            yield from takewhile(lambda text: shape.findings.repeat(len(text) + 1, file=shape.file), texts)
        elif isinstance(reference, str) and fragments.is_kept_here(reference):
            continue
        elif isinstance(reference, str):
            _tell_missing(shape, f"{key}[{index}]", reference, fragments)
        else:
            message = "A rule is text, or `ref` and the name of a fragment."
            shape.problem(ProblemCode.UNKNOWN_REF, f"{key}[{index}]", message)


def _tell_missing(shape: FolderShape, place: str, reference: str, fragments: FragmentIndex) -> None:
    """What another workflow keeps may come later, as its skills may; a name that should be here is a mistake."""
    if lost := fragments.lost_rule(reference):
        shape.findings.take_once(lost)
        return
    absent = fragments.absent_owner(reference)
    if absent:
        message = f"The rule {reference[:80]!r} is left out: the workflow {absent[:80]!r} is not here."
        shape.warn(ProblemCode.UNKNOWN_REF, place, message, fragments.advice_on(absent))
        return
    hint = shape.findings.hint(reference, fragments.rule_names())
    message = f"No rule fragment {reference[:80]!r} is known."
    shape.problem(ProblemCode.UNKNOWN_REF, place, message, suggestion=hint)


def _skills(shape: FolderShape) -> tuple[str, tuple[str, ...]]:
    """A list in the second generation, `{primary, supporting}` in the third."""
    if isinstance(shape.raw("skills"), list):
        return "", shape.texts("skills")
    skills = shape.shape("skills")
    if skills is None:
        return "", ()
    primary = skills.text("primary", required=True)
    listed = (primary, *skills.texts("supporting"))
    skills.extra()
    return primary, tuple(skill for skill in listed if skill)


def _closing_texts(shape: FolderShape | None, key: str, *, last: bool = False) -> tuple[str, ...]:
    if shape is None:
        return ()
    texts = tuple(text for text in shape.texts(key) if text)
    if last:
        shape.extra()
    return texts


def _roles(shape: FolderShape) -> tuple[RoleDefinition, ...]:
    model = shape.shape("executionModel")
    if model is None:
        return ()
    roles = tuple(_role(item, number) for number, item in enumerate(model.shapes("roles"), 1))
    model.extra()
    return roles


def _role(shape: FolderShape, number: int) -> RoleDefinition:
    return RoleDefinition(
        id=shape.id(default=f"role-{number}"), description=shape.text("description", required=True), extra=shape.extra()
    )


def _mode(shape: FolderShape, number: int) -> WorkflowMode:
    mode_id = shape.id(default=f"mode-{number}")
    return WorkflowMode(
        id=mode_id,
        name=shape.text("name", required=True, default=mode_id),
        activation_variable=shape.text("activationVariable", required=True),
        description=shape.text("description"),
        recognition=shape.texts("recognition"),
        skip_activities=shape.texts("skipActivities"),
        defaults=shape.mapping("defaults"),
        resource=shape.text("resource"),
        extra=shape.extra(),
    )


def _locations(shape: FolderShape) -> Iterable[tuple[str, ArtifactLocation]]:
    """A path, or an object with one."""
    places = shape.inner(shape.mapping("artifactLocations"), "artifactLocations")
    for name, value in sorted(shape.mapping("artifactLocations").items()):
        if isinstance(value, dict):
            yield name, _location(places.inner(value, name))
        else:
            yield name, ArtifactLocation(path=places.text(name, required=True))


def _location(shape: FolderShape) -> ArtifactLocation:
    return ArtifactLocation(
        path=shape.text("path", required=True),
        description=shape.text("description"),
        gitignored=shape.flag("gitignored", default=False),
        extra=shape.extra(),
    )
