"""Questions that wait for a person: what is shown, the digest that binds an answer to it, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sessions_app.engine import approvals, prompts
from sessions_app.engine.state import Asked, Snapshot
from teams_app.engine.errors import WorkrailError, retry_after
from teams_app.engine.ids import birth_ms
from workflows_app.engine import canonical, walker
from workflows_app.engine.program import Checkpoint, ConfirmationKind, Gate, Program, walk_items

APPROVE = "approve"
MAX_REASON_CHARACTERS = 2000
_MAX_TITLE_CHARACTERS = 256


class Authority(StrEnum):
    """Whose word an answer is: the user's as the agent passes it on, a signed-in person's, or a default's."""

    RELAYED = "relayed"
    HUMAN = "human"
    DEFAULT = "default"


class CheckpointState(StrEnum):
    """Withdrawn: the run goes on elsewhere; the question stays answerable. Stale: it is asked in other words."""

    OPEN = "open"
    ANSWERED = "answered"
    WITHDRAWN = "withdrawn"
    STALE = "stale"


UNANSWERED = frozenset({CheckpointState.OPEN, CheckpointState.WITHDRAWN})


class CheckpointStaleError(WorkrailError):
    """What the person answered is not what is asked."""

    code = "CHECKPOINT_STALE"


class CheckpointAnsweredError(WorkrailError):
    """Somebody has answered before."""

    code = "CHECKPOINT_ANSWERED"


class CheckpointClaimedError(WorkrailError):
    """Somebody else has taken the question upon them."""

    code = "CHECKPOINT_CLAIMED"


class CheckpointTooEarlyError(WorkrailError):
    """The answer came before anybody can have read the question."""

    code = "CHECKPOINT_TOO_EARLY"
    default_retry = retry_after(ms=3_000)


class HumanRequiredError(WorkrailError):
    """Only a signed-in person does this; no key has the right, whatever its scopes."""

    code = "HUMAN_REQUIRED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    id: str
    label: str
    description: str = ""

    def as_json(self) -> dict[str, str]:
        return {"id": self.id, "label": self.label, "description": self.description}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A question as a person reads it. `instance` is the key of the gate: a loop's second round asks again."""

    checkpoint_id: str
    instance: str
    title: str
    message: str
    options: tuple[Choice, ...]
    authority: Authority
    due_ms: int | None = None

    @property
    def digest(self) -> str:
        return canonical.digest(
            canonical.canonical_bytes(
                {
                    "authority": self.authority.value,
                    "checkpointId": self.checkpoint_id,
                    "instance": self.instance,
                    "message": self.message,
                    "options": [option.as_json() for option in self.options],
                },
            ),
        )

    def as_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "checkpointId": self.checkpoint_id,
            "instance": self.instance,
            "title": self.title,
            "message": self.message,
            "options": [option.as_json() for option in self.options],
            "authority": self.authority.value,
            "digest": self.digest,
        }
        return body if self.due_ms is None else {**body, "dueMs": self.due_ms}

    def due_at(self, presented_ms: int) -> datetime | None:
        return None if self.due_ms is None else datetime.fromtimestamp((presented_ms + self.due_ms) / 1000, tz=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """Who answers, through which door, and why."""

    who: str = ""
    door: str = ""
    reason: str = ""


NOBODY = Voice()
# The door of an answer that a client had from its user in a form of its own.
CLIENT_FORM = "client_form"


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """What became of a question. `request` is the node at which it was asked first; only an answer has the rest."""

    request: UUID
    state: CheckpointState
    option: str = ""
    authority: Authority | None = None
    voice: Voice = NOBODY


def shown_at(*, program: Program, snapshot: Snapshot, default_due_ms: int | None = None) -> Shown | None:
    """The question that a node waits for; None where it waits for none."""
    item = walker.item_at(program, snapshot.position)
    if item is None:
        return None
    scope = walker.scope_at(program=program, position=snapshot.position, variables=snapshot.variables)
    if isinstance(item, Gate):
        checkpoint = approvals.checkpoint_of(program, snapshot, item)
        if checkpoint is None:
            return None
        return shown_of(checkpoint, instance=snapshot.position.pending, scope=scope, default_due_ms=default_due_ms)
    if approvals.asked_of(program, snapshot, item, scope=scope) is not ConfirmationKind.HUMAN_APPROVAL:
        return None
    pending = prompts.pending_of(program=program, snapshot=snapshot)
    return approval_of(
        item_id=item.id,
        title=pending.title if pending else item.title,
        message=pending.prompt if pending else "",
        instance=snapshot.position.pending,
        due_ms=default_due_ms,
    )


def shown_of(
    checkpoint: Checkpoint, *, instance: str, scope: Mapping[str, Any], default_due_ms: int | None = None
) -> Shown:
    """A checkpoint as it is asked under the variables of the run."""
    question = prompts.question_of(checkpoint, scope)
    own = checkpoint.extra.get("dueMs")
    return Shown(
        checkpoint_id=checkpoint.id,
        instance=instance,
        title=checkpoint.name[:_MAX_TITLE_CHARACTERS],
        message=question.message,
        options=tuple(Choice(id=id_, label=label, description=text) for id_, label, text in question.options),
        authority=Authority.HUMAN if checkpoint.human else Authority.RELAYED,
        due_ms=own if isinstance(own, int) and own > 0 else default_due_ms,
    )


def approval_of(*, item_id: str, title: str, message: str, instance: str, due_ms: int | None) -> Shown:
    """The question whether a step that asks for a person's approval may be finished."""
    return Shown(
        checkpoint_id=item_id,
        instance=instance,
        title=title[:_MAX_TITLE_CHARACTERS],
        message=message,
        options=(Choice(id=APPROVE, label="Approve", description="The step may be finished."),),
        authority=Authority.HUMAN,
        due_ms=due_ms,
    )


def may_ask(program: Program) -> bool:
    """Whether a run of it can stand at a question at all."""
    return any(
        isinstance(item, Gate)
        or (item.confirmation is not None and item.confirmation.confirms is ConfirmationKind.HUMAN_APPROVAL)
        for activity in program.activities
        for item in walk_items(activity.body)
    )


def refuse_too_early(*, asked: Asked, at_ms: int, min_response_ms: int) -> None:
    """Whoever passes an answer on has shown the question to somebody, who has read it."""
    refuse_unread(presented_ms=birth_ms(UUID(hex=asked.node)), at_ms=at_ms, min_response_ms=min_response_ms)


def refuse_unread(*, presented_ms: int, at_ms: int, min_response_ms: int) -> None:
    left_ms = min_response_ms - (at_ms - presented_ms)
    if left_ms <= 0:
        return
    raise CheckpointTooEarlyError(
        f"The question was asked less than {min_response_ms} ms ago; nobody can have read and answered it.",
        suggestion="Show the question to your user, wait for the answer, then call again with the same tokens.",
        details={"minResponseMs": min_response_ms},
        retry=retry_after(ms=left_ms),
    )
