"""What a transition warns of: it stops nothing, and stands in the reply."""

from collections.abc import Iterable

from sessions_app.engine import outputs
from sessions_app.engine.decisions import IdentifiedGap, Warned, WarningCode
from sessions_app.engine.findings import Findings
from sessions_app.engine.reasons import Detail, Gap, GapCategory, GapSeverity
from sessions_app.engine.state import CapabilityStatus, Pointer, PointerKind, Preferences
from sessions_app.engine.submissions import Submission
from workflows_app.engine.program import Autonomy, CapabilityNeed, Program, RiskPolicy

_AUTONOMY_ORDER = (Autonomy.GUIDED, Autonomy.STOP_ON_USER_DEPS, Autonomy.NEVER_STOP)
_RISK_ORDER = (RiskPolicy.CONSERVATIVE, RiskPolicy.BALANCED, RiskPolicy.AGGRESSIVE)


def of_mode(program: Program, preferences: Preferences) -> tuple[Warned, ...]:
    """A user's mode is never refused; that it goes further than the workflow recommends is said."""
    said: list[Warned] = []
    most = program.recommended_autonomy
    if most is not None and _AUTONOMY_ORDER.index(preferences.autonomy) > _AUTONOMY_ORDER.index(most):
        said.append(_above("autonomy", preferences.autonomy.value, most.value))
    policy = program.recommended_risk_policy
    if policy is not None and _RISK_ORDER.index(preferences.risk_policy) > _RISK_ORDER.index(policy):
        said.append(_above("riskPolicy", preferences.risk_policy.value, policy.value))
    return tuple(said)


def degraded(program: Program, findings: Findings) -> tuple[Gap, ...]:
    """A preferred capability that is not there: the run goes on by the plainer path, and says so."""
    return tuple(
        Gap(
            severity=GapSeverity.WARNING,
            category=GapCategory.CAPABILITY_MISSING,
            detail=Detail.REQUIRED_CAPABILITY_UNAVAILABLE,
            summary=f"{capability.value} is not available; the enhanced path was not taken.",
            pointer=Pointer(kind=PointerKind.CAPABILITY, name=capability.value),
        )
        for capability, seen in findings.capabilities.items()
        if seen.status is CapabilityStatus.UNAVAILABLE
        and program.capabilities.get(capability) is CapabilityNeed.PREFERRED
    )


def of_findings(findings: Findings, submission: Submission) -> tuple[Warned, ...]:
    ignored = (
        Warned(code=WarningCode.ASSESSMENT_DIMENSION_IGNORED, message=suggestion) for suggestion in findings.suggestions
    )
    return (*ignored, *of_notes(submission))


def of_notes(submission: Submission) -> tuple[Warned, ...]:
    if outputs.cut_notes(submission.notes) == submission.notes:
        return ()
    message = f"The notes were longer than {outputs.MAX_NOTES_BYTES} bytes and were cut there."
    return (Warned(code=WarningCode.NOTES_TRUNCATED, message=message),)


def of_gaps(gaps: Iterable[IdentifiedGap]) -> tuple[Warned, ...]:
    return tuple(
        Warned(code=_code(identified.gap), message=identified.gap.summary)
        for identified in gaps
        if identified.gap.severity is not GapSeverity.INFO
    )


def _code(gap: Gap) -> WarningCode:
    softened = gap.category is GapCategory.CAPABILITY_MISSING and gap.severity is GapSeverity.WARNING
    return WarningCode.CAPABILITY_DEGRADED if softened else WarningCode.GAP_RECORDED


def _above(key: str, value: str, most: str) -> Warned:
    return Warned(
        code=WarningCode.MODE_ABOVE_RECOMMENDED,
        message=f"{key} {value} goes further than the workflow recommends; it advises at most {most}.",
    )
