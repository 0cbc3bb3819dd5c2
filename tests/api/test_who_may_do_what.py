"""Every operation of REST, as the OpenAPI document lists them, asked by keys of each scope, people of each role, and their tokens.

What each needs is said here; what each scope and role gives is told by `docs/people.md` and `docs/mcp.md`.
"""

import base64
import json
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from sessions_app.models import BundleJob, CheckpointRequest
from sessions_app.services.moves.sessions import start_session
from teams_app.engine.actors import ROLE_PERMISSIONS, Actor, ActorKind, Permission, Role, Scope, TokenGrant, TokenScope
from teams_app.engine.ids import Prefix, to_text
from teams_app.models import Membership
from teams_app.services.tokens import issue_token
from tests.api.test_who_is_let_in import KINDS, STREAM, WORDS, filled, operations
from tests.cast import Api, issue
from tests.direct_client import DirectClient
from tests.furnished import furnish
from tests.run_cast import begin, plain_steps
from tests.run_doors import enrol, person_text
from tests.step_documents import workflow
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db(transaction=True)

P = Permission
ANYBODY: tuple[Permission, ...] = ()
# Beside permissions: who has signed in, and by no token; or a person in any way.
PRESENT, PERSON = "in person", "a person"


def alike(names, needs):
    return dict.fromkeys(names, needs)


