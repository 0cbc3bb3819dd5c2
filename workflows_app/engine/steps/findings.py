"""Where the reader of step workflows writes down what is wrong, and how much of it."""

from collections.abc import Iterable
from dataclasses import replace

from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem, did_you_mean, sorted_problems

# A document that is wrong in more places than this is not helped by a longer list.
MAX_PER_SEVERITY = 200
SHOWN_CHARS = 64
# Finding the nearest name is slow; an author who errs more often than this errs in the same way.
MAX_SUGGESTIONS = 50
MAX_CANDIDATES = 500


class StepFindings:
    """Collects problems. `inside` is the same list seen from a template: its places are told as the caller's."""

    __slots__ = ("_counts", "_label", "_place", "_problems")

    def __init__(self) -> None:
        self._problems: list[WorkflowProblem] = []
        self._counts = dict.fromkeys(Severity, 0)
        self._place: str | None = None
        self._label = ""

    def inside(self, *, place: str, label: str) -> "StepFindings":
        view = StepFindings()
        view._problems = self._problems
        view._counts = self._counts
        view._place = place if self._place is None else self._place
        view._label = label
        return view

    def error(self, code: ProblemCode, path: str, message: str, suggestion: str = "") -> None:
        self._add(WorkflowProblem(code=code, path=path, message=message, suggestion=suggestion))

    def warn(self, code: ProblemCode, path: str, message: str, suggestion: str = "") -> None:
        severity = Severity.WARNING
        self._add(WorkflowProblem(code=code, path=path, message=message, suggestion=suggestion, severity=severity))

    def unknown(self, code: ProblemCode, path: str, message: str, *, word: str, known: Iterable[str]) -> None:
        """An error about a name that nothing has, with the nearest one that exists."""
        self.error(code, path, message, self._meant(word, known, Severity.ERROR))

    def absent(self, code: ProblemCode, path: str, message: str, *, word: str, known: Iterable[str]) -> None:
        """The same as a warning: what has that name may come later."""
        self.warn(code, path, message, self._meant(word, known, Severity.WARNING))

    def take(self, problems: Iterable[WorkflowProblem]) -> None:
        """Problems that another module found, with their places already in this document's terms."""
        for problem in problems:
            self._add(problem)

    @property
    def errors(self) -> int:
        return self._counts[Severity.ERROR]

    def listed(self) -> tuple[WorkflowProblem, ...]:
        """The problems in their order, and one more for each severity that has more than are kept."""
        untold = [_untold(severity, count) for severity, count in self._counts.items() if count > MAX_PER_SEVERITY]
        return sorted_problems([*self._problems, *untold])

    def _meant(self, word: str, known: Iterable[str], severity: Severity) -> str:
        few = self._counts[severity] < MAX_SUGGESTIONS
        return did_you_mean(word[:SHOWN_CHARS], sorted(known)[:MAX_CANDIDATES]) if few else ""

    def _add(self, problem: WorkflowProblem) -> None:
        self._counts[problem.severity] += 1
        if self._counts[problem.severity] > MAX_PER_SEVERITY:
            return
        if self._place is not None:
            message = f"{self._label}, {problem.path or 'document'}: {problem.message}"
            problem = replace(problem, path=self._place, message=message, tells_of_other=True)
        self._problems.append(problem)


def shown(word: str) -> str:
    """A name as a message quotes it: bounded, and readable whatever characters it holds."""
    return repr(word if len(word) <= SHOWN_CHARS else f"{word[:SHOWN_CHARS]}…")


def join(path: str, key: str) -> str:
    if len(key) > SHOWN_CHARS:
        key = f"{key[:SHOWN_CHARS]}…"
    return f"{path}.{key}" if path else key


def _untold(severity: Severity, count: int) -> WorkflowProblem:
    plural = "errors" if severity is Severity.ERROR else "warnings"
    return WorkflowProblem(
        code=ProblemCode.TOO_LARGE,
        severity=severity,
        message=f"{count} {plural} were found; the first {MAX_PER_SEVERITY} are listed.",
    )
