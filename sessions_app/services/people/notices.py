"""Empties the outbox: what a transition announced becomes notices to the addresses of its team.

A notice says where to sign in and look, and nothing that acts; nothing in it comes from an agent.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Window
from django.db.models.functions import RowNumber
from django.urls import reverse

from sessions_app import jobs
from sessions_app.engine.checkpoints import Authority, CheckpointState, written_title
from sessions_app.engine.decisions import derive_id
from sessions_app.models import Announcement, CheckpointRequest, Run
from teams_app.engine.actors import NO_TEAM, Actor, ActorKind, system_actor
from teams_app.engine.errors import ForbiddenError
from teams_app.engine.fail_points import FailPoint, go_on
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.webhooks import NoticeKind, TeamWork
from teams_app.services.deliveries import queue_notice
from teams_app.services.timely import ask_once, only_one
from workflows_app.selectors.programs import load_programs

_AT_A_TIME = 100
# What is left comes after what else waits for a worker.
_MOST_OF_A_TASK = 300
_MOST_OVERDUE = 5000


def announce(*, actor: Actor, now: datetime, fail: FailPoint = go_on) -> int:
    """Returns how many announcements left the outbox. One worker is at it; what it leaves, or comes meanwhile, is asked for again."""
    _require_system(actor)
    done = 0
    with only_one(work=TeamWork.ANNOUNCEMENTS, team_id=NO_TEAM, clock=lambda: now) as is_mine:
        while is_mine and done < _MOST_OF_A_TASK:
            left = _announce_some(actor, now, fail)
            fail("announced")
            if left == 0:
                break
            done += left
    if is_mine and _is_asked_for(done):
        ask_once(work=TeamWork.ANNOUNCEMENTS, team_id=NO_TEAM, now=now, ask=jobs.ask_to_announce)
    return done


def tell_of_overdue(*, actor: Actor, now: datetime) -> int:
    """Announce the questions that are due since the last time; returns how many."""
    _require_system(actor)
    with transaction.atomic(durable=True):
        late = CheckpointRequest.objects.filter(
            state=CheckpointState.OPEN.value,
            authority=Authority.HUMAN.value,
            due_at__lt=now,
            overdue_told_at__isnull=True,
        )
        rows = list(late.select_for_update(skip_locked=True).order_by("due_at", "id")[:_MOST_OVERDUE])
        Announcement.objects.bulk_create(
            (
                Announcement(
                    id=derive_id("notice", row.pk.bytes, NoticeKind.CHECKPOINT_OVERDUE.value.encode()),
                    team_id=row.team_id,
                    session_id=row.session_id,
                    run_id=row.run_id,
                    request_id=row.pk,
                    kind=NoticeKind.CHECKPOINT_OVERDUE.value,
                    at=now,
                )
                for row in rows
            ),
            ignore_conflicts=True,
        )
        CheckpointRequest.objects.filter(pk__in=[row.pk for row in rows]).update(overdue_told_at=now)
    return len(rows)


def _is_asked_for(done: int) -> bool:
    """Beyond what a task does, or by a question that came at the end, whose own task found this one at it."""
    left = Announcement.objects.all()
    return (left if done >= _MOST_OF_A_TASK else left.filter(kind=NoticeKind.CHECKPOINT_ASKED.value)).exists()


def _announce_some(actor: Actor, now: datetime, fail: FailPoint) -> int:
    with transaction.atomic(durable=True):
        free = Announcement.objects.filter(pk__in=_first_of_each_team()).select_for_update(skip_locked=True)
        rows = list(free.order_by("at", "id"))
        for row in rows:
            fail("taken")
            _queue(actor, row, now)
        fail("queued")
        Announcement.objects.filter(pk__in=[row.pk for row in rows]).delete()
        fail("taken out")
    return len(rows)


def _first_of_each_team() -> list[UUID]:
    """Then the second of each: a team that has many keeps no other waiting."""
    place = Window(RowNumber(), partition_by="team_id", order_by=["at", "id"])
    turns = Announcement.objects.annotate(place=place).order_by("place", "at", "id")
    return list(turns.values_list("pk", flat=True)[:_AT_A_TIME])


def _queue(actor: Actor, row: Announcement, now: datetime) -> None:
    body = _notice(row)
    if body is None:
        return
    of_team = system_actor(team_id=row.team_id, door=actor.door)
    queued = queue_notice(actor=of_team, notice_id=row.pk, kind=NoticeKind(row.kind), body=body, now=now)
    if queued and row.request_id is not None and row.kind == NoticeKind.CHECKPOINT_ASKED.value:
        CheckpointRequest.objects.filter(pk=row.request_id).update(announced_at=now)


def _notice(row: Announcement) -> dict[str, Any] | None:
    """None for what is no news any more: a question that was answered meanwhile, a run that is deleted."""
    run = Run.objects.filter(session_id=row.session_id, pk=row.run_id or row.session_id).order_by("pk").first()
    if run is None:
        return None
    about = {
        "team": to_text(Prefix.TEAM, row.team_id),
        "run": to_text(Prefix.RUN, run.pk),
        "session": to_text(Prefix.SESSION, row.session_id),
        "workflow": run.workflow_id,
        "at": row.at,
    }
    if row.request_id is None:
        link = f"{settings.PUBLIC_URL}{reverse('admin:sessions_app_run_change', args=(run.pk,))}"
        return {"text": f"{_words(row)} {run.workflow_id}: {link}", "link": link, **about, "status": run.status}
    question = CheckpointRequest.objects.filter(pk=row.request_id).order_by("pk").first()
    if question is None or not _is_news(row, question):
        return None
    link = f"{settings.PUBLIC_URL}{reverse('admin:sessions_app_checkpointrequest_change', args=(question.pk,))}"
    return {
        "text": f"{_words(row)}: {link}",
        "link": link,
        **about,
        "checkpoint": to_text(Prefix.CHECKPOINT, question.pk),
        "title": _title(run, question),
        "askedAt": question.presented_at,
        "dueAt": question.due_at,
    }


def _title(run: Run, question: CheckpointRequest) -> str:
    """Not as it is shown: values of the run are in that."""
    program = load_programs([run.workflow_hash]).get(run.workflow_hash)
    if program is None:
        return ""
    return written_title(program=program, checkpoint_id=question.checkpoint_id, instance=question.instance_key)


def _is_news(row: Announcement, question: CheckpointRequest) -> bool:
    is_open = question.state == CheckpointState.OPEN.value
    return is_open or row.kind == NoticeKind.CHECKPOINT_ANSWERED.value


_WORDS = {
    NoticeKind.RUN_STARTED: "A run has begun in Workrail:",
    NoticeKind.RUN_WAITING: "A run waits for a person in Workrail:",
    NoticeKind.RUN_BLOCKED: "A run is blocked in Workrail:",
    NoticeKind.RUN_PAUSED: "A run is paused in Workrail:",
    NoticeKind.RUN_COMPLETED: "A run is complete in Workrail:",
    NoticeKind.RUN_REJECTED: "A run was rejected in Workrail:",
    NoticeKind.RUN_CANCELLED: "A run was cancelled in Workrail:",
    NoticeKind.CHECKPOINT_ASKED: "A question waits for a person in Workrail",
    NoticeKind.CHECKPOINT_OVERDUE: "A question is overdue in Workrail",
    NoticeKind.CHECKPOINT_ANSWERED: "A question was answered in Workrail",
    NoticeKind.SESSION_EXPIRING: "A session expires soon in Workrail:",
}


def _words(row: Announcement) -> str:
    return _WORDS[NoticeKind(row.kind)]


def _require_system(actor: Actor) -> None:
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError("Notices are sent by the server.", suggestion="There is nothing to do.")
