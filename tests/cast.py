"""The cast: Alice owns a team, Bob is an operator in it, Charlie owns another. Their agents carry keys."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from teams_app.engine.actors import Actor, ActorKind, Door, Role, Scope

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


@dataclass(frozen=True, kw_only=True)
class Player:
    """A person of the cast as each door knows them: the row, the membership, the actor."""

    person: object
    membership: object
    actor: Actor


@dataclass(frozen=True, kw_only=True)
class House:
    team: object
    other_team: object
    alice: Player
    bob: Player
    charlie: Player


@pytest.fixture
def house(db):
    from teams_app.models import Team
    from teams_app.services.ids import new_id

    team = Team.objects.create(id=new_id(now=NOW), name="Alice's team", created_at=NOW)
    other_team = Team.objects.create(id=new_id(now=NOW), name="Charlie's team", created_at=NOW)
    return House(
        team=team,
        other_team=other_team,
        alice=play("alice", team, Role.OWNER),
        bob=play("bob", team, Role.OPERATOR),
        charlie=play("charlie", other_team, Role.OWNER),
    )


def play(name, team, role):
    """Accounts have no password here: hashing one is slow on purpose, and signing in has tests of its own."""
    from teams_app.models import Membership, Person
    from teams_app.services.ids import new_id

    person, _ = Person.objects.get_or_create(
        username=name,
        defaults={"id": new_id(now=NOW), "password": "!", "created_at": NOW},
    )
    membership = Membership.objects.create(
        id=new_id(now=NOW),
        team=team,
        person=person,
        role=role.value,
        created_at=NOW,
    )
    return Player(person=person, membership=membership, actor=actor_of(membership))


def actor_of(membership, *, door=Door.REST):
    from teams_app.engine.ids import Prefix, to_text

    return Actor(
        kind=ActorKind.PERSON,
        id=to_text(Prefix.PERSON, membership.person_id),
        name=membership.person.username,
        team_id=membership.team_id,
        door=door,
        role=Role(membership.role),
    )


def issue(actor, *, scopes=frozenset(Scope), name="an agent", expires_at=None, now=NOW):
    from teams_app.services.keys import issue_key
    from tests.workflow_cast import seated

    if actor.role is Role.OWNER:
        seated(actor)
    return issue_key(actor=actor, name=name, scopes=scopes, expires_at=expires_at, now=now)


class Api:
    """Calls REST as somebody, and reads JSON back."""

    def __init__(self, client, **headers):
        self.client = client
        self.headers = headers

    def __call__(self, method, path, body=None, **headers):
        data = body if isinstance(body, bytes | str) else json.dumps(body) if body is not None else ""
        given = {**self.headers, **headers}
        return self.client.generic(method, path, data, content_type="application/json", headers=given)

    def get(self, path, **headers):
        return self("GET", path, **headers)

    def post(self, path, body=None, **headers):
        return self("POST", path, body, **headers)


@pytest.fixture
def as_person():
    """`as_person(house.alice)`: REST signed in by session. The CSRF proof has tests of its own."""
    from django.test import Client

    def sign_in(player, **headers):
        signed_in = Client()
        signed_in.force_login(player.person)
        return Api(signed_in, **headers)

    return sign_in


@pytest.fixture
def as_key():
    """`as_key(text)`: REST with a bearer key and nothing else, on the way that the site serves it."""
    from tests.direct_client import DirectClient

    return lambda text, **headers: Api(DirectClient(), Authorization=f"Bearer {text}", **headers)


@pytest.fixture
def as_nobody():
    from django.test import Client

    return Api(Client())


def team_id(team):
    from teams_app.engine.ids import Prefix, to_text

    return to_text(Prefix.TEAM, team.pk)


def member_id(player):
    from teams_app.engine.ids import Prefix, to_text

    return to_text(Prefix.MEMBERSHIP, player.membership.pk)


def audited(team):
    """The actions in a team's audit log, the oldest first."""
    from teams_app.models import AuditEntry

    return list(AuditEntry.objects.filter(team=team).order_by("id").values_list("action", flat=True))
