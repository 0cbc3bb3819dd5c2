"""Modes with a name."""

import pytest

from sessions_app.engine.presets import PRESETS, Preset, read_preferences
from teams_app.engine.errors import InvalidInputError
from workflows_app.engine.program import Autonomy, RiskPolicy


def test_every_preset_stands_for_both_preferences():
    assert set(PRESETS) == set(Preset)
    assert all(change.autonomy and change.risk_policy for change in PRESETS.values())


def test_never_stopping_is_no_licence_to_take_risks():
    assert PRESETS[Preset.FULL_AUTO_NEVER_STOP].risk_policy is RiskPolicy.CONSERVATIVE


def test_nothing_asked_is_no_change():
    assert read_preferences(preset=None, autonomy=None, risk_policy=None) is None


def test_one_value_changes_that_one_only():
    change = read_preferences(preset=None, autonomy=None, risk_policy=RiskPolicy.BALANCED)

    assert (change.autonomy, change.risk_policy) == (None, RiskPolicy.BALANCED)


def test_a_preset_with_a_value_beside_it_is_refused():
    with pytest.raises(InvalidInputError):
        read_preferences(preset=Preset.GUIDED, autonomy=Autonomy.GUIDED, risk_policy=None)
