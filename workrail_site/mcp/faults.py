"""Refusals as errors of JSON-RPC, for a dialect whose contract has such errors of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from teams_app.engine.errors import WorkrailError


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    code: int
    message: str
    data: Mapping[str, Any]


# Of a refusal, and the arguments of the call that was refused.
Faults = Callable[[WorkrailError, Mapping[str, Any]], Fault]
