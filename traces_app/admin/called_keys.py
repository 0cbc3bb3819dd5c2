"""The keys of a team know nothing of calls; here they get how often each has called today."""

from collections.abc import Mapping

from django.utils import timezone

from teams_app.admin.team_pages import AgentKeyAdmin
from teams_app.engine.actors import Actor, Permission
from traces_app.selectors.traces import count_calls


class CalledKeyAdmin(AgentKeyAdmin):
    def calls_today(self, actor: Actor) -> Mapping[str, str] | None:
        if not actor.may(Permission.READ_TRACES):
            return None
        midnight = timezone.localtime(timezone.now()).replace(hour=0, minute=0, second=0, microsecond=0)
        found = count_calls(actor=actor, since=midnight)
        # Of a team that calls very much only the newest calls are counted.
        more = "" if found.are_all else " or more"
        return {actor_id: f"{count:,}{more}" for actor_id, count in found.by_actor.items()}
