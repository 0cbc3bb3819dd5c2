import re

import pytest
import yaml

from workrail_site.local.places import CHECKOUT

_OWN = ("migrate", "web", "worker", "beat")
_SECRETS = {
    "WORKRAIL_SECRET_KEY",
    "WORKRAIL_TOKEN_KEY",
    "POSTGRES_PASSWORD",
    "WORKRAIL_APP_DB_PASSWORD",
    "WORKRAIL_UPKEEP_DB_PASSWORD",
    "REDIS_PASSWORD",
    "WORKRAIL_ALLOWED_HOSTS",
}


def test_it_has_the_services_of_a_deployment(services):
    assert set(services) == {"postgres", "redis", "migrate", "web", "worker", "beat"}


@pytest.mark.parametrize("name", sorted(_SECRETS))
def test_without_a_secret_it_does_not_start_and_says_what_to_set(compose_text, secrets, variables, name):
    # Imported here: the folders of tests are no packages, and the fixture's module has no fixed name.
    kind, message = variables[name]

    assert kind == "?"
    assert message
    assert f"${{{name}}}" not in compose_text


def test_no_password_has_a_default(variables):
    defaults = {name: text for name, (kind, text) in variables.items() if kind == "-" and text}

    assert not [name for name in defaults if re.search("PASSWORD|SECRET|KEY|TOKEN", name)]


def test_every_variable_is_documented(variables):
    documented = (CHECKOUT / "docs/operations.md").read_text()

    assert [name for name in variables if f"`{name}`" not in documented] == []


def test_every_variable_has_a_default_or_a_message(compose_text, variables):
    assert [name for name, (kind, _) in variables.items() if kind is None] == []
    assert not re.findall(r"(?<!\$)\$[A-Za-z_]", compose_text)


def test_images_are_pinned_and_postgres_is_new_enough(services):
    for name in ("postgres", "redis"):
        image, tag = services[name]["image"].split(":")
        assert re.fullmatch(r"\d+(\.\d+)+", tag), image
    assert int(services["postgres"]["image"].split(":")[1].split(".")[0]) >= 17


def test_what_runs_long_is_restarted_and_checked(services):
    for name in set(services) - {"migrate"}:
        assert services[name]["restart"] == "unless-stopped", name
        assert services[name]["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}, name
    assert services["migrate"]["restart"] == "no"


def test_the_application_waits_for_its_servers_and_for_the_migrations(services):
    for name in ("web", "worker", "beat"):
        conditions = {key: value["condition"] for key, value in services[name]["depends_on"].items()}
        assert conditions == {
            "postgres": "service_healthy",
            "redis": "service_healthy",
            "migrate": "service_completed_successfully",
        }


def test_containers_have_no_more_rights_than_they_need(services):
    for name, service in services.items():
        assert service["read_only"] is True, name
        assert service["security_opt"] == ["no-new-privileges:true"], name
    for name in _OWN:
        assert services[name]["cap_drop"] == ["ALL"], name


def test_only_the_web_server_is_reachable_and_only_from_this_machine(services):
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}

    assert published == {"web": ["127.0.0.1:8000:8000"]}


def test_data_is_in_volumes(compose, services):
    mounts = {name: service["volumes"] for name, service in services.items() if "volumes" in service}

    assert mounts == {
        "beat": ["beat:/var/lib/workrail"],
        "postgres": ["postgres:/var/lib/postgresql"],
        "redis": ["redis:/data"],
    }
    assert set(compose["volumes"]) == {"beat", "postgres", "redis"}


# What is of a machine, and not of a deployment: the starter's, a developer's, a client's.
_ELSEWHERE = {"WORKRAIL_HOME", "WORKRAIL_STATIC_DIR", "WORKRAIL_DEBUG", "WORKRAIL_KEY", "WORKRAIL_LOCAL_URL"}


def test_every_documented_setting_is_passed_on(services):
    text = (CHECKOUT / "docs/configuration.md").read_text()
    documented = set(re.findall(r"^\| `([A-Z][A-Z_]+)`", text, flags=re.MULTILINE)) - _ELSEWHERE

    passed = {name for service in _OWN for name in services[service]["environment"]}
    assert documented - passed == set()


# Whoever serves requests cannot change history, and only the migration owns the tables.
_CONNECT_AS = {
    "migrate": "workrail:a-password_of-postgres",
    "web": "workrail_app:a-password_of-requests",
    "worker": "workrail_upkeep:a-password_of-upkeep",
    "beat": "workrail_app:a-password_of-requests",
}


def test_the_application_runs_as_in_production(services):
    for name in _OWN:
        environ = services[name]["environment"]
        assert environ["WORKRAIL_ENV"] == "production"
        assert environ["DATABASE_URL"] == f"postgresql://{_CONNECT_AS[name]}@postgres:5432/workrail"
        assert environ["REDIS_URL"] == "redis://:a-password_of-redis@redis:6379/0"
        assert all(isinstance(value, str) for value in environ.values()), "compose refuses other types"


def test_the_postgres_of_the_deployment_is_initialised_like_the_embedded_one(services):
    arguments = services["postgres"]["environment"]["POSTGRES_INITDB_ARGS"]

    assert arguments == "--locale-provider=builtin --builtin-locale=C.UTF-8 --encoding=UTF8"


def test_continuous_integration_and_compose_files_are_valid_yaml():
    for name in ("docker-compose.yml", ".pre-commit-config.yaml"):
        assert yaml.safe_load((CHECKOUT / name).read_text()), name
