"""`./workrail tokens …`: the tokens of people, and whether they answer what asks for a person. None is made here."""

from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from teams_app import selectors
from teams_app.engine.actors import NO_TEAM, Actor, Door, system_actor
from teams_app.engine.errors import NotFoundError, WorkrailError
from teams_app.engine.ids import Prefix, from_text, to_text
from teams_app.engine.pages import MAX_LIMIT, PageRequest
from teams_app.engine.values import TokenValue
from teams_app.services import teams, tokens

Options = Mapping[str, Any]
_ON = "on"


class Command(BaseCommand):
    help = "Lists and revokes the tokens of a team's people, and says whether they answer what asks for a person."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(dest="subcommand", required=True, metavar="subcommand")
        for name, (_, text) in _SUBCOMMANDS.items():
            command = commands.add_parser(name, help=text, description=text)
            command.add_argument("--team", default="", help="the name or id of the team; not needed when there is one")
            if name == "revoke":
                command.add_argument("token", help="the id: pat_…")
            if name == "answer":
                command.add_argument("whether", choices=[_ON, "off"])

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


def _list(actor: Actor, _options: Options) -> list[str]:
    found = selectors.list_tokens(actor=actor, page=PageRequest(limit=MAX_LIMIT)).items
    names = selectors.name_actors(actor=actor, ids=[to_text(Prefix.PERSON, token.person_id) for token in found])
    return [_line(token, names) for token in found]


def _line(token: TokenValue, names: Mapping[str, str]) -> str:
    whose = names.get(to_text(Prefix.PERSON, token.person_id), "somebody who has left")
    may = ", ".join(["read", *sorted(token.scopes)])
    ends = "revoked" if token.revoked_at is not None else f"until {token.expires_at:%Y-%m-%d}"
    return f"{to_text(Prefix.TOKEN, token.id)}  {token.prefix}…  {token.name}  of {whose}  {may}  {ends}"


def _revoke(actor: Actor, options: Options) -> list[str]:
    token_id = from_text(Prefix.TOKEN, options["token"])
    if token_id is None:
        raise NotFoundError("There is no such token.", suggestion="./workrail tokens list shows them.")
    token = tokens.revoke_token(actor=actor, token_id=token_id, now=timezone.now())
    return [f"{token.name} is revoked."]


def _answer(actor: Actor, options: Options) -> list[str]:
    allowed = options["whether"] == _ON
    teams.change_team(actor=actor, tokens_answer_human=allowed, now=timezone.now())
    who = "people who have signed in, and their tokens" if allowed else "people who have signed in, and nobody else"
    return [f"What asks for a person is answered by {who}."]


_SUBCOMMANDS: dict[str, tuple[Callable[[Actor, Options], list[str]], str]] = {
    "list": (_list, "Whose tokens there are, the newest first, and what they may"),
    "revoke": (_revoke, "Ends a token for good"),
    "answer": (_answer, "Says whether tokens answer what asks for a person"),
}
