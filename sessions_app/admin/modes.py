"""Where people change preferences: of a run, of a session for its next runs, of the team for its new sessions.

One form at three addresses, each an act; what the service warns of is shown.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django import forms

from sessions_app.admin import states
from sessions_app.engine.decisions import PreferenceChange
from sessions_app.engine.presets import PRESETS, Preset, read_preferences
from sessions_app.engine.state import Preferences
from sessions_app.services.moves.speech import Reply
from teams_app.engine.counting import counted
from teams_app.engine.errors import InvalidInputError
from workflows_app.engine.program import Autonomy, RiskPolicy

_PRESETS = {
    Preset.GUIDED: ("Guided", "Stops whenever something required is missing."),
    Preset.FULL_AUTO_STOP: ("Full auto, may stop", "Works on, and stops only for what nobody but the user can give."),
    Preset.FULL_AUTO_NEVER_STOP: ("Full auto, never stops", "Never stops, and records what is missing as gaps."),
}
# What a person sets, a person has waived.
_WAIVES = "The workflow asks for {approvals}: set by you, they are passed over, with critical gaps that name you."


_NO_MODE = {"null_characters_not_allowed": "There is no such mode."}


class PreferencesForm(forms.Form):
    """What is left empty stays as it is. What the words mean, and whether they go together, is read later."""

    preset = forms.CharField(required=False, error_messages=_NO_MODE)
    autonomy = forms.CharField(required=False, error_messages=_NO_MODE)
    risk_policy = forms.CharField(required=False, error_messages=_NO_MODE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeChoice:
    """The value is empty where choosing it would leave things as they are."""

    value: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetChoice:
    value: str
    label: str
    says: str
    mode: str
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeForm:
    """The form as a template prints it; `is_open` when it is not folded away."""

    url: str
    title: str
    says: str
    presets: tuple[PresetChoice, ...]
    autonomies: tuple[ModeChoice, ...]
    risk_policies: tuple[ModeChoice, ...]
    is_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What a service gave back, in words."""

    mode: str
    warnings: tuple[str, ...] = ()


def mode_form(*, url: str, title: str, says: str, preferences: Preferences, is_open: bool, waives: int = 0) -> ModeForm:
    """`waives` counts the approvals that never stopping passes over."""
    return ModeForm(
        url=url,
        title=title,
        says=says,
        presets=tuple(_preset_choice(preset, preferences, waives) for preset in Preset),
        autonomies=_choices(Autonomy, preferences.autonomy),
        risk_policies=_choices(RiskPolicy, preferences.risk_policy),
        is_open=is_open,
    )


def changed_by(reply: Reply) -> Changed:
    """The tokens of the reply are for whoever works on the run, and are not shown."""
    value: Mapping[str, Any] = reply.value
    now = value["preferences"]
    return Changed(
        mode=states.mode(now["autonomy"], now["riskPolicy"]),
        warnings=tuple(warned["message"] for warned in value["warnings"]),
    )


def changed_to(preferences: Preferences) -> Changed:
    return Changed(mode=states.mode(preferences.autonomy, preferences.risk_policy))


def read_change(values: Mapping[str, Any]) -> PreferenceChange:
    try:
        change = read_preferences(
            preset=Preset(values["preset"]) if values["preset"] else None,
            autonomy=Autonomy(values["autonomy"]) if values["autonomy"] else None,
            risk_policy=RiskPolicy(values["risk_policy"]) if values["risk_policy"] else None,
        )
    except ValueError:
        raise InvalidInputError("There is no such mode.", suggestion="Choose one of those that are offered.") from None
    if change is None:
        raise InvalidInputError("Nothing is to be changed.", suggestion="Choose another autonomy or risk policy.")
    return change


def preferences_of(autonomy: str, risk_policy: str) -> Preferences:
    return Preferences(autonomy=Autonomy(autonomy), risk_policy=RiskPolicy(risk_policy))


def _preset_choice(preset: Preset, preferences: Preferences, waives: int) -> PresetChoice:
    label, says = _PRESETS[preset]
    if waives and preset is Preset.FULL_AUTO_NEVER_STOP:
        says = f"{says} {_WAIVES.format(approvals=counted(waives, 'approval'))}"
    meant = PRESETS[preset].applied_to(preferences)
    return PresetChoice(
        value=preset.value,
        label=label,
        says=says,
        mode=states.mode(meant.autonomy, meant.risk_policy),
        is_current=meant == preferences,
    )


def _choices(offered: Iterable[StrEnum], current: StrEnum) -> tuple[ModeChoice, ...]:
    """What is so already comes first."""
    others = (ModeChoice(value=each.value, label=_words(each)) for each in offered if each is not current)
    return (ModeChoice(value="", label=f"{_words(current)} (now)"), *others)


def _words(choice: StrEnum) -> str:
    return states.AUTONOMY_WORDS.get(choice.value, choice.value)
