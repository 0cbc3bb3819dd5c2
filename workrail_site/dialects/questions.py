"""A question of a run as a client puts it to its user: in a form, or by the address at which a signed-in person answers."""

from collections.abc import Iterator
from uuid import UUID

from django.conf import settings

from sessions_app.engine.checkpoints import Authority
from sessions_app.engine.state import Snapshot
from sessions_app.selectors.checkpoints import CheckpointValue
from teams_app.engine.ids import Prefix, to_text
from workrail_site.mcp.elicited_question import ElicitedQuestion
from workrail_site.studio_addresses import question_address


def as_question(asked: CheckpointValue) -> ElicitedQuestion | None:
    """None where only a signed-in person answers and nobody could open the page for it."""
    human = asked.authority is Authority.HUMAN
    if human and not settings.PUBLIC_URL:
        return None
    return ElicitedQuestion(
        key=to_text(Prefix.CHECKPOINT, asked.id),
        name=asked.checkpoint_id,
        title=asked.title or asked.checkpoint_id,
        message=asked.message,
        options=tuple((option.id, option.label) for option in asked.options),
        session_id=asked.session_id,
        url=question_address(asked.id) if human else "",
    )


def asked_of_persons(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """The open questions that only a signed-in person answers, each with the address of its page."""
    for question in snapshot.questions:
        if question.human:
            yield question.checkpoint, question_address(UUID(hex=question.request))
