from django.urls import path

from workrail_site.oauth import addresses, clients, consent, documents, tokens

_RESOURCE = f"{addresses.RESOURCE_METADATA}{addresses.MCP_PATH}".lstrip("/")

urlpatterns = [
    path(_RESOURCE, documents.resource_metadata),
    path(f"{_RESOURCE}/<str:dialect>", documents.resource_metadata),
    path(f"{addresses.SERVER_METADATA}{addresses.ISSUER_PATH}".lstrip("/"), documents.server_metadata),
    path("oauth/authorize", consent.authorize, name="oauth_authorize"),
    path("oauth/token", tokens.token),
    path("oauth/revoke", tokens.revoke),
    path("oauth/register", clients.register),
]
