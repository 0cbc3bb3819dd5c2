"""An agent that walks workflows of activities through the tools of a dialect, by what replies say and nothing else."""

import json
from collections import Counter
from dataclasses import dataclass, field

from tests.matrix_play import told_of

# Longer than any question has to stand before it is answered, and than the timers of checkpoints that answer themselves.
READ_SECONDS = 61
THE_END = "workflow-end"


@dataclass(frozen=True, kw_only=True)
class Habits:
    """`rounds` is how often a loop over a list goes, `learns` what the work shows in each visit of an activity (the last one
    ever after), `dispatches_at` the step at which the workflow that the activity triggers is begun, and `missing_skills` what
    steps name and nobody has. A user chooses the first option of a question.
    """

    rounds: int = 2
    learns: dict = field(default_factory=dict)
    dispatches_at: str = ""
    missing_skills: frozenset = frozenset()
    max_calls: int = 1_500


class Walk:
    """One session. `calls` counts the tools that were called, `warnings` is what was warned of, by activity."""

    def __init__(self, call, clock, habits=None):
        self.call = call
        self.clock = clock
        self.habits = habits or Habits()
        self.token = ""
        self.calls = Counter()
        self.warnings = []
        self.refused = []
        self.trace_tokens = []
        self.variables = {}
        self.entered = []
        self.read = set()
        self.at = ""
        self.parent = None
        self.children = []

    def do(self, tool, **arguments):
        """The JSON of a reply; a refusal fails the test. The token of the latest reply is the one that goes on."""
        result = self.result_of(tool, arguments)
        text = result["content"][0]["text"]
        assert not result.get("isError"), (self.at, tool, arguments, text)
        assert len(text.encode()) <= 80 * 1024
        meta = result.get("_meta", {})
        if "session_token" in meta:
            self.token = meta["session_token"]
            validation = meta["validation"]
            assert validation["status"] == ("warning" if validation["warnings"] else "valid")
            self.warnings += [(self.at, said) for said in validation["warnings"]]
        if "trace_token" in meta:
            self.trace_tokens.append(meta["trace_token"])
        return result["structuredContent"]

    def result_of(self, tool, arguments):
        self.clock.shift(1)
        self.calls[tool] += 1
        assert self.calls.total() < self.habits.max_calls, self.entered
        return self.call.raw(tool, **arguments)

    def of_session(self, tool, **arguments):
        return self.do(tool, session_token=self.token, **arguments)

    # What an agent reads

    def begin(self, workflow_id, **arguments):
        self.do("discover")
        assert workflow_id in [each["id"] for each in self.do("list_workflows")["workflows"]]
        self.do("start_session", workflow_id=workflow_id, **arguments)
        for skill in self.of_session("get_skills")["skills"].values():
            self.read_resources(skill)
        about = self.of_session("get_workflow")
        self.variables |= {each["name"]: each["defaultValue"] for each in about["variables"] if "defaultValue" in each}
        self.known = {THE_END, *(each["id"] for each in about["activities"])}
        self.of_session("get_workflow", summary=False)
        return about["initialActivity"]

    def read_skill(self, step):
        """The skill that it names, unless that is of a workflow which the team does not have."""
        if "skill" not in step:
            return
        if step["skill"] in self.habits.missing_skills:
            arguments = {"session_token": self.token, "step_id": step["id"]}
            result = self.result_of("get_skill", arguments)
            assert json.loads(result["content"][0]["text"])["code"] == "NOT_FOUND"
            self.refused.append(step["skill"])
        else:
            self.read_resources(self.of_session("get_skill", step_id=step["id"])["skill"])

    def read_resources(self, skill):
        """Each of them once, in all its parts."""
        for listed in skill.get("_resources", []):
            reference = listed["index"]
            while reference and reference not in self.read:
                self.read.add(reference)
                reference = self.next_part(self.of_session("get_resource", **{self.resource_parameter: reference}))

    def found_out(self):
        """What the work of this visit shows, by the habits."""
        told = self.habits.learns.get(self.at, [{}])
        return told[min(self.entered.count(self.at), len(told)) - 1]

    # What an agent decides

    def holds(self, condition):
        """As far as this agent knows; of what it knows nothing no condition holds."""
        if condition is None:
            return True
        match condition["type"]:
            case "and":
                return all(self.holds(part) for part in condition["conditions"])
            case "or":
                return any(self.holds(part) for part in condition["conditions"])
            case "not":
                return not self.holds(condition["condition"])
        return self.compares(condition)

    def compares(self, condition):
        known, value = self.variables.get(condition["variable"]), condition.get("value")
        match condition["operator"]:
            case "==":
                return known == value
            case "!=":
                return known != value
            case "exists":
                return known is not None
            case "notExists":
                return known is None
            case ">":
                return known is not None and known > value
        raise AssertionError(condition)

    def learn(self, effect):
        """The effect of an option, as the reply tells it; the activity that it leads to, if it leads to one."""
        self.variables |= effect.get("setVariable", {})
        return effect.get("transitionTo", "")

    def way_out(self, activity):
        """The first way whose condition holds, else the default; and the words that claim it."""
        branches = [branch for decision in activity.get("decisions", []) for branch in decision["branches"]]
        ways = [(branch["transitionTo"], branch) for branch in branches if "transitionTo" in branch]
        ways += [(each["to"], each) for each in activity.get("transitions", [])]
        ways = [(target, way) for target, way in ways if target in self.known]
        for target, way in ways:
            if not way["isDefault"] and "condition" in way and self.holds(way["condition"]):
                return target, words_of(way["condition"])
        return next(
            ((target, "default") for target, way in ways if way["isDefault"] or "condition" not in way), (THE_END, None)
        )

    def rounds_of(self, loop):
        """How often the loop is gone through: a list as often as it has items, a condition once as long as it holds."""
        match loop["type"]:
            case "forEach" | "for":
                return self.habits.rounds
            case "while":
                return 1 if self.holds(loop.get("condition")) else 0
            case "until":
                return 0 if self.holds(loop.get("condition")) else 1
        return 1

    def set_by(self, owner, key="actions"):
        actions = [action for action in owner.get(key, []) if action["action"] == "set" and "value" in action]
        self.variables |= {
            action["target"]: action["value"] for action in actions if self.holds(action.get("condition"))
        }

    # Walking

    def drive(self, workflow_id, **arguments):
        """To the end of the workflow; its status at the end."""
        self.workflow_id = workflow_id
        target, claim, manifest = self.begin(workflow_id, **arguments), None, None
        while True:
            reply = self.enter(target, claim, manifest)
            if reply["status"] == "completed":
                return reply
            self.at = reply.get("activity_id") or reply["id"]
            self.entered.append(self.at)
            self.look_back()
            activity = self.activity(reply)
            self.set_by(activity, "entryActions")
            done, led_to = self.work(activity)
            manifest = self.manifest_of(done)
            self.set_by(activity, "exitActions")
            self.variables |= self.found_out()
            target, claim = (led_to, None) if led_to else self.way_out(activity)

    def manifest_of(self, done):
        if self.workflow_id.startswith("wr."):
            return told_of(self.workflow_id, done)
        return [{"step_id": step, "output": f"Did {step}; see src/app.py:12."} for step in done]

    def look_back(self):
        """What was called in the activity that was left."""
        if len(self.entered) > 1:
            told = self.of_session("get_trace", trace_tokens=self.trace_tokens[-1:])
            assert told["event_count"] > 0, told

    def enter(self, target, claim, manifest):
        outcomes = [{"activity_id": name, "outcome": "completed"} for name in dict.fromkeys(self.entered)]
        return self.of_session(
            "next_activity",
            activity_id=target,
            transition_condition=claim,
            step_manifest=manifest,
            activity_manifest=outcomes or None,
        )

    def steps(self, items):
        """Each step that is due, in its order, with the steps of loops after those that stand outside."""
        for item in items:
            if "type" in item and "steps" in item:
                for _ in range(self.rounds_of(item)):
                    yield from self.steps(item["steps"])
                    if "breakCondition" in item and self.holds(item["breakCondition"]):
                        break
            elif "id" in item and self.holds(item.get("condition")):
                yield item


