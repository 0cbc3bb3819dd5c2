"""Where a long answer goes on: a position that only this team can send back, and only to the tool that gave it."""

from django.conf import settings

from teams_app.engine.errors import InvalidInputError
from teams_app.engine.pages import decode_cursor, encode_cursor
from workrail_site.mcp.answers import protocol_error
from workrail_site.mcp.calling import acting


def write_cursor(*, purpose: str, position: str) -> str:
    return encode_cursor(key=settings.TOKEN_KEY, purpose=_full(purpose), position=position)


def read_cursor(*, purpose: str, cursor: str | None) -> str | None:
    if not cursor:
        return None
    keys = [key for key in (settings.TOKEN_KEY, settings.TOKEN_KEY_PREVIOUS) if key is not None]
    return decode_cursor(keys=keys, purpose=_full(purpose), cursor=cursor)


def refuse_cursor(cursor: str | None) -> None:
    """For a list of one page, which gives no cursor: whoever sends one means another list. Raises MCPError."""
    if cursor:
        refusal = InvalidInputError("This list has one page and gave no cursor.", suggestion="Ask without a cursor.")
        raise protocol_error(refusal)


def _full(purpose: str) -> str:
    return f"mcp {purpose} {acting().team_id}"
