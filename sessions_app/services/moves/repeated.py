"""Tokens that were used before: the reply is the old one, byte for byte, and whoever sent something else is told so beside it."""

from uuid import UUID

from sessions_app.engine import outputs
from sessions_app.engine.runs import OutputChannel
from sessions_app.engine.submissions import Submission
from sessions_app.engine.tokens import TokenKind
from sessions_app.selectors.records import bodies_of_attempt
from sessions_app.selectors.standings import read_recorded
from sessions_app.services.moves.speech import Reply
from sessions_app.services.store.signing_keys import read_token
from teams_app.engine.actors import Actor, Permission
from workflows_app.engine import canonical

RECORDED_BEFORE = "recordedBefore"
TOLD = (
    "These tokens were used before, with other content. That stands, and this is its reply; what you sent now was not recorded. "
    "To record it, use the tokens of the latest reply."
)


def beside(*, actor: Actor, reply: Reply, kind: TokenKind, token: str, submission: Submission) -> dict[str, str]:
    """What is to be said beside a reply that was recorded before, for content that differs from what was kept then."""
    if not reply.replayed or submission.is_empty:
        return {}
    return {RECORDED_BEFORE: TOLD} if _says_otherwise(actor, kind, token, submission) else {}


def _says_otherwise(actor: Actor, kind: TokenKind, token: str, submission: Submission) -> bool:
    actor.require(Permission.DRIVE_RUNS)
    read, _ = read_token(kind=kind, text=token)
    recorded = read_recorded(team_id=actor.team_id, node_id=read.node_id, nonce=read.nonce)
    return recorded is not None and _differs(actor, submission, recorded.to_node_id)


def _differs(actor: Actor, submission: Submission, to_node_id: UUID) -> bool:
    """Of notes and of artifacts, each where some were kept then: what was never kept cannot be compared."""
    kept = bodies_of_attempt(team_id=actor.team_id, to_node_id=to_node_id)
    notes = {body for channel, body in kept if channel is OutputChannel.RECAP}
    artifacts = {body for channel, body in kept if channel is OutputChannel.ARTIFACT}
    if notes and submission.notes.strip() and outputs.cut_notes(submission.notes) not in notes:
        return True
    given = {canonical.canonical_bytes(dict(each)).decode() for each in submission.artifacts}
    return bool(artifacts and given and given.isdisjoint(artifacts))