class SessionWalk(Walk):
    """Activities come whole, and their questions are answered before they are left."""

    resource_parameter = "resource_index"

    def activity(self, reply):
        """A worker joins for each activity, and reads how to behave."""
        self.do("start_session", workflow_id=self.workflow_id, session_token=self.token, agent_id="worker")
        self.of_session("get_skills")
        self.of_session("get_workflow")
        return reply

    def next_part(self, reply):
        return reply["resource"].get("next_action", {}).get("parameters", {}).get("resource_index")

    def work(self, activity):
        led_to = self.answer_all(activity)
        done = []
        for step in self.steps([*activity.get("steps", []), *activity.get("loops", [])]):
            self.read_skill(step)
            self.set_by(step)
            done.append(step["id"])
        return done, led_to

    def answer_all(self, activity):
        """What is pending is shown to the user, save what has no ground; what an answer makes needless is not asked."""
        pending, led_to = activity["pending_checkpoints"], ""
        while pending:
            checkpoint = self.of_session("get_checkpoint", activity_id=self.at, checkpoint_id=pending[0])
            assert checkpoint["pending"]
            reply = self.answer(checkpoint)
            led_to = self.learn(reply.get("effect", {})) or led_to
            pending = reply["remaining_checkpoints"]
        return led_to

    def answer(self, checkpoint):
        if not self.holds(checkpoint.get("condition")):
            return self.of_session("respond_checkpoint", checkpoint_id=checkpoint["id"], condition_not_met=True)
        self.clock.shift(READ_SECONDS)
        if not checkpoint["blocking"]:
            return self.of_session("respond_checkpoint", checkpoint_id=checkpoint["id"], auto_advance=True)
        option = checkpoint["options"][0]["id"]
        return self.of_session("respond_checkpoint", checkpoint_id=checkpoint["id"], option_id=option)


