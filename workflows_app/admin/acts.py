"""The acts of this app's Studio pages, and their forms. Each makes one call of a service."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.urls import reverse

from teams_app.admin.pages import Act, Done, Order
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, NotFoundError
from workflows_app.admin import drafts
from workflows_app.admin.differences import shown_difference
from workflows_app.engine.names import MAX_ID_CHARS
from workflows_app.engine.source import Source, SourceFormat
from workflows_app.engine.starters import starter_files
from workflows_app.engine.values import Saved
from workflows_app.models import MESSAGE_CHARACTERS, TITLE_CHARACTERS, Revision, Workflow
from workflows_app.selectors.sources import diff_revisions
from workflows_app.services import importing, publishing, workflows
from workflows_app.services.importing import ImportOptions

_INLINE = forms.CheckboxInput
_WRITTEN = {
    SourceFormat.STEPS_JSON.value: "Steps, in one JSON file",
    SourceFormat.ACTIVITY_FOLDER.value: "Activities, in a folder of files",
}


class PublishForm(forms.Form):
    """What was compared goes with the order: should another revision be published meanwhile, the service refuses."""

    workflow = forms.CharField(max_length=MAX_ID_CHARS, widget=forms.HiddenInput)
    revision = forms.IntegerField(min_value=1, widget=forms.HiddenInput)
    base = forms.IntegerField(min_value=0, widget=forms.HiddenInput)


class WorkflowForm(forms.Form):
    workflow = forms.CharField(max_length=MAX_ID_CHARS, widget=forms.HiddenInput)


class ForkForm(WorkflowForm):
    new_id = forms.CharField(
        max_length=MAX_ID_CHARS,
        label="Id of the copy",
        help_text="A namespace of your own, a dot, a name: team.review.",
    )


class NewWorkflowForm(forms.Form):
    title = forms.CharField(max_length=TITLE_CHARACTERS, help_text="What people and agents find it by.")
    new_id = forms.CharField(
        max_length=MAX_ID_CHARS, label="Id", help_text="A namespace of your own, a dot, a name: team.review."
    )
    format = forms.ChoiceField(
        label="Written as",
        choices=list(_WRITTEN.items()),
        initial=SourceFormat.STEPS_JSON.value,
        widget=forms.RadioSelect,
    )


class SeveralFiles(forms.ClearableFileInput):
    allow_multiple_selected = True


class UploadField(forms.FileField):
    """One file or several; what is cleaned is a list."""

    widget = SeveralFiles

    def clean(self, data: Any, initial: Any = None) -> list[Any]:
        given = data if isinstance(data, list | tuple) else [data]
        return [super(UploadField, self).clean(each, initial) for each in given]


class ImportForm(forms.Form):
    """`paths` is filled in by a script: browsers keep the folders of what they send to themselves."""

    uploads = UploadField(
        label="Files",
        help_text="A zip or tar of one workflow or several, or a JSON file. Nothing of it runs until it is published.",
    )
    paths = forms.CharField(required=False, widget=forms.HiddenInput)
    rename = forms.BooleanField(
        required=False, initial=True, label="Give ids that your team cannot have the suggested ones", widget=_INLINE
    )
    message = forms.CharField(required=False, max_length=MESSAGE_CHARACTERS, label="Note")


def _publish(order: Order) -> Done:
    done = publishing.publish_revision(
        actor=order.actor,
        workflow_id=order.values["workflow"],
        number=order.values["revision"],
        base=order.values["base"],
        now=order.now,
    )
    return Done(
        message=f"Runs of {done.workflow.title} start with r{done.revision.number} from now on.",
        url=reverse("admin:workflows_app_workflow_change", args=(done.workflow.id,)),
    )


def _retire(order: Order) -> Done:
    retired = publishing.retire_workflow(actor=order.actor, workflow_id=order.values["workflow"], now=order.now)
    return Done(message=f"{retired.title} is retired: no run starts with it any more.")


def _fork(order: Order) -> Done:
    saved = workflows.fork_workflow(
        actor=order.actor,
        workflow_id=order.values["workflow"],
        new_id=order.values["new_id"],
        number=None,
        message="",
        now=order.now,
    )
    return Done(message=f"{saved.workflow.title} is a draft of your team now.", url=_editor_url(saved))


def _new(order: Order) -> Done:
    source_format = SourceFormat(order.values["format"])
    files = starter_files(
        source_format=source_format, workflow_id=order.values["new_id"].strip(), title=order.values["title"]
    )
    saved = workflows.create_workflow(
        actor=order.actor, source=Source(format=source_format, files=files), message="", now=order.now
    )
    return Done(message=f"{saved.workflow.title} is a draft. Write it here.", url=_editor_url(saved))


def _import(order: Order) -> Done:
    given = order.values
    options = ImportOptions(rename=given["rename"], message=given["message"])
    uploads = given["uploads"]
    if len(uploads) == 1 and not uploads[0].name.endswith((".json", ".yaml", ".yml", ".toon", ".md")):
        done = importing.import_archive(
            actor=order.actor, data=uploads[0].read(), filename=uploads[0].name, options=options, now=order.now
        )
    else:
        names = _names(given["paths"], [each.name for each in uploads])
        _refuse_same_names(names)
        files = {name: each.read() for name, each in zip(names, uploads, strict=True)}
        done = importing.import_files(actor=order.actor, files=files, options=options, now=order.now)
    unread = ", ".join(done.read_by_nobody[:10])
    warnings = (f"Not read, because no workflow has a use for them: {unread}.",) if unread else ()
    saved = done.workflows
    if len(saved) == 1:
        return Done(message=f"{saved[0].workflow.title} is a draft now.", warnings=warnings, url=_editor_url(saved[0]))
    return Done(message=f"{len(saved)} workflows were imported as drafts.", warnings=warnings)


def _names(paths: str, names: list[str]) -> list[str]:
    try:
        told = json.loads(paths or "[]")
    except (ValueError, RecursionError):
        return names
    return (
        told
        if isinstance(told, list) and len(told) == len(names) and all(isinstance(each, str) for each in told)
        else names
    )


def _refuse_same_names(names: list[str]) -> None:
    """Of two only one would arrive: without a script browsers leave out the folders."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InvalidInputError(
            f"Two of the files are called {twice[0][:200]!r}, without the folders that they lie in.",
            suggestion="Pack the folder as a zip, and import that.",
        )


