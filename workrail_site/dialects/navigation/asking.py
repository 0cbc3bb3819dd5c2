"""The checkpoint at which a steered run waits, put to the user by a client that can, and answered for them."""

import os
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from sessions_app.engine.actions import RespondToCheckpoint
from sessions_app.services.moves import steered
from sessions_app.services.moves.asked import questions_at_state
from workrail_site.dialects.navigation.printing import told
from workrail_site.dialects.navigation.situations import NAVIGATION
from workrail_site.dialects.questions import as_question
from workrail_site.mcp.answers import ToolReply
from workrail_site.mcp.calling import acting
from workrail_site.mcp.elicited_question import ElicitedQuestion


class NavigationAsking:
    def question_in(self, reply: ToolReply, given: Mapping[str, Any]) -> tuple[ToolReply, ElicitedQuestion | None]:
        """Of a reply that tells a checkpoint, or that nothing can be done before a person has approved. A reply that was
        recorded may tell one that a person has answered since.
        """
        if not _waits(reply.value):
            return reply, None
        asked = questions_at_state(actor=acting(), state_token=_state(reply, given))
        if not asked and "state" in reply.value:
            return self._situation(reply, given), None
        return reply, as_question(asked[0]) if asked else None

    def answered(
        self, reply: ToolReply, given: Mapping[str, Any], question: ElicitedQuestion, option_id: str
    ) -> ToolReply:
        moved = steered.steer_run(
            actor=acting(),
            state_token=_state(reply, given),
            action=RespondToCheckpoint(checkpoint_id=question.name, option_id=option_id),
            asked_by_client=True,
            now=timezone.now(),
            entropy=os.urandom,
            speech=NAVIGATION,
        )
        return told(moved.value)

    def told_again(self, reply: ToolReply, given: Mapping[str, Any], question: ElicitedQuestion) -> ToolReply:  # noqa: ARG002  as every dialect is asked
        """The situation after the answer, when a person has given it in the meantime."""
        situation = self._situation(reply, given)
        return reply if _waits(situation.value) else situation

    def _situation(self, reply: ToolReply, given: Mapping[str, Any]) -> ToolReply:
        moved = steered.tell_situation(actor=acting(), state_token=_state(reply, given), speech=NAVIGATION)
        return told(moved.value)


def _state(reply: ToolReply, given: Mapping[str, Any]) -> str:
    return str(reply.value.get("state") or given.get("state", ""))


def _waits(value: Mapping[str, Any]) -> bool:
    if value.get("checkpoint") is not None:
        return True
    offered = value.get("availableActions") or {}
    return bool(offered.get("blocked")) and not offered.get("required") and not offered.get("optional")
