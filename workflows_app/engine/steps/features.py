"""Features of a workflow: rules of work that are added to every step that is written in prompt blocks."""

from collections.abc import Mapping
from dataclasses import dataclass

PREFIX = "wr.features."


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """Lines for the end of the blocks of the same names."""

    constraints: tuple[str, ...] = ()
    procedure: tuple[str, ...] = ()
    verify: tuple[str, ...] = ()


FEATURES: Mapping[str, Feature] = {
    f"{PREFIX}memory_context": Feature(
        constraints=(
            (
                "If a tool that remembers across chats is at hand, ask it about this subject before you decide. What it returns is a"
                " lead to check. Without such a tool, go by the notes of earlier steps."
            ),
        ),
        verify=("Decisions that later work depends on are in your notes, and in the memory tool if there is one.",),
    ),
    f"{PREFIX}capabilities": Feature(
        constraints=(
            (
                "Delegation and web access may be missing here. Try one before you rely on it. If it is missing, do that part"
                " yourself, one thing after the other, and say so in your notes."
            ),
        ),
    ),
    f"{PREFIX}subagent_guidance": Feature(
        constraints=(
            (
                "Give a sub-agent one bounded question and everything it needs to answer it; it sees nothing of this conversation."
                " What it returns is evidence. Decisions and their reasons stay with you."
            ),
        ),
        verify=("Where sub-agents were used, your notes say what was kept of their answers, what was not, and why.",),
    ),
}
