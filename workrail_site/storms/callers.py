"""Agents and a person of a storm. A call that fails is repeated as it was until it is answered, and what was answered is kept."""

import contextlib
import hashlib
import json
import random
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from typing import Any

from workrail_site.storms.stage import ACTIVITIES, STEPS, WORK, other_of

# Whoever is told one of these asks again with the same call.
_AGAIN = frozenset({"TOKEN_SESSION_LOCKED", "SERVICE_UNAVAILABLE", "RATE_LIMITED", "STORAGE_FULL"})
_DEFECT = "INTERNAL_ERROR"
_ANSWER_SECONDS = 20
_NAP_SECONDS = 0.05
# Of a hundred answered calls so many come again at once.
_REPEATED = 12
_MCP = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StormCall:
    """`note` is what only this call hands in; a call without one may be answered otherwise when it is repeated."""

    path: str
    body: Mapping[str, Any] | None
    note: str = ""
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """`code` is that of a refusal or of a defect; `again` says that nobody knows whether it was done."""

    data: bytes = b""
    value: Mapping[str, Any] = field(default_factory=dict)
    code: str = ""
    again: bool = False


@dataclass(slots=True, kw_only=True)
class CallLedger:
    """What one caller was answered: the digest of each reply that a repetition has to be answered, by the call."""

    answered: list[tuple[StormCall, str]] = field(default_factory=list)
    reads: int = 0
    failures: int = 0
    repeats: int = 0
    defects: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)


