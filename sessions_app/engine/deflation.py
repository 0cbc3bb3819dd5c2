"""What rows keep deflated, and is read again byte for byte, with words that both sides know; and so the events of one transition.

Rows are read by their words for ever; one that begins with a brace is as it is, as the releases before wrote.
An event says on which one it follows by the digest of that. Within a pack this is counted from the bytes before, so it is
left out and put in again.
"""

import hashlib
import zlib
from collections.abc import Sequence

_RAW_DEFLATE = -15
# Most rows and their words fit into a window of 8 KiB. Clearing that and its table takes an eighth of the time of the full ones.
_SMALL_BYTES = 8 * 1024
_SMALL_WINDOW, _SMALL_MEMORY = -13, 7
_FASTEST = 1
MAX_BYTES = 256 * 1024 * 1024


class DeflatedError(ValueError):
    """The bytes were not deflated with these words, or are not all of it, or more than anybody may keep."""


def deflate(data: bytes, *, words: bytes) -> bytes:
    is_small = len(words) + len(data) <= _SMALL_BYTES
    window, memory = (_SMALL_WINDOW, _SMALL_MEMORY) if is_small else (_RAW_DEFLATE, zlib.DEF_MEM_LEVEL)
    deflater = zlib.compressobj(_FASTEST, zlib.DEFLATED, window, memory, zlib.Z_DEFAULT_STRATEGY, words)
    return deflater.compress(data) + deflater.flush()


def inflate(data: bytes, *, words: bytes) -> bytes:
    inflater = zlib.decompressobj(_RAW_DEFLATE, words)
    try:
        found = inflater.decompress(data, MAX_BYTES)
    except zlib.error as error:
        raise DeflatedError(f"It cannot be inflated: {error}.") from error
    if not inflater.eof or inflater.unused_data:
        raise DeflatedError("It ends too early, too late, or is too long.")
    return found


PLAIN = b"{"
DEFLATED = b"\x01"
# Neither is in canonical JSON: it has no white space, and UTF-8 has no such byte.
_BETWEEN = b"\n"
_PREVIOUS = b"\xff"

# What most events say. Rows are read by it for ever: a better one is another one, named by another first byte.
_WORDS_OF_EVENTS = (
    b'"effective":{"autonomy":"full_auto_stop_on_user_deps","riskPolicy":"balanced"},"source":"delta","warnings":[]}'
    b'{"data":{"attemptId":"attempt_","result":{"issues":[],"suggestions":[],"valid":false},"validationId":"val_attempt_"}'
    b'"category":"contract_violation","detail":"severity":"critical","summary":"gapId":"gap_","resolution":{"kind":"unresolved"}'
    b'"dedupeKey":"gap_recorded:gap_","dedupeKey":"validation_performed:attempt_","dedupeKey":"context_set:run_:attempt_'
    b'{"data":{"contextId":"ctx_attempt_","delta":{},"source":"agent_delta"},"dedupeKey":"checkpoint_presented:node_'
    b'{"data":{"activityId":"attemptId":"attempt_","claimedCondition":"visit":1},"dedupeKey":"activity_entered:attempt_'
    b'{"data":{"preferences":{"autonomy":"guided","riskPolicy":"conservative"},"title":"'
    b'"},"dedupeKey":"session_created:sess_","eventId":"evt_","eventIndex":0,"kind":"session_created",'
    b'"previousDigest":"sha256:0000000000000000000000000000000000000000000000000000000000000000","sessionId":"sess_'
    b'{"data":{"goal":"","title":"","triggerSource":"mcp","workflowHash":"sha256:","workflowId":"","workflowSourceKind":"team"},'
    b'"dedupeKey":"run_started:run_","eventId":"evt_","eventIndex":1,"kind":"run_started","previousDigest":"'
    b'{"data":{"changeId":"pref_attempt_","delta":[{"key":"autonomy","value":"guided"},{"key":"riskPolicy",'
    b'"value":"conservative"}],"effective":{"autonomy":"guided","riskPolicy":"conservative"},"source":"system","warnings":[]},'
    b'"dedupeKey":"preferences_changed:run_:node_","eventId":"evt_","eventIndex":2,"kind":"preferences_changed"'
    b'{"data":{"outputChannel":"artifact","outputId":"out_artifact_","payload":{"artifactKind":"","content":{},'
    b'"payloadKind":"artifact_ref","sha256":"sha256:'
    b'{"data":{"outputChannel":"recap","outputId":"out_recap_","payload":{"notesMarkdown":"","payloadKind":"notes"}},'
    b'"dedupeKey":"node_output_appended:out_recap_","eventId":"evt_","eventIndex":9,"kind":"node_output_appended"'
    b'{"data":{"attemptId":"attempt_","entries":[{"kind":"entered_loop","refs":{"iteration":"0","loopId":""},'
    b'"summary":"Entered loop "},{"kind":"selected_next_step","refs":{"stepId":""},"summary":"Next is "}],'
    b'"traceId":"trace_attempt_"},"dedupeKey":"decision_trace_appended:attempt_","kind":"decision_trace_appended"'
    b'{"data":{"nodeKind":"step","parentNodeId":"node_","pending":"","preferences":{"autonomy":"guided",'
    b'"riskPolicy":"conservative"},"snapshotRef":"sha256:","workflowHash":"sha256:"},"dedupeKey":"node_created:node_'
    b'"kind":"node_created"'
    b'{"data":{"cause":{"attemptId":"attempt_","kind":"tip_advance"},"edgeKind":"acked_step","fromNodeId":"node_","toNodeId":"node_'
    b'"},"dedupeKey":"edge_created:node_->node_:acked_step","kind":"edge_created","previousDigest":"\xff"'
    b'{"data":{"attemptId":"attempt_","intent":"ack_pending","outcome":{"kind":"advanced","toNodeId":"node_"}},'
    b'"dedupeKey":"advance_recorded:node_:attempt_","eventId":"evt_","eventIndex":5,"kind":"advance_recorded",'
    b'"previousDigest":"sha256:","scope":{"nodeId":"node_","runId":"run_"},"sessionId":"sess_","timestampMs":179,"v":1}\n'
)  # fmt: skip


class PackError(ValueError):
    """The row holds no events that were packed."""


def pack(bodies: Sequence[bytes], digests: Sequence[str]) -> bytes:
    """The canonical bytes of events that follow each other, with the digest of each."""
    lines = [bodies[0]]
    for body, previous in zip(bodies[1:], digests, strict=False):
        lines.append(body.replace(previous.encode(), _PREVIOUS))
    return DEFLATED + deflate(_BETWEEN.join(lines), words=_WORDS_OF_EVENTS)


def unpack(data: bytes, *, count: int) -> tuple[bytes, ...]:
    """The canonical bytes of each event. Raises PackError."""
    if data[:1] == PLAIN and count == 1:
        return (data,)
    if data[:1] != DEFLATED:
        raise PackError("It is in no form that this release knows.")
    try:
        lines = inflate(data[1:], words=_WORDS_OF_EVENTS).split(_BETWEEN)
    except DeflatedError as error:
        raise PackError(str(error)) from error
    if len(lines) != count:
        raise PackError(f"It holds {len(lines)} events, and is said to hold {count}.")
    for at in range(1, count):
        previous = f"sha256:{hashlib.sha256(lines[at - 1]).hexdigest()}"
        lines[at] = lines[at].replace(_PREVIOUS, previous.encode())
    return tuple(lines)
