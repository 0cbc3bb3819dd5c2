"""What the words of a call and of its reply say about where it belongs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sessions_app.engine.tokens import Keyring, TokenKind, read_any
from teams_app.engine.ids import Prefix, from_text
from traces_app.engine.redaction import MAX_TEXT_CHARACTERS, redact_text

MAX_AGENT_CHARACTERS = 128
MAX_WARNINGS = 50
_CODE_CHARACTERS = 64
_AGENT_NAMES = ("agent_id", "agentId")
_OF_NODES = (TokenKind.STATE, TokenKind.ACK, TokenKind.BOOKMARK)
_SESSION_ID_NAMES = ("sessionId", "session_id", "session")
_RUN_ID_NAMES = ("runId", "run_id", "run")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFacts:
    """What is named is only what the caller wrote; whose it is, nobody has looked up yet."""

    session_id: UUID | None = None
    run_id: UUID | None = None
    node_id: UUID | None = None
    named_session_id: UUID | None = None
    named_run_id: UUID | None = None
    agent_id: str = ""
    warnings: Sequence[Mapping[str, str]] = ()


def facts_of(*, arguments: Mapping[str, Any], reply: Mapping[str, Any] | None, keyring: Keyring) -> CallFacts:
    """Ids in a reply are ours. Of the arguments a token that verifies names a node, and so does a node's id."""
    told = reply or {}
    tokens = _tokens_in(arguments, keyring)
    node_id = next((tokens[kind] for kind in _OF_NODES if kind in tokens), None)
    inner = told.get("session")
    where: Mapping[str, Any] = inner if isinstance(inner, Mapping) else told
    return CallFacts(
        session_id=_first_id(Prefix.SESSION, where, _SESSION_ID_NAMES),
        run_id=_first_id(Prefix.RUN, where, _RUN_ID_NAMES),
        node_id=node_id or _id(Prefix.NODE, arguments.get("node")),
        named_session_id=tokens.get(TokenKind.SESSION) or _first_id(Prefix.SESSION, arguments, _SESSION_ID_NAMES),
        named_run_id=_first_id(Prefix.RUN, arguments, _RUN_ID_NAMES),
        agent_id=agent_named(arguments=arguments),
        warnings=read_warnings(told.get("warnings")),
    )


def agent_named(*, arguments: Mapping[str, Any]) -> str:
    named = next((arguments[name] for name in _AGENT_NAMES if isinstance(arguments.get(name), str)), "")
    return agent_name(named)


def agent_name(text: str) -> str:
    """As it is kept: whoever is asked for a name may give anything, and what hides a secret may be longer than that."""
    return redact_text(text=text.strip()[:MAX_AGENT_CHARACTERS], max_characters=MAX_AGENT_CHARACTERS)[
        :MAX_AGENT_CHARACTERS
    ]


def read_warnings(value: Any) -> tuple[dict[str, str], ...]:
    """Warnings as replies print them: objects with a code and a message, or plain texts."""
    return tuple(_warnings(value)) if isinstance(value, list | tuple) else ()


def _warnings(value: Sequence[Any]) -> Iterator[dict[str, str]]:
    for item in value[:MAX_WARNINGS]:
        code, message = (item.get("code", ""), item.get("message", "")) if isinstance(item, Mapping) else ("", item)
        yield {
            "code": str(code)[:_CODE_CHARACTERS],
            "message": redact_text(text=str(message), max_characters=MAX_TEXT_CHARACTERS),
        }


def _id(prefix: Prefix, text: Any) -> UUID | None:
    return from_text(prefix, text) if isinstance(text, str) else None


def _first_id(prefix: Prefix, told: Mapping[str, Any], names: Iterable[str]) -> UUID | None:
    found = (_id(prefix, told.get(name)) for name in names)
    return next((row_id for row_id in found if row_id is not None), None)


def _tokens_in(arguments: Mapping[str, Any], keyring: Keyring) -> dict[TokenKind, UUID]:
    """What the tokens among the arguments name, whatever the tool calls them."""
    texts = (value for value in arguments.values() if isinstance(value, str))
    found = (read_any(keyring=keyring, text=text) for text in texts)
    return {token.kind: token.node_id for token in found if token is not None}
