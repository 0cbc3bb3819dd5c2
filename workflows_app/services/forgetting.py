"""The workflows of a team that has ended go with all their revisions; programs and files that nobody else has are collected later."""

from typing import Any

from teams_app.engine.actors import Actor, ActorKind
from teams_app.engine.errors import ForbiddenError
from workflows_app.engine.values import WorkflowState
from workflows_app.models import Alias, Binding, Revision, RevisionFile, TeamContract, Variant, Workflow

_BEFORE: tuple[Any, ...] = (Alias, Binding, TeamContract, Variant)


def forget_workflows(*, actor: Actor) -> None:
    """Inside the transaction of the caller."""
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError("Workflows are kept.", suggestion="Retire those that are not to be run any more.")
    of_team = {"team_id": actor.team_id}
    for rows in _BEFORE:
        rows.objects.filter(**of_team).delete()
    Workflow.objects.filter(**of_team).update(published=None, state=WorkflowState.RETIRED.value)
    RevisionFile.objects.filter(revision__team_id=actor.team_id).delete()
    for rows in (Revision, Workflow):
        rows.objects.filter(**of_team).delete()
