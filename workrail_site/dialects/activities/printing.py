"""How replies of these dialects are printed: what an agent must send back stands in the text, and in `_meta` as well."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from workrail_site.mcp.answers import MAX_REPLY_BYTES, ToolReply, as_many_as_fit


def told(value: Mapping[str, Any], *, meta: Mapping[str, Any] | None = None) -> ToolReply:
    return ToolReply(text=json_text(value), value=dict(value), meta=meta or {})


def listed(key: str, items: Sequence[Any], *, omitted: int = 0) -> ToolReply:
    """The text is the bare list; structured content must be an object, so there it stands under a name."""

    def say(kept: Sequence[Any]) -> ToolReply:
        return ToolReply(text=json_text(kept), value={key: list(kept)})

    return as_many_as_fit(items, say, omitted=omitted)


def tokened(value: Mapping[str, Any], *, token: str, warnings: Sequence[str] = ()) -> ToolReply:
    """Beside the token stand warnings, where there are any: clients that hide `_meta` would hide them from who must act."""
    return told({**value, **echoed(token=token, warnings=warnings)}, meta=meta_of(token=token, warnings=warnings))


def answered(reply: Mapping[str, Any], *, without: Sequence[str] = ()) -> ToolReply:
    """What a service recorded and answers, under the names of its contract."""
    token, warnings = reply["session_token"], reply.get("warnings", [])
    dropped = {*without, *(() if warnings else ("warnings",))}
    kept = {key: said for key, said in reply.items() if key not in dropped}
    return told(kept, meta=meta_of(token=token, warnings=warnings))


def headed(
    text: str, *, headers: Mapping[str, str], value: Mapping[str, Any], token: str, warnings: Sequence[str] = ()
) -> ToolReply:
    """A text as it was written, under lines that say what it is."""
    warned = "".join(f"warning: {warning}\n" for warning in warnings)
    head = "".join(f"{name}: {said}\n" for name, said in headers.items() if said)
    return ToolReply(
        text=f"{head}{warned}\n{text}",
        value={**value, **echoed(token=token, warnings=warnings)},
        meta=meta_of(token=token, warnings=warnings),
    )


def echoed(*, token: str, warnings: Sequence[str]) -> dict[str, Any]:
    return {"session_token": token, **({"warnings": list(warnings)} if warnings else {})}


def meta_of(*, token: str, warnings: Sequence[str], trace_token: str = "") -> dict[str, Any]:
    traced = {"trace_token": trace_token} if trace_token else {}
    validation = {"status": "warning" if warnings else "valid", "warnings": list(warnings)}
    return {"session_token": token, **traced, "validation": validation}


def next_call(tool: str, *, token: str, **parameters: str) -> dict[str, Any]:
    """A call that can be made as it stands here."""
    return {"tool": tool, "parameters": {"session_token": token, **parameters}}


def as_call(following: Mapping[str, Any]) -> str:
    """The same in a line of text."""
    return f"{following['tool']} {orjson.dumps(following['parameters']).decode()}"


def json_text(value: Any) -> str:
    """Indented where that fits into a reply, so that a token has a line of its own; else on one line."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2)
    return (text if len(text) <= MAX_REPLY_BYTES else orjson.dumps(value)).decode("utf-8")


def fits(value: Any) -> bool:
    """Whether it goes into one reply, with room for what stands beside it."""
    return len(orjson.dumps(value)) <= MAX_REPLY_BYTES - _BESIDE_BYTES


_BESIDE_BYTES = 4 * 1024
