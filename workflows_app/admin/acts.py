"""The acts of this app's Studio pages, and their forms. Each makes one call of a service."""

from collections.abc import Mapping
from typing import Any

from django import forms

from teams_app.admin.pages import Act, Done, Order
from teams_app.engine.actors import Actor, Permission
from workflows_app.engine.names import MAX_ID_CHARS
from workflows_app.models import Revision, Workflow
from workflows_app.selectors.sources import diff_revisions
from workflows_app.services import publishing, workflows

_READ_ONLY = forms.NumberInput(attrs={"readonly": True})


class PublishForm(forms.Form):
    """What was compared goes with the order: should another revision be published meanwhile, the service refuses."""

    workflow = forms.CharField(max_length=MAX_ID_CHARS, widget=forms.HiddenInput)
    revision = forms.IntegerField(min_value=1, widget=_READ_ONLY)
    base = forms.IntegerField(min_value=0, widget=_READ_ONLY, label="Compared with revision", help_text="0: nothing.")


class WorkflowForm(forms.Form):
    workflow = forms.CharField(max_length=MAX_ID_CHARS, widget=forms.HiddenInput)


class ForkForm(WorkflowForm):
    new_id = forms.CharField(
        max_length=MAX_ID_CHARS, label="New id", help_text="A namespace of your own, a dot, a name: team.review."
    )


def _publish(order: Order) -> Done:
    done = publishing.publish_revision(
        actor=order.actor,
        workflow_id=order.values["workflow"],
        number=order.values["revision"],
        base=order.values["base"],
        now=order.now,
    )
    return Done(message=f"Runs of {done.workflow.workflow_id} start with revision {done.revision.number} from now on.")


def _retire(order: Order) -> Done:
    retired = publishing.retire_workflow(actor=order.actor, workflow_id=order.values["workflow"], now=order.now)
    return Done(message=f"{retired.workflow_id} is retired.")


def _fork(order: Order) -> Done:
    saved = workflows.fork_workflow(
        actor=order.actor,
        workflow_id=order.values["workflow"],
        new_id=order.values["new_id"],
        number=None,
        message="",
        now=order.now,
    )
    return Done(message=f"{saved.workflow.workflow_id} is a draft, forked from {saved.workflow.forked_from}.")


def _latest(row: Workflow) -> Mapping[str, Any]:
    return {"workflow": row.workflow_id, "revision": row.latest_number, "base": _published_number(row)}


def _this(row: Revision) -> Mapping[str, Any]:
    return {
        "workflow": row.workflow.workflow_id,
        "revision": row.number,
        "base": _published_number(row.workflow),
    }


def _workflow(row: Workflow) -> Mapping[str, Any]:
    return {"workflow": row.workflow_id}


def _difference_of_latest(actor: Actor, row: Workflow) -> Mapping[str, Any]:
    return _difference(actor, **_latest(row))


def _difference_of_this(actor: Actor, row: Revision) -> Mapping[str, Any]:
    return _difference(actor, **_this(row))


def _difference(actor: Actor, *, workflow: str, revision: int, base: int) -> Mapping[str, Any]:
    return {"diff": diff_revisions(actor=actor, workflow_id=workflow, number=revision, base=base or None)}


def _published_number(row: Workflow) -> int:
    return row.published.number if row.published else 0


PUBLISH_LATEST = Act(
    slug="publish",
    label="Publish the latest revision",
    question="Runs that start from now on follow this revision. Runs that are on their way go on as they began.",
    needs=Permission.PUBLISH_WORKFLOWS,
    run=_publish,
    form=PublishForm,
    initial=_latest,
    details=_difference_of_latest,
    template="admin/workflow_publish.html",
)
PUBLISH_THIS = Act(
    slug="publish",
    label="Publish this revision",
    question="Runs that start from now on follow this revision. Runs that are on their way go on as they began.",
    needs=Permission.PUBLISH_WORKFLOWS,
    run=_publish,
    form=PublishForm,
    initial=_this,
    details=_difference_of_this,
    template="admin/workflow_publish.html",
)
RETIRE = Act(
    slug="retire",
    label="Retire",
    question="No run starts with it any more. Runs that are on their way go on; publishing a revision brings it back.",
    needs=Permission.PUBLISH_WORKFLOWS,
    run=_retire,
    form=WorkflowForm,
    initial=_workflow,
)
FORK = Act(
    slug="fork",
    label="Fork",
    question="A draft of your team's own, with the published source, or else the latest one.",
    needs=Permission.EDIT_WORKFLOWS,
    run=_fork,
    form=ForkForm,
    initial=_workflow,
)