NEEDS = {
    "audit": {"GET": [P.READ_AUDIT]},
    "bundles": {"GET": [P.READ_RUNS], "POST": [P.PUBLISH_WORKFLOWS]},
    "bundles/{job}": {"GET": [P.READ_RUNS]},
    "bundles/{job}/file": {"GET": [P.READ_RUNS, P.READ_INTERNALS]},
    "checkpoints": {"GET": [P.READ_RUNS]},
    "checkpoints/version": {"GET": [P.READ_RUNS]},
    "checkpoints/{checkpoint}": {"GET": [P.READ_RUNS]},
    # It asks for a person, and the team lets no tokens answer.
    **alike(
        [f"checkpoints/{{checkpoint}}/{act}" for act in ("answer", "claim", "release")],
        {"POST": [P.ANSWER_CHECKPOINTS, PRESENT]},
    ),
    "deliveries/{delivery}/redeliver": {"POST": [P.MANAGE_TEAM]},
    "dialects/{dialect}/tools": {"GET": ANYBODY},
    "dialects/{dialect}/tools/{tool}": {"POST": [P.READ_WORKFLOWS]},
    "endpoints": alike(["GET", "POST"], [P.MANAGE_TEAM]),
    "endpoints/{endpoint}": alike(["GET", "PATCH", "DELETE"], [P.MANAGE_TEAM]),
    "endpoints/{endpoint}/deliveries": {"GET": [P.MANAGE_TEAM]},
    "endpoints/{endpoint}/switch-on": {"POST": [P.MANAGE_TEAM]},
    "gaps/{gap}/resolve": {"POST": [P.STEER_RUNS]},
    "invitations": {"GET": [P.MANAGE_TEAM], "POST": [P.MANAGE_TEAM, PRESENT]},
    "invitations/{invitation}": {"DELETE": [P.MANAGE_TEAM]},
    "keys": {"GET": [P.READ_TEAM], "POST": [P.MANAGE_TEAM]},
    "keys/{key}": {"GET": [P.READ_TEAM]},
    "keys/{key}/revoke": {"POST": [P.MANAGE_TEAM]},
    "keys/{key}/rotate": {"POST": [P.MANAGE_TEAM]},
    "members": {"GET": [P.READ_TEAM]},
    "members/{member}": {"GET": [P.READ_TEAM], "PATCH": [P.MANAGE_TEAM], "DELETE": [P.MANAGE_TEAM]},
    "members/{member}/password-link": {"POST": [P.MANAGE_TEAM, PRESENT]},
    "nodes/{node}": {"GET": [P.READ_RUNS]},
    "preferences": {"GET": [P.READ_RUNS], "PUT": [P.MANAGE_TEAM]},
    "retention": {"GET": [P.READ_TEAM], "PUT": [P.MANAGE_TEAM], "DELETE": [P.MANAGE_TEAM]},
    "runs": {"GET": [P.READ_RUNS], "POST": [P.DRIVE_RUNS, P.READ_WORKFLOWS]},
    "runs/checkpoint": {"POST": [P.DRIVE_RUNS]},
    "runs/continue": {"POST": [P.DRIVE_RUNS]},
    "runs/rehydrate": {"POST": [P.READ_RUNS]},
    "runs/{run}": {"GET": [P.READ_RUNS], "PATCH": [P.STEER_RUNS]},
    **alike([f"runs/{{run}}/{act}" for act in ("cancel", "pause", "prefer", "resume")], {"POST": [P.STEER_RUNS]}),
    **alike(
        [f"runs/{{run}}/{part}" for part in ("children", "events", "gaps", "nodes", "outputs", "tree", "version")],
        {"GET": [P.READ_RUNS]},
    ),
    "runs/{run}/preferences": {"GET": [P.READ_RUNS], "PUT": [P.STEER_RUNS]},
    "runs/{run}/timeline": {"GET": [P.READ_TRACES]},
    "runs/{run}/trace": {"GET": [P.READ_TRACES]},
    "sessions": {"GET": [P.READ_RUNS], "POST": [P.DRIVE_RUNS]},
    "sessions/checkpoint": {"POST": [P.DRIVE_RUNS]},
    "sessions/resume": {"POST": [P.READ_RUNS]},
    "sessions/{session}": {"GET": [P.READ_RUNS], "PATCH": [P.STEER_RUNS]},
    "sessions/{session}/delete": {"POST": [P.MANAGE_TEAM, PRESENT]},
    **alike(
        [f"sessions/{{session}}/{part}" for part in ("events", "events/{index}", "outputs", "report", "runs")],
        {"GET": [P.READ_RUNS]},
    ),
    "sessions/{session}/export": {"POST": [P.READ_RUNS, P.READ_INTERNALS]},
    "sessions/{session}/hold": {"GET": [P.READ_RUNS], "PUT": [P.STEER_RUNS], "DELETE": [P.STEER_RUNS]},
    "sessions/{session}/observations": {"POST": [P.DRIVE_RUNS]},
    "sessions/{session}/preferences": {"GET": [P.READ_RUNS], "PUT": [P.STEER_RUNS]},
    "sessions/{session}/timeline": {"GET": [P.READ_TRACES]},
    "sessions/{session}/trace": {"GET": [P.READ_TRACES]},
    "teams": {"GET": [P.READ_TEAM], "POST": [P.MANAGE_TEAM]},
    "teams/{team}": {"GET": [P.READ_TEAM], "PATCH": [P.MANAGE_TEAM, PRESENT]},
    "tokens": {"GET": [P.READ_TEAM, PERSON], "POST": [P.READ_TEAM, PRESENT]},
    # Somebody else's, which only owners see.
    "tokens/{token}": {"GET": [P.MANAGE_TEAM]},
    "tokens/{token}/revoke": {"POST": [P.MANAGE_TEAM]},
    "webhook": alike(["GET", "PUT", "DELETE"], [P.MANAGE_TEAM]),
    "whoami": {"GET": ANYBODY},
    "workflows": {"GET": [P.READ_WORKFLOWS], "POST": [P.EDIT_WORKFLOWS]},
    "workflows/aliases": {"GET": [P.READ_WORKFLOWS]},
    "workflows/aliases/{alias}": {
        "GET": [P.READ_WORKFLOWS], "PUT": [P.PUBLISH_WORKFLOWS], "DELETE": [P.PUBLISH_WORKFLOWS],
    },
    "workflows/bindings": {"GET": [P.READ_WORKFLOWS], "PUT": [P.PUBLISH_WORKFLOWS], "DELETE": [P.PUBLISH_WORKFLOWS]},
    "workflows/contracts": {"GET": [P.READ_WORKFLOWS]},
    "workflows/contracts/{contract}": {"PUT": [P.EDIT_WORKFLOWS], "DELETE": [P.EDIT_WORKFLOWS]},
    "workflows/import": {"POST": [P.EDIT_WORKFLOWS]},
    "workflows/validate": {"POST": [P.READ_WORKFLOWS]},
    "workflows/{workflow}": {"GET": [P.READ_WORKFLOWS], "PUT": [P.EDIT_WORKFLOWS]},
    "workflows/{workflow}/diff": {"GET": [P.READ_WORKFLOWS, P.READ_INTERNALS]},
    "workflows/{workflow}/export": {"GET": [P.READ_WORKFLOWS, P.READ_INTERNALS]},
    "workflows/{workflow}/fork": {"POST": [P.EDIT_WORKFLOWS]},
    "workflows/{workflow}/publish": {"POST": [P.PUBLISH_WORKFLOWS]},
    "workflows/{workflow}/retire": {"POST": [P.PUBLISH_WORKFLOWS]},
    "workflows/{workflow}/revisions": {"GET": [P.READ_WORKFLOWS]},
    "workflows/{workflow}/simulate": {"POST": [P.READ_WORKFLOWS, P.EDIT_WORKFLOWS]},
    "workflows/{workflow}/{held}": {"GET": [P.READ_WORKFLOWS]},
    "workflows/{workflow}/{held}/{name}": {"GET": [P.READ_WORKFLOWS]},
}  # fmt: skip
QUERIES = {("GET", "workflows/{workflow}/diff"): "?revision=1", ("DELETE", "workflows/bindings"): "?slot=a-slot"}
# A read of one state of the tables begins a transaction of its own; these write nothing.
READS = {"runs/rehydrate", "sessions/resume", "workflows/validate", "workflows/{workflow}/simulate"}
REFUSED = {"FORBIDDEN", "HUMAN_REQUIRED"}


