"""Text that an agent reads, put together from what the author wrote. What depends on the run is left for the run."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from workflows_app.engine import conditions, placeholders
from workflows_app.engine.program import Audit, Capability, ConditionMode, Delegation, Parallel, Verification
from workflows_app.engine.steps import refs
from workflows_app.engine.steps.features import FEATURES, Feature

_NUMBERED = re.compile(r"(\d+)[.)]\s+")
_HAND_OUT = """Start the following runs side by side, each with a sub-agent of its own. If you cannot delegate, do them yourself \
one after the other, and say so in your notes."""
_NOTHING_TO_HAND_OUT = "Nothing is to be handed out here: the condition of no run holds. Say so, and go on."
_CAPABILITY_TRIALS = {
    Capability.DELEGATION: "start one sub-agent with a harmless task, for example to say which tools it has, and wait for it",
    Capability.WEB_BROWSING: "fetch one short public page, or run one search",
}
_CAPABILITY_WAYS_OUT = {
    Capability.DELEGATION: "switching sub-agents on, or running the parts of this workflow one after the other in this chat",
    Capability.WEB_BROWSING: "connecting a web tool, or handing in the source material",
}


def from_blocks(blocks: dict[str, Any], *, features: Iterable[str]) -> str:
    """The blocks in their fixed order, each under its heading, with what the features add."""
    return "\n\n".join(f"## {heading}\n{body}" for heading, body in _sections(blocks, features) if body)


def value_of(value: Any) -> str:
    """A text, or parts of text and references in a row; a blank stands between two that would touch."""
    if isinstance(value, str):
        return value
    written = ""
    for part in value:
        piece = part["text"] if part["kind"] == "text" else refs.TEXTS.get(part["refId"], "")
        touching = written and piece and not written[-1].isspace() and not piece[0].isspace()
        written += f" {piece}" if touching else piece
    return written


def refs_in(blocks: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every reference in the blocks, with its place in them."""
    for name, value in blocks.items():
        items = enumerate(value) if name in {"constraints", "procedure", "verify"} else [(None, value)]
        for index, item in items:
            for place, part in enumerate(item if isinstance(item, list) else ()):
                if part["kind"] == "ref":
                    yield part["refId"], f"{name}{'' if index is None else f'[{index}]'}[{place}].refId"


def parallel(delegations: Sequence[Delegation], *, synthesis: str) -> str:
    """What to hand out, to whom and with what; then how to bring it together."""
    parts = [_HAND_OUT, _numbered([_delegation(delegation) for delegation in delegations])]
    if synthesis:
        parts.append(f"## Bring it together\n{synthesis}")
    return "\n\n".join(parts)


def handed_out(
    item: Parallel, *, variables: Mapping[str, Any], mode: ConditionMode, filling: placeholders.Filling
) -> str:
    """What is handed out now: the delegations whose condition holds, with the values that they take along."""
    now: list[Delegation] = []
    later: list[Delegation] = []
    for delegation in item.delegations:
        held = conditions.evaluate(delegation.run_condition, variables=variables, mode=mode)
        (now if held else later).append(delegation)
    resolved = [_resolved(delegation, filling) for delegation in now]
    parts = [_HAND_OUT if now else _NOTHING_TO_HAND_OUT]
    if resolved:
        parts.append(_numbered([_delegation(delegation) for delegation in resolved]))
    if later:
        left = (f"`{each.workflow}` (only if {conditions.describe(each.run_condition)})" for each in later)
        parts.append(f"Left out now, since the condition does not hold: {', '.join(left)}.")
    if item.synthesis_prompt:
        parts.append(f"## Bring it together\n{filling.render(item.synthesis_prompt)}")
    return "\n\n".join(parts)


def _resolved(delegation: Delegation, filling: placeholders.Filling) -> Delegation:
    arguments = {name: filling.render(value) for name, value in delegation.arguments.items()}
    taken = {theirs: filling.render(f"{{{{{mine}}}}}") for mine, theirs in delegation.context_mapping.items()}
    return msgspec.structs.replace(
        delegation,
        goal=filling.render(delegation.goal),
        arguments={**arguments, **taken},
        context_mapping={},
        run_condition=None,
    )


