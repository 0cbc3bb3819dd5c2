"""What an author sees of a source before it is saved: its problems, its outline, and a walk through it. Nothing is written."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError
from workflows_app.engine.problems import WorkflowProblem
from workflows_app.engine.program import Program
from workflows_app.engine.simulate import Simulation, simulate
from workflows_app.engine.source import Source
from workflows_app.engine.trial import check_answers
from workflows_app.services.compiling import compile_for

MAX_ROUNDS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """`program` is there when no problem is an error."""

    workflow_id: str
    program: Program | None
    problems: tuple[WorkflowProblem, ...]


def look_at(*, actor: Actor, source: Source) -> Looked:
    actor.require(Permission.EDIT_WORKFLOWS)
    compiled = compile_for(actor=actor, source=source)
    return Looked(workflow_id=compiled.workflow_id, program=compiled.program, problems=compiled.problems)


def try_out(
    *,
    actor: Actor,
    program: Program,
    variables: Mapping[str, Any],
    answers: Mapping[str, Mapping[str, Any]],
    rounds: int,
) -> Simulation:
    """A walk with those answers; one that the workflow does not have is refused."""
    actor.require(Permission.EDIT_WORKFLOWS)
    if not 1 <= rounds <= MAX_ROUNDS:
        raise InvalidInputError(f"{rounds} rounds are not walked.", suggestion=f"Say 1 to {MAX_ROUNDS}.")
    check_answers(program=program, answers=answers)
    return simulate(program=program, variables=variables, answers=answers, loop_rounds=rounds)
