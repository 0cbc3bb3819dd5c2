"""The one settings file. Every variable that it reads is described in docs/configuration.md, and a test compares."""

import hashlib
import hmac
import os
import secrets
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from csp.constants import NONE, SELF

from teams_app.engine.sign_on import GroupRoles, read_group_roles
from workrail_site.environment import BadEnvironmentError, SiteEnvironment
from workrail_site.log import log_settings
from workrail_site.servers import PostgresAddress, celery_url, read_postgres_url, read_redis_url


class Stage(StrEnum):
    DEVELOPMENT = "development"
    PRODUCTION = "production"
    TEST = "test"


class LogLevel(StrEnum):
    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


class MailSecurity(StrEnum):
    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


class LogFormat(StrEnum):
    JSON = "json"
    TEXT = "text"


VERSION = "0.1.0"
BASE_DIR = Path(__file__).resolve().parent.parent
ENVIRONMENT = SiteEnvironment(os.environ)

# Where we are

WORKRAIL_ENV = ENVIRONMENT.choice("WORKRAIL_ENV", default=Stage.DEVELOPMENT)
_PRODUCTION = WORKRAIL_ENV is Stage.PRODUCTION
WORKRAIL_HOME = Path(ENVIRONMENT.text("WORKRAIL_HOME", default=str(BASE_DIR / ".workrail")))

# Secrets

_SECRET_KEY_CHARACTERS = 50
_SECRET_KEY_VARIETY = 10
_TOKEN_KEY_BYTES = 32


def _secret_key(text: str) -> str:
    strong = len(text) >= _SECRET_KEY_CHARACTERS and len(set(text)) >= _SECRET_KEY_VARIETY
    if strong or (text and not _PRODUCTION):
        return text
    if _PRODUCTION:
        raise BadEnvironmentError(
            f"WORKRAIL_SECRET_KEY is missing or weak. Give it {_SECRET_KEY_CHARACTERS} or more random characters: "
            "python3 -c 'import secrets; print(secrets.token_urlsafe(48))'",
        )
    return secrets.token_urlsafe(48)


def _token_key(given: bytes | None, secret_key: str) -> bytes:
    if given is not None:
        return given
    if _PRODUCTION:
        raise BadEnvironmentError("WORKRAIL_TOKEN_KEY is missing. It signs every token: 32 random bytes in base64url.")
    return hmac.digest(secret_key.encode(), b"workrail token key", hashlib.sha256)


SECRET_KEY = _secret_key(ENVIRONMENT.text("WORKRAIL_SECRET_KEY"))
TOKEN_KEY = _token_key(ENVIRONMENT.key_bytes("WORKRAIL_TOKEN_KEY", length=_TOKEN_KEY_BYTES), SECRET_KEY)
# As long as an agent may be idle: what a key has signed is trusted for so long after the next one began.
TOKEN_TRUST_DAYS = ENVIRONMENT.integer("WORKRAIL_TOKEN_TRUST_DAYS", default=60, minimum=1)
TOKEN_KEY_PREVIOUS = ENVIRONMENT.key_bytes("WORKRAIL_TOKEN_KEY_PREVIOUS", length=_TOKEN_KEY_BYTES)


def _seal_keys(
    own: bytes | None, retired: tuple[bytes, ...], token_keys: tuple[bytes | None, ...]
) -> tuple[bytes, ...]:
    """Without a key of their own the seals of the log go by the key of tokens, which is understood after the change too.

    A retired one may have been either: whoever changed keys has nothing but what was in the environment.
    """
    of_tokens = (key for key in (*token_keys, *retired) if key is not None)
    derived = (hmac.digest(key, b"workrail seal key", hashlib.sha256) for key in of_tokens)
    return tuple(dict.fromkeys((*((own,) if own else ()), *derived, *retired)))


# What sealed before, and signed anchors where it was a key of tokens.
RETIRED_KEYS = ENVIRONMENT.keys_bytes("WORKRAIL_SEAL_KEYS_RETIRED", length=_TOKEN_KEY_BYTES)
# The first one seals what is written; all of them check it.
SEAL_KEYS = _seal_keys(
    ENVIRONMENT.key_bytes("WORKRAIL_SEAL_KEY", length=_TOKEN_KEY_BYTES),
    RETIRED_KEYS,
    (TOKEN_KEY, TOKEN_KEY_PREVIOUS),
)
METRICS_TOKEN = ENVIRONMENT.text("WORKRAIL_METRICS_TOKEN")

