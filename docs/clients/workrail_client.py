"""A small client of Workrail by REST: one file, typed, with httpx as its only need. Copy it into your project."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

Json = dict[str, Any]


class WorkrailError(Exception):
    """A refusal: `code` says which, `suggestion` what to do, and `retry_after_ms` when, where trying again may help."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.code = str(problem.get("code", "UNKNOWN"))
        self.details: Mapping[str, Any] = problem.get("details") or {}
        self.suggestion = str(self.details.get("suggestion", ""))
        self.retry_after_ms: int | None = (problem.get("retry") or {}).get("afterMs")
        super().__init__(f"{self.code}: {problem.get('detail', '')} {self.suggestion}".strip())


@dataclass(frozen=True, kw_only=True)
class Step:
    """A reply of the rail. `value` is all of it; what is named here is what a caller needs first."""

    value: Json

    @property
    def run_id(self) -> str:
        return str(self.value["session"]["runId"])

    @property
    def is_complete(self) -> bool:
        return bool(self.value.get("isComplete"))

    @property
    def is_blocked(self) -> bool:
        return self.value.get("kind") == "blocked"

    @property
    def step_id(self) -> str:
        return str((self.value.get("pending") or {}).get("stepId", ""))

    @property
    def prompt(self) -> str:
        return str((self.value.get("pending") or {}).get("prompt", ""))

    @property
    def waits_for_person(self) -> bool:
        """Whether only a signed-in person can take the run on from here."""
        return (self.value.get("pending") or {}).get("confirmedBy") == "human"


class Workrail:
    """`with Workrail("https://rails.example.com", key="wr_key_…") as rails: …`"""

    def __init__(self, url: str, *, key: str, timeout_seconds: float = 30.0) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        self._http = httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=timeout_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, *, dialect: str = "rail") -> Json:
        """Any tool of any dialect. Raises WorkrailError for a refusal."""
        response = self._http.post(f"/api/v1/dialects/{dialect}/tools/{tool}", json=dict(arguments or {}))
        told: Json = response.json()
        if response.is_success:
            return told
        raise WorkrailError(response.status_code, told)

    def start(self, workflow_id: str, *, goal: str = "", context: Mapping[str, Any] | None = None) -> Step:
        given = {"workflowId": workflow_id, "goal": goal, "context": dict(context or {})}
        return Step(value=self.call("start_workflow", given))

    def done(
        self,
        step: Step,
        *,
        notes: str = "",
        artifacts: list[Json] | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Step:
        """The step is done: the next one. The same call again is answered the same."""
        given: Json = {"stateToken": step.value["stateToken"], "ackToken": step.value["ackToken"]}
        output = {**({"notesMarkdown": notes} if notes else {}), **({"artifacts": artifacts} if artifacts else {})}
        given |= {"output": output} if output else {}
        given |= {"context": dict(context)} if context else {}
        return Step(value=self.call("continue_workflow", given))

    def look(self, step: Step) -> Step:
        """The pending step again, without changing anything."""
        return Step(value=self.call("continue_workflow", {"stateToken": step.value["stateToken"]}))

    def wait_for_person(
        self,
        step: Step,
        *,
        timeout_seconds: float,
        every_seconds: float = 10.0,
        pause: Callable[[float], None] = time.sleep,
    ) -> Step:
        """Until a person has answered in the Studio: the step after it. Raises TimeoutError when nobody has."""
        ends_at = time.monotonic() + timeout_seconds
        while True:
            told = self.look(step)
            if told.value.get("answered") or not told.waits_for_person:
                return self.done(told) if told.value.get("ackToken") else told
            if time.monotonic() + every_seconds > ends_at:
                raise TimeoutError(f"Nobody has answered at step {step.step_id} of {step.run_id}.")
            pause(every_seconds)
