"""A walk that cannot go on, as the reason that stops a run or the gap that a run which never stops leaves behind."""

from collections.abc import Collection, Sequence

from sessions_app.engine.outputs import cut_text
from sessions_app.engine.reasons import Detail, Gap, GapSeverity, Reason, step_pointer
from sessions_app.engine.state import MAX_MESSAGE_BYTES, Pointer, PointerKind
from workflows_app.engine.walks import Failure, FailureKind

_DETAIL = {
    FailureKind.MISSING_CONTEXT: Detail.MISSING_CONTEXT_KEY,
    FailureKind.NO_TRANSITION: Detail.MISSING_CONTEXT_KEY,
    FailureKind.MAX_ITERATIONS: Detail.EVALUATION_ERROR,
    FailureKind.UNKNOWN_ACTIVITY: Detail.INVARIANT_VIOLATION,
    FailureKind.UNKNOWN_LOOP: Detail.INVARIANT_VIOLATION,
    FailureKind.BUDGET: Detail.EVALUATION_ERROR,
    FailureKind.UNMET: Detail.MISSING_CONTEXT_KEY,
}


def _pointer(failure: Failure, free: Sequence[str]) -> Pointer:
    """At what is to be set, where that helps; no context changes what an answer has set."""
    if failure.kind is FailureKind.MAX_ITERATIONS and not failure.remedy and free:
        return Pointer(kind=PointerKind.CONTEXT_KEY, name=free[0])
    if _DETAIL[failure.kind] is Detail.MISSING_CONTEXT_KEY and failure.keys:
        return Pointer(kind=PointerKind.CONTEXT_KEY, name=(*free, *failure.keys)[0])
    return step_pointer(failure.item)


def _free(failure: Failure, settled: Collection[str]) -> list[str]:
    return [key for key in failure.keys if key.partition(".")[0] not in settled]


def as_reason(failure: Failure, *, settled: Collection[str] = ()) -> Reason:
    return Reason(
        detail=_DETAIL[failure.kind],
        pointer=_pointer(failure, _free(failure, settled)),
        message=failure.message,
        fix=remedy(failure, settled=settled),
        needs_person=failure.needs_person,
    )


def as_gap(failure: Failure) -> Gap:
    reason = as_reason(failure)
    return Gap(
        severity=GapSeverity.WARNING if failure.kind is FailureKind.UNMET else GapSeverity.CRITICAL,
        category=reason.row.category,
        detail=reason.detail,
        summary=cut_text(failure.message, max_bytes=MAX_MESSAGE_BYTES, marker="…"),
        pointer=reason.pointer,
    )


def remedy(failure: Failure, *, settled: Collection[str] = ()) -> str:
    """`settled` are the variables that an answer has set, and no context changes."""
    if failure.remedy:
        return failure.remedy
    free = dict.fromkeys(key.partition(".")[0] for key in _free(failure, settled))
    if free:
        return f"Retry with context that sets {', '.join(free)}{f' {failure.so_that}' if failure.so_that else ''}."
    if failure.keys:
        return (
            f"An answer has set {', '.join(failure.keys)}, and context does not change that. Tell your user: a person ends "
            "the run, or lets it go on without stopping."
        )
    return "Show this to the author of the workflow."
