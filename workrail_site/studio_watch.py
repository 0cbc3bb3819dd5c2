"""What a Studio page watches, and how far that has come. The stream asks here who may watch; without one, pages poll it."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import timezone

from sessions_app.admin.pages import found
from sessions_app.selectors.heads import session_of_run, versions_of
from teams_app.admin.pages import actor_of
from teams_app.api.conditional import is_seen
from teams_app.engine.actors import Actor
from teams_app.engine.seats import Seat


def watch_run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    actor = actor_of(request)
    session_id = found(lambda: session_of_run(actor=actor, run_id=run_id))
    # In one role, team and zone people see the same of a run, but for the drawer, which is no part that moves.
    group = f"{actor.team_id} {actor.role} {timezone.get_current_timezone_name()}"
    page = reverse("admin:sessions_app_run_change", args=(run_id,))
    return _answer(request, actor, kind="session", watched=session_id, page=page, group=group)


def watch_team(request: HttpRequest) -> HttpResponse:
    actor = actor_of(request)
    return _answer(request, actor, kind="team", watched=actor.team_id)


def no_stream(request: HttpRequest, **_place: object) -> HttpResponse:  # noqa: ARG001  Django's signature
    """Where the server cannot stream, a browser is told not to come back, and its page polls."""
    return HttpResponse(status=204)


def _answer(request: HttpRequest, actor: Actor, *, kind: str, watched: UUID, **shared: str) -> HttpResponse:
    versions = versions_of(sessions=[watched] if kind == "session" else [], teams=[watched] if kind == "team" else [])
    version = versions.get(watched, "")
    tag = f'"{version}"'
    if is_seen(tag, request.headers.get("If-None-Match")):
        answer = HttpResponse(status=304)
    else:
        seat = Seat.of(actor=actor).text
        answer = JsonResponse({"kind": kind, "watched": str(watched), "version": version, "seat": seat, **shared})
    answer["ETag"] = tag
    answer["Cache-Control"] = "private, no-cache"
    return answer
