"""What a run, a question or a node is in, as people read it: one word, one shape. No value of an enum reaches a reader."""

from datetime import datetime, timedelta

from sessions_app.engine.checkpoints import CheckpointState
from sessions_app.engine.log import NodeKind
from sessions_app.engine.runs import RunStatus
from teams_app.admin.parts import State

IDLE_AFTER = timedelta(hours=1)

APPROVE, SEND_BACK, REJECT = "approve", "send_back", "reject"
# Options that every approval has; those of a workflow's own have names of their own.
VERDICTS = frozenset({APPROVE, SEND_BACK, REJECT})
VERDICT_LABELS = {APPROVE: "Approve", SEND_BACK: "Send back", REJECT: "Reject"}

# By value, as below: what is kept in a row may be of another version.
AUTONOMY_WORDS = {
    "guided": "guided",
    "full_auto_stop_on_user_deps": "full auto that may stop",
    "full_auto_never_stop": "full auto that never stops",
}

IDLE = State(shape="idle", word="Idle")
WAITING = State(shape="waiting", word="Waiting")
# By value: the set of statuses grows, and a list must not fail over one that is new.
_RUNS = {
    "in_progress": State(shape="running", word="Running"),
    "waiting": WAITING,
    "blocked": State(shape="blocked", word="Blocked"),
    "paused": State(shape="paused", word="Paused"),
    "complete": State(shape="done", word="Done"),
    "complete_with_gaps": State(shape="gaps", word="Gaps"),
    "rejected": State(shape="rejected", word="Rejected"),
    "cancelled": State(shape="cancelled", word="Cancelled"),
}
ENDED = frozenset({"complete", "complete_with_gaps", "rejected", "cancelled"})

_ANSWERS = {
    APPROVE: State(shape="approved", word="Approved"),
    SEND_BACK: State(shape="sentback", word="Sent back"),
    REJECT: State(shape="rejected", word="Rejected"),
}
_ANSWERED = State(shape="approved", word="Answered")
_OVERDUE = State(shape="overdue", word="Overdue")
_OPEN = State(shape="waiting", word="Open")
_CLAIMED = State(shape="question", word="Claimed")
_CHANGED = State(shape="changed", word="Changed")
_LEFT = State(shape="left", word="Left")

_NODES = {
    NodeKind.STEP: "step",
    NodeKind.BOOKMARK: "bookmark",
    NodeKind.BLOCKED_ATTEMPT: "blocked",
    NodeKind.GATE: "waiting",
}
_NODE_WORDS = {
    "child": "Child run",
    "step": "Step",
    "bookmark": "Bookmark",
    "blocked": "Blocked attempt",
    "waiting": "Question",
}


def run_state(status: RunStatus, *, last_activity_at: datetime, now: datetime, waits: bool = False) -> State:
    """A run that waits for a person is Waiting in every dialect; one that nobody has called for an hour is Idle."""
    if waits and status.value not in ENDED:
        return WAITING
    if status is RunStatus.IN_PROGRESS and now - last_activity_at > IDLE_AFTER:
        return IDLE
    return _RUNS[status.value]


def question_state(
    *, state: CheckpointState, option_id: str, is_overdue: bool = False, is_claimed_by_another: bool = False
) -> State:
    match state:
        case CheckpointState.ANSWERED:
            return _ANSWERS.get(option_id, _ANSWERED)
        case CheckpointState.STALE:
            return _CHANGED
        case CheckpointState.WITHDRAWN:
            return _LEFT
        case CheckpointState.OPEN:
            if is_claimed_by_another:
                return _CLAIMED
            return _OVERDUE if is_overdue else _OPEN


def answer_word(*, option_id: str, label: str) -> str:
    """What somebody has said: of a workflow's own options the one that was chosen."""
    return _ANSWERS[option_id].word if option_id in _ANSWERS else label or _ANSWERED.word


def node_shape(kind: NodeKind) -> str:
    return _NODES[kind]


def shape_word(shape: str) -> str:
    return _NODE_WORDS.get(shape, "Question")


def mode(autonomy: str, risk_policy: str) -> str:
    return f"{AUTONOMY_WORDS.get(autonomy, autonomy)}, {risk_policy}"
