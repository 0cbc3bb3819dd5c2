"""A team whose every name and text is as long as it may be, in one word, from right to left, or in emoji."""

import os
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

from django.utils import timezone

from sessions_app.engine.observations import ObservationKey
from sessions_app.engine.run_query import ViewedList
from sessions_app.services.people import naming, saved_views
from teams_app.engine.actors import Role
from teams_app.engine.ids import Prefix, to_text
from teams_app.services.invitations import invite
from teams_app.services.teams import rename_team
from teams_app.services.tokens import issue_token
from tests import run_doors
from tests.activity_folders import activity, checkpoint, folder, step as folder_step, workflow as about
from tests.cast import issue
from tests.checkpoint_cast import publish_folder
from tests.run_cast import advanced, notes_free, published, session_id, start
from tests.trace_calls import made, write

_HEBREW = "חשבונית שלא עוגלה נכון בסוף החודש ויש לתקן אותה לפני הסגירה "
_FAMILY = "👩‍👩‍👧‍👦🏳️‍🌈🧑🏽‍🚒"
FLAVOURS = {
    "word": "Abrechnungsgrundlagenverordnung" * 10,
    "hebrew": _HEBREW * 6,
    "emoji": _FAMILY * 20,
}
_LONG = 200


def diff_of(text):
    name = f"src/{text[:80]}/{text[:80]}.py".replace(" ", "_")
    return f"--- a/{name}\n+++ b/{name}\n@@ -1,2 +1,2 @@\n context {text}\n-{text * 3}\n+{text * 3} more\n"


def notes_of(text):
    return (
        f"{text}\n\n# {text}\n\n- {text}\n\n```\n{text * 3}\n```\n\n| {text} | b |\n| - | - |\n| {text} | `{text}` |\n"
    )


def tell():
    """By flavour: the reply of a run that waits for a person, of one that stands at a question, and of one that is done."""
    doors = run_doors.open_doors()
    return doors, {name: _flavoured(doors.desk, name, text) for name, text in FLAVOURS.items()}


def _flavoured(desk, name, text):
    now, long = timezone.now(), text[:_LONG].strip()
    agent = _agent(desk, text[:100].strip())
    steps = [notes_free(f"step-{n}", title=text[:80].strip(), prompt=f"{text} {{{{ticket}}}}") for n in range(2)]
    gated = notes_free("gated", title=long[:80], prompt=text, requireConfirmation={"kind": "human_approval"})
    workflow_id = f"team.{name}-{'w' * 40}"
    published(
        desk, *steps, gated, workflow_id=workflow_id, name=text[:80].strip(), description=long, about=notes_of(text)
    )
    _publish_question(desk, f"{workflow_id}-q", text)
    observed = {ObservationKey.GIT_BRANCH: f"feature/{'b' * 180}", ObservationKey.TICKET: "T" * 60}
    given = {"actor": agent, "goal": long, "observations": observed, "context": {"ticket": text}}
    waiting = start(desk, workflow_id, **given, now=now - timedelta(minutes=9)).value
    artifacts = [
        {"kind": "team.diff", "title": long, "diff": diff_of(text)},
        {"kind": "team.facts", "title": long, "facts": {text[:100]: [text, {"deep": text}]}},
    ]
    for _ in range(3):
        waiting = advanced(agent, waiting, notes_of(text), artifacts=artifacts, now=now - timedelta(minutes=5))
    asked = start(desk, f"{workflow_id}-q", **given, now=now - timedelta(minutes=8)).value
    asked = advanced(agent, asked, now=now - timedelta(minutes=7)) if not asked["pending"].get("checkpoint") else asked
    blocked = advanced(agent, start(desk, workflow_id, **given, now=now).value, "", now=now)
    naming.rename_session(actor=desk.person, session_id=session_id(waiting), name=long, now=now, entropy=os.urandom)
    write(made(agent, tool=("t" * 60), arguments={"agent_id": text, text[:60]: text}, error_code="INVALID"))
    return {"waiting": waiting, "asked": asked, "blocked": blocked, "workflow": workflow_id}


def _agent(desk, name):
    # A key's name has no joiners.
    name = name.replace("\u200d", "")
    return replace(desk.agent, id=to_text(Prefix.KEY, issue(desk.owner, name=name).key.id), name=name)


def _publish_question(desk, workflow_id, text):
    options = [
        {
            "id": f"{'o' * 30}{n}",
            "label": text[:80].strip(),
            "description": text[:_LONG],
            "effect": {"setVariable": {"on": n}},
        }
        for n in range(3)
    ]
    question = checkpoint("severity", message=text[:_LONG], options=options, authority="human")
    steps = [{"id": "ask", "name": text[:80].strip(), "checkpoint": "severity"}, folder_step("answer")]
    described = about(
        id=workflow_id, description=text[:_LONG], initialActivity="triage", title=text[:80].strip(), tags=["g" * 40]
    )
    publish_folder(desk, folder(activity("triage", checkpoints=[question], steps=steps), about=described), workflow_id)


def crowd(desk):
    """People, tokens, keys, views and a team with names as long as they may be."""
    now = timezone.now()
    run_doors.enrol(replace(desk.person, id=to_text(Prefix.PERSON, uuid4()), name="w" * 100))
    for role in (Role.VIEWER, Role.OWNER):
        invite(actor=desk.owner, username=f"{role.value}{'x' * 90}", role=role, now=now)
    ends = now + timedelta(days=9)
    issue_token(actor=desk.owner, name="M" * 100, scopes=frozenset(), expires_at=ends, now=now)
    rename_team(actor=desk.owner, name="T" * 100, now=now)
    for shared in (False, True):
        saved_views.save_view(
            actor=desk.owner, viewed=ViewedList.RUNS, name="V" * 40, query="status:waiting", is_shared=shared, now=now
        )
