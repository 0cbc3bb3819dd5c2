"""Where the reader of activity folders writes down what is wrong, and how much of it."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem, did_you_mean, sorted_problems
from workflows_app.engine.source import Strictness

# A folder that is wrong in more places than this is not helped by a longer list.
MAX_PER_SEVERITY = 300
SHOWN_CHARS = 80

# So much may stand in a program beyond what its files hold: rules of all activities, fragments, and borrowed activities.
MAX_REPEATED_CHARS = 8 * 1024 * 1024

# Comparing names is what costs most in a folder that is wrong throughout: so many are compared, then hints end.
_MAX_COMPARED = 40_000


class FolderFindings:
    def __init__(self, *, strictness: Strictness) -> None:
        self.strictness = strictness
        self._problems: list[WorkflowProblem] = []
        self._counts = dict.fromkeys(Severity, 0)
        self._comparisons = _MAX_COMPARED
        self._lost: dict[tuple[str, str], Severity] = {}
        self._repeated = 0
        self._taken_once: set[WorkflowProblem] = set()
        self._instead: dict[str, tuple[str, ProblemCode]] = {}
        self._instead_at: dict[str, int | None] = {}

    @property
    def loose(self) -> Severity:
        """The severity of a mistake that has an obvious reading: older readers let it pass."""
        return Severity.WARNING if self.strictness is Strictness.LEGACY else Severity.ERROR

    @property
    def has_errors(self) -> bool:
        return self._counts[Severity.ERROR] > 0

    def lose(self, *, file: str, path: str, severity: Severity) -> None:
        """What stands at this place is not what its author meant, which was told so severely."""
        if self._lost.get((file, path)) is not Severity.ERROR:
            self._lost[file, path] = severity

    def is_lost(self, *, file: str, path: str, severity: Severity = Severity.WARNING) -> bool:
        """Whether what could be told of this place merely follows from a mistake there: a warning takes the place of no error."""
        told = self._lost.get((file, path))
        return told is Severity.ERROR or told is severity

    def has_lost(self, keys: Collection[str]) -> bool:
        """Whether something under one of these keys is lost, wherever it stands."""
        return any(path.rpartition(".")[2].partition("[")[0] in keys for _, path in self._lost)

    def add(self, problem: WorkflowProblem) -> None:
        if self.is_lost(file=problem.file, path=problem.path, severity=problem.severity):
            return
        self._counts[problem.severity] += 1
        if self._counts[problem.severity] <= MAX_PER_SEVERITY:
            self._problems.append(problem)

    def take(self, problems: Iterable[WorkflowProblem]) -> None:
        for problem in problems:
            self.add(problem)

    def take_once(self, problems: Iterable[WorkflowProblem]) -> None:
        """What is wrong with a file, however many refer to what stands in it."""
        for problem in problems:
            if problem not in self._taken_once:
                self._taken_once.add(problem)
                self.add(problem)

    def tell_instead(self, name: str, *, file: str, code: ProblemCode) -> None:
        """What is told of this file is why nothing has this name: whoever refers to it makes no second mistake."""
        self._instead.setdefault(name, (file, code))

    @property
    def told_instead(self) -> Collection[str]:
        return self._instead.keys()

    def is_told_instead(self, name: str, severity: Severity) -> bool:
        """Whether that is told of the name, from now on as severely as what would be told of the reference."""
        if name not in self._instead:
            return False
        if name not in self._instead_at:
            # What was told keeps its place in the list.
            wanted = self._instead[name]
            places = (at for at, problem in enumerate(self._problems) if (problem.file, problem.code) == wanted)
            self._instead_at[name] = next(places, None)
        at = self._instead_at[name]
        if at is not None and severity is Severity.ERROR and self._problems[at].severity is Severity.WARNING:
            self._problems[at] = replace(self._problems[at], severity=severity)
            self._counts[Severity.WARNING] -= 1
            self._counts[severity] += 1
        return at is not None

    def hint(self, word: str, *known: Iterable[str], before: str = "") -> str:
        """The nearest known name, or some of those there are, with what stands `before` each; nothing once too many names were
        compared.
        """
        if not self.may_compare(0):
            return ""
        names = {name for names in known for name in names if len(name) <= SHOWN_CHARS}
        self._comparisons -= len(names) + 1
        return did_you_mean(word[:SHOWN_CHARS], names, before=before)

    def may_compare(self, names: int) -> bool:
        """Count so many comparisons; False once too many were made."""
        may = self._comparisons > 0
        self._comparisons -= names
        return may

    @property
    def is_full(self) -> bool:
        return self._repeated > MAX_REPEATED_CHARS

    def repeat(self, chars: int, *, file: str) -> bool:
        """Count so many characters that the program repeats; False past the bound, where nothing more is repeated."""
        was_full = self.is_full
        self._repeated += chars
        if self.is_full and not was_full:
            message = f"With all that it repeats, this is more than {MAX_REPEATED_CHARS} characters."
            hint = "Refer to fewer rules, checkpoints and activities, or make them shorter."
            self.add(WorkflowProblem(code=ProblemCode.TOO_LARGE, message=message, file=file, suggestion=hint))
        return not self.is_full

    def listed(self) -> tuple[WorkflowProblem, ...]:
        """The problems in their order, and one more for each severity of which there are more than are kept."""
        untold = [_untold(severity, count) for severity, count in self._counts.items() if count > MAX_PER_SEVERITY]
        return sorted_problems([*self._problems, *untold])


def _untold(severity: Severity, count: int) -> WorkflowProblem:
    kind = "errors" if severity is Severity.ERROR else "warnings"
    message = f"{count} {kind} were found; {MAX_PER_SEVERITY} are listed."
    return WorkflowProblem(code=ProblemCode.TOO_LARGE, severity=severity, message=message)
