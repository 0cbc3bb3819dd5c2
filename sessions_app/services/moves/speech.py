"""How a call is answered: a dialect's words for what it came to, recorded with the attempt and repeated byte for byte."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

import orjson
from django.conf import settings
from django.utils.module_loading import import_string

from sessions_app.engine import outputs, tokens
from sessions_app.engine.reply_facts import NotedFacts, ReplyFacts, ResumeFacts
from sessions_app.engine.runs import OutputChannel, Recorded
from sessions_app.engine.submissions import Submission
from sessions_app.engine.tokens import Keyring, TokenKind
from workflows_app.engine import canonical

RECORDED_BEFORE = "recordedBefore"
TOLD = (
    "These tokens were used before, with other content. That stands, and this is its reply; what you sent now was not recorded. "
    "To record it, use the tokens of the latest reply."
)
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

    def recorded(self, recorded: Recorded, *, keyring: Keyring) -> "Reply":
        """Byte for byte while the key that signed its tokens is trusted; afterwards with the same tokens signed anew."""
        data = recorded.reply
        value: dict[str, Any] = orjson.loads(data)
        changed = [_renew(part, kinds, keyring) for part, kinds in self.token_places(value)]
        if any(changed):
            data = orjson.dumps(value)
        return Reply(data=data, value=value, template=recorded.reply_template, replayed=True, kept=recorded.kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a call is answered. `data` is what is recorded, `value` the same as JSON.

    `kept` is what the call handed in that a recorded reply answers.
    """

    data: bytes
    value: dict[str, Any]
    template: int
    replayed: bool = False
    kept: tuple[tuple[str, str], ...] = ()


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


def beside(reply: Reply, submission: Submission) -> dict[str, str]:
    """What is to be said beside a reply that was recorded before, for content that differs from what was kept then."""
    return {RECORDED_BEFORE: TOLD} if reply.replayed and _differs(reply, submission) else {}


def bytes_with(reply: Reply, submission: Submission) -> bytes:
    """The reply as it was recorded, with a word on content that was not."""
    more = beside(reply, submission)
    return orjson.dumps({**reply.value, **more}) if more else reply.data


def _differs(reply: Reply, submission: Submission) -> bool:
    """Of notes and of artifacts, each where some were kept then: what was never kept cannot be compared."""
    notes = {body for channel, body in reply.kept if channel == OutputChannel.RECAP}
    if notes and submission.notes.strip() and outputs.cut_notes(submission.notes) not in notes:
        return True
    artifacts = {body for channel, body in reply.kept if channel == OutputChannel.ARTIFACT}
    given = {canonical.canonical_bytes(dict(each)).decode() for each in submission.artifacts}
    return bool(artifacts and given and given.isdisjoint(artifacts))
