"""Checkpoints of a run whose activities are handed over, put to the user by a client that can, and answered for them.

A client is asked when the agent reads a question to show it, and when the run waits for a person's approval.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from sessions_app.engine.decisions import AnswerMode
from sessions_app.engine.handover_refusals import CheckpointNotPendingError
from sessions_app.engine.runs import Dialect
from sessions_app.engine.steering_refusals import RunCompleteError
from sessions_app.engine.stops import RunEndedError, RunPausedError
from sessions_app.selectors.checkpoints import CheckpointValue
from sessions_app.services.moves import handed_over
from sessions_app.services.moves.asked import questions_of_session
from teams_app.engine.errors import WorkrailError
from workrail_site.dialects.activities.printing import answered
from workrail_site.dialects.activities.standing import moving
from workrail_site.dialects.questions import as_question
from workrail_site.mcp.answers import ToolReply
from workrail_site.mcp.calling import acting
from workrail_site.mcp.elicited_question import ElicitedQuestion

_GO_ON = (
    "A signed-in person has answered. Call next_activity again with this session_token: tell the step anew where it was "
    "sent back, else what follows it."
)


class HandedOverAsking:
    """`without` are members of a reply that the dialect leaves out."""

    def __init__(self, dialect: Dialect, *, without: Sequence[str] = ()) -> None:
        self._dialect = dialect
        self._without = without

    def question_in(self, reply: ToolReply, given: Mapping[str, Any]) -> tuple[ToolReply, ElicitedQuestion | None]:  # noqa: ARG002  as every dialect is asked
        value = reply.value
        shown = value.get("pending") is True or ("checkpoint_handle" in value and "options" in value)
        waiting = value.get("status") == "waiting"
        if not shown and not waiting:
            return reply, None
        asked = questions_of_session(actor=acting(), session_token=value["session_token"], dialect=self._dialect)
        names = [value.get("id")] if shown else value["pending_checkpoints"]
        found = [each for each in asked if each.checkpoint_id in names]
        return reply if found or shown else self._since(reply), _question(found)

    def _since(self, reply: ToolReply) -> ToolReply:
        """What has come of the approval for which a recorded reply says that the run waits."""
        for name in reply.value["pending_checkpoints"]:
            with suppress(CheckpointNotPendingError, RunCompleteError):
                return self._respond(reply, name, "", asked_by_client=False)
        return reply

    def answered(
        self,
        reply: ToolReply,
        given: Mapping[str, Any],  # noqa: ARG002  as every dialect is asked
        question: ElicitedQuestion,
        option_id: str,
    ) -> ToolReply:
        return self._respond(reply, question.name, option_id, asked_by_client=True)

    def told_again(self, reply: ToolReply, given: Mapping[str, Any], question: ElicitedQuestion) -> ToolReply:  # noqa: ARG002  as above
        """What a person has answered in the meantime, or that they have stopped the run."""
        try:
            return self._respond(reply, question.name, "", asked_by_client=False)
        except (RunEndedError, RunPausedError):
            raise
        except WorkrailError:
            return reply

    def _respond(self, reply: ToolReply, name: str, option_id: str, *, asked_by_client: bool) -> ToolReply:
        handed = moving(
            reply.value["session_token"],
            dialect=self._dialect,
            move=lambda call: handed_over.respond_checkpoint(
                call,
                checkpoint_id=name,
                mode=AnswerMode.OPTION,
                option_id=option_id,
                asked_by_client=asked_by_client,
            ),
        )
        told = handed.reply.value
        # Nothing was passed on here that could have been lost.
        said = told if asked_by_client else {**told, "warnings": []}
        if reply.value.get("status") == "waiting":
            said = {**said, "message": _GO_ON}
        return answered(said, without=self._without)


def _question(found: Sequence[CheckpointValue]) -> ElicitedQuestion | None:
    return as_question(found[0]) if found else None
