"""What stands in double braces: `{{wr.bindings.…}}` and `{{wr.refs.…}}` are filled in now, `{{name}}` waits for the run."""

import re
from collections.abc import Callable
from typing import Any

from workflows_app.engine import placeholders
from workflows_app.engine.problems import ProblemCode, did_you_mean
from workflows_app.engine.program import ProvenanceKind
from workflows_app.engine.steps import refs
from workflows_app.engine.steps.findings import join, shown
from workflows_app.engine.steps.scope import Build, StepScope

_OPENING = "{{"
_TOKEN = re.compile(r"\{\{\s*(wr\.[^{}]*)\}\}")
_UNCLOSED_TOKEN = re.compile(r"\{\{\s*wr\.")
_BINDING = "wr.bindings."
# Read by machines: nothing in them is a prompt.
_LITERAL_KEYS = frozenset({"id", "refId", "pattern", "flags", "schema", "contractRef"})


def fill(build: Build, scope: StepScope, value: Any, *, path: str, at: str) -> Any:
    """The same value with its tokens filled in; tokens that mean nothing are reported where they stand."""
    # Structure alone never writes two braces in a row, so one look at the whole tells whether any text has them.
    if not scope.braces or _OPENING not in repr(value):
        return value
    return _mapped(value, path, lambda text, place: _filled(build, scope, text, place, at))


def _mapped(value: Any, path: str, change: Callable[[str, str], str]) -> Any:
    if isinstance(value, str):
        return change(value, path) if _OPENING in value else value
    if isinstance(value, list):
        return [_mapped(child, f"{path}[{index}]", change) for index, child in enumerate(value)]
    if isinstance(value, dict):
        return {
            key: child if key in _LITERAL_KEYS else _mapped(child, join(path, key), change)
            for key, child in value.items()
        }
    return value


def _filled(build: Build, scope: StepScope, text: str, path: str, at: str) -> str:
    def replacement(found: re.Match[str]) -> str:
        return _meaning(build, scope, found[1].rstrip(), path, at) or ""

    filled = _TOKEN.sub(replacement, text)
    if _UNCLOSED_TOKEN.search(filled):
        scope.findings.error(
            ProblemCode.LEFTOVER_TOKEN, path, "A `{{wr.` token is not closed, or stands in another one."
        )
    roots = sorted({name.partition(".")[0] for name in placeholders.names_in(filled)})
    build.shown.extend((root, path, scope.findings) for root in roots)
    for inner in placeholders.expressions_in(filled):
        message = f"{shown(f'{{{{{inner}}}}}')} is not the name of a variable; an agent reads it as it stands."
        suggestion = "Name a variable, for example {{item.name}}, and let a step compute its value."
        scope.findings.warn(ProblemCode.EXPRESSION_PLACEHOLDER, path, message, suggestion)
    return filled


def _meaning(build: Build, scope: StepScope, token: str, path: str, at: str) -> str | None:
    if token.startswith(_BINDING):
        return _binding(build, scope, token.removeprefix(_BINDING), path, at)
    if token in refs.TEXTS:
        build.came_from(at, ProvenanceKind.REF, token)
        return refs.TEXTS[token]
    known = (*refs.TEXTS, *(f"{_BINDING}{slot}" for slot in scope.slots))
    message = f"Nothing fills in {shown(f'{{{{{token}}}}}')}."
    scope.findings.error(ProblemCode.LEFTOVER_TOKEN, path, message, did_you_mean(token[:128], known))
    return None


def _binding(build: Build, scope: StepScope, slot: str, path: str, at: str) -> str | None:
    bound = scope.slots.get(slot)
    if bound is None and build.left_out.may_hold("extensionPoints", slot):
        return None
    if bound is None:
        message = f"No extension point has the slot {shown(slot)}."
        scope.findings.unknown(ProblemCode.UNKNOWN_BINDING, path, message, word=slot, known=scope.slots)
        return None
    build.came_from(at, ProvenanceKind.BINDING, f"{slot}={bound}")
    return bound
