"""An agent that does anything in workflows that were written at random: it follows what is offered, or names what it likes."""

from sessions_app.engine.state import snapshot_from_bytes
from sessions_app.models import CheckpointRequest, Node, Run, Snapshot
from tests.gate_kinds import CHILD, PARENT, publish_parent
from tests.gate_play import COMPLETE, HANDED_OVER, NEVER_STOP
from tests.gate_programs import DECLARED, LISTS, VALUES, VARIABLES, reachable, walk, write
from tests.gate_walks import Names, Wanderer
from tests.key_turns import rotate_long_ago
from tests.step_documents import workflow as step_workflow
from tests.workflow_cast import NOW, publish, source_of
from workflows_app.engine.source import Source, SourceFormat
from workflows_app.models import Revision
from workflows_app.services.workflows import revise_workflow

# What an offered action is called by, and so what names it in a call.
_NAMED = {
    "complete_step": "step",
    "transition": "activity",
    "advance_loop": "loop",
    "respond_to_checkpoint": "checkpoint",
}
STOPPING = ({"preset": "guided"}, {"preset": "full_auto_stop_on_user_deps"})


class Traveller(Wanderer):
    """One workflow at a time, with a parent that triggers it. In every other one the agent has the run never stop."""

    def __init__(self, floor, seed):
        super().__init__(floor, seed)
        self.is_lenient = seed % 2 == 0
        self.written = write(self.dice, f"team.gen-{seed}")
        self.written.publish(floor.desk)
        publish_parent(floor.desk, self.written.workflow_id, f"{PARENT}-{seed}")
        self.parent = f"{PARENT}-{seed}"
        self.offered = {}
        places = self.written.places
        self.names = Names(
            steps=tuple(place.id for place in places if not place.loops),
            loops=tuple(place.id for place in places if place.loops) or ("rounds",),
            activities=(*(visit.id for visit in self.written.visits), "workflow-end"),
            options=("yes", "yes", "no", "approve"),
            claims=tuple(self.claim() for _ in range(6)),
            modes=(NEVER_STOP, *STOPPING) if self.is_lenient else STOPPING,
        )

    def claim(self):
        """A few of the variables, and of the lists and numbers that loops read, now and then of the wrong kind."""
        said = {}
        for name in self.dice.sample(VARIABLES, self.dice.randrange(2)):
            said[name] = self.dice.choice(VALUES)
        if self.dice.random() < 0.5:
            said[self.dice.choice(LISTS)] = self.dice.choice(([], ["one"], ["one", "two"], "none"))
        if self.dice.random() < 0.4:
            said["many"] = self.dice.choice((0, 1, 2, "two"))
        if self.dice.random() < 0.1:
            said["fast"] = True
        return said

    def some_workflow(self):
        return self.dice.choice((*[self.written.workflow_id] * 6, self.parent, CHILD))

    def early(self):
        found = []
        if self.dice.random() < 0.4:
            decision = {"kind": "wr.loop_control", "decision": self.dice.choice(("stop", "stop", "continue"))}
            named = {"loopId": self.dice.choice(self.names.loops)} if self.dice.random() < 0.4 else {}
            found.append(decision | named)
        if self.dice.random() < 0.1:
            found.append({"kind": "wr.review_verdict", "verdict": "nothing"})
        if self.dice.random() < 0.1:
            found.append({"kind": "wr.assessment", "assessmentId": "ready", "dimensions": {"proof": "none"}})
        return found

    def told_of(self, step_id):
        told = super().told_of(step_id)
        if self.dice.random() < 0.2:
            told["context"] = self.dice.choice(self.names.claims)
        if self.dice.random() < 0.3:
            told["artifacts"] = self.early()
        return told

    def keep(self, told):
        super().keep(told)
        if told.get("state") and isinstance(told.get("availableActions"), dict):
            actions = told["availableActions"]
            self.offered[told["state"]] = [*actions.get("required", ()), *actions.get("optional", ())]

    def hand_acts_as_offered(self):
        state = self.some(self.states)
        actions = [each for each in self.offered.get(state, ()) if each.get("action") in _NAMED]
        if not actions:
            return None
        chosen = self.dice.choice(actions)
        action, key = chosen["action"], _NAMED[chosen["action"]]
        named = {f"{key}_id": chosen.get(key)}
        if action == "respond_to_checkpoint":
            named["option_id"] = self.dice.choice(self.names.options)
        if action == "advance_loop" and self.dice.random() < 0.3:
            named["items"] = self.dice.choice(([], ["one"], ["one", "two"]))
        if action == "complete_step":
            named |= {"context": self.dice.choice((None, *self.names.claims)), "artifacts": self.early() or None}
        return self.call("navigation", "nav_action", state=state, action=action, **named)

    def session_goes_on(self):
        """It tells of the steps of one activity in their order, from its first one on or from anywhere."""
        token = self.some(self.tokens)
        if token is None:
            return None
        visit = self.dice.choice(self.written.visits)
        steps = [place.id for place in walk(visit.body) if not place.loops and not place.is_question]
        first, last = sorted(
            (self.dice.choice((0, self.dice.randrange(len(steps) + 1))), self.dice.randrange(len(steps) + 1))
        )
        manifest = [self.told_of(name) for name in steps[first:last]]
        target = self.dice.choice([target for target, _ in visit.ways] or ["workflow-end"])
        target = target if self.dice.random() < 0.7 else self.dice.choice(self.names.activities)
        return self.call(
            self.dice.choice(HANDED_OVER),
            "next_activity",
            session_token=token,
            activity_id=target,
            step_manifest=manifest or None,
        )

    def session_answers_what_is_asked(self):
        rows = list(CheckpointRequest.objects.filter(state="open").values_list("checkpoint_id", flat=True)[:20])
        token = self.some(self.tokens)
        if token is None or not rows:
            return None
        self.floor.clock.shift(60)
        is_dismissed = self.dice.random() < 0.2
        said = {"condition_not_met": True} if is_dismissed else {"option_id": self.dice.choice(("yes", "yes", "no"))}
        return self.call(
            "session", "respond_checkpoint", session_token=token, checkpoint_id=self.dice.choice(rows), **said
        )

    def keys_turn(self):
        """The one before the last is still trusted, so an agent at work is not stranded at once."""
        if self.dice.random() < 0.1:
            rotate_long_ago()

    def another_revision_is_published(self):
        """The same once more: runs that have begun go on with what they began with."""
        document, workflow_id = self.written.document, self.written.workflow_id
        if self.dice.random() > 0.1:
            return
        count = Revision.objects.filter(workflow__workflow_id=workflow_id).count()
        if isinstance(document, list):
            source = source_of(step_workflow(*document, id=workflow_id, description=f"Revision {count}.", **DECLARED))
        else:
            files = {**document, "resources/01-more.md": f"# Revision {count}\n".encode()}
            source = Source(format=SourceFormat.ACTIVITY_FOLDER, files=files)
        saved = revise_workflow(
            actor=self.floor.desk.person,
            workflow_id=workflow_id,
            source=source,
            base_revision=count,
            message="",
            now=NOW,
        )
        publish(self.floor.desk.person, workflow_id, number=saved.revision.number)


