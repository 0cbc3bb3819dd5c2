"""Makes what one try writes and answers: ids, tokens, the reply, and the rows of the transition."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from sessions_app.engine import handover_replies, navigation, replies, tokens
from sessions_app.engine.actions import Action
from sessions_app.engine.checkpoints import Authority
from sessions_app.engine.decisions import Decision, Outcome, Warned
from sessions_app.engine.handles import Handle, issued_draft
from sessions_app.engine.log import EventDraft, EventKind, Head, seal
from sessions_app.engine.navigation import Awaited
from sessions_app.engine.prompts import pending_of
from sessions_app.engine.replies import Branching, ReplyFacts, Tokens
from sessions_app.engine.runs import RunStatus
from sessions_app.engine.state import Answered, Snapshot
from sessions_app.engine.tables import NewRun
from sessions_app.engine.tokens import NONCE_BYTES, TokenKind
from sessions_app.selectors.standings import Recorded, Standing
from sessions_app.services.appends import (
    Append,
    NewAttempt,
    NewSession,
    NewTip,
)
from sessions_app.services.keys import Keys
from sessions_app.services.row_values import Rows
from teams_app.engine.actors import Actor
from teams_app.engine.errors import WorkrailError
from teams_app.engine.ids import Prefix, to_text, uuid7
from workflows_app.engine.program import Effect, Program

Entropy = Callable[[int], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a call is answered: the recorded bytes, and the text that their template draws from them."""

    data: bytes
    template: int
    replayed: bool = False

    @property
    def value(self) -> dict[str, Any]:
        value: dict[str, Any] = orjson.loads(self.data)
        return value

    @property
    def text(self) -> str:
        if self.template in {navigation.TEMPLATE, handover_replies.TEMPLATE}:
            return navigation.render_text(self.value)
        return replies.render_text(self.value, template=self.template)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a start writes before the decision's own rows. `session` is set when the run begins one."""

    run: NewRun
    drafts: Sequence[EventDraft]
    observed: Mapping[str, str]
    session: NewSession | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """Where the run stands after the transition. Without a status it keeps the one that it has."""

    tip: UUID
    status: RunStatus | None = None
    completed_at: datetime | None = None
    moved: NewTip | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Minting:
    actor: Actor
    now: datetime
    entropy: Entropy
    keys: Keys

    @property
    def unix_ms(self) -> int:
        return int(self.now.timestamp() * 1000)

    def new_id(self) -> UUID:
        return uuid7(unix_ms=self.unix_ms, random=self.entropy(10))

    def reply(
        self,
        *,
        program: Program,
        decision: Decision,
        goal: str,
        warnings: Sequence[Warned],
        branching: Branching | None = None,
    ) -> Reply:
        """A bookmark leaves its node pending; every other transition answers with the node that it made."""
        snapshot, place = decision.snapshot, decision.place
        starts = decision.outcome is Outcome.STARTED
        stays = decision.outcome is Outcome.BOOKMARKED and place.node_id is not None
        facts = ReplyFacts(
            outcome=decision.outcome,
            workflow_id=place.workflow_id,
            workflow_hash=place.workflow_hash,
            workflow_title=program.title,
            session_id=to_text(Prefix.SESSION, place.session_id),
            run_id=to_text(Prefix.RUN, place.run_id),
            goal=goal,
            preferences=snapshot.preferences,
            pending=pending_of(program=program, snapshot=snapshot),
            complete=snapshot.is_complete,
            tokens=self._tokens(place.node_id if stays and place.node_id else place.next_node, snapshot),
            warnings=warnings,
            blocked=snapshot.blocked,
            answered=snapshot.answered,
            branching=branching,
            step_context=decision.step_context,
            preconditions=program.preconditions if starts else (),
            clarification_prompts=program.clarification_prompts if starts else (),
            references=references_of(program) if starts else (),
        )
        return as_reply(facts)

    def started(
        self,
        *,
        program: Program,
        decision: Decision,
        warnings: Sequence[Warned],
        returns: bool = False,
    ) -> Reply:
        """The first reply of a run that is driven by hand."""
        return situation_reply(
            keys=self.keys,
            node_id=decision.place.next_node,
            program=program,
            snapshot=decision.snapshot,
            message=navigation.started(program=program, snapshot=decision.snapshot, returns=returns),
            warnings=warnings,
        )

    def acted(
        self,
        *,
        program: Program,
        before: Snapshot,
        action: Action,
        decision: Decision,
        warnings: Sequence[Warned],
        returns: bool = False,
    ) -> Reply:
        """What an action by hand has come to."""
        return situation_reply(
            keys=self.keys,
            node_id=decision.place.next_node,
            program=program,
            snapshot=decision.snapshot,
            message=navigation.acted(before=before, after=decision.snapshot, action=action, returns=returns),
            warnings=warnings,
            effect=navigation.effect_of(program=program, before=before, action=action),
            is_blocked=decision.outcome is Outcome.BLOCKED,
            answered=before.answered,
        )

    def _tokens(self, node_id: UUID, snapshot: Snapshot) -> Tokens:
        return mint_tokens(keys=self.keys, node_id=node_id, snapshot=snapshot, entropy=self.entropy)

    def plan(
        self,
        *,
        program: Program,
        decision: Decision,
        head: Head,
        landing: Landing,
        attempt: NewAttempt | None,
        opening: Opening | None = None,
        handle: Handle | None = None,
    ) -> Append:
        """The rows of a transition: a node for each that the decision makes, and the handle that is issued with it."""
        last = decision.place
        before = opening.drafts if opening else ()
        after = [issued_draft(handle)] if handle else []
        drafts = (*before, *(draft for node in decision.nodes for draft in node.drafts), *after)
        sealed = seal(
            drafts=drafts,
            session_id=last.session_id,
            head=head,
            event_ids=[self.new_id() for _ in drafts],
            timestamp_ms=self.unix_ms,
        )
        rows = Rows(
            program=program,
            decisions=decision.nodes,
            places={event.dedupe: event.index for event in sealed.events},
            now=self.now,
        )
        return Append(
            team_id=self.actor.team_id,
            session_id=last.session_id,
            actor=self.actor.id,
            now=self.now,
            before=head,
            after=sealed.head,
            events=sealed.events,
            session=opening.session if opening else None,
            observed=opening.observed if opening else None,
            run_id=last.run_id,
            run=opening.run if opening else None,
            run_status=landing.status,
            completed_at=landing.completed_at,
            tip_node_id=landing.tip,
            nodes=rows.nodes(),
            snapshots={node.snapshot_digest: node.snapshot_data for node in decision.nodes},
            attempts=[attempt] if attempt else [],
            outputs=rows.outputs(),
            gaps=rows.gaps(),
            questions=rows.questions(),
            closings=[closing for node in decision.nodes for closing in node.closings],
            closed_by=last.next_node,
            audited=[entry for node in decision.nodes for draft in node.drafts for entry in _audited(draft, node)],
            moved=landing.moved,
            handles=rows.handles([handle] if handle else []),
        )


