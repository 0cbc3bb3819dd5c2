"""The settings: typed, loud, documented, and strict in production."""

import base64
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from workrail_site.environment import BadEnvironmentError, SiteEnvironment
from workrail_site.servers import celery_url, read_postgres_url, read_redis_url

ROOT = Path(__file__).parents[2]
TOKEN_KEY = base64.urlsafe_b64encode(bytes(range(32))).decode()
SECRET_KEY = "a-secret-key-of-many-characters-0123456789-ABCDEFGHIJ"
PRODUCTION = {
    "WORKRAIL_ENV": "production",
    "WORKRAIL_SECRET_KEY": SECRET_KEY,
    "WORKRAIL_TOKEN_KEY": TOKEN_KEY,
    "WORKRAIL_ALLOWED_HOSTS": "rails.example.com",
    "DATABASE_URL": "postgresql://w:p@db/workrail",
    "REDIS_URL": "redis://cache/0",
}


@pytest.fixture
def start(monkeypatch):
    """Runs the settings anew in the given environment and no other; gives them back."""

    def run(environ):
        for name in os.environ:
            monkeypatch.delenv(name)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        return runpy.run_path(str(ROOT / "workrail_site" / "settings.py"))

    return run


def complaint(start, environ):
    with pytest.raises(BadEnvironmentError) as stopped:
        start(environ)
    return str(stopped.value)


def documented():
    text = (ROOT / "docs" / "configuration.md").read_text()
    return set(re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE))


def test_every_variable_that_is_read_is_documented_and_no_other(start):
    assert start({})["ENVIRONMENT"].names == documented()


def test_links_lead_to_the_address_of_up_unless_another_is_named_and_tokens_never_do(start):
    local, public = (
        {"WORKRAIL_LOCAL_URL": "http://127.0.0.1:8000"},
        {"WORKRAIL_PUBLIC_URL": "https://rails.example.com"},
    )

    here, named = start(local), start(local | public)

    assert (here["PUBLIC_URL"], here["OAUTH_URL"]) == ("http://127.0.0.1:8000", "")
    assert {named["PUBLIC_URL"], named["OAUTH_URL"]} == {"https://rails.example.com"}


def test_the_environment_is_read_in_the_settings_alone():
    """The starter and what it starts come before the settings, and set the environment that these read."""
    reading = re.compile(r"os\.environ(?!\.setdefault\(\"DJANGO_SETTINGS_MODULE\")|os\.getenv")
    rooms = ["teams_app", "workflows_app", "sessions_app", "traces_app", "workrail_site"]
    found = [
        str(path.relative_to(ROOT))
        for room in rooms
        for path in (ROOT / room).rglob("*.py")
        if not {"local", "bench"} & set(path.parts) and reading.search(path.read_text())
    ]

    assert found == ["workrail_site/settings.py"]


def test_development_needs_nothing(start):
    settings = start({})

    assert settings["WORKRAIL_ENV"] == "development"
    assert settings["DEBUG"] is False
    assert len(settings["SECRET_KEY"]) >= 50


def test_development_makes_a_new_secret_at_each_start(start):
    assert start({})["SECRET_KEY"] != start({})["SECRET_KEY"]


def test_production_starts_with_what_it_needs(start):
    settings = start(PRODUCTION)

    assert settings["SESSION_COOKIE_SECURE"] is True
    assert settings["CSRF_COOKIE_SECURE"] is True
    assert settings["SECURE_SSL_REDIRECT"] is True
    assert settings["SECURE_HSTS_SECONDS"] >= 31_536_000
    assert settings["DEBUG"] is False


