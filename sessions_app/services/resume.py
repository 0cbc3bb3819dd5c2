"""Resuming in a new chat: the runs that may be meant, each with a fresh token of its tip. Nothing is written."""

from typing import Any

from sessions_app.engine import resume_reply, tokens
from sessions_app.engine.resume import Match, ResumeQuery, Signals, read_signals
from sessions_app.engine.resume_reply import Candidate
from sessions_app.engine.tokens import Keyring, TokenKind
from sessions_app.selectors.resume import MAX_COUNTED, Tip, find_resumable
from sessions_app.services.keys import current_keys
from teams_app.engine.actors import Actor

_NO_TIP = Tip(pending_key="", notes="")


def resume_sessions(*, actor: Actor, query: ResumeQuery) -> dict[str, Any]:
    """The reply of `resume_session`: at most five candidates, the likeliest first; `resume_reply` words it."""
    signals = read_signals(query)
    found = find_resumable(actor=actor, signals=signals)
    keyring = current_keys().ring
    candidates = [
        _candidate(match, found.tips.get(match.run.run_id, _NO_TIP), signals, keyring) for match in found.matches
    ]
    return resume_reply.reply_json(candidates, eligible=found.eligible, is_bounded=found.eligible >= MAX_COUNTED)


def _candidate(match: Match, tip: Tip, signals: Signals, keyring: Keyring) -> Candidate:
    return Candidate(
        match=match,
        state_token=tokens.mint(keyring=keyring, kind=TokenKind.STATE, node_id=match.run.tip_node_id),
        pending_step_id=tip.pending_key.rpartition("::")[2],
        snippet=resume_reply.snippet_of(tip.notes, signals.words),
    )
