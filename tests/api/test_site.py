"""Health, metrics, the schema, security headers, request ids, and what strangers see at unknown addresses."""

import json
import logging
import re

import pytest

from tests.cast import issue

pytestmark = pytest.mark.django_db


@pytest.fixture
def nobody(client):
    client.raise_request_exception = False
    return client


def test_the_process_is_alive_without_any_server(nobody, django_assert_num_queries):
    with django_assert_num_queries(0):
        response = nobody.get("/healthz")

    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_ready_means_database_redis_and_migrations(nobody):
    response = nobody.get("/readyz")

    assert response.status_code == 200
    assert response.json() == {"status": "ok", "database": "ok", "redis": "ok", "migrations": "ok"}


def test_without_redis_it_is_degraded_and_goes_on(nobody, settings):
    from workrail_site import redis_pool

    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    redis_pool.client.cache_clear()
    try:
        response = nobody.get("/readyz")
    finally:
        redis_pool.client.cache_clear()

    assert (response.status_code, response.json()["redis"]) == (200, "unreachable")
    assert (response.json()["status"], response.json()["database"]) == ("degraded", "ok")


def test_without_a_database_it_is_not_ready_and_says_which_part_is_missing(nobody, monkeypatch):
    from django.db import OperationalError, connection

    def be_gone(*_args):
        raise OperationalError("no")

    monkeypatch.setattr(connection, "cursor", be_gone)

    response = nobody.get("/readyz")

    assert (response.status_code, response.json()["database"]) == (503, "unreachable")


def test_with_a_migration_to_apply_it_is_not_ready(nobody):
    from django.db.migrations.recorder import MigrationRecorder

    from workrail_site import health

    health._no_migration_waits.cache_clear()
    MigrationRecorder.Migration.objects.filter(app="teams_app").delete()

    response = nobody.get("/readyz")

    assert (response.status_code, response.json()["migrations"]) == (503, "unapplied")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/api/v1/schema", "/api/v1/docs"])
def test_these_are_only_read(nobody, path):
    assert nobody.post(path).status_code == 405


def test_metrics_count_requests_by_route_and_never_by_address(nobody, house, as_key):
    agent = as_key(issue(house.alice.actor).text)
    agent.get("/api/v1/keys/key_aaaaaaaaaaaaaaaaaaaaaaaaaa")

    told = nobody.get("/metrics").content.decode()

    assert 'route="api/v1/keys/<str:key>",status="404"' in told
    assert "key_aaaa" not in told


@pytest.mark.parametrize(
    ("extra", "status"),
    [
        ({"REMOTE_ADDR": "127.0.0.1"}, 200),
        ({"REMOTE_ADDR": "::1"}, 200),
        ({"REMOTE_ADDR": "10.0.0.7"}, 403),
        ({"REMOTE_ADDR": ""}, 403),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "10.0.0.7"}, 403),
    ],
)
def test_without_a_token_metrics_are_read_from_this_machine_only(nobody, extra, status):
    assert nobody.get("/metrics", **extra).status_code == status


@pytest.mark.parametrize(("given", "status"), [("", 403), ("Bearer wrong", 403), ("Bearer opensesame", 200)])
def test_with_a_token_metrics_are_read_by_whoever_has_it(nobody, settings, given, status):
    settings.METRICS_TOKEN = "opensesame"

    assert nobody.get("/metrics", headers={"Authorization": given}).status_code == status


def test_the_schema_that_is_served_is_the_one_that_is_committed(nobody):
    from workrail_site.contracts import CONTRACTS, contract_path

    assert nobody.get("/api/v1/schema").content == contract_path(name="openapi.json").read_bytes(), (
        "run: ./workrail export_contracts"
    )
    for name, write in CONTRACTS.items():
        assert contract_path(name=name).read_bytes() == write(), "run: ./workrail export_contracts"


def test_every_endpoint_is_in_the_schema_with_its_summary(nobody):
    from django.urls import get_resolver

    document = nobody.get("/api/v1/schema").json()
    routes = [
        "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", f"api/v1/{pattern.pattern}")
        for resolver in get_resolver().url_patterns
        if str(resolver.pattern) == "api/v1/" and hasattr(resolver, "url_patterns")
        for pattern in resolver.url_patterns
        if hasattr(pattern, "callback")
    ]

    assert set(routes) <= set(document["paths"])
    assert all(operation["summary"] for path in document["paths"].values() for operation in path.values())


def test_every_operation_declares_the_header_that_names_a_team(nobody):
    document = nobody.get("/api/v1/schema").json()
    reference = {"$ref": "#/components/parameters/WorkrailTeam"}

    operations = [each for methods in document["paths"].values() for each in methods.values()]
    assert all(reference in each["parameters"] for each in operations)
    assert document["components"]["parameters"]["WorkrailTeam"]["name"] == "Workrail-Team"


