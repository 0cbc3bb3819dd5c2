"""What the pending item asks to be handed in, as a form with places to fill in: for a call that stands ready."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sessions_app.engine import assessments
from sessions_app.engine.approvals import ANSWER_KIND
from sessions_app.engine.obligations import left_to_agent, needs_notes
from sessions_app.engine.prompts import Pending
from sessions_app.engine.state import PointerKind, Snapshot
from sessions_app.engine.submissions import NOTES_PLACEHOLDER, place_for
from workflows_app.engine import contracts, walker
from workflows_app.engine.program import Contract, Parallel, Program, Step

_MOST_KEYS = 12
# How deep the form of an artifact goes.
_DEEPEST_FORM = 3
# Authors name the variables of a step in a sentence that begins so; the first name, and every one that is given a value.
_CONTEXT = re.compile(r"Set in context: (.+)")
_NAMED = re.compile(r"(?:^|and )`([A-Za-z_]\w*)`|`([A-Za-z_]\w*)` =")


def form_of(*, program: Program, snapshot: Snapshot, pending: Pending) -> dict[str, Any]:
    """`output` and `context` as far as the item asks for them; empty where it asks for nothing."""
    item = walker.item_at(program, snapshot.position)
    output: dict[str, Any] = {}
    if isinstance(item, Step | Parallel) and needs_notes(item):
        output["notesMarkdown"] = NOTES_PLACEHOLDER
    artifacts = [*_answers(pending), *(_artifacts(program, item) if isinstance(item, Step | Parallel) else ())]
    if artifacts:
        output["artifacts"] = artifacts
    decided = () if item is None else left_to_agent(item)
    keys = dict.fromkeys((*_context_keys(pending.prompt), *decided, *_lacking(snapshot)))
    context = {name: place_for(name) for name in keys}
    return {**({"output": output} if output else {}), **({"context": context} if context else {})}


def _answers(pending: Pending) -> Iterator[dict[str, Any]]:
    question = pending.question
    if question is not None and not question.human:
        options = " | ".join(id_ for id_, _label, _text in question.options)
        yield {"kind": ANSWER_KIND, "checkpointId": question.checkpoint_id, "optionId": f"<{options}>"}


def _artifacts(program: Program, item: Step | Parallel) -> Iterator[dict[str, Any]]:
    if item.contract is not None:
        if item.contract.required:
            yield _of_contract(contracts.asked_of(program, item, item.contract))
    elif isinstance(item, Step) and item.assessments:
        yield from assessments.forms(program, item)


def _of_contract(contract: Contract) -> dict[str, Any]:
    """Its required keys. What is the same for everybody stands there already."""
    return {"kind": contract.artifact_kind, **_form(contract.schema, _DEEPEST_FORM, without=("kind",))}


def _form(schema: Mapping[str, Any], depth: int, *, without: Sequence[str] = ()) -> dict[str, Any]:
    known = schema.get("properties", {})
    required = schema.get("required", ()) if depth else ()
    return {key: _place(key, known.get(key), depth - 1) for key in required if key not in without}


def _place(key: str, schema: Any, depth: int) -> Any:
    """A list of objects has one of them as a form, since a text in its place would be refused however it is filled in."""
    match schema:
        case {"const": value}:
            return value
        case {"enum": [*values]}:
            return f"<{' | '.join(map(str, values))}>"
        case {"type": "array", "items": {"type": "object"} as each}:
            return [_form(each, depth) or place_for(key)]
        case {"type": "array"}:
            return [place_for(key)]
        case {"type": "object"}:
            return _form(schema, depth)
        case _:
            return place_for(key)


def _lacking(snapshot: Snapshot) -> Iterator[str]:
    """What the run is blocked for want of."""
    for blocker in snapshot.blocked.blockers if snapshot.blocked else ():
        if blocker.pointer.kind is PointerKind.CONTEXT_KEY:
            yield blocker.pointer.name.partition(".")[0]


def _context_keys(prompt: str) -> list[str]:
    found = (first or given for sentence in _CONTEXT.findall(prompt) for first, given in _NAMED.findall(sentence))
    return list(dict.fromkeys(found))[:_MOST_KEYS]
