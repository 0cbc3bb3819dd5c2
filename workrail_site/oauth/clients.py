"""How a client makes itself known: by a document at its own https address, or by registering (RFC 7591). All are public clients."""

import json
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from oauth2_provider.cimd import CIMDError
from oauth2_provider.models import get_application_model
from oauthlib.common import Request

from teams_app.engine.errors import RateLimitedError, WorkrailError
from teams_app.engine.names import only_read
from teams_app.engine.redaction import hide_keys, holds_own_key, shown_without_keys
from teams_app.engine.webhooks import read_url
from teams_app.services.outgoing import NotDeliveredError, fetch_json
from workflows_app.engine.canonical import UnreadableJsonError, loads_strict
from workrail_site import refusals, throttle
from workrail_site.oauth import redirects
from workrail_site.sign_in import place_asked_from

_NAME_CHARACTERS = 100
_MOST_BYTES = 16 * 1024
_HELD_SECONDS = 3600
_GRANTS = frozenset({"authorization_code", "refresh_token"})


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of it; what else a client says of itself is passed over, as RFC 7591 wants it."""

    redirect_uris: Annotated[list[str], msgspec.Meta(min_length=1, max_length=redirects.MOST)]
    client_name: str = ""
    token_endpoint_auth_method: str = "none"  # noqa: S105  the name of a method, and no secret
    grant_types: list[str] = msgspec.field(default_factory=lambda: ["authorization_code"])
    response_types: list[str] = msgspec.field(default_factory=lambda: ["code"])


class OnlyAtConsent:
    """A document is fetched for a person who has signed in, and for nobody else: strangers make this server call nobody."""

    def has_permission(self, request: Request, client_id: str) -> bool:  # noqa: ARG002  the library's signature
        return str(request.uri).partition("?")[0].endswith("/oauth/authorize")


class PublicFetcher:
    """Fetches a client's document from the Internet, and from nothing behind our own walls, as notices are sent."""

    def fetch(self, client_id: str) -> tuple[dict[str, Any], int]:
        try:
            target = read_url(client_id)
            path = urlsplit(client_id).path
            if not path or {".", ".."} & {*path.split("/")}:
                raise CIMDError("its address has no path, or one that is rewritten on the way")
            found = fetch_json(target=target, max_bytes=_MOST_BYTES)
        except (NotDeliveredError, WorkrailError) as error:
            raise CIMDError(str(error)) from error
        uris = found.get("redirect_uris")
        if not isinstance(uris, list) or not 0 < len(uris) <= redirects.MOST or not _are_allowed(uris):
            raise CIMDError("its redirect_uris are not allowed here")
        kept = {"client_id": found.get("client_id"), "redirect_uris": uris, "grant_types": ["authorization_code"]}
        name = found.get("client_name")
        method = found.get("token_endpoint_auth_method", "none")
        kept |= {"client_name": _name_of_document(name) if isinstance(name, str) else ""}
        return {**kept, "token_endpoint_auth_method": method}, _HELD_SECONDS


def _name_of_document(said: str) -> str:
    if holds_own_key(said):
        raise CIMDError("its name holds a key of Workrail")
    return _name_in(said)


@csrf_exempt
@require_POST
def register(request: HttpRequest) -> HttpResponse:
    """Open to anybody, as clients must be able to: what is registered can do nothing until a person agrees."""
    limit = settings.THROTTLE_SIGN_IN_PER_MINUTE
    try:
        throttle.spend(bucket=f"registers {place_asked_from(request)}", limit=limit, now=timezone.now())
    except RateLimitedError as refusal:
        return refusals.problem_response(request=request, error=refusal)
    try:
        read = loads_strict(request.body, max_bytes=_MOST_BYTES)
        asked = msgspec.convert(read, type=Registration)
    except (msgspec.ValidationError, UnreadableJsonError) as error:
        return _refused("invalid_client_metadata", str(error))
    if not _are_allowed(asked.redirect_uris):
        return _refused(
            "invalid_redirect_uri",
            "Each is https, http on the loopback, or an editor's own scheme; without a fragment, and without a key.",
        )
    if holds_own_key(asked.client_name):
        return _refused("invalid_client_metadata", "The client_name holds a key of Workrail, which is to be revoked.")
    if "authorization_code" not in asked.grant_types or asked.response_types != ["code"]:
        return _refused(
            "invalid_client_metadata", "Clients sign on with the grant authorization_code and response code."
        )
    return _registered(asked)


def _registered(asked: Registration) -> HttpResponse:
    # A model of the library's, told to be a public client: no secret is handed out.
    model = get_application_model()
    row = model.objects.create(
        name=_name_in(asked.client_name),
        redirect_uris=" ".join(asked.redirect_uris),
        client_type=model.CLIENT_PUBLIC,
        authorization_grant_type=model.GRANT_AUTHORIZATION_CODE,
        client_secret="",
        hash_client_secret=False,
        registration_source=model.RegistrationSource.DCR,
    )
    told = {
        "client_id": row.client_id,
        "client_id_issued_at": int(row.created.timestamp()),
        "client_name": row.name,
        "redirect_uris": asked.redirect_uris,
        "grant_types": sorted(_GRANTS & {*asked.grant_types, "refresh_token"}),
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    return JsonResponse(told, status=201, headers={"Cache-Control": "no-store"})


def _name_in(said: str) -> str:
    """What can be read of it, and kept: a name may hold anything, a key and marks that turn the text around it included."""
    return only_read(shown_without_keys(said, most=_NAME_CHARACTERS))


def _are_allowed(uris: list[Any]) -> bool:
    """They are kept as they are, so none may hold a key."""
    return all(isinstance(uri, str) and redirects.is_allowed(uri) and hide_keys(uri) == uri for uri in uris)


def _refused(error: str, why: str) -> HttpResponse:
    body = json.dumps({"error": error, "error_description": why})
    return HttpResponse(body, status=400, content_type="application/json", headers={"Cache-Control": "no-store"})