def _audited(draft: EventDraft, decision: Decision) -> Iterator[tuple[str, str]]:
    """What a person approved with their own acknowledgement, before anybody was asked, and which run they stopped."""
    place, data = decision.place, draft.data
    match draft.kind:
        case EventKind.CHECKPOINT_ANSWERED if data["authority"] == Authority.HUMAN.value and "request" not in data:
            yield "step.approved", to_text(Prefix.NODE, place.node_id or place.next_node)
        case EventKind.RUN_STOPPED:
            yield f"run.{data['kind']}", to_text(Prefix.RUN, place.run_id)
        case EventKind.RUN_RESUMED:
            yield "run.resumed", to_text(Prefix.RUN, place.run_id)
        case _:
            pass


def situation_reply(
    *,
    keys: Keys,
    node_id: UUID,
    program: Program,
    snapshot: Snapshot,
    message: str = "",
    warnings: Sequence[Warned] = (),
    effect: Effect | None = None,
    refusal: WorkrailError | None = None,
    awaited: Sequence[Awaited] = (),
    is_blocked: bool = False,
    answered: Answered | None = None,
) -> Reply:
    """Where a run driven by hand stands, under the token of its node."""
    body = navigation.situation(
        program=program,
        snapshot=snapshot,
        state=tokens.mint(keyring=keys.ring, kind=TokenKind.STATE, node_id=node_id),
        message=message,
        warnings=warnings,
        effect=effect,
        refusal=refusal,
        awaited=awaited,
        is_blocked=is_blocked,
        answered=answered,
    )
    return Reply(data=orjson.dumps(body), template=navigation.TEMPLATE)


def mint_tokens(*, keys: Keys, node_id: UUID, snapshot: Snapshot, entropy: Entropy) -> Tokens:
    """Fresh tokens of a node; none to acknowledge with where there is nothing to acknowledge."""
    state = tokens.mint(keyring=keys.ring, kind=TokenKind.STATE, node_id=node_id)
    checkpoint = tokens.mint(keyring=keys.ring, kind=TokenKind.CHECKPOINT, node_id=node_id, nonce=entropy(NONCE_BYTES))
    if snapshot.position.complete or (snapshot.blocked is not None and not snapshot.blocked.retryable):
        return Tokens(state=state, checkpoint=checkpoint)
    ack = tokens.mint(keyring=keys.ring, kind=TokenKind.ACK, node_id=node_id, nonce=entropy(NONCE_BYTES))
    return Tokens(state=state, ack=ack, checkpoint=checkpoint)


def facts_of(
    *, standing: Standing, program: Program, snapshot: Snapshot, minted: Tokens, warnings: Sequence[Warned]
) -> ReplyFacts:
    """A node as it stands, for a call that changes nothing."""
    return ReplyFacts(
        outcome=None,
        workflow_id=standing.workflow_id,
        workflow_hash=standing.workflow_hash,
        workflow_title=program.title,
        session_id=to_text(Prefix.SESSION, standing.session_id),
        run_id=to_text(Prefix.RUN, standing.run_id),
        goal=standing.goal,
        preferences=snapshot.preferences,
        pending=pending_of(program=program, snapshot=snapshot),
        complete=snapshot.is_complete,
        tokens=minted,
        warnings=warnings,
        blocked=snapshot.blocked,
        answered=snapshot.answered,
        references=references_of(program),
    )


def as_reply(facts: ReplyFacts) -> Reply:
    return Reply(data=orjson.dumps(replies.reply_json(facts)), template=replies.TEMPLATE)


def recorded_reply(recorded: Recorded, keys: Keys) -> Reply:
    """Byte for byte while the key that signed its tokens is trusted; afterwards with the same tokens signed anew."""
    renew = handover_replies.renewed if recorded.reply_template == handover_replies.TEMPLATE else replies.renewed
    data = renew(data=recorded.reply, keyring=keys.ring)
    return Reply(data=data, template=recorded.reply_template, replayed=True)


def references_of(program: Program) -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            "id": reference.id,
            "title": reference.title,
            "source": reference.source,
            "purpose": reference.purpose,
            "authoritative": reference.authoritative,
        }
        for reference in program.references
    )
