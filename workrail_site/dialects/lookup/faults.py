"""Refusals as the errors of JSON-RPC that the contract of the lookup dialect lists, each with its data."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from teams_app.engine.errors import WorkrailError
from workrail_site.json_rpc import RPC_WORDS, RpcCode
from workrail_site.mcp.faults import Fault


class LookupCode(IntEnum):
    """What its contract has besides the codes of JSON-RPC."""

    WORKFLOW_NOT_FOUND = -32001
    INVALID_WORKFLOW = -32002
    STEP_NOT_FOUND = -32003


MESSAGES: Mapping[int, str] = {
    **RPC_WORDS,
    LookupCode.WORKFLOW_NOT_FOUND: "Workflow not found",
    LookupCode.INVALID_WORKFLOW: "Invalid workflow",
    LookupCode.STEP_NOT_FOUND: "Step not found",
}


def fault_of(error: WorkrailError, given: Mapping[str, Any]) -> Fault:
    match error.code:
        case "VALIDATION_ERROR":
            return made(RpcCode.INVALID_PARAMS, details=_wrong_arguments(error))
        case "NOT_FOUND" if "workflowId" in error.details:
            return made(LookupCode.WORKFLOW_NOT_FOUND, workflowId=_named(error, given))
        case "NOT_FOUND":
            # Of the workflow there is: what of it was asked for is not.
            return made(RpcCode.INVALID_PARAMS, details=error.message, **_next_move(error))
        case "STEP_NOT_FOUND":
            return made(LookupCode.STEP_NOT_FOUND, stepId=error.details.get("stepId", ""))
        case "PRECONDITION_FAILED":
            named = _named(error, given)
            return made(LookupCode.INVALID_WORKFLOW, workflowId=named, details=error.message, **_next_move(error))
        case "INTERNAL_ERROR":
            return made(RpcCode.INTERNAL, details=error.message, requestId=error.details.get("requestId", ""))
        case _:
            return made(RpcCode.SERVER, details=error.message, code=error.code, **_next_move(error))


def made(code: LookupCode | RpcCode, /, **data: Any) -> Fault:
    return Fault(code=code.value, message=MESSAGES[code], data=data)


def _next_move(error: WorkrailError) -> dict[str, str]:
    """Where the contract prints no data of its own, and leaves room for it."""
    return {} if error.suggestion is None else {"suggestion": error.suggestion}


def _named(error: WorkrailError, given: Mapping[str, Any]) -> str:
    asked = given.get("workflowId") or given.get("id")
    return str(error.details.get("workflowId") or asked or "")


def _wrong_arguments(error: WorkrailError) -> str:
    issues = error.details.get("validationErrors")
    if not issues:
        return error.message
    return "; ".join(f"{issue['path']} {_said(issue['message'])}" for issue in issues)


def _said(message: str) -> str:
    return "is required" if message.startswith("Required") else f"is not right: {message.removesuffix('.')}"
