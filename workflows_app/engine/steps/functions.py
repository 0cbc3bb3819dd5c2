"""Functions that steps refer to: defined once for a workflow, a loop or a step, shown only to the steps that name them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import Function, FunctionCall
from workflows_app.engine.steps.findings import StepFindings, join, shown
from workflows_app.engine.steps.scope import Build, StepScope, written_chars
from workflows_app.engine.steps.shape import kind_of, misspelt, shown_value

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def defined(
    findings: StepFindings, definitions: list[dict[str, Any]], *, path: str, scope_name: str
) -> dict[str, Function]:
    """The functions of one list by name; a name that stands twice is an error."""
    functions: dict[str, Function] = {}
    for index, definition in enumerate(definitions):
        place = f"{path}[{index}]"
        if not definition:
            continue
        name = definition["name"]
        if name in functions:
            findings.error(
                ProblemCode.DUPLICATE_ID, f"{place}.name", f"The function {shown(name)} is defined twice here."
            )
        if definition.get("scope", scope_name) != scope_name:
            message = (
                f"The function is defined for the {scope_name}, so its scope is that, not `{definition['scope']}`."
            )
            findings.warn(ProblemCode.IGNORED_FIELD, f"{place}.scope", message)
        functions[name] = Function(
            name=name,
            definition=definition["definition"],
            parameters=tuple(definition.get("parameters", ())),
        )
    return functions


def within(scope: StepScope, raw: dict[str, Any], path: str, *, scope_name: str) -> Mapping[str, Function]:
    """All functions in sight of a step or loop that may define its own; the nearest definition counts."""
    own = raw.get("functionDefinitions")
    if not own:
        return scope.functions
    return {
        **scope.functions,
        **defined(scope.findings, own, path=f"{path}.functionDefinitions", scope_name=scope_name),
    }


def used(
    build: Build, scope: StepScope, raw: dict[str, Any], path: str
) -> tuple[tuple[Function, ...], tuple[FunctionCall, ...]]:
    """The functions that a step refers to or calls, once each and in that order, and its calls."""
    if not raw.keys() & {"functionReferences", "functionCalls", "functionDefinitions"}:
        return (), ()
    sight = _Sight(build=build, findings=scope.findings, functions=within(scope, raw, path, scope_name="step"))
    for index, reference in enumerate(raw.get("functionReferences", ())):
        name, place = reference.removesuffix("()"), f"{path}.functionReferences[{index}]"
        if scope.tolerant and name not in sight.functions and not build.left_out.may_hold("functionDefinitions", name):
            build.unresolved.add("functionDefinitions")
            message = f"No function {shown(name)} is defined for this step, so no agent is told what it means."
            scope.findings.warn(ProblemCode.UNKNOWN_FUNCTION, place, message)
            continue
        sight.find(name, place)
    calls = [
        _call(sight, call, f"{path}.functionCalls[{index}]") for index, call in enumerate(raw.get("functionCalls", ()))
    ]
    for index, definition in enumerate(raw.get("functionDefinitions", ())):
        if definition["name"] not in sight.named and "functionDefinitions" not in build.unresolved:
            _warn_unused(scope.findings, definition["name"], f"{path}.functionDefinitions[{index}]")
    return tuple(sight.named.values()), tuple(calls)


def report_unused(build: Build, scope: StepScope, raw: dict[str, Any], path: str) -> None:
    """Warn of each function that a workflow or loop defines and no step below it names."""
    for index, definition in enumerate(raw.get("functionDefinitions", ())):
        if "functionDefinitions" in build.unresolved:
            return
        function = scope.functions.get(definition.get("name", ""))
        if function is None or build.left_out.refers_to(function.name):
            continue
        if id(function) not in build.used_functions:
            _warn_unused(scope.findings, function.name, f"{path}[{index}]")


def chars_of(shown_functions: tuple[Function, ...]) -> int:
    """How much text functions add to a step."""
    return sum(len(function.definition) + written_chars(function.parameters) for function in shown_functions)


def _warn_unused(findings: StepFindings, name: str, path: str) -> None:
    message = f"No step refers to the function {shown(name)}, so no agent is told what it means."
    findings.warn(ProblemCode.IGNORED_FIELD, path, message, f'Add "{name}()" to `functionReferences` where it is used.')


@dataclass(slots=True, kw_only=True)
class _Sight:
    """The functions that one step can see, and those that it has named so far."""

    build: Build
    findings: StepFindings
    functions: Mapping[str, Function]
    named: dict[str, Function] = field(default_factory=dict)

    def find(self, name: str, path: str) -> Function | None:
        function = self.functions.get(name)
        if function is None and self.build.left_out.may_hold("functionDefinitions", name):
            return None
        if function is None:
            self.build.unresolved.add("functionDefinitions")
            message = f"No function {shown(name)} is defined for this step."
            self.findings.unknown(ProblemCode.UNKNOWN_FUNCTION, path, message, word=name, known=self.functions)
            return None
        self.named[name] = function
        self.build.used_functions[id(function)] = function
        return function


def _call(sight: _Sight, raw: dict[str, Any], path: str) -> FunctionCall:
    function = sight.find(raw["name"], f"{path}.name")
    if function is not None and function.parameters:
        _check_arguments(sight.findings, function, raw["args"], f"{path}.args")
    return FunctionCall(name=raw["name"], arguments=raw["args"])


def _check_arguments(findings: StepFindings, function: Function, arguments: dict[str, Any], path: str) -> None:
    parameters = {parameter["name"]: parameter for parameter in function.parameters}
    for name, parameter in parameters.items():
        if name in arguments:
            _check_argument(findings, parameter, arguments[name], join(path, name))
        elif misspelt(arguments, name, parameters, findings):
            # Told as the argument that the function does not have.
            continue
        elif parameter.get("required") and "default" not in parameter:
            message = f"The function {shown(function.name)} needs the argument `{name}`."
            findings.error(ProblemCode.MISSING_ARGUMENT, join(path, name), message)
    for name in sorted(arguments.keys() - parameters.keys()):
        message = f"The function {shown(function.name)} has no parameter {shown(name)}."
        findings.unknown(ProblemCode.UNKNOWN_ARGUMENT, join(path, name), message, word=name, known=parameters)


def _check_argument(findings: StepFindings, parameter: dict[str, Any], value: Any, path: str) -> None:
    if isinstance(value, str) and "{{" in value:
        return
    wanted = parameter["type"]
    if not isinstance(value, _TYPES[wanted]) or (isinstance(value, bool) and wanted == "number"):
        message = f"This is {kind_of(value)}; the parameter is of type {wanted}."
        findings.error(ProblemCode.WRONG_TYPE, path, message)
    elif "enum" in parameter and not any(item == value and type(item) is type(value) for item in parameter["enum"]):
        known = [item for item in parameter["enum"] if isinstance(item, str)]
        message = f"This is {shown_value(value)}, which is not among the values of the parameter."
        findings.unknown(
            ProblemCode.BAD_VALUE, path, message, word=value if isinstance(value, str) else "", known=known
        )
