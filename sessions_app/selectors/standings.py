"""What one statement reads of a node or a session: all that a transition from it must know."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from sessions_app.engine import deflation, seals
from sessions_app.engine.log import Head, NodeKind
from sessions_app.engine.runs import ObservationKey, Recorded, RunStatus
from sessions_app.engine.state import Preferences
from sessions_app.engine.tokens import SessionNotHealthyError
from sessions_app.models import Attempt
from teams_app.engine.ids import birth_ms
from workflows_app.engine.program import Autonomy, RiskPolicy
from workflows_app.selectors.asked import asked, prepared_cursor

# What most replies say. Rows are read by it for ever: a better one is another one, named by another first byte.
_WORDS_OF_REPLIES = (
    b'{"kind":"blocked","blockers":[{"code":"USER_ONLY_DEPENDENCY","pointer":{"kind":"","message":"","suggestedFix":""}],'
    b'"retryable":true,"retryAckToken":"ack.v1.","validation":{"issues":[],"suggestions":[]},"assessmentFollowup":'
    b'{"success":true,"position":{"workflow":"","activity":"","step":"","loopStack":[]},"message":"","availableActions":'
    b'{"required":[{"action":"complete_step","step":""}],"optional":[],"blocked":[]},"checkpoint":{"id":"","options":['
    b'"activity_id":"","session_token":"ses.v1.","steps":[{"id":"","name":"","description":""}],"transitions":[{"to":"",'
    b'"variables":{},"_meta":{"session_token":"","validation":{"status":"valid","warnings":[]}}}'
    b'"recap":{"notes":[{"stepId":"","text":""}],"leftOut":0},"siblings":[],"isFork":false,"recordedBefore":"",'
    b'{"kind":"ok","stateToken":"st.v1.01m","pending":null,"isComplete":true,"session":{"sessionId":"sess_","runId":"run_"},'
    b'"nextIntent":"complete","nextCall":null,"waitsForPerson":{"address":"","checkpoint":"","title":""},'
    b'"context":{},"artifacts":[{"kind":"wr.assessment","assessmentId":"","dimensions":{}}],"gaps":[{"severity":"critical",'
    b'"status":"waiting","message":"The run waits for a person.","capabilities":{"delegation":"unknown","web_browsing":"unknown"},'
    b'{"kind":"ok","stateToken":"st.v1.01m","pending":{"stepId":"step-","title":"","prompt":"","agentRole":"","guidance":[],'
    b'"requireConfirmation":false,"stepKey":"","outputRequirements":["Notes in output.notesMarkdown: what was done, what was '
    b'found, what is next."],"loop":{"id":"","round":1,"atMost":10}},"isComplete":false,"session":{"sessionId":"sess_'
    b'","runId":"run_"},"preferences":{"autonomy":"guided","riskPolicy":"conservative"},"nextIntent":'
    b'"perform_pending_then_continue","nextCall":{"tool":"continue_workflow","params":{"stateToken":"st.v1.01m","ackToken":'
    b'"ack.v1.00t","output":{"notesMarkdown":"<what you did, what you found, what is next>"}}},"warnings":[],"workflow":{"id":"",'
    b'"title":"","workflowHash":"sha256:"},"ackToken":"ack.v1.00t","checkpointToken":"chk.v1.00t"}'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A node with all that an advance from it must know, as one statement saw it."""

    node_id: UUID
    session_id: UUID
    run_id: UUID
    node_kind: NodeKind
    snapshot: bytes
    snapshot_digest: str
    head: Head
    workflow_id: str
    workflow_title: str
    workflow_hash: str
    goal: str
    run_status: RunStatus
    tip_node_id: UUID
    has_children: bool
    has_gaps: bool
    # That never to stop was taken back in the run after this node, or the one that was read for it, was made.
    has_withdrawal: bool
    recorded: Recorded | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStanding:
    """A session's head, its baseline, and what was recorded for an attempt that names the session itself."""

    session_id: UUID
    title: str
    parent_id: UUID | None
    head: Head
    baseline: Preferences
    observed: Mapping[ObservationKey, str]
    recorded: Recorded | None


# Of a use that was answered before, which is a reply read and not made: what was kept of it is read with it.
def _recorded_with(outputs: str) -> str:
    return f"""a.reply, a.reply_template, a.keys_generation, a.to_node_id,
       CASE WHEN a.node_id IS NOT NULL THEN
           (SELECT array_agg(ARRAY[o.channel::text, o.body]) FROM sessions_app_output o
            WHERE o.team_id = a.team_id AND {outputs}) END"""  # noqa: S608  constants only