# What production refuses


def _debug(*, asked: bool) -> bool:
    if asked and _PRODUCTION:
        raise BadEnvironmentError("WORKRAIL_DEBUG shows source code and settings to visitors. Leave it out.")
    return asked


def _hosts(given: tuple[str, ...]) -> list[str]:
    if _PRODUCTION and not given:
        raise BadEnvironmentError("WORKRAIL_ALLOWED_HOSTS is missing. Name the hosts that are served, with commas.")
    if _PRODUCTION and any("*" in host for host in given):
        raise BadEnvironmentError("WORKRAIL_ALLOWED_HOSTS holds a wildcard. Name each host.")
    return list(given or ("localhost", "127.0.0.1", "[::1]"))


def _server_url(name: str, *, default: str) -> str:
    url = ENVIRONMENT.text(name)
    if not url and _PRODUCTION:
        raise BadEnvironmentError(f"{name} is missing. Production has no server of its own; say where it is.")
    return url or default


DEBUG = _debug(asked=ENVIRONMENT.flag("WORKRAIL_DEBUG"))
ALLOWED_HOSTS = _hosts(ENVIRONMENT.words("WORKRAIL_ALLOWED_HOSTS"))

# Applications

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django.contrib.admin.apps.SimpleAdminConfig",
    "csp",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "teams_app",
    "workflows_app",
    "sessions_app",
    "traces_app",
    "workrail_site",
]

MIDDLEWARE = [
    "workrail_site.request_context.RequestContext",
    "django.middleware.security.SecurityMiddleware",
    "workrail_site.compression.StudioCompression",
    "workrail_site.reader_zone.ReaderZone",
    "csp.middleware.CSPMiddleware",
    "workrail_site.request_context.BodyLimit",
    "workrail_site.rate_headers.RateLimitHeaders",
    "workrail_site.request_context.Refusals",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # The proof of CSRF is looked for in the form after all of these have begun.
    "workrail_site.request_context.FormsOfStrangers",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "workrail_site.rest_tracing.TraceCalls",
]

ROOT_URLCONF = "workrail_site.urls"
# Whose words REST and the Studio use for runs.
HOUSE_SPEECH = "workrail_site.dialects.rail.replies.RAIL"
WSGI_APPLICATION = "workrail_site.wsgi.application"
ASGI_APPLICATION = "workrail_site.asgi.application"
# Threads of each web process in which Django answers; each keeps a connection to Postgres.
WEB_THREADS = ENVIRONMENT.integer("WORKRAIL_WEB_THREADS", default=4, minimum=1)

# MCP

# Threads of each web process in which tools run; each keeps a connection to Postgres.
MCP_THREADS = ENVIRONMENT.integer("WORKRAIL_MCP_THREADS", default=4, minimum=1)
# The caller of `manage.py mcp`, which serves one client by lines.
AGENT_KEY = ENVIRONMENT.text("WORKRAIL_KEY")

# Templates

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
                "workrail_site.themes.shown_theme",
            ],
            "builtins": ["teams_app.admin.parts"],
        },
    },
]

# Postgres

_POSTGRES = read_postgres_url(_server_url("DATABASE_URL", default="postgresql:///workrail"))
# A pool that hands a connection to another client after each transaction loses what was prepared on it, unless it is one
# that keeps account of that.
_PREPARE_AFTER_USES = 5 if ENVIRONMENT.flag("WORKRAIL_PREPARE_STATEMENTS", default=True) else None


def _database(address: PostgresAddress, **options: str) -> dict[str, Any]:
    return {
        "ENGINE": "workrail_site.postgres",
        "NAME": address.name,
        "USER": address.user,
        "PASSWORD": address.password,
        "HOST": address.host,
        "PORT": address.port,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        # Behind PgBouncer a cursor on the server does not outlive its transaction.
        "DISABLE_SERVER_SIDE_CURSORS": True,
        "OPTIONS": {**options, **address.options, "prepare_threshold": _PREPARE_AFTER_USES},
    }


