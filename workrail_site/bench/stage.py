"""What the measurements of an advance run on: a database of their own, a team, a key, and runs that never end."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import quote

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.utils import timezone

from sessions_app.services.upkeep import tables
from teams_app.engine.actors import NO_TEAM, Actor, ActorKind, Door, Role, system_actor
from teams_app.engine.ids import Prefix, to_text
from teams_app.services.first_run import prepare_first_run
from teams_app.services.keys import authenticate_key
from teams_app.services.roles import grant_roles
from workflows_app.engine.source import Source, SourceFormat
from workflows_app.services.publishing import publish_revision
from workflows_app.services.workflows import create_workflow
from workrail_site.bench.serving import serving_login

LOOP_ID = "rounds"
ACTIVITIES = ("there", "back")
ROUNDS = 1000
STEPS = 5
NOTES = "What was done, what was found and what comes next, in a few words. " * 15
"""About 1 kB, as in the limit that pgbench gives."""
# So high that a measurement does not reach them: counting a request against its limits stays a part of it.
_WITHOUT_LIMITS = {
    "WORKRAIL_THROTTLE_ACTOR_PER_MINUTE": "1000000",
    "WORKRAIL_THROTTLE_TEAM_PER_MINUTE": "1000000",
    "WORKRAIL_TEAM_STORAGE_MIB_PER_MINUTE": "0",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchStage:
    """`workflow_id` has steps in a loop, `activities_id` two activities that lead to each other."""

    actor: Actor
    owner: Actor
    key: str
    workflow_id: str
    activities_id: str


def endless_document() -> dict[str, object]:
    """Five steps in a loop of a thousand rounds: every advance is like the one before."""
    body = [
        {"id": f"step-{number}", "title": f"Step {number}", "prompt": "Look at the part at hand. " * 20}
        for number in range(STEPS)
    ]
    loop = {
        "id": LOOP_ID,
        "type": "loop",
        "title": "Rounds",
        "loop": {"type": "for", "count": ROUNDS, "maxIterations": ROUNDS},
        "body": body,
    }
    return {
        "id": "bench.endless",
        "name": "Endless",
        "description": "A loop for measuring.",
        "version": "1.0.0",
        "steps": [loop],
    }


def two_activities() -> dict[str, bytes]:
    """As many steps in each as in a round of the loop. The files are JSON, which YAML holds."""
    about = {"id": "bench.activities", "version": "1.0.0", "title": "To and fro", "initialActivity": ACTIVITIES[0]}
    files: dict[str, dict[str, object]] = {"workflow.yaml": {**about}}
    for number, (here, there) in enumerate(zip(ACTIVITIES, reversed(ACTIVITIES), strict=True), 1):
        steps = [
            {"id": step_id, "name": step_id, "description": "Look at the part at hand. " * 20}
            for step_id in activity_steps()
        ]
        files[f"activities/{number:02}-{here}.yaml"] = {
            "id": here,
            "version": "1.0.0",
            "name": here.title(),
            "steps": steps,
            "transitions": [{"to": there, "isDefault": True}],
        }
    return {path: json.dumps(document).encode() for path, document in files.items()}


def activity_steps() -> list[str]:
    return [f"step-{number}" for number in range(STEPS)]


@contextmanager
def own_database() -> Iterator[str]:
    """An empty, migrated database beside the configured one; yields its name and drops it at the end."""
    before = connection.settings_dict["NAME"]
    name = connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    try:
        yield name
    finally:
        connection.creation.destroy_test_db(before, verbosity=0)


def set_stage() -> BenchStage:
    """A team with a key, the workflows published, and the roles of the database as `up` grants them."""
    now = timezone.now()
    system = system_actor(team_id=NO_TEAM, door=Door.CLI)
    tables.ensure_partitions(actor=system, today=now.date())
    first = prepare_first_run(actor=system, now=now)
    if first.key is None:
        raise RuntimeError("The benchmark's database already has a team.")
    actor = authenticate_key(text=first.key, door=Door.REST, now=now)
    grant_roles(passwords=settings.ROLE_PASSWORDS)
    person = to_text(Prefix.PERSON, get_user_model().objects.get().pk)
    author = replace(actor, kind=ActorKind.PERSON, id=person, role=Role.OWNER, scopes=frozenset())
    document = json.dumps(endless_document()).encode()
    return BenchStage(
        actor=actor,
        owner=author,
        key=first.key,
        workflow_id=_published(author, Source(format=SourceFormat.STEPS_JSON, files={"endless.json": document}), now),
        activities_id=_published(author, Source(format=SourceFormat.ACTIVITY_FOLDER, files=two_activities()), now),
    )


def _published(author: Actor, source: Source, now: datetime) -> str:
    saved = create_workflow(actor=author, source=source, message="", now=now)
    workflow_id = saved.workflow.workflow_id
    publish_revision(actor=author, workflow_id=workflow_id, number=saved.revision.number, base=None, now=now)
    return workflow_id


def server_environment(database: str, *, has_limits: bool = False) -> dict[str, str]:
    """What a web server needs to serve the benchmark's database, as the role that serves in production."""
    place_of, login = connection.settings_dict, serving_login()
    host, port = str(place_of["HOST"]), str(place_of["PORT"])
    password = f":{quote(login.password, safe='')}" if login.password else ""
    place = f"?host={host}" if host.startswith("/") else ""
    authority = "" if host.startswith("/") else f"{host}{f':{port}' if port else ''}"
    url = f"postgresql://{login.user}{password}@{authority}/{database}{place}"
    return {**os.environ, **({} if has_limits else _WITHOUT_LIMITS), "DATABASE_URL": url, "WORKRAIL_ENV": "development"}
