"""The same work for any server of MCP that speaks by lines and has the tools of the rail or of the orchestrator."""

import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from workrail_site.bench.peer_talk import Peer, PeerError, PeerReply
from workrail_site.bench.stage import NOTES

MOST_CALLS = 2_000
RAIL_TOOLS = frozenset({"start_workflow", "continue_workflow"})
ORCHESTRATOR_TOOLS = frozenset({"start_session", "next_activity", "get_activity", "get_workflow"})
_AGENT = "bench"


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """`workflow_id` is the first that the server lists when it is left out; `arguments` are added to those of a start."""

    command: str
    workflow_id: str = ""
    arguments: Mapping[str, Any]
    runs: int = 1
    clients: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTimes:
    tool: str
    times_ms: Sequence[float]
    sizes: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerFigures:
    """`cpu_us` is the server's processor time for a call, with its children, where the system tells it."""

    kind: str
    workflow_id: str
    tools: int
    runs: int
    clients: int
    seconds: float
    cpu_us: float | None
    by_tool: tuple[ToolTimes, ...]

    @property
    def calls(self) -> int:
        return sum(len(each.times_ms) for each in self.by_tool)


def measure_peer(errand: Errand) -> PeerFigures:
    """A process for each client, since lines have one reader. Raises PeerError for a server that cannot do the work."""
    peers: list[Peer] = []
    try:
        # One by one into the list, so that those that have started end when a later one does not.
        peers.extend(Peer.started(errand.command) for _ in range(errand.clients))
        kind, walk = walk_of(peers[0])
        workflow_id = errand.workflow_id or first_workflow(peers[0])
        before = _processors(peers)
        began = time.perf_counter()
        _all_at_once([partial(_runs, walk, peer, workflow_id, errand) for peer in peers])
        seconds = time.perf_counter() - began
        spent = _processors(peers)
    finally:
        for peer in peers:
            peer.close()
    by_tool = tuple(_gathered(peers))
    calls = sum(len(each.times_ms) for each in by_tool)
    return PeerFigures(
        kind=kind,
        workflow_id=workflow_id,
        tools=len(peers[0].tools),
        runs=errand.runs * errand.clients,
        clients=errand.clients,
        seconds=seconds,
        cpu_us=None if before is None or spent is None else (spent - before) / calls * 1e6,
        by_tool=by_tool,
    )


Walk = Callable[[Peer, str, Mapping[str, Any]], None]


def walk_of(peer: Peer) -> tuple[str, Walk]:
    if peer.tools.keys() >= RAIL_TOOLS:
        return "rail", walk_rail
    if peer.tools.keys() >= ORCHESTRATOR_TOOLS:
        return "orchestrator", walk_orchestrator
    raise PeerError(f"These are tools of neither kind: {', '.join(sorted(peer.tools))[:300]}")


def first_workflow(peer: Peer) -> str:
    listed = peer.call("list_workflows", _required(peer, "list_workflows", {}))
    found = listed.find("workflowId", "workflow_id", "id")
    if not isinstance(found, str):
        raise PeerError("The server lists no workflow. Name one: --workflow.")
    return found


def walk_rail(peer: Peer, workflow_id: str, more: Mapping[str, Any]) -> None:
    """From the first step to the end, each acknowledged with notes."""
    given = {"workflowId": workflow_id, "goal": "Measure", **more}
    reply = peer.call("start_workflow", _required(peer, "start_workflow", given))
    for _ in range(MOST_CALLS):
        if reply.find("isComplete") is True:
            return
        if reply.find("kind") == "blocked":
            raise PeerError(f"The run is blocked, so the workflow does not fit: {reply.text[:500]}")
        reply = peer.call("continue_workflow", _acknowledged(peer, reply))
    raise PeerError(f"The run is not complete after {MOST_CALLS:,} calls. Name a shorter workflow.")


def _acknowledged(peer: Peer, reply: PeerReply) -> dict[str, Any]:
    """Whatever tokens the tool takes, by their names, as the reply prints them."""
    properties = _properties(peer, "continue_workflow")
    tokens = {
        name: found for name in properties if name.endswith("Token") and isinstance(found := reply.find(name), str)
    }
    tokens.pop("checkpointToken", None)
    if not tokens:
        raise PeerError(f"The reply has no token: {reply.text[:500]}")
    said = {**tokens, "output": {"notesMarkdown": NOTES}}
    if "intent" in properties:
        said["intent"] = "advance"
    return _required(peer, "continue_workflow", said)


