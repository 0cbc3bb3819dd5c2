import os
import socket
import sys
from pathlib import Path

import pytest

from workrail_site.local import doctor
from workrail_site.local.claim import ClaimHolder, claimed
from workrail_site.local.doctor import DoctorVerdict
from workrail_site.local.keys import ensure_keys
from workrail_site.local.places import CHECKOUT, Places
from workrail_site.local.venvs import Environment


@pytest.fixture
def environment():
    return Environment(folder=Path(sys.prefix), checkout=CHECKOUT)


@pytest.fixture
def home(places):
    places.home.mkdir()
    return places.home


def test_before_the_first_run_nothing_is_broken(places, environment, free_port, clean_environ):
    findings = doctor.findings(places=places, environment=environment, port=free_port, environ=clean_environ)

    assert DoctorVerdict.BROKEN not in {each.verdict for each in findings}
    assert not places.home.exists()


def test_a_home_that_cannot_be_written_is_broken(tmp_path):
    (tmp_path / "file").write_text("")

    finding = doctor.look_at_home(tmp_path / "file" / "home")

    assert finding.verdict is DoctorVerdict.BROKEN
    assert "WORKRAIL_HOME=" in finding.next_move


def test_a_full_disk_is_broken(home):
    assert doctor.look_at_disk(home, needed_bytes=2**80).verdict is DoctorVerdict.BROKEN
    assert doctor.look_at_disk(home, needed_bytes=1).verdict is DoctorVerdict.OK


def test_a_weak_secret_key_is_broken(places):
    finding = doctor.look_at_keys(places, {"WORKRAIL_SECRET_KEY": "a" * 60})

    assert finding.verdict is DoctorVerdict.BROKEN
    assert "token_urlsafe" in finding.next_move


def test_keys_that_others_may_read_are_broken(places, home):
    ensure_keys(places.keys)
    assert doctor.look_at_keys(places, {}).verdict is DoctorVerdict.OK
    places.keys.chmod(0o644)

    finding = doctor.look_at_keys(places, {})

    assert finding.verdict is DoctorVerdict.BROKEN
    assert finding.next_move == f"chmod 600 {places.keys}"


def test_damaged_keys_are_broken(places, home):
    places.keys.write_text("{}")
    places.keys.chmod(0o600)

    assert doctor.look_at_keys(places, {}).verdict is DoctorVerdict.BROKEN


def test_a_killed_run_is_a_note_and_no_defect(places, home):
    places.claim.write_text('{"pid": 4711, "command": "up"}')

    finding = doctor.look_at_run(places, None)

    assert finding.verdict is DoctorVerdict.NOTE
    assert "process 4711 was killed" in finding.text


def test_a_running_command_is_told(places, home):
    with claimed(places.claim, command="up"):
        holder = doctor.current_holder(places.claim)

        assert "./workrail up is running" in doctor.look_at_run(places, holder).text


def test_a_taken_port_is_broken():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()

        finding = doctor.look_at_port(None, other.getsockname()[1])

    assert finding.verdict is DoctorVerdict.BROKEN
    assert "--port" in finding.next_move


def test_a_web_server_that_does_not_answer_is_broken(free_port):
    holder = ClaimHolder(pid=1, command="up", url=f"http://127.0.0.1:{free_port}")

    assert doctor.look_at_port(holder, 8000).verdict is DoctorVerdict.BROKEN


def test_servers_that_do_not_answer_are_broken(free_port):
    postgres = doctor.look_at_postgres(f"postgresql://127.0.0.1:{free_port}/workrail")
    redis = doctor.look_at_redis(f"redis://127.0.0.1:{free_port}/0")

    assert (postgres.verdict, redis.verdict) == (DoctorVerdict.BROKEN, DoctorVerdict.BROKEN)
    assert "DATABASE_URL" in postgres.next_move
    assert "REDIS_URL" in redis.next_move


def test_a_half_initialised_data_folder_is_broken(home, environment, free_port, clean_environ):
    home.chmod(0o711)
    places = Places(checkout=CHECKOUT, home=home)
    (home / "postgres").mkdir()
    (home / "postgres/PG_VERSION").write_text("18\n")
    places.postgres_pointer.write_text(f"{home}\n")

    findings = list(doctor.findings(places=places, environment=environment, port=free_port, environ=clean_environ))

    assert findings[-1].verdict is DoctorVerdict.BROKEN
    assert "not a whole PostgreSQL cluster" in findings[-1].text


def test_something_broken_is_an_exit_code_of_one(places, environment, clean_environ, monkeypatch, capsys):
    for name in set(os.environ) - set(clean_environ):
        monkeypatch.delenv(name)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        arguments = ["doctor", "--port", str(other.getsockname()[1])]

        assert doctor.run(arguments, places=places, environment=environment) == 1

    assert "broken" in capsys.readouterr().out
    assert doctor.run(arguments, places=places, environment=environment) == 0
