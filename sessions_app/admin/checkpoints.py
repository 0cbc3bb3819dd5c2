"""The Studio's inbox: questions that wait for a person, and the page on which one is answered.

Nothing acts on GET. Each button is a form of its own, and each form one call of a service.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, assert_never
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.admin import SimpleListFilter, display
from django.contrib.admin.views.main import ChangeList
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from sessions_app.admin import pages, showing
from sessions_app.engine.checkpoints import MAX_REASON_CHARACTERS, UNANSWERED, Authority, CheckpointState
from sessions_app.models import CheckpointRequest, Run
from sessions_app.selectors.checkpoints import CheckpointValue, read_checkpoint
from sessions_app.services import checkpoints
from teams_app import selectors
from teams_app.admin.pages import actor_of
from teams_app.admin.queries import Reader
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import WorkrailError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.markdown import plain_words

_ROW = "<uuid:row_id>"
_EVERY_STATE = "all"
_EXCERPT_CHARACTERS = 120
_WHOSE = {
    Authority.RELAYED: "an agent may pass on its user's answer",
    Authority.HUMAN: "only a signed-in person",
    Authority.DEFAULT: "the workflow's own default",
}


class StateFilter(SimpleListFilter):
    """Without a choice the list is the inbox."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002  Django's signature
        closed = [state for state in CheckpointState if state is not CheckpointState.OPEN]
        return [*((state.value, state.value) for state in closed), (_EVERY_STATE, "all")]

    def choices(self, changelist: Any) -> Iterator[Any]:
        first, *others = super().choices(changelist)
        yield {**first, "display": CheckpointState.OPEN.value}
        yield from others

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002  Django's signature
        if self.value() == _EVERY_STATE:
            return queryset
        return queryset.filter(state=self.value() or CheckpointState.OPEN.value)


