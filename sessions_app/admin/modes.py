"""Where people change preferences: of a run, of a session for its next runs, of the team for its new sessions.

One form at three addresses. Each POST is one call of a service, and what the service warns of is shown.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from sessions_app.admin import pages, showing
from sessions_app.engine.decisions import PreferenceChange
from sessions_app.engine.presets import PRESETS, Preset, read_preferences
from sessions_app.engine.state import Preferences
from sessions_app.services.minting import Reply
from teams_app.engine.errors import InvalidInputError, WorkrailError
from workflows_app.engine.program import Autonomy, RiskPolicy

_PRESETS = {
    Preset.GUIDED: ("Guided", "Stops whenever something required is missing."),
    Preset.FULL_AUTO_STOP: ("Full auto, may stop", "Works on, and stops only for what nobody but the user can give."),
    Preset.FULL_AUTO_NEVER_STOP: ("Full auto, never stops", "Never stops, and records what is missing as gaps."),
}


class PreferencesForm(forms.Form):
    """What is left empty stays as it is. Whether a preset goes with a value of its own is not the form's to say."""

    preset = forms.TypedChoiceField(
        choices=[(preset.value, preset.value) for preset in Preset], coerce=Preset, empty_value=None, required=False
    )
    autonomy = forms.TypedChoiceField(
        choices=[(autonomy.value, autonomy.value) for autonomy in Autonomy],
        coerce=Autonomy,
        empty_value=None,
        required=False,
    )
    risk_policy = forms.TypedChoiceField(
        choices=[(policy.value, policy.value) for policy in RiskPolicy],
        coerce=RiskPolicy,
        empty_value=None,
        required=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
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
    autonomies: tuple[Choice, ...]
    risk_policies: tuple[Choice, ...]
    is_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What a service gave back, in words."""

    mode: str
    warnings: tuple[str, ...] = ()


def mode_form(*, url: str, title: str, says: str, preferences: Preferences, is_open: bool) -> ModeForm:
    return ModeForm(
        url=url,
        title=title,
        says=says,
        presets=tuple(_preset_choice(preset, preferences) for preset in Preset),
        autonomies=_choices(Autonomy, preferences.autonomy),
        risk_policies=_choices(RiskPolicy, preferences.risk_policy),
        is_open=is_open,
    )


def change_mode(
    *,
    request: HttpRequest,
    change: Callable[[PreferenceChange], Changed],
    again: Callable[[str], HttpResponse],
    back: str,
    done: str,
) -> HttpResponse:
    """A refusal is shown `again` on the page of the form; a change leads `back`, with what is so now."""
    try:
        changed = pages.found(lambda: change(_read_change(request)))
    except WorkrailError as refusal:
        return again(" ".join(filter(None, [refusal.message, refusal.suggestion])))
    messages.success(request, f"{done} {changed.mode}.")
    for warning in changed.warnings:
        messages.warning(request, warning)
    return HttpResponseRedirect(back)


def changed_by(reply: Reply) -> Changed:
    """The tokens of the reply are for whoever works on the run, and are not shown."""
    value: Mapping[str, Any] = reply.value
    now = value["preferences"]
    return Changed(
        mode=showing.mode(now["autonomy"], now["riskPolicy"]),
        warnings=tuple(warned["message"] for warned in value["warnings"]),
    )


def changed_to(preferences: Preferences) -> Changed:
    return Changed(mode=showing.mode(preferences.autonomy, preferences.risk_policy))


def _read_change(request: HttpRequest) -> PreferenceChange:
    form = PreferencesForm(request.POST)
    if not form.is_valid():
        raise InvalidInputError("There is no such mode.", suggestion="Choose one of those that are offered.")
    change = read_preferences(**form.cleaned_data)
    if change is None:
        raise InvalidInputError("Nothing is to be changed.", suggestion="Choose another autonomy or risk policy.")
    return change


def _preset_choice(preset: Preset, preferences: Preferences) -> PresetChoice:
    label, says = _PRESETS[preset]
    meant = PRESETS[preset].applied_to(preferences)
    return PresetChoice(
        value=preset.value,
        label=label,
        says=says,
        mode=showing.mode(meant.autonomy, meant.risk_policy),
        is_current=meant == preferences,
    )


def _choices(offered: Iterable[StrEnum], current: StrEnum) -> tuple[Choice, ...]:
    """What is so already comes first."""
    others = (Choice(value=each.value, label=showing.words(each)) for each in offered if each is not current)
    return (Choice(value="", label=f"{showing.words(current)} (now)"), *others)
