"""The effect of an option, as every dialect of activities tells it."""

from collections.abc import Mapping
from typing import Any

from workflows_app.engine.program import Effect


def effect_json(effect: Effect, *, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Of one that was applied; `variables` are those that it has left."""
    said = {
        "setVariable": {name: variables.get(name, value) for name, value in effect.set_variable.items()},
        "transitionTo": effect.transition_to,
        "skipActivities": list(effect.skip_activities),
    }
    return {key: value for key, value in said.items() if value}
