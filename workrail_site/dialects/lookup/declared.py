"""What the contract of the lookup dialect declares of its tools beside their arguments: the form of results, and examples.

The contract points to the schema of a workflow by the name of a file, which no client can follow; here it stands in place.
"""

from collections.abc import Mapping
from typing import Any

WORKFLOW_SCHEMA_VERSION = "0.0.1"
_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT}
_FLAG: dict[str, Any] = {"type": "boolean"}
_EXAMPLE_ID = "ai-task-implementation"


def _object(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(required)}


def _declared(output: Mapping[str, Any], tool: str, params: Mapping[str, Any], response: Mapping[str, Any]) -> Any:
    examples = {"request": {"method": tool, "params": dict(params)}, "response": dict(response)}
    return {"outputSchema": dict(output), "examples": examples}


_SUMMARY = ("id", "name", "description", "category", "version")
_VALIDATED = _object({"valid": _FLAG, "issues": _TEXTS, "suggestions": _TEXTS}, "valid")

LIST = _declared(
    _object({"workflows": {"type": "array", "items": _object(dict.fromkeys(_SUMMARY, _TEXT), *_SUMMARY)}}, "workflows"),
    "workflow_list",
    {},
    {
        "workflows": [
            {
                "id": _EXAMPLE_ID,
                "name": "AI Task Prompt Workflow",
                "description": "Guides through task understanding → planning → implementation → verification",
                "category": "development",
                "version": "1.0.0",
            }
        ]
    },
)
GET = _declared(
    {"title": "workflow.schema.json", **_object({"id": _TEXT, "name": _TEXT, "description": _TEXT}, "id", "name")},
    "workflow_get",
    {"id": _EXAMPLE_ID},
    {
        "id": _EXAMPLE_ID,
        "name": "AI Task Prompt Workflow",
        "description": "Complete task implementation with verification",
        "preconditions": ["Task description is clear and complete"],
        "steps": [
            {
                "id": "understand",
                "title": "Deep understanding of task and codebase",
                "prompt": "Analyze the task description...",
                "requireConfirmation": True,
            }
        ],
    },
)
NEXT = _declared(
    # Of a workflow that is complete the step is null, which the contract says in another place than its schema.
    _object(
        {"step": {"type": ["object", "null"]}, "guidance": {"type": "object"}, "isComplete": _FLAG},
        "step",
        "guidance",
        "isComplete",
    ),
    "workflow_next",
    {"workflowId": _EXAMPLE_ID, "completedSteps": [], "context": {"taskId": "TASK-123"}},
    {
        "step": {"id": "understand", "title": "Understand the task", "prompt": "Analyze the requirements..."},
        "guidance": {"prompt": "PREP: ... IMPLEMENT: ... VERIFY: ..."},
        "isComplete": False,
    },
)
VALIDATE = _declared(
    _VALIDATED,
    "workflow_validate",
    {"workflowId": _EXAMPLE_ID, "stepId": "understand", "output": "I have analyzed the requirements."},
    {"valid": True, "issues": [], "suggestions": []},
)
VALIDATE_JSON: Mapping[str, Any] = {"outputSchema": _VALIDATED}
GET_SCHEMA: Mapping[str, Any] = {"outputSchema": _object({"schema": {"type": "object"}, "version": _TEXT}, "schema")}