@contextmanager
def undone():
    """What is done within is not kept."""
    connection.set_autocommit(False)
    try:
        yield
    finally:
        connection.rollback()
        connection.set_autocommit(True)


def bodies(own, begun, notes):
    """Such that whoever may comes through."""
    rows, run = own.rows, {name: begun[name] for name in ("stateToken", "ackToken")}
    steps, output = workflow(*plain_steps(2), id="team.fresh"), {"output": {"notesMarkdown": "x"}}
    name = f"team.of-{own.desk.team_id.hex}"
    reason, guided = {"reason": "So it is."}, {"preset": "guided"}
    ends = (timezone.now() + timedelta(days=9)).isoformat()
    question = CheckpointRequest.objects.get(pk=rows["checkpoint"])
    bookmark = {"stateToken": begun["stateToken"], "checkpointToken": begun["checkpointToken"], **output}
    return {
        ("POST", "bundles"): {"bundle": base64.b64encode(b"x").decode()},
        ("POST", "checkpoints/{checkpoint}/answer"): {"option": "yes", "digest": question.digest, **reason},
        ("POST", "endpoints"): {"url": "https://hooks.example/x", "kinds": ["run_started"]},
        ("PATCH", "endpoints/{endpoint}"): {"kinds": ["run_started"]},
        ("POST", "gaps/{gap}/resolve"): {"summary": "Found it."},
        ("POST", "invitations"): {"username": "zoe", "role": "viewer"},
        ("POST", "keys"): {"name": "k", "scopes": ["runs:read"]},
        ("PATCH", "members/{member}"): {"role": "viewer"},
        ("PUT", "preferences"): guided,
        ("PUT", "retention"): {"idleDays": 40},
        ("POST", "runs"): {"workflowId": "team.sample", "goal": "x"},
        ("PATCH", "runs/{run}"): {"name": "n"},
        ("POST", "runs/{run}/cancel"): reason,
        ("POST", "runs/{run}/pause"): reason,
        ("POST", "runs/{run}/prefer"): {"node": to_text(Prefix.NODE, rows["node"])},
        ("PUT", "runs/{run}/preferences"): guided,
        ("POST", "runs/checkpoint"): bookmark,
        ("POST", "runs/continue"): {**run, **output},
        ("POST", "runs/rehydrate"): {"stateToken": begun["stateToken"]},
        ("POST", "sessions"): {"title": "t"},
        ("PATCH", "sessions/{session}"): {"name": "n"},
        ("POST", "sessions/{session}/delete"): reason,
        ("PUT", "sessions/{session}/hold"): reason,
        ("POST", "sessions/{session}/observations"): {"ticket": "A-1"},
        ("PUT", "sessions/{session}/preferences"): guided,
        ("POST", "sessions/checkpoint"): {"sessionToken": notes["sessionToken"], **output},
        ("POST", "sessions/resume"): {"query": "x"},
        ("POST", "teams"): {"name": "another"},
        ("PATCH", "teams/{team}"): {"tokensAnswerHuman": True},
        ("POST", "tokens"): {"name": "t", "expiresAt": ends, "scopes": []},
        ("PUT", "webhook"): {"url": "https://hooks.example/y"},
        ("POST", "workflows"): {"definition": steps},
        ("PUT", "workflows/{workflow}"): {"definition": steps, "baseRevision": 1},
        ("POST", "workflows/{workflow}/fork"): {"id": "team.forked"},
        ("POST", "workflows/{workflow}/publish"): {"revision": 1},
        ("PUT", "workflows/aliases/{alias}"): {"workflow": name},
        ("PUT", "workflows/bindings"): {"slot": "a-slot", "routine": "x"},
        ("PUT", "workflows/contracts/{contract}"): {"artifactKind": "other.kind", "schema": {}, "example": {}},
        ("POST", "workflows/import"): {"files": {"fresh.json": json.dumps(steps)}},
        ("POST", "workflows/validate"): {"definition": steps},
    }


