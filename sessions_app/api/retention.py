"""How long sessions are kept, by REST: rules, holds, and deletion for privacy."""

from typing import Annotated

import msgspec
from rest_framework.views import APIView

from sessions_app.api.answers import Moment
from sessions_app.engine.expiry import MAX_IDLE_DAYS, ExpiryRule
from sessions_app.selectors import retention as retention_read
from sessions_app.services.expiry import deletion, retention
from teams_app.api.endpoints import Call, Shape, operation, read_id
from teams_app.engine.errors import NotFoundError
from teams_app.engine.ids import Prefix, to_text

Reason = Annotated[str, msgspec.Meta(min_length=1, max_length=deletion.MAX_REASON_CHARACTERS)]
WorkflowId = Annotated[str, msgspec.Meta(max_length=128)]
Days = Annotated[int, msgspec.Meta(ge=1, le=MAX_IDLE_DAYS)]


class RuleBody(Shape, frozen=True):
    """Without `idleDays` sessions are kept for ever; without `workflow` the rule is for all."""

    workflow: WorkflowId = ""
    idle_days: Days | None = None
    archives: bool = False


class RuleQuery(Shape, frozen=True):
    workflow: WorkflowId = ""


class ReasonBody(Shape, frozen=True):
    reason: Reason


class RuleAnswer(Shape, frozen=True):
    """`idleDays` null is for ever; an empty `workflow` is all of them."""

    workflow: str
    idle_days: int | None
    archives: bool

    @staticmethod
    def of(workflow_id: str, rule: ExpiryRule) -> "RuleAnswer":
        return RuleAnswer(workflow=workflow_id, idle_days=rule.idle_days, archives=rule.archives)


class RulesAnswer(Shape, frozen=True):
    items: list[RuleAnswer]


class HoldAnswer(Shape, frozen=True):
    reason: str
    held_by: str
    held_at: Moment


class DeletedAnswer(Shape, frozen=True):
    """The sessions that are gone: the one that was named, and those of runs that it triggered."""

    sessions: list[str]


class RetentionView(APIView):
    @operation(summary="How long sessions are kept: the rule for all first, then those of workflows")
    def get(self, *, call: Call) -> RulesAnswer:
        rules = retention_read.read_retention(actor=call.actor)
        named = [RuleAnswer.of(name, rule) for name, rule in sorted(rules.of_workflows.items())]
        return RulesAnswer(items=[RuleAnswer.of("", rules.of_team), *named])

    @operation(summary="Set how long sessions are kept. For owners")
    def put(self, *, call: Call, body: RuleBody) -> RuleAnswer:
        rule = ExpiryRule(idle_days=body.idle_days, archives=body.archives)
        named = retention.set_retention(actor=call.actor, workflow_id=body.workflow, rule=rule, now=call.now)
        return RuleAnswer.of(named, rule)

    @operation(summary="Remove a rule: the team's, or the server's, holds instead. For owners", status=204)
    def delete(self, *, call: Call, query: RuleQuery) -> None:
        retention.remove_retention(actor=call.actor, workflow_id=query.workflow, now=call.now)


class HoldView(APIView):
    @operation(summary="Who holds the session, and why")
    def get(self, *, call: Call, session: str) -> HoldAnswer:
        session_id = read_id(prefix=Prefix.SESSION, text=session)
        found = retention_read.find_hold(actor=call.actor, session_id=session_id)
        if found is None:
            raise NotFoundError("Nobody holds that session.", suggestion="PUT a reason here to hold it.")
        return HoldAnswer(reason=found.reason, held_by=found.held_by, held_at=found.held_at)

    @operation(summary="Hold the session: nothing deletes it until it is let go", status=204)
    def put(self, *, call: Call, session: str, body: ReasonBody) -> None:
        session_id = read_id(prefix=Prefix.SESSION, text=session)
        retention.hold_session(actor=call.actor, session_id=session_id, reason=body.reason, now=call.now)

    @operation(summary="Let the session go", status=204)
    def delete(self, *, call: Call, session: str) -> None:
        retention.let_go(actor=call.actor, session_id=read_id(prefix=Prefix.SESSION, text=session), now=call.now)


class DeletionView(APIView):
    @operation(summary="Delete the session with all that is in it, for good. For owners, in person")
    def post(self, *, call: Call, session: str, body: ReasonBody) -> DeletedAnswer:
        session_id = read_id(prefix=Prefix.SESSION, text=session)
        gone = deletion.delete_session(actor=call.actor, session_id=session_id, reason=body.reason, now=call.now)
        return DeletedAnswer(sessions=[to_text(Prefix.SESSION, each) for each in gone])
