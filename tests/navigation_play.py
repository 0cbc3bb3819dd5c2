"""An agent that drives runs by hand: it does what is required, and answers every question in turn."""

import json
from collections import Counter

from tests.matrix_play import told_of

ITEMS = ["one", "two"]


class Agent:
    """`choose` names an option by checkpoint; without it each visit of a checkpoint takes its next option. Of several ways
    it takes one that it prefers, else the one that it took least often.
    """

    def __init__(self, call, *, choose=None, prefer=(), max_calls=400):
        self.call = call
        self.prefer = prefer
        self.choose = choose or {}
        self.max_calls = max_calls
        self.asked = Counter()
        self.entered = Counter()
        self.replies = []

    def drive(self, workflow_id, **variables):
        """Every reply from the start to the end of the run."""
        self.replies = [self.call("nav_start", workflow_id=workflow_id, initial_variables=variables)]
        while not self.last.get("complete"):
            assert len(self.replies) < self.max_calls, self.last
            reply = self.call("nav_action", state=self.last["state"], **self.arguments(self.next()))
            assert reply["success"], reply
            self.replies.append(reply)
        return self.replies

    @property
    def last(self):
        return self.replies[-1]

    def next(self):
        offered = self.last["availableActions"]
        required = offered["required"]
        leave = next((each for each in offered["optional"] if each["action"] == "complete_step"), None)
        if leave and all(each["action"] == "advance_loop" and "needs" not in each for each in required):
            return leave
        ways = [each for each in [*required, *offered["optional"]] if each["action"] == "transition"]
        if required and required[0]["action"] != "transition":
            return required[0]
        assert ways, self.last
        return min(ways, key=lambda way: (way["activity"] not in self.prefer, self.entered[way["activity"]]))

    def arguments(self, offered):
        match offered["action"]:
            case "complete_step":
                return {"action": "complete_step", "step_id": offered["step"], **self.work(offered["step"])}
            case "respond_to_checkpoint":
                return {
                    "action": "respond_to_checkpoint",
                    "checkpoint_id": offered["checkpoint"],
                    "option_id": self.option(offered["checkpoint"]),
                }
            case "transition":
                self.entered[offered["activity"]] += 1
                return {"action": "transition", "activity_id": offered["activity"]}
            case "advance_loop":
                items = {"loop_items": ITEMS} if "needs" in offered else {}
                return {"action": "advance_loop", "loop_id": offered["loop"], **items}

    def work(self, step_id):
        """What a bundled workflow of steps asks for."""
        at = self.last["position"]
        if not at["workflow"].startswith("wr.") or at.get("loop", {}).get("id") == step_id:
            return {}
        (told,) = told_of(at["workflow"], [step_id]) or ({},)
        return {"notes": told["output"], "artifacts": told.get("artifacts", [])}

    def option(self, checkpoint_id):
        options = [option["id"] for option in self.last["checkpoint"]["options"]]
        count = self.asked[checkpoint_id]
        self.asked[checkpoint_id] += 1
        return self.choose.get(checkpoint_id, options[count % len(options)])

    @property
    def activities(self):
        """The activities in the order in which they were entered."""
        seen = [reply["position"]["activity"]["id"] for reply in self.replies]
        return [name for index, name in enumerate(seen) if index == 0 or seen[index - 1] != name]


def text_of(result):
    return result["content"][0]["text"]


def tool_caller(actor):
    """Tools of the dialect as an actor calls them, without a transport; a refusal fails the test."""
    call = raw_caller(actor)

    def told(tool, **arguments):
        result = call(tool, **arguments)
        assert not result.get("isError"), text_of(result)
        return json.loads(text_of(result))

    return told


def raw_caller(actor):
    from workrail_site.mcp.calling import Caller, calls_as
    from workrail_site.mcp.toolsets import all_servers

    tools = {tool.name: tool for tool in all_servers()["navigation"].tools()}

    def call(tool, **arguments):
        calls_as(Caller(actor=actor))
        return tools[tool].call({key: value for key, value in arguments.items() if value is not None})

    return call
