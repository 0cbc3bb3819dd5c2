"""docker-compose.yml and the Dockerfile, read as their tools would read them, without an engine."""

import os
import re
import shutil
import sys

import pytest
import yaml

from workrail_site.local.keys import new_keys
from workrail_site.local.places import CHECKOUT

_VARIABLE = re.compile(r"\$(?:(\$)|\{(?P<name>[A-Z_]+)(?::(?P<kind>[?-])(?P<text>[^}]*))?\})")


class MissingVariableError(Exception):
    pass


def interpolate(value, variables):
    """What compose does with `${NAME:?message}`, `${NAME:-default}` and `$$`, in every text of the file."""
    match value:
        case str():
            return _VARIABLE.sub(lambda found: _resolve(found, variables), value)
        case list():
            return [interpolate(each, variables) for each in value]
        case dict():
            return {key: interpolate(each, variables) for key, each in value.items()}
        case _:
            return value


def _resolve(found, variables):
    if found[1]:
        return "$"
    value = variables.get(found["name"], "")
    match found["kind"]:
        case "?" if not value:
            raise MissingVariableError(found["name"], found["text"])
        case "-" if not value:
            return found["text"]
        case _:
            return value


@pytest.fixture(scope="session")
def compose_text():
    return (CHECKOUT / "docker-compose.yml").read_text()


@pytest.fixture(scope="session")
def secrets():
    """What a deployment has to set."""
    keys = new_keys()
    return {
        "WORKRAIL_SECRET_KEY": keys.secret_key,
        "WORKRAIL_TOKEN_KEY": keys.token_key,
        "WORKRAIL_ALLOWED_HOSTS": "rail.example.com",
        "POSTGRES_PASSWORD": "a-password_of-postgres",
        "WORKRAIL_APP_DB_PASSWORD": "a-password_of-requests",
        "WORKRAIL_UPKEEP_DB_PASSWORD": "a-password_of-upkeep",
        "REDIS_PASSWORD": "a-password_of-redis",
    }


@pytest.fixture(scope="session")
def compose(compose_text, secrets):
    return interpolate(yaml.safe_load(compose_text), secrets)


@pytest.fixture(scope="session")
def services(compose):
    return compose["services"]


@pytest.fixture(scope="session")
def variables(compose_text):
    """Every variable of the file, with what it says about a missing value."""
    found = [match for match in _VARIABLE.finditer(compose_text) if match["name"]]
    return {match["name"]: (match["kind"], match["text"]) for match in found}


@pytest.fixture(scope="session")
def image(tmp_path_factory):
    """What the Dockerfile copies: the checkout without what .dockerignore keeps out."""
    folder = tmp_path_factory.mktemp("image") / "app"
    allowed = [line[1:] for line in (CHECKOUT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for name in allowed:
        source, target = CHECKOUT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        else:
            shutil.copy(source, target)
    return folder


@pytest.fixture(scope="session")
def image_environ(image):
    """The ENV of the Dockerfile, for this machine's folders."""
    return {
        "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}",
        "PYTHONPATH": str(image),
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "DJANGO_SETTINGS_MODULE": "workrail_site.settings",
        "HOME": str(image.parent),
    }
