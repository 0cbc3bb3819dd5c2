"""The effect of an option, as every dialect of activities tells it."""

from typing import Any

from workflows_app.engine.program import Effect


def effect_json(effect: Effect) -> dict[str, Any]:
    said = {
        "setVariable": dict(effect.set_variable),
        "transitionTo": effect.transition_to,
        "skipActivities": list(effect.skip_activities),
    }
    return {key: value for key, value in said.items() if value}
