"""Conditional requests: a tag of what was answered, compared with what a caller has seen of it before."""

import hashlib

from django.utils.http import parse_etags

from teams_app.engine.errors import RepresentationChangedError

_ANY = "*"


def tag_of(body: bytes, *, stem: str = "") -> str:
    """`stem` is a word of its own in front, for what is numbered."""
    digest = hashlib.blake2b(body, digest_size=12).hexdigest()
    return f'"{stem}.{digest}"' if stem else f'"{digest}"'


def is_seen(tag: str, if_none_match: str | None) -> bool:
    """Compared weakly: what compresses an answer on its way marks its tag as weak."""
    if not if_none_match:
        return False
    seen = parse_etags(if_none_match)
    return seen == [_ANY] or tag in {each.removeprefix("W/") for each in seen}


def check_match(tag: str, if_match: str) -> None:
    """Raises RepresentationChangedError. A weak tag is taken for the strong one: both are of the same bytes."""
    wanted = parse_etags(if_match)
    if wanted == [_ANY] or tag in {each.removeprefix("W/") for each in wanted}:
        return
    raise RepresentationChangedError(
        "It is no longer as If-Match says; nothing was changed.",
        suggestion="Read it again, look at what has changed, and send its ETag.",
        details={"etag": tag},
    )
