"""A real client of MCP for tests that hold something else: one run on the rail, driven by the official SDK.

Each call is a connection of its own, in a thread of its own: the browser's loop is not the SDK's.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tests.mcp_play import Wire, sdk_client


@dataclass(kw_only=True)
class RailAgent:
    url: str
    key: str
    value: dict = field(default_factory=dict)
    text: str = ""

    def start(self, workflow_id, goal):
        return self._call("start_workflow", {"workflowId": workflow_id, "goal": goal})

    def hand_in(self, notes, **output):
        """Acknowledges the pending step."""
        return self._call(
            "continue_workflow",
            {
                "intent": "advance",
                "stateToken": self.value["stateToken"],
                "ackToken": self.value["ackToken"],
                "output": {"notesMarkdown": notes, **output},
            },
        )

    def look(self, state_token=None):
        """Comes back, or goes on from a token that a person handed over."""
        token = state_token or self.value["stateToken"]
        return self._call("continue_workflow", {"intent": "rehydrate", "stateToken": token})

    def _call(self, tool, arguments):
        with ThreadPoolExecutor(1) as thread:
            result = thread.submit(asyncio.run, self._send(tool, arguments)).result()
        self.text = result.content[0].text
        if not result.is_error:
            self.value = result.structured_content
        return self

    async def _send(self, tool, arguments):
        async with sdk_client(Wire(url=self.url, key=self.key)) as client:
            return await client.call_tool(tool, arguments)
