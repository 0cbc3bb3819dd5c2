"""Makes what one try writes and answers: ids, tokens, the reply, and the rows of the transition."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sessions_app.engine import tokens
from sessions_app.engine.checkpoints import Authority
from sessions_app.engine.decisions import Decision, Outcome, Warned
from sessions_app.engine.handles import Handle, issued_draft
from sessions_app.engine.log import EventDraft, EventKind, Head, seal
from sessions_app.engine.reply_facts import Branching, NodeTokens, ReplyFacts
from sessions_app.engine.runs import RunStatus
from sessions_app.engine.state import Snapshot
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
from sessions_app.services.speech import Reply, Speech
from teams_app.engine.actors import Actor
from teams_app.engine.ids import Prefix, to_text, uuid7
from workflows_app.engine.program import Program

Entropy = Callable[[int], bytes]


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

    def facts(
        self,
        *,
        program: Program,
        decision: Decision,
        prints: frozenset[TokenKind],
        goal: str,
        warnings: Sequence[Warned],
        branching: Branching | None = None,
    ) -> ReplyFacts:
        """A bookmark leaves its node pending; every other transition answers with the node that it made."""
        snapshot, place = decision.snapshot, decision.place
        stays = decision.outcome is Outcome.BOOKMARKED and place.node_id is not None
        node_id = place.node_id if stays and place.node_id else place.next_node
        return ReplyFacts(
            outcome=decision.outcome,
            program=program,
            snapshot=snapshot,
            workflow_id=place.workflow_id,
            workflow_hash=place.workflow_hash,
            session_id=place.session_id,
            run_id=place.run_id,
            goal=goal,
            tokens=mint_tokens(keys=self.keys, node_id=node_id, snapshot=snapshot, entropy=self.entropy, prints=prints),
            warnings=warnings,
            branching=branching,
            step_context=decision.step_context,
        )

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


def mint_tokens(
    *, keys: Keys, node_id: UUID, snapshot: Snapshot, entropy: Entropy, prints: frozenset[TokenKind]
) -> NodeTokens:
    """Fresh tokens of a node, as far as they are printed; none to acknowledge with where there is nothing to acknowledge."""

    def minted(kind: TokenKind) -> str:
        if kind not in prints:
            return ""
        nonce = b"" if kind is TokenKind.STATE else entropy(NONCE_BYTES)
        return tokens.mint(keyring=keys.ring, kind=kind, node_id=node_id, nonce=nonce)

    state, checkpoint = minted(TokenKind.STATE), minted(TokenKind.CHECKPOINT)
    if snapshot.position.complete or (snapshot.blocked is not None and not snapshot.blocked.retryable):
        return NodeTokens(state=state, checkpoint=checkpoint)
    return NodeTokens(state=state, ack=minted(TokenKind.ACK), checkpoint=checkpoint)


def facts_of(
    *, standing: Standing, program: Program, snapshot: Snapshot, minted: NodeTokens, warnings: Sequence[Warned] = ()
) -> ReplyFacts:
    """A node as it stands, for a call that changes nothing."""
    return ReplyFacts(
        outcome=None,
        program=program,
        snapshot=snapshot,
        workflow_id=standing.workflow_id,
        workflow_hash=standing.workflow_hash,
        session_id=standing.session_id,
        run_id=standing.run_id,
        goal=standing.goal,
        tokens=minted,
        warnings=warnings,
    )


def recorded_reply(recorded: Recorded, keys: Keys, speech: Speech[Any]) -> Reply:
    return speech.recorded(data=recorded.reply, template=recorded.reply_template, keyring=keys.ring)
