"""An agent that does anything in workflows that were written at random: it follows what is offered, or names what it likes."""

from collections import Counter
from contextlib import suppress

from django.utils import timezone

from sessions_app.models import CheckpointRequest
from teams_app.engine.errors import WorkrailError
from tests.checkpoint_cast import answer
from tests.gate_kinds import CHILD, OBSERVED, PARENT, publish_parent
from tests.gate_play import NEVER_STOP, READ_SECONDS, lacking
from tests.gate_programs import LISTS, SETTLED, VALUES, VARIABLES, walk
from tests.gate_walks import Names, Wanderer
from tests.gate_writer import VERDICT, write
from tests.key_turns import rotate_long_ago
from tests.workflow_cast import NOW, publish
from workflows_app.engine.contracts import BUILT_IN
from workflows_app.models import Revision
from workflows_app.services.workflows import revise_workflow

# What an offered action is called by, and so what names it in a call.
_NAMED = {
    "complete_step": "step",
    "transition": "activity",
    "advance_loop": "loop",
    "respond_to_checkpoint": "checkpoint",
}
PROVEN = {"kind": "wr.assessment", "assessmentId": "ready", "dimensions": {"proof": "some"}}
STOPPING = ({"preset": "guided"}, {"preset": "full_auto_stop_on_user_deps"})


