"""Names of workflows: `namespace.name`, exactly one dot; `wr` is ours; ids without a dot run but cannot be created."""

import re
from collections.abc import Collection

from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem
from workflows_app.engine.source import Origin

RESERVED_NAMESPACE = "wr"
MAX_ID_CHARS = 64

_SEGMENT = "[a-z][a-z0-9_-]*"
_NAMESPACED = re.compile(rf"{_SEGMENT}\.{_SEGMENT}")
_LEGACY = re.compile("[a-z0-9_-]+")
# Of either form, as JSON Schema has it.
ID_PATTERN = rf"^(?:{_LEGACY.pattern}|{_NAMESPACED.pattern})$"
_NAMESPACES = {
    Origin.BUNDLED: RESERVED_NAMESPACE,
    Origin.TEAM: "team",
    Origin.PROJECT: "project",
    Origin.REMOTE: "repo",
}


def is_namespaced(workflow_id: str) -> bool:
    return len(workflow_id) <= MAX_ID_CHARS and _NAMESPACED.fullmatch(workflow_id) is not None


def is_legacy(workflow_id: str) -> bool:
    return len(workflow_id) <= MAX_ID_CHARS and _LEGACY.fullmatch(workflow_id) is not None


def check_id(*, workflow_id: str, origin: Origin) -> tuple[WorkflowProblem, ...]:
    """A legacy id is a warning (none for the bundled library, whose `meta` has its name by contract); all else an error."""
    rename = suggested_id(workflow_id=workflow_id, origin=origin)
    if is_legacy(workflow_id):
        if origin is Origin.BUNDLED:
            return ()
        message = f"The id {workflow_id!r} has no namespace; it runs, but a new workflow cannot have such an id."
        return (_problem(ProblemCode.LEGACY_ID, message, rename, severity=Severity.WARNING),)
    if not is_namespaced(workflow_id):
        message = f"The id {_shown(workflow_id)} is not `namespace.name` in lower-case letters, digits, `_` and `-`."
        return (_problem(ProblemCode.BAD_ID, message, rename),)
    if workflow_id.startswith(f"{RESERVED_NAMESPACE}.") and origin is not Origin.BUNDLED:
        message = f"The namespace {RESERVED_NAMESPACE!r} is reserved for the bundled library."
        return (_problem(ProblemCode.RESERVED_NAMESPACE, message, rename),)
    return ()


def sibling_id(reference: str, *, own: str, known: Collection[str]) -> str:
    """The workflow that a bare name means in another one: its sibling in the same namespace, where there is one."""
    namespace = own.rpartition(".")[0]
    sibling = f"{namespace}.{reference}"
    return sibling if namespace and "." not in reference and sibling in known else reference


def suggested_id(*, workflow_id: str, origin: Origin) -> str:
    """The same id and origin always give the same name, and it is always a valid one for that origin."""
    namespace = _NAMESPACES[origin]
    own = is_namespaced(workflow_id) and not workflow_id.startswith(f"{RESERVED_NAMESPACE}.")
    if own and origin is not Origin.BUNDLED:
        return workflow_id
    name = workflow_id.removeprefix(f"{RESERVED_NAMESPACE}.").removeprefix(f"{namespace}.")
    return f"{namespace}.{_segment(name)}"[:MAX_ID_CHARS].rstrip("-_")


def _segment(text: str) -> str:
    slug = re.sub("[^a-z0-9_-]+", "-", text[: 4 * MAX_ID_CHARS].lower()).strip("-_")
    if not slug:
        return "workflow"
    return slug if slug[0].isalpha() else f"w-{slug}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= MAX_ID_CHARS else f"{text[:MAX_ID_CHARS]}…")


def _problem(code: ProblemCode, message: str, rename: str, *, severity: Severity = Severity.ERROR) -> WorkflowProblem:
    return WorkflowProblem(
        code=code, message=message, severity=severity, path="id", suggestion=f"Rename it to {rename!r}."
    )
