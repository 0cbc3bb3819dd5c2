"""What a step must pass before the run goes on: output contract, assessments, validation of notes, confirmation."""

from dataclasses import dataclass
from typing import Any

from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import (
    AnyOf,
    Condition,
    Confirmation,
    ConfirmationKind,
    Consequence,
    ContractUse,
    Validation,
)
from workflows_app.engine.steps import rules
from workflows_app.engine.steps.findings import join, shown
from workflows_app.engine.steps.scope import Build, StepScope
from workflows_app.engine.steps.shape import did_mean, misspelt, shown_value

ASSESSMENT_CONTRACT = "wr.contracts.assessment"
_NAMED = {kind.value: kind for kind in (ConfirmationKind.COORDINATOR_EVAL, ConfirmationKind.HUMAN_APPROVAL)}
# The later asks for more.
_STRENGTH = (
    ConfirmationKind.CONDITIONAL,
    ConfirmationKind.ALWAYS,
    ConfirmationKind.COORDINATOR_EVAL,
    ConfirmationKind.HUMAN_APPROVAL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """`hints` are lines of guidance that belong to the output."""

    contract: ContractUse | None = None
    validation: Validation | None = None
    assessments: tuple[str, ...] = ()
    consequences: tuple[Consequence, ...] = ()
    hints: tuple[str, ...] = ()

    @property
    def decides(self) -> bool:
        return self.contract is not None or bool(self.assessments) or self.validation is not None


def of_step(build: Build, scope: StepScope, raw: dict[str, Any], path: str, *, prompt: str = "") -> Gates:
    """A contract decides alone; without one assessments decide; without them the rules for the notes."""
    contract, hints = _output(build, scope, raw, path)
    assessments = _assessment_refs(build, scope, raw, path)
    consequences = _consequences(build, scope, raw, path)
    validation = _validation(build, scope, raw, path, prompt)
    if contract is not None:
        _warn_overruled(scope, "outputContract", raw, ("assessmentRefs", "validationCriteria"), path)
        return Gates(contract=contract, hints=hints)
    if assessments:
        _warn_overruled(scope, "assessmentRefs", raw, ("validationCriteria",), path)
        return Gates(assessments=assessments, consequences=consequences, hints=hints)
    return Gates(validation=validation, hints=hints)


def confirmation(build: Build, scope: StepScope, raw: dict[str, Any], path: str) -> Confirmation | None:
    """`true`, a condition, or an object that names who confirms. Absent and `false` ask for nothing."""
    value = raw.get("requireConfirmation", False)
    place = f"{path}.requireConfirmation"
    if isinstance(value, bool):
        return Confirmation(confirms=ConfirmationKind.ALWAYS) if value else None
    if isinstance(value, dict) and ("kind" in value or _means_a_kind(scope, value, place)):
        return _named_confirmation(build, scope, value, place) if "kind" in value else None
    condition = build.condition(scope, value, place)
    return _confirmation(ConfirmationKind.CONDITIONAL, condition)


def stronger(first: Confirmation | None, second: Confirmation | None) -> Confirmation | None:
    """One confirmation that asks at least as much as each of the two."""
    if first is None or second is None:
        return first or second
    kind = max(first.confirms, second.confirms, key=_STRENGTH.index)
    if first.condition is None or second.condition is None:
        return _confirmation(kind, None)
    if first.condition == second.condition:
        return _confirmation(kind, first.condition)
    return _confirmation(kind, AnyOf(conditions=(first.condition, second.condition)))


def contract_use(build: Build, scope: StepScope, raw: dict[str, Any], path: str) -> ContractUse | None:
    reference = raw.get("contractRef")
    if reference is None or build.contract(scope, reference, f"{path}.contractRef") is None:
        return None
    return ContractUse(contract=reference, required=raw.get("required", True))


def _means_a_kind(scope: StepScope, value: dict[str, Any], path: str) -> bool:
    """Whether it is no condition but should name who confirms, and does not: which is told, as the one mistake."""
    instead = misspelt(value, "kind", ("condition",), scope.findings)
    if instead:
        message = f"{shown(instead)} is not a key of a confirmation."
        scope.findings.error(ProblemCode.UNKNOWN_KEY, join(path, instead), message, did_mean("kind"))
    elif "condition" in value:
        message = f"Beside `condition` stands no `kind`, which says who confirms: {', '.join(_NAMED)}."
        scope.findings.error(ProblemCode.MISSING_KEY, f"{path}.kind", message)
    return bool(instead) or "condition" in value


def _confirmation(kind: ConfirmationKind, condition: Condition | None) -> Confirmation:
    if kind is ConfirmationKind.CONDITIONAL and condition is None:
        kind = ConfirmationKind.ALWAYS
    return Confirmation(confirms=kind, condition=condition)


def _named_confirmation(build: Build, scope: StepScope, value: dict[str, Any], path: str) -> Confirmation | None:
    kind = value["kind"]
    for key in sorted(value.keys() - {"kind", "condition"}):
        message = f"{shown(key)} is not a key of a confirmation."
        scope.findings.unknown(ProblemCode.UNKNOWN_KEY, path, message, word=key, known=("kind", "condition"))
    if not isinstance(kind, str) or kind not in _NAMED:
        message = f"This is {shown_value(kind)}, which does not say who confirms."
        word = kind if isinstance(kind, str) else ""
        scope.findings.unknown(ProblemCode.BAD_VALUE, f"{path}.kind", message, word=word, known=_NAMED)
        return None
    return _confirmation(_NAMED[kind], build.condition(scope, value.get("condition"), f"{path}.condition"))


def _output(
    build: Build, scope: StepScope, raw: dict[str, Any], path: str
) -> tuple[ContractUse | None, tuple[str, ...]]:
    output = raw.get("output", {})
    hints = tuple(output.get("hints", ()))
    if "outputContract" in raw and "contractRef" in output:
        message = "`outputContract` and `output.contractRef` say the same thing; keep one."
        scope.findings.error(ProblemCode.CONFLICTING_KEYS, f"{path}.output.contractRef", message)
    if "outputContract" in raw:
        return contract_use(build, scope, raw["outputContract"], f"{path}.outputContract"), hints
    return contract_use(build, scope, output, f"{path}.output"), hints


def _validation(build: Build, scope: StepScope, raw: dict[str, Any], path: str, prompt: str) -> Validation | None:
    if "validationCriteria" in raw:
        if raw.get("hasValidation") is False:
            message = "`hasValidation` is false, but there are rules; they are checked."
            scope.findings.warn(ProblemCode.CONFLICTING_KEYS, f"{path}.hasValidation", message)
        return rules.read(build, scope, raw["validationCriteria"], f"{path}.validationCriteria", prompt=prompt)
    if raw.get("hasValidation"):
        message = "`hasValidation` is true, but the step has no `validationCriteria`; nothing is checked."
        scope.findings.warn(ProblemCode.CONFLICTING_KEYS, f"{path}.hasValidation", message)
    return None


def _assessment_refs(build: Build, scope: StepScope, raw: dict[str, Any], path: str) -> tuple[str, ...]:
    known: list[str] = []
    for index, reference in enumerate(raw.get("assessmentRefs", ())):
        if reference in build.assessments:
            known.append(reference)
            continue
        if build.left_out.may_hold("assessments", reference):
            continue
        message = f"The workflow has no assessment {shown(reference)}."
        place = f"{path}.assessmentRefs[{index}]"
        build.unresolved.add("assessments")
        scope.findings.unknown(ProblemCode.UNKNOWN_ASSESSMENT, place, message, word=reference, known=build.assessments)
    build.used_assessments.update(known)
    if known:
        build.contract(scope, ASSESSMENT_CONTRACT, f"{path}.assessmentRefs")
    return tuple(known)


def _consequences(build: Build, scope: StepScope, raw: dict[str, Any], path: str) -> tuple[Consequence, ...]:
    given = raw.get("assessmentConsequences", ())
    if given and not raw.get("assessmentRefs"):
        message = "Consequences need the key `assessmentRefs` beside them."
        scope.findings.error(ProblemCode.MISSING_KEY, f"{path}.assessmentRefs", message)
        return ()
    asked = tuple(raw.get("assessmentRefs", ()))
    read = [
        _consequence(build, scope, item, asked, f"{path}.assessmentConsequences[{index}]")
        for index, item in enumerate(given)
    ]
    return tuple(consequence for consequence in read if consequence is not None)


def _consequence(
    build: Build, scope: StepScope, raw: dict[str, Any], asked: tuple[str, ...], path: str
) -> Consequence | None:
    level = raw["when"]["anyEqualsLevel"]
    only = raw["when"].get("forAssessment", "")
    if any(name not in build.assessments for name in asked):
        # One that is asked for is not there, which is told: it may be the one that is meant.
        return None
    if only and only not in asked:
        message = f"{shown(only)} is not among the `assessmentRefs` of this step."
        place = f"{path}.when.forAssessment"
        scope.findings.unknown(ProblemCode.UNKNOWN_ASSESSMENT, place, message, word=only, known=asked)
        return None
    meant = (only,) if only else asked
    levels = _levels(build, meant)
    if level not in levels:
        message = f"No dimension here has the level {shown(level)}, so this never happens."
        place = f"{path}.when.anyEqualsLevel"
        scope.findings.unknown(ProblemCode.BAD_VALUE, place, message, word=level, known=levels)
    return Consequence(level=level, guidance=raw["effect"]["guidance"], assessment=only)


def _levels(build: Build, assessments: tuple[str, ...]) -> dict[str, None]:
    dimensions = (dimension for name in assessments for dimension in build.assessments[name].dimensions)
    return dict.fromkeys(level for dimension in dimensions for level in dimension.levels)


def _warn_overruled(scope: StepScope, winner: str, raw: dict[str, Any], losers: tuple[str, ...], path: str) -> None:
    for loser in losers:
        if loser in raw:
            message = f"`{winner}` decides alone, so `{loser}` is not checked."
            scope.findings.warn(
                ProblemCode.CONFLICTING_KEYS, f"{path}.{loser}", message, "Put one of them on a step of its own."
            )
