"""An agent that does anything: it calls the tools of all dialects at random, with every token that it ever got, in runs with gates.

Nobody answers for people, so nothing behind what people guard may ever be reached; what an agent may pass on itself it passes
on now and then. Or somebody does answer, and then the judge of histories says whether each gate was passed rightly.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sessions_app.models import CheckpointRequest, Node, Run, WorkSession
from sessions_app.selectors.integrity import verify_session
from teams_app.engine.errors import WorkrailError
from tests.bundle_play import export, take_in
from tests.checkpoint_cast import answer
from tests.gate_kinds import CHILD, KINDS, PARENT, Kind, publish_child, publish_parent
from tests.gate_play import HANDED_OVER, NEVER_STOP, READ_SECONDS, said

PEOPLES = (
    Kind.APPROVAL,
    Kind.CONDITIONAL_APPROVAL,
    Kind.LOOP_APPROVAL,
    Kind.PEOPLES_QUESTION,
    Kind.UNNAMED_QUESTION,
)
STEP_IDS = ("before", "gated", "inner", "rounds", "draft", "after", "make", "again", "agreed")
ACTIVITIES = ("main", "plan", "build", "redo", "workflow-end", "end-workflow")
OPTIONS = ("yes", "no", "approve", "send_back", "reject")
CLAIMS = ({"approved": True}, {"risk": "high"}, {"goal": "x"}, {})
MODES = (NEVER_STOP, {"preset": "guided"})
MAX_KEPT = 60


@dataclass(frozen=True, kw_only=True)
class Names:
    """What a wanderer says: in order of the work, what there is to be named."""

    steps: tuple[str, ...] = STEP_IDS
    activities: tuple[str, ...] = ACTIVITIES
    options: tuple[str, ...] = OPTIONS
    loops: tuple[str, ...] = ("rounds",)
    claims: tuple[dict, ...] = CLAIMS
    modes: tuple[dict, ...] = MODES


class Wanderer:
    """Tokens are kept by what they are; old ones stay in use. `steps` counts calls, `accepted` those that were no refusal."""

    def __init__(self, floor, seed):
        self.floor = floor
        self.dice = random.Random(seed)
        self.workflows = {}
        publish_child(floor.desk)
        self.publish()
        self.names = Names()
        self.rails, self.states, self.tokens = [], [], []
        self.steps, self.accepted = 0, Counter()

    def publish(self):
        desk = self.floor.desk
        self.workflows |= {kind: KINDS[kind].publish(desk, f"team.{kind}".replace("_", "-")) for kind in PEOPLES}
        publish_parent(desk, self.workflows[Kind.APPROVAL])

    def walk(self, steps):
        for _ in range(steps):
            self.steps += 1
            self.floor.clock.shift(self.dice.choice((0.01, 1, READ_SECONDS)))
            call = self.dice.choice(self.calls)
            told = call(self)  # nothing where no token is there yet
            if told is not None:
                self.keep(told)
                self.accepted[call.__name__] += "code" not in told and told.get("success", True)

    def keep(self, told):
        """Every token of a reply, for any dialect that takes one like it."""
        if "ackToken" in told:
            self.rails.append(told)
        for pool, name in ((self.states, "state"), (self.states, "stateToken"), (self.tokens, "session_token")):
            if told.get(name):
                pool.append(told[name])
        if "checkpoint_handle" in told:
            self.tokens.append(told["checkpoint_handle"])
        for pool in (self.rails, self.states, self.tokens):
            del pool[: max(0, len(pool) - MAX_KEPT)]

    def some(self, pool):
        """Mostly a new one."""
        if not pool:
            return None
        return pool[-1] if self.dice.random() < 0.5 else self.dice.choice(pool)

    def call(self, dialect, tool, **arguments):
        return said(self.floor[dialect].raw(tool, **arguments))

    def early(self):
        """Artifacts that no step may have asked for yet."""
        return []

    def told_of(self, step_id):
        return {"step_id": step_id, "output": "Did it."}

    def some_workflow(self):
        return self.dice.choice((*self.workflows.values(), *self.workflows.values(), PARENT, CHILD))

    # The rail

    def rail_starts(self):
        if len(self.rails) > 5 and self.dice.random() < 0.7:
            return None
        preferences = self.dice.choice((None, None, *self.names.modes))
        context = self.dice.choice((None, *self.names.claims))
        begun = {"workflowId": self.some_workflow(), "goal": "Try it", "context": context}
        return self.call("rail", "start_workflow", **begun, preferences=preferences)

    def rail_acknowledges(self):
        value = self.some(self.rails)
        if value is None:
            return None
        artifacts = [
            {
                "kind": "wr.checkpoint_answer",
                "checkpointId": self.dice.choice(self.names.steps),
                "optionId": self.dice.choice(self.names.options),
            }
        ]
        return self.call(
            "rail",
            "continue_workflow",
            stateToken=value["stateToken"],
            ackToken=value["ackToken"],
            output={
                "notesMarkdown": self.dice.choice(("SAFE", "EVIL", "")),
                "artifacts": self.dice.choice(([], artifacts)) + self.early(),
            },
            context=self.dice.choice((None, *self.names.claims)),
            preferences=self.dice.choice((None, None, *self.names.modes)),
        )

    def rail_reads(self):
        state = self.some([value["stateToken"] for value in self.rails] + self.states)
        return state and self.call("rail", "continue_workflow", stateToken=state)

    def rail_bookmarks(self):
        value = self.some(self.rails)
        if value is None or "checkpointToken" not in value:
            return None
        tokens = {"stateToken": value["stateToken"], "checkpointToken": value["checkpointToken"]}
        return self.call("rail", "checkpoint_workflow", **tokens, output={"notesMarkdown": "Half way."})

    # By hand

    def hand_starts(self):
        if len(self.states) > 5 and self.dice.random() < 0.7:
            return None
        variables = self.dice.choice(self.names.claims)
        parent = self.some(self.states)
        if parent and self.dice.random() < 0.3:
            variables = {**variables, "parent_state": parent}
        return self.call("navigation", "nav_start", workflow_id=self.some_workflow(), initial_variables=variables)

    def hand_acts(self):
        state = self.some(self.states)
        if state is None:
            return None
        action = self.dice.choice(
            (
                {"action": "complete_step", "step_id": self.dice.choice(self.names.steps)},
                {"action": "complete_step", "step_id": self.dice.choice(self.names.steps)},
                {"action": "transition", "activity_id": self.dice.choice(self.names.activities)},
                {"action": "advance_loop", "loop_id": self.dice.choice(self.names.loops)},
                {
                    "action": "respond_to_checkpoint",
                    "checkpoint_id": self.dice.choice(self.names.steps),
                    "option_id": self.dice.choice(self.names.options),
                },
            )
        )
        return self.call("navigation", "nav_action", state=state, **action)

    def hand_looks(self):
        state = self.some(self.states)
        return state and self.call("navigation", "nav_situation", state=state)

    # Handed over

    def session_starts(self):
        if len(self.tokens) > 5 and self.dice.random() < 0.7:
            return None
        dialect = self.dice.choice(HANDED_OVER)
        arguments = {"workflow_id": self.some_workflow(), "agent_id": "agent"}
        token = self.some(self.tokens)
        if token and self.dice.random() < 0.4:
            arguments |= (
                {"parent_session_token": token}
                if dialect == "orchestrator" and self.dice.random() < 0.5
                else {"session_token": token}
            )
        return self.call(dialect, "start_session", **arguments)

    def session_enters(self):
        token = self.some(self.tokens)
        if token is None:
            return None
        steps = self.names.steps
        done = self.dice.sample(steps, self.dice.randrange(min(6, len(steps) + 1)))
        manifest = [self.told_of(name) for name in sorted(done, key=steps.index)]
        return self.call(
            self.dice.choice(HANDED_OVER),
            "next_activity",
            session_token=token,
            activity_id=self.dice.choice(self.names.activities),
            step_manifest=manifest or None,
        )

    def session_answers(self):
        token = self.some(self.tokens)
        if token is None:
            return None
        dialect = self.dice.choice(HANDED_OVER)
        mode = self.dice.choice(
            ({"option_id": self.dice.choice(self.names.options)}, {"auto_advance": True}, {"condition_not_met": True})
        )
        named = {"checkpoint_id": self.dice.choice(self.names.steps)} if dialect == "session" else {}
        return self.call(dialect, "respond_checkpoint", session_token=token, **named, **mode)

    def worker_yields(self):
        token = self.some(self.tokens)
        if token is None:
            return None
        return self.call(
            "orchestrator", "yield_checkpoint", session_token=token, checkpoint_id=self.dice.choice(self.names.steps)
        )

    def worker_resumes(self):
        token = self.some(self.tokens)
        return token and self.call("orchestrator", "resume_checkpoint", session_token=token)

    # People

    def person_answers(self):
        """Somebody says yes, sends back, or refuses, to any question that is open."""
        rows = list(CheckpointRequest.objects.filter(state="open", authority="human")[:20])
        if not rows:
            return False
        row = self.dice.choice(rows)
        options = [option["id"] for option in row.options]
        answer(self.floor.desk.person, row, self.dice.choice(options), reason="Said so.", now=_now())
        return True


def _now():
    from django.utils import timezone

    return timezone.now()


_CALLS = (
    Wanderer.rail_starts,
    *[Wanderer.rail_acknowledges] * 3,
    Wanderer.rail_reads,
    Wanderer.rail_bookmarks,
    Wanderer.hand_starts,
    *[Wanderer.hand_acts] * 4,
    Wanderer.hand_looks,
    Wanderer.session_starts,
    *[Wanderer.session_enters] * 3,
    Wanderer.session_answers,
    Wanderer.worker_yields,
    Wanderer.worker_resumes,
)


Wanderer.calls = _CALLS


def behind_people(wanderer) -> Iterator[str]:
    """The nodes and the runs that are behind a gate of people, by the names of what stands there."""
    gated = {workflow_id: KINDS[kind] for kind, workflow_id in wanderer.workflows.items()}
    runs = dict(Run.objects.filter(workflow_id__in=gated).values_list("id", "workflow_id"))
    ended = Run.objects.filter(workflow_id__in=gated, status__startswith="complete")
    yield from (f"{workflow_id} is complete" for workflow_id in ended.values_list("workflow_id", flat=True))
    for run_id, key in Node.objects.filter(run_id__in=runs).values_list("run_id", "pending_key").distinct():
        if key.rpartition("::")[2] in gated[runs[run_id]].behind:
            yield f"{runs[run_id]} is at {key}"


def unhealthy() -> list[str]:
    return [str(finding) for session in WorkSession.objects.all() for finding in verify_session(session.id)]


def not_taken_in(owner) -> list[str]:
    """Of what is there now: sessions that no import takes in again as a session that is whole."""
    wrong = []
    for session in list(WorkSession.objects.filter(team_id=owner.team_id).order_by("pk")):
        try:
            done = take_in(owner, export(owner, session.id))
        except WorkrailError as error:
            wrong.append(f"{session.id}: {error}")
            continue
        wrong += [str(finding) for each in done.session_ids for finding in verify_session(each)]
    return wrong
