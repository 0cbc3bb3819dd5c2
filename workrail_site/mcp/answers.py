"""What a call is answered: a result that the model reads, or a protocol error, as the table of errors says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import orjson
import structlog
from mcp.shared.exceptions import MCPError

from teams_app.engine.errors import WorkrailError
from workflows_app.engine.budgets import fit_bytes
from workrail_site.errors import ERRORS, McpForm, ServiceUnavailableError
from workrail_site.refusals import current_request_id, database_refusal, internal_error

log = structlog.get_logger(__name__)

# Clients refuse results of more than about 25,000 tokens. Each of the two forms of a reply is held to it by itself,
# because a client shows its model one of them.
MAX_REPLY_BYTES = 80 * 1024
# What a list or a document gives at once.
PAGE_BYTES = 32 * 1024
_TAIL_CHARACTERS = 4_000
TRUNCATED = "_truncated"
REDACTED = "_redacted"
OMITTED = "_omitted"
_ASK_FOR_LESS = "Ask for less at once: a page, a part, or one of several."
_CUT = "\n\n[TRUNCATED: the middle of this reply was left out, because clients refuse longer ones]\n\n"
_JSON_LEFT_OUT = (
    "\n\n[TRUNCATED: long fields of the JSON form of this reply were left out, because clients refuse longer ones]"
)
_SHORT_FIELD_BYTES = 1024
# Beside a list there is room for a word on what it leaves out.
_ROOM_OF_A_LIST = MAX_REPLY_BYTES - 1024
_TYPE = "resultType"
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReply:
    """The same in words, for the model, and as JSON. No fact that must be obeyed or sent back stands in only one.

    `meta` is for the client's own code: many clients keep it from their model, so nothing stands in it alone. `data` is
    the value as it was written for the record, where it was: then it is not written again.
    """

    text: str
    value: dict[str, Any]
    meta: Mapping[str, Any] = field(default_factory=dict)
    data: bytes = b""

    def telling(self, *, hidden: Sequence[str]) -> "ToolReply":
        """With a word in both forms on what was taken out of the arguments before anything of them was kept."""
        if not hidden:
            return self
        text = f"{self.text}\n\n[REDACTED: {', '.join(hidden)} held what looks like a secret; it is kept as [redacted]]"
        return replace(self, text=text, value={**self.value, REDACTED: list(hidden)}, data=b"")

    def omitting(self, count: int) -> "ToolReply":
        """With a word in both forms on how many entries of a list it does not tell of."""
        if count <= 0:
            return self
        text = f"{self.text}\n\n[OMITTED: {count} more, each of which is known by its id all the same]"
        return replace(self, text=text, value={**self.value, OMITTED: count}, data=b"")


def as_many_as_fit(
    items: Sequence[_Item], say: Callable[[Sequence[_Item]], ToolReply], *, omitted: int = 0
) -> ToolReply:
    """A list as far as it goes into a reply, and how many more there are: its end is left out, never its middle. `omitted` are those
    that are not among the items.
    """
    kept = items
    reply = say(kept)
    while kept and max(len(reply.text.encode("utf-8")), len(orjson.dumps(reply.value))) > _ROOM_OF_A_LIST:
        kept = kept[: len(kept) * 3 // 4]
        reply = say(kept)
    return reply.omitting(omitted + len(items) - len(kept))


def result_of(reply: ToolReply, *, text_only: bool, written: bool = False) -> dict[str, Any]:
    """The text comes first. A form that clients would refuse for its length is cut, and both forms say that one was.

    `written`: the result is to be written as JSON next, for which its value is put in as it is written already.
    """
    data = reply.data or orjson.dumps(reply.value)
    cut_text = _is_long(reply.text.encode("utf-8"))
    cut_value = _is_long(data)
    text = _cut(reply.text) if cut_text else reply.text
    result = _result(f"{text}{_JSON_LEFT_OUT}" if cut_value and not cut_text else text)
    if not text_only:
        value = _shortened(reply.value) if cut_value else reply.value
        whole = orjson.Fragment(data) if written else value
        result["structuredContent"] = _marked(value, text=cut_text, json=cut_value) if cut_text or cut_value else whole
    if reply.meta:
        result["_meta"] = dict(reply.meta)
    return result


def result_bytes(result: Mapping[str, Any]) -> bytes:
    """As the revisions with sessions have it, which know no type of a result."""
    return orjson.dumps({name: value for name, value in result.items() if name != _TYPE})


def refusal_of(error: Exception) -> WorkrailError:
    """The refusal that an exception stands for. A defect of ours is logged under the request's id and says no more."""
    match error:
        case WorkrailError():
            return error
        case _:
            unavailable = database_refusal(error)
            if unavailable is not None:
                if isinstance(unavailable, ServiceUnavailableError):
                    unavailable.suggestion = "Repeat the same call with the same tokens in a moment."
                return unavailable
            log.error("unhandled_error", exc_info=error)
            refusal = internal_error()
            refusal.details["requestId"] = current_request_id()
            return refusal


def refused(error: WorkrailError) -> dict[str, Any]:
    """The envelope in both forms: some clients show their model only the text of an error, others only the JSON.

    Raises MCPError for what the table calls a protocol error.
    """
    envelope = error.as_json()
    row = ERRORS.get(error.code)
    if row is not None and row.mcp is McpForm.PROTOCOL_ERROR:
        raise protocol_error(error)
    text = orjson.dumps(envelope).decode("utf-8")
    return {**_result(text), "structuredContent": envelope, "isError": True}


def protocol_error(error: WorkrailError, *, code: int | None = None) -> MCPError:
    row = ERRORS[error.code]
    return MCPError(code=row.json_rpc if code is None else code, message=error.message, data=error.as_json())


def _result(text: str) -> dict[str, Any]:
    # The revisions without sessions ask for the type; to the older ones the SDK does not send it.
    return {_TYPE: "complete", "content": [{"type": "text", "text": text}]}


def _is_long(data: bytes) -> bool:
    return len(data) > MAX_REPLY_BYTES


def _cut(text: str) -> str:
    """The beginning and the end, where the tokens stand."""
    tail = text[-_TAIL_CHARACTERS:]
    room = MAX_REPLY_BYTES - len(_CUT.encode()) - len(tail.encode("utf-8"))
    return fit_bytes(text, max_bytes=room, marker="") + _CUT + tail


def _shortened(value: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are short, among which the tokens are."""
    return {name: field for name, field in value.items() if len(orjson.dumps(field)) <= _SHORT_FIELD_BYTES}


def _marked(value: Mapping[str, Any], *, text: bool, json: bool) -> dict[str, Any]:
    forms = [form for form, is_cut in (("text", text), ("structuredContent", json)) if is_cut]
    return {**value, TRUNCATED: {"forms": forms, "maxBytes": MAX_REPLY_BYTES, "suggestion": _ASK_FOR_LESS}}
