"""Passages that a prompt refers to by name instead of repeating them: `{"kind": "ref", "refId": …}` or `{{wr.refs.…}}`."""

from collections.abc import Mapping

PREFIX = "wr.refs."

TEXTS: Mapping[str, str] = {
    f"{PREFIX}memory_usage": (
        "If you have a tool that remembers across chats, use it at both ends of the work: ask it before you decide, and tell it"
        " what you decided. What it returns is a lead to check, never a fact. Without such a tool, the notes of earlier steps"
        " are your memory."
    ),
    f"{PREFIX}memory_store": (
        "Store what the next person would otherwise find out again: the decision, its reason, what was ruled out, and where the"
        " proof is. Leave out what the code or its history already says, guesses, and anything secret."
    ),
    f"{PREFIX}memory_query": (
        "Before you settle on an approach, ask your memory tool about this repository and subject: earlier decisions, known"
        " traps, wishes of the team. Say in your notes what you asked and whether the answer still holds."
    ),
    f"{PREFIX}notes_first_durability": (
        "Your notes are the record that outlives this chat. Write there what was found, what was decided and why, and what is"
        " still open, so that someone who reads nothing else could go on. A file may carry a result; it never carries the state"
        " of the work."
    ),
    f"{PREFIX}synthesis_under_disagreement": (
        "Where sources disagree, name the claim on which they part and look for evidence that decides it. Do not count votes and"
        " do not average. If nothing decides it, keep both positions, say which one you act on, and say what would change your"
        " mind."
    ),
    f"{PREFIX}parallelize_cognition_serialize_synthesis": (
        "Look at independent questions side by side, but bring the answers together in one place and one after the other:"
        " several readers, one writer. Decisions and shared documents are changed by you alone, after all answers are in."
    ),
    f"{PREFIX}adversarial_challenge_rules": (
        "Attack the strongest form of the claim, with evidence. Each objection names a concrete case and what would be seen if it"
        " held. Concede what survives, and end with one verdict: keep, revise or reject. An objection that nothing could refute"
        " is dropped."
    ),
}
