"""The workflows of a simulation: small, and between them every kind of gate that the walking dialects meet."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from teams_app.engine.ids import uuid7
from workflows_app.engine.compile import compile_source
from workflows_app.engine.program import Program, WorkflowKind, program_bytes, workflow_hash
from workflows_app.engine.source import Library, Source, SourceFormat
from workflows_app.engine.values import Published

STEPS, PLAN, CHILD = "sim.steps", "sim.plan", "sim.child"
APPROVAL = {"kind": "human_approval"}
_OUTCOME = {"action": "set", "target": "outcome", "value": "merged"}


def _step(step_id: str, **fields: Any) -> dict[str, Any]:
    return {"id": step_id, "title": f"Title of {step_id}", "prompt": f"Do {step_id}.", **fields}


def _steps() -> dict[str, Any]:
    """Notes that are demanded, a condition, a loop, a confirmation that an agent passes on, and an approval."""
    body = [_step("inner"), _step("free", notesOptional=True)]
    counted = {"type": "for", "count": 2, "maxIterations": 2}
    return {
        "id": STEPS,
        "name": "Steps",
        "description": "A workflow of a simulation.",
        "version": "1.0.0",
        "steps": [
            _step("first"),
            _step("flagged", notesOptional=True, runCondition={"var": "flag", "equals": True}),
            _step("approve", notesOptional=True, requireConfirmation=APPROVAL),
            {"id": "rounds", "type": "loop", "title": "Rounds", "loop": counted, "body": body},
            _step("confirm", notesOptional=True, requireConfirmation=True),
            _step("last"),
        ],
    }


def _named(step_id: str, **fields: Any) -> dict[str, Any]:
    return {"id": step_id, "name": step_id.title(), **fields}


def _activity(activity_id: str, **fields: Any) -> dict[str, Any]:
    return {"id": activity_id, "version": "1.0.0", "name": activity_id.title(), **fields}


def _question(name: str, *options: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": name, "name": name.title(), "message": f"Is {name} right?", "options": [*options], **fields}


_YES = {"id": "yes", "label": "Yes", "effect": {"setVariable": {"on": "true"}}}
_STOP = {"id": "stop", "label": "Stop", "effect": {"transitionTo": "wrap"}}
_ONCE_MORE = {"id": "more", "label": "Once more"}
_IS_ON = {"type": "simple", "variable": "on", "operator": "==", "value": "true"}


def _plan() -> dict[str, dict[str, Any]]:
    """A question that agents pass on, one for people, an effect that a condition reads, a way back, and a child."""
    plan = _activity(
        "plan",
        checkpoints=[_question("agreed", _YES, _STOP), _question("signed", _YES, _ONCE_MORE, authority="human")],
        steps=[
            _named("draft"),
            _named("ask", checkpoint="agreed"),
            _named("work", condition=_IS_ON),
            _named("sign", checkpoint="signed"),
        ],
        triggers=[{"workflow": CHILD, "passContext": ["ticket"]}],
        transitions=[{"to": "build", "isDefault": True}],
    )
    build = _activity("build", steps=[_named("make")], transitions=[{"to": "wrap", "isDefault": True}, {"to": "plan"}])
    about = {
        "id": PLAN,
        "version": "1.0.0",
        "title": "Plan",
        "initialActivity": "plan",
        "variables": [{"name": "ticket", "type": "string"}, {"name": "outcome", "type": "string"}],
    }
    return {"": about, "plan": plan, "build": build, "wrap": _activity("wrap", steps=[_named("tidy")])}


def _child() -> dict[str, dict[str, Any]]:
    only = _activity("only", steps=[_named("do", actions=[_OUTCOME]), _named("end")], exitActions=[_OUTCOME])
    return {"": {"id": CHILD, "version": "1.0.0", "title": "Child", "initialActivity": "only"}, "only": only}


def _folder(parts: Mapping[str, dict[str, Any]]) -> Source:
    """The files are JSON, which YAML holds."""
    files = {
        f"activities/{number:02}-{name}.yaml" if name else "workflow.yaml": json.dumps(part).encode()
        for number, (name, part) in enumerate(parts.items())
    }
    return Source(format=SourceFormat.ACTIVITY_FOLDER, files=files)


def sources() -> dict[str, Source]:
    steps = Source(format=SourceFormat.STEPS_JSON, files={"workflow.json": json.dumps(_steps()).encode()})
    return {STEPS: steps, PLAN: _folder(_plan()), CHILD: _folder(_child())}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowShelf:
    """The workflows as a team has published them."""

    published: Mapping[str, Published]
    programs: Mapping[str, bytes]


@cache
def shelf() -> WorkflowShelf:
    compiled = {name: _program(name, source) for name, source in sources().items()}
    return WorkflowShelf(
        published={name: _published(name, program, number) for number, (name, program) in enumerate(compiled.items())},
        programs={workflow_hash(program): program_bytes(program) for program in compiled.values()},
    )


def _program(name: str, source: Source) -> Program:
    compilation = compile_source(source=source, library=Library(workflow_ids=frozenset({STEPS, PLAN, CHILD})))
    if compilation.program is None:
        raise ValueError(f"{name} does not compile: {compilation.errors}")
    return compilation.program


def _published(name: str, program: Program, number: int) -> Published:
    return Published(
        workflow_id=name,
        requested_id=name,
        revision_id=uuid7(unix_ms=0, random=number.to_bytes(10, "big")),
        number=1,
        workflow_hash=workflow_hash(program),
        kind=WorkflowKind.WORKFLOW,
        title=program.title,
        version=program.version,
        bundled=False,
        warnings=(),
    )
