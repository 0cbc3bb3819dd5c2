"""What the tests of both dialects that hand activities over begin with. Each of their folders names its `dialect`."""

import pytest

from tests.handover_play import caller, load_library, plan_desk, stopped_clock


@pytest.fixture
def clock():
    with stopped_clock() as moved:
        yield moved


@pytest.fixture
def library(transactional_db, clock):
    load_library()


@pytest.fixture
def desk(transactional_db, clock):
    return plan_desk()


@pytest.fixture
def call(desk, dialect):
    return caller(dialect, desk.agent)


@pytest.fixture
def token(call):
    """Of a session in which no activity was entered."""
    return call("start_session", workflow_id="team.plan")["session_token"]