DATABASES = {"default": _database(_POSTGRES)}
# Lists and pages of the Studio are read there, and nothing else is done.
_REPLICA_URL = ENVIRONMENT.text("DATABASE_REPLICA_URL")
if _REPLICA_URL:
    _REPLICA = read_postgres_url(_REPLICA_URL, name="DATABASE_REPLICA_URL")
    DATABASES["replica"] = _database(_REPLICA, options="-c default_transaction_read_only=on", connect_timeout="2")
# How long one statement may take where somebody waits for the answer, and in a task; 0 is no limit.
STATEMENT_TIMEOUT_MS = ENVIRONMENT.integer("WORKRAIL_STATEMENT_TIMEOUT_MS", default=5_000)
TASK_STATEMENT_TIMEOUT_MS = ENVIRONMENT.integer("WORKRAIL_TASK_STATEMENT_TIMEOUT_MS", default=60_000)
# Of roles that `grant_roles` makes; see docs/operations.md.
ROLE_PASSWORDS = {
    "workrail_app": ENVIRONMENT.text("WORKRAIL_APP_DB_PASSWORD"),
    "workrail_upkeep": ENVIRONMENT.text("WORKRAIL_UPKEEP_DB_PASSWORD"),
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Redis and Celery

REDIS_URL = read_redis_url(_server_url("REDIS_URL", default="redis://localhost:6379/0"))
CELERY_BROKER_URL = celery_url(REDIS_URL)
# No backend for results: nobody reads one, and whoever asked for a task would wait for the backend to listen.
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
# A task is safe to run twice, so a worker that dies gives its task back.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_SOFT_TIME_LIMIT = 60
CELERY_TASK_TIME_LIMIT = 90
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600}
CELERY_TASK_ALWAYS_EAGER = WORKRAIL_ENV is Stage.TEST
CELERY_TASK_EAGER_PROPAGATES = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"

# People

AUTH_USER_MODEL = "teams_app.Person"
PASSWORD_HASHERS = [
    "teams_app.services.passwords.Argon2OfOneForm",
    "teams_app.services.passwords.Pbkdf2OfOneForm",
]
_PASSWORD_CHARACTERS = 12
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": _PASSWORD_CHARACTERS},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "teams_app.services.passwords.NameInPassword"},
]
LOGIN_URL = "admin:login"
# Where who signs in ends whose `next` leads elsewhere.
LOGIN_REDIRECT_URL = "admin:index"
SESSION_COOKIE_AGE = 12 * 60 * 60
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "workrail_site.refusals.csrf_failure"
CSRF_TRUSTED_ORIGINS = list(ENVIRONMENT.words("WORKRAIL_TRUSTED_ORIGINS"))

# HTTPS

_HTTPS = ENVIRONMENT.flag("WORKRAIL_HTTPS", default=_PRODUCTION)
_ONE_YEAR_SECONDS = 365 * 24 * 60 * 60
SESSION_COOKIE_SECURE = _HTTPS
CSRF_COOKIE_SECURE = _HTTPS
SECURE_SSL_REDIRECT = _HTTPS
# Whoever checks on the process from beside it has no certificate to show.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = _ONE_YEAR_SECONDS if _HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = _HTTPS
SECURE_REFERRER_POLICY = "same-origin"
# Whether a domain stands in the browsers' own lists is the decision of who owns it.
SILENCED_SYSTEM_CHECKS = ["security.W021"]
BEHIND_PROXY = ENVIRONMENT.flag("WORKRAIL_BEHIND_PROXY")
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# Nothing inline, nothing from elsewhere, on any page
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    },
}

# Static files

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
_STATIC_DIR = ENVIRONMENT.text("WORKRAIL_STATIC_DIR", default=str(BASE_DIR / "staticfiles") if _PRODUCTION else "")
# Collected files are compressed and have names for long caches. Who debugs wants what stands in the checkout.
STATIC_ROOT = Path(_STATIC_DIR) if _STATIC_DIR and not DEBUG else None
WHITENOISE_USE_FINDERS = STATIC_ROOT is None
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
# Listing all static files at the start pays off for a server, and not for each client of a test.
WHITENOISE_AUTOREFRESH = DEBUG or WORKRAIL_ENV is Stage.TEST
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if STATIC_ROOT
        else "django.contrib.staticfiles.storage.StaticFilesStorage",
    },
}