class AuthorityFilter(SimpleListFilter):
    title = "who may answer"
    parameter_name = "authority"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002  Django's signature
        return [(Authority.HUMAN.value, "people only"), (Authority.RELAYED.value, "people and agents")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002  Django's signature
        return queryset.filter(authority=self.value()) if self.value() else queryset


class AttentionFilter(SimpleListFilter):
    title = "attention"
    parameter_name = "attention"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002  Django's signature
        return [("overdue", "overdue"), ("mine", "claimed by me"), ("unclaimed", "claimed by nobody")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        conditions = {
            "overdue": Q(due_at__lt=timezone.now(), state=CheckpointState.OPEN.value),
            "mine": Q(claimed_by=actor_of(request).id),
            "unclaimed": Q(claimed_by=""),
        }
        return queryset.filter(conditions.get(self.value() or "", Q()))


class AnswerForm(forms.Form):
    """The options are the question's own; whether one of them was chosen is the service's to say."""

    option = forms.CharField(max_length=256, strip=False, error_messages={"required": "Choose an answer."})
    digest = forms.CharField(max_length=80, strip=False)
    reason = forms.CharField(max_length=MAX_REASON_CHARACTERS, required=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What was handed in and did not count; shown again, so that nothing has to be written twice."""

    option: str = ""
    reason: str = ""


_NOTHING = Given()


class CheckpointAdmin(pages.RowStudio):
    """What is due first comes first, which is the order of the index that serves the list."""

    needs = Permission.READ_RUNS
    sortable_by = ()
    list_display = ("shown_title", "shown_question", "shown_workflow", "shown_state", "due", "claim")
    list_filter: ClassVar[tuple[type[SimpleListFilter], ...]] = (StateFilter, AuthorityFilter, AttentionFilter)
    lookups: ClassVar[Mapping[str, Reader]] = {"run_id": UUID}

    class Media:
        css: ClassVar[dict[str, list[str]]] = {"all": ["runs.css"]}

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:  # noqa: ARG002  Django's signature
        return ("due_at", "id")

    def get_urls(self) -> list[URLPattern]:
        views = {"claim": self.claim_view, "release": self.release_view, "answer": self.answer_view}
        own = [
            path(f"{_ROW}/{slug}/", self.admin_site.admin_view(view), name=f"checkpoint_{slug}")
            for slug, view in views.items()
        ]
        return [*own, *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        titles = Run.objects.filter(pk=OuterRef("run_id")).values("workflow_title")
        rows: QuerySet[Any] = super().get_queryset(request)
        annotated: QuerySet[Any] = rows.annotate(workflow_title=Subquery(titles[:1]))
        return annotated

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {**(extra_context or {}), "title": "Questions that wait for people"})

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """With the names of those who have claimed, in one query for the page."""
        found = super().get_changelist_instance(request)
        ids = {row.claimed_by for row in found.result_list if row.claimed_by}
        names = selectors.name_actors(actor=actor_of(request), ids=ids) if ids else {}
        for row in found.result_list:
            row.claimed_name = names.get(row.claimed_by, row.claimed_by)
        return found

    def show_row(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        return self._question(request, row_id)

    @method_decorator(require_POST)
    def claim_view(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        actor = actor_of(request)
        return self._act(
            request,
            row_id,
            lambda: checkpoints.claim_checkpoint(actor=actor, request_id=row_id, now=timezone.now()),
            "It is yours to answer now.",
        )

    @method_decorator(require_POST)
    def release_view(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        actor = actor_of(request)
        return self._act(
            request,
            row_id,
            lambda: checkpoints.release_checkpoint(actor=actor, request_id=row_id, now=timezone.now()),
            "Anybody may answer it now.",
        )

    @method_decorator(require_POST)
    def answer_view(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        actor, form = actor_of(request), AnswerForm(request.POST)
        given = Given(option=form["option"].data or "", reason=form["reason"].data or "")
        if not form.is_valid():
            words = " ".join(str(error) for errors in form.errors.values() for error in errors)
            return self._question(request, row_id, refusal=words, given=given)
        said = form.cleaned_data
        return self._act(
            request,
            row_id,
            lambda: checkpoints.answer_checkpoint(
                actor=actor,
                request_id=row_id,
                option_id=said["option"],
                digest=said["digest"],
                reason=said["reason"],
                now=timezone.now(),
                entropy=os.urandom,
            ),
            "The answer is recorded, and the run goes on with it.",
            given=given,
        )

    def _act(
        self,
        request: HttpRequest,
        row_id: UUID,
        act: Callable[[], CheckpointValue],
        done: str,
        *,
        given: Given = _NOTHING,
    ) -> HttpResponse:
        """A refusal is shown on the page of the question, in its own words."""
        try:
            pages.found(act)
        except WorkrailError as refusal:
            words = " ".join(filter(None, [refusal.message, refusal.suggestion]))
            return self._question(request, row_id, refusal=words, given=given)
        messages.success(request, done)
        return HttpResponseRedirect(showing.checkpoint_url(row_id))

    def _question(
        self, request: HttpRequest, row_id: UUID, *, refusal: str = "", given: Given = _NOTHING
    ) -> HttpResponse:
        actor = actor_of(request)
        value = pages.found(lambda: read_checkpoint(actor=actor, request_id=row_id))
        names = selectors.name_actors(actor=actor, ids=filter(None, [value.claimed_by, value.answered_by]))
        return pages.page(
            self,
            request,
            "admin/runs_checkpoint.html",
            title=value.title or value.checkpoint_id,
            status=400 if refusal else 200,
            value=value,
            question=showing.notes_html(value.message),
            facts=_facts(value),
            refusal=refusal,
            given=given,
            overdue=value.is_overdue(timezone.now()),
            claimed_by=names.get(value.claimed_by, value.claimed_by),
            answered=_how(value, names.get(value.answered_by, value.answered_by)),
            chosen=next((option.label for option in value.options if option.id == value.option_id), value.option_id),
            **_rights(actor, value),
        )

    @display(description="question")
    def shown_title(self, row: CheckpointRequest) -> str:
        return row.title or row.checkpoint_id

    @display(description="asks")
    def shown_question(self, row: CheckpointRequest) -> str:
        return showing.excerpt_of(plain_words(row.message), characters=_EXCERPT_CHARACTERS)

    @display(description="workflow")
    def shown_workflow(self, row: Any) -> str:
        return row.workflow_title or ""

    @display(description="state")
    def shown_state(self, row: CheckpointRequest) -> SafeString:
        is_open = row.state == CheckpointState.OPEN.value
        is_late = is_open and row.due_at is not None and row.due_at < timezone.now()
        return pages.badge("overdue" if is_late else row.state)

    @display(description="due (UTC)")
    def due(self, row: CheckpointRequest) -> str:
        return "" if row.due_at is None else f"{row.due_at:%Y-%m-%d %H:%M}"

    @display(description="claimed by")
    def claim(self, row: Any) -> str:
        return str(row.claimed_name)


def _rights(actor: Actor, value: CheckpointValue) -> dict[str, bool]:
    """What the page offers; the services decide."""
    waits = value.state in UNANSWERED and actor.may(Permission.ANSWER_CHECKPOINTS)
    return {
        "may_answer": waits and value.claimed_by in {"", actor.id},
        "may_claim": waits and not value.claimed_by,
        "may_release": waits and bool(value.claimed_by),
        "is_mine": value.claimed_by == actor.id,
        "waits": value.state in UNANSWERED,
    }


def _how(value: CheckpointValue, name: str) -> str:
    """Who answered, in which right, and by which way."""
    through = f" through {value.door}" if value.door else ""
    match value.answered_as:
        case Authority.HUMAN:
            return f"Answered by {name}{through}"
        case Authority.RELAYED:
            return f"{name} passed on its user's answer{through}"
        case Authority.DEFAULT:
            return (
                "The workflow's own default" if value.option_id else "Its condition did not hold: nobody had to answer"
            )
        case None:
            return ""
        case _:
            assert_never(value.answered_as)


def _facts(value: CheckpointValue) -> list[showing.Fact]:
    facts = [
        showing.Fact(label="Run", text=value.workflow_title, url=showing.run_url(value.run_id)),
        showing.Fact(label="Goal", text=value.goal),
        showing.Fact(label="Asked", text=showing.moment(value.presented_at)),
        showing.Fact(label="Due", text=showing.moment(value.due_at) if value.due_at else ""),
        showing.Fact(label="Who may answer", text=_WHOSE[value.authority]),
        showing.Fact(label="Through", text=value.dialect.value),
        showing.Fact(label="Checkpoint", text=value.checkpoint_id, is_code=True),
        showing.Fact(label="Id", text=to_text(Prefix.CHECKPOINT, value.id), is_code=True),
        showing.Fact(label="Digest", text=value.digest, is_code=True),
    ]
    return [fact for fact in facts if fact.text]