_RECORDED = _recorded_with("o.to_node_id = a.to_node_id")
# What was noted on a session is at no node; its rows are named by the use of the token.
_NOTED = _recorded_with("o.id = ANY($4::uuid[])")
_RECORDED_COUNT = 5

# Never to stop was taken back after the node was made, which only a node asks that has it. The node before is looked up by its id:
# joined, it may be looked for among all.
_WITHDRAWN = f"""n.autonomy = '{Autonomy.NEVER_STOP.value}' AND EXISTS (
         SELECT 1 FROM sessions_app_node c
         WHERE c.run_id = n.run_id AND c.event_index > n.event_index AND c.autonomy <> '{Autonomy.NEVER_STOP.value}'
           AND (SELECT p.autonomy FROM sessions_app_node p WHERE p.id = c.parent_id) = '{Autonomy.NEVER_STOP.value}')"""  # noqa: S608  constants only

# Without a seal is what a release before has written until it is entered in a ledger. From then on it had one, and somebody took it.
_HEAD = """s.next_event_index, s.head_digest, s.team_id, COALESCE(NULLIF(s.head_seal, ''), (
           SELECT ' ' FROM sessions_app_ledgerentry e WHERE e.team_id = s.team_id AND e.session_id = s.id LIMIT 1), '')"""
_HEAD_COUNT = 4

# The snapshot is looked up by both halves of its key, whatever the planner believes of the table: joined, it may be filtered
# from all snapshots of the team while nobody has analysed them yet.
STANDING = f"""n.id, n.session_id, n.run_id, n.kind,
       (SELECT sn.data FROM sessions_app_snapshot sn WHERE sn.team_id = n.team_id AND sn.digest = n.snapshot_digest),
       n.snapshot_digest, {_HEAD},
       r.workflow_id, r.workflow_title, r.workflow_hash, r.goal, r.status, r.tip_node_id,
       EXISTS (SELECT 1 FROM sessions_app_node c WHERE c.parent_id = n.id AND c.kind <> 'checkpoint'),
       EXISTS (SELECT 1 FROM sessions_app_gap g
               WHERE g.run_id = n.run_id AND g.severity = 'critical' AND g.resolved_by_id IS NULL),
       {_WITHDRAWN},
       {_RECORDED}"""  # noqa: S608  constants only

_READ = f"""
SELECT {STANDING}
FROM sessions_app_node n
JOIN sessions_app_worksession s ON s.id = n.session_id
JOIN sessions_app_run r ON r.id = n.run_id
LEFT JOIN sessions_app_attempt a ON a.node_id = n.id AND a.nonce = $2
WHERE n.id = $1 AND n.team_id = $3
"""  # noqa: S608  constants only

_READ_TIP = f"""
SELECT {STANDING}
FROM sessions_app_run r
JOIN sessions_app_node n ON n.id = r.tip_node_id
JOIN sessions_app_worksession s ON s.id = r.session_id
LEFT JOIN sessions_app_attempt a ON false
WHERE r.id = $1 AND r.team_id = $2
"""  # noqa: S608  constants only

_READ_WITHDRAWN = f"SELECT {_WITHDRAWN} FROM sessions_app_node n WHERE n.id = $1 AND n.team_id = $2"  # noqa: S608  constants only

_READ_RECORDED = f"""
SELECT {_RECORDED}
FROM sessions_app_attempt a WHERE a.node_id = $1 AND a.nonce = $2 AND a.team_id = $3
"""  # noqa: S608  constants only

_READ_SESSION = f"""
SELECT {_HEAD}, s.title, s.parent_id, s.autonomy, s.risk_policy, s.waived_by,
       s.git_branch, s.git_head_sha, s.repository, s.ticket, {_NOTED}
FROM sessions_app_worksession s
LEFT JOIN sessions_app_attempt a ON a.node_id = s.id AND a.nonce = $2
WHERE s.id = $1 AND s.team_id = $3
"""  # noqa: S608  constants only


@asked
def read_standing(*, team_id: UUID, node_id: UUID, nonce: bytes) -> Standing | None:
    """One node of the team and what was recorded for this attempt at it; None when the team has no such node."""
    row = prepared_cursor().execute(_READ, [node_id, nonce, team_id]).fetchone()
    return None if row is None else standing_of(row)


@asked
def read_tip(*, team_id: UUID, run_id: UUID) -> Standing | None:
    """Where a run stands: its tip and the head of its log as one moment had them, so what goes on from it makes no fork."""
    row = prepared_cursor().execute(_READ_TIP, [run_id, team_id]).fetchone()
    return None if row is None else standing_of(row)