def callers(own):
    """Each with the actor that it is let in as, and how it calls."""
    desk, now = own.desk, timezone.now()
    enrol(desk.owner)
    found = {}
    for scopes in [*({scope} for scope in Scope), set(Scope)]:
        actor = replace(desk.agent, scopes=frozenset(scopes))
        found["key", *sorted(scopes)] = (actor, by_bearer(issue(desk.owner, scopes=actor.scopes).text))
    for role in Role:
        actor = replace(desk.owner, id=person_text(), name=f"of-role-{role.value}", role=role)
        client = Client()
        client.force_login(enrol(actor))
        found["person", role.value] = (actor, Api(client))
    lowered = replace(desk.owner, id=person_text(), name="once-owner")
    enrol(lowered)
    for who, scopes in [
        *((desk.owner, {each}) for each in TokenScope),
        (desk.owner, set()),
        (lowered, set(TokenScope)),
    ]:
        token = issue_token(actor=who, name="t", scopes=frozenset(scopes), expires_at=now + timedelta(days=9), now=now)
        found["token", who.name, *sorted(scopes)] = (who.by_token(grant(scopes)), by_bearer(token.text))
    # A token never may more than its person's role.
    Membership.objects.filter(person__username=lowered.name).update(role=Role.OPERATOR.value)
    name = ("token", lowered.name, *sorted(TokenScope))
    found[name] = (replace(found[name][0], role=Role.OPERATOR), found[name][1])
    return found


def grant(scopes):
    return TokenGrant(id="x", name="t", scopes=frozenset(scopes), answers_human=False)


def asked_by(everybody, needs):
    """What every person may, the lowest of them may, and a token without a scope: the others have nothing to tell."""
    if not ROLE_PERMISSIONS[Role.VIEWER] >= {*needs} - {PERSON, PRESENT}:
        return everybody.items()
    lowest = {("person", Role.VIEWER.value), ("token", "alice")}
    return [(who, each) for who, each in everybody.items() if who[0] == "key" or who in lowest]


def by_bearer(text):
    return Api(DirectClient(), Authorization=f"Bearer {text}")


def may(actor: Actor, needs):
    for need in needs:
        if need == PRESENT and (actor.kind is not ActorKind.PERSON or actor.token is not None):
            return False
        if need == PERSON and actor.kind is not ActorKind.PERSON:
            return False
        if isinstance(need, Permission) and not actor.may(need):
            return False
    return True


def is_refused(response, path):
    code = "" if response.status_code < 400 else json.loads(response.content)["code"]
    # Tokens of others are not there for who may not see them.
    return code in REFUSED or (path.startswith("tokens/{token}") and code == "NOT_FOUND")


def test_every_operation_has_a_row_here():
    """A new operation is thought about before it is served."""
    asked = {(method, path) for path, methods in NEEDS.items() for method in methods}
    assert asked == {(method, short(path)) for method, path in operations() if not path.endswith(STREAM)}


def test_the_document_says_so():
    """What a summary says of who it is for."""
    from workrail_site.openapi import document

    paths = json.loads(document())["paths"]
    for path, methods in NEEDS.items():
        for method, needs in methods.items():
            summary = paths[f"/api/v1/{path}"][method.lower()]["summary"]
            assert "For owners" not in summary or {P.MANAGE_TEAM, P.READ_AUDIT} & set(needs), (path, method)
            assert "owners, in person" not in summary or PRESENT in needs, (path, method)


def short(path):
    return path.removeprefix("/api/v1/")


def test_each_operation_is_open_to_who_has_what_it_needs_and_to_nobody_else(settings, redis_client):
    settings.THROTTLE_ACTOR_PER_MINUTE = settings.THROTTLE_TEAM_PER_MINUTE = 0
    settings.CELERY_TASK_ALWAYS_EAGER = False
    own = furnish("own-person")
    now, desk = timezone.now(), own.desk
    begun = begin(desk, *plain_steps(3))
    notes = start_session(actor=desk.agent, title="Notes", observations={}, now=now, entropy=bytes, speech=RAIL).value
    BundleJob.objects.filter(pk=own.rows["job"]).update(state="done", finished_at=now)
    ids = WORDS | {name: to_text(prefix, own.rows[name]) for name, prefix in KINDS.items()}
    ids |= {"workflow": f"team.of-{desk.team_id.hex}", "name": "drafting", "gap": f"gap_{own.rows['gap'].hex}"}
    given, everybody = bodies(own, begun, notes), callers(own)
    wrong, cells = [], 0
    for path, methods in NEEDS.items():
        for method, needs in methods.items():
            place = f"/api/v1/{filled(path, ids)}{QUERIES.get((method, path), '')}"
            body = given.get((method, path), {} if method == "POST" else None)
            for who, (actor, api) in asked_by(everybody, needs):
                if method == "GET" or path in READS:
                    response = api(method, place, body)
                else:
                    with undone():
                        response = api(method, place, body)
                response.close()
                if response.status_code >= 500 or is_refused(response, path) is may(actor, needs):
                    wrong.append((method, path, who, response.status_code))
                cells += 1
    assert not wrong, "\n".join(map(str, wrong))
    assert cells > 1400
