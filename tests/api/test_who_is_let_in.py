"""Every operation of REST, as the OpenAPI document lists them, asked by whoever may not: the answers are of one kind each."""

import json
import re
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from sessions_app.models import BundleJob, Gap, Node, Run
from teams_app.engine.actors import Role, Scope, TokenScope
from teams_app.engine.ids import Prefix, to_text
from teams_app.models import AgentKey, Endpoint, Membership, NoticeDelivery, Person, PersonalToken
from teams_app.services.invitations import invite
from teams_app.services.keys import revoke_key
from teams_app.services.tokens import issue_token, revoke_token
from tests import run_cast
from tests.cast import Api, issue
from tests.checkpoint_cast import at_question, only_row
from tests.run_cast import run_id, session_id
from tests.run_doors import enrol, signed_in

pytestmark = pytest.mark.django_db

# Told of before any row is read, where the server cannot stream; where it can, it asks the operation beside it.
STREAM = "/stream"
METHODS = ("get", "post", "put", "patch", "delete")


def operations():
    from workrail_site.openapi import document

    paths = json.loads(document())["paths"]
    return sorted((method.upper(), path) for path, said in paths.items() for method in METHODS if method in said)


@pytest.fixture
def other():
    """The rows of another team, by the names that addresses give them."""
    desk = run_cast.make_desk()
    asked = at_question(desk, authority="human")
    run, session, now = run_id(asked), session_id(asked), timezone.now()
    invitation = invite(actor=desk.owner, username="dora", role=Role.VIEWER, now=now).invitation
    enrol(replace(desk.person, name="their-person"))
    token = issue_token(
        actor=desk.person, name="laptop", scopes=frozenset(), expires_at=now + timedelta(days=9), now=now
    )
    team = {"team_id": desk.team_id}
    made = {"session_id": session, "run_id": run, "node_id": Node.objects.filter(run_id=run).first().pk}
    gap = Gap.objects.create(
        id=uuid4(),
        **team,
        **made,
        severity="critical",
        category="unexpected",
        detail="",
        summary="",
        event_index=1,
        created_at=now,
    )
    job = BundleJob.objects.create(
        id=uuid4(), **team, kind="export", state="waiting", session_id=session, actor_kind="person", actor_id="x",
        actor_name="x", created_at=now, touched_at=now, expires_at=now + timedelta(days=1),
    )  # fmt: skip
    endpoint = Endpoint.objects.create(
        id=uuid4(), **team, url="https://x.example", kinds=["run_started"], secret="x", set_at=now
    )
    delivery = NoticeDelivery.objects.create(
        id=uuid4(),
        **team,
        endpoint=endpoint,
        notice_id=uuid4(),
        kind="run_started",
        body=b"{}",
        state="delivered",
        created_at=now,
    )
    member = Membership.objects.filter(team_id=desk.team_id).first()
    return {
        "run": (Prefix.RUN, run),
        "session": (Prefix.SESSION, session),
        "node": (Prefix.NODE, made["node_id"]),
        "checkpoint": (Prefix.CHECKPOINT, only_row(asked).id),
        "gap": (Prefix.GAP if hasattr(Prefix, "GAP") else Prefix.EVENT, gap.pk),
        "job": (Prefix.BUNDLE_JOB, job.pk),
        "endpoint": (Prefix.ENDPOINT, endpoint.pk),
        "delivery": (Prefix.DELIVERY, delivery.pk),
        "invitation": (Prefix.INVITATION, invitation.id),
        "key": (Prefix.KEY, issue(desk.owner).key.id),
        "token": (Prefix.TOKEN, token.token.id),
        "member": (Prefix.MEMBERSHIP, member.pk),
        "team": (Prefix.TEAM, desk.team_id),
    }


# What an address names that is no row of one team: a word of ours, or a name that each team gives for itself.
WORDS = {
    "dialect": "rail",
    "tool": "list_workflows",
    "index": "0",
    "held": "skills",
    "name": "x",
    "workflow": "other.private",
    "alias": "other.alias",
    "contract": "other.contracts.x",
}


def filled(path, ids):
    return re.sub(r"\{(\w+)\}", lambda found: ids[found[1]], path)


def told(response):
    said = json.loads(response.content)
    return response.status_code, said["code"], said["detail"], response.headers.get("WWW-Authenticate")