class StormCaller(ABC):
    """Works in a thread of its own until it is told to stop, and leaves no call unanswered."""

    def __init__(self, *, name: str, port: int, key: str, chance: random.Random) -> None:
        self.name, self.port, self.key, self.chance = name, port, key, chance
        self.ledger = CallLedger()
        self.stop = threading.Event()
        self.count = 0
        self._connection: HTTPConnection | None = None

    @abstractmethod
    def work(self) -> None:
        """One run, or one look; ends early when it is to stop."""

    def run(self) -> None:
        while not self.stop.is_set():
            self.work()

    def note(self) -> str:
        self.count += 1
        return f"{self.name} did {self.count}."

    # Calls

    def insist(self, ask: StormCall) -> CallResult:
        """Until it is answered or refused. What is answered comes again now and then."""
        while True:
            told = self.send(ask)
            if told.code == _DEFECT:
                # Not the reply that was meant, whatever died: an outage has a code of its own.
                self.ledger.defects.append(f"{ask.path}: {told.data[:300]!r}")
            if not told.again:
                break
            self.ledger.failures += 1
            self.stop.wait(_NAP_SECONDS) if not self.stop.is_set() else threading.Event().wait(_NAP_SECONDS)
        if told.code:
            self.ledger.refusals.append(f"{self.name}: {ask.path} {told.code}")
        elif not ask.note:
            self.ledger.reads += 1
        else:
            self.ledger.answered.append((ask, _digest(told.data)))
            if self.chance.randrange(100) < _REPEATED:
                self.repeat(ask, _digest(told.data))
        return told

    def repeat(self, ask: StormCall, digest: str) -> None:
        """The same call is answered the same."""
        told = self.send(ask)
        while told.again:
            self.ledger.failures += 1
            threading.Event().wait(_NAP_SECONDS)
            told = self.send(ask)
        self.ledger.repeats += 1
        if _digest(told.data) != digest:
            self.ledger.differing.append(f"{self.name}: {ask.note or ask.path}: {told.code} {told.data[:300]!r}")

    def send(self, ask: StormCall) -> CallResult:
        try:
            status, data = self._exchange(ask)
        except (OSError, HTTPException):
            self.hang_up()
            return CallResult(again=True)
        return _read(status, data)

    def _exchange(self, ask: StormCall) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = HTTPConnection("127.0.0.1", self.port, timeout=_ANSWER_SECONDS)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}", **ask.headers}
        body = None if ask.body is None else json.dumps(ask.body)
        self._connection.request(ask.method, ask.path, body, headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def hang_up(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
        self._connection = None

    def tool(self, dialect: str, name: str, arguments: Mapping[str, Any], *, note: str = "") -> CallResult:
        params = {"name": name, "arguments": dict(arguments)}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return self.insist(StormCall(path=f"/mcp/{dialect}", body=body, note=note, headers=_MCP))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read(status: int, data: bytes) -> CallResult:
    try:
        value = json.loads(data)
    except ValueError:
        return CallResult(data=data, again=True) if status >= 500 else CallResult(data=data, code=f"HTTP_{status}")
    if "jsonrpc" in value:
        return _read_rpc(value, data)
    code = str(value.get("code", "")) if status >= 400 else ""
    again = _is_again(status, code)
    return CallResult(data=data, value=value, code="" if again and code != _DEFECT else code, again=again)


def _read_rpc(value: Mapping[str, Any], data: bytes) -> CallResult:
    error, result = value.get("error"), value.get("result") or {}
    told = result.get("structuredContent") or {}
    code = str(told.get("code", "")) if result.get("isError") else ""
    if error is not None:
        code = str((error.get("data") or {}).get("code", error.get("code")))
    again = _is_again(200, code)
    return CallResult(data=data, value=told, code=code if not again or code == _DEFECT else "", again=again)


def _is_again(status: int, code: str) -> bool:
    return status >= 500 or status == 429 or code in _AGAIN or code == _DEFECT


# The dialects


class RailByRest(StormCaller):
    """Begins by a key of the request, so that a start that is repeated is one run."""

    def work(self) -> None:
        note = self.note()
        body = {"workflowId": STEPS, "goal": note}
        once = {"Idempotency-Key": note}
        value = self.insist(StormCall(path="/api/v1/runs", body=body, note=note, headers=once)).value
        while value.get("nextCall") and not self.stop.is_set():
            value = self._go_on(value)

    def _go_on(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        if value.get("waitsForPerson"):
            self.stop.wait(_NAP_SECONDS)
            return self._ask({"stateToken": value["stateToken"]}).value
        note = self.note()
        tokens = {name: value[name] for name in ("stateToken", "ackToken")}
        return self._ask({**tokens, "output": {"notesMarkdown": note}}, note=note).value

    def _ask(self, body: Mapping[str, Any], *, note: str = "") -> CallResult:
        return self.insist(StormCall(path="/api/v1/runs/continue", body=body, note=note))


class RailByMcp(RailByRest):
    def work(self) -> None:
        value = self.tool("rail", "start_workflow", {"workflowId": STEPS, "goal": self.name}).value
        while value.get("nextCall") and not self.stop.is_set():
            value = self._go_on(value)

    def _ask(self, body: Mapping[str, Any], *, note: str = "") -> CallResult:
        return self.tool("rail", "continue_workflow", body, note=note)


class NavigationByMcp(StormCaller):
    def work(self) -> None:
        value = self.tool("navigation", "nav_start", {"workflow_id": STEPS}).value
        while value.get("state") and not value.get("complete") and not self.stop.is_set():
            value = self._go_on(value)

    def _go_on(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        available = value.get("availableActions") or {}
        offers = [*available.get("required", ()), *available.get("optional", ())]
        steps = [offer["step"] for offer in offers if offer["action"] == "complete_step"]
        ways = [offer["activity"] for offer in offers if offer["action"] == "transition"]
        state = {"state": value["state"]}
        if steps:
            note = self.note()
            done = {"action": "complete_step", "step_id": steps[0], "notes": note}
            return self.tool("navigation", "nav_action", {**state, **done}, note=note).value
        if ways:
            return self.tool(
                "navigation", "nav_action", {**state, "action": "transition", "activity_id": ways[0]}
            ).value
        self.stop.wait(_NAP_SECONDS)
        return self.tool("navigation", "nav_situation", state).value


class HandedByMcp(StormCaller):
    """Goes to and fro between two activities."""

    dialect: str
    visits = 8

    def work(self) -> None:
        begun = self.tool(self.dialect, "start_session", {"workflow_id": ACTIVITIES, **self._own()}).value
        token, here = begun.get("session_token"), ""
        for _ in range(self.visits):
            if token is None or self.stop.is_set():
                return
            note, there = self.note(), other_of(here)
            entries = [{"step_id": step, "output": f"{note} {step}"} for step in WORK]
            done = {"step_manifest": entries} if here else {}
            arguments = {"session_token": token, "activity_id": there, **done}
            told = self.tool(self.dialect, "next_activity", arguments, note=f"{note} {WORK[0]}" if here else "")
            token, here = told.value.get("session_token"), there

    def _own(self) -> Mapping[str, str]:
        return {}


class SessionByMcp(HandedByMcp):
    dialect = "session"


class OrchestratorByMcp(HandedByMcp):
    dialect = "orchestrator"

    def _own(self) -> Mapping[str, str]:
        return {"agent_id": self.name}


class StormPerson(StormCaller):
    """Answers whatever waits for a person."""

    # Another of the same questions was answered meanwhile, or it is not there any more.
    settled = frozenset({"CHECKPOINT_ANSWERED", "CHECKPOINT_STALE", "RUN_ENDED"})
    answers = 0

    def work(self) -> None:
        told = self.insist(StormCall(path="/api/v1/checkpoints?limit=20", body=None, method="GET"))
        found: Sequence[Mapping[str, Any]] = told.value.get("items") or told.value.get("checkpoints") or ()
        for question in found:
            if self.stop.is_set():
                return
            self._answer(question)
        self.stop.wait(_NAP_SECONDS if found else 4 * _NAP_SECONDS)

    def _answer(self, question: Mapping[str, Any]) -> None:
        path = f"/api/v1/checkpoints/{question['id']}/answer"
        body = {"option": question["options"][0]["id"], "digest": question["digest"]}
        told = self.insist(StormCall(path=path, body=body))
        if told.code in self.settled:
            self.ledger.refusals.pop()
        elif not told.code:
            self.answers += 1


AGENTS = (RailByRest, RailByMcp, NavigationByMcp, SessionByMcp, OrchestratorByMcp)


def all_answered(callers: Sequence[StormCaller]) -> Iterator[tuple[StormCaller, StormCall, str]]:
    return ((caller, ask, digest) for caller in callers for ask, digest in caller.ledger.answered)