# REST

MAX_BODY_BYTES = ENVIRONMENT.integer("WORKRAIL_MAX_BODY_BYTES", default=1024 * 1024, minimum=1024)
MAX_BODY_DEPTH = 64
# Archives of workflows and sessions are larger than any JSON that a client writes by hand.
MAX_UPLOAD_BYTES = ENVIRONMENT.integer("WORKRAIL_MAX_UPLOAD_BYTES", default=32 * 1024 * 1024, minimum=MAX_BODY_BYTES)
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
THROTTLE_ACTOR_PER_MINUTE = ENVIRONMENT.integer("WORKRAIL_THROTTLE_ACTOR_PER_MINUTE", default=1_800)
THROTTLE_TEAM_PER_MINUTE = ENVIRONMENT.integer("WORKRAIL_THROTTLE_TEAM_PER_MINUTE", default=6_000)
# What a team may store, in all and within a minute of one process; 0 is no limit.
TEAM_STORAGE_MIB = ENVIRONMENT.integer("WORKRAIL_TEAM_STORAGE_MIB", default=10_240)
TEAM_STORAGE_MIB_PER_MINUTE = ENVIRONMENT.integer("WORKRAIL_TEAM_STORAGE_MIB_PER_MINUTE", default=64)
THROTTLE_SIGN_IN_PER_MINUTE = ENVIRONMENT.integer("WORKRAIL_THROTTLE_SIGN_IN_PER_MINUTE", default=10)

# How long a relayed answer must take at least, and in what time a question of a run is due; 0 is no such time.
CHECKPOINT_MIN_RESPONSE_MS = ENVIRONMENT.integer("WORKRAIL_CHECKPOINT_MIN_RESPONSE_MS", default=3000)
# How long a call waits for the person whom its client has sent to the address of a question.
ANSWER_WAIT_SECONDS = ENVIRONMENT.integer("WORKRAIL_ANSWER_WAIT_SECONDS", default=20)
CHECKPOINT_DUE_MS = 1000 * ENVIRONMENT.integer("WORKRAIL_CHECKPOINT_DUE_SECONDS", default=0)

# Notices to teams: where a reader of one signs in, and which hosts may have an address that is not of the Internet


def _address_in(name: str) -> str:
    url = ENVIRONMENT.text(name)
    parts = urlsplit(url)
    if not url or (
        parts.scheme in {"http", "https"} and parts.netloc and not parts.path.strip("/") and not parts.query
    ):
        return url.rstrip("/")
    raise BadEnvironmentError(f"{name} is not the address of a server. Write https://rails.example.com.")


# What tokens of OAuth are made for; where it is not named, the address under which a client has come.
OAUTH_URL = _address_in("WORKRAIL_PUBLIC_URL")
# What links lead to. `./workrail up` names its own.
PUBLIC_URL = OAUTH_URL or _address_in("WORKRAIL_LOCAL_URL")
# Clients of MCP that sign on with OAuth, at addresses of their own. Its library weighs on every process, so it is asked for.


def _oauth(*, asked: bool) -> bool:
    if asked and _PRODUCTION and not OAUTH_URL:
        raise BadEnvironmentError("WORKRAIL_OAUTH needs WORKRAIL_PUBLIC_URL: tokens are made for that address alone.")
    return asked


OAUTH = _oauth(asked=ENVIRONMENT.flag("WORKRAIL_OAUTH", default=WORKRAIL_ENV is Stage.TEST))
if OAUTH:
    INSTALLED_APPS += ["oauth2_provider"]
    # Redirects by plain http lead to the person's own machine alone: workrail_site.oauth.redirects.
    SILENCED_SYSTEM_CHECKS += ["oauth2_provider.W008"]
