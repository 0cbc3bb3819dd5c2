"""In which form a message comes, and in which one its answer may go. Asked before anything of the SDK, whose answers to it have no body."""

from workrail_site.bodies import Scope
from workrail_site.errors import NotAcceptableError, UnsupportedMediaTypeError

JSON = b"application/json"
_TAKE_JSON = frozenset({JSON, b"application/*", b"*/*"})
_SHOWN_CHARACTERS = 80


def check_media(scope: Scope) -> None:
    """Raises a refusal for a message that is not said to be JSON, and for a client that takes no JSON."""
    given = {name: value for name, value in scope["headers"] if name in {b"content-type", b"accept"}}
    if media_type(given.get(b"content-type", b"")) != JSON:
        raise UnsupportedMediaTypeError(
            f"The Content-Type is {_shown(given.get(b'content-type'))}.",
            suggestion="Send Content-Type: application/json.",
        )
    if not takes_json(given.get(b"accept", b"")):
        raise NotAcceptableError(
            f"The Accept header is {_shown(given.get(b'accept'))}.",
            suggestion="Send Accept: application/json, text/event-stream.",
        )


def takes_json(accept: bytes) -> bool:
    return not {media_type(part) for part in accept.split(b",")}.isdisjoint(_TAKE_JSON)


def media_type(text: bytes) -> bytes:
    return text.partition(b";")[0].strip().lower()


def _shown(value: bytes | None) -> str:
    return "missing" if value is None else repr(value.decode("latin-1")[:_SHOWN_CHARACTERS])
