"""The page of a workflow with what its runs say of it, and the act that begins one."""

import os
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from sessions_app.admin.places import ShownPlaces, places_of
from sessions_app.engine.runs import Dialect
from sessions_app.selectors.workflow_runs import StepFacts, WorkflowRuns, read_workflow_runs
from sessions_app.services.moves.beginning import Beginning, start_run
from sessions_app.services.moves.speech import house_speech
from teams_app.admin.pages import Act, Done, Order, Secret, actor_of
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.counting import counted
from teams_app.engine.times import exact_words
from workflows_app.admin.workflows import WorkflowAdmin
from workflows_app.selectors.programs import load_program

_OFTEN_BLOCKED_PERCENT = 25
_LEAST_ATTEMPTS = 4
_GOAL_CHARACTERS = 2_000


class StartForm(forms.Form):
    workflow = forms.CharField(max_length=64, widget=forms.HiddenInput)
    goal = forms.CharField(
        max_length=_GOAL_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="What is to come of it, in a sentence or two. The run is found by it.",
    )


def _start(order: Order) -> Done:
    reply = start_run(
        actor=order.actor,
        beginning=Beginning(workflow_id=order.values["workflow"], goal=order.values["goal"], dialect=Dialect.RAIL),
        now=order.now,
        entropy=os.urandom,
        speech=house_speech(),
    )
    hint = (
        "Say this to an agent that is connected to Workrail. It is told the first step with it, and goes on from there. "
        "The run waits until one does."
    )
    said = f"Go on with the Workrail run: call continue_workflow with stateToken {reply.value['stateToken']}"
    return Done(
        message="The run has begun.",
        secret=Secret(label="Hand it to an agent", text=said, hint=hint),
        url=reverse("admin:sessions_app_run_changelist"),
    )


def _may_start(actor: Actor, row: Any) -> bool:
    return row.published_id is not None and row.kind == "workflow" and actor.may(Permission.DRIVE_RUNS)


START = Act(
    slug="start",
    label="Start a run",
    question="The run begins with the published revision. You get words to hand to an agent, which does the steps.",
    needs=Permission.DRIVE_RUNS,
    run=_start,
    form=StartForm,
    initial=lambda row: {"workflow": row.workflow_id},
    offered=_may_start,
)


class RunningWorkflowAdmin(WorkflowAdmin):
    acts: ClassVar[tuple[Act, ...]] = (*WorkflowAdmin.acts, START)

    def beside(self, request: HttpRequest, row: Any) -> Mapping[str, Any]:
        actor = actor_of(request)
        if not actor.may(Permission.READ_RUNS):
            return {}
        told = read_workflow_runs(actor=actor, workflow_id=row.workflow_id)
        named_by = row.published.program_id if row.published else None
        places = places_of(program=load_program(named_by), state=None) if named_by else ShownPlaces()
        return {
            "seen": told.steps,
            "run_count": told.total,
            "facts": _facts(told),
            "running": _running(row, told),
            "running_count": sum(told.running.values()),
            "runs_url": _runs_url(row.workflow_id),
            "worth": [*_stuck(told, places), *_worth(told.steps, places)],
        }

    def _page(self, request: HttpRequest, act: Act, form: forms.Form, row: Any) -> HttpResponse:
        """Publishing says whom it touches."""
        response = super()._page(request, act, form, row)
        actor = actor_of(request)
        if isinstance(response, TemplateResponse) and act.slug == "publish" and actor.may(Permission.READ_RUNS):
            told = read_workflow_runs(actor=actor, workflow_id=row.workflow_id)
            response.context_data = {**(response.context_data or {}), "on_the_way": sum(told.running.values())}
        return response


def _running(row: Any, told: WorkflowRuns) -> list[dict[str, Any]]:
    numbers = dict(
        row.revisions.filter(program_id__in=told.running).order_by("number").values_list("program_id", "number")
    )
    published = row.published.number if row.published else None
    compare = reverse("admin:workflows_app_workflow_compare", args=(row.pk,))
    found = [
        {
            "number": numbers.get(workflow_hash),
            "count": count,
            "is_published": numbers.get(workflow_hash) == published,
            "url": _runs_url(row.workflow_id),
            "compare": f"{compare}?{urlencode({'base': numbers.get(workflow_hash, 0), 'revision': published or 0})}",
        }
        for workflow_hash, count in told.running.items()
    ]
    return sorted(found, key=lambda each: -(each["number"] or 0))


def _facts(told: WorkflowRuns) -> list[tuple[str, str]]:
    """How its newest runs ended, and how long half of those that are done took."""
    if not told.ended:
        return []
    share = round(100 * told.done / told.ended)
    took = [("Half take", exact_words(told.median_s))] if told.median_s is not None else []
    return [("Ended", f"{told.ended:,}"), ("Done", f"{told.done:,} ({share} %)"), *took]


def _stuck(told: WorkflowRuns, places: ShownPlaces) -> list[dict[str, str]]:
    return [
        {
            "title": f"{counted(count, 'run')} stuck at “{places.title(item_id)}”.",
            "words": "The last attempt there was blocked.",
        }
        for item_id, count in sorted(told.stuck.items(), key=lambda each: -each[1])[:3]
        if item_id
    ]


def _runs_url(workflow_id: str) -> str:
    return f"{reverse('admin:sessions_app_run_changelist')}?{urlencode({'q': f'workflow:{workflow_id}'})}"


def _worth(steps: Mapping[str, StepFacts], places: ShownPlaces) -> list[dict[str, str]]:
    often = [
        (item_id, facts)
        for item_id, facts in steps.items()
        if facts.percent >= _OFTEN_BLOCKED_PERCENT and facts.attempts >= _LEAST_ATTEMPTS
    ]
    return [
        {
            "title": f"Attempts are often blocked at “{places.title(item_id)}”.",
            "words": f"{facts.blocked} of {facts.attempts}. Its prompt may not say clearly what the notes must hold.",
        }
        for item_id, facts in sorted(often, key=lambda each: -each[1].percent)[:3]
    ]
