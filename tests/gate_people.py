"""Agents at random among people who do more than answer: they pause runs and let them go on, cancel them, waive approvals and take
that back, hand out earlier steps, prefer branches, and take in what was exported. The agents come by every door.
"""

import os
from contextlib import suppress
from dataclasses import replace
from functools import partial

from django.utils import timezone

from sessions_app.engine.decisions import PreferenceChange
from sessions_app.models import CheckpointRequest, Node, Run
from sessions_app.services.moves.runs import change_preferences
from sessions_app.services.people import forking, preferences, preferring, stops
from teams_app.engine.actors import Door
from teams_app.engine.errors import WorkrailError
from teams_app.engine.ids import Prefix, to_text
from tests.bundle_play import export, take_in
from tests.checkpoint_cast import answer
from tests.gate_journeys import Attended
from tests.gate_play import DIALECTS, HANDED_OVER, READ_SECONDS, rest_floor, said
from tests.key_turns import rotate_long_ago
from tests.run_doors import V1
from workflows_app.engine.program import Autonomy
from workrail_site.dialects.rail.replies import RAIL

MODES = (Autonomy.GUIDED, Autonomy.STOP_ON_USER_DEPS)


class Governed(Attended):
    """In every third one people waive approvals. `waived` are the runs and the sessions, and perhaps the team, for which they did."""

    def __init__(self, floor, seed, doors, crew):
        super().__init__(floor, seed)
        self.doors, self.crew = doors, crew
        self.operator = replace(floor.desk.person, door=Door.STUDIO)
        self.by_rest = rest_floor(floor, doors.agent)
        self.does_waive = seed % 3 == 0

    def call(self, dialect, tool, **arguments):
        """By REST now and then."""
        floor = self.floor
        self.floor = self.by_rest if self.dice.random() < 0.2 else floor
        try:
            return super().call(dialect, tool, **arguments)
        finally:
            self.floor = floor

    def some_run(self):
        runs = list(Run.objects.filter(workflow_id=self.written.workflow_id).order_by("-last_activity_at")[:8])
        return self.dice.choice(runs) if runs else None

    def some_node(self, run):
        nodes = list(Node.objects.filter(run_id=run.id).exclude(kind="checkpoint").order_by("-event_index")[:12])
        return self.dice.choice(nodes)

    def acting(self):
        self.floor.clock.shift(1)
        return {"now": timezone.now(), "entropy": os.urandom}

    # Stopping

    def person_stops(self):
        """A pause is mostly ended soon; few runs are ended for good."""
        run = self.some_run()
        if run is None or self.dice.random() < 0.5:
            return
        stop = stops.cancel_run if self.dice.random() < 0.1 else stops.pause_run
        with suppress(WorkrailError):
            stop(actor=self.operator, run_id=run.id, reason="Wait.", **self.acting())
            for _ in range(self.dice.randrange(4)):
                self.keep(self.dice.choice(Attended.calls)(self) or {})

    def person_lets_go_on(self):
        for run in Run.objects.filter(workflow_id=self.written.workflow_id, status="paused"):
            if self.dice.random() < 0.6:
                stops.resume_run(actor=self.operator, run_id=run.id, **self.acting())

    # Waiving

    def person_chooses_a_mode(self):
        """For the run, its session or the team; never-stop waives what people approve."""
        run = self.some_run()
        if run is None:
            return
        waives = self.does_waive and self.dice.random() < 0.4
        change = PreferenceChange(autonomy=Autonomy.NEVER_STOP if waives else self.dice.choice(MODES))
        scope = self.dice.choice(("run", "run", "run", "session", "team"))
        with suppress(WorkrailError):
            if scope == "run":
                change_preferences(actor=self.operator, run_id=run.id, change=change, speech=RAIL, **self.acting())
            elif scope == "session":
                preferences.set_session_preferences(
                    actor=self.operator, session_id=run.session_id, change=change, **self.acting()
                )
            else:
                preferences.set_team_preferences(actor=self.floor.desk.owner, change=change, now=timezone.now())
            if waives:
                self.waived.add({"run": run.id, "session": run.session_id, "team": run.team_id}[scope])

    # Branches

    def person_hands_out(self):
        """An earlier step, to whoever forks there."""
        run = self.some_run()
        if run is None:
            return
        with suppress(WorkrailError):
            node = self.some_node(run)
            token = forking.hand_out_node(actor=self.operator, node_id=node.id, now=timezone.now())
            self.keep({"state": token})
            self.keep(self.call("rail", "continue_workflow", stateToken=token))
            self.keep(self.call("navigation", "nav_situation", state=token))

    def person_prefers(self):
        run = self.some_run()
        if run is None:
            return
        with suppress(WorkrailError):
            node = self.some_node(run)
            preferring.prefer_branch(actor=self.operator, run_id=run.id, node_id=node.id, **self.acting())

    # Elsewhere

    def person_takes_in(self):
        """What was exported is a session of its own, in which the agents go on as well."""
        run = self.some_run()
        if run is None or self.dice.random() < 0.8:
            return
        with suppress(WorkrailError):
            taken = take_in(
                self.operator, export(self.operator, run.session_id, now=timezone.now()), now=timezone.now()
            )
            self.waived |= set(taken.session_ids) if self.waived else set()
            for each in taken.runs:
                self.take_up(each)

    def take_up(self, taken):
        if taken.dialect not in HANDED_OVER:
            self.keep({"state": taken.state_token})
            self.keep(self.call("rail", "continue_workflow", stateToken=taken.state_token))
            return
        self.tokens += taken.session_tokens
        self.speaks |= dict.fromkeys(taken.session_tokens, taken.dialect)

    def keys_are_retired(self):
        """Nothing signed before is trusted any more; what was answered is answered again all the same."""
        if self.dice.random() < 0.04:
            rotate_long_ago(3)

    # At once

    def two_go_on_at_once(self):
        """With tokens of one place, by two dialects or with other words, or one of them beside a person who answers."""
        value = self.some(self.rails)
        if value is None or "ackToken" not in value:
            return
        works = self.dice.sample(
            [self.acknowledges(value), self.acknowledges(value), self.acts(value), self.answers()], 2
        )
        for told in self.crew.race(*works):
            self.keep(told if isinstance(told, dict) else {})

    def acknowledges(self, value):
        tokens = {key: value[key] for key in ("stateToken", "ackToken")}
        output = {"notesMarkdown": self.dice.choice(("SAFE", "EVIL")), "artifacts": self.early()}
        context = self.dice.choice((None, *self.names.claims))
        return lambda: said(self.floor.rail.raw("continue_workflow", **tokens, output=output, context=context))

    def acts(self, value):
        named = {"action": "complete_step", "step_id": self.dice.choice(self.names.steps)}
        return lambda: said(self.floor.navigation.raw("nav_action", state=value["stateToken"], **named))

    def answers(self):
        rows = list(CheckpointRequest.objects.filter(state="open", authority="human")[:20])
        if not rows:
            return lambda: None
        row, now = self.dice.choice(rows), timezone.now()
        option = self.dice.choice(row.options)["id"]
        return lambda: answer(self.floor.desk.person, row, option, reason="Said so.", now=now)

    # By other doors

    def agent_goes_on_by_rest(self):
        value = self.some(self.rails)
        if value is None or "ackToken" not in value:
            return None
        body = {key: value[key] for key in ("stateToken", "ackToken")}
        body |= {"output": {"notesMarkdown": self.dice.choice(("SAFE", "EVIL")), "artifacts": self.early()}}
        context = self.dice.choice((None, *self.names.claims))
        answer = self.doors.agent.post(f"{V1}/runs/continue", body | ({"context": context} if context else {}))
        return answer.json()

    def agent_tries_what_is_peoples(self):
        """No key answers, stops, lets go on, prefers or waives, whatever its scopes."""
        run = self.some_run()
        if run is None:
            return
        path = f"{V1}/runs/{to_text(Prefix.RUN, run.id)}"
        refused = [
            self.doors.agent.post(f"{path}/pause", {"reason": "Wait."}),
            self.doors.agent.post(f"{path}/cancel", {"reason": "Enough."}),
            self.doors.agent.post(f"{path}/resume", {}),
            self.doors.agent("PUT", f"{path}/preferences", {"preset": "full_auto_never_stop"}),
        ]
        assert [each.status_code for each in refused if each.status_code < 400] == []

    def client_answers_for_its_user(self):
        """A client that puts questions to its user says an option of any of them, also of those that are for people."""
        from workrail_site.mcp.answers import ToolReply
        from workrail_site.mcp.calling import Caller as Calling, calls_as
        from workrail_site.mcp.toolsets import all_servers

        dialect = self.dice.choice(DIALECTS)
        asking, given = all_servers()[dialect].asking, {}
        value = self.read_by(dialect)
        if value is None or "code" in value:
            return None
        self.floor.clock.shift(READ_SECONDS)
        calls_as(Calling(actor=self.floor.desk.agent))
        try:
            reply, question = asking.question_in(ToolReply(text="", value=value), given)
            if question is None:
                return reply.value
            option, _ = self.dice.choice(question.options)
            act = self.dice.choice((partial(asking.answered, option_id=option), asking.told_again))
            return act(reply, given, question).value
        except WorkrailError:
            return None

    def read_by(self, dialect):
        """A reply that may hold a question."""
        if dialect == "rail":
            return self.some(self.rails)
        if dialect == "navigation":
            state = self.some(self.states)
            return state and said(self.floor.navigation.raw("nav_situation", state=state))
        token = self.own_token(dialect, self.some(self.tokens)) if self.tokens else None
        waiting = {"session_token": token, "status": "waiting", "pending_checkpoints": list(self.names.steps)}
        return waiting if token else None


Governed.calls = (
    *Attended.calls,
    *[Governed.person_stops] * 2,
    *[Governed.person_lets_go_on] * 4,
    *[Governed.person_chooses_a_mode] * 2,
    *[Governed.person_hands_out] * 2,
    Governed.person_prefers,
    Governed.person_takes_in,
    Governed.keys_are_retired,
    *[Governed.two_go_on_at_once] * 3,
    *[Governed.agent_goes_on_by_rest] * 3,
    Governed.agent_tries_what_is_peoples,
    *[Governed.client_answers_for_its_user] * 3,
)
