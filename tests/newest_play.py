"""Random folders of the newest form, valid by construction: groups, fragments, borrowed activities, loops, questions, triggers."""

import json
from dataclasses import dataclass
from random import Random
from typing import Any

from workflows_app.engine.source import Library

KINDS = ("technique", "technique", "action", "checkpoint", "loop")
VARIABLES = {
    "ready_flag": "boolean",
    "again_flag": "boolean",
    "task_list": "array",
    "kind_name": "string",
    "some_count": "number",
}
WHENS = (
    "ready_flag",
    "!ready_flag",
    "ready_flag && !again_flag",
    "some_count > 2 || ready_flag",
    "kind_name == 'a'",
    "kind_name",
)


@dataclass
class Folders:
    files: dict[str, bytes]
    library: Library


def random_folder(seed):
    return _Maker(Random(seed)).folders()


class _Maker:
    def __init__(self, chance):
        self.chance = chance
        self.numbers = 0
        self.techniques = {}

    def folders(self):
        names = [f"part-{number}" for number in range(self.chance.randint(1, 4))]
        side = {"workflow.yaml": written({"id": "side", "fragments": self.fragments("side")})}
        meta = {
            "workflow.yaml": written({"id": "meta", "fragments": self.fragments("meta")}),
            "techniques/shared.md": text("shared"),
        }
        lent = {"id": "lent", "version": "1.0.0", "name": "Lent", "steps": self.steps("lent", 1, fragment="side-asked")}
        side["activities/patterns/01-lent.yaml"] = written(lent)
        side |= {path: text(path) for path in self.techniques}
        self.techniques = {}
        borrowed = self.chance.random() < 0.5
        targets = [*names[1:], *(["lent"] if borrowed else [])]
        files = {"workflow.yaml": written(self.about(names, borrowed))}
        for number, name in enumerate(names, 1):
            following = targets[number - 1] if number <= len(targets) else ""
            files[f"activities/{number:02}-{name}.yaml"] = written(self.activity(name, following))
        files |= {path: text(path) for path in self.techniques}
        files["techniques/TECHNIQUE.md"] = text("all")
        files["resources/guide.md"] = b"# Guide"
        if self.chance.random() < 0.3:
            files |= {"resources/README.md": b"# About", "resources/readme.md": b"# Pointer"}
        return Folders(files=files, library=Library(folders={"side": side, "meta": meta}))

    def about(self, names, borrowed) -> dict[str, Any]:
        return {
            "id": "team.random",
            "version": "1.0.0",
            "title": "Random",
            "initialActivity": names[0],
            "rules": {
                "workflow": [{"ref": "own-rule"}, "Plain"],
                "activity": [{"ref": "side::side-rule"}, {"ref": "meta-rule"}],
            },
            "fragments": self.fragments("own"),
            "techniques": {"activity": ["shared"]},
            "variables": [{"name": name, "type": kind} for name, kind in VARIABLES.items()],
            "activities": ["side/patterns/01-lent.yaml"] if borrowed else [],
        }

    def fragments(self, name):
        rule = self.chance.choice(["One text.", ["Two", "texts"]])
        return {"rules": {f"{name}-rule": rule}, "checkpoints": {f"{name}-asked": self.question([])}}

    def activity(self, name, following) -> dict[str, Any]:
        ways = [{"to": following, "isDefault": True}] if following else []
        if following and self.chance.random() < 0.4:
            ways.insert(0, {"to": following, "condition": self.condition()})
        triggers = [{"workflow": "team.random", "passContext": ["task_list"]}] if self.chance.random() < 0.3 else []
        steps = self.steps(name, 3, following=following)
        return {"id": name, "version": "1.0.0", "name": name, "steps": steps, "transitions": ways, "triggers": triggers}

    def steps(self, group, depth, *, following="", fragment="own-asked"):
        kinds = [self.chance.choice(KINDS if depth > 1 else KINDS[:-1]) for _ in range(self.chance.randint(1, 4))]
        return [self.step(kind, group, depth, following, fragment) for kind in kinds]

    def step(self, kind, group, depth, following, fragment):
        made: dict[str, Any] = {"kind": kind, "id": self.name(kind)}
        if self.chance.random() < 0.3:
            made["when"] = self.chance.choice(WHENS)
        match kind:
            case "technique":
                made["technique"] = self.technique(group)
            case "action":
                made["actions"] = [self.action() for _ in range(self.chance.randint(0, 2))]
            case "checkpoint" if self.chance.random() < 0.4:
                made["ref"] = self.chance.choice([fragment, "meta-asked", "side::side-asked"])
            case "checkpoint":
                made |= self.question([following] if following and depth == 3 else [])
            case _:
                made |= self.loop(group, depth, fragment)
        return made

    def loop(self, group, depth, fragment):
        inside = self.steps(group, depth - 1, fragment=fragment)
        # Whatever the questions and conditions inside, some step is always done, and may learn what ends the loop.
        inside.append({"kind": "action", "id": self.name("last"), "actions": []})
        if self.chance.random() < 0.5:
            return {
                "loopType": "forEach",
                "variable": "task",
                "over": self.chance.choice(["task_list", "{task_list}"]),
                "steps": inside,
            }
        kind = self.chance.choice(["while", "doWhile"])
        return {"loopType": kind, "condition": self.condition("again_flag"), "maxIterations": 5, "steps": inside}

    def technique(self, group):
        form = self.chance.choice(["bare", "group", "shared", "inputs"])
        name = self.name("op")
        if form == "shared":
            return "shared"
        self.techniques[f"techniques/{group}/{name}.md" if form == "bare" else f"techniques/other/{name}.md"] = None
        if form == "bare":
            return name
        reference = f"other::{name}"
        return (
            reference
            if form == "group"
            else {"name": reference, "inputs": {"a": "{task_list}"}, "outputs": {"o": "some_count"}}
        )

    def action(self):
        value = self.chance.choice([True, "{again_flag}", None, False])
        return self.chance.choice(
            [
                {"action": "set", "target": "ready_flag", "value": value},
                {"action": "message", "message": "Hi {kind_name}"},
            ]
        )

    def question(self, targets):
        options = [
            {"id": "yes", "label": "Yes"},
            {"id": "no", "label": "No", "effect": {"setVariable": {"ready_flag": False}}},
        ]
        options += [{"id": "jump", "label": "Jump", "effect": {"transitionTo": target}} for target in targets]
        self.chance.shuffle(options)
        soft = {"defaultOption": "yes", "autoAdvanceMs": 1000} if self.chance.random() < 0.3 else {}
        return {"message": "Go on with {kind_name}?", "options": options, **soft}

    def condition(self, name="ready_flag"):
        simple = {"type": "simple", "variable": name, "operator": "==", "value": True}
        return (
            simple
            if self.chance.random() < 0.6
            else {
                "type": "and",
                "conditions": [
                    simple,
                    {
                        "type": "not",
                        "condition": {"type": "simple", "variable": "some_count", "operator": ">", "value": 3},
                    },
                ],
            }
        )

    def name(self, kind):
        self.numbers += 1
        return f"{kind}-{self.numbers}"


def written(value):
    """JSON is YAML."""
    return json.dumps(value).encode()


def text(path):
    return f"---\nmetadata:\n  version: 1.0.0\n---\n\n## Capability\n\nDoes {path}.\n\nSee [guide](../resources/guide.md).\n".encode()
