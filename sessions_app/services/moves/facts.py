"""What a dialect is told of a node, with fresh tokens of it: after a move, or as it stands."""

from collections.abc import Sequence
from uuid import UUID

from msgspec.structs import replace

from sessions_app.engine import tokens
from sessions_app.engine.decisions import Outcome, Warned, WarningCode
from sessions_app.engine.reply_facts import Branching, NodeTokens, ReplyFacts
from sessions_app.engine.state import Snapshot
from sessions_app.engine.tokens import NONCE_BYTES, TokenKind
from sessions_app.selectors.standings import Standing
from sessions_app.services.moves.moving import Entropy, Moved, Mover, Point, stop_of
from sessions_app.services.moves.speech import Speech
from sessions_app.services.store.signing_keys import current_keys
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError, PreconditionFailedError
from workflows_app.selectors.publications import published_lately
from workflows_app.selectors.workflows import find_published


def facts_after(
    moved: Moved,
    speech: Speech[ReplyFacts],
    *,
    goal: str,
    warnings: Sequence[Warned] = (),
    branching: Branching | None = None,
) -> ReplyFacts:
    """A bookmark leaves its node pending; every other move is answered with the node that it made."""
    decision, place = moved.decision, moved.decision.place
    stays = decision.outcome is Outcome.BOOKMARKED and place.node_id is not None
    node_id = place.node_id if stays and place.node_id else place.next_node
    return ReplyFacts(
        outcome=decision.outcome,
        program=moved.program,
        snapshot=decision.snapshot,
        workflow_id=place.workflow_id,
        workflow_hash=place.workflow_hash,
        session_id=place.session_id,
        run_id=place.run_id,
        goal=goal,
        tokens=_tokens(node_id, decision.snapshot, moved.mover.entropy, speech),
        warnings=(*warnings, *decision.warnings),
        branching=branching,
        step_context=decision.step_context,
        returns=moved.returns,
    )


def facts_at(
    actor: Actor, at: Point, speech: Speech[ReplyFacts], *, entropy: Entropy, warnings: Sequence[Warned] = ()
) -> ReplyFacts:
    """A node as it stands, for a call that makes none; also that the run was stopped after it."""
    standing, stop = at.standing, stop_of(actor.team_id, at.standing)
    return ReplyFacts(
        outcome=None,
        program=at.program,
        snapshot=at.snapshot if stop is None else replace(at.snapshot, stop=stop),
        workflow_id=standing.workflow_id,
        workflow_hash=standing.workflow_hash,
        session_id=standing.session_id,
        run_id=standing.run_id,
        goal=standing.goal,
        tokens=_tokens(standing.node_id, at.snapshot, entropy, speech),
        warnings=warnings,
    )


def _tokens(node_id: UUID, snapshot: Snapshot, entropy: Entropy, speech: Speech[ReplyFacts]) -> NodeTokens:
    """As far as they are printed; none to acknowledge with where there is nothing to acknowledge."""
    ring = current_keys().ring

    def minted(kind: TokenKind) -> str:
        if kind not in speech.prints:
            return ""
        nonce = b"" if kind is TokenKind.STATE else entropy(NONCE_BYTES)
        return tokens.mint(keyring=ring, kind=kind, node_id=node_id, nonce=nonce)

    state, checkpoint = minted(TokenKind.STATE), minted(TokenKind.BOOKMARK)
    if snapshot.position.complete or (snapshot.blocked is not None and not snapshot.blocked.retryable):
        return NodeTokens(state=state, checkpoint=checkpoint)
    return NodeTokens(state=state, ack=minted(TokenKind.ACK), checkpoint=checkpoint)


def drift_of(actor: Actor, standing: Standing) -> tuple[Warned, ...]:
    """The published program is another than the pinned one: the run keeps its own, and says so."""
    if not actor.may(Permission.READ_WORKFLOWS):
        return ()
    try:
        published = find_published(actor=actor, workflow_id=standing.workflow_id)
    except (NotFoundError, PreconditionFailedError):
        return _drifted(standing, None)
    return _drifted(standing, published.workflow_hash)


def drift_known(mover: Mover, standing: Standing) -> tuple[Warned, ...]:
    """As `drift_of`, a few seconds late: whoever goes on pays no round trip for it."""
    if not mover.actor.may(Permission.READ_WORKFLOWS):
        return ()
    published = published_lately(actor=mover.actor, workflow_id=standing.workflow_id, now=mover.now)
    return _drifted(standing, None if published is None else published.workflow_hash)


def _drifted(standing: Standing, published: str | None) -> tuple[Warned, ...]:
    if published == standing.workflow_hash:
        return ()
    what = "is no longer published; this run" if published is None else "was changed since this run began; the run"
    message = f"{standing.workflow_id} {what} goes on with the program it began with."
    return (Warned(code=WarningCode.WORKFLOW_CHANGED, message=message),)