def with_checks(prompt: str, *, verification: Verification | None, audit: Audit | None) -> str:
    """The prompt, followed by the check to run and the audit to make before the step is handed in."""
    parts = [prompt]
    if verification:
        parts.append(f"## Run this check\n{_verification(verification)}")
    if audit:
        parts.append(f"## Audit your result\n{_audit(audit)}")
    return "\n\n".join(part for part in parts if part)


def probe(capability: Capability) -> str:
    """How to find out, early and cheaply, whether a capability is there."""
    trial = _CAPABILITY_TRIALS[capability]
    way_out = _CAPABILITY_WAYS_OUT[capability]
    return f"""Find out whether you have the capability `{capability}` here: {trial}. One honest attempt is enough; do not start on \
the work itself.

Report what happened with the capability observation that this step asks for: `available` if the attempt worked, `unavailable` \
if it failed or there is no such tool. Do not answer from memory of other chats.

If it is unavailable, tell your user what would help: {way_out}."""


def _sections(blocks: dict[str, Any], features: Iterable[str]) -> Iterator[tuple[str, str]]:
    added = [FEATURES[feature] for feature in features]
    required = blocks.get("outputRequired") or {}
    yield "Goal", value_of(blocks.get("goal") or "")
    yield "Constraints", _bullets(_lines(blocks, added, "constraints"))
    yield "Procedure", _numbered(_lines(blocks, added, "procedure"))
    yield "Output required", _bullets([f"`{key}`: {meaning}" for key, meaning in sorted(required.items())])
    yield "Verify", _bullets(_lines(blocks, added, "verify"))


def _lines(blocks: dict[str, Any], features: list[Feature], name: str) -> list[str]:
    own = [value_of(value) for value in blocks.get(name) or ()]
    return [line for line in (*own, *(line for feature in features for line in getattr(feature, name))) if line.strip()]


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {_hanging(line, 2)}" for line in lines)


def _numbered(lines: Sequence[str]) -> str:
    """Numbers from 1; an author's own number in the same place is not said twice."""
    return "\n".join(f"{index}. {_hanging(_unnumbered(line, index), 3)}" for index, line in enumerate(lines, start=1))


def _unnumbered(line: str, index: int) -> str:
    found = _NUMBERED.match(line)
    return line[found.end() :] if found and found[1] == str(index) else line


def _hanging(text: str, indent: int) -> str:
    return text.replace("\n", f"\n{' ' * indent}") if "\n" in text else text


def _delegation(delegation: Delegation) -> str:
    lines = [f"`{delegation.workflow}`{f': {delegation.goal}' if delegation.goal else ''}"]
    if delegation.run_condition is not None:
        lines.append(f"- Only if {conditions.describe(delegation.run_condition)}")
    if delegation.context_mapping:
        pairs = (f"`{mine}` as `{theirs}`" for mine, theirs in sorted(delegation.context_mapping.items()))
        lines.append(f"- From your context: {', '.join(pairs)}")
    lines += [f"- `{name}`: {value}" for name, value in sorted(delegation.arguments.items())]
    if delegation.model_tier is not None:
        lines.append(f"- Model: {delegation.model_tier}")
    if delegation.allowed_tools:
        lines.append(f"- Tools: {', '.join(f'`{tool}`' for tool in delegation.allowed_tools)}")
    return "\n".join(lines)


def _verification(verification: Verification) -> str:
    fence = "````" if "```" in verification.command else "```"
    parts = [f"{fence}\n{verification.command}\n{fence}"] if verification.command else []
    parts.append(verification.prompt or "Put the command and the end of its output into your notes.")
    return "\n\n".join(parts)


def _audit(audit: Audit) -> str:
    parts = [
        audit.prompt
        or "Before you hand in this step, read your result as a stranger would, and correct what falls short."
    ]
    if audit.rubric:
        parts.append(_bullets(audit.rubric))
    return "\n\n".join(parts)
