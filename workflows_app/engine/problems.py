"""What is wrong with a workflow, as data. Compilation returns problems; it raises nothing for anything that it reads."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from teams_app.engine.closest import closest


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class ProblemCode(StrEnum):
    """Closed. A new kind of problem is a new row here, with its meaning in `docs/problems.md`."""

    # Reading
    UNREADABLE = "unreadable"
    TOO_LARGE = "too_large"
    TOO_DEEP = "too_deep"
    DUPLICATE_KEY = "duplicate_key"
    BAD_CHARACTER = "bad_character"
    NOT_A_NUMBER = "not_a_number"
    BAD_TOON = "bad_toon"
    BAD_YAML = "bad_yaml"
    LENIENT_TOON = "lenient_toon"
    BAD_FRONT_MATTER = "bad_front_matter"
    # Packing
    PATH_TRAVERSAL = "path_traversal"
    SYMLINK = "symlink"
    ARCHIVE_BOMB = "archive_bomb"
    TOO_MANY_FILES = "too_many_files"
    BAD_ARCHIVE = "bad_archive"
    NO_WORKFLOW = "no_workflow"
    UNKNOWN_FILE = "unknown_file"
    # Shape
    MISSING_KEY = "missing_key"
    UNKNOWN_KEY = "unknown_key"
    WRONG_TYPE = "wrong_type"
    BAD_VALUE = "bad_value"
    TOO_LONG = "too_long"
    TOO_SHORT = "too_short"
    DUPLICATE_ID = "duplicate_id"
    CONFLICTING_KEYS = "conflicting_keys"
    # Names
    BAD_ID = "bad_id"
    LEGACY_ID = "legacy_id"
    RESERVED_NAMESPACE = "reserved_namespace"
    # References
    UNKNOWN_STEP = "unknown_step"
    UNKNOWN_ACTIVITY = "unknown_activity"
    UNKNOWN_CHECKPOINT = "unknown_checkpoint"
    UNKNOWN_OPTION = "unknown_option"
    UNKNOWN_CONTRACT = "unknown_contract"
    UNKNOWN_TEMPLATE = "unknown_template"
    UNKNOWN_ROUTINE = "unknown_routine"
    UNKNOWN_FEATURE = "unknown_feature"
    UNKNOWN_REF = "unknown_ref"
    UNKNOWN_BINDING = "unknown_binding"
    UNKNOWN_FUNCTION = "unknown_function"
    UNKNOWN_ASSESSMENT = "unknown_assessment"
    UNKNOWN_SKILL = "unknown_skill"
    UNKNOWN_RESOURCE = "unknown_resource"
    UNKNOWN_WORKFLOW = "unknown_workflow"
    RECURSIVE_TEMPLATE = "recursive_template"
    MISSING_ARGUMENT = "missing_argument"
    UNKNOWN_ARGUMENT = "unknown_argument"
    LEFTOVER_TOKEN = "leftover_token"  # noqa: S105  a template token
    # Meaning
    BAD_CONDITION = "bad_condition"
    UNKNOWN_OPERATOR = "unknown_operator"
    BAD_PATTERN = "bad_pattern"
    BAD_LOOP = "bad_loop"
    BAD_SCHEMA = "bad_schema"
    UNREACHABLE = "unreachable"
    DANGLING_TRANSITION = "dangling_transition"
    UNDECLARED_VARIABLE = "undeclared_variable"
    UNANSWERABLE_CHECKPOINT = "unanswerable_checkpoint"
    UNNAMED_CHECKPOINT = "unnamed_checkpoint"
    LASTING_ANSWER = "lasting_answer"
    GAMEABLE_VALIDATION = "gameable_validation"
    IGNORED_FIELD = "ignored_field"
    DUPLICATE_PATH = "duplicate_path"
    EXPRESSION_PLACEHOLDER = "expression_placeholder"


# What an author wrote is quoted, and names what is long; whoever errs often may have named it once.
MAX_TOLD_CHARS = 1_500
_SHOWN_NAME_CHARS = 128
_OF_OTHER = "Something does not fit in what is taken from another workflow; whoever edits workflows is told what."


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowProblem:
    """`path` is a JSON path into the document (`steps[2].prompt`), `file` and `line` where the author wrote it.

    `tells_of_other`: it quotes another workflow of the library, at the place that brings this one in. Each text is cut where
    it is longer than anybody reads.
    """

    code: ProblemCode
    message: str
    severity: Severity = Severity.ERROR
    path: str = ""
    file: str = ""
    line: int | None = None
    suggestion: str = ""
    tells_of_other: bool = False

    def __post_init__(self) -> None:
        for name in ("message", "path", "suggestion"):
            text = getattr(self, name)
            if len(text) > MAX_TOLD_CHARS:
                object.__setattr__(self, name, f"{text[:MAX_TOLD_CHARS]}…")

    def as_json(self) -> dict[str, Any]:
        places = {"path": self.path, "file": self.file, "line": self.line, "suggestion": self.suggestion}
        said = {key: value for key, value in places.items() if value}
        return {"code": self.code.value, "severity": self.severity.value, "message": self.message, **said}


def did_you_mean(word: str, known: Iterable[str], *, before: str = "") -> str:
    """A suggestion for a misspelt word, or the first few known ones; empty when nothing is known. What stands `before` each
    where it is written is not compared.
    """
    candidates = sorted(str(name) for name in set(known) if len(name) <= _SHOWN_NAME_CHARS)
    close = closest(word, candidates)
    if close is not None:
        return f"Did you mean {before + close!r}?"
    if not candidates:
        return ""
    shown = ", ".join(before + name for name in candidates[:8])
    return f"Known: {shown}{', …' if len(candidates) > 8 else ''}."


def no_object(file: str, what: str) -> WorkflowProblem:
    """Of a file that can be read and is something else than an object."""
    return WorkflowProblem(code=ProblemCode.WRONG_TYPE, message=f"{what} is an object with keys.", file=file)


def without_others(problems: Iterable[WorkflowProblem], *, own_files: Collection[str]) -> tuple[WorkflowProblem, ...]:
    """For who may not see what other workflows hold: where something is wrong with what this one takes from them, and not what."""
    return sorted_problems(
        replace(problem, message=_OF_OTHER, suggestion="")
        if problem.tells_of_other
        # The whole problem is in the other's file.
        else replace(problem, message=_OF_OTHER, suggestion="", path="", file="", line=None)
        if problem.file and problem.file not in own_files
        else problem
        for problem in problems
    )


def sorted_problems(problems: Iterable[WorkflowProblem]) -> tuple[WorkflowProblem, ...]:
    """Errors first, then by place, so that the same document always reports in the same order."""
    unique = dict.fromkeys(problems)
    return tuple(
        sorted(unique, key=lambda p: (p.severity is Severity.WARNING, p.file, p.line or 0, p.path, p.code, p.message)),
    )