def walk_orchestrator(peer: Peer, workflow_id: str, more: Mapping[str, Any]) -> None:
    """Enters each activity, reads it, and leaves it by its default way with a manifest of its steps."""
    begun = peer.call("start_session", {"agent_id": _AGENT, "workflow_id": workflow_id, **more})
    token = _token_after(begun, "")
    read = peer.call("get_workflow", {"session_token": token})
    token, following = _token_after(read, token), read.find("initialActivity", "initial_activity")
    manifest: list[dict[str, str]] = []
    for _ in range(MOST_CALLS):
        if not isinstance(following, str):
            return
        given = {"session_token": token, "activity_id": following, **({"step_manifest": manifest} if manifest else {})}
        token = _token_after(peer.call("next_activity", given), token)
        activity = peer.call("get_activity", {"session_token": token})
        token = _token_after(activity, token)
        manifest, following = manifest_of(activity), way_on(activity)
    raise PeerError(f"The session does not end within {MOST_CALLS:,} activities. Name another workflow.")


def manifest_of(activity: PeerReply) -> list[dict[str, str]]:
    steps = [step for step in activity.find("steps") or () if isinstance(step, Mapping) and "id" in step]
    return [{"step_id": str(step["id"]), "output": NOTES[: len(NOTES) // len(steps)]} for step in steps]


def way_on(activity: PeerReply) -> str | None:
    """The default way out, else the first; None at the end."""
    ways = [way for way in activity.find("transitions") or () if isinstance(way, Mapping) and "to" in way]
    usual = next((way for way in ways if way.get("isDefault") or way.get("is_default")), None)
    chosen = usual or (ways[0] if ways else None)
    return None if chosen is None else str(chosen["to"])


def _token_after(reply: PeerReply, before: str) -> str:
    found = reply.find("session_token")
    if isinstance(found, str):
        return found
    if not before:
        raise PeerError(f"The reply has no session_token: {reply.text[:500]}")
    return before


def _required(peer: Peer, tool: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """With what else the tool asks for, when it is a text: a folder to work in, a reason."""
    schema = peer.tools[tool].get("inputSchema", {})
    missing = [name for name in schema.get("required", ()) if name not in given]
    return {**given, **{name: "." for name in missing if _properties(peer, tool).get(name, {}).get("type") == "string"}}


def _properties(peer: Peer, tool: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = peer.tools[tool].get("inputSchema", {}).get("properties", {})
    return found


def _runs(walk: Walk, peer: Peer, workflow_id: str, errand: Errand) -> None:
    for _ in range(errand.runs):
        walk(peer, workflow_id, errand.arguments)


def _all_at_once(works: Sequence[Callable[[], None]]) -> None:
    failed: list[Exception] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  told by whoever waits for the threads
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def _processors(peers: Sequence[Peer]) -> float | None:
    each = [peer.processor_seconds() for peer in peers]
    return None if None in each else sum(one for one in each if one is not None)


def _gathered(peers: Sequence[Peer]) -> list[ToolTimes]:
    names = dict.fromkeys(name for peer in peers for name in peer.times_ms)
    return [
        ToolTimes(
            tool=name,
            times_ms=[ms for peer in peers for ms in peer.times_ms.get(name, ())],
            sizes=[size for peer in peers for size in peer.sizes.get(name, ())],
        )
        for name in names
    ]


def peer_table(found: PeerFigures) -> str:
    head = (
        f"A server of the kind {found.kind} with {found.tools} tools: {found.runs} runs of {found.workflow_id}, "
        f"{found.clients} at once, {found.calls} calls in {found.seconds:.2f} s."
    )
    rows = [f"{'':24}{'calls':>8}{'per s':>9}{'p50 ms':>9}{'p95 ms':>9}{'bytes':>9}"]
    rows += [_row(each, found.seconds) for each in found.by_tool]
    cpu = "" if found.cpu_us is None else f"\nProcessor time of the server: {found.cpu_us:.0f} us for a call."
    return "\n".join([head, *rows]) + cpu


def as_json(found: PeerFigures) -> dict[str, object]:
    return {
        "kind": found.kind,
        "workflowId": found.workflow_id,
        "tools": found.tools,
        "runs": found.runs,
        "clients": found.clients,
        "seconds": found.seconds,
        "cpuUs": found.cpu_us,
        "byTool": [
            {
                "tool": each.tool,
                "calls": len(each.times_ms),
                "p50Ms": _percentile(each.times_ms, 50),
                "p95Ms": _percentile(each.times_ms, 95),
                "bytes": statistics.mean(each.sizes),
            }
            for each in found.by_tool
        ],
    }


def _row(each: ToolTimes, seconds: float) -> str:
    p50, p95 = (_percentile(each.times_ms, percent) for percent in (50, 95))
    calls = len(each.times_ms)
    return f"{each.tool:24}{calls:>8}{calls / seconds:>9.0f}{p50:>9.2f}{p95:>9.2f}{statistics.mean(each.sizes):>9.0f}"


def _percentile(times: Sequence[float], percent: int) -> float:
    """Of a single call it is that call's."""
    return statistics.quantiles(times, n=100, method="inclusive")[percent - 1] if len(times) > 1 else times[0]
