"""One table of reasons. A reason that stops a run is a blocker; where nothing may stop it, the same reason is a gap."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, assert_never

from sessions_app.engine.outputs import cut_text
from sessions_app.engine.state import (
    MAX_BLOCKERS,
    MAX_FIX_BYTES,
    MAX_MESSAGE_BYTES,
    Blocker,
    BlockerCode,
    Pointer,
    PointerKind,
    Preferences,
)
from workflows_app.engine.program import Autonomy, RiskPolicy


class GapCategory(StrEnum):
    USER_ONLY_DEPENDENCY = "user_only_dependency"
    CONTRACT_VIOLATION = "contract_violation"
    CAPABILITY_MISSING = "capability_missing"
    UNEXPECTED = "unexpected"


class GapSeverity(StrEnum):
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class Detail(StrEnum):
    NEEDS_USER_SECRET_OR_TOKEN = "needs_user_secret_or_token"  # noqa: S105  a word of the contract
    NEEDS_USER_ACCOUNT_ACCESS = "needs_user_account_access"
    NEEDS_USER_ARTIFACT = "needs_user_artifact"
    NEEDS_USER_CHOICE = "needs_user_choice"
    NEEDS_USER_APPROVAL = "needs_user_approval"
    NEEDS_USER_ENVIRONMENT_ACTION = "needs_user_environment_action"
    MISSING_REQUIRED_OUTPUT = "missing_required_output"
    INVALID_REQUIRED_OUTPUT = "invalid_required_output"
    MISSING_REQUIRED_NOTES = "missing_required_notes"
    ASSESSMENT_FOLLOWUP_REQUIRED = "assessment_followup_required"
    REQUIRED_CAPABILITY_UNAVAILABLE = "required_capability_unavailable"
    REQUIRED_CAPABILITY_UNKNOWN = "required_capability_unknown"
    MISSING_CONTEXT_KEY = "missing_context_key"
    INVARIANT_VIOLATION = "invariant_violation"
    STORAGE_CORRUPTION_DETECTED = "storage_corruption_detected"
    EVALUATION_ERROR = "evaluation_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    code: BlockerCode
    category: GapCategory
    retryable: bool = True


_USER = _Row(code=BlockerCode.USER_ONLY_DEPENDENCY, category=GapCategory.USER_ONLY_DEPENDENCY)
_INVARIANT = _Row(code=BlockerCode.INVARIANT_VIOLATION, category=GapCategory.UNEXPECTED)

TABLE: dict[Detail, _Row] = {
    Detail.NEEDS_USER_SECRET_OR_TOKEN: _USER,
    Detail.NEEDS_USER_ACCOUNT_ACCESS: _USER,
    Detail.NEEDS_USER_ARTIFACT: _USER,
    Detail.NEEDS_USER_CHOICE: _USER,
    Detail.NEEDS_USER_APPROVAL: _USER,
    Detail.NEEDS_USER_ENVIRONMENT_ACTION: _USER,
    Detail.MISSING_REQUIRED_OUTPUT: _Row(
        code=BlockerCode.MISSING_REQUIRED_OUTPUT, category=GapCategory.CONTRACT_VIOLATION
    ),
    Detail.INVALID_REQUIRED_OUTPUT: _Row(
        code=BlockerCode.INVALID_REQUIRED_OUTPUT, category=GapCategory.CONTRACT_VIOLATION
    ),
    Detail.MISSING_REQUIRED_NOTES: _Row(
        code=BlockerCode.MISSING_REQUIRED_NOTES, category=GapCategory.CONTRACT_VIOLATION
    ),
    Detail.ASSESSMENT_FOLLOWUP_REQUIRED: _Row(
        code=BlockerCode.ASSESSMENT_FOLLOWUP_REQUIRED, category=GapCategory.CONTRACT_VIOLATION
    ),
    Detail.REQUIRED_CAPABILITY_UNAVAILABLE: _Row(
        code=BlockerCode.REQUIRED_CAPABILITY_UNAVAILABLE, category=GapCategory.CAPABILITY_MISSING
    ),
    Detail.REQUIRED_CAPABILITY_UNKNOWN: _Row(
        code=BlockerCode.REQUIRED_CAPABILITY_UNKNOWN, category=GapCategory.CAPABILITY_MISSING
    ),
    Detail.MISSING_CONTEXT_KEY: _Row(code=BlockerCode.MISSING_CONTEXT_KEY, category=GapCategory.CONTRACT_VIOLATION),
    Detail.INVARIANT_VIOLATION: _INVARIANT,
    Detail.STORAGE_CORRUPTION_DETECTED: _Row(
        code=BlockerCode.STORAGE_CORRUPTION_DETECTED, category=GapCategory.UNEXPECTED, retryable=False
    ),
    Detail.EVALUATION_ERROR: _INVARIANT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """`needs_person` tells that nobody but a signed-in person settles it, whatever mode an agent chose."""

    detail: Detail
    pointer: Pointer
    message: str
    fix: str = ""
    needs_person: bool = False

    @property
    def row(self) -> _Row:
        return TABLE[self.detail]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Something missing that is disclosed. `resolves` is the log's name of an earlier gap that this entry closes."""

    severity: GapSeverity
    category: GapCategory
    detail: Detail
    summary: str
    pointer: Pointer | None = None
    resolves: str = ""

    def as_data(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "severity": self.severity.value,
            "reason": {"category": self.category.value, "detail": self.detail.value},
            "summary": self.summary,
            "resolution": (
                {"kind": "resolves", "resolvesGapId": self.resolves} if self.resolves else {"kind": "unresolved"}
            ),
        }
        if self.pointer is not None:
            data["pointer"] = self.pointer.as_json()
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`blockers` stop the advance; `gaps` are disclosed and stop nothing."""

    blockers: tuple[Blocker, ...] = ()
    gaps: tuple[Gap, ...] = ()
    retryable: bool = True


# What most submissions come to.
CLEAR = Verdict()


def weigh(*, reasons: Iterable[Reason], preferences: Preferences) -> Verdict:
    """What the mode makes of the reasons: the risk policy softens some, the autonomy decides what the rest does."""
    found = list(reasons)
    if not found:
        return CLEAR
    softened = [reason for reason in found if _softens(reason.detail, preferences.risk_policy)]
    hard = [reason for reason in found if reason not in softened]
    stopping = [reason for reason in hard if _stops(reason, preferences)]
    passed = [_waived(reason, preferences) for reason in hard if reason not in stopping]
    softer = (gap_of(reason, GapSeverity.WARNING) for reason in softened)
    return Verdict(
        blockers=blockers_of(stopping),
        gaps=(*(gap_of(reason, GapSeverity.CRITICAL) for reason in passed), *softer),
        retryable=all(reason.row.retryable for reason in stopping),
    )


def _stops(reason: Reason, preferences: Preferences) -> bool:
    """Only a person waives what only a person settles."""
    if preferences.autonomy is not Autonomy.NEVER_STOP:
        return True
    return reason.needs_person and not preferences.waives_people


def _waived(reason: Reason, preferences: Preferences) -> Reason:
    if not reason.needs_person:
        return reason
    return replace(
        reason, message=f"{reason.message} It was waived by {preferences.waived_by}, who had the run never stop."
    )


def blockers_of(reasons: Iterable[Reason]) -> tuple[Blocker, ...]:
    """In the order of the contract, without repeats, at most ten, each within its budget of bytes.

    Of more than ten those stay that wait for a person: the next attempt is judged by them, too.
    """
    found = {_sort_key(blocker): (blocker, reason) for reason in reasons for blocker in (_blocker(reason),)}
    kept = sorted(found, key=lambda key: (not found[key][1].needs_person, key))[:MAX_BLOCKERS]
    return tuple(found[key][0] for key in sorted(kept))


def _blocker(reason: Reason) -> Blocker:
    return Blocker(
        code=reason.row.code,
        pointer=reason.pointer,
        message=cut_text(reason.message, max_bytes=MAX_MESSAGE_BYTES, marker="…"),
        suggested_fix=cut_text(reason.fix, max_bytes=MAX_FIX_BYTES, marker="…"),
    )


def _sort_key(blocker: Blocker) -> tuple[str, str, str, str, str]:
    pointer = blocker.pointer
    return (blocker.code.value, pointer.kind.value, pointer.name, pointer.part, blocker.message)


def gap_of(reason: Reason, severity: GapSeverity) -> Gap:
    return Gap(
        severity=severity,
        category=reason.row.category,
        detail=reason.detail,
        summary=cut_text(reason.message, max_bytes=MAX_MESSAGE_BYTES, marker="…"),
        pointer=reason.pointer,
    )


def _softens(detail: Detail, policy: RiskPolicy) -> bool:
    match policy:
        case RiskPolicy.CONSERVATIVE:
            return False
        case RiskPolicy.BALANCED:
            return detail is Detail.REQUIRED_CAPABILITY_UNKNOWN
        case RiskPolicy.AGGRESSIVE:
            return detail in {Detail.REQUIRED_CAPABILITY_UNKNOWN, Detail.REQUIRED_CAPABILITY_UNAVAILABLE}
        case _:
            assert_never(policy)


def step_pointer(step_id: str) -> Pointer:
    return Pointer(kind=PointerKind.WORKFLOW_STEP, name=step_id)


def contract_pointer(contract: str) -> Pointer:
    return Pointer(kind=PointerKind.OUTPUT_CONTRACT, name=contract)
