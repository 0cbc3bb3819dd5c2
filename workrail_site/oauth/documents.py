"""What clients read before they sign on: RFC 9728 for each MCP server, RFC 8414 for the one that hands out tokens."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from teams_app.engine.actors import Scope
from teams_app.engine.errors import NotFoundError
from workrail_site.dialects.introductions import INTRODUCTIONS
from workrail_site.oauth import addresses

_AN_HOUR = "public, max-age=3600"


@require_safe
def resource_metadata(request: HttpRequest, dialect: str = addresses.DEFAULT_DIALECT) -> HttpResponse:
    if dialect not in INTRODUCTIONS:
        raise NotFoundError(
            "No MCP server has this name.", suggestion=f"There are: {', '.join(sorted(INTRODUCTIONS))}."
        )
    base = base_of_request(request)
    return _document(
        {
            "resource": addresses.resource_of(base=base, dialect=dialect),
            "authorization_servers": [addresses.issuer_of(base=base)],
            "scopes_supported": [scope.value for scope in Scope],
            "bearer_methods_supported": ["header"],
            "resource_name": f"Workrail, {dialect}",
        }
    )


@require_safe
def server_metadata(request: HttpRequest) -> HttpResponse:
    issuer = addresses.issuer_of(base=base_of_request(request))
    return _document(
        {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "registration_endpoint": f"{issuer}/register",
            "revocation_endpoint": f"{issuer}/revoke",
            "scopes_supported": [scope.value for scope in Scope],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "client_id_metadata_document_supported": True,
            "authorization_response_iss_parameter_supported": True,
        }
    )


def base_of_request(request: HttpRequest) -> str:
    return addresses.base_of(scheme=request.scheme or "http", host=request.get_host())


def _document(content: dict[str, object]) -> HttpResponse:
    headers = {"Cache-Control": _AN_HOUR if settings.OAUTH_URL else "no-store", "Access-Control-Allow-Origin": "*"}
    return JsonResponse(content, headers=headers)
