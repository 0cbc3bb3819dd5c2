"""What a workflow declares at its top for its steps: features, slots, assessments, capabilities, references."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import (
    Assessment,
    Capability,
    CapabilityNeed,
    Dimension,
    ExtensionPoint,
    Reference,
)
from workflows_app.engine.steps.features import FEATURES
from workflows_app.engine.steps.findings import StepFindings, shown
from workflows_app.engine.steps.scope import Build

_Entry = TypeVar("_Entry", Assessment, Reference)
_Read = Callable[[StepFindings, dict[str, Any], str], _Entry]


def features(findings: StepFindings, document: dict[str, Any]) -> tuple[str, ...]:
    """The known features, in the order of their names."""
    given = document.get("features", ())
    for index, name in enumerate(given):
        if name and name not in FEATURES:
            message = f"There is no feature {shown(name)}."
            findings.unknown(ProblemCode.UNKNOWN_FEATURE, f"features[{index}]", message, word=name, known=FEATURES)
    return tuple(sorted({name for name in given if name in FEATURES}))


def slots(build: Build, findings: StepFindings, document: dict[str, Any]) -> dict[str, str]:
    """What each extension point of the document is bound to: the team's choice, else the author's default."""
    bound: dict[str, str] = {}
    for index, raw in enumerate(document.get("extensionPoints", ())):
        if not raw:
            continue
        slot = raw["slotId"]
        path = f"extensionPoints[{index}]"
        if slot in bound:
            findings.error(ProblemCode.DUPLICATE_ID, f"{path}.slotId", f"The slot {shown(slot)} is declared twice.")
        bound[slot] = build.library.bindings.get(slot, raw["default"])
        _check_bound(build, findings, raw, bound[slot], path)
        point = ExtensionPoint(slot=slot, purpose=raw["purpose"], default=raw["default"], bound_to=bound[slot])
        build.extension_points.setdefault(slot, point)
    return bound


def enter(build: Build, findings: StepFindings, document: dict[str, Any]) -> None:
    """What the workflow itself declares for all its steps."""
    for name, need in document.get("capabilities", {}).items():
        build.capabilities[Capability(name)] = CapabilityNeed(need)
    _enter(findings, document, "assessments", _assessment, build.assessments)
    _enter(findings, document, "references", _reference, build.references)


def enter_routine(build: Build, findings: StepFindings, document: dict[str, Any]) -> None:
    """Add what a routine needs to what the workflow has. The same id with another meaning is an error."""
    _join(findings, document, "assessments", _assessment, build.assessments)
    _join(findings, document, "references", _reference, build.references)
    for name, need in document.get("capabilities", {}).items():
        _join_capability(build, findings, Capability(name), CapabilityNeed(need))


def _check_bound(build: Build, findings: StepFindings, raw: dict[str, Any], bound: str, path: str) -> None:
    routine = bound in build.routine_ids
    known = build.library.workflow_ids
    if known and not routine and bound not in known:
        message = f"The slot {shown(raw['slotId'])} is bound to {shown(bound)}, which is not in the library."
        findings.warn(ProblemCode.UNKNOWN_ROUTINE, f"{path}.default", message)
        return
    kind = "routine" if routine else "workflow"
    accepted = raw.get("acceptedKinds")
    if accepted and (routine or known) and kind not in accepted:
        message = f"The slot accepts a {' or a '.join(accepted)}, and {shown(bound)} is a {kind}."
        findings.warn(ProblemCode.BAD_VALUE, f"{path}.acceptedKinds", message)


def _enter(
    findings: StepFindings, document: dict[str, Any], key: str, read: _Read[_Entry], into: dict[str, _Entry]
) -> None:
    for index, entry in _entries(findings, document, key, read):
        if entry.id in into:
            message = f"The id {shown(entry.id)} stands twice."
            findings.error(ProblemCode.DUPLICATE_ID, f"{key}[{index}].id", message)
        into.setdefault(entry.id, entry)


def _join(
    findings: StepFindings, document: dict[str, Any], key: str, read: _Read[_Entry], into: dict[str, _Entry]
) -> None:
    for index, entry in _entries(findings, document, key, read):
        if into.setdefault(entry.id, entry) != entry:
            message = f"{shown(entry.id)} means something else here than where it was first declared."
            findings.error(ProblemCode.DUPLICATE_ID, f"{key}[{index}].id", message, "Rename one of them.")


def _entries(
    findings: StepFindings, document: dict[str, Any], key: str, read: _Read[_Entry]
) -> Iterator[tuple[int, _Entry]]:
    for index, raw in enumerate(document.get(key, ())):
        if raw:
            yield index, read(findings, raw, f"{key}[{index}]")


def _join_capability(build: Build, findings: StepFindings, capability: Capability, need: CapabilityNeed) -> None:
    """The workflow's word stands; a routine that requires what the workflow switches off cannot run in it."""
    own = build.capabilities.get(capability)
    if need is CapabilityNeed.REQUIRED and own is CapabilityNeed.DISABLED:
        message = f"The routine requires {capability}, which the workflow disables."
        findings.error(ProblemCode.CONFLICTING_KEYS, f"capabilities.{capability}", message)
    elif need is not CapabilityNeed.DISABLED and own is None:
        build.capabilities[capability] = need


def _assessment(findings: StepFindings, raw: dict[str, Any], path: str) -> Assessment:
    dimensions: dict[str, Dimension] = {}
    for index, dimension in enumerate(raw["dimensions"]):
        if dimension["id"] in dimensions:
            message = f"The dimension {shown(dimension['id'])} stands twice."
            findings.error(ProblemCode.DUPLICATE_ID, f"{path}.dimensions[{index}].id", message)
        dimensions[dimension["id"]] = Dimension(
            id=dimension["id"],
            purpose=dimension["purpose"],
            levels=tuple(dimension["levels"]),
            required=dimension.get("required", True),
        )
    return Assessment(id=raw["id"], purpose=raw["purpose"], dimensions=tuple(dimensions.values()))


def _reference(_findings: StepFindings, raw: dict[str, Any], _path: str) -> Reference:
    return Reference(
        id=raw["id"],
        title=raw["title"],
        source=raw["source"],
        purpose=raw["purpose"],
        authoritative=raw["authoritative"],
        resolve_from=raw.get("resolveFrom", "workspace"),
    )
