"""The Studio's inbox: questions that wait for a person, and the page on which one is answered."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from sessions_app.admin import artifacts, naming, pages, question, showing, states
from sessions_app.engine.checkpoints import MAX_REASON_CHARACTERS, CheckpointState
from sessions_app.selectors import inbox
from sessions_app.selectors.checkpoints import read_checkpoint
from sessions_app.selectors.evidence import read_evidence
from sessions_app.selectors.inbox import InboxCounts, InboxRow, InboxView
from sessions_app.services.people import checkpoints
from teams_app import selectors
from teams_app.admin.diffs import Diff
from teams_app.admin.pages import Act, Done, Order, Refused, actor_of
from teams_app.admin.parts import Crumb, State, Tab
from teams_app.admin.queries import Reader
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.pages import PageRequest

_PER_PAGE = 50
_NEXT_SHOWN = 2
_TABS = {
    InboxView.OPEN: "Open",
    InboxView.MINE: "For me",
    InboxView.CLAIMED: "Claimed",
    InboxView.ANSWERED: "Answered",
    InboxView.ALL: "All",
}


class AnswerForm(forms.Form):
    """The options are the question's own; whether one of them was chosen is the service's to say."""

    option = forms.CharField(max_length=256, strip=False, error_messages={"required": "Choose an answer."})
    digest = forms.CharField(max_length=80, strip=False)
    reason = forms.CharField(max_length=MAX_REASON_CHARACTERS, required=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFiles:
    """What the diffs of a question come to."""

    files: int
    added: int
    removed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRow:
    row: InboxRow
    name: str
    url: str
    sub: str
    state: State
    is_late: bool
    is_taken: bool
    claimed_by: str
    sent_back_by: str
    chosen: str
    answered_by: str
    changed: ChangedFiles | None
    documents: int
    own_answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxGroup:
    """Without a title the rows stand by themselves."""

    title: str
    rows: tuple[ShownRow, ...]

    @property
    def count(self) -> int:
        return len(self.rows)


def _claim(order: Order) -> Done:
    checkpoints.claim_checkpoint(actor=order.actor, request_id=_row_id(order), now=order.now)
    return Done(message="It is yours to answer now.", url=showing.checkpoint_url(_row_id(order)))


def _release(order: Order) -> Done:
    checkpoints.release_checkpoint(actor=order.actor, request_id=_row_id(order), now=order.now)
    return Done(message="Anybody may answer it now.", url=showing.checkpoint_url(_row_id(order)))


def _answer(order: Order) -> Done:
    """Leads to the question that comes next in the inbox, if one waits."""
    ids = inbox.walk_ids(actor=order.actor)
    value = checkpoints.answer_checkpoint(
        actor=order.actor,
        request_id=_row_id(order),
        option_id=order.values["option"],
        digest=order.values["digest"],
        reason=order.values["reason"],
        now=order.now,
        entropy=os.urandom,
    )
    said = states.question_state(state=CheckpointState.ANSWERED, option_id=value.option_id).word
    _, following, _ = question.next_of(ids, value.id)
    others = [each for each in ids if each != value.id]
    following = following or (others[0] if others else None)
    if following is None:
        return Done(message=f"{said}. No other question waits.", url=showing.checkpoint_url(value.id))
    return Done(message=f"{said}. This is the next question.", url=showing.checkpoint_url(following))


CLAIM = Act(slug="claim", label="Claim", needs=Permission.ANSWER_CHECKPOINTS, run=_claim, asks=False)
RELEASE = Act(slug="release", label="Release", needs=Permission.ANSWER_CHECKPOINTS, run=_release, asks=False)
ANSWER = Act(
    slug="answer",
    label="Answer",
    needs=Permission.ANSWER_CHECKPOINTS,
    run=_answer,
    form=AnswerForm,
    asks=False,
)


class CheckpointAdmin(pages.RowStudio):
    """What is due first comes first, which is the order of the index that serves the list."""

    needs = Permission.READ_RUNS
    acts: ClassVar[tuple[Act, ...]] = (CLAIM, RELEASE, ANSWER)
    lookups: ClassVar[Mapping[str, Reader]] = {"view": InboxView, "run_id": UUID, "after": str}

    def list_crumb(self) -> Crumb:
        return Crumb(label="Inbox", url=self.list_url())

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:  # noqa: ARG002  Django's signature
        self.take_declared(request)
        actor = actor_of(request)
        now = timezone.now()
        view = InboxView(request.GET.get("view", InboxView.OPEN))
        run_id = pages.id_in(request, "run_id")
        counts = inbox.count_inbox(actor=actor, now=now)
        found = pages.from_position(
            request,
            lambda after: inbox.list_inbox(
                actor=actor, view=view, page=PageRequest(after=after, limit=_PER_PAGE), run_id=run_id
            ),
        )
        rows = shown_rows(actor, found.items, now)
        first = next((row for row in rows if row.row.value.state is CheckpointState.OPEN and not row.is_taken), None)
        return pages.page(
            self,
            request,
            "studio/inbox.html",
            live_team=True,
            title="Inbox",
            crumbs=[],
            subtitle="Questions that agents cannot go on without",
            counts=counts,
            tabs=_tabs(view, counts),
            groups=_groups(view, rows, now),
            first_url=first.url if first and actor.may(Permission.ANSWER_CHECKPOINTS) else "",
            following=pages.position_url(request, found.next_position),
            is_later=bool(request.GET.get("after")),
            view=view.value,
            of_run=run_id is not None,
        )

    def show_row(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        return self._question(request, row_id)

    def refused(self, request: HttpRequest, act: Act, row_id: UUID | None, refused: Refused) -> HttpResponse:  # noqa: ARG002  it stands on one page, whichever it is
        return self._question(request, pages.some(row_id), refused=refused)

    def _question(self, request: HttpRequest, row_id: UUID, *, refused: Refused | None = None) -> HttpResponse:
        actor = actor_of(request)
        now = timezone.now()
        value = pages.found(lambda: read_checkpoint(actor=actor, request_id=row_id))
        evidence = read_evidence(actor=actor, question=value)
        names = selectors.name_actors(actor=actor, ids=question.asked_ids(value, evidence))
        ids = inbox.walk_ids(actor=actor)
        newer, older, place = question.next_of(ids, value.id)
        following = ids[place : place + _NEXT_SHOWN] if place else ids[:_NEXT_SHOWN]
        shown = question.context_of(actor=actor, value=value, evidence=evidence, names=names, now=now, refused=refused)
        return pages.page(
            self,
            request,
            "studio/question.html",
            live_run=value.run_id,
            title=naming.question_name(value),
            status=400 if refused else 200,
            refusal=refused.words if refused else "",
            walk={
                "at": place,
                "of": len(ids),
                "newer": showing.checkpoint_url(newer) if newer else "",
                "older": showing.checkpoint_url(older) if older else "",
            }
            if place
            else None,
            following=shown_rows(actor, inbox.rows_of(actor=actor, ids=following), now) if following else [],
            following_url=showing.checkpoint_url(older) if older else "",
            answer_url=self.act_url(ANSWER, row_id),
            claim_url=self.act_url(CLAIM, row_id),
            release_url=self.act_url(RELEASE, row_id),
            inbox_url=self.list_url(),
            **shown,
        )


def _row_id(order: Order) -> UUID:
    return pages.some(order.row_id)


def _tabs(here: InboxView, counts: InboxCounts) -> list[Tab]:
    counted = {InboxView.OPEN: counts.open, InboxView.MINE: counts.mine, InboxView.CLAIMED: counts.claimed}
    return [
        Tab(
            label=label,
            url=f"?view={view.value}",
            is_here=view is here,
            count=counted.get(view),
            is_urgent=view is InboxView.OPEN and bool(counts.open),
        )
        for view, label in _TABS.items()
    ]


def shown_rows(actor: Actor, rows: Iterable[InboxRow], now: datetime) -> list[ShownRow]:
    """With the names of all who stand in the rows, in two queries."""
    found = list(rows)
    ids = {text for row in found for text in people_in(row)}
    names = selectors.name_actors(actor=actor, ids=ids) if ids else {}
    return [shown_row(actor, row, names, now) for row in found]


def people_in(row: InboxRow) -> set[str]:
    """Whose names the row shows."""
    return {row.started_by, row.value.claimed_by, row.value.answered_by, row.sent_back_by} - {""}


def shown_row(actor: Actor, row: InboxRow, names: Mapping[str, str], now: datetime) -> ShownRow:
    value = row.value
    is_taken = value.claimed_by not in {"", actor.id}
    run = naming.run_name(goal=value.goal, name=value.run_name, session_title=row.session_title, workflow_title="")
    # One that is cut would be counted wrong; it is a document among others.
    diffs = [diff for diff in artifacts.diffs_in(row.diffs) if diff.files and not diff.is_cut]
    told = [f"{row.ticket} {run}".strip(), value.workflow_title, names.get(row.started_by, "")]
    return ShownRow(
        row=row,
        name=naming.question_name(value),
        url=showing.checkpoint_url(value.id),
        sub=" · ".join(filter(None, told)),
        state=states.question_state(
            state=value.state,
            option_id=value.option_id,
            is_overdue=value.is_overdue(now),
            is_claimed_by_another=is_taken,
        ),
        is_late=value.is_overdue(now),
        is_taken=is_taken,
        claimed_by="you" if value.claimed_by == actor.id else names.get(value.claimed_by, value.claimed_by),
        sent_back_by="you" if row.sent_back_by == actor.id else names.get(row.sent_back_by, row.sent_back_by),
        chosen=naming.option_label(value),
        answered_by="you" if value.answered_by == actor.id else names.get(value.answered_by, value.answered_by),
        changed=_changed(diffs),
        documents=row.with_it - len(diffs),
        own_answers=0 if any(option.id == states.APPROVE for option in value.options) else len(value.options),
    )


def _changed(diffs: Sequence[Diff]) -> ChangedFiles | None:
    if not diffs:
        return None
    return ChangedFiles(
        files=len({file.path for diff in diffs for file in diff.files}),
        added=sum(diff.added for diff in diffs),
        removed=sum(diff.removed for diff in diffs),
    )


def _groups(view: InboxView, rows: list[ShownRow], now: datetime) -> list[InboxGroup]:
    if view in {InboxView.ANSWERED, InboxView.ALL}:
        return [InboxGroup(title="", rows=tuple(rows))] if rows else []
    tonight = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    titles: dict[str, list[ShownRow]] = {"Overdue": [], "Due today": [], "Due later": [], "No date": []}
    for row in rows:
        titles[_due_group(row, tonight)].append(row)
    return [InboxGroup(title=title, rows=tuple(found)) for title, found in titles.items() if found]


def _due_group(row: ShownRow, tonight: datetime) -> str:
    due = row.row.value.due_at
    if due is None:
        return "No date"
    if row.is_late:
        return "Overdue"
    return "Due today" if due < tonight else "Due later"