_BCP = (
    "IMPLICIT_GRANT",
    "PASSWORD_GRANT",
    "PKCE_METHOD",
    "ACCESS_TOKEN_TRANSPORT",
    "AUTHZ_RESPONSE_ISS",
    "TOKEN_STORAGE",
)
OAUTH2_PROVIDER = {
    **{f"COMPLIANT_BCP_RFC9700_{gate}": True for gate in _BCP},
    "COMPLIANT_BCP_RFC9700_REFRESH_TOKEN": True,
    "COMPLIANT_BCP_RFC9700_REDIRECT_URI_MATCHING": True,
    "COMPLIANT_BCP_RFC9700_PKCE_REQUIRED": True,
    "OAUTH2_VALIDATOR_CLASS": "workrail_site.oauth.validator.Validator",
    "SCOPES_BACKEND_CLASS": "workrail_site.oauth.texts.KeyScopes",
    "ACCESS_TOKEN_GENERATOR": "workrail_site.oauth.texts.access_token",
    "REFRESH_TOKEN_GENERATOR": "workrail_site.oauth.texts.refresh_token",
    "ACCESS_TOKEN_EXPIRE_SECONDS": 60 * 60,
    "REFRESH_TOKEN_EXPIRE_SECONDS": 30 * 24 * 60 * 60,
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "ALLOWED_REDIRECT_URI_SCHEMES": ["https", "http", "cursor", "vscode", "vscode-insiders", "windsurf", "zed"],
    "ALLOW_LOCALHOST_LOOPBACK": True,
    "CIMD_ENABLED": True,
    "CIMD_METADATA_FETCHER": "workrail_site.oauth.clients.PublicFetcher",
    "CIMD_REGISTRATION_PERMISSION_CLASSES": ("workrail_site.oauth.clients.OnlyAtConsent",),
}
# Signing people in by an OpenID provider; without an issuer nobody is


def _group_roles(text: str) -> GroupRoles:
    try:
        return read_group_roles(text)
    except ValueError as error:
        raise BadEnvironmentError(
            f'WORKRAIL_OIDC_ROLES is not as it must be: {error}. Write JSON: {{"group": {{"team_…": "operator"}}}}.'
        ) from error


def _issuer(url: str) -> str:
    parts = urlsplit(url)
    if not url or parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in {"localhost", "127.0.0.1"}):
        return url
    raise BadEnvironmentError("WORKRAIL_OIDC_ISSUER is not an https address.")


def _of_provider(name: str) -> str:
    value = ENVIRONMENT.text(name)
    if OIDC_ISSUER and not value:
        raise BadEnvironmentError(f"{name} is missing. The provider of WORKRAIL_OIDC_ISSUER gives it to you.")
    return value


OIDC_ISSUER = _issuer(ENVIRONMENT.text("WORKRAIL_OIDC_ISSUER"))
OIDC_RP_CLIENT_ID = _of_provider("WORKRAIL_OIDC_CLIENT_ID")
OIDC_RP_CLIENT_SECRET = _of_provider("WORKRAIL_OIDC_CLIENT_SECRET")
OIDC_NAME = ENVIRONMENT.text("WORKRAIL_OIDC_NAME", default="Single sign-on")
OIDC_SCOPES = ENVIRONMENT.text("WORKRAIL_OIDC_SCOPES", default="openid profile email")
OIDC_GROUPS_CLAIM = ENVIRONMENT.text("WORKRAIL_OIDC_GROUPS_CLAIM", default="groups")
OIDC_ROLES = _group_roles(ENVIRONMENT.text("WORKRAIL_OIDC_ROLES"))
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
if OIDC_ISSUER:
    AUTHENTICATION_BACKENDS += ["workrail_site.sign_on.backend.ProviderBackend"]


# Mail goes out where a host for it is named.
EMAIL_HOST = ENVIRONMENT.text("WORKRAIL_MAIL_HOST")
EMAIL_PORT = ENVIRONMENT.integer("WORKRAIL_MAIL_PORT", default=587, minimum=1)
EMAIL_HOST_USER = ENVIRONMENT.text("WORKRAIL_MAIL_USER")
EMAIL_HOST_PASSWORD = ENVIRONMENT.text("WORKRAIL_MAIL_PASSWORD")
_MAIL_SECURITY = ENVIRONMENT.choice("WORKRAIL_MAIL_SECURITY", default=MailSecurity.STARTTLS)
EMAIL_USE_TLS = _MAIL_SECURITY is MailSecurity.STARTTLS
EMAIL_USE_SSL = _MAIL_SECURITY is MailSecurity.TLS
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = ENVIRONMENT.text("WORKRAIL_MAIL_FROM", default="Workrail <workrail@localhost>")
WEBHOOK_PRIVATE_HOSTS = tuple(host.lower() for host in ENVIRONMENT.words("WORKRAIL_WEBHOOK_PRIVATE_HOSTS"))

