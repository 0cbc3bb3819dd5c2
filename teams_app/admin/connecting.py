"""From nothing to an agent at work: a key that is made on the spot, where to paste it, and what to say."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from teams_app.admin import acts
from teams_app.admin.pages import actor_of, offers
from teams_app.admin.snippets import NO_KEY, snippets_of
from teams_app.engine.actors import USUAL_SCOPES


def connecting(request: HttpRequest, *, workflow_id: str = "") -> dict[str, Any]:
    """What `studio/connect.html` shows. `workflow_id` names a workflow to begin with."""
    may_make = offers(actor_of(request), acts.ISSUE_KEY, None)
    initial = {"scopes": [scope.value for scope in USUAL_SCOPES], "ends": "90"}
    begin = f"start {workflow_id}" if workflow_id else "start the one that fits"
    return {
        "form": acts.KeyForm(initial=initial) if may_make else None,
        "issue_url": reverse("admin:teams_app_agentkey_act_issue"),
        "snippets": snippets_of(request, key=NO_KEY),
        "no_key": NO_KEY,
        "say": f"List the Workrail workflows, and {begin}.",
    }
