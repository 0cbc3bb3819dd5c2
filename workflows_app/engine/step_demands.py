"""What the program demands of a step before it counts as done, in words: whichever dialect tells of the step, it tells this."""

from collections.abc import Iterator

from workflows_app.engine import contracts, validation
from workflows_app.engine.program import Assessment, Dimension, Parallel, Program, Step

ASSESSMENT_KIND = "wr.assessment"


def demands_of(program: Program, item: Step | Parallel) -> tuple[str, ...]:
    """Of an artifact, of assessments and of rules for the notes those that are looked at: the first that the step has."""
    if item.contract is not None:
        words = contracts.suggest(contracts.asked_of(program, item, item.contract))
        return (words if item.contract.required else f"If it applies: {words}",)
    if isinstance(item, Step) and item.assessments:
        return tuple(_wanted(program, item))
    return validation.requirements(item.validation) if isinstance(item, Step) else ()


def assessments_of(program: Program, item: Step) -> tuple[Assessment, ...]:
    """Each once, however often the step names it."""
    known = {assessment.id: assessment for assessment in program.assessments}
    return tuple(known[ref] for ref in dict.fromkeys(item.assessments) if ref in known)


def dimensions_in_words(assessment: Assessment) -> str:
    return "; ".join(f"{_named(dimension)}: {' | '.join(dimension.levels)}" for dimension in assessment.dimensions)


def _wanted(program: Program, item: Step) -> Iterator[str]:
    for assessment in assessments_of(program, item):
        yield (
            f"An artifact of kind {ASSESSMENT_KIND} with assessmentId {assessment.id}{_purpose(assessment)} and dimensions "
            f"({dimensions_in_words(assessment)}), for example {_example(assessment)}."
        )


def _named(dimension: Dimension) -> str:
    return f"{dimension.id}{_purpose(dimension)}{'' if dimension.required else ', which may be left out'}"


def _purpose(judged: Assessment | Dimension) -> str:
    said = judged.purpose.strip().rstrip(".")
    return f" (what is judged: {said})" if said else ""


def _example(assessment: Assessment) -> str:
    levels = ", ".join(f'"{d.id}": "{d.levels[0]}"' for d in assessment.dimensions)
    return f'{{"kind": "{ASSESSMENT_KIND}", "assessmentId": "{assessment.id}", "dimensions": {{{levels}}}}}'
