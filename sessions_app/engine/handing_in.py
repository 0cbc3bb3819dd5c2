"""What the pending item asks to be handed in, as a form with places to fill in: for a call that stands ready."""

import re
from collections.abc import Iterator
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
    said = {key: _place(key, contract) for key in contract.schema.get("required", ()) if key != "kind"}
    return {"kind": contract.artifact_kind, **said}


def _place(key: str, contract: Contract) -> Any:
    schema = contract.schema.get("properties", {}).get(key)
    match schema:
        case {"const": value}:
            return value
        case {"enum": [*values]}:
            return f"<{' | '.join(map(str, values))}>"
        case {"type": "array"}:
            return [place_for(key)]
        case {"type": "object"}:
            return {}
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
