"""The JSON Schemas that are published for authors, by the name under which they are asked for."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from workflows_app.engine.activities.json_schema import activity_schema, workflow_schema
from workflows_app.engine.schema_words import OF_ACTIVITIES, OF_FIRST_STEPS, OF_STEPS, Words, described
from workflows_app.engine.steps.json_schema import first_steps_schema, steps_schema

Make = Callable[[], dict[str, Any]]


def _with_words(make: Make, words: Words, name: str) -> Make:
    return lambda: described(make(), words, record=name)


SCHEMAS: Mapping[str, Make] = MappingProxyType(
    {
        "steps-0.3.0": _with_words(steps_schema, OF_STEPS, "workflow"),
        "steps-0.0.1": _with_words(first_steps_schema, OF_FIRST_STEPS, "workflow"),
        "workflow": _with_words(workflow_schema, OF_ACTIVITIES, "workflow"),
        "activity": _with_words(activity_schema, OF_ACTIVITIES, "activity"),
    }
)
