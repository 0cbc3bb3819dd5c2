"""Writes a transition with all that belongs to it: the audit entry of a person's answer, and notices of new questions."""

from collections.abc import Sequence

from django.db import transaction

from sessions_app import jobs
from sessions_app.engine.checkpoints import Authority, CheckpointClaimedError, Closing
from sessions_app.models import CheckpointRequest
from sessions_app.services.store import hot_write
from sessions_app.services.store.appends import Append
from teams_app.engine.actors import Actor
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.webhooks import NoticeKind
from teams_app.services.audit import record_audit
from workflows_app.selectors.asked import asked


@asked
def write(*, actor: Actor, plans: Sequence[Append]) -> bool:
    """All of them or none: False when another writer was first and nothing was written.

    A person's answer is refused where somebody else has claimed the question, whichever way it came.
    """
    if len(plans) == 1:
        return _written(actor, plans[0])
    with transaction.atomic(durable=True):
        written = all(_written(actor, plan) for plan in plans)
        if not written:
            transaction.set_rollback(True)
    return written


def _written(actor: Actor, plan: Append) -> bool:
    answers = [closing for closing in plan.closings if closing.authority is Authority.HUMAN]
    written = _answer(actor, plan, answers) if answers or plan.audited else hot_write.append(plan)
    if written and any(told.kind is NoticeKind.CHECKPOINT_ASKED for told in plan.announcements):
        # People wait for these. All others are found by the schedule within seconds, and cost the agent nothing.
        jobs.ask_to_announce()
    return written


def _answer(actor: Actor, plan: Append, answers: list[Closing]) -> bool:
    # Not durable: a transition of two runs is a transaction of its caller's.
    with transaction.atomic():
        written = hot_write.append(plan)
        if written:
            for closing in answers:
                _account_for(actor, plan, closing)
            for action, target in plan.audited:
                record_audit(actor=actor, action=action, target=target, now=plan.now)
    return written


def _account_for(actor: Actor, plan: Append, closing: Closing) -> None:
    # The write has locked the question: a claim was made before it, and is seen here, or finds an answer.
    row = CheckpointRequest.objects.filter(pk=closing.request, team_id=plan.team_id).order_by("pk").first()
    if row is not None and row.to_node_id == plan.closed_by and row.claimed_by not in {"", actor.id}:
        raise claimed_error(claimed_by=row.claimed_by)
    record_audit(
        actor=actor,
        action="checkpoint.answered",
        target=to_text(Prefix.CHECKPOINT, closing.request),
        now=plan.now,
        details={"option": closing.option, "digest": row.digest if row else ""},
    )


def claimed_error(*, claimed_by: str) -> CheckpointClaimedError:
    return CheckpointClaimedError(
        f"{claimed_by} has claimed the checkpoint.",
        suggestion="Let them answer it, or release the claim first.",
        details={"claimedBy": claimed_by},
    )
