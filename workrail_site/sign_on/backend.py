"""Who somebody is whom the provider vouches for: mozilla-django-oidc asks for the token, and everything else is ours."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import requests
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest
from django.utils import timezone
from mozilla_django_oidc.auth import OIDCAuthenticationBackend

from teams_app.engine.actors import Door
from teams_app.engine.sign_on import MAX_CLAIM_CHARACTERS, Identity, roles_for, teams_of
from teams_app.services import sign_on
from workrail_site.sign_in import address_of
from workrail_site.sign_on import provider
from workrail_site.sign_on.provider import ProviderDownError

PENDING = "workrail_sign_on"
LINKS = "workrail_sign_on_links"
CALLBACK = "admin:sign_on_back"
_MOST_GROUPS = 1_000


def setting_of(name: str, *default: Any) -> Any:
    """What the library calls a setting, from what the provider publishes and from our own."""
    own = {
        "OIDC_AUTHENTICATION_CALLBACK_URL": CALLBACK,
        "OIDC_RP_SCOPES": settings.OIDC_SCOPES,
        "OIDC_RP_CLIENT_ID": settings.OIDC_RP_CLIENT_ID,
        "OIDC_RP_CLIENT_SECRET": settings.OIDC_RP_CLIENT_SECRET,
        "OIDC_TIMEOUT": provider.TIMEOUT_SECONDS,
        "OIDC_USE_PKCE": True,
        "LOGIN_REDIRECT_URL": "admin:index",
    }
    if name == "OIDC_OP_AUTHORIZATION_ENDPOINT":
        return provider.published()["authorization_endpoint"]
    return own.get(name, *default) if default else own[name]


class ProviderBackend(OIDCAuthenticationBackend):  # type: ignore[misc]  # the library has no types
    """Made for every sign-in, so it asks the provider nothing before somebody comes back from there."""

    def __init__(self) -> None:
        self.UserModel = get_user_model()
        self.OIDC_RP_CLIENT_ID = settings.OIDC_RP_CLIENT_ID
        self.OIDC_RP_CLIENT_SECRET = settings.OIDC_RP_CLIENT_SECRET

    get_settings = staticmethod(setting_of)

    def authenticate(self, request: HttpRequest | None, *, nonce: str, code_verifier: str) -> Any:
        self.OIDC_OP_TOKEN_ENDPOINT = provider.published()["token_endpoint"]
        return super().authenticate(request, nonce=nonce, code_verifier=code_verifier)

    def get_token(self, payload: dict[str, Any]) -> dict[str, Any]:
        try:
            found = provider.in_time(partial(super().get_token, payload))
        except (requests.RequestException, ValueError) as error:
            raise ProviderDownError("it hands out no token") from error
        if not isinstance(found, dict) or not isinstance(found.get("id_token"), str):
            raise ProviderDownError("its answer has no ID token")
        return found

    def verify_token(self, token: str, **expected: Any) -> dict[str, Any]:
        return provider.read_id_token(token=token, nonce=str(expected.get("nonce") or ""))

    def store_tokens(self, access_token: str, id_token: str) -> None:
        """Nothing is kept: nobody needs them any more."""

    def get_or_create_user(self, access_token: str, id_token: str, payload: Mapping[str, Any]) -> Any:  # noqa: ARG002  the library's signature
        """None, with what was told in the session, where an account has to be linked first."""
        identity = identity_of(payload)
        session = self.request.session
        person_id = None if session.pop(LINKS, False) else enter(self.request, identity)
        if person_id is None:
            session[PENDING] = {**kept(identity), "at": timezone.now().timestamp()}
            return None
        return self.UserModel.objects.get(pk=person_id)


def enter(request: HttpRequest, identity: Identity) -> Any:
    """The person's id, after their groups were turned into roles."""
    group_roles = settings.OIDC_ROLES
    return sign_on.sign_on(
        identity=identity,
        wanted=roles_for(groups=identity.groups, group_roles=group_roles),
        managed=teams_of(group_roles=group_roles),
        address=address_of(request),
        door=Door.STUDIO,
        now=timezone.now(),
    )


def identity_of(claims: Mapping[str, Any]) -> Identity:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= MAX_CLAIM_CHARACTERS or "\x00" in subject:
        raise SuspiciousOperation("The ID token names nobody.")
    told = claims.get(settings.OIDC_GROUPS_CLAIM)
    groups = [told] if isinstance(told, str) else told if isinstance(told, list) else []
    return Identity(
        issuer=settings.OIDC_ISSUER,
        subject=subject,
        username=str(claims.get("preferred_username") or claims.get("email") or "")[:MAX_CLAIM_CHARACTERS],
        groups=frozenset(group for group in groups[:_MOST_GROUPS] if isinstance(group, str)),
    )


def kept(identity: Identity) -> dict[str, Any]:
    """As much as linking needs, for the session."""
    return {"subject": identity.subject, "username": identity.username, "groups": sorted(identity.groups)}


def read_kept(found: Mapping[str, Any]) -> Identity:
    return Identity(
        issuer=settings.OIDC_ISSUER,
        subject=str(found["subject"]),
        username=str(found["username"]),
        groups=frozenset(found["groups"]),
    )