def standing_of(row: Sequence[Any]) -> Standing:
    """The columns of `STANDING`."""
    rest = row[6 + _HEAD_COUNT :]
    return Standing(
        node_id=row[0],
        session_id=row[1],
        run_id=row[2],
        node_kind=NodeKind(row[3]),
        # None only when its row is gone, which the digest then tells.
        snapshot=row[4] or b"",
        snapshot_digest=row[5],
        head=stored_head(row[1], row[6 : 6 + _HEAD_COUNT]),
        workflow_id=rest[0],
        workflow_title=rest[1],
        workflow_hash=rest[2],
        goal=rest[3],
        run_status=RunStatus(rest[4]),
        tip_node_id=rest[5],
        has_children=rest[6],
        has_gaps=rest[7],
        has_withdrawal=rest[8],
        recorded=_recorded(rest[9 : 9 + _RECORDED_COUNT]),
    )


def stored_head(session_id: UUID, columns: Sequence[Any]) -> Head:
    """The columns of `_HEAD`. Where there is no seal there is no doubt."""
    next_index, digest, team_id, stored = columns
    head = Head(next_index=next_index, digest=digest)
    if not stored:
        return head
    doubts = seals.doubts_of_head(settings.SEAL_KEYS, stored, session_id=session_id, team_id=team_id, head=head)
    return Head(next_index=next_index, digest=digest, doubts=doubts) if doubts else head


@asked
def is_withdrawn(*, team_id: UUID, node_id: UUID) -> bool:
    """Whether never to stop was taken back in the run after the node was made, on whichever of its branches."""
    row = prepared_cursor().execute(_READ_WITHDRAWN, [node_id, team_id]).fetchone()
    return row is not None and bool(row[0])


@asked
def read_recorded(*, team_id: UUID, node_id: UUID, nonce: bytes) -> Recorded | None:
    """What was answered to an attempt that names no node: a request to start."""
    row = prepared_cursor().execute(_READ_RECORDED, [node_id, nonce, team_id]).fetchone()
    return None if row is None else _recorded(row)


@asked
def is_request_known(*, team_id: UUID, node_id: UUID) -> bool:
    """Whether anything was answered under this name of a request, whatever it asked for."""
    return Attempt.objects.filter(team_id=team_id, node_id=node_id).exists()


@asked
def read_session(
    *, team_id: UUID, session_id: UUID, nonce: bytes = b"", noted: Sequence[UUID] = ()
) -> SessionStanding | None:
    """`noted` are the rows that this use of a token wrote, if it was used."""
    row = prepared_cursor().execute(_READ_SESSION, [session_id, nonce, team_id, list(noted)]).fetchone()
    if row is None:
        return None
    rest = row[_HEAD_COUNT:]
    return SessionStanding(
        session_id=session_id,
        title=rest[0],
        parent_id=rest[1],
        head=stored_head(session_id, row[:_HEAD_COUNT]),
        baseline=Preferences(autonomy=Autonomy(rest[2]), risk_policy=RiskPolicy(rest[3]), waived_by=rest[4]),
        observed=dict(zip(ObservationKey, rest[5:9], strict=True)),
        recorded=_recorded(rest[9 : 9 + _RECORDED_COUNT]),
    )


def _recorded(columns: Sequence[Any]) -> Recorded | None:
    reply, template, generation, to_node_id, kept = columns
    if reply is None:
        return None
    return Recorded(
        reply=_sound_reply(reply),
        reply_template=template,
        keys_generation=generation,
        to_node_id=to_node_id,
        kept=tuple((channel, body) for channel, body in kept or ()),
    )


def _sound_reply(stored: bytes) -> bytes:
    try:
        return kept_reply(stored)
    except KeptReplyError as error:
        raise SessionNotHealthyError(
            "What is stored of this reply is not what was answered.",
            suggestion="Tell the operators of the server: `./workrail verify_store` shows what is damaged.",
            details={"health": "unreadable"},
        ) from error


def birth_date(session_id: UUID) -> date:
    """The first day of the month in which the session was born: the partition of its events."""
    return datetime.fromtimestamp(birth_ms(session_id) / 1000, tz=UTC).date().replace(day=1)


class KeptReplyError(ValueError):
    """The row holds no reply that was kept."""


def keep_reply(reply: bytes) -> bytes:
    return deflation.DEFLATED + deflation.deflate(reply, words=_WORDS_OF_REPLIES)


def kept_reply(stored: bytes) -> bytes:
    """Raises KeptReplyError."""
    if stored[:1] == deflation.PLAIN:
        return stored
    if stored[:1] != deflation.DEFLATED:
        raise KeptReplyError("It is in no form that this release knows.")
    try:
        return deflation.inflate(stored[1:], words=_WORDS_OF_REPLIES)
    except deflation.DeflatedError as error:
        raise KeptReplyError(str(error)) from error
