"""What is asked at the doors of REST and MCP, call after call."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from workrail_site.bench.service import activity_after, manifest, offers
from workrail_site.bench.stage import LOOP_ID, NOTES, BenchStage

_STATE = re.compile(rb'\\?"stateToken\\?": ?\\?"(st\.v1\.[0-9a-z]+)')
_ACK = re.compile(rb'\\?"ackToken\\?": ?\\?"(ack\.v1\.[0-9a-z]+)')
_COMPLETE = re.compile(rb'\\?"isComplete\\?": ?true')


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request; what only leads to the next one that counts is not counted."""

    path: str
    body: dict[str, Any] = field(default_factory=dict)
    counts: bool = True
    method: str = "POST"


class BenchDoor(ABC):
    """How one door is asked to begin, and to go on from an answer."""

    name: str
    headers: ClassVar[Mapping[str, str]] = {}

    def credentials(self, stage: BenchStage) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {stage.key}"}

    @abstractmethod
    def begin(self, stage: BenchStage) -> Ask: ...

    @abstractmethod
    def go_on(self, answer: bytes) -> Ask: ...


class RestDoor(BenchDoor):
    name = "advance by REST"
    start, advance = "/api/v1/runs", "/api/v1/runs/continue"
    _begun: Ask

    def begin(self, stage: BenchStage) -> Ask:
        self._begun = Ask(path=self.start, body=_beginning(stage))
        return self._begun

    def go_on(self, answer: bytes) -> Ask:
        return Ask(path=self.advance, body=_advance(answer)) if not _is_complete(answer) else _again(self._begun)


class McpDoor(BenchDoor):
    """The rail's tools."""

    name = "advance by MCP"
    headers: ClassVar[Mapping[str, str]] = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
    }
    path = "/mcp/rail"
    _begun: Ask

    def begin(self, stage: BenchStage) -> Ask:
        self._begun = self._ask("start_workflow", _beginning(stage))
        return self._begun

    def go_on(self, answer: bytes) -> Ask:
        return self._ask("continue_workflow", _advance(answer)) if not _is_complete(answer) else _again(self._begun)

    def _ask(self, tool: str, arguments: dict[str, Any], *, counts: bool = True) -> Ask:
        params = {"name": tool, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return Ask(path=self.path, body=body, counts=counts)


class NavigationDoor(McpDoor):
    name = "complete_step by MCP"
    path = "/mcp/navigation"

    def begin(self, stage: BenchStage) -> Ask:
        self._begun = self._ask("nav_start", {"workflow_id": stage.workflow_id})
        return self._begun

    def go_on(self, answer: bytes) -> Ask:
        situation = json.loads(answer).get("result", {}).get("structuredContent", {})
        if not situation.get("success"):
            raise RuntimeError(f"{self.name} was answered {answer[:400]!r}")
        if situation.get("complete"):
            return _again(self._begun)
        state = situation["state"]
        for offer in offers(situation):
            if offer["action"] == "complete_step":
                return self._ask("nav_action", {"state": state, "action": "complete_step", "step_id": offer["step"]})
        return self._ask("nav_action", {"state": state, "action": "advance_loop", "loop_id": LOOP_ID}, counts=False)


class SessionDoor(McpDoor):
    name = "next_activity by MCP"
    path = "/mcp/session"

    def begin(self, stage: BenchStage) -> Ask:
        return self._ask("start_session", {"workflow_id": stage.activities_id})

    def go_on(self, answer: bytes) -> Ask:
        value = json.loads(answer).get("result", {}).get("structuredContent", {})
        if "session_token" not in value:
            raise RuntimeError(f"{self.name} was answered {answer[:400]!r}")
        here = value.get("id", "")
        done = {"step_manifest": manifest()} if here else {}
        following = {"session_token": value["session_token"], "activity_id": activity_after(here)}
        return self._ask("next_activity", {**following, **done})


def _beginning(stage: BenchStage) -> dict[str, Any]:
    return {"workflowId": stage.workflow_id, "goal": "Measure"}


def _is_complete(answer: bytes) -> bool:
    return _COMPLETE.search(answer) is not None


def _again(begun: Ask) -> Ask:
    """Where a run has come to its end another one begins, which is not counted."""
    return replace(begun, counts=False)


def _advance(answer: bytes) -> dict[str, Any]:
    """From the tokens of an answer, in whichever of its forms they stand."""
    state, ack = _STATE.search(answer), _ACK.search(answer)
    if state is None or ack is None:
        raise RuntimeError(f"There are no tokens in {answer[:400]!r}")
    return {"stateToken": state[1].decode(), "ackToken": ack[1].decode(), "output": {"notesMarkdown": NOTES}}
