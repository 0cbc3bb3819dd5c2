"""The props of the tests of runs: a team with its agent and people, workflows that are published, and calls made short."""

import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from sessions_app.engine.submissions import Submission
from sessions_app.services.moves import runs
from sessions_app.services.moves.beginning import Beginning, start_run
from sessions_app.services.store.signing_keys import forget_keys
from teams_app.engine.actors import Actor
from teams_app.engine.ids import Prefix, from_text
from tests.step_documents import step, workflow
from tests.workflow_cast import NOW, make_cast, publish, source_of
from workflows_app.services import workflows
from workrail_site.dialects.rail.replies import RAIL
from workrail_site.dialects.rail.wording import render_text

NOTES = "Did what the step says."


@dataclass(frozen=True, kw_only=True)
class Desk:
    """`agent` is a key of the team with every scope, `person` a signed-in author of it, `stranger` owns another team."""

    agent: Actor
    person: Actor
    owner: Actor
    viewer: Actor
    stranger: Actor

    @property
    def team_id(self):
        return self.agent.team_id


def make_desk():
    """Keys of tokens are remembered by the process; those of another test's database must not sign here."""
    forget_keys()
    cast = make_cast()
    stranger = replace(cast.agent, team_id=cast.charlie.team_id, id="key_stranger")
    return Desk(agent=cast.agent, person=cast.bob, owner=cast.alice, viewer=cast.viewer, stranger=stranger)


def notes_free(step_id, **fields):
    """A step that is done by acknowledging it."""
    return step(step_id, notesOptional=True, **fields)


def plain_steps(count, **fields):
    return [notes_free(f"step-{index}", **fields) for index in range(count)]


def published(desk, *steps, workflow_id="team.sample", **fields):
    """Save and publish a workflow of these steps; its id."""
    document = workflow(*steps, **{"id": workflow_id, **fields})
    saved = workflows.create_workflow(actor=desk.person, source=source_of(document), message="", now=NOW)
    problems = [problem for problem in saved.revision.problems if problem.severity == "error"]
    assert problems == [], problems
    publish(desk.person, workflow_id, saved.revision.number)
    return workflow_id


def start(desk, workflow_id="team.sample", *, actor=None, now=NOW, **fields):
    beginning = Beginning(workflow_id=workflow_id, **{"goal": "Try it", **fields})
    return start_run(actor=actor or desk.agent, beginning=beginning, now=now, entropy=os.urandom, speech=RAIL)


def begin(desk, *steps, actor=None, context=None, preferences=None, **fields):
    """Publish a workflow of these steps and start it; the value of the first reply."""
    workflow_id = published(desk, *steps, **fields)
    return start(desk, workflow_id, actor=actor, context=context or {}, preferences=preferences).value


def advance(actor, value, notes=NOTES, *, artifacts=(), context=None, preferences=None, now=None):
    """Acknowledge the step of a reply."""
    return runs.advance_run(
        actor=actor,
        state_token=value["stateToken"],
        ack_token=value["ackToken"],
        submission=Submission(notes=notes, artifacts=tuple(artifacts), context=context),
        preferences=preferences,
        now=now or NOW + timedelta(minutes=1),
        entropy=os.urandom,
        speech=RAIL,
    )


def advanced(actor, value, notes=NOTES, **fields):
    return advance(actor, value, notes, **fields).value


def rehydrate(actor, value):
    return runs.rehydrate_run(actor=actor, state_token=value["stateToken"], entropy=os.urandom, speech=RAIL)


def bookmark(actor, value, notes="Half way.", *, artifacts=(), now=None):
    return runs.bookmark_run(
        actor=actor,
        state_token=value["stateToken"],
        checkpoint_token=value["checkpointToken"],
        submission=Submission(notes=notes, artifacts=tuple(artifacts)),
        now=now or NOW + timedelta(minutes=1),
        entropy=os.urandom,
        speech=RAIL,
    )


def words_of(reply):
    return render_text(reply.value, template=reply.template)


def session_id(value):
    return from_text(Prefix.SESSION, value["session"]["sessionId"])


def run_id(value):
    return from_text(Prefix.RUN, value["session"]["runId"])


def blocker_codes(value):
    return [blocker["code"] for blocker in value["blockers"]]


def warning_codes(value):
    return [warning["code"] for warning in value["warnings"]]


def events(value, *kinds):
    """The session's events as they stand in the log, of these kinds only when any is named."""
    from tests import logs

    return logs.told(*kinds, session_id=session_id(value))


def assert_healthy(value):
    """The oracle: the chain verifies, and every table says what the log says."""
    from sessions_app.selectors.integrity import verify_session

    assert [str(finding) for finding in verify_session(session_id(value))] == []


def soon(minutes):
    return datetime(2026, 11, 18, 12, 0, tzinfo=UTC) + timedelta(minutes=minutes)
