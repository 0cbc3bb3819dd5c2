"""Places of a session in which the tests of the orchestrator dialect begin."""

import pytest


@pytest.fixture
def dialect():
    return "orchestrator"


@pytest.fixture
def drafting(call, token, clock):
    """The token in the first activity."""
    clock.shift(1)
    return call("next_activity", session_token=token, activity_id="draft")["session_token"]


@pytest.fixture
def yielded(call, drafting):
    """The handle of the checkpoint that the worker has come to."""
    return call("yield_checkpoint", session_token=drafting, checkpoint_id="sure")["checkpoint_handle"]


@pytest.fixture
def approved(call, yielded, clock):
    """The token after the user has agreed."""
    clock.shift(3)
    return call("respond_checkpoint", checkpoint_handle=yielded, option_id="yes")["session_token"]
