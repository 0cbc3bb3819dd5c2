"""Every operation of REST, as the OpenAPI document lists them, asked by whoever may not: the answers are of one kind each."""

import json
import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from sessions_app.models import Run
from teams_app.engine.actors import Scope, TokenScope
from teams_app.engine.ids import Prefix, to_text
from teams_app.services.tokens import issue_token
from tests.cast import Api, issue
from tests.furnished import furnish
from tests.nobodies import CODES, bad_bearers
from tests.run_doors import signed_in

pytestmark = pytest.mark.django_db

# Told of before any row is read, where the server cannot stream; where it can, it asks the operation beside it.
STREAM = "/stream"
METHODS = ("get", "post", "put", "patch", "delete")


def operations():
    from workrail_site.openapi import document

    paths = json.loads(document())["paths"]
    return sorted((method.upper(), path) for path, said in paths.items() for method in METHODS if method in said)


KINDS = {
    "run": Prefix.RUN,
    "session": Prefix.SESSION,
    "node": Prefix.NODE,
    "checkpoint": Prefix.CHECKPOINT,
    "gap": Prefix.EVENT,
    "job": Prefix.BUNDLE_JOB,
    "endpoint": Prefix.ENDPOINT,
    "delivery": Prefix.DELIVERY,
    "invitation": Prefix.INVITATION,
    "key": Prefix.KEY,
    "token": Prefix.TOKEN,
    "member": Prefix.MEMBERSHIP,
    "team": Prefix.TEAM,
}


@pytest.fixture
def other():
    """The rows of another team, by the names that addresses give them."""
    rows = furnish().rows
    return {name: (prefix, rows[name]) for name, prefix in KINDS.items()}


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
    """Who calls with a credential that does not hold, each in its own way."""
    found = {
        name: Api(Client(), **({} if text is None else {"Authorization": f"Bearer {text}"}))
        for name, text in bad_bearers(house).items()
    }
    deactivated = Client()
    deactivated.force_login(house.bob.person)
    return {
        **found,
        "somebody deactivated": Api(deactivated),
        "a session that never was": Api(Client(), Cookie="sessionid=x"),
    }


def test_every_name_in_an_address_is_known_here():
    names = {name for _, path in operations() for name in re.findall(r"\{(\w+)\}", path)}

    assert names == KINDS.keys() | WORDS.keys()
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
