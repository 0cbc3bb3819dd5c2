"""What `workrail_site.local.pytest_plugin` promises, seen from inside a pytest run of its own."""

from workrail_site.local.pytest_plugin import _own_redis_database

_NO_SERVER = """
import os
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

def test_nothing_was_started():
    folder = Path(parse_qs(urlsplit(os.environ["DATABASE_URL"]).query)["host"][0])
    assert not list(folder.parent.glob("**/*.*"))
"""
_SERVERS = """
import os
import psycopg
import redis

def test_both_answer():
    assert os.environ["WORKRAIL_ENV"] == "test"
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        assert connection.execute("SHOW fsync").fetchone() == ("off",)
        assert connection.execute("SHOW autovacuum").fetchone() == ("off",)
    with redis.Redis.from_url(os.environ["REDIS_URL"]) as client:
        assert client.ping()
"""


def test_engine_tests_start_no_server(run_pytest):
    answer = run_pytest("engine", _NO_SERVER)

    assert answer.returncode == 0, answer.stdout


def test_other_tests_get_a_real_postgres_and_a_real_redis(run_pytest):
    answer = run_pytest("services", _SERVERS)

    assert answer.returncode == 0, answer.stdout


def test_what_may_take_long_begins_first(run_pytest, tmp_path):
    for room in ("api", "local"):
        path = tmp_path / "tests" / room / f"test_{room}.py"
        path.parent.mkdir(parents=True)
        path.write_text("def test_something(): pass\n")

    answer = run_pytest(
        "engine",
        "def test_it(): pass\n",
        "-vv",
        "-pno:randomly",
        str(tmp_path / "tests" / "api"),
        str(tmp_path / "tests" / "local"),
    )

    order = [line.split("/")[1] for line in answer.stdout.split("\n") if " PASSED" in line]
    assert order == ["local", "api", "engine"], answer.stdout


def test_the_processes_of_xdist_share_the_servers(run_pytest):
    answer = run_pytest("services", _SERVERS, "-n", "2")

    assert answer.returncode == 0, answer.stdout


def test_servers_that_are_named_are_used(run_pytest):
    named = {"DATABASE_URL": "postgresql://db.example/workrail", "REDIS_URL": "redis://redis.example/0"}
    code = f"import os\ndef test_named(): assert {named!r}.items() <= os.environ.items()\n"

    answer = run_pytest("services", code, **named)

    assert answer.returncode == 0, answer.stdout


def test_each_process_has_a_redis_database_of_its_own():
    assert _own_redis_database("unix:///tmp/x/valkey.sock?db=0", "gw0") == "unix:///tmp/x/valkey.sock?db=1"
    assert _own_redis_database("redis://localhost:6379/0", "gw1") == "redis://localhost:6379/2"
