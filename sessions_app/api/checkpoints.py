"""Questions that wait for people, by REST. Whoever may read runs reads them; a signed-in person answers."""

import os
from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec
from rest_framework.views import APIView

from sessions_app.api.answers import Moment
from sessions_app.api.bodies import Handle
from sessions_app.engine.checkpoints import MAX_REASON_CHARACTERS, Authority, CheckpointState
from sessions_app.engine.runs import Dialect
from sessions_app.selectors import checkpoints as reading
from sessions_app.selectors.checkpoints import CheckpointValue, Wanted
from sessions_app.services.people import checkpoints
from teams_app.api.endpoints import Call, PageQuery, Shape, operation, read_id
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.pages import Page


class CheckpointsQuery(PageQuery, frozen=True):
    """`mine` are those that the caller has claimed; `claimed` those that anybody has, or with `false` nobody."""

    state: CheckpointState | None = None
    authority: Authority | None = None
    run: Handle | None = None
    session: Handle | None = None
    mine: bool = False
    claimed: bool | None = None
    overdue: bool = False
    dialect: Dialect | None = None
    asked_since: Moment | None = None
    asked_until: Moment | None = None

    def wanted(self) -> Wanted:
        return Wanted(
            state=self.state,
            authority=self.authority,
            run_id=None if self.run is None else read_id(prefix=Prefix.RUN, text=self.run),
            session_id=None if self.session is None else read_id(prefix=Prefix.SESSION, text=self.session),
            mine=self.mine,
            claimed=self.claimed,
            overdue=self.overdue,
            dialect=self.dialect,
            asked_since=self.asked_since,
            asked_until=self.asked_until,
        )


class AnswerBody(Shape, frozen=True):
    """`option` is the id of one of the options; `digest` that of the question as it was shown."""

    option: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    digest: Handle
    reason: Annotated[str, msgspec.Meta(max_length=MAX_REASON_CHARACTERS)] = ""


class ChoiceAnswer(Shape, frozen=True):
    id: str
    label: str
    description: str


class GivenAnswer(Shape, frozen=True):
    """With the authority `default` nobody chose, and `by` only told of it; then `option` may be empty: its condition did
    not hold.
    """

    option: str
    by: str
    authority: Authority
    door: str
    reason: str
    at: Moment


class CheckpointAnswer(Shape, frozen=True):
    """`message` is Markdown. `digest` is what an answer must name, so that it is one to this question and no other."""

    id: str
    session: str
    run: str
    checkpoint_id: str
    instance: str
    title: str
    message: str
    options: list[ChoiceAnswer]
    authority: Authority
    digest: str
    state: CheckpointState
    presented_at: Moment
    due_at: Moment | None
    is_overdue: bool
    claimed_by: str | None
    claimed_at: Moment | None
    answer: GivenAnswer | None
    workflow_title: str
    goal: str
    dialect: Dialect

    @staticmethod
    def of(value: CheckpointValue, now: datetime) -> "CheckpointAnswer":
        return CheckpointAnswer.taken(
            value,
            id=to_text(Prefix.CHECKPOINT, value.id),
            session=to_text(Prefix.SESSION, value.session_id),
            run=to_text(Prefix.RUN, value.run_id),
            instance=value.instance_key,
            options=[
                ChoiceAnswer(id=option.id, label=option.label, description=option.description)
                for option in value.options
            ],
            is_overdue=value.is_overdue(now),
            claimed_by=value.claimed_by or None,
            answer=_given(value),
        )


class CheckpointsView(APIView):
    @operation(summary="The questions of the team's runs, what is due first comes first")
    def get(self, *, call: Call, query: CheckpointsQuery) -> Page[CheckpointAnswer]:
        found = reading.list_checkpoints(actor=call.actor, page=call.page, wanted=query.wanted(), now=call.now)
        return found.map(lambda value: CheckpointAnswer.of(value, call.now))


class CheckpointView(APIView):
    @operation(summary="One question, and what became of it")
    def get(self, *, call: Call, checkpoint: str) -> CheckpointAnswer:
        found = reading.read_checkpoint(actor=call.actor, request_id=_checkpoint(checkpoint))
        return CheckpointAnswer.of(found, call.now)


class ClaimView(APIView):
    represents = CheckpointView

    @operation(summary="Say that one is about to answer; nobody else can then. For people")
    def post(self, *, call: Call, checkpoint: str) -> CheckpointAnswer:
        request_id = _checkpoint(checkpoint)
        claimed = checkpoints.claim_checkpoint(actor=call.actor, request_id=request_id, now=call.now)
        return CheckpointAnswer.of(claimed, call.now)


class ReleaseView(APIView):
    represents = CheckpointView

    @operation(summary="Take a claim back, one's own or that of somebody who does not come back. For people")
    def post(self, *, call: Call, checkpoint: str) -> CheckpointAnswer:
        request_id = _checkpoint(checkpoint)
        released = checkpoints.release_checkpoint(actor=call.actor, request_id=request_id, now=call.now)
        return CheckpointAnswer.of(released, call.now)


class AnswerView(APIView):
    represents = CheckpointView

    @operation(summary="Answer the question; the run goes on with it. For people")
    def post(self, *, call: Call, checkpoint: str, body: AnswerBody) -> CheckpointAnswer:
        answered = checkpoints.answer_checkpoint(
            actor=call.actor,
            request_id=_checkpoint(checkpoint),
            option_id=body.option,
            digest=body.digest,
            reason=body.reason,
            now=call.now,
            entropy=os.urandom,
        )
        return CheckpointAnswer.of(answered, call.now)


def _given(value: CheckpointValue) -> GivenAnswer | None:
    if value.answered_at is None or value.answered_as is None:
        return None
    return GivenAnswer(
        option=value.option_id,
        by=value.answered_by,
        authority=value.answered_as,
        door=value.door,
        reason=value.reason,
        at=value.answered_at,
    )


def _checkpoint(text: str) -> UUID:
    return read_id(prefix=Prefix.CHECKPOINT, text=text)
