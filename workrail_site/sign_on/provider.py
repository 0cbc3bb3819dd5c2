"""The OpenID provider of this installation: what it publishes of itself, and whether an ID token is one of its own for us."""

import hmac
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit

import jwt
import requests
from django.conf import settings
from django.core.exceptions import SuspiciousOperation

from teams_app.services.timely import Timely

# For a connection, and for each part of an answer.
TIMEOUT_SECONDS = 5
# For all of it, from the name that is resolved to the end of the answer.
TOTAL_SECONDS = 10.0
_HELD_SECONDS = 3600
# Signed with a key that only the provider has. A shared secret would sign as well as it checks, and `none` signs nothing.
ALGORITHMS = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
_LEEWAY_SECONDS = 60
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")

_asking: Timely[Any] = Timely(most=16)
_known: dict[str, tuple[float, dict[str, Any]]] = {}


class ProviderDownError(Exception):
    """The provider does not answer, or not as one does."""


def published() -> dict[str, Any]:
    """Its document, asked for once an hour."""
    issuer = settings.OIDC_ISSUER
    held = _known.get(issuer)
    if held is not None and held[0] > time.monotonic():
        return held[1]
    found = _get(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    if found.get("issuer") != issuer or not all(_is_safe(found.get(name)) for name in _NEEDED):
        raise ProviderDownError("what it publishes is not of the issuer that is configured")
    _known[issuer] = (time.monotonic() + _HELD_SECONDS, found)
    return found


def way_out(*, back_to: str) -> str:
    """Where a person signs out of the provider too; empty where it has no such place or does not answer."""
    try:
        place = published().get("end_session_endpoint")
    except ProviderDownError:
        return ""
    if not _is_safe(place):
        return ""
    return f"{place}?{urlencode({'client_id': settings.OIDC_RP_CLIENT_ID, 'post_logout_redirect_uri': back_to})}"


def read_id_token(*, token: str, nonce: str) -> dict[str, Any]:
    """Its claims. SuspiciousOperation for one that was not made by this provider, for us, now, for this very sign-on."""
    try:
        header = jwt.get_unverified_header(token)
        claims: dict[str, Any] = jwt.decode(
            token,
            _key_for(header),
            algorithms=[str(header["alg"])],
            audience=settings.OIDC_RP_CLIENT_ID,
            issuer=settings.OIDC_ISSUER,
            leeway=_LEEWAY_SECONDS,
            options={"require": ["aud", "exp", "iat", "iss", "sub"]},
        )
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise SuspiciousOperation(f"The ID token is not good: {error}") from error
    _check_party(claims)
    if not nonce or not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise SuspiciousOperation("The ID token is of another sign-on.")
    return claims


def _check_party(claims: dict[str, Any]) -> None:
    """Of several audiences the one that it was made for is named."""
    audiences = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    party = claims.get("azp", settings.OIDC_RP_CLIENT_ID if len(audiences) == 1 else None)
    if party != settings.OIDC_RP_CLIENT_ID:
        raise SuspiciousOperation("The ID token was made for somebody else.")


def _key_for(header: dict[str, Any]) -> jwt.PyJWK:
    if header.get("alg") not in ALGORITHMS:
        raise SuspiciousOperation("The ID token is not signed as it must be.")
    keys = [key for key in _get(published()["jwks_uri"]).get("keys", []) if isinstance(key, dict)]
    named = [key for key in keys if key.get("kid") == header.get("kid") and key.get("use", "sig") == "sig"]
    if len(named) != 1 or named[0].get("alg", header["alg"]) != header["alg"]:
        raise SuspiciousOperation("The ID token is signed with a key that the provider does not publish.")
    return jwt.PyJWK(named[0], algorithm=str(header["alg"]))


def in_time(ask: Callable[[], Any]) -> Any:
    """What the provider says to it. Raises ProviderDownError when that takes too long."""
    try:
        return _asking.run(ask, seconds=TOTAL_SECONDS)
    except TimeoutError as error:
        raise ProviderDownError("it takes too long") from error


def _get(url: str) -> dict[str, Any]:
    try:
        answer = in_time(partial(requests.get, url, timeout=TIMEOUT_SECONDS, allow_redirects=False))
        answer.raise_for_status()
        found = answer.json()
    except (requests.RequestException, ValueError) as error:
        raise ProviderDownError(str(error)) from error
    if not isinstance(found, dict):
        raise ProviderDownError("it did not answer with a JSON object")
    return found


def _is_safe(url: object) -> bool:
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
    except ValueError:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