Traveller.calls = (
    *Wanderer.calls,
    *[Wanderer.rail_acknowledges] * 5,
    *[Traveller.hand_acts_as_offered] * 7,
    *[Traveller.session_goes_on] * 5,
    *[Traveller.session_answers_what_is_asked] * 2,
    Traveller.keys_turn,
    Traveller.another_revision_is_published,
)


def beyond(traveller):
    """Where runs of the workflow stand that nobody can have come to, in words."""
    runs = {run.id: run for run in Run.objects.filter(workflow_id=traveller.written.workflow_id)}
    told, found, places = {}, set(), {place.id for place in traveller.written.places}
    for node in Node.objects.filter(run_id__in=runs).order_by("session_id", "event_index"):
        data = Snapshot.objects.get(team_id=node.team_id, digest=node.snapshot_digest).data
        snapshot = snapshot_from_bytes(bytes(data))
        variables = snapshot.variables
        told[node.id] = (*told.get(node.parent_id, ()), variables)
        item = COMPLETE if snapshot.position.complete else snapshot.position.pending_item
        # A branch that a gate ended has its question pending; a question is known by its own name.
        if item != COMPLETE and item not in places:
            continue
        distinct = [each for index, each in enumerate(told[node.id]) if each not in told[node.id][:index]]
        if item not in reachable(traveller.written, distinct, is_lenient=traveller.is_lenient):
            found.add(f"{runs[node.run_id].workflow_id} {snapshot.drive} is at {item} {distinct}")
    return sorted(found)
