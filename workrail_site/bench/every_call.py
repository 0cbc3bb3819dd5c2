"""Each kind of call by a door of its own: what an agent asks, what a list shows, and what a person opens in the Studio."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth import get_user_model
from django.test import Client

from teams_app.engine.ids import Prefix, from_text
from workrail_site.bench import doors, service
from workrail_site.bench.stage import BenchStage

_COOKIE = "sessionid"


class SameAgain(doors.McpDoor):
    """Asks the same each time, and looks whether it was answered."""

    tool = ""
    arguments: Mapping[str, Any] = {}

    def begin(self, stage: BenchStage) -> doors.Ask:  # noqa: ARG002  the door's signature
        return self._ask(self.tool, dict(self.arguments))

    def go_on(self, answer: bytes) -> doors.Ask:
        if b'"result"' not in answer or b'"isError":true' in answer:
            raise RuntimeError(f"{self.name} was answered {answer[:400]!r}")
        return self._ask(self.tool, dict(self.arguments))


class StartDoor(SameAgain):
    name, tool = "start by MCP", "start_workflow"

    def begin(self, stage: BenchStage) -> doors.Ask:
        self.arguments = {"workflowId": stage.workflow_id, "goal": "Measure"}
        return super().begin(stage)


class ReplayDoor(doors.McpDoor):
    """The same tokens again: what was recorded is answered."""

    name = "replay by MCP"
    _again: doors.Ask | None = None

    def go_on(self, answer: bytes) -> doors.Ask:
        if self._again is None:
            first = super().go_on(answer)
            self._again = doors.Ask(path=first.path, body=first.body)
            return doors.Ask(path=first.path, body=first.body, counts=False)
        super().go_on(answer)
        return self._again


class RehydrateDoor(doors.McpDoor):
    name = "rehydrate by MCP"

    def go_on(self, answer: bytes) -> doors.Ask:
        arguments = super().go_on(answer).body["params"]["arguments"]
        return self._ask("continue_workflow", {"stateToken": arguments["stateToken"]})


class ResumeDoor(SameAgain):
    name, tool, arguments = "resume by MCP", "resume_session", {"query": "measure endless"}


class ListWorkflowsDoor(SameAgain):
    name, tool = "list_workflows by MCP", "list_workflows"


class OrchestratorDoor(doors.SessionDoor):
    name = "next_activity, orchestrator"
    path = "/mcp/orchestrator"
    _here = ""

    def begin(self, stage: BenchStage) -> doors.Ask:
        return self._ask("start_session", {"workflow_id": stage.activities_id, "agent_id": "bench"})

    def go_on(self, answer: bytes) -> doors.Ask:
        value = json.loads(answer).get("result", {}).get("structuredContent", {})
        if "session_token" not in value:
            raise RuntimeError(f"{self.name} was answered {answer[:400]!r}")
        done = {"step_manifest": service.manifest()} if self._here else {}
        self._here = service.activity_after(self._here)
        return self._ask("next_activity", {"session_token": value["session_token"], "activity_id": self._here, **done})


class LookupDoor(SameAgain):
    name, tool = "workflow_next, lookup", "workflow_next"
    path = "/mcp/lookup"

    def begin(self, stage: BenchStage) -> doors.Ask:
        self.arguments = {"workflowId": stage.workflow_id, "completedSteps": []}
        return super().begin(stage)


class ReadDoor(doors.BenchDoor):
    """One address, read again and again."""

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self._path = path

    def begin(self, stage: BenchStage) -> doors.Ask:  # noqa: ARG002  the door's signature
        return self._read()

    def go_on(self, answer: bytes) -> doors.Ask:
        if not answer or b'"retry"' in answer[:400]:
            raise RuntimeError(f"{self._path} was answered {answer[:400]!r}")
        return self._read()

    def _read(self) -> doors.Ask:
        return doors.Ask(method="GET", path=self._path)


class PageDoor(ReadDoor):
    """A page of the Studio, by the cookie of somebody who has signed in."""

    def __init__(self, name: str, path: str, *, cookie: str) -> None:
        super().__init__(name, path)
        self._cookie = cookie

    def credentials(self, stage: BenchStage) -> Mapping[str, str]:  # noqa: ARG002  the door's signature
        return {"Cookie": f"{_COOKIE}={self._cookie}"}

    def go_on(self, answer: bytes) -> doors.Ask:
        if b"</html>" not in answer:
            raise RuntimeError(f"{self._path} was answered {answer[:400]!r}")
        return self._read()


def agents_doors() -> Sequence[doors.BenchDoor]:
    return (
        StartDoor(),
        doors.McpDoor(),
        doors.RestDoor(),
        ReplayDoor(),
        RehydrateDoor(),
        ResumeDoor(),
        ListWorkflowsDoor(),
        doors.NavigationDoor(),
        doors.SessionDoor(),
        OrchestratorDoor(),
        LookupDoor(),
    )


def readers_doors(stage: BenchStage) -> Sequence[doors.BenchDoor]:
    """Lists by REST and pages of the Studio. How long a session takes to leave as a file, `bundles` tells."""
    value = service.begin(stage)
    run_id = from_text(Prefix.RUN, value["session"]["runId"])
    cookie = signed_in_cookie()
    return (
        ReadDoor("list of runs by REST", "/api/v1/runs"),
        ReadDoor("list of sessions by REST", "/api/v1/sessions"),
        ReadDoor("inbox by REST", "/api/v1/checkpoints"),
        ReadDoor("workflows by REST", "/api/v1/workflows"),
        PageDoor("Studio, a run", f"/studio/sessions_app/run/{run_id}/change/", cookie=cookie),
        PageDoor("Studio, runs", "/studio/sessions_app/run/", cookie=cookie),
        PageDoor("Studio, sessions", "/studio/sessions_app/worksession/", cookie=cookie),
    )


def signed_in_cookie() -> str:
    browser = Client()
    browser.force_login(get_user_model().objects.get())
    return browser.cookies[_COOKIE].value
