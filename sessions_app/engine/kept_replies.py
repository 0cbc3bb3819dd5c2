"""What a call was answered, as its row keeps it: deflated, and read again byte for byte. A row that begins with a brace is as it is."""

from sessions_app.engine.deflation import DeflatedError, deflate, inflate

_PLAIN = b"{"
_DEFLATED = b"\x01"
# What most replies say. Rows are read by it for ever: a better one is another one, named by another first byte.
_WORDS = (
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


class KeptReplyError(ValueError):
    """The row holds no reply that was kept."""


def keep(reply: bytes) -> bytes:
    return _DEFLATED + deflate(reply, words=_WORDS)


def kept(stored: bytes) -> bytes:
    """Raises KeptReplyError."""
    if stored[:1] == _PLAIN:
        return stored
    if stored[:1] != _DEFLATED:
        raise KeptReplyError("It is in no form that this release knows.")
    try:
        return inflate(stored[1:], words=_WORDS)
    except DeflatedError as error:
        raise KeptReplyError(str(error)) from error
