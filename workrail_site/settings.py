"""The one settings file. Every variable that it reads is described in docs/configuration.md, and a test compares."""

import hashlib
import hmac
import os
import secrets
from enum import StrEnum
from pathlib import Path
from typing import Any

from workrail_site.environment import BadEnvironmentError, Environment
from workrail_site.servers import celery_url, read_postgres_url, read_redis_url


class Stage(StrEnum):
    DEVELOPMENT = "development"
    PRODUCTION = "production"
    TEST = "test"


BASE_DIR = Path(__file__).resolve().parent.parent
ENVIRONMENT = Environment(os.environ)

WORKRAIL_ENV = ENVIRONMENT.choice("WORKRAIL_ENV", default=Stage.DEVELOPMENT)
_PRODUCTION = WORKRAIL_ENV is Stage.PRODUCTION
WORKRAIL_HOME = Path(ENVIRONMENT.text("WORKRAIL_HOME", default=str(BASE_DIR / ".workrail")))
DEBUG = ENVIRONMENT.flag("WORKRAIL_DEBUG")

_SECRET_KEY_CHARACTERS = 50
_TOKEN_KEY_BYTES = 32


def _secret_key(text: str) -> str:
    if text and (not _PRODUCTION or (len(text) >= _SECRET_KEY_CHARACTERS and len(set(text)) > 9)):
        return text
    if _PRODUCTION:
        raise BadEnvironmentError(
            f"WORKRAIL_SECRET_KEY is missing or weak. Give it {_SECRET_KEY_CHARACTERS} or more random characters: "
            "python3 -c 'import secrets; print(secrets.token_urlsafe(48))'",
        )
    return secrets.token_urlsafe(48)


def _token_key(given: bytes | None) -> bytes:
    if given is not None:
        return given
    if _PRODUCTION:
        raise BadEnvironmentError("WORKRAIL_TOKEN_KEY is missing. It signs every token: 32 random bytes in base64url.")
    return hmac.digest(SECRET_KEY.encode(), b"workrail token key", hashlib.sha256)


SECRET_KEY = _secret_key(ENVIRONMENT.text("WORKRAIL_SECRET_KEY"))
TOKEN_KEY = _token_key(ENVIRONMENT.key_bytes("WORKRAIL_TOKEN_KEY", length=_TOKEN_KEY_BYTES))
TOKEN_KEY_PREVIOUS = ENVIRONMENT.key_bytes("WORKRAIL_TOKEN_KEY_PREVIOUS", length=_TOKEN_KEY_BYTES)

ALLOWED_HOSTS = list(ENVIRONMENT.words("WORKRAIL_ALLOWED_HOSTS", default=("localhost", "127.0.0.1", "[::1]")))

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.admin.apps.SimpleAdminConfig",
    "rest_framework",
    "teams_app",
    "workflows_app",
    "sessions_app",
    "traces_app",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "workrail_site.urls"
WSGI_APPLICATION = "workrail_site.wsgi.application"
ASGI_APPLICATION = "workrail_site.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

_POSTGRES = read_postgres_url(ENVIRONMENT.text("DATABASE_URL", default="postgresql:///workrail"))
_PREPARE_AFTER_USES = 5
DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _POSTGRES.name,
        "USER": _POSTGRES.user,
        "PASSWORD": _POSTGRES.password,
        "HOST": _POSTGRES.host,
        "PORT": _POSTGRES.port,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {**_POSTGRES.options, "prepare_threshold": _PREPARE_AFTER_USES},
    },
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = read_redis_url(ENVIRONMENT.text("REDIS_URL", default="redis://localhost:6379/0"))
CELERY_BROKER_URL = celery_url(REDIS_URL)

AUTH_USER_MODEL = "teams_app.Person"
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
