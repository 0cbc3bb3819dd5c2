"""What a person does at a node of a run: hand it to an agent with a fresh token, or add a note."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from sessions_app.engine import tokens
from sessions_app.engine.log import NodeKind
from sessions_app.engine.runs import Dialect
from sessions_app.engine.submissions import Submission
from sessions_app.engine.tokens import TokenKind
from sessions_app.models import Node, Run
from sessions_app.services.moves import runs
from sessions_app.services.moves.moving import Entropy
from sessions_app.services.moves.speech import house_speech
from sessions_app.services.store.signing_keys import current_keys
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, NotFoundError
from teams_app.engine.ids import Prefix, to_text
from teams_app.services.audit import record_audit

# Runs of the other dialects are moved by the session token of whoever holds them, not by tokens of nodes.
FORKED_IN = frozenset({Dialect.RAIL, Dialect.NAVIGATION})


def hand_out_node(*, actor: Actor, node_id: UUID, now: datetime) -> str:
    """A state token of the node: whoever goes on with it forks there, where the node has a successor."""
    actor.require(Permission.STEER_RUNS)
    node = _node(actor, node_id)
    if node.kind == NodeKind.BOOKMARK.value:
        raise InvalidInputError("Nobody goes on from a bookmark.", suggestion="Fork at the step that it is of.")
    with transaction.atomic(durable=True):
        record_audit(actor=actor, action="node.handed_out", target=to_text(Prefix.NODE, node.pk), now=now)
    return tokens.mint(keyring=current_keys().ring, kind=TokenKind.STATE, node_id=node.pk)


def add_note(*, actor: Actor, node_id: UUID, notes: str, now: datetime, entropy: Entropy) -> None:
    """A bookmark of a person's own at the node; the run does not move."""
    actor.require(Permission.STEER_RUNS)
    node = _node(actor, node_id)
    ring = current_keys().ring
    runs.bookmark_run(
        actor=actor,
        state_token=tokens.mint(keyring=ring, kind=TokenKind.STATE, node_id=node.pk),
        checkpoint_token=tokens.mint(
            keyring=ring, kind=TokenKind.BOOKMARK, node_id=node.pk, nonce=entropy(tokens.NONCE_BYTES)
        ),
        submission=Submission(notes=notes),
        now=now,
        entropy=entropy,
        speech=house_speech(),
    )


def _node(actor: Actor, node_id: UUID) -> Node:
    node = Node.objects.filter(pk=node_id, team_id=actor.team_id).order_by("pk").first()
    if node is None:
        raise NotFoundError("There is no such node.", suggestion="Open the run for its nodes.")
    dialect = Run.objects.filter(pk=node.run_id).order_by("pk").values_list("dialect", flat=True).first()
    if dialect not in FORKED_IN:
        raise InvalidInputError(
            "This run is moved by the session token of its agent, not by its nodes.",
            suggestion="Ask the agent that holds it to go on.",
        )
    return node
