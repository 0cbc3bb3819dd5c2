"""Template calls: a routine's steps in place of one step, under the caller's id, with its arguments written into them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from workflows_app.engine import canonical
from workflows_app.engine.problems import ProblemCode, did_you_mean
from workflows_app.engine.program import Capability, Provenance, ProvenanceKind
from workflows_app.engine.steps import declarations, functions, schema, tokens
from workflows_app.engine.steps.findings import StepFindings, join, shown
from workflows_app.engine.steps.scope import Build, StepScope
from workflows_app.engine.steps.shape import DROPPED, misspelt, shown_value

ROUTINE_PREFIX = "wr.templates.routine."
PROBE = "wr.templates.capability_probe"
CAPABILITY_CONTRACT = "wr.contracts.capability_observation"
MAX_FILLED_CHARS = 64 * 1024

# One brace only, and not the class of a pattern such as \p{L}.
_ARGUMENT = re.compile(r"(?<![{\\])(?<!\\[pP])\{([A-Za-z_][A-Za-z0-9_]*)\}(?!\})")
_LITERAL_KEYS = frozenset({"id", "type", "refId", "contractRef", "pattern", "flags", "schema"})
# Prose in which braces may mean anything; an argument that is given is written in, one that is not is no mistake.
_FREE_KEYS = frozenset({"functionDefinitions"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """The routine's steps as they read after the arguments are in, and what they see."""

    steps: list[dict[str, Any]]
    scope: StepScope


def is_probe(raw: dict[str, Any]) -> bool:
    return bool(raw.get("templateCall", {}).get("templateId") == PROBE)


def probed_capability(scope: StepScope, raw: dict[str, Any], path: str) -> Capability | None:
    """What a call of the probe template asks for."""
    arguments = raw["templateCall"].get("args", {})
    place = f"{path}.templateCall.args"
    _report_unknown(scope, arguments, {"capability"}, "capability_probe", place, error=True)
    if "capability" not in arguments:
        if misspelt(arguments, "capability", (), scope.findings):
            return None
        scope.findings.error(
            ProblemCode.MISSING_ARGUMENT, f"{place}.capability", "The probe needs the argument `capability`."
        )
        return None
    wanted = arguments["capability"]
    if wanted not in tuple(Capability):
        message = f"This is {shown_value(wanted)}; a capability is wanted."
        word = wanted if isinstance(wanted, str) else ""
        scope.findings.unknown(
            ProblemCode.BAD_VALUE, f"{place}.capability", message, word=word, known=tuple(Capability)
        )
        return None
    return Capability(wanted)


def expand(build: Build, scope: StepScope, raw: dict[str, Any], path: str) -> Expansion | None:
    """The routine behind a template call; None when there is none, which is then reported."""
    call = raw["templateCall"]
    name = _routine_name(build, scope, call["templateId"], path)
    if name is None:
        return None
    routine = _routine(build, scope, name, path)
    if routine is None:
        return None
    filled = _filled(scope, routine, call.get("args", {}), name, f"{path}.templateCall")
    origin = Provenance(
        at="",
        kind=ProvenanceKind.ROUTINE,
        source=call["templateId"],
        digest=build.routine_digests[name],
    )
    findings = scope.findings.inside(place=f"{path}.templateCall", label=_label(name))
    inner = replace(scope, findings=findings, template=origin, prefix=f"{scope.prefix}{raw['id']}.", braces=True)
    return Expansion(steps=filled["steps"], scope=_inside(build, inner, raw, filled))


def _routine_name(build: Build, scope: StepScope, template_id: str, path: str) -> str | None:
    place = f"{path}.templateCall.templateId"
    known = [PROBE, *(f"{ROUTINE_PREFIX}{name}" for name in build.library.routines)]
    if not template_id.startswith(ROUTINE_PREFIX):
        message = f"There is no template {shown(template_id)}."
        scope.findings.unknown(ProblemCode.UNKNOWN_TEMPLATE, place, message, word=template_id, known=known)
        return None
    if scope.template is not None:
        message = f"A routine cannot call a routine; this one calls {shown(template_id)}."
        scope.findings.error(
            ProblemCode.RECURSIVE_TEMPLATE, place, message, "Call it from the workflow, before or after this one."
        )
        return None
    name = template_id.removeprefix(ROUTINE_PREFIX)
    if name not in build.library.routines:
        message = f"There is no routine {shown(name)}."
        scope.findings.unknown(ProblemCode.UNKNOWN_ROUTINE, place, message, word=template_id, known=known)
        return None
    return name


def _routine(build: Build, scope: StepScope, name: str, path: str) -> dict[str, Any] | None:
    """The routine's document, checked once in a compilation."""
    if name not in build.routines:
        findings = scope.findings.inside(place=f"{path}.templateCall", label=_label(name))
        document = build.library.routines[name]
        before = findings.errors
        checked = build.routines[name] = _checked(document, findings)
        if checked is not None and findings.errors > before:
            build.left_out.add(document, checked)
        if checked is not None:
            build.routine_digests[name] = canonical.canonical_digest(document)
    return build.routines[name]


def _checked(document: Any, findings: StepFindings) -> dict[str, Any] | None:
    if document is None:
        findings.error(ProblemCode.UNREADABLE, "", "It is no JSON that can be read.", "Mend it where it stands.")
        return None
    try:
        canonical.check_storable(document)
        plain = msgspec.json.decode(canonical.canonical_bytes(document))
    except (canonical.UnreadableJsonError, canonical.NotCanonicalError) as error:
        findings.error(ProblemCode.UNREADABLE, "", str(error))
        return None
    checked = schema.WORKFLOW_0_3_0(plain, "", findings)
    return None if checked is DROPPED else checked


