"""Whether the installation can do its work, said to people: each part by name, the worst first."""

from dataclasses import dataclass
from typing import Any

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from teams_app.admin.pages import actor_of
from teams_app.engine.actors import Permission
from teams_app.engine.times import absolute_words
from workrail_site import redis_pool
from workrail_site.health import check_parts

_WORDS = {
    "database": ("Database", "PostgreSQL answers, and keeps every log."),
    "redis": ("Queue", "Redis answers: notices, expiry and live pages go through it."),
    "migrations": ("Migrations", "The tables are those of this version."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthPart:
    label: str
    is_well: bool
    words: str


def health_page(request: HttpRequest, shown: dict[str, Any]) -> HttpResponse:
    actor_of(request).require(Permission.READ_TEAM)
    parts = [_part(name, state) for name, state in check_parts().items()]
    parts.sort(key=lambda each: each.is_well)
    page = {
        **shown,
        "title": "Health",
        "parts": parts,
        "is_well": all(each.is_well for each in parts),
        "facts": _facts(),
    }
    return TemplateResponse(request, "studio/health.html", page, status=200)


def _part(name: str, state: str) -> HealthPart:
    label, words = _WORDS.get(name, (name.capitalize(), ""))
    is_well = state == "ok"
    return HealthPart(
        label=label, is_well=is_well, words=words if is_well else f"It is {state}. Tell whoever runs the server."
    )


def _facts() -> list[tuple[str, str]]:
    return [
        ("Time of the server", absolute_words(timezone.localtime())),
        ("PostgreSQL", _database_version()),
        ("Queue", _redis_version()),
        ("Address", settings.PUBLIC_URL or "not set: links in notices need WORKRAIL_PUBLIC_URL"),
        (
            "Sessions are kept",
            f"{settings.SESSION_IDLE_DAYS} days after their last call" if settings.SESSION_IDLE_DAYS else "for ever",
        ),
        ("Calls are kept", f"{settings.TRACE_DAYS} days"),
    ]


def _database_version() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_version")
            return str(cursor.fetchone()[0])
    except DatabaseError:
        return "does not answer"


def _redis_version() -> str:
    try:
        told = redis_pool.client().info("server")
    except redis.RedisError:
        return "does not answer"
    return str(told.get("valkey_version") or told.get("redis_version", ""))
