"""The mode of a team, with who set it and what it means for people: on its settings, and where it is changed."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from sessions_app.admin import states
from sessions_app.selectors.preferences import TeamMode, read_team_mode
from sessions_app.services.expiry.ended_teams import end_team
from teams_app import selectors
from teams_app.admin.models import TeamAdmin
from teams_app.admin.pages import Act, Done, Order, actor_of
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.counting import counted
from teams_app.engine.names import NAME_CHARACTERS
from workflows_app.engine.program import Program, questions_for_people
from workflows_app.selectors.catalog import published_programs


class TeamNameForm(forms.Form):
    name = forms.CharField(max_length=NAME_CHARACTERS, label="Name of the team", help_text="As it stands above.")


def _end(order: Order) -> Done:
    end_team(actor=order.actor, name=order.values["name"], now=order.now)
    return Done(message=f"The team {order.values['name']} has ended.", url=reverse("admin:index"))


END_TEAM = Act(
    slug="end",
    is_stop=True,
    is_quiet=True,
    label="End the team",
    question="Nobody acts in this team from then on: members, keys and tokens lose it at once. Its sessions, workflows, notices and calls "
    "are deleted, and cannot be brought back; the audit log and the ledger stay with who runs the server. Export first what you want to keep.",
    needs=Permission.MANAGE_TEAM,
    form=TeamNameForm,
    run=_end,
)


class ModedTeamAdmin(TeamAdmin):
    acts: ClassVar[tuple[Act, ...]] = (*TeamAdmin.acts, END_TEAM)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        actor = actor_of(request)
        end_url = self.act_url(END_TEAM, actor.team_id) if actor.may(Permission.MANAGE_TEAM) else ""
        told = mode_of_team(actor, read_team_mode(actor=actor)) if actor.may(Permission.READ_RUNS) else {}
        return super().changelist_view(request, {**told, "end_url": end_url, **(extra_context or {})})


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