def _inside(build: Build, scope: StepScope, raw: dict[str, Any], routine: dict[str, Any]) -> StepScope:
    """What the routine's steps see: what the routine declares, under what its caller says."""
    findings = scope.findings
    definitions = routine.get("functionDefinitions", [])
    declarations.enter_routine(build, findings, routine)
    inner = replace(
        scope,
        slots={**scope.slots, **declarations.slots(build, findings, routine)},
        functions=functions.defined(findings, definitions, path="functionDefinitions", scope_name="workflow"),
        features=tuple(sorted({*scope.features, *declarations.features(findings, routine)})),
        notes_optional=raw.get("notesOptional", scope.notes_optional),
        siblings=siblings(routine["steps"], "steps"),
    )
    at = scope.prefix.rstrip(".")
    guidance = tokens.fill(build, inner, routine.get("metaGuidance", []), path="metaGuidance", at=at)
    own_role = tokens.fill(build, inner, routine.get("agentRole", ""), path="agentRole", at=at)
    role = raw.get("agentRole") or own_role or scope.agent_role
    return replace(inner, guidance=(*scope.guidance, *guidance), agent_role=role)


def siblings(steps: list[dict[str, Any]], path: str) -> dict[str, tuple[dict[str, Any], str]]:
    """The steps of one list by id, the first of a doubled one."""
    found: dict[str, tuple[dict[str, Any], str]] = {}
    for index, step in enumerate(steps):
        if "id" in step:
            found.setdefault(step["id"], (step, f"{path}[{index}]"))
    return found


# Arguments


@dataclass(slots=True, kw_only=True)
class _Arguments:
    """The caller's arguments as text, and what the routine made of them."""

    texts: dict[str, str]
    used: set[str] = field(default_factory=set)
    missing: dict[str, str] = field(default_factory=dict)
    too_long: list[str] = field(default_factory=list)


def _filled(scope: StepScope, routine: dict[str, Any], given: dict[str, Any], name: str, path: str) -> dict[str, Any]:
    arguments = _Arguments(texts={key: _as_text(value) for key, value in given.items()})
    parts = {
        key: routine[key] for key in ("steps", "metaGuidance", "agentRole", "functionDefinitions") if key in routine
    }
    written: dict[str, Any] = {
        key: _written(value, key, arguments, free=key in _FREE_KEYS) for key, value in parts.items()
    }
    meant: set[str] = set()
    for argument, place in sorted(arguments.missing.items()):
        message = f"The routine {shown(name)} needs the argument `{argument}` ({place})."
        instead = misspelt(given, argument, arguments.used, scope.findings)
        hint = f"Write it instead of {shown(instead)}." if instead else ""
        meant.add(instead)
        scope.findings.error(ProblemCode.MISSING_ARGUMENT, join(f"{path}.args", argument), message, hint)
    for place in arguments.too_long:
        message = (
            f"With its arguments, {place} of the routine {shown(name)} is longer than {MAX_FILLED_CHARS} characters."
        )
        scope.findings.error(ProblemCode.TOO_LONG, f"{path}.args", message)
    _report_unknown(scope, given, arguments.used | meant, name, f"{path}.args", error=False)
    filled: dict[str, Any] = {"steps": []}
    filled.update(routine)
    filled.update(written)
    return filled


def _written(value: Any, path: str, arguments: _Arguments, *, free: bool) -> Any:
    if isinstance(value, str):
        return _written_text(value, path, arguments, free=free) if "{" in value else value
    if isinstance(value, list):
        return [_written(child, f"{path}[{index}]", arguments, free=free) for index, child in enumerate(value)]
    if isinstance(value, dict):
        return {
            key: child
            if key in _LITERAL_KEYS
            else _written(child, join(path, key), arguments, free=free or key in _FREE_KEYS)
            for key, child in value.items()
        }
    return value


def _written_text(text: str, path: str, arguments: _Arguments, *, free: bool) -> str:
    names = _ARGUMENT.findall(text)
    arguments.used.update(name for name in names if name in arguments.texts)
    if not free:
        for name in names:
            if name not in arguments.texts:
                arguments.missing.setdefault(name, path)
    if len(text) + sum(len(arguments.texts.get(name, "")) for name in names) > MAX_FILLED_CHARS:
        arguments.too_long.append(path)
        return text
    return _ARGUMENT.sub(lambda found: arguments.texts.get(found[1], found[0]), text)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else canonical.canonical_bytes(value).decode()


def _report_unknown(
    scope: StepScope, given: dict[str, Any], known: set[str], name: str, path: str, *, error: bool
) -> None:
    tell = scope.findings.error if error else scope.findings.warn
    for argument in sorted(given.keys() - known):
        message = f"The template {shown(name)} has no place for the argument {shown(argument)}."
        tell(ProblemCode.UNKNOWN_ARGUMENT, join(path, argument), message, did_you_mean(argument[:64], known))


def _label(name: str) -> str:
    return f"In the routine {shown(name)}"


def referenced(steps: list[dict[str, Any]]) -> Iterator[str]:
    """The ids that loops name as their body, however deep the loops stand."""
    for step in steps:
        body = step.get("body")
        if isinstance(body, str):
            yield body
        elif isinstance(body, list):
            yield from referenced(body)
