"""`./workrail agent_keys …`: the keys by which agents call, made, listed, rotated and revoked by whoever runs the server."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from teams_app import selectors
from teams_app.engine.actors import NO_TEAM, USUAL_SCOPES, Actor, Door, Scope, system_actor
from teams_app.engine.counting import read_count
from teams_app.engine.errors import NotFoundError, WorkrailError
from teams_app.engine.ids import Prefix, from_text, to_text
from teams_app.engine.pages import MAX_LIMIT, PageRequest
from teams_app.engine.values import KeyValue
from teams_app.services import keys

Options = Mapping[str, Any]


class Command(BaseCommand):
    help = "Lists, makes, rotates and revokes the keys of a team's agents."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(dest="subcommand", required=True, metavar="subcommand")
        for name, (_, text) in _SUBCOMMANDS.items():
            command = commands.add_parser(name, help=text, description=text)
            command.add_argument("--team", default="", help="the name or id of the team; not needed when there is one")
            if name == "issue":
                usual = ", ".join(scope.value for scope in USUAL_SCOPES)
                scopes = [scope.value for scope in Scope]
                command.add_argument("name", help="what people know the agent by")
                command.add_argument(
                    "--scope", action="append", choices=scopes, help=f"again for each; default: {usual}"
                )
                command.add_argument("--days", type=_days, help="for so many days; without it until it is revoked")
            if name in {"rotate", "revoke"}:
                command.add_argument("key", help="the id: key_…")

    def handle(self, *_args: Any, **options: Any) -> None:
        run, _ = _SUBCOMMANDS[options["subcommand"]]
        try:
            asking = system_actor(team_id=NO_TEAM, door=Door.CLI)
            team_id = selectors.find_team(actor=asking, named=options["team"]).id
            lines = run(system_actor(team_id=team_id, door=Door.CLI), options)
        except WorkrailError as error:
            raise CommandError(f"{error.message} {error.suggestion or ''}".strip()) from error
        for line in lines:
            self.stdout.write(line)


def _days(text: str) -> int:
    days = read_count(text)
    if days:
        return days
    raise ArgumentTypeError(f"{text} is no number of days")


def _list(actor: Actor, _options: Options) -> list[str]:
    found: list[KeyValue] = []
    after = None
    while True:
        page = selectors.list_keys(actor=actor, page=PageRequest(after=after, limit=MAX_LIMIT))
        found += page.items
        after = page.next_position
        if after is None:
            return [_line(key) for key in found]


def _line(key: KeyValue) -> str:
    may = ", ".join(sorted(scope.value for scope in key.scopes))
    used = "never used" if key.last_used_at is None else f"used {key.last_used_at:%Y-%m-%d}"
    return f"{to_text(Prefix.KEY, key.id)}  {key.prefix}…  {key.name}  {may}  {used}  {_end(key)}"


def _end(key: KeyValue) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "without an end" if key.expires_at is None else f"until {key.expires_at:%Y-%m-%d}"


def _issue(actor: Actor, options: Options) -> list[str]:
    now = timezone.now()
    scopes = frozenset(map(Scope, options["scope"] or USUAL_SCOPES))
    expires_at = None if options["days"] is None else now + timedelta(days=options["days"])
    issued = keys.issue_key(actor=actor, name=options["name"], scopes=scopes, expires_at=expires_at, now=now)
    return [f"The key of {issued.key.name} is shown this once:", issued.text]


def _rotate(actor: Actor, options: Options) -> list[str]:
    key_id = _key(options)
    issued = keys.rotate_key(actor=actor, key_id=key_id, now=timezone.now())
    ends = selectors.read_key(actor=actor, key_id=key_id).expires_at
    return [
        f"The new key of {issued.key.name} is shown this once; the old one goes on until {ends:%Y-%m-%d %H:%M} UTC:",
        issued.text,
    ]


def _revoke(actor: Actor, options: Options) -> list[str]:
    return [f"{keys.revoke_key(actor=actor, key_id=_key(options), now=timezone.now()).name} is revoked."]


def _key(options: Options) -> UUID:
    key_id = from_text(Prefix.KEY, options["key"])
    if key_id is None:
        raise NotFoundError("There is no such key.", suggestion="./workrail agent_keys list shows them.")
    return key_id


_SUBCOMMANDS: dict[str, tuple[Callable[[Actor, Options], list[str]], str]] = {
    "list": (_list, "Which keys there are, the newest first, and what they may"),
    "issue": (_issue, "Makes a key and shows it once"),
    "rotate": (_rotate, "Makes a key with the same name and rights and shows it once; the old one goes on for a day"),
    "revoke": (_revoke, "Ends a key for good"),
}
