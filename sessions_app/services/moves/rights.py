"""Whose word a choice is: a person's waives questions and approves work, an agent's does neither."""

from dataclasses import replace

from sessions_app.engine.decisions import PreferenceChange
from teams_app.engine.actors import Actor, ActorKind, Permission
from teams_app.engine.errors import HumanRequiredError
from workflows_app.engine.program import Autonomy


def person_of(actor: Actor) -> str:
    """The person who steers runs, as far as their word is a person's; empty for anybody else, whose choice waives nothing."""
    return actor.id if actor.is_human and actor.may(Permission.STEER_RUNS) else ""


def chosen_by(actor: Actor, change: PreferenceChange | None) -> PreferenceChange | None:
    return None if change is None else replace(change, person=person_of(actor))


def set_by(actor: Actor, change: PreferenceChange) -> PreferenceChange:
    """What a person sets, and no agent. Never to stop is a waiver of every question, so it asks for the same right."""
    if actor.token is not None and not actor.is_human and change.autonomy is Autonomy.NEVER_STOP:
        raise HumanRequiredError(
            "Never to stop waives the questions for people, and tokens of this team do not answer those.",
            suggestion="Choose it in the Studio, signed in, or another mode.",
        )
    is_person = actor.kind is ActorKind.PERSON and actor.may(Permission.STEER_RUNS)
    return replace(change, person=actor.id if is_person else "")


def approves(actor: Actor) -> bool:
    """Whether what the actor acknowledges is approved by that."""
    return actor.is_human and actor.may(Permission.ANSWER_CHECKPOINTS)
