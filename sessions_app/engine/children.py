"""Runs that another run's activity triggers: what they are given, and what they give back when they are complete."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from sessions_app.engine.decisions import Decision, Outcome, Place
from sessions_app.engine.journal import Journal
from sessions_app.engine.log import NodeKind
from sessions_app.engine.outputs import merge_context
from sessions_app.engine.state import Snapshot
from workflows_app.engine.program import Activity, Program, Step, Trigger, walk_items


def trigger_of(activity: Activity | None, names: frozenset[str]) -> Trigger | None:
    """The trigger of the activity, or of one of its steps, that starts the workflow of these names."""
    return next((trigger for trigger in triggers_of(activity) if trigger.workflow in names), None)


def triggers_of(activity: Activity | None) -> tuple[Trigger, ...]:
    if activity is None:
        return ()
    of_steps = (trigger for item in walk_items(activity.body) if isinstance(item, Step) for trigger in item.triggers)
    return (*activity.triggers, *of_steps)


def passed_on(trigger: Trigger, parent: Snapshot) -> dict[str, Any]:
    """The variables that the trigger names, as far as the parent has them."""
    return {name: parent.variables[name] for name in trigger.pass_context if name in parent.variables}


def given_back(*, parent: Program, trigger: Trigger | None, before: Snapshot, child: Snapshot) -> dict[str, Any]:
    """What the child leaves in the variables that it was given or that the parent declares, where it is another value."""
    shared = {variable.name for variable in parent.variables} | set(trigger.pass_context if trigger else ())
    return {
        name: child.variables[name]
        for name in sorted(shared & child.variables.keys())
        if before.variables.get(name) != child.variables[name]
    }


def suspended(*, program: Program, snapshot: Snapshot, run: str, place: Place) -> Decision:
    """The parent waits for the run."""
    waiting = tuple(sorted({*snapshot.waits_for, run}))
    return _node(Journal(place, asked=snapshot.asked), program, replace(snapshot, waits_for=waiting))


def resumed(*, program: Program, snapshot: Snapshot, run: str, returned: Mapping[str, Any], place: Place) -> Decision:
    """The run is complete; the parent goes on with what it gave back."""
    journal = Journal(place, asked=snapshot.asked)
    if returned:
        journal.context(returned, source="child_run")
    waiting = tuple(other for other in snapshot.waits_for if other != run)
    variables = merge_context(snapshot.variables, returned)
    after = replace(snapshot, waits_for=waiting, variables=variables, returned=snapshot.returned + 1)
    return _node(journal, program, after)


def _node(journal: Journal, program: Program, snapshot: Snapshot) -> Decision:
    """The same work is pending; the questions of a run that is handed over are kept apart."""
    journal.advance_recorded(Outcome.ADVANCED, ())
    following = snapshot if snapshot.is_handed_over else journal.ask(program, snapshot, stays=True)
    return journal.decision(outcome=Outcome.ADVANCED, snapshot=following, node_kind=NodeKind.STEP)
