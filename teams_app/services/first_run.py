"""What a fresh installation needs before anybody can sign in."""

from dataclasses import dataclass, replace
from datetime import datetime

from django.db import connection, transaction

from teams_app.engine.actors import Actor, Scope
from teams_app.models import Team
from teams_app.services import keys, people, teams

_OWNER = "owner"
_TEAM = "First team"
_KEY = "First key"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRun:
    """`password` and `key` are there once, when they were made."""

    created: bool
    team: str
    username: str
    password: str | None
    key: str | None


@transaction.atomic(durable=True)
def prepare_first_run(*, actor: Actor, now: datetime) -> FirstRun:
    """Makes a team, its owner and a key with every scope, unless there is a team already."""
    # Two starters at once: the table lock lets the second one see the first one's team.
    with connection.cursor() as cursor:
        cursor.execute("LOCK TABLE teams_app_team IN SHARE ROW EXCLUSIVE MODE")
    first = Team.objects.filter(ended_at__isnull=True).order_by("id").first()
    if first is not None:
        return FirstRun(created=False, team=first.name, username=_OWNER, password=None, key=None)
    account = people.find_or_create_account(username=_OWNER, now=now)
    team = teams.create_team(actor=actor, name=_TEAM, owner_id=account.person_id, now=now)
    issued = keys.issue_key(
        actor=replace(actor, team_id=team.id),
        name=_KEY,
        scopes=frozenset(Scope),
        expires_at=None,
        now=now,
    )
    return FirstRun(created=True, team=team.name, username=_OWNER, password=account.password, key=issued.text)
