"""With WORKRAIL_TESTS_POOLED a run of the tests goes through PgBouncer, and without a PgBouncer it says so."""

import os
import shutil

import pytest

from workrail_site.local import pooled
from workrail_site.local.problems import SetupProblem

_SEEN = """
import os
import psycopg
import pytest

def test_it_is_the_pool():
    assert "port=6432" in os.environ["DATABASE_URL"]
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, prepare_threshold=None) as connection:
        connection.execute("SET application_name = 'first'")
        assert connection.execute("SELECT current_database()").fetchone() == ("workrail",)

@pytest.mark.own_connection
def test_left_out():
    raise AssertionError
"""


def test_what_the_tests_are_given_is_the_pool(run_pytest):
    if shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None:
        pytest.skip("there is no pgbouncer (Debian: apt-get install pgbouncer)")
    answer = run_pytest("services", _SEEN, "-rs", WORKRAIL_TESTS_POOLED="1")

    assert answer.returncode == 0, answer.stdout
    assert "1 passed, 1 skipped" in answer.stdout
    assert "PgBouncer hands its connection to others" in answer.stdout


def test_without_a_pgbouncer_it_says_so(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *_arguments, **_named: None)

    with pytest.raises(SetupProblem, match="there is no pgbouncer"):
        pooled.pooled_environ("postgresql:///workrail")


@pytest.mark.parametrize(("value", "asked"), [("", False), ("0", False), ("1", True)])
def test_it_has_to_be_asked_for(value, asked):
    assert pooled.is_asked_for({pooled.ASKED_FOR: value}) is asked
