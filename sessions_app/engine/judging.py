"""One submission judged against the pending item: what stops it, what is only told, and whether it waits for a person."""

from dataclasses import dataclass, replace

from sessions_app.engine.findings import Findings
from sessions_app.engine.obligations import judges_notes
from sessions_app.engine.reasons import (
    CLEAR,
    Detail,
    Gap,
    GapSeverity,
    Reason,
    Verdict,
    contract_pointer,
    gap_of,
    weigh,
)
from sessions_app.engine.runs import Drive
from sessions_app.engine.state import Preferences
from workflows_app.engine.program import Gate, Parallel, Program, Step
from workflows_app.engine.walks import LOOP_CONTROL_KIND


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """`told` are gaps that stop nothing in any mode."""

    findings: Findings
    verdict: Verdict
    told: tuple[Gap, ...]
    waits_for_approval: bool

    @property
    def stops(self) -> bool:
        return bool(self.verdict.blockers) and not self.waits_for_approval


def judge(
    *,
    program: Program,
    item: Step | Parallel | Gate | None,
    findings: Findings,
    preferences: Preferences,
    drive: Drive,
    more: tuple[Reason, ...] = (),
) -> Judgement:
    """`more` are reasons of the walk that would follow."""
    reasons = (*findings.reasons, *more)
    if not reasons:
        return Judgement(findings=findings, verdict=CLEAR, told=(), waits_for_approval=False)
    told = [reason for reason in reasons if drive is not Drive.LED and _is_not_asked_for(program, item, reason)]
    kept = [_worded(reason, drive) for reason in reasons if reason not in told]
    verdict = weigh(reasons=kept, preferences=preferences)
    without = weigh(reasons=[reason for reason in kept if not _is_approval(reason)], preferences=preferences)
    return Judgement(
        findings=findings,
        verdict=verdict,
        told=tuple(gap_of(reason, GapSeverity.INFO) for reason in told),
        waits_for_approval=bool(verdict.blockers) and not without.blockers and not isinstance(item, Gate),
    )


def _is_approval(reason: Reason) -> bool:
    return reason.needs_person and reason.detail is Detail.NEEDS_USER_APPROVAL


def _worded(reason: Reason, drive: Drive) -> Reason:
    """Only where the server leads there are tokens to try again with."""
    is_other = drive is not Drive.LED and reason.detail is Detail.MISSING_REQUIRED_NOTES
    return replace(reason, fix="Tell what was done and found, as the step asks for it.") if is_other else reason


def _is_not_asked_for(program: Program, item: Step | Parallel | Gate | None, reason: Reason) -> bool:
    """Whoever steers says by other words how a loop goes on, and no contract of theirs has notes for every step: they are
    asked for where a program judges them.
    """
    if reason.detail is Detail.MISSING_REQUIRED_NOTES:
        return not judges_notes(item)
    decisions = [name for name, each in program.contracts.items() if each.artifact_kind == LOOP_CONTROL_KIND]
    return reason.detail is Detail.MISSING_REQUIRED_OUTPUT and reason.pointer in map(contract_pointer, decisions)
