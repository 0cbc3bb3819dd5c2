"""Questions that wait for a person: what is shown, the digest that binds an answer to it, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sessions_app.engine import approvals, prompts
from sessions_app.engine.state import OpenQuestion, Snapshot
from teams_app.engine.errors import WorkrailError, retry_after
from workflows_app.engine import canonical, walker
from workflows_app.engine.filled import filled
from workflows_app.engine.program import Checkpoint, ConfirmationKind, Gate, Parallel, Program, Step, walk_items

APPROVE = "approve"
SEND_BACK = "send_back"
REJECT = "reject"
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
    # The outputs that were handed in for the step whose approval is asked, and the digest of all that came last, context included.
    handed_in: tuple[str, ...] = ()
    work: str = ""

    @property
    def digest(self) -> str:
        """Of all that an answer is bound to: the words, the options, and what was handed in."""
        said: dict[str, Any] = {
            "authority": self.authority.value,
            "checkpointId": self.checkpoint_id,
            "instance": self.instance,
            "message": self.message,
            "options": [option.as_json() for option in self.options],
        }
        if self.handed_in:
            said["handedIn"] = list(self.handed_in)
        if self.work:
            said["work"] = self.work
        return canonical.digest(canonical.canonical_bytes(said))

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
        if self.handed_in:
            body["handedIn"] = list(self.handed_in)
        if self.work:
            body["work"] = self.work
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
    return approval_at(program=program, snapshot=snapshot, due_ms=default_due_ms) if snapshot.work is not None else None


def shown_of(
    checkpoint: Checkpoint, *, instance: str, scope: Mapping[str, Any], default_due_ms: int | None = None
) -> Shown:
    """A checkpoint as it is asked under the variables of the run."""
    checkpoint = filled(checkpoint, variables=scope)
    question = prompts.question_of(checkpoint)
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


APPROVALS = (
    Choice(id=APPROVE, label="Approve", description="The step is done with what was handed in, and the run goes on."),
    Choice(id=SEND_BACK, label="Send back", description="The step is open again, and the agent is told your reason."),
    Choice(id=REJECT, label="Reject", description="The run ends here, with your reason."),
)


def approval_at(*, program: Program, snapshot: Snapshot, due_ms: int | None) -> Shown | None:
    """The question whether the pending step is done with what was handed in for it."""
    pending = prompts.pending_of(program=program, snapshot=snapshot)
    if pending is None:
        return None
    return Shown(
        checkpoint_id=pending.step_id,
        instance=snapshot.position.pending,
        title=pending.title[:_MAX_TITLE_CHARACTERS],
        message=pending.prompt,
        options=APPROVALS,
        authority=Authority.HUMAN,
        due_ms=due_ms,
        handed_in=tuple(handed.output for handed in snapshot.handed_in),
        work="" if snapshot.work is None else snapshot.work.content,
    )


def written_title(*, program: Program, checkpoint_id: str, instance: str) -> str:
    """Of a question that was asked, as the author wrote it: what a run fills into it may be an agent's words. Empty where none is known."""
    named = instance.partition("@")[0]
    within = [activity for activity in program.activities if activity.id == named]
    for activity in within or program.activities:
        titles = {item.id: item.title for item in walk_items(activity.body) if isinstance(item, Step | Parallel)}
        titles |= {checkpoint.id: checkpoint.name for checkpoint in activity.checkpoints}
        if checkpoint_id in titles:
            return titles[checkpoint_id][:_MAX_TITLE_CHARACTERS]
    return ""


def may_ask(program: Program) -> bool:
    """Whether a run of it can stand at a question at all."""
    return any(
        isinstance(item, Gate)
        or (item.confirmation is not None and item.confirmation.confirms is ConfirmationKind.HUMAN_APPROVAL)
        for activity in program.activities
        for item in walk_items(activity.body)
    )


def refuse_too_early(*, asked: OpenQuestion, at_ms: int, min_response_ms: int) -> None:
    """Whoever passes an answer on has shown the question to somebody, who has read it."""
    left_ms = min_response_ms - (at_ms - asked.presented_ms)
    if left_ms <= 0:
        return
    raise CheckpointTooEarlyError(
        f"The question was asked less than {min_response_ms} ms ago; nobody can have read and answered it.",
        suggestion="Show the question to your user, wait for the answer, then make the same call again.",
        details={"minResponseMs": min_response_ms},
        retry=retry_after(ms=left_ms),
    )
