"""What runs of written workflows have come to, judged by what was written, by what was told and by what people answered."""

from dataclasses import dataclass

from sessions_app.engine.checkpoints import Authority
from sessions_app.engine.projections import project
from sessions_app.engine.runs import Drive, StopKind
from sessions_app.engine.state import Snapshot as State, snapshot_from_bytes
from sessions_app.models import CheckpointRequest, Node, Run, Snapshot
from sessions_app.selectors.gates_passed import answers_told
from sessions_app.selectors.stored_sessions import read_stored
from tests.gate_play import COMPLETE
from tests.gate_programs import SETTLED, Place, walk
from tests.gate_reach import APPROVES, reachable


@dataclass
class Stood:
    """A node, and what people have answered on the way to it: option by key of the place, in order. `made_by` are the answers
    that made it, those that agents relayed included.
    """

    node: Node
    run: Run
    written: object
    state: State
    before: "Stood | None"
    given: tuple[tuple[str, str], ...]
    made_by: tuple

    def __str__(self):
        position = self.state.position
        return (
            f"{self.run.workflow_id} {self.state.drive.value} at {position.pending or COMPLETE} of {position.activity}"
        )

    @property
    def is_waived(self):
        """Whether a person had the run never stop, when it came here or before it did."""
        return any(each.state.preferences.waives_people for each in (self, self.before) if each is not None)

    @property
    def was_waived(self):
        return self.is_waived or (self.before is not None and self.before.was_waived)

    @property
    def is_led(self):
        """Whether the server led it all the way here."""
        return self.state.drive is Drive.LED and (self.before is None or self.before.is_led)

    @property
    def told(self):
        """The variables on the way here, by the activity that they were so in: what left it is among them."""
        found, at, after = {}, self, None
        while at is not None:
            told = found.setdefault(at.state.position.activity, [])
            told += [each.state.variables for each in (at, after) if each and each.state.variables not in told]
            at, after = at.before, at
        return found

    @property
    def place(self) -> Place | None:
        return next((each for each in self.written.places if each.id == self.state.position.pending_item), None)


def histories(traveller) -> list[Stood]:
    """Each node of each run of the workflow, parents first."""
    runs = {run.id: run for run in Run.objects.filter(workflow_id=traveller.written.workflow_id)}
    answers = _answers(runs.values())
    found: dict[object, Stood] = {}
    for node in Node.objects.filter(run_id__in=runs).order_by("session_id", "event_index"):
        data = Snapshot.objects.get(team_id=node.team_id, digest=node.snapshot_digest).data
        before, made_by = found.get(node.parent_id), tuple(answers.get(node.id, ()))
        peoples = tuple((each.instance, each.option) for each in made_by if each.authority is Authority.HUMAN)
        each = found[node.id] = Stood(
            node=node,
            run=runs[node.run_id],
            written=traveller.by_hash[runs[node.run_id].workflow_hash],
            state=snapshot_from_bytes(bytes(data)),
            before=before,
            given=(*(before.given if before else ()), *peoples),
            made_by=made_by,
        )
        each.given = (*each.given, *_waived_on_the_way(each))
    return list(found.values())


def _waived_on_the_way(each: Stood):
    """In the activities at hand nobody had to be asked."""
    if not each.is_waived:
        return
    around = {at.state.position.activity for at in (each, each.before) if at is not None}
    for visit in each.written.visits:
        if visit.id in around:
            yield from ((place.id, APPROVES) for place in walk(visit.body))


def _answers(runs):
    """Each that the log tells of, by the node that it made."""
    found, stored = {}, {}
    for run in runs:
        if run.session_id not in stored:
            tables = read_stored(run.session_id)
            stored[run.session_id] = (tables.events, project(event.body for event in tables.events).runs)
        events, projected = stored[run.session_id]
        for given in answers_told(events, projected[run.id]):
            found.setdefault(given.node_id, []).append(given)
    return found


def beyond(stood: list[Stood], *, is_lenient: bool) -> list[str]:
    """Where runs stand that nobody can have come to."""
    found = set()
    for each in stood:
        position = each.state.position
        item = COMPLETE if position.complete else position.pending_item
        # A branch that a gate ended has its question pending; a question is known by its own name.
        if (item != COMPLETE and each.place is None) or each.state.stop is not None:
            continue
        # Where people are waived activities that are handed over are entered in any order.
        if each.was_waived and each.state.is_handed_over:
            continue
        given, lenient = _by_place(each.given), is_lenient or each.was_waived
        if item not in reachable(each.written, each.told, is_lenient=lenient, given=given, is_led=each.is_led):
            found.add(f"{each} stands at {item}: {each.told} {given} node_{each.node.id}")
    return sorted(found)


