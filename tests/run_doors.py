"""The REST door of the tests of runs: a desk's agent by its key, its people signed in, and the stranger's key."""

from datetime import timedelta
from functools import cached_property

from tests import run_cast
from tests.cast import Api, issue
from tests.run_cast import plain_steps, published
from tests.workflow_cast import NOW, seated

V1 = "/api/v1"


class Doors:
    """`agent` and `stranger` call with keys; `person` is an operator's equal, signed in, and `viewer` only looks.

    `token` is the person's, with every scope that they have. All three people are members. Each is let in when a test first
    asks for it, since most tests need two of the seven.
    """

    def __init__(self, desk):
        self.desk = desk
        for actor in (desk.person, desk.owner, desk.viewer):
            enrol(actor)

    @cached_property
    def agent(self):
        return by_key(self.desk.owner)

    @cached_property
    def reader(self):
        from teams_app.engine.actors import Scope

        return by_key(self.desk.owner, frozenset({Scope.RUNS_READ}))

    @cached_property
    def stranger(self):
        stranger = {"id": person_text(), "name": "mallory", "team_id": self.desk.stranger.team_id}
        return by_key(run_cast.replace(self.desk.owner, **stranger))

    @cached_property
    def person(self):
        return signed_in(self.desk.person)

    @cached_property
    def owner(self):
        return signed_in(self.desk.owner)

    @cached_property
    def viewer(self):
        return signed_in(self.desk.viewer)

    @cached_property
    def token(self):
        return by_token(self.desk.person)


def open_doors():
    return Doors(run_cast.make_desk())


def by_key(owner, scopes=None):
    """By a key with these scopes, or with every one."""
    from django.test import Client

    from teams_app.engine.actors import Scope

    return Api(Client(), Authorization=f"Bearer {issue(owner, scopes=scopes or frozenset(Scope)).text}")


def signed_in(actor):
    from django.test import Client

    client = Client()
    client.force_login(enrol(actor))
    return Api(client)


def by_token(actor, scopes=("answer", "publish")):
    """Somebody enrolled, by a token of theirs."""
    from django.test import Client
    from django.utils import timezone

    from teams_app.engine.actors import TokenScope
    from teams_app.services.tokens import issue_token

    now = timezone.now()
    given = frozenset(TokenScope(scope) for scope in scopes)
    issued = issue_token(actor=actor, name="laptop", scopes=given, expires_at=now + timedelta(days=90), now=now)
    return Api(Client(), Authorization=f"Bearer {issued.text}")


def enrol(actor):
    """The account and the membership behind an actor of the cast."""
    from teams_app.engine.ids import Prefix, from_text
    from teams_app.models import Person

    return Person.objects.get(pk=from_text(Prefix.PERSON, seated(actor).id))


def begin_run(doors, *steps, workflow_id="team.sample", **body):
    """Publish a workflow of these steps and begin a run by REST; what was answered."""
    published(doors.desk, *(steps or plain_steps(3)), workflow_id=workflow_id)
    response = doors.agent.post(f"{V1}/runs", {"workflowId": workflow_id, "goal": "Try it", **body})
    assert response.status_code == 201, response.content
    return response.json()


def go_on(api, value, notes="Did what the step says.", **body):
    tokens = {"stateToken": value["stateToken"], "ackToken": value["ackToken"]}
    return api.post(f"{V1}/runs/continue", {**tokens, "output": {"notesMarkdown": notes}, **body})


def person_text():
    """The id of somebody new."""
    from teams_app.engine.ids import Prefix, to_text
    from teams_app.services.ids import new_id

    return to_text(Prefix.PERSON, new_id(now=NOW))
