"""Modes with a name, each standing for a pair of preferences."""

from enum import StrEnum

from sessions_app.engine.decisions import PreferenceChange
from teams_app.engine.errors import InvalidInputError
from workflows_app.engine.program import Autonomy, RiskPolicy


class Preset(StrEnum):
    GUIDED = "guided"
    FULL_AUTO_STOP = "full_auto_stop"
    FULL_AUTO_NEVER_STOP = "full_auto_never_stop"


PRESETS: dict[Preset, PreferenceChange] = {
    Preset.GUIDED: PreferenceChange(autonomy=Autonomy.GUIDED, risk_policy=RiskPolicy.CONSERVATIVE),
    Preset.FULL_AUTO_STOP: PreferenceChange(autonomy=Autonomy.STOP_ON_USER_DEPS, risk_policy=RiskPolicy.BALANCED),
    Preset.FULL_AUTO_NEVER_STOP: PreferenceChange(autonomy=Autonomy.NEVER_STOP, risk_policy=RiskPolicy.CONSERVATIVE),
}


def read_preferences(
    *, preset: Preset | None, autonomy: Autonomy | None, risk_policy: RiskPolicy | None
) -> PreferenceChange | None:
    """The change that is asked for, or None when none is. A preset and a value of its own would contradict each other."""
    if preset is None:
        return PreferenceChange(autonomy=autonomy, risk_policy=risk_policy) if autonomy or risk_policy else None
    if autonomy is not None or risk_policy is not None:
        raise InvalidInputError(
            "The preferences name a preset and a value beside it.",
            suggestion="Send either preset, or autonomy and riskPolicy.",
            details={
                "validationErrors": [{"path": "preferences.preset", "message": "Stands for autonomy and riskPolicy."}],
                "correctTemplate": {"preferences": {"preset": preset.value}},
            },
        )
    return PRESETS[preset]