def test_what_any_key_has_sealed_is_checked_for_as_long_as_that_is_kept(start):
    """Keys of tokens and of seals are changed by turns, and each old one is put where the others are."""
    keys = [base64.urlsafe_b64encode(bytes([number]) * 32).decode() for number in range(5)]
    turns = [
        {"WORKRAIL_TOKEN_KEY": keys[0]},
        {"WORKRAIL_TOKEN_KEY": keys[1]},
        {"WORKRAIL_TOKEN_KEY": keys[2]},
        {"WORKRAIL_TOKEN_KEY": keys[2], "WORKRAIL_SEAL_KEY": keys[3]},
        {"WORKRAIL_TOKEN_KEY": keys[4], "WORKRAIL_SEAL_KEY": keys[3]},
        {"WORKRAIL_TOKEN_KEY": keys[4]},
    ]

    sealed = []
    for turn, environ in enumerate(turns):
        before = {key for old in turns[:turn] for key in old.values()} - set(environ.values())
        found = start({**PRODUCTION, **environ, "WORKRAIL_SEAL_KEYS_RETIRED": ",".join(sorted(before))})["SEAL_KEYS"]
        assert [each for each in sealed if each not in found] == []
        sealed.append(found[0])

    assert len(set(sealed)) == 5


@pytest.mark.parametrize("name", [name for name in PRODUCTION if name != "WORKRAIL_ENV"])
def test_production_refuses_to_start_without_what_it_needs(start, name):
    assert name in complaint(start, {**PRODUCTION, name: ""})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WORKRAIL_SECRET_KEY", "short"),
        ("WORKRAIL_SECRET_KEY", "a" * 60),
        ("WORKRAIL_SECRET_KEY", "ab" * 40),
        ("WORKRAIL_DEBUG", "true"),
        ("WORKRAIL_ALLOWED_HOSTS", "*"),
        ("WORKRAIL_ALLOWED_HOSTS", "a.example,*.example"),
        ("WORKRAIL_TOKEN_KEY", "short"),
        ("WORKRAIL_TOKEN_KEY", base64.urlsafe_b64encode(bytes(31)).decode()),
        ("WORKRAIL_TOKEN_KEY_PREVIOUS", "not base64url!"),
        ("WORKRAIL_ENV", "prod"),
        ("WORKRAIL_HTTPS", "yes"),
        ("WORKRAIL_BEHIND_PROXY", "on"),
        ("WORKRAIL_MAX_BODY_BYTES", "1MB"),
        ("WORKRAIL_MAX_BODY_BYTES", "12"),
        ("WORKRAIL_WEB_THREADS", "0"),
        ("WORKRAIL_THROTTLE_ACTOR_PER_MINUTE", "-1"),
        ("WORKRAIL_LOG_FORMAT", "xml"),
        ("WORKRAIL_LOG_LEVEL", "loud"),
        ("DATABASE_URL", "mysql://db/workrail"),
        ("DATABASE_URL", "postgresql://db"),
        ("DATABASE_URL", "postgresql://db:here/workrail"),
        ("DATABASE_URL", "postgresql://db:543210/workrail"),
        ("DATABASE_URL", "postgresql://one:5432,two:x/workrail"),
        ("DATABASE_REPLICA_URL", "mysql://db/workrail"),
        ("DATABASE_REPLICA_URL", "postgresql://db"),
        ("REDIS_URL", "http://cache"),
        ("WORKRAIL_OAUTH", "true"),
        ("WORKRAIL_OIDC_ISSUER", "http://id.example.com"),
        ("WORKRAIL_OIDC_ROLES", "developers"),
        ("WORKRAIL_OIDC_ROLES", '["developers"]'),
        ("WORKRAIL_OIDC_ROLES", '{"developers": "author"}'),
        ("WORKRAIL_OIDC_ROLES", '{"developers": {"team_x": "author"}}'),
        ("WORKRAIL_OIDC_ROLES", '{"developers": {"team_aaaaaaaaaaaaaaaaaaaaaaaaaa": "king"}}'),
        ("WORKRAIL_PUBLIC_URL", "rails.example.com"),
        ("WORKRAIL_LOCAL_URL", "127.0.0.1:8000"),
        ("WORKRAIL_PUBLIC_URL", "https://rails.example.com/studio/"),
    ],
)
def test_a_value_that_is_weak_or_wrong_stops_the_start_and_is_named(start, name, value):
    assert name in complaint(start, {**PRODUCTION, name: value})


@pytest.mark.parametrize("name", ["WORKRAIL_OIDC_CLIENT_ID", "WORKRAIL_OIDC_CLIENT_SECRET"])
def test_a_provider_needs_what_it_knows_this_server_by(start, name):
    assert name in complaint(start, {**PRODUCTION, **SIGNING_ON, name: ""})


