"""The cast and the props of the tests of workflows: Alice owns, Bob is an author in her team, Charlie is a stranger."""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from teams_app.engine.actors import Actor, ActorKind, Door, Role, Scope
from teams_app.engine.ids import Prefix, from_text, to_text
from teams_app.models import Membership, Person, Team
from teams_app.services.ids import new_id
from workflows_app.engine.source import Source, SourceFormat
from workflows_app.services import publishing, workflows

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Cast:
    alice: Actor
    bob: Actor
    viewer: Actor
    agent: Actor
    reader: Actor
    charlie: Actor


def make_cast():
    """`agent` is a key of Alice's team with every scope, `reader` one that only reads workflows. The owners are members."""
    alice = seated(_person("alice", Role.OWNER, _team("Alice's team")))
    return Cast(
        alice=alice,
        bob=_person("bob", Role.AUTHOR, alice.team_id),
        viewer=_person("vera", Role.VIEWER, alice.team_id),
        agent=_key(alice, frozenset(Scope)),
        reader=_key(alice, frozenset({Scope.WORKFLOWS_READ})),
        charlie=seated(_person("charlie", Role.OWNER, _team("Charlie's team"))),
    )


def _team(name):
    """Only the row that others point at: accounts, whose passwords are slow to hash, are the matter of other tests."""
    return Team.objects.create(id=new_id(now=NOW), name=name, created_at=NOW).pk


def _person(name, role, team_id):
    return Actor(
        kind=ActorKind.PERSON,
        id=to_text(Prefix.PERSON, new_id(now=NOW)),
        name=name,
        team_id=team_id,
        door=Door.REST,
        role=role,
    )


def seated(actor):
    """Somebody in the team that they act in: what an owner does to it is held by their membership."""
    person_id = from_text(Prefix.PERSON, actor.id)
    if not Person.objects.filter(pk=person_id).exists():
        name = f"{actor.name}-{actor.id[-8:]}" if Person.objects.filter(username=actor.name).exists() else actor.name
        Person.objects.create(id=person_id, username=name, created_at=NOW)
    Membership.objects.get_or_create(
        team_id=actor.team_id,
        person_id=person_id,
        defaults={"id": new_id(now=NOW), "role": actor.role.value, "created_at": NOW},
    )
    return actor


def _key(owner, scopes):
    return replace(
        owner, kind=ActorKind.AGENT_KEY, id=f"key_{len(scopes)}", name="a key", role=None, scopes=scopes, door=Door.MCP
    )


def document(workflow_id="team.review", **changes):
    """A small workflow of two steps that compiles without a problem."""
    steps = [
        {"id": "read-change", "title": "Read the change", "prompt": "Read every line of the change."},
        {"id": "write-verdict", "title": "Write the verdict", "prompt": "Say what must change, and why."},
    ]
    return {
        "id": workflow_id,
        "name": "Review a change",
        "version": "1.0.0",
        "description": "Reads a change and says what must be better before it is merged.",
        "steps": steps,
    } | changes


def source_of(value, **options):
    return Source(format=SourceFormat.STEPS_JSON, files={"workflow.json": json.dumps(value).encode()}, **options)


def create(actor, workflow_id="team.review", **changes):
    return workflows.create_workflow(
        actor=actor, source=source_of(document(workflow_id, **changes)), message="", now=NOW
    )


def publish(actor, workflow_id="team.review", number=1):
    return publishing.publish_revision(actor=actor, workflow_id=workflow_id, number=number, base=None, now=NOW)


FOLDER = {
    "workflow.toon": b"""id: team.folder
version: 1.0.0
title: A small folder
description: Two activities with a checkpoint between them.
initialActivity: first
rules[1]:
  - Do one thing at a time
variables[1]:
  - name: approved
    type: boolean
    description: Whether the plan was approved
    defaultValue: false
""",
    "activities/01-first.toon": b"""id: first
version: 1.0.0
name: First
description: Plans the work
skills:
  primary: planning
steps[1]:
  - id: plan
    name: Write the plan
    description: Write down what will be done and how it will be checked.
checkpoints[1]:
  - id: plan-approved
    name: Plan approved
    message: Is the plan right?
    options[2]:
      - id: approve
        label: Approve
        effect:
          setVariable:
            approved: true
      - id: change
        label: Change it
transitions[1]:
  - to: second
    isDefault: true
""",
    "activities/02-second.toon": b"""id: second
version: 1.0.0
name: Second
description: Does the work
skills:
  primary: planning
steps[1]:
  - id: work
    name: Do the work
    description: Do what the plan says.
""",
    "skills/00-planning.toon": b"""id: planning
version: 1.0.0
capability: Plan a piece of work
""",
}


def folder_source(**options):
    return Source(format=SourceFormat.ACTIVITY_FOLDER, files=FOLDER, **options)
