"""Runs that another run's activity triggers: what they are given, and what they give back when they are complete."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from sessions_app.engine import questions
from sessions_app.engine.decisions import Decision, Outcome, Place, Suspend, TakeBack
from sessions_app.engine.declining import declined_in_child
from sessions_app.engine.journal import Journal
from sessions_app.engine.log import NodeKind
from sessions_app.engine.outputs import merge_context
from sessions_app.engine.settling import changes_held, claimed_with
from sessions_app.engine.state import Snapshot
from workflows_app.engine import conditions, walker
from workflows_app.engine.people import kept_for_people, set_by_others, set_by_people_alone
from workflows_app.engine.program import Activity, Program, Step, Trigger, walk_items
from workflows_app.engine.variables import Names, is_about


def trigger_of(activity: Activity | None, names: frozenset[str]) -> Trigger | None:
    """The trigger of the activity, or of one of its steps, that starts the workflow of these names."""
    return next((trigger for trigger in triggers_of(activity) if trigger.workflow in names), None)


def triggers_of(activity: Activity | None) -> tuple[Trigger, ...]:
    if activity is None:
        return ()
    of_steps = (trigger for item in walk_items(activity.body) if isinstance(item, Step) for trigger in item.triggers)
    return (*activity.triggers, *of_steps)


def passed_on(trigger: Trigger, *, program: Program, parent: Snapshot) -> dict[str, Any]:
    """The variables that the trigger names, as far as the parent has them: in a loop the item at hand is one. With those of dotted
    names that are read in the place of a part of one.
    """
    scope = walker.scope_at(program=program, position=parent.position, variables=parent.variables)
    named = Names(trigger.pass_context)
    return {name: value for name, value in scope.items() if name in named}


def given_to(child: Program, *, passed: Mapping[str, Any], program: Program, parent: Snapshot) -> dict[str, Any]:
    """Of what is passed on, what a run of the child is given: what only people say there where the parent says it, or people in it,
    and not where an agent does.
    """
    presumed = _presumed(program, parent, child) if passed else Names(())
    return {name: value for name, value in passed.items() if not is_about(name, presumed)}


def _presumed(parent: Program, before: Snapshot, program: Program) -> Names:
    """Of what the child keeps for people, what stands in the parent on an agent's word alone."""
    kept = kept_for_people(program)
    if not kept:
        return Names(())
    declared = {each.name: each.default for each in parent.variables if each.has_default}
    others, settled = set_by_others(parent), Names(before.settled)
    return Names(
        name
        for name in kept
        if name not in settled
        and not is_about(name, others)
        and changes_held(name, Names((name,)), before=declared, variables=before.variables)
    )


def settled_of(trigger: Trigger, *, parent: Snapshot) -> tuple[str, ...]:
    """Of what is passed on, what an answer has set or chose not to: it is not the agent's in the other run either."""
    return _settled_among(trigger.pass_context, parent.settled)


def _settled_among(names: Iterable[str], settled: tuple[str, ...]) -> tuple[str, ...]:
    """What an answer has set of these variables and of their parts, whether or not there is a value."""
    named, held = Names(names), Names(settled)
    return tuple(
        sorted({*(each for each in named.sorted if each in held), *(each for each in held.sorted if each in named)})
    )


def given_back(
    *, parent: Program, trigger: Trigger | None, before: Snapshot, program: Program, child: Snapshot
) -> dict[str, Any]:
    """What the child, a run of `program`, leaves in the variables that it was given or that the parent declares, where it is
    another value.

    A run that a person has stopped leaves nothing, and what an answer has set in the parent stays, or what only people say there,
    but for what a person has answered in the child since. So does what a loop of the parent counts and goes through.
    """
    shared = _shared(parent, trigger, before, child)
    others = set_by_others(program)
    kept = (name for name in kept_for_people(parent) if not is_about(name, others))
    named, held, settled = Names(shared), Names((*before.settled, *kept)), Names(child.settled)
    given = {name: value for name, value in child.variables.items() if name in named}
    answered = Names(name for name in set_by_people_alone(program) if name in settled) if given else ()
    after = {**before.variables, **given}
    back = {
        name: value
        for name, value in sorted(given.items())
        if (name in answered or not changes_held(name, held, before=before.variables, variables=after))
        and not conditions.is_same_value(before.variables.get(name, conditions.MISSING), value)
    }
    declined = _declined(settled_in(parent=parent, trigger=trigger, before=before, child=child), parent, before, child)
    if not declined:
        return back
    return (
        declined_in_child(parent=parent, variables=before.variables, declined=declined, program=program, child=child)
        | back
    )


def _declined(settled: tuple[str, ...], parent: Program, before: Snapshot, child: Snapshot) -> list[str]:
    """Of what answers have settled in the child, what has no value there and stands in the parent on an agent's word alone."""
    if not settled:
        return []
    known, others = Names(before.settled), set_by_others(parent)
    return [
        name
        for name in settled
        if _is_nothing(conditions.lookup(tuple(name.split(".")), variables=child.variables))
        and name not in known
        and not is_about(name, others)
    ]


def _is_nothing(value: object) -> bool:
    return value is None or value is conditions.MISSING


def settled_in(*, parent: Program, trigger: Trigger | None, before: Snapshot, child: Snapshot) -> tuple[str, ...]:
    """Of what the child leaves, what an answer has set there, or chose not to, and nothing has read yet."""
    return _settled_among(_shared(parent, trigger, before, child), child.settled)


def _shared(parent: Program, trigger: Trigger | None, before: Snapshot, child: Snapshot) -> set[str]:
    if child.stop is not None:
        return set()
    shared = {variable.name for variable in parent.variables} | set(trigger.pass_context if trigger else ())
    return shared - walker.loop_variables(program=parent, position=before.position, variables=before.variables).keys()


def suspend(*, program: Program, snapshot: Snapshot, command: Suspend, place: Place) -> Decision:
    waiting = tuple(sorted({*snapshot.waits_for, command.run}))
    return _node(Journal(place, asked=snapshot.asked), program, replace(snapshot, waits_for=waiting))


def take_back(*, program: Program, snapshot: Snapshot, command: TakeBack, place: Place) -> Decision:
    journal = Journal(place, asked=snapshot.asked)
    if command.returned:
        journal.context(command.returned, source="child_run")
    waiting = tuple(other for other in snapshot.waits_for if other != command.run)
    variables = merge_context(snapshot.variables, command.returned)
    settled = tuple(sorted({*snapshot.settled, *command.settled}))
    after = replace(
        snapshot,
        waits_for=waiting,
        variables=variables,
        returned=snapshot.returned + 1,
        settled=settled,
        claimed=claimed_with(program, command.returned, snapshot, answered=command.settled),
    )
    return _node(journal, program, questions.with_shown_owed(program=program, before=snapshot, after=after))


def _node(journal: Journal, program: Program, snapshot: Snapshot) -> Decision:
    """The same work is pending."""
    journal.advance_recorded(Outcome.ADVANCED, ())
    if snapshot.is_handed_over:
        asking = questions.in_words_of_now(journal=journal, program=program, snapshot=snapshot)
    else:
        asking = journal.ask(program, snapshot, stays=True)
    return journal.decision(outcome=Outcome.ADVANCED, snapshot=asking, node_kind=NodeKind.STEP)