PAGES = ["/studio/login/", "/api/v1/docs", "/nowhere", "/api/v1/whoami", "/healthz", "/api/v1/schema"]


@pytest.mark.parametrize("path", PAGES)
def test_every_page_carries_the_strict_policy(nobody, path):
    policy = nobody.get(path)["Content-Security-Policy"]

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("path", ["/studio/login/", "/api/v1/docs", "/nowhere"])
def test_no_page_holds_anything_inline(nobody, path):
    html = nobody.get(path).content.decode()

    assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>", html)
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", html)
    assert not re.search(r"(?:src|href)=[\"'](?:https?:)?//", html)


def test_the_page_of_the_schema_finds_its_scripts(nobody):
    html = nobody.get("/api/v1/docs").content.decode()

    found = re.findall(r"(?:src|href)=\"(/static/[^\"]+)\"", html)

    assert len(found) == 4
    for path in found:
        response = nobody.get(path)
        assert response.status_code == 200
        assert b"".join(response.streaming_content)


def test_an_unknown_address_is_a_page_for_people(nobody):
    response = nobody.get("/nowhere")

    assert response.status_code == 404
    assert "There is nothing at this address." in response.content.decode()
    assert response["X-Request-ID"] in response.content.decode()


def test_a_host_that_is_not_served_is_refused(nobody):
    response = nobody.get("/api/v1/whoami", headers={"Host": "evil.example"})

    assert (response.status_code, response.json()["code"]) == (400, "VALIDATION_ERROR")


def test_a_sane_request_id_is_taken_over(nobody):
    assert nobody.get("/healthz", headers={"X-Request-ID": "abc-12345.x_Y"})["X-Request-ID"] == "abc-12345.x_Y"


@pytest.mark.parametrize(
    "given", ["", "short", "x" * 65, "with space 123", "new\x0bline-123", "é" * 10, "-begins-badly", '"quoted"']
)
def test_another_request_id_is_replaced(nobody, given):
    answered = nobody.get("/healthz", headers={"X-Request-ID": given})["X-Request-ID"]

    assert answered != given
    assert re.fullmatch(r"[0-9a-f-]{36}", answered)


def logged(caplog):
    return [record.msg for record in caplog.records if isinstance(record.msg, dict)]


def test_a_request_leaves_one_line_with_its_id_and_actor_and_without_its_query(nobody, house, as_key, caplog):
    issued = issue(house.alice.actor)
    caplog.set_level(logging.INFO)

    response = as_key(issued.text).get("/api/v1/keys?limit=5")

    (line,) = [line for line in logged(caplog) if line["event"] == "request"]
    assert line["request_id"] == response["X-Request-ID"]
    assert (line["actor"], line["door"]) == (response.json()["items"][0]["id"], "rest")
    assert (line["method"], line["path"], line["status"]) == ("GET", "/api/v1/keys", 200)
    assert line["duration_ms"] > 0


def test_a_request_does_not_carry_the_actor_of_the_one_before_it(nobody, house, as_key, caplog):
    as_key(issue(house.alice.actor).text).get("/api/v1/whoami")
    caplog.set_level(logging.INFO)

    nobody.get("/nowhere")

    (line,) = [line for line in logged(caplog) if line["event"] == "request" and line["path"] == "/nowhere"]
    assert "actor" not in line


def test_no_key_gets_into_the_log_whatever_goes_wrong(house, as_key, monkeypatch, capfd):
    import structlog
    from django.db.models import QuerySet

    from workrail_site.log import configure, log_settings

    issued = issue(house.alice.actor)
    agent = as_key(issued.text)
    agent.get("/api/v1/whoami")

    def break_down(*_args, **_kwargs):
        raise RuntimeError(f"no row for {issued.text} in {{'password': 'hunter2hunter2'}}")

    root = logging.getLogger()
    before = root.handlers[:], root.level
    try:
        configure(log_settings(json_lines=True, level="DEBUG", secrets=()))
        monkeypatch.setattr(QuerySet, "__iter__", break_down)
        refused = agent.get("/api/v1/keys")
        structlog.get_logger("x").error("tried", headers={"Authorization": f"Bearer {issued.text}"})
        logging.getLogger("library").warning("key %s", issued.text)
    finally:
        root.handlers[:], root.level = before

    written = capfd.readouterr().err
    lines = [json.loads(line) for line in written.splitlines()]
    assert refused.status_code == 500
    assert {"unhandled_error", "request", "tried"} <= {line["event"] for line in lines}
    assert "RuntimeError" in written
    assert issued.text[15:] not in written
    assert "hunter2" not in written


def test_the_cookies_of_a_session_are_out_of_reach_of_scripts_and_other_sites(house, client):
    house.alice.person.set_password("correct horse battery")
    house.alice.person.save(update_fields=["password"])
    client.post("/studio/login/", {"username": "alice", "password": "correct horse battery"})

    cookie = client.cookies["sessionid"]

    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