class OrchestratorWalk(Walk):
    """One agent leads and asks, another does the work and yields where it comes to a question."""

    resource_parameter = "resource_id"

    def activity(self, reply):
        assert self.of_session("get_workflow_status")["status"] == "active"
        self.do("start_session", session_token=self.token, agent_id="worker")
        return self.of_session("get_activity")

    def next_part(self, reply):
        return reply.get("next_action", {}).get("parameters", {}).get("resource_id")

    def work(self, activity):
        named = {checkpoint["id"]: checkpoint for checkpoint in activity.get("checkpoints", [])}
        items = [*activity.get("steps", []), *activity.get("loops", [])]
        done, led_to = [], ""
        for step in self.steps(items):
            self.read_skill(step)
            self.set_by(step)
            done.append(step["id"])
            if step["id"] == self.habits.dispatches_at:
                self.dispatch(activity["triggers"][0])
            if step.get("checkpoint") in named:
                led_to = self.ask(named[step["checkpoint"]])
            if led_to:
                break
        led_to = led_to or self.ask_unplaced(named, items)
        self.do("start_session", session_token=self.token, agent_id="orchestrator")
        return done, led_to

    def dispatch(self, trigger):
        """Another workflow is driven to its end, and this one waits for it."""
        child = OrchestratorWalk(self.call, self.clock, self.habits)
        child.parent = self
        self.children.append(child)
        child.drive(trigger["workflow"], parent_session_token=self.token)
        status = self.of_session("get_workflow_status")
        assert (status["status"], status["current_activity"]) == ("active", self.at), status

    def begin(self, workflow_id, **arguments):
        initial = super().begin(workflow_id, **arguments)
        if self.parent is not None:
            status = self.parent.of_session("get_workflow_status")
            assert status["status"] == "blocked"
            assert [each["workflow_id"] for each in status["children"]] == [workflow_id]
        return initial

    def ask_unplaced(self, named, items):
        """What no step names is asked in the end, where it is required and has its ground."""
        placed = set(_checkpoints_of(items))
        for name, checkpoint in named.items():
            if name not in placed and checkpoint["required"]:
                led_to = self.ask(checkpoint)
                if led_to:
                    return led_to
        return ""

    def ask(self, checkpoint):
        """Where it leads. A question without its ground is not asked."""
        if not self.holds(checkpoint.get("condition")):
            return ""
        handle = self.of_session("yield_checkpoint", checkpoint_id=checkpoint["id"])["checkpoint_handle"]
        assert self.of_session("get_workflow_status")["status"] == "blocked"
        shown = self.do("present_checkpoint", checkpoint_handle=handle)
        self.clock.shift(READ_SECONDS)
        if not shown["blocking"]:
            reply = self.do("respond_checkpoint", checkpoint_handle=handle, auto_advance=True)
        else:
            reply = self.do("respond_checkpoint", checkpoint_handle=handle, option_id=shown["options"][0]["id"])
        self.of_session("resume_checkpoint")
        return self.learn(reply.get("effect", {}))


def _checkpoints_of(items):
    for item in items:
        if "checkpoint" in item:
            yield item["checkpoint"]
        yield from _checkpoints_of(item.get("steps", []))


def words_of(condition):
    """A condition as agents write it down: `a == true AND b exists`."""
    match condition["type"]:
        case "and":
            return " AND ".join(words_of(part) for part in condition["conditions"])
        case "or":
            return " OR ".join(words_of(part) for part in condition["conditions"])
        case "not":
            return f"NOT ({words_of(condition['condition'])})"
    said = f"{condition['variable']} {condition['operator']}"
    return f"{said} {json.dumps(condition['value'])}" if "value" in condition else said
