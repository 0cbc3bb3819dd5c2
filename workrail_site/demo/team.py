"""Who works in the demo, and with which workflows. Everybody comes in as in life: invited, with a password of their own."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from teams_app import selectors
from teams_app.engine.actors import Actor, Door, Role, Scope, person_id_of
from teams_app.engine.errors import PreconditionFailedError
from teams_app.engine.pages import MAX_LIMIT, PageRequest
from teams_app.engine.values import TeamValue
from teams_app.services import invitations, keys, members
from workflows_app.services.importing import ImportOptions, import_files
from workflows_app.services.publishing import publish_revision
from workrail_site.demo.library import files_of

PEOPLE = {"release-operator": Role.OPERATOR, "billing-author": Role.AUTHOR, "support-viewer": Role.VIEWER}
AGENTS = ("billing-agent", "claude-ci", "cursor-web", "support-agent")
_MOST_DEMOS = 20
_AGENT_SCOPES = frozenset({Scope.WORKFLOWS_READ, Scope.RUNS_READ, Scope.RUNS_WRITE, Scope.TRACES_READ, Scope.TEAM_READ})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Everybody as the actor that they are: people in the Studio, agents over MCP."""

    owner: Actor
    people: Mapping[str, Actor]
    agents: Mapping[str, Actor]
    keys: Mapping[str, str]

    @property
    def operator(self) -> Actor:
        return self.people["release-operator"]

    @property
    def author(self) -> Actor:
        return self.people["billing-author"]


def free_names(*, system: Actor) -> dict[str, str]:
    """What the people of the demo are called. Accounts are of the whole installation, and no account that is there is touched."""
    for count in range(1, _MOST_DEMOS + 1):
        names = {name: name if count == 1 else f"{name}-{count}" for name in PEOPLE}
        if not selectors.taken_usernames(actor=system, names=names.values()):
            return names
    raise PreconditionFailedError(
        f"There are {_MOST_DEMOS} demos in this installation.", suggestion="Look at one of them in the Studio."
    )


def gather(*, owner: Actor, names: Mapping[str, str], now: datetime) -> Cast:
    people = {name: _join(owner, names[name], role, now) for name, role in PEOPLE.items()}
    texts = {name: _connect(owner, name, now) for name in AGENTS}
    agents = {name: keys.authenticate_key(text=text, door=Door.MCP, now=now) for name, text in texts.items()}
    # One that is no longer used, and one that ends soon.
    old = keys.issue_key(actor=owner, name="old-ci", scopes=_AGENT_SCOPES, expires_at=None, now=now)
    keys.revoke_key(actor=owner, key_id=old.key.id, now=now + timedelta(hours=2))
    return Cast(owner=owner, people=people, agents=agents, keys=texts)


def sign_in_again(*, cast: Cast, now: datetime) -> None:
    """When each agent called last: the calls of the demo pass by the door that notes it."""
    for index, text in enumerate(cast.keys.values()):
        keys.authenticate_key(text=text, door=Door.MCP, now=now - timedelta(minutes=3 + 17 * index))


def owner_of(*, team: TeamValue, system: Actor) -> Actor:
    acting = replace(system, team_id=team.id)
    found = selectors.list_members(actor=acting, page=PageRequest(limit=MAX_LIMIT)).items
    first = next(member for member in found if member.role is Role.OWNER)
    return selectors.person_actor(person_id=first.person_id, team_id=team.id, door=Door.STUDIO)


def leave_to_others(*, owner: Actor, now: datetime) -> bool:
    """The team is somebody's whom nobody can sign in as, so that no person sees it any more. False where nobody else is in it."""
    found = selectors.list_members(actor=owner, page=PageRequest(limit=MAX_LIMIT)).items
    mine = next(member for member in found if member.person_id == person_id_of(actor=owner))
    other = next((member for member in found if member.id != mine.id), None)
    if other is None:
        return False
    members.change_role(actor=owner, member_id=other.id, role=Role.OWNER, now=now)
    members.remove_member(actor=owner, member_id=mine.id, now=now)
    return True


def publish(*, cast: Cast, name: str, message: str, now: datetime, is_published: bool = True) -> None:
    saved = import_files(
        actor=cast.author, files=files_of(name), options=ImportOptions(message=message), now=now
    ).workflows[0]
    if is_published:
        publish_revision(
            actor=cast.author,
            workflow_id=saved.workflow.workflow_id,
            number=saved.revision.number,
            base=None,
            now=now,
        )


def _join(owner: Actor, name: str, role: Role, now: datetime) -> Actor:
    issued = invitations.invite(actor=owner, username=name, role=Role.VIEWER, now=now)
    joined = invitations.accept_with_new_account(
        link=issued.link, password=secrets.token_urlsafe(), door=Door.STUDIO, now=now + timedelta(minutes=20)
    )
    if role is not Role.VIEWER:
        members.change_role(actor=owner, member_id=joined.member.id, role=role, now=now + timedelta(minutes=25))
    return selectors.person_actor(person_id=joined.person_id, team_id=owner.team_id, door=Door.STUDIO)


def _connect(owner: Actor, name: str, now: datetime) -> str:
    ends = now + timedelta(days=18) if name == "support-agent" else now + timedelta(days=90)
    return keys.issue_key(actor=owner, name=name, scopes=_AGENT_SCOPES, expires_at=ends, now=now).text
