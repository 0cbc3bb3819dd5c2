"""The mode of a team, with who set it and what it means for people: on its settings, and where it is changed."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse

from sessions_app.admin import states
from sessions_app.selectors.preferences import TeamMode, read_team_mode
from teams_app import selectors
from teams_app.admin.models import TeamAdmin
from teams_app.admin.pages import actor_of
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.counting import counted
from workflows_app.engine.program import Program, questions_for_people
from workflows_app.selectors.catalog import published_programs


class ModedTeamAdmin(TeamAdmin):
    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        actor = actor_of(request)
        told = mode_of_team(actor, read_team_mode(actor=actor)) if actor.may(Permission.READ_RUNS) else {}
        return super().changelist_view(request, {**told, **(extra_context or {})})


def mode_of_team(actor: Actor, mode: TeamMode) -> Mapping[str, Any]:
    now = mode.preferences
    names = selectors.name_actors(actor=actor, ids=[mode.set_by]) if mode.set_by else {}
    programs = published_programs(actor=actor)
    return {
        "now": states.mode(now.autonomy, now.risk_policy),
        "set_by": names.get(mode.set_by, "somebody who has left") if mode.set_by else "",
        "set_at": mode.set_at,
        "waives": _asked(programs),
        "is_waived": now.waives_people,
    }


def _asked(programs: tuple[Program, ...]) -> str:
    """What published workflows ask people, in words; empty where they ask nothing."""
    counts = [count for program in programs if (count := questions_for_people(program))]
    return f"{counted(sum(counts), 'approval')} in {counted(len(counts), 'workflow')}" if counts else ""
