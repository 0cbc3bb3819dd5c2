"""What the tests of MCP share: plain JSON-RPC over HTTP, the SDK's own client, and an agent that does what replies say."""

import itertools
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

MODERN = "2026-07-28"
HANDSHAKE = "2025-06-18"
ACCEPT = "application/json, text/event-stream"
_META = "io.modelcontextprotocol/"
_ids = itertools.count(1)


@dataclass(kw_only=True)
class Answer:
    """What a tool was answered, in both of its forms."""

    text: str
    value: dict
    is_error: bool

    @property
    def code(self):
        return self.value["code"]

    @property
    def details(self):
        return self.value.get("details", {})


@dataclass(kw_only=True)
class Wire:
    """One client without the SDK, of the revision without sessions unless it is told otherwise."""

    url: str
    key: str
    headers: dict = field(default_factory=dict)

    def send(self, method, params=None, *, version=MODERN, path="/mcp/rail", message=None, **headers):
        """The whole HTTP response of one message."""
        body = message or self.message(method, params, version)
        return self.post(json.dumps(body).encode(), path=path, **self._routing(method, params, version), **headers)

    def post(self, body, *, path="/mcp/rail", verb="POST", **headers):
        given = {"Accept": ACCEPT, "Content-Type": "application/json", **self.headers, **headers}
        if self.key:
            given.setdefault("Authorization", f"Bearer {self.key}")
        sent = {name: value for name, value in given.items() if value is not None}
        return httpx.request(verb, self.url + path, content=body, headers=sent, timeout=30)

    def message(self, method, params=None, version=MODERN):
        params = dict(params or {})
        if version == MODERN:
            params["_meta"] = {
                f"{_META}protocolVersion": version,
                f"{_META}clientCapabilities": {},
                f"{_META}clientInfo": {"name": "test", "version": "1"},
            }
        return {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": params}

    def _routing(self, method, params, version):
        named = {"Mcp-Method": method, "MCP-Protocol-Version": version} if version == MODERN else {}
        return named | ({"Mcp-Name": params["name"]} if version == MODERN and method == "tools/call" else {})

    def __call__(self, tool, **arguments):
        """The answer of a tool; a protocol error fails the test."""
        response = self.send("tools/call", {"name": tool, "arguments": arguments})
        result = response.json().get("result")
        assert result is not None, response.text
        return Answer(
            text=result["content"][0]["text"],
            value=result.get("structuredContent"),
            is_error=result.get("isError", False),
        )

    def value(self, tool, **arguments):
        """The JSON of an answer that is no error."""
        answer = self(tool, **arguments)
        assert not answer.is_error, answer.text
        return answer.value


@asynccontextmanager
async def sdk_client(wire, *, mode="auto", path="/mcp/rail"):
    headers = {"Authorization": f"Bearer {wire.key}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(wire.url + path, http_client=http), mode=mode) as client,
    ):
        yield client


# An agent that has notes for every step of the bundled workflows

_NOTES = {
    entry["step"]: entry["notes"]
    for entry in json.loads((Path(__file__).parent / "corpus" / "bundled_notes.json").read_bytes())
}
_PLAIN_NOTES = "Done as the step says; src/app.py:12 shows it.\n$ make check\n12 passed\nexit 0"
CONTEXT = {name: ["one"] for name in ("behaviours", "findings", "moves", "paths", "slices", "subQuestions", "tickets")}


def output_for(reply):
    """What this agent hands in for the pending step: its notes, its user's answer, and what a block of it asked for."""
    step = reply["pending"]["stepId"].rpartition(".")[2]
    asked = [artifact for blocker in reply.get("blockers", ()) if (artifact := _asked_for(blocker)) is not None]
    asked += [_filled(form) for form in forms_of(reply) if form["kind"] == "wr.assessment"]
    question = reply["pending"].get("checkpoint")
    answers = [] if question is None else [_answer(question)]
    return {"notesMarkdown": _NOTES.get(step, _PLAIN_NOTES), "artifacts": asked + answers}


def forms_of(reply):
    """The artifacts that the ready-made call has places for."""
    return (reply["nextCall"]["params"].get("output") or {}).get("artifacts", ())


def _filled(form):
    """With the best level of each dimension."""
    return {**form, "dimensions": {name: said.strip("<>").split(" | ")[0] for name, said in form["dimensions"].items()}}


def _answer(question):
    chosen = question["options"][0]["id"]
    return {"kind": "wr.checkpoint_answer", "checkpointId": question["checkpointId"], "optionId": chosen}


def _asked_for(blocker):
    """The artifact that a blocker asks for: its example."""
    fix = blocker.get("suggestedFix", "")
    if blocker["pointer"]["kind"] == "assessment_dimension":
        return None
    _before, brace, rest = fix.partition("{")
    shown = json.JSONDecoder().raw_decode(brace + rest)[0] if brace else None
    return shown | {"decision": "stop"} if shown and "decision" in shown else shown