def _by_place(given):
    found = {}
    for key, option in given:
        found.setdefault(_named(key), set()).add(option)
    return found


def _named(key):
    return key.rpartition("::")[2].partition("#")[0]


def unapproved(stood: list[Stood]) -> list[str]:
    """Where a step that people approve was left by anything but their approval of what it was shown with, there and then."""
    found = []
    for each in stood:
        before = each.before
        if before is None or before.place is None or not before.place.asks:
            continue
        # Whether it asks was settled when it was come to: what is said with the work does not lift the question.
        if before.place.asks_when and not before.place.asks_when.holds(before.state.variables):
            continue
        if before.place.is_question or each.state.stop or each.is_waived or _is_set_back(each):
            continue
        if before.state.position.pending == each.state.position.pending:
            continue
        approving = [
            given
            for given in each.made_by
            if given.authority is Authority.HUMAN
            and given.option == APPROVES
            and given.instance == before.state.position.pending
        ]
        if len(approving) != 1 or before.state.work is None:
            found.append(f"{each} has left {before.place.id}, by {each.made_by} node_{each.node.id}")
    return found


def _is_set_back(each: Stood) -> bool:
    """What is told of late by a manifest stands before what was at hand, in the same rounds; whoever steers does the steps at the
    top in any order, and what was at hand is still to be done.
    """
    before, after = each.before.state.position, each.state.position
    if each.state.drive is Drive.STEERED and not before.frames:
        is_here = (before.activity, before.visit) == (after.activity, after.visit) and not after.complete
        return is_here and not after.frames and before.pending_item not in after.done
    if (
        not each.state.is_handed_over
        or after.complete
        or (before.activity, before.visit)
        != (
            after.activity,
            after.visit,
        )
    ):
        return False
    if not after.pending_item:
        return False
    order = [place.id for visit in each.written.visits for place in walk(visit.body)]
    rounds = [[frame.iteration for frame in position.frames] for position in (before, after)]
    return rounds[1] <= rounds[0] and order.index(after.pending_item) < order.index(before.pending_item)


def moved_while_stopped(stood: list[Stood]) -> list[str]:
    """Where a run that people had stopped went on without them."""
    found, stops = [], {}
    for each in stood:
        stop = stops.get(each.run.id)
        is_let_go_on = each.before is not None and each.before.state.stop is not None and each.state.stop is None
        if stop is not None and each.state.stop is None and (stop.kind is not StopKind.PAUSED or not is_let_go_on):
            found.append(f"{each} has moved though it was {stop.kind.value} node_{each.node.id}")
        stops[each.run.id] = each.state.stop
    return found


def waived_by_nobody(stood: list[Stood], waived: set) -> list[str]:
    """Where people are passed by in a run for which none of them has said so."""
    return [
        f"{each} is waived node_{each.node.id}"
        for each in stood
        if each.state.preferences.waived_by and not waived & {each.run.id, each.run.session_id, each.run.team_id}
    ]


def answered_otherwise(stood: list[Stood]) -> list[str]:
    """Where an answer counts to another question than was shown at the node that it is given at."""
    found = []
    rows = {row.to_node_id: row for row in CheckpointRequest.objects.filter(state="answered", answered_as="human")}
    for each in stood:
        row = rows.get(each.node.id)
        if row is None or each.before is None:
            continue
        shown = {question.instance: question.digest for question in each.before.state.questions}
        if shown.get(row.instance_key) != row.digest:
            found.append(f"{each} has an answer to {row.instance_key}, which was not shown node_{each.node.id}")
    return found


def overwritten(stood: list[Stood]) -> list[str]:
    """Where what an answer has set was changed before the run went by a transition that reads it."""
    found, held = [], {}
    for each in stood:
        value = held.get(each.before.node.id) if each.before else None
        answer = _set_by_answer(each)
        if answer is None and value is not None and each.state.variables.get(SETTLED) != value:
            found.append(f"{each} has {SETTLED} changed from {value} node_{each.node.id}")
        if value is not None and _has_gone_by(each):
            value = None
        held[each.node.id] = value if answer is None else answer
    return found


def _set_by_answer(each: Stood):
    values = [
        value
        for given in each.made_by
        for place in each.written.places
        if place.id == _named(given.instance)
        for choice in place.choices
        if choice.id == given.option
        for name, value in choice.sets
        if name == SETTLED
    ]
    return values[-1] if values else None


def _has_gone_by(each: Stood) -> bool:
    before, after = each.before.state.position, each.state.position
    if (before.activity, before.visit) == (after.activity, after.visit) and not after.complete:
        return False
    visit = next((visit for visit in each.written.visits if visit.id == before.activity), None)
    return visit is not None and any(test is not None and test.name == SETTLED for _, test in visit.ways)
