"""Places of a session in which the tests of the session dialect begin."""

import pytest

from tests.handover_play import AUTO_MS


@pytest.fixture
def dialect():
    return "session"


@pytest.fixture
def drafting(call, token, clock):
    """The reply of entering the activity that asks."""
    clock.shift(1)
    return call("next_activity", session_token=token, activity_id="draft")


@pytest.fixture
def cleared(call, drafting, clock):
    """The token of a session whose checkpoints are all resolved."""
    clock.shift(AUTO_MS / 1000)
    token = drafting["session_token"]
    for answer in (
        {"checkpoint_id": "sure", "option_id": "yes"},
        {"checkpoint_id": "soft", "auto_advance": True},
        {"checkpoint_id": "odd", "condition_not_met": True},
    ):
        token = call("respond_checkpoint", session_token=token, **answer)["session_token"]
    return token
