"""How things are called on a page. An id is never a title."""

import re
from typing import assert_never

from sessions_app.admin.states import APPROVE
from sessions_app.engine.checkpoints import Authority
from sessions_app.selectors.checkpoints import CheckpointValue
from sessions_app.selectors.runs import RunName
from teams_app.engine.actors import BY_TOKEN, Door
from teams_app.engine.markdown import plain_words

_MOST_CHARACTERS = 160
_WAYS = {
    Door.STUDIO.value: " in the Studio",
    Door.REST.value: " by REST",
    Door.MCP.value: " by MCP",
    Door.CLI.value: " on the command line",
    BY_TOKEN: " by token",
}
_SENTENCE = re.compile(r"^(.{3,}?[?!.])(?:\s|$)")


def run_name(*, goal: str, name: str = "", session_title: str = "", workflow_title: str = "") -> str:
    """`name` is what a person has called it."""
    return cut(name) or cut(goal) or cut(session_title) or workflow_title or "A run"


def named_run(name: RunName) -> str:
    return run_name(
        goal=name.goal, name=name.name, session_title=name.session_title, workflow_title=name.workflow_title
    )


def question_name(value: CheckpointValue) -> str:
    """An approval is named by its step, any other question by its title where that asks, else by how it begins."""
    if any(option.id == APPROVE for option in value.options):
        title = value.title or value.checkpoint_id
        return title if title.endswith("?") else f"Approve “{title}”?"
    if value.title.endswith("?"):
        return value.title
    said = plain_words(value.message)
    first = _SENTENCE.match(said)
    asked = first[1] if first else said
    return cut(asked) or value.title or value.checkpoint_id


def option_label(value: CheckpointValue) -> str:
    return next((option.label for option in value.options if option.id == value.option_id), value.option_id)


def how_answered(value: CheckpointValue, name: str) -> str:
    """Who answered, in which right, and by which way."""
    through = _WAYS.get(value.door, "")
    match value.answered_as:
        case Authority.HUMAN:
            return f"Answered by {name}{through}"
        case Authority.RELAYED:
            return f"{name} passed on its user's answer{through}"
        case Authority.DEFAULT:
            return (
                "The workflow's own default" if value.option_id else "Its condition did not hold: nobody had to answer"
            )
        case None:
            return ""
        case _:
            assert_never(value.answered_as)


def cut(text: str, *, characters: int = _MOST_CHARACTERS) -> str:
    """The first words, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= characters else f"{line[:characters].rstrip()}…"