def nobodies(house):
    """Credentials that do not hold, each in its own way, with the codes that may say so."""
    owner, now = house.alice.actor, timezone.now()
    revoked, late = issue(owner, name="revoked"), issue(owner, name="late", expires_at=now + timedelta(days=1))
    revoke_key(actor=owner, key_id=revoked.key.id, now=now)
    AgentKey.objects.filter(pk=late.key.id).update(
        created_at=now - timedelta(days=2), expires_at=now - timedelta(days=1)
    )
    ends = now + timedelta(days=9)
    gone, past, left = (
        issue_token(actor=owner, name=name, scopes=frozenset(TokenScope), expires_at=ends, now=now)
        for name in ("a", "b", "c")
    )
    revoke_token(actor=owner, token_id=gone.token.id, now=now)
    PersonalToken.objects.filter(pk=past.token.id).update(
        created_at=now - timedelta(days=2), expires_at=now - timedelta(days=1)
    )
    eve = house.bob.person
    PersonalToken.objects.filter(pk=left.token.id).update(person=eve)
    Person.objects.filter(pk=eve.pk).update(is_active=False)
    deactivated = Client()
    deactivated.force_login(eve)
    good = issue(owner).text
    bearers = {
        "nothing": None,
        "no key": "nonsense",
        "an empty key": "",
        "a forged key": good[:-4] + "zzzz",
        "a key of nobody": "wr_key_" + "a" * 40,
        "a forged token": gone.text[:-4] + "zzzz",
        "a revoked token": gone.text,
        "a token past its end": past.text,
        "a token of somebody deactivated": left.text,
        "a revoked key": revoked.text,
        "a key past its end": late.text,
    }
    found = {
        name: Api(Client(), **({} if text is None else {"Authorization": f"Bearer {text}"}))
        for name, text in bearers.items()
    }
    return {
        **found,
        "somebody deactivated": Api(deactivated),
        "a session that never was": Api(Client(), Cookie="sessionid=x"),
    }


CODES = {"a revoked key": "KEY_REVOKED", "a key past its end": "KEY_EXPIRED"}


def test_every_name_in_an_address_is_known_here(other):
    names = {name for _, path in operations() for name in re.findall(r"\{(\w+)\}", path)}

    assert names == other.keys() | WORDS.keys()
    assert len(operations()) >= 100


def test_who_is_not_known_is_refused_alike_by_every_operation(house, settings, redis_client):
    settings.THROTTLE_ACTOR_PER_MINUTE = settings.THROTTLE_TEAM_PER_MINUTE = 0
    ids = {name: to_text(Prefix.RUN, uuid4()) for _, path in operations() for name in re.findall(r"\{(\w+)\}", path)}
    for name, api in nobodies(house).items():
        answers = {}
        for method, path in operations():
            response = api(method, filled(path, ids | WORDS), {} if method != "GET" else None)
            answers.setdefault(told(response), []).append((method, path))

        assert len(answers) == 1, (name, {answer: places[:3] for answer, places in answers.items()})
        ((status, code, _, challenge),) = answers
        assert (status, code, challenge) == (401, CODES.get(name, "UNAUTHENTICATED"), 'Bearer realm="workrail"'), name


# A report is read in a transaction of its own, which Postgres allows only at the outermost.
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("who", ["owner", "key", "token"])
def test_a_row_of_another_team_is_answered_as_one_that_is_not_there(house, other, settings, redis_client, who):
    settings.THROTTLE_ACTOR_PER_MINUTE = settings.THROTTLE_TEAM_PER_MINUTE = 0
    owner, now = house.alice.actor, timezone.now()
    ends = now + timedelta(days=9)
    api = {
        "owner": lambda: signed_in(owner),
        "key": lambda: Api(Client(), Authorization=f"Bearer {issue(owner, scopes=frozenset(Scope)).text}"),
        "token": lambda: Api(
            Client(),
            Authorization="Bearer "
            + issue_token(actor=owner, name="all", scopes=frozenset(TokenScope), expires_at=ends, now=now).text,
        ),
    }[who]()
    theirs = {name: to_text(prefix, pk) for name, (prefix, pk) in other.items()} | WORDS
    nobodys = {name: to_text(prefix, uuid4()) for name, (prefix, _) in other.items()} | WORDS
    before = list(Run.objects.order_by("pk").values())

    for method, path in operations():
        if "{" not in path or not set(re.findall(r"\{(\w+)\}", path)) & other.keys():
            continue
        body = None if method == "GET" else {}
        found, missed = (api(method, filled(path, ids), body) for ids in (theirs, nobodys))
        assert (found.status_code, json.loads(found.content)["code"]) == (
            missed.status_code,
            json.loads(missed.content)["code"],
        ), (method, path)
        if path.endswith(STREAM):
            assert json.loads(found.content)["code"] == "PRECONDITION_FAILED"
            continue
        assert found.status_code in {400, 403, 404}, (method, path, found.content[:300])
        assert method != "GET" or found.status_code in {403, 404}, (method, path, found.content[:300])
    assert list(Run.objects.order_by("pk").values()) == before