def _save(order: Order) -> Done:
    row = None if order.row_id is None else Workflow.objects.filter(pk=order.row_id).first()
    if row is None:
        raise NotFoundError("There is no such workflow.", suggestion="List the workflows.")
    revision = drafts.began_from(row, order.values["base"])
    draft = drafts.read_draft_of(order.values, revision)
    saved = workflows.revise_workflow(
        actor=order.actor,
        workflow_id=row.workflow_id,
        source=drafts.source_of(draft, revision),
        base_revision=draft.base,
        message=draft.message,
        now=order.now,
    )
    words = f"Saved as r{saved.revision.number}." if saved.created else "Nothing has changed since it was saved."
    return Done(message=words, url=f"{_editor_url(saved)}?{urlencode({'file': draft.path})}")


def _editor_url(saved: Saved) -> str:
    return reverse("admin:workflows_app_workflow_edit", args=(saved.workflow.id,))


def is_own(actor: Actor, row: Workflow) -> bool:
    """Of the team, and the person may write it."""
    return row.team_id == actor.team_id and actor.may(Permission.EDIT_WORKFLOWS)


def _may_publish(actor: Actor, row: Workflow) -> bool:
    return is_own(actor, row) and not row.error_count and _published_number(row) != row.latest_number


def _may_retire(actor: Actor, row: Workflow) -> bool:
    return is_own(actor, row) and row.published_id is not None


def _latest(row: Workflow) -> Mapping[str, Any]:
    return {"workflow": row.workflow_id, "revision": row.latest_number, "base": _published_number(row)}


def _this(row: Revision) -> Mapping[str, Any]:
    return {
        "workflow": row.workflow.workflow_id,
        "revision": row.number,
        "base": _published_number(row.workflow),
    }


def _copy_of(row: Workflow) -> Mapping[str, Any]:
    name = row.workflow_id.rpartition(".")[2]
    return {"workflow": row.workflow_id, "new_id": f"team.{name}{'-copy' if row.team_id else ''}"}


def _workflow(row: Workflow) -> Mapping[str, Any]:
    return {"workflow": row.workflow_id}


def _difference_of_latest(actor: Actor, row: Workflow) -> Mapping[str, Any]:
    return _difference(actor, **_latest(row))


def _difference_of_this(actor: Actor, row: Revision) -> Mapping[str, Any]:
    return _difference(actor, **_this(row))


def _difference(actor: Actor, *, workflow: str, revision: int, base: int) -> Mapping[str, Any]:
    diff = diff_revisions(actor=actor, workflow_id=workflow, number=revision, base=base or None)
    return {"number": revision, "base": base, **shown_difference(diff)}


def _published_number(row: Workflow) -> int:
    return row.published.number if row.published else 0


_PUBLISH = "Runs that start from now on follow this revision. Runs that are on their way go on as they began."

NEW = Act(
    slug="new",
    label="New workflow",
    question="It begins as a draft with two steps, which you change. Nothing runs until it is published.",
    needs=Permission.EDIT_WORKFLOWS,
    run=_new,
    form=NewWorkflowForm,
    on_row=False,
    is_main=True,
)
IMPORT = Act(
    slug="import",
    label="Import",
    question="What you bring becomes drafts of your team. An id that exists gets a new revision.",
    needs=Permission.EDIT_WORKFLOWS,
    run=_import,
    form=ImportForm,
    template="studio/workflow_import.html",
    on_row=False,
)
SAVE = Act(
    slug="save", label="Save draft", needs=Permission.EDIT_WORKFLOWS, run=_save, form=drafts.DraftForm, asks=False
)
PUBLISH_LATEST = Act(
    slug="publish",
    label="Publish",
    question=_PUBLISH,
    needs=Permission.PUBLISH_WORKFLOWS,
    run=_publish,
    form=PublishForm,
    initial=_latest,
    details=_difference_of_latest,
    offered=_may_publish,
    template="studio/workflow_publish.html",
)
PUBLISH_THIS = Act(
    slug="publish",
    label="Publish this revision",
    question=_PUBLISH,
    needs=Permission.PUBLISH_WORKFLOWS,
    run=_publish,
    form=PublishForm,
    initial=_this,
    details=_difference_of_this,
    offered=lambda actor, row: is_own(actor, row.workflow) and not row.error_count,
    template="studio/workflow_publish.html",
)
RETIRE = Act(
    slug="retire",
    label="Retire",
    question="No run starts with it any more. Runs that are on their way go on; publishing a revision brings it back.",
    needs=Permission.PUBLISH_WORKFLOWS,
    run=_retire,
    form=WorkflowForm,
    initial=_workflow,
    offered=_may_retire,
    is_stop=True,
)
COPY = Act(
    slug="fork",
    label="Copy to a new workflow",
    question="A draft of your team's own, with the published source, or else the latest one.",
    needs=Permission.EDIT_WORKFLOWS,
    run=_fork,
    form=ForkForm,
    initial=_copy_of,
)
