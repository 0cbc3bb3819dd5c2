"""Answers of the navigation tools: JSON with two spaces as text, and the same value as structured content."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from workrail_site.mcp.answers import MAX_REPLY_BYTES, ToolReply, as_many_as_fit


def told(value: Mapping[str, Any]) -> ToolReply:
    return ToolReply(text=_text(value), value=dict(value))


def listed(key: str, items: Sequence[Any], *, omitted: int = 0) -> ToolReply:
    """The text is the bare list; structured content must be an object, so there it stands under a name."""

    def say(kept: Sequence[Any]) -> ToolReply:
        return ToolReply(text=_text(kept), value={key: list(kept)})

    return as_many_as_fit(items, say, omitted=omitted)


def is_long(reply: ToolReply) -> bool:
    return len(reply.text.encode("utf-8")) > MAX_REPLY_BYTES


def _text(value: Any) -> str:
    """Indented where that fits into a reply, else on one line."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2)
    return (text if len(text) <= MAX_REPLY_BYTES else orjson.dumps(value)).decode("utf-8")
