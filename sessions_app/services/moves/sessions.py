"""Sessions without a run, and what an agent sees around it. The same log, the same one-statement writes as for runs."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from msgspec import structs

from sessions_app.engine import outputs, tokens
from sessions_app.engine.decisions import derive_id
from sessions_app.engine.drafts import session_draft, session_output_draft
from sessions_app.engine.log import EventDraft, Head
from sessions_app.engine.observations import check_observations, observation_drafts
from sessions_app.engine.reply_facts import NotedFacts
from sessions_app.engine.runs import AttemptKind, ObservationKey, OutputChannel
from sessions_app.engine.submissions import MAX_ARTIFACTS, Submission
from sessions_app.engine.tables import KIND_CHARACTERS, OutputRow
from sessions_app.engine.tokens import NONCE_BYTES, TokenKind
from sessions_app.selectors import preferences as preference_selectors
from sessions_app.selectors.standings import SessionStanding, read_session
from sessions_app.services.moves.beginning import check_title
from sessions_app.services.moves.moving import Entropy, Mover, Tries, Use, done_once, mover_of, retired_token
from sessions_app.services.moves.speech import Reply, Speech
from sessions_app.services.store.appends import NewSession
from sessions_app.services.store.signing_keys import read_token
from sessions_app.services.store.writing import write
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, NotFoundError
from teams_app.engine.normal_forms import trimmed
from workflows_app.engine import canonical


def start_session(
    *,
    actor: Actor,
    title: str,
    observations: Mapping[ObservationKey, str],
    now: datetime,
    entropy: Entropy,
    speech: Speech[NotedFacts],
    parent_id: UUID | None = None,
) -> Reply:
    """A session for durable notes before any workflow is chosen. Runs can be begun in it later."""
    actor.require(Permission.DRIVE_RUNS)
    check_observations(observations)
    check_title(title)
    if not trimmed(title):
        raise InvalidInputError("title is empty.", suggestion="Say in a few words what the notes are about.")
    mover = mover_of(actor, now=now, entropy=entropy)
    session_id = mover.new_id()
    baseline = preference_selectors.baseline_of(actor=actor)
    drafts = [
        session_draft(session_id=session_id, title=title, parent_id=parent_id, baseline=baseline),
        *observation_drafts(session_id=session_id, observations=observations, current={}, next_index=0),
    ]
    note = mover.note(session_id=session_id, head=Head(), drafts=drafts)
    begun = NewSession(title=title, baseline=baseline, parent_id=parent_id)
    write(actor=actor, plans=[structs.replace(note, session=begun, observed=_columns(observations))])
    return speech.reply(NotedFacts(session_id=session_id, token=_token(mover, session_id), preferences=baseline))


def bookmark_session(
    *,
    actor: Actor,
    session_token: str,
    submission: Submission,
    now: datetime,
    entropy: Entropy,
    speech: Speech[NotedFacts],
) -> Reply:
    """Record notes on a session. The same token again is answered what was recorded."""
    actor.require(Permission.DRIVE_RUNS)
    outputs.check_text(submission.notes, name="output.notesMarkdown")
    token, keys = read_token(kind=TokenKind.SESSION, text=session_token)
    use = Use(
        node_id=token.node_id,
        nonce=token.nonce,
        keys=keys,
        kind=AttemptKind.BOOKMARK,
        refusal=retired_token() if token.retired else None,
    )
    mover = mover_of(actor, now=now, entropy=entropy)

    def attempt(standing: SessionStanding) -> Reply | None:
        made = _outputs(standing, use.nonce, submission, now)
        reply = speech.reply(NotedFacts(session_id=use.node_id, token=_token(mover, use.node_id)))
        note = mover.note(session_id=use.node_id, head=standing.head, drafts=[_draft(output) for output in made])
        used = use.attempt(reply, to_node_id=use.node_id, keys=mover.keys)
        written = write(actor=actor, plans=[structs.replace(note, outputs=made, attempts=[used])])
        return reply if written else None

    return done_once(
        lambda: _session(actor, use.node_id, use.nonce),
        lambda standing: use.recorded(standing.recorded, speech),
        attempt,
    )


def observe(
    *,
    actor: Actor,
    session_id: UUID,
    observations: Mapping[ObservationKey, str],
    now: datetime,
    entropy: Entropy,
) -> None:
    """Record where the work stands. What stands there already is not recorded again, and nothing is written."""
    actor.require(Permission.DRIVE_RUNS)
    check_observations(observations)
    mover = mover_of(actor, now=now, entropy=entropy)
    tries = Tries()
    while True:
        tries.begin()
        standing = _session(actor, session_id)
        drafts = observation_drafts(
            session_id=session_id,
            observations=observations,
            current=standing.observed,
            next_index=standing.head.next_index,
        )
        if not drafts:
            return
        note = mover.note(session_id=session_id, head=standing.head, drafts=drafts)
        if write(actor=actor, plans=[structs.replace(note, observed=_columns(observations))]):
            return


def _columns(observations: Mapping[ObservationKey, str]) -> dict[str, str]:
    return {key.value: value for key, value in observations.items()}


def _draft(output: OutputRow) -> EventDraft:
    return session_output_draft(
        output_id=output.id,
        channel=OutputChannel(output.channel),
        body=output.body,
        sha256=output.sha256,
        kind=output.artifact_kind,
    )


def _outputs(standing: SessionStanding, nonce: bytes, submission: Submission, now: datetime) -> list[OutputRow]:
    bodies: list[tuple[OutputChannel, str, str]] = []
    if submission.notes.strip():
        bodies.append((OutputChannel.RECAP, outputs.cut_notes(submission.notes), ""))
    bodies.extend(
        (
            OutputChannel.ARTIFACT,
            canonical.canonical_bytes(dict(artifact)).decode("utf-8"),
            str(artifact.get("kind", "")),
        )
        for artifact in submission.artifacts
    )
    if not bodies:
        raise InvalidInputError(
            "There is nothing to record.", suggestion="Send output.notesMarkdown with what should be remembered."
        )
    return [
        OutputRow(
            id=_noted_id(standing.session_id, nonce, index),
            run_id=None,
            node_id=None,
            to_node_id=None,
            channel=channel.value,
            body=body,
            sha256=canonical.digest(body.encode("utf-8")),
            artifact_kind=kind[:KIND_CHARACTERS],
            supersedes_id=None,
            event_index=standing.head.next_index + index,
            created_at=now,
        )
        for index, (channel, body, kind) in enumerate(bodies)
    ]


def _token(mover: Mover, session_id: UUID) -> str:
    nonce = mover.entropy(NONCE_BYTES)
    return tokens.mint(keyring=mover.keys.ring, kind=TokenKind.SESSION, node_id=session_id, nonce=nonce)


def _noted_id(session_id: UUID, nonce: bytes, index: int) -> UUID:
    return derive_id("session", session_id.bytes, nonce, str(index).encode())


def _session(actor: Actor, session_id: UUID, nonce: bytes = b"") -> SessionStanding:
    noted = [_noted_id(session_id, nonce, index) for index in range(1 + MAX_ARTIFACTS)] if nonce else []
    found = read_session(team_id=actor.team_id, session_id=session_id, nonce=nonce, noted=noted)
    if found is None:
        raise NotFoundError("There is no such session.", suggestion="Find the one that is meant, or begin another.")
    return found
