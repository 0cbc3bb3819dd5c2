"""Who is behind an access token at an address of MCP: one look at the token, and then at the key that it stands for."""

from datetime import datetime

from oauth2_provider.models import get_access_token_model

from teams_app.engine.actors import Actor, Door, Scope
from teams_app.engine.credentials import Mark, is_credential
from teams_app.engine.errors import UnauthenticatedError
from teams_app.engine.keys import digest_of
from teams_app.services.connections import find_connected_actor


def authenticate_client(*, text: str, resource: str, door: Door, now: datetime) -> Actor:
    """Raises UnauthenticatedError, the same for whatever is wrong with the token."""
    actor = _find(text, resource, door, now) if is_credential(mark=Mark.ACCESS_TOKEN, text=text) else None
    if actor is None:
        raise UnauthenticatedError(
            "This token does not hold here.",
            suggestion="It may have ended, or be for another address. Sign on again. An agent key is used under /mcp.",
        )
    return actor


def _find(text: str, resource: str, door: Door, now: datetime) -> Actor | None:
    rows = get_access_token_model().objects.filter(token_checksum=digest_of(text).hex(), expires__gt=now)
    found = rows.values_list("refresh_token__token_family", "scope", "resource").first()
    if found is None or found[0] is None or found[2] != [resource]:
        return None
    scopes = frozenset(scope for scope in Scope if scope.value in found[1].split())
    return find_connected_actor(key_id=found[0], scopes=scopes, door=door, now=now)
