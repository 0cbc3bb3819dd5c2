"""Which trigger of an activity starts a workflow."""

from contextlib import suppress

from sessions_app.engine import children
from teams_app.engine.actors import Actor, system_actor
from teams_app.engine.errors import NotFoundError, PreconditionFailedError
from workflows_app.engine.program import Activity, Trigger
from workflows_app.selectors.workflows import find_published


def trigger_for(actor: Actor, activity: Activity | None, workflow_id: str, names: frozenset[str]) -> Trigger | None:
    """The trigger of the activity that starts this workflow, by whichever of its names: an id, an alias, a bare name."""
    found = children.trigger_of(activity, names)
    if found is not None:
        return found
    # What a name means is asked for the run's sake: whoever moves it need not read workflows.
    team = system_actor(team_id=actor.team_id, door=actor.door)
    for trigger in children.triggers_of(activity):
        with suppress(NotFoundError, PreconditionFailedError):
            if find_published(actor=team, workflow_id=trigger.workflow).workflow_id == workflow_id:
                return trigger
    return None
