"""`./workrail members …`: who is in a team, and the one-time links by which people come in and set a new password."""

from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from teams_app import selectors
from teams_app.engine.actors import NO_TEAM, Actor, Door, Role, system_actor
from teams_app.engine.errors import NotFoundError, WorkrailError
from teams_app.engine.names import read_username
from teams_app.engine.pages import MAX_LIMIT, PageRequest
from teams_app.engine.values import MemberValue
from teams_app.services import invitations, members, resets
from teams_app.services.addresses import join_address, reset_address

Options = Mapping[str, Any]


class Command(BaseCommand):
    help = "Lists, invites and removes the members of a team, changes roles, and makes links for new passwords."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(dest="subcommand", required=True, metavar="subcommand")
        for name, (_, text) in _SUBCOMMANDS.items():
            command = commands.add_parser(name, help=text, description=text)
            command.add_argument("--team", default="", help="the name or id of the team; not needed when there is one")
            if name != "list":
                command.add_argument("username", help="the login name")
            if name in {"invite", "role"}:
                command.add_argument("role", choices=[role.value for role in Role])

    def handle(self, *_args: Any, **options: Any) -> None:
        run, _ = _SUBCOMMANDS[options["subcommand"]]
        try:
            lines = run(_actor(options), options)
        except WorkrailError as error:
            raise CommandError(f"{error.message} {error.suggestion or ''}".strip()) from error
        for line in lines:
            self.stdout.write(line)


def _list(actor: Actor, _options: Options) -> list[str]:
    now = timezone.now()
    waiting = selectors.list_invitations(actor=actor, page=PageRequest(limit=MAX_LIMIT), now=now).items
    invited = [f"{each.username}  {each.role.value}  invited, until {each.expires_at:%Y-%m-%d}" for each in waiting]
    return [f"{member.username}  {member.role.value}" for member in _all_members(actor)] + invited


def _invite(actor: Actor, options: Options) -> list[str]:
    role = Role(options["role"])
    issued = invitations.invite(actor=actor, username=options["username"], role=role, now=timezone.now())
    until = f"{issued.invitation.expires_at:%Y-%m-%d %H:%M} UTC"
    told = f"{issued.invitation.username} may join {issued.invitation.team_name} as {role.value} with this link"
    return [f"{told}, once, until {until}:", join_address(issued.link)]


def _withdraw(actor: Actor, options: Options) -> list[str]:
    now, name = timezone.now(), read_username(options["username"])
    waiting = selectors.list_invitations(actor=actor, page=PageRequest(limit=MAX_LIMIT), now=now).items
    found = next((each for each in waiting if each.username == name), None)
    if found is None:
        raise NotFoundError(f"No invitation of {name} is open.", suggestion="./workrail members list shows them.")
    invitations.withdraw_invitation(actor=actor, invitation_id=found.id, now=now)
    return [f"The invitation of {name} is withdrawn."]


def _reset(actor: Actor, options: Options) -> list[str]:
    issued = resets.offer_reset(actor=actor, member_id=_member(actor, options).id, now=timezone.now())
    until = f"{issued.reset.expires_at:%Y-%m-%d %H:%M} UTC"
    told = f"{issued.reset.username} sets a new password with this link, once, until {until}:"
    return [told, reset_address(issued.link)]


def _role(actor: Actor, options: Options) -> list[str]:
    role = Role(options["role"])
    member_id = _member(actor, options).id
    changed = members.change_role(actor=actor, member_id=member_id, role=role, now=timezone.now())
    return [f"{changed.username} is now {changed.role.value}."]


def _remove(actor: Actor, options: Options) -> list[str]:
    found = _member(actor, options)
    members.remove_member(actor=actor, member_id=found.id, now=timezone.now())
    return [f"{found.username} is no longer in the team."]


def _actor(options: Options) -> Actor:
    asking = system_actor(team_id=NO_TEAM, door=Door.CLI)
    if options["subcommand"] == "reset" and not options["team"]:
        # A password is of a person, whichever team they are looked for in.
        found = selectors.find_team_of(actor=asking, username=read_username(options["username"]))
    else:
        found = selectors.find_team(actor=asking, named=options["team"])
    return system_actor(team_id=found.id, door=Door.CLI)


def _member(actor: Actor, options: Options) -> MemberValue:
    name = read_username(options["username"])
    found = next((member for member in _all_members(actor) if member.username == name), None)
    if found is None:
        raise NotFoundError(f"{name} is not in the team.", suggestion="./workrail members list shows who is.")
    return found


def _all_members(actor: Actor) -> list[MemberValue]:
    found: list[MemberValue] = []
    after = None
    while True:
        page = selectors.list_members(actor=actor, page=PageRequest(after=after, limit=MAX_LIMIT))
        found += page.items
        after = page.next_position
        if after is None:
            return found


_SUBCOMMANDS: dict[str, tuple[Callable[[Actor, Options], list[str]], str]] = {
    "list": (_list, "Who is in the team, and who is invited"),
    "invite": (_invite, "Makes a one-time link by which somebody joins the team"),
    "withdraw": (_withdraw, "Makes the link of an invitation useless"),
    "reset": (_reset, "Makes a one-time link by which a member sets a new password"),
    "role": (_role, "Changes what a member may do"),
    "remove": (_remove, "Takes a member out of the team"),
}
