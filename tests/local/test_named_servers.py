"""A server that is named and does not answer is one sentence and the next move, from every command."""

import pytest

BROKEN = {
    "a database that is not there": ("DATABASE_URL", "postgresql://x:y@127.0.0.1:1/none", "does not let us in"),
    "another database": ("DATABASE_URL", "mysql://x", "must begin with postgresql://"),
    "a Redis that is not there": ("REDIS_URL", "redis://127.0.0.1:1/0", "does not let us in"),
    "another queue": ("REDIS_URL", "amqp://x", "must begin with redis://"),
}


@pytest.mark.parametrize(("name", "value", "says"), BROKEN.values(), ids=BROKEN)
def test_up_says_it_in_one_sentence(run_workrail, tmp_path, monkeypatch, name, value, says):
    process, log = run_workrail("up", home=tmp_path / "home", **{name: value})
    assert process.wait(timeout=60) == 1
    first, *rest = log.read_text().strip().splitlines()[-2:]
    assert says in first
    assert rest[0].startswith("  next: ")
    assert "Traceback" not in log.read_text()


def test_a_command_says_it_too(run_workrail, tmp_path):
    servers = {"DATABASE_URL": "postgresql://x:y@127.0.0.1:1/none", "REDIS_URL": "redis://127.0.0.1:1/0"}
    process, log = run_workrail("verify_store", home=tmp_path / "home", **servers)
    assert process.wait(timeout=60) == 1
    assert "the database does not answer" in log.read_text()
    assert "Traceback" not in log.read_text()