class Traveller(Wanderer):
    """One workflow at a time, with a parent that triggers it. In every other one the agent has the run never stop, and in some
    of the others it hands in what is wanted: so or so that stops nobody.
    """

    def __init__(self, floor, seed):
        self.parent, self.workflow_id = f"{PARENT}-{seed}", f"team.gen-{seed}"
        super().__init__(floor, seed)
        self.never_stops, self.hands_in = seed % 2 == 0, seed % 4 == 1
        self.is_lenient = self.never_stops or self.hands_in
        self.offered, self.at, self.speaks = {}, {}, {}
        self.answered = Counter()
        self.waived = set()
        self.names = self.learnt()

    def publish(self):
        self.written, self.by_hash = write(self.dice, self.workflow_id), {}
        self.written.publish(self.floor.desk)
        self.remember()
        publish_parent(self.floor.desk, self.workflow_id, self.parent)

    def remember(self):
        """Each run is judged by the program that it is pinned to."""
        revision = Revision.objects.filter(workflow__workflow_id=self.written.workflow_id).latest("number")
        self.by_hash[revision.program_id] = self.written

    def learnt(self):
        places = self.written.places
        return Names(
            steps=tuple(place.id for place in places if not place.loops),
            loops=tuple(place.id for place in places if place.loops) or ("rounds",),
            activities=(*(visit.id for visit in self.written.visits), "workflow-end"),
            options=("yes", "yes", "no", "approve"),
            claims=tuple(self.claim() for _ in range(6)),
            modes=(NEVER_STOP, *STOPPING) if self.never_stops else STOPPING,
        )

    def walk(self, steps):
        self.set_out()
        super().walk(steps)

    def set_out(self):
        """There is a run in each dialect from the beginning."""
        for begins in (self.rail_starts, self.hand_starts, self.session_starts, self.session_starts):
            self.keep(begins() or {})

    def claim(self):
        """A few of the variables, and of the lists and numbers that loops read, now and then of the wrong kind."""
        said = {}
        for name in self.dice.sample(VARIABLES, self.dice.randrange(3)):
            said[name] = self.dice.choice(VALUES)
        if self.dice.random() < 0.5:
            said[self.dice.choice(LISTS)] = self.dice.choice(([], ["one"], ["one", "two"], "none"))
        if self.dice.random() < 0.4:
            said["many"] = self.dice.choice((0, 1, 2, "two"))
        if self.dice.random() < 0.1:
            said["fast"] = True
        if self.dice.random() < 0.2:
            said[SETTLED] = True
        return said

    def some_workflow(self):
        return self.dice.choice((*[self.written.workflow_id] * 10, self.parent, CHILD))

    def early(self):
        found = [BUILT_IN[VERDICT].example, PROVEN] if self.hands_in and self.dice.random() < 0.7 else []
        if self.dice.random() < 0.4:
            decision = {"kind": "wr.loop_control", "decision": self.dice.choice(("stop", "stop", "continue"))}
            named = {"loopId": self.dice.choice(self.names.loops)} if self.dice.random() < 0.4 else {}
            found.append(decision | named)
        if self.dice.random() < 0.3:
            found.append(OBSERVED | {"status": self.dice.choice(("available", "available", "unavailable"))})
        if self.dice.random() < 0.1:
            found.append({"kind": "wr.review_verdict", "verdict": "nothing"})
        if self.dice.random() < 0.1:
            found.append(PROVEN | {"dimensions": {"proof": "none"}})
        if self.dice.random() < 0.05:
            found.append(lacking(self.dice.choice((1, 12))))
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

    def call(self, dialect, tool, **arguments):
        """Where a session token stands, and in which dialect it was got, is kept by the token."""
        given = arguments.get("session_token")
        if tool == "next_activity" and self.dice.random() < 0.9:
            dialect = self.speaks.get(given, dialect)
        elif given is not None and tool != "start_session" and self.dice.random() < 0.9:
            arguments["session_token"] = given = self.own_token(dialect, given)
        told = super().call(dialect, tool, **arguments)
        self.forget_ended(told, arguments)
        token = told.get("session_token") or told.get("checkpoint_handle") or given
        if "code" in told or token is None:
            return told
        self.speaks[token] = dialect
        if tool == "next_activity":
            self.at[token] = told.get("activity_id") or told.get("id") or ""
        elif given in self.at:
            self.at[token] = self.at[given]
        return told

    def forget_ended(self, told, arguments):
        """Runs that have ended are tried again now and then, and no more."""
        code = told.get("code") or (told.get("error") or {}).get("code")
        if code not in {"RUN_COMPLETE", "RUN_ENDED"} or self.dice.random() < 0.2:
            return
        tried = {arguments.get("session_token"), arguments.get("state"), arguments.get("stateToken")}
        self.tokens = [each for each in self.tokens if each not in tried]
        self.states = [each for each in self.states if each not in tried]
        self.rails = [each for each in self.rails if each["stateToken"] not in tried]

    def own_token(self, dialect, token):
        """This one where it is of the dialect, else another that is."""
        own = [each for each in self.tokens if self.speaks.get(each) == dialect]
        return self.some(own) if own and self.speaks.get(token) != dialect else token

    def rail_goes_on(self):
        """It hands in something for what is pending, and answers what is asked there."""
        value = self.some(self.rails)
        if value is None:
            return None
        if self.dice.random() < 0.4:
            value = self.call("rail", "continue_workflow", stateToken=value["stateToken"])
            self.keep(value)
        if "ackToken" not in value:
            return None
        asked = (value.get("pending") or {}).get("checkpoint") or {}
        answers = [
            {
                "kind": "wr.checkpoint_answer",
                "checkpointId": asked["checkpointId"],
                "optionId": self.dice.choice(self.names.options),
            }
            for _ in range(bool(asked))
        ]
        self.floor.clock.shift(READ_SECONDS)
        return self.call(
            "rail",
            "continue_workflow",
            stateToken=value["stateToken"],
            ackToken=value["ackToken"],
            output={"notesMarkdown": self.dice.choice(("SAFE", "EVIL")), "artifacts": answers + self.early()},
            context=self.dice.choice((None, None, *self.names.claims)),
        )

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

    def at_hand(self, token):
        """The activity in which the token stands, mostly."""
        known = [visit for visit in self.written.visits if visit.id == self.at.get(token)]
        return known[0] if known and self.dice.random() < 0.8 else self.dice.choice(self.written.visits)

    def worker_asks(self):
        """It hands up a question of the activity at hand; what the agent may pass on is answered, the rest is for people."""
        token = self.own_token("orchestrator", self.some(self.tokens))
        asked = [place.id for place in walk(self.at_hand(token).body) if place.is_question] if token else []
        if not asked:
            return None
        told = self.call("orchestrator", "yield_checkpoint", session_token=token, checkpoint_id=self.dice.choice(asked))
        self.keep(told)
        if "checkpoint_handle" not in told:
            return told
        handle = told["checkpoint_handle"]
        self.floor.clock.shift(READ_SECONDS)
        option = self.dice.choice(("yes", "yes", "no"))
        self.keep(self.call("orchestrator", "respond_checkpoint", session_token=handle, option_id=option))
        return self.call("orchestrator", "resume_checkpoint", session_token=handle)

    def session_goes_on(self):
        """It tells of the steps of one activity, mostly in their order, from its first one on or from anywhere."""
        token = self.some(self.tokens)
        if token is None:
            return None
        self.answers_its_own(token)
        dialect, visit = self.speaks.get(token, "session"), self.at_hand(token)
        steps = [place.id for place in walk(visit.body) if not place.loops and not place.is_question]
        first, last = sorted(
            (self.dice.choice((0, self.dice.randrange(len(steps) + 1))), self.dice.randrange(len(steps) + 1))
        )
        told = steps[first:last]
        if self.dice.random() < 0.2:
            self.dice.shuffle(told)
        manifest = [self.told_of(name) for name in told]
        target = self.dice.choice([target for target, _ in visit.ways] or ["workflow-end"])
        target = target if self.dice.random() < 0.7 else self.dice.choice(self.names.activities)
        return self.call(
            dialect, "next_activity", session_token=token, activity_id=target, step_manifest=manifest or None
        )

    def answers_its_own(self, token):
        """Of what is asked in the activity at hand, all that is the agent's to pass on, mostly."""
        if self.speaks.get(token) != "session" or self.dice.random() < 0.3:
            return
        self.floor.clock.shift(READ_SECONDS)
        for place in walk(self.at_hand(token).body):
            if place.is_question and not place.asks:
                option = self.dice.choice(("yes", "yes", "no"))
                named = {"checkpoint_id": place.id, "option_id": option}
                self.keep(self.call("session", "respond_checkpoint", session_token=token, **named))

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
        """The same once more, or other gates: runs that have begun go on with what they began with."""
        if self.dice.random() > 0.1:
            return
        workflow_id = self.written.workflow_id
        if self.dice.random() < 0.6:
            self.written = write(self.dice, workflow_id, steps=isinstance(self.written.document, list))
            self.written.publish_routines(self.floor.desk)
            self.names = self.learnt()
        count = Revision.objects.filter(workflow__workflow_id=workflow_id).count()
        saved = revise_workflow(
            actor=self.floor.desk.person,
            workflow_id=workflow_id,
            source=self.written.source(count),
            base_revision=count,
            message="",
            now=NOW,
        )
        publish(self.floor.desk.person, workflow_id, number=saved.revision.number)
        self.remember()