# Anchors: where the ends of all logs are written each day, and which address is told of it

_ANCHOR_DIR = ENVIRONMENT.text("WORKRAIL_ANCHOR_DIR")
_OWN_ANCHORS = None if _PRODUCTION else WORKRAIL_HOME / "anchors"
ANCHOR_DIR = Path(_ANCHOR_DIR) if _ANCHOR_DIR else _OWN_ANCHORS


def _anchor_url(url: str) -> str:
    if not url or (url.startswith("https://") and urlsplit(url).hostname):
        return url
    raise BadEnvironmentError("WORKRAIL_ANCHOR_URL is not an https address.")


ANCHOR_URL = _anchor_url(ENVIRONMENT.text("WORKRAIL_ANCHOR_URL"))

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["workrail_site.rest.KeyOrSession"],
    "DEFAULT_PERMISSION_CLASSES": ["workrail_site.rest.IsKnown"],
    "DEFAULT_PARSER_CLASSES": ["workrail_site.rest.StrictJsonParser"],
    "DEFAULT_RENDERER_CLASSES": ["workrail_site.rest.JsonRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "workrail_site.rest.AlwaysJson",
    "DEFAULT_SCHEMA_CLASS": "workrail_site.openapi.EndpointSchema",
    "DEFAULT_METADATA_CLASS": None,
    "EXCEPTION_HANDLER": "workrail_site.rest.handle_exception",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Workrail",
    "DESCRIPTION": "Runs AI agents on rails: one step at a time, stopped at human checkpoints, every move on record.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "POSTPROCESSING_HOOKS": ["workrail_site.openapi.sort_components"],
    "SERVE_INCLUDE_SCHEMA": False,
}

# Bundles: whose signature is believed, by public key; none named, every valid one is

BUNDLE_SIGNERS = ENVIRONMENT.words("WORKRAIL_BUNDLE_SIGNERS")
# Of all teams together. Each takes a thread of a worker, which runs whatever happens by the clock besides.
BUNDLE_JOBS_AT_ONCE = ENVIRONMENT.integer("WORKRAIL_BUNDLE_JOBS_AT_ONCE", default=1, minimum=1)

# For so many days without activity a session is kept, unless its team has a rule; 0 is for ever. Archives of what is
# deleted are kept for so many days after.
SESSION_IDLE_DAYS = ENVIRONMENT.integer("WORKRAIL_SESSION_IDLE_DAYS", default=60)
ARCHIVE_DAYS = ENVIRONMENT.integer("WORKRAIL_ARCHIVE_DAYS", default=365, minimum=1)

# Traces

TRACE_DAYS = ENVIRONMENT.integer("WORKRAIL_TRACE_DAYS", default=90, minimum=1)
# A thread that writes by the clock would write into the middle of whatever a test does with the tables.
TRACE_IN_BACKGROUND = WORKRAIL_ENV is not Stage.TEST

# Logs and metrics

LOGGING_CONFIG = "workrail_site.log.configure"
LOGGING = log_settings(
    json_lines=ENVIRONMENT.choice("WORKRAIL_LOG_FORMAT", default=LogFormat.JSON if _PRODUCTION else LogFormat.TEXT)
    is LogFormat.JSON,
    level=ENVIRONMENT.choice("WORKRAIL_LOG_LEVEL", default=LogLevel.INFO).value,
    secrets=(
        SECRET_KEY,
        METRICS_TOKEN,
        OIDC_RP_CLIENT_SECRET,
        EMAIL_HOST_PASSWORD,
        *(str(database["PASSWORD"]) for database in DATABASES.values()),
        ENVIRONMENT.text("WORKRAIL_TOKEN_KEY"),
        ENVIRONMENT.text("WORKRAIL_SEAL_KEY"),
    ),
)
# prometheus_client itself looks at this variable; here it is read so that /metrics adds the processes up.
METRICS_DIRECTORY = ENVIRONMENT.text("PROMETHEUS_MULTIPROC_DIR")

# Language and time

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
# One language, and one way to write a moment that sorts and needs no explanation.
USE_I18N = False
DATETIME_FORMAT = "Y-m-d H:i:s"
