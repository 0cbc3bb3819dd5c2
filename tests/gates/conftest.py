"""What the tests of gates share: one team with its tools at every address, and a clock that stands still."""

from pathlib import Path

import pytest
import time_machine

from tests import run_cast
from tests.gate_debts import STILL_RED
from tests.gate_play import open_floor
from tests.run_doors import open_doors
from tests.workflow_cast import NOW

HERE = Path(__file__).parent


@pytest.fixture
def clock():
    with time_machine.travel(NOW, tick=False) as moved:
        yield moved


@pytest.fixture
def floor(transactional_db, clock):
    return open_floor(run_cast.make_desk(), clock)


@pytest.fixture
def doors(transactional_db, clock):
    """The REST door of a team, with people signed in."""
    return open_doors()


@pytest.fixture
def doored(doors, clock):
    """The tools of the same team."""
    return open_floor(doors.desk, clock)


def pytest_collection_modifyitems(items):
    """Strictly: what is in the table fails, and what passes is taken out of it."""
    reasons = {name: promise for promise, names in STILL_RED.items() for name in names}
    for item in items:
        if item.path.parent == HERE and item.name in reasons:
            item.add_marker(pytest.mark.xfail(strict=True, reason=reasons[item.name]))
