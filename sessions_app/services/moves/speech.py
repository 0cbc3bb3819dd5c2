"""How a call is answered: a dialect's words for what it came to, recorded with the attempt and repeated byte for byte."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

import orjson
from django.conf import settings
from django.utils.module_loading import import_string

from sessions_app.engine import tokens
from sessions_app.engine.reply_facts import NotedFacts, ReplyFacts, ResumeFacts
from sessions_app.engine.tokens import Keyring, TokenKind

# Where tokens stand in a reply: the part that holds them, and the kind of each by the name that it has there.
TokenPlace = tuple[dict[str, Any], Mapping[str, TokenKind]]


Facts_contra = TypeVar("Facts_contra", contravariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech(Generic[Facts_contra]):
    """Pure functions of one dialect, which its door passes on with a call.

    `template` is recorded with a reply and says by which words its text is drawn. `prints` names the tokens to mint.
    """

    template: int
    prints: frozenset[TokenKind]
    say: Callable[[Facts_contra], dict[str, Any]]
    token_places: Callable[[dict[str, Any]], Iterable[TokenPlace]]

    def reply(self, facts: Facts_contra) -> "Reply":
        value = self.say(facts)
        return Reply(data=orjson.dumps(value), value=value, template=self.template)

    def recorded(self, *, data: bytes, template: int, keyring: Keyring) -> "Reply":
        """Byte for byte while the key that signed its tokens is trusted; afterwards with the same tokens signed anew."""
        value: dict[str, Any] = orjson.loads(data)
        changed = [_renew(part, kinds, keyring) for part, kinds in self.token_places(value)]
        if any(changed):
            data = orjson.dumps(value)
        return Reply(data=data, value=value, template=template, replayed=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a call is answered. `data` is what is recorded, `value` the same as JSON."""

    data: bytes
    value: dict[str, Any]
    template: int
    replayed: bool = False


RunSpeech = Speech[ReplyFacts | NotedFacts | ResumeFacts]


@cache
def house_speech() -> RunSpeech:
    """What REST and the Studio speak. The site says whose words these are."""
    speech: RunSpeech = import_string(settings.HOUSE_SPEECH)
    return speech


def _renew(part: dict[str, Any], kinds: Mapping[str, TokenKind], keyring: Keyring) -> bool:
    before = {name: part[name] for name in kinds if part.get(name)}
    part |= {name: tokens.renew(keyring=keyring, kind=kinds[name], text=text) for name, text in before.items()}
    return any(part[name] != text for name, text in before.items())
