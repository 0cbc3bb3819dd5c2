"""Resuming in a new chat: the runs that may be meant, each with a fresh token of its tip. Nothing is written."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from sessions_app.engine import tokens
from sessions_app.engine.reply_facts import Candidate, NotesCandidate, ResumeFacts
from sessions_app.engine.resume import Match, is_merely_recent, is_told_by_id, snippet_of
from sessions_app.engine.resume_signals import ResumeQuery, Signals, id_in, read_signals
from sessions_app.engine.tokens import NONCE_BYTES, Keyring, TokenKind
from sessions_app.selectors.resume import MAX_COUNTED, BareSession, Resumable, Tip, find_resumable
from sessions_app.services.store.signing_keys import current_keys
from teams_app.engine.actors import Actor
from teams_app.engine.errors import NotFoundError
from workflows_app.selectors.workflows import ids_behind

_NO_TIP = Tip(pending_key="", notes="")


def resume_sessions(*, actor: Actor, query: ResumeQuery, entropy: Callable[[int], bytes] = os.urandom) -> ResumeFacts:
    """At most five candidates, the likeliest first."""
    signals = _by_all_names(actor, read_signals(query))
    found = find_resumable(actor=actor, signals=signals)
    matches = _asked_for(query, found)
    keyring = current_keys().ring
    return ResumeFacts(
        candidates=[
            _candidate(match, found.tips.get(match.run.run_id, _NO_TIP), signals, keyring) for match in matches
        ],
        eligible=found.eligible,
        is_bounded=found.eligible >= MAX_COUNTED,
        sessions=[_noted(session, signals, keyring, entropy) for session in found.bare],
        found_nothing=bool(matches) and is_merely_recent(matches) and _asks_for_some(query, signals),
    )


def _by_all_names(actor: Actor, signals: Signals) -> Signals:
    """Runs are found by the id of their workflow, which may be asked for by another name that the team has given it."""
    return replace(signals, workflow_ids=signals.workflow_ids | ids_behind(actor, signals.workflow_ids))


def _asked_for(query: ResumeQuery, found: Resumable) -> Sequence[Match]:
    """What names nothing of the team is said to; the latest runs would not be what was asked for."""
    if is_told_by_id(found.matches):
        return found.matches
    by_id = query.run_id.strip() or query.session_id.strip()
    if found.bare or not (by_id or is_merely_recent(found.matches)):
        return () if by_id else found.matches
    named = by_id or id_in(query.text)
    if named:
        raise NotFoundError(
            f"Your team has no run and no session with the id {named[:64]}.",
            suggestion="Search without ids: with the ticket, the branch, or words of what was done.",
        )
    if query.workflow_id.strip():
        raise NotFoundError(
            f"No run of your team is of the workflow {query.workflow_id.strip()[:64]}.",
            suggestion="Search without it, or begin a run of it.",
        )
    return found.matches


def _asks_for_some(query: ResumeQuery, signals: Signals) -> bool:
    """Whether a piece of work was named, if only by signs that nothing is looked up by."""
    return signals.asks_for_some or bool(query.text.strip() and not signals.low_signal_words)


def _noted(session: BareSession, signals: Signals, keyring: Keyring, entropy: Callable[[int], bytes]) -> NotesCandidate:
    return NotesCandidate(
        session_id=session.session_id,
        title=session.title,
        git_branch=session.git_branch,
        ticket=session.ticket,
        snippet=snippet_of(session.notes, signals.words),
        last_activity_at=session.last_activity_at,
        token=tokens.mint(
            keyring=keyring, kind=TokenKind.SESSION, node_id=session.session_id, nonce=entropy(NONCE_BYTES)
        ),
    )


def _candidate(match: Match, tip: Tip, signals: Signals, keyring: Keyring) -> Candidate:
    return Candidate(
        match=match,
        state_token=tokens.mint(keyring=keyring, kind=TokenKind.STATE, node_id=match.run.tip_node_id),
        pending_step_id=tip.pending_key.rpartition("::")[2],
        snippet=snippet_of(tip.notes, signals.words),
    )
