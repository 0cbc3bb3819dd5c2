"""Calls of tools that begin something, named by their callers: begun once, and answered again what they were answered."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from django.utils import timezone

from teams_app.api.named import begin_once
from workrail_site.mcp.answers import ToolReply
from workrail_site.mcp.calling import acting, call_name


class _WrittenReply(msgspec.Struct, frozen=True):
    """A reply as it is kept: by MCP both of its forms are answered, by REST its value."""

    text: str
    value: dict[str, Any]
    meta: dict[str, Any]


def reply_once(*, place: str, given: Mapping[str, Any], begin: Callable[[], ToolReply]) -> ToolReply:
    """The reply of `begin`, or the one that a call of this name had before."""
    name = call_name()
    if not name:
        return begin()

    def written() -> bytes:
        reply = begin()
        return msgspec.json.encode(_WrittenReply(text=reply.text, value=reply.value, meta=dict(reply.meta)))

    said = begin_once(actor=acting(), name=name, place=place, body=given, now=timezone.now(), begin=written)
    kept = msgspec.json.decode(said, type=_WrittenReply)
    return ToolReply(text=kept.text, value=kept.value, meta=kept.meta)