def test_a_complaint_does_not_repeat_a_secret(start):
    assert "sesame-open" not in complaint(start, {**PRODUCTION, "WORKRAIL_SECRET_KEY": "sesame-open"})


SIGNING_ON = {
    "WORKRAIL_PUBLIC_URL": "https://rails.example.com",
    "WORKRAIL_OAUTH": "true",
    "WORKRAIL_OIDC_ISSUER": "https://id.example.com",
    "WORKRAIL_OIDC_CLIENT_ID": "workrail",
    "WORKRAIL_OIDC_CLIENT_SECRET": "sesame-open",
}


@pytest.mark.parametrize("more", [{}, SIGNING_ON], ids=["alone", "with sign-on"])
def test_the_check_that_django_makes_before_a_deployment_has_nothing_to_say(more):
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env={**os.environ, **PRODUCTION, **more},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_a_socket_a_user_and_other_arguments_are_read_from_the_database_url():
    address = read_postgres_url("postgresql:///work?host=/a/b&user=me&sslmode=require&application_name=x")

    assert (address.name, address.host, address.user, address.port) == ("work", "/a/b", "me", "")
    assert address.options == {"sslmode": "require", "application_name": "x"}


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        ("db1:5432,db2:5433", ("db1,db2", "5432,5433")),
        ("db1,db2", ("db1,db2", "")),
        ("db1,db2:5433", ("db1,db2", ",5433")),
        ("[::1]:5432,db2", ("::1,db2", "5432,")),
    ],
)
def test_several_servers_are_read_as_libpq_reads_them(hosts, expected):
    address = read_postgres_url(f"postgresql://me:secret@{hosts}/work?target_session_attrs=read-write")

    assert (address.host, address.port) == expected
    assert (address.user, address.options) == ("me", {"target_session_attrs": "read-write"})


def test_the_replica_is_another_database_that_waits_for_nobody(start):
    settings = start({"DATABASE_REPLICA_URL": "postgresql://me@standby/work"})

    assert settings["DATABASES"]["replica"]["HOST"] == "standby"
    assert "default_transaction_read_only=on" in settings["DATABASES"]["replica"]["OPTIONS"]["options"]


def test_special_characters_of_a_password_survive_the_database_url():
    address = read_postgres_url("postgres://me:p%40ss%2F@db.example:5433/work")

    assert (address.user, address.password, address.host, address.port) == ("me", "p@ss/", "db.example", "5433")


@pytest.mark.parametrize(
    ("redis_url", "expected"),
    [
        ("redis://cache:6379/1", "redis://cache:6379/1"),
        ("rediss://:p@cache/0", "rediss://:p@cache/0"),
        ("unix:///a/b.sock?db=3", "redis+socket:///a/b.sock?virtual_host=3"),
        ("unix:///a/b.sock", "redis+socket:///a/b.sock?virtual_host=0"),
        ("unix://:p@/a/b.sock?db=1", "redis+socket://:p@/a/b.sock?virtual_host=1"),
    ],
)
def test_celery_gets_the_same_redis_in_its_own_spelling(redis_url, expected):
    assert celery_url(read_redis_url(redis_url)) == expected


@pytest.mark.parametrize("value", ["yes", "no", "on", "TRUE", "2", "y"])
def test_a_flag_is_true_or_false_and_nothing_else(value):
    with pytest.raises(BadEnvironmentError, match="Write true or false"):
        SiteEnvironment({"X": value}).flag("X")


def test_values_are_read_with_their_types():
    environment = SiteEnvironment({"A": "true", "B": " 7 ", "C": "x, y ,", "D": "", "E": TOKEN_KEY.rstrip("=")})

    assert environment.flag("A") is True
    assert environment.integer("B", default=1) == 7
    assert environment.words("C") == ("x", "y")
    assert environment.text("D", default="d") == "d"
    assert environment.key_bytes("E", length=32) == bytes(range(32))
    assert environment.names == {"A", "B", "C", "D", "E"}
