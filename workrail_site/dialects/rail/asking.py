"""The question that a step of the rail is, put to the user by a client that can, and answered for them."""

import os
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from sessions_app.engine.approvals import ANSWER_KIND
from sessions_app.engine.checkpoints import CheckpointState
from sessions_app.engine.state import BlockerCode
from sessions_app.engine.submissions import Submission
from sessions_app.selectors.checkpoints import CheckpointValue
from sessions_app.services.moves import runs
from sessions_app.services.moves.asked import question_of_step
from workrail_site.dialects.questions import as_question
from workrail_site.dialects.rail.replies import RAIL
from workrail_site.dialects.rail.wording import render_text
from workrail_site.mcp.answers import ToolReply
from workrail_site.mcp.calling import acting
from workrail_site.mcp.elicited_question import ElicitedQuestion


class RailAsking:
    def question_in(self, reply: ToolReply, given: Mapping[str, Any]) -> tuple[ToolReply, ElicitedQuestion | None]:  # noqa: ARG002  as every dialect is asked
        if reply.value.get("ackToken") is None or "stopped" in reply.value or not _waits(reply.value):
            return reply, None
        found = _question(reply)
        return reply, None if found is None else as_question(found)

    def answered(
        self,
        reply: ToolReply,
        given: Mapping[str, Any],  # noqa: ARG002  as every dialect is asked
        question: ElicitedQuestion,
        option_id: str,
    ) -> ToolReply:
        artifact = {"kind": ANSWER_KIND, "checkpointId": question.name, "optionId": option_id}
        return _acknowledged(reply, Submission(artifacts=(artifact,)), asked_by_client=True)

    def told_again(self, reply: ToolReply, given: Mapping[str, Any], question: ElicitedQuestion) -> ToolReply:  # noqa: ARG002  as above
        """The step after the answer, when a person has given it in the meantime."""
        found = _question(reply)
        if found is None or found.state is not CheckpointState.ANSWERED:
            return reply
        return _acknowledged(reply, Submission(), asked_by_client=False)


def _acknowledged(reply: ToolReply, submission: Submission, *, asked_by_client: bool) -> ToolReply:
    told = runs.advance_run(
        actor=acting(),
        state_token=reply.value["stateToken"],
        ack_token=reply.value["ackToken"],
        submission=submission,
        asked_by_client=asked_by_client,
        now=timezone.now(),
        entropy=os.urandom,
        speech=RAIL,
    )
    return ToolReply(text=render_text(told.value, template=told.template), value=told.value)


def _waits(value: Mapping[str, Any]) -> bool:
    """For an answer, or with work that nothing but an approval is missing from."""
    blockers = value.get("blockers", ())
    if value.get("waitsForPerson") and blockers:
        return [blocker["code"] for blocker in blockers] == [BlockerCode.USER_ONLY_DEPENDENCY]
    return bool((value.get("pending") or {}).get("checkpoint"))


def _question(reply: ToolReply) -> CheckpointValue | None:
    return question_of_step(actor=acting(), state_token=reply.value["stateToken"])
