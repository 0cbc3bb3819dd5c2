"""The Studio's pages of how long sessions are kept: rules, holds, and deletion for privacy."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django import forms
from django.contrib.admin import display
from django.db.models import Model
from django.http import HttpRequest

from sessions_app.admin import pages, showing
from sessions_app.admin.bulk import RowsField, each_row
from sessions_app.engine.expiry import MAX_IDLE_DAYS, ExpiryRule
from sessions_app.models import Retention
from sessions_app.selectors.heads import session_of_run
from sessions_app.services.expiry import deletion, retention
from teams_app import selectors
from teams_app.admin.pages import Act, Done, Order, StudioAdmin, actor_of
from teams_app.engine.actors import Permission


class HoldForm(forms.Form):
    reason = forms.CharField(max_length=deletion.MAX_REASON_CHARACTERS)


class RowsHoldForm(HoldForm):
    rows = RowsField(required=False)


class RuleForm(forms.Form):
    workflow = forms.CharField(max_length=128, required=False, help_text="The id of a workflow. Empty: all sessions.")
    idle_days = forms.IntegerField(
        min_value=1, max_value=MAX_IDLE_DAYS, required=False, label="Days", help_text="Empty: for ever."
    )
    archives = forms.BooleanField(required=False, help_text="A bundle is made before a session is deleted.")


class WorkflowRetentionForm(forms.Form):
    workflow = forms.CharField(max_length=128, required=False, widget=forms.HiddenInput)


def _hold(order: Order) -> Done:
    session_id = pages.some(order.row_id)
    _hold_one(order, session_id)
    return Done(message="The session is held.", url=showing.session_url(session_id))


def _let_go(order: Order) -> Done:
    session_id = pages.some(order.row_id)
    retention.let_go(actor=order.actor, session_id=session_id, now=order.now)
    return Done(message="The session is held no more.", url=showing.session_url(session_id))


def _hold_each(order: Order) -> Done:
    return each_row(order, lambda row_id: _hold_one(order, row_id), noun="session", done="held")


def _hold_each_of_runs(order: Order) -> Done:
    """Sessions are held, and with them all their runs."""
    return each_row(
        order,
        lambda row_id: _hold_one(order, session_of_run(actor=order.actor, run_id=row_id)),
        noun="run",
        done="held with its session" if len(order.values["rows"]) == 1 else "held with their sessions",
    )


def _hold_one(order: Order, session_id: UUID) -> None:
    reason = order.values["reason"]
    retention.hold_session(actor=order.actor, session_id=session_id, reason=reason, now=order.now)


def _delete(order: Order) -> Done:
    session_id, reason = pages.some(order.row_id), order.values["reason"]
    gone = deletion.delete_session(actor=order.actor, session_id=session_id, reason=reason, now=order.now)
    return Done(message=f"Deleted: {len(gone)} session{'s' if len(gone) > 1 else ''}.")


def _set_rule(order: Order) -> Done:
    rule = ExpiryRule(idle_days=order.values["idle_days"], archives=order.values["archives"])
    workflow_id = order.values["workflow"].strip()
    retention.set_retention(actor=order.actor, workflow_id=workflow_id, rule=rule, now=order.now)
    return Done(message="The rule holds from now on.")


def _remove_rule(order: Order) -> Done:
    retention.remove_retention(actor=order.actor, workflow_id=order.values["workflow"], now=order.now)
    return Done(message="The rule was removed.")


HOLD_SESSION = Act(
    slug="hold",
    label="Hold",
    question="Nothing deletes the session until somebody lets it go.",
    needs=Permission.STEER_RUNS,
    run=_hold,
    form=HoldForm,
)
HOLD_SESSIONS = Act(
    slug="hold-rows",
    label="Hold",
    question="Nothing deletes the sessions until somebody lets them go.",
    needs=Permission.STEER_RUNS,
    run=_hold_each,
    form=RowsHoldForm,
    on_row=False,
    is_bulk=True,
)
HOLD_RUNS = replace(HOLD_SESSIONS, label="Hold from expiry", run=_hold_each_of_runs)
LET_GO = Act(
    slug="let-go",
    label="Let go",
    question="The session goes when its time is over.",
    needs=Permission.STEER_RUNS,
    run=_let_go,
)
DELETE_SESSION = Act(
    slug="delete-for-good",
    label="Delete for good",
    question=(
        "The session and what its runs triggered are deleted with their notes, exports, archives and traces. It cannot be "
        "undone. The audit log keeps that it was there, and your reason."
    ),
    needs=Permission.MANAGE_TEAM,
    run=_delete,
    form=HoldForm,
    is_stop=True,
)
SET_RULE = Act(
    slug="set",
    label="Set a rule",
    question="Sessions that nobody has worked in for so long are deleted. Unfinished work is told of a week before.",
    needs=Permission.MANAGE_TEAM,
    run=_set_rule,
    form=RuleForm,
    on_row=False,
    is_main=True,
)
REMOVE_RULE = Act(
    slug="remove",
    label="Remove",
    question="The rule for all sessions, or that of the server, holds instead.",
    needs=Permission.MANAGE_TEAM,
    run=_remove_rule,
    form=WorkflowRetentionForm,
    initial=lambda row: {"workflow": row.workflow_id},
    is_stop=True,
)


class RetentionAdmin(StudioAdmin):
    needs = Permission.READ_TEAM
    acts = (SET_RULE, REMOVE_RULE)
    list_display = ("shown_workflow", "shown_days", "archives", "changed_at")
    fields = ("shown_workflow", "shown_days", "archives", "changed_by", "changed_at")
    sortable_by = ()

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        row = super().get_object(request, object_id, from_field)
        if row is not None:
            names = selectors.name_actors(actor=actor_of(request), ids=[row.changed_by])
            row.changed_by = names.get(row.changed_by, "somebody who has left")
        return row

    def row_name(self, request: HttpRequest, row: Model) -> str:
        return f"Sessions {self.shown_workflow(row)}" if isinstance(row, Retention) else super().row_name(request, row)

    @display(description="sessions")
    def shown_workflow(self, row: Retention) -> str:
        return f"with runs of {row.workflow_id}" if row.workflow_id else "all"

    @display(description="kept")
    def shown_days(self, row: Retention) -> str:
        return "for ever" if row.idle_days is None else f"{row.idle_days} days after the last activity"
