"""The JSON Schemas that are published for authors, by the name under which they are asked for."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from workflows_app.engine.activities.json_schema import activity_schema, workflow_schema
from workflows_app.engine.steps.json_schema import steps_schema

SCHEMAS: Mapping[str, Callable[[], dict[str, Any]]] = MappingProxyType(
    {"steps-0.3.0": steps_schema, "workflow": workflow_schema, "activity": activity_schema}
)
