"""Assessments: a level for each dimension that the workflow declares, and what follows from a level."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from sessions_app.engine.findings import Applied, Artifact, Findings, Graded
from sessions_app.engine.reasons import Detail, Reason
from sessions_app.engine.state import Pointer, PointerKind
from workflows_app.engine.placeholders import Filling
from workflows_app.engine.program import Assessment, Consequence, Dimension, Program, Step
from workflows_app.engine.step_demands import ASSESSMENT_KIND, assessments_of, dimensions_in_words

ASSESSMENT_CONTRACT = "wr.contracts.assessment"


def forms(program: Program, item: Step) -> Iterator[dict[str, Any]]:
    """What to hand in, with places for the levels."""
    for assessment in assessments_of(program, item):
        levels = {dimension.id: f"<{' | '.join(dimension.levels)}>" for dimension in assessment.dimensions}
        yield {"kind": ASSESSMENT_KIND, "assessmentId": assessment.id, "dimensions": levels}


def assess(
    findings: Findings, program: Program, item: Step, artifacts: Sequence[Artifact], *, filling: Filling
) -> None:
    """Grade what was handed in; several artifacts are told apart by their assessmentId. What an author wrote is told with its
    values.
    """
    offered = [artifact for artifact in artifacts if artifact.get("kind") == ASSESSMENT_KIND]
    definitions = assessments_of(program, item)
    for definition in definitions:
        found = _offered_for(definition, offered, alone=len(definitions) == 1)
        if found is None:
            findings.reasons.append(_not_handed_in(definition, filling))
        else:
            _grade(findings, definition, found)
    for consequence in item.consequences:
        _apply(findings, replace(consequence, guidance=filling.render(consequence.guidance)))


def _offered_for(definition: Assessment, offered: Sequence[Artifact], *, alone: bool) -> Artifact | None:
    named = [artifact for artifact in offered if artifact.get("assessmentId") == definition.id]
    unnamed = [artifact for artifact in offered if alone and artifact.get("assessmentId") is None]
    return next(iter([*named, *unnamed]), None)


def _not_handed_in(definition: Assessment, filling: Filling) -> Reason:
    return Reason(
        detail=Detail.MISSING_REQUIRED_OUTPUT,
        pointer=_pointer(definition.id, definition.dimensions[0].id),
        message=f"The assessment {definition.id} was not handed in.",
        fix=(
            f"Retry with an artifact of kind {ASSESSMENT_KIND}, assessmentId {definition.id}, "
            f"dimensions {filling.render(dimensions_in_words(definition))}."
        ),
    )


def _grade(findings: Findings, definition: Assessment, artifact: Artifact) -> None:
    given = artifact.get("dimensions")
    said: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    levels: dict[str, str] = {}
    normalized: set[str] = set()
    for dimension in definition.dimensions:
        level = _said_level(said.get(dimension.id))
        match = _match(dimension.levels, level)
        if match is not None:
            levels[dimension.id] = match
            normalized.update({dimension.id} if match != level else ())
        elif dimension.required or dimension.id in said:
            findings.reasons.append(_bad_dimension(definition, dimension, missing=dimension.id not in said))
    unknown = sorted(set(said) - {dimension.id for dimension in definition.dimensions})
    findings.suggestions.extend(
        f"The assessment {definition.id} has no dimension {name!r}; it was not recorded." for name in unknown
    )
    summary = artifact.get("summary")
    findings.graded.append(
        Graded(
            assessment=definition.id,
            levels=levels,
            rationales={name: text for name in levels if (text := _rationale(said[name]))},
            normalized=frozenset(normalized),
            summary=summary if isinstance(summary, str) else "",
        ),
    )


def _said_level(value: object) -> object:
    return value.get("level") if isinstance(value, Mapping) else value


def _rationale(value: object) -> str:
    text = value.get("rationale") if isinstance(value, Mapping) else None
    return text if isinstance(text, str) else ""


def _match(levels: tuple[str, ...], given: object) -> str | None:
    if not isinstance(given, str):
        return None
    if given in levels:
        return given
    folded = given.strip().lower()
    return next((level for level in levels if level.lower() == folded), None)


def _bad_dimension(definition: Assessment, dimension: Dimension, *, missing: bool) -> Reason:
    what = "is missing" if missing else "is at no known level"
    return Reason(
        detail=Detail.MISSING_REQUIRED_OUTPUT if missing else Detail.INVALID_REQUIRED_OUTPUT,
        pointer=_pointer(definition.id, dimension.id),
        message=f"Dimension {dimension.id} of assessment {definition.id} {what}.",
        fix=f"Give it one of: {' | '.join(dimension.levels)}.",
    )


def _apply(findings: Findings, consequence: Consequence) -> None:
    for graded in findings.graded:
        if consequence.assessment in {"", graded.assessment}:
            for dimension, level in graded.levels.items():
                if level == consequence.level:
                    _require_followup(findings, graded.assessment, dimension, consequence)


def _require_followup(findings: Findings, assessment: str, dimension: str, consequence: Consequence) -> None:
    findings.applied.append(
        Applied(assessment=assessment, dimension=dimension, level=consequence.level, guidance=consequence.guidance),
    )
    findings.followup = consequence.guidance
    findings.reasons.append(
        Reason(
            detail=Detail.ASSESSMENT_FOLLOWUP_REQUIRED,
            pointer=_pointer(assessment, dimension),
            message=f"{dimension} stands at {consequence.level}, which asks for a follow-up before the step is done.",
            fix=consequence.guidance,
        ),
    )


def _pointer(assessment: str, dimension: str) -> Pointer:
    return Pointer(kind=PointerKind.ASSESSMENT_DIMENSION, name=assessment, part=dimension)
