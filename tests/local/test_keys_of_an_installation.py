import base64
import stat

import pytest

from workrail_site.local.keys import ensure_keys, new_keys
from workrail_site.local.problems import SetupProblem


@pytest.fixture
def path(tmp_path):
    return tmp_path / "keys.json"


def test_keys_are_made_once_and_kept(path):
    assert ensure_keys(path) == ensure_keys(path)


def test_keys_are_readable_by_their_owner_only(path):
    ensure_keys(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_keys_are_strong_enough_for_production():
    keys = new_keys()

    assert len(keys.secret_key) >= 50
    assert len(base64.urlsafe_b64decode(keys.token_key)) == 32


def test_damaged_keys_are_reported_and_not_replaced(path):
    path.write_text('{"secret_key": "only one"}')

    with pytest.raises(SetupProblem) as problem:
        ensure_keys(path)

    assert str(path) in problem.value.message
    assert "put it back from a copy" in problem.value.next_move
    assert path.read_text() == '{"secret_key": "only one"}'