Traveller.calls = (
    *Wanderer.calls,
    *[Wanderer.rail_acknowledges] * 5,
    *[Traveller.hand_acts_as_offered] * 7,
    *[Traveller.rail_goes_on] * 5,
    *[Traveller.session_goes_on] * 10,
    *[Traveller.session_answers_what_is_asked] * 2,
    *[Traveller.worker_asks] * 2,
    Traveller.keys_turn,
    Traveller.another_revision_is_published,
)


class Attended(Traveller):
    """The same with a person at hand, who now and then answers a question: also one from which the run has gone on elsewhere."""

    def set_out(self):
        """Some come far before anything odd is tried."""
        super().set_out()
        for _ in range(self.dice.randrange(40)):
            goes_on = self.dice.choice((self.rail_goes_on, self.hand_acts_as_offered, self.session_goes_on))
            self.keep(goes_on() or {})
            if self.dice.random() < 0.4:
                self.person_answers()

    def person_answers(self):
        rows = list(CheckpointRequest.objects.filter(state__in=("open", "withdrawn")).order_by("event_index")[:40])
        peoples = [row for row in rows if row.authority == "human" or self.dice.random() < 0.1]
        if not peoples:
            return
        row = peoples[-1] if self.dice.random() < 0.6 else self.dice.choice(peoples)
        options = [option["id"] for option in row.options]
        chosen = options[0] if self.dice.random() < 0.6 else self.dice.choice((*options, *options[:-1]))
        self.floor.clock.shift(READ_SECONDS)
        # Nothing to answer any more, or the run cannot go on with it.
        with suppress(WorkrailError):
            answer(self.floor.desk.person, row, chosen, reason="Said so.", now=timezone.now())
            self.answered[chosen] += 1
            # Whoever waited goes on, by whatever token.
            for goes_on in self.dice.sample((self.rail_reads, self.worker_resumes, self.rail_goes_on), 2):
                self.keep(goes_on() or {})

    def rail_resends(self):
        """Other words for what was handed in, with the tokens that it was handed in with or with those of the answer."""
        if self.dice.random() < 0.5:
            self.keep(self.rail_reads() or {})
        return self.rail_acknowledges()


Attended.calls = (*Traveller.calls, *[Attended.person_answers] * 6, *[Attended.rail_resends] * 3)
