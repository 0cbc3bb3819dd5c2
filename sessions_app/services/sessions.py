"""Sessions without a run, and what an agent sees around it. The same log, the same one-statement writes as for runs."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from sessions_app.engine import outputs, tokens
from sessions_app.engine.decisions import derive_id
from sessions_app.engine.drafts import session_draft, session_output_draft
from sessions_app.engine.log import EventDraft, Head, seal
from sessions_app.engine.observations import check_observations, observation_drafts
from sessions_app.engine.reply_facts import NotedFacts
from sessions_app.engine.runs import AttemptKind, ObservationKey, OutputChannel
from sessions_app.engine.submissions import Submission
from sessions_app.engine.tables import KIND_CHARACTERS, OutputRow
from sessions_app.engine.tokens import NONCE_BYTES, TokenKind
from sessions_app.selectors import preferences as preference_selectors
from sessions_app.selectors.standings import SessionStanding, known_observations, read_session
from sessions_app.services import store
from sessions_app.services.appends import Append, NewAttempt, NewSession
from sessions_app.services.attempts import MAX_TRIES, busy, retired_token
from sessions_app.services.keys import Keys, current_keys, read_token
from sessions_app.services.minting import Entropy, recorded_reply
from sessions_app.services.runs import check_title
from sessions_app.services.speech import Reply, Speech
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, NotFoundError
from teams_app.engine.ids import uuid7
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
    keys = current_keys()
    session_id = uuid7(unix_ms=_ms(now), random=entropy(10))
    baseline = preference_selectors.baseline_of(actor=actor)
    drafts = [
        session_draft(session_id=session_id, title=title, parent_id=parent_id, baseline=baseline),
        *observation_drafts(session_id=session_id, observations=observations, current={}),
    ]
    plan = _plan(
        actor,
        session_id,
        Head(),
        drafts,
        now=now,
        entropy=entropy,
        session=NewSession(title=title, baseline=baseline, parent_id=parent_id),
        observations=observations,
    )
    store.append(plan)
    return speech.reply(
        NotedFacts(session_id=session_id, token=_token(keys, session_id, entropy), preferences=baseline)
    )


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
    for _ in range(MAX_TRIES):
        standing = read_session(team_id=actor.team_id, session_id=token.node_id, nonce=token.nonce)
        if standing is None:
            raise _no_session()
        if standing.recorded is not None:
            return recorded_reply(standing.recorded, keys, speech)
        if token.retired:
            raise retired_token()
        made = NotedFacts(session_id=standing.session_id, token=_token(keys, standing.session_id, entropy))
        reply = speech.reply(made)
        if store.append(
            _noted(actor, standing, submission, nonce=token.nonce, reply=reply, keys=keys, now=now, entropy=entropy)
        ):
            return reply
    raise busy()


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
    for _ in range(MAX_TRIES):
        standing = read_session(team_id=actor.team_id, session_id=session_id)
        if standing is None:
            raise _no_session()
        drafts = observation_drafts(
            session_id=session_id,
            observations=observations,
            current=standing.observed,
            known=known_observations(session_id=session_id),
        )
        if not drafts:
            return
        plan = _plan(actor, session_id, standing.head, drafts, now=now, entropy=entropy, observations=observations)
        if store.append(plan):
            return
    raise busy()


def _noted(
    actor: Actor,
    standing: SessionStanding,
    submission: Submission,
    *,
    nonce: bytes,
    reply: Reply,
    keys: Keys,
    now: datetime,
    entropy: Entropy,
) -> Append:
    made = _outputs(standing, nonce, submission, now)
    drafts = [
        session_output_draft(
            output_id=o.id, channel=OutputChannel(o.channel), body=o.body, sha256=o.sha256, kind=o.artifact_kind
        )
        for o in made
    ]
    attempt = NewAttempt(
        node_id=standing.session_id,
        nonce=nonce,
        kind=AttemptKind.CHECKPOINT,
        to_node_id=standing.session_id,
        reply=reply.data,
        reply_template=reply.template,
        keys_generation=keys.generation,
    )
    return _plan(
        actor, standing.session_id, standing.head, drafts, now=now, entropy=entropy, attempt=attempt, made=made
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
            id=derive_id("session", standing.session_id.bytes, nonce, str(index).encode()),
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


def _plan(
    actor: Actor,
    session_id: UUID,
    head: Head,
    drafts: Sequence[EventDraft],
    *,
    now: datetime,
    entropy: Entropy,
    session: NewSession | None = None,
    observations: Mapping[ObservationKey, str] | None = None,
    attempt: NewAttempt | None = None,
    made: Sequence[OutputRow] = (),
) -> Append:
    sealed = seal(
        drafts=drafts,
        session_id=session_id,
        head=head,
        event_ids=[uuid7(unix_ms=_ms(now), random=entropy(10)) for _ in drafts],
        timestamp_ms=_ms(now),
    )
    return Append(
        team_id=actor.team_id,
        session_id=session_id,
        actor=actor.id,
        now=now,
        before=head,
        after=sealed.head,
        events=sealed.events,
        session=session,
        observed={key.value: value for key, value in (observations or {}).items()},
        attempts=[attempt] if attempt else [],
        outputs=made,
    )


def _token(keys: Keys, session_id: UUID, entropy: Entropy) -> str:
    return tokens.mint(keyring=keys.ring, kind=TokenKind.SESSION, node_id=session_id, nonce=entropy(NONCE_BYTES))


def _no_session() -> NotFoundError:
    return NotFoundError("There is no such session.", suggestion="Find the one that is meant, or begin another.")


def _ms(now: datetime) -> int:
    return int(now.timestamp() * 1000)
