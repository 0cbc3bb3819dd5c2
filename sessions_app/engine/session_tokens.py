"""Who holds a session token, and the token itself: it names its holder and the place of the log that it was minted at.

The position of the run is not in it. An old token therefore leads to where the run stands now, and passes no gate.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sessions_app.engine import tokens
from sessions_app.engine.decisions import derive_id
from sessions_app.engine.log import EventDraft, EventKind
from sessions_app.engine.runs import Dialect
from sessions_app.engine.tokens import NONCE_BYTES, Keyring, TokenKind
from teams_app.engine.ids import Prefix, from_text, to_text
from workflows_app.engine import canonical

MAX_AGENT_CHARACTERS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentContext:
    """The run that a child was dispatched from, and where that stood then."""

    run_id: UUID
    session_id: UUID
    workflow_id: str
    activity: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Handle:
    """One agent of one run. The same agent of the same run always has the same one."""

    id: UUID
    session_id: UUID
    run_id: UUID
    dialect: Dialect
    agent_id: str
    parent: ParentContext | None = None


def handle_of(
    *, session_id: UUID, run_id: UUID, dialect: Dialect, agent_id: str, parent: ParentContext | None = None
) -> Handle:
    return Handle(
        id=derive_id("handle", run_id.bytes, agent_id.encode("utf-8")),
        session_id=session_id,
        run_id=run_id,
        dialect=dialect,
        agent_id=agent_id,
        parent=parent,
    )


def issued_draft(handle: Handle) -> EventDraft:
    name = to_text(Prefix.HANDLE, handle.id)
    data: dict[str, Any] = {"handleId": name, "agentId": handle.agent_id, "dialect": handle.dialect.value}
    if handle.parent is not None:
        parent = handle.parent
        data["parent"] = {
            "runId": to_text(Prefix.RUN, parent.run_id),
            "sessionId": to_text(Prefix.SESSION, parent.session_id),
            "workflowId": parent.workflow_id,
            "activity": parent.activity,
            "version": parent.version,
        }
    return EventDraft(
        kind=EventKind.HANDLE_ISSUED,
        dedupe=f"{EventKind.HANDLE_ISSUED.value}:{name}",
        data=data,
        run_id=handle.run_id,
    )


def handle_from(data: Mapping[str, Any], *, session_id: UUID, run_id: UUID) -> Handle | None:
    """What an event of the log tells."""
    handle_id = from_text(Prefix.HANDLE, data["handleId"])
    if handle_id is None:
        return None
    return Handle(
        id=handle_id,
        session_id=session_id,
        run_id=run_id,
        dialect=Dialect(data["dialect"]),
        agent_id=data["agentId"],
        parent=_parent_from(data.get("parent")),
    )


def _parent_from(data: Mapping[str, Any] | None) -> ParentContext | None:
    if data is None:
        return None
    run_id, session_id = from_text(Prefix.RUN, data["runId"]), from_text(Prefix.SESSION, data["sessionId"])
    if run_id is None or session_id is None:
        return None
    return ParentContext(
        run_id=run_id,
        session_id=session_id,
        workflow_id=data["workflowId"],
        activity=data["activity"],
        version=data["version"],
    )


def mint(*, keyring: Keyring, handle_id: UUID, index: int) -> str:
    """The token of a holder while the log of the session ends at `index`."""
    return tokens.mint(
        keyring=keyring, kind=TokenKind.SESSION, node_id=handle_id, nonce=index.to_bytes(NONCE_BYTES, "big")
    )


def nonce_of(*, token_nonce: bytes, call: str, arguments: Mapping[str, Any]) -> bytes:
    """The same call with the same token is the same attempt; raises `canonical.NotCanonicalError` for what is no JSON."""
    body = canonical.canonical_bytes({"call": call, "arguments": dict(arguments)})
    return hashlib.sha256(token_nonce + body).digest()[:NONCE_BYTES]
