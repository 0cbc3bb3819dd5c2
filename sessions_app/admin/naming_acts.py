"""Acts by which a person renames a run or a session: one form at two addresses, one call of a service each."""

import os
from collections.abc import Mapping
from typing import Any

from django import forms

from sessions_app.admin import naming, pages, showing
from sessions_app.models import Run, WorkSession
from sessions_app.services.people import naming as service
from teams_app.admin.pages import Act, Done, Order
from teams_app.engine.actors import Permission


class RenameForm(forms.Form):
    name = forms.CharField(
        max_length=service.MAX_NAME_CHARACTERS,
        widget=forms.TextInput(attrs={"size": 60}),
        help_text="Lists show it, and it is found by it. The log keeps the names before.",
        error_messages={"required": "Say what it is to be called."},
    )


def _rename_run(order: Order) -> Done:
    row_id = pages.some(order.row_id)
    service.rename_run(actor=order.actor, run_id=row_id, name=order.values["name"], now=order.now, entropy=os.urandom)
    return Done(message="The run has its new name.", url=showing.run_url(row_id))


def _rename_session(order: Order) -> Done:
    row_id = pages.some(order.row_id)
    service.rename_session(
        actor=order.actor, session_id=row_id, name=order.values["name"], now=order.now, entropy=os.urandom
    )
    return Done(message="The session has its new name.", url=showing.session_url(row_id))


def _name_of_run(row: Run) -> Mapping[str, Any]:
    return {"name": naming.cut(row.name or row.goal)}


def _name_of_session(row: WorkSession) -> Mapping[str, Any]:
    return {"name": row.title}


RENAME_RUN = Act(
    slug="rename",
    label="Rename",
    question="What its agent was told as the goal stays as it was said.",
    needs=Permission.STEER_RUNS,
    run=_rename_run,
    form=RenameForm,
    initial=_name_of_run,
)
RENAME_SESSION = Act(
    slug="rename",
    label="Rename",
    question="The session keeps its runs, its ticket and its branch.",
    needs=Permission.STEER_RUNS,
    run=_rename_session,
    form=RenameForm,
    initial=_name_of_session,
)
