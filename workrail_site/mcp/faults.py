"""Refusals as errors of JSON-RPC: those of a dialect whose contract has such errors of its own, and what the SDK refuses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp.server.runner import modern_error_data
from mcp_types import ErrorData
from pydantic import ValidationError

from teams_app.engine.errors import WorkrailError


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    code: int
    message: str
    data: Mapping[str, Any]


# Of a refusal, and the arguments of the call that was refused.
Faults = Callable[[WorkrailError, Mapping[str, Any]], Fault]

_SHOWN_CHARACTERS = 80


def told_of(error: Exception) -> ErrorData:
    """As the SDK tells an exception; of parameters that it cannot read also which one of them is wrong."""
    data = modern_error_data(error)
    if isinstance(error, ValidationError):
        data.data = {"details": _wrong_parameter(error)}
    return data


def _wrong_parameter(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = [str(part)[:_SHOWN_CHARACTERS] for part in first["loc"]]
    name = ".".join(place if place[:1] == ["params"] else ["params", *place])
    return f"{name} is required" if first["type"] == "missing" else f"{name} is not of the right kind"
