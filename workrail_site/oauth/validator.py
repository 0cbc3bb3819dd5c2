"""The rules of ours that django-oauth-toolkit asks for: exact addresses, no plain text at rest, and a key behind each token."""

from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from django.utils import timezone
from oauth2_provider.models import get_access_token_model, get_grant_model, get_refresh_token_model
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauth2_provider.settings import oauth2_settings
from oauthlib.common import Request
from oauthlib.oauth2.rfc6749 import errors

from teams_app.engine.keys import digest_of
from teams_app.services.connections import disconnect_client, prolong_connection
from workrail_site.oauth import redirects

_CHALLENGE = "S256"
# In the column of a grant for claims, which nobody asks for here.
_USED = "used"


class Validator(OAuth2Validator):  # type: ignore[misc]  # the library has no types
    """A grant holds the digest of its code, and in `nonce` the key that the person's consent made.

    That key's id is the family of the refresh tokens, so what is revoked there ends here.
    """

    # Codes: only their digests are stored, so each look-up by a code is one by its digest.

    def _create_authorization_code(self, request: Request, code: dict[str, str], expires: Any = None) -> Any:
        if request.code_challenge_method != _CHALLENGE:
            raise errors.InvalidRequestError(description="Only the PKCE method S256 is taken.", request=request)
        return super()._create_authorization_code(request, {**code, "code": _digest(code["code"])}, expires)

    def validate_code(self, client_id: str, code: str, client: Any, request: Request, *args: Any, **more: Any) -> bool:
        """One that was used before has been stolen, by its first user or by this one: what it led to ends."""
        if super().validate_code(client_id, _digest(code), client, request, *args, **more):
            return True
        used = get_grant_model().objects.filter(code=_digest(code), application=client, claims=_USED)
        key_id = used.values_list("nonce", flat=True).first()
        if key_id is not None:
            disconnect_client(key_id=UUID(key_id), now=timezone.now())
        return False

    def confirm_redirect_uri(
        self, client_id: str, code: str, redirect_uri: str, client: Any, request: Request, *args: Any, **more: Any
    ) -> bool:
        """The library would call the request invalid; RFC 6749 says that the grant is."""
        if not super().confirm_redirect_uri(client_id, _digest(code), redirect_uri, client, request, *args, **more):
            raise errors.InvalidGrantError(request=request)
        return True

    def invalidate_authorization_code(
        self,
        client_id: str,  # noqa: ARG002  the library's signature
        code: str,
        request: Request,
        *args: Any,  # noqa: ARG002  as above
        **more: Any,  # noqa: ARG002  as above
    ) -> None:
        """Of two that bring one code at once the row goes to one. What was made for the other nobody learns. The row stays until it is
        cleared away, so that a code which comes again is known.
        """
        now = timezone.now()
        rows = get_grant_model().objects.filter(code=_digest(code), application=request.client, expires__gt=now)
        # The count is the lock.
        if not rows.update(expires=now, claims=_USED):
            raise errors.InvalidGrantError(request=request)

    def get_code_challenge(self, code: str, request: Request) -> str | None:
        return cast("str | None", super().get_code_challenge(_digest(code), request))

    def get_code_challenge_method(self, code: str, request: Request) -> str | None:
        return cast("str | None", super().get_code_challenge_method(_digest(code), request))

    def get_authorization_code_scopes(self, client_id: str, code: str, redirect_uri: str, request: Request) -> Any:
        return super().get_authorization_code_scopes(client_id, _digest(code), redirect_uri, request)

    def _check_and_set_request_resource(self, request: Request) -> None:
        """The library looks the grant up by the code as it was sent."""
        sent = request.code
        request.code = _digest(sent) if sent else sent
        try:
            super()._check_and_set_request_resource(request)
        finally:
            request.code = sent
        if len(request.resource) != 1:
            raise errors.CustomOAuth2Error(
                error="invalid_target", description="A token is for exactly one resource.", request=request
            )

    # Redirects

    def validate_redirect_uri(
        self, client_id: str, redirect_uri: str, request: Request, *args: Any, **more: Any
    ) -> bool:
        known = super().validate_redirect_uri(client_id, redirect_uri, request, *args, **more)
        return redirects.is_allowed(redirect_uri) and bool(known)

    # Tokens

    def _save_bearer_token(self, token: Any, request: Request, *args: Any, **more: Any) -> None:
        """Inside the library's transaction: a connection that has ended hands out nothing."""
        key_id, now = _key_of(request), timezone.now()
        lives = timedelta(seconds=oauth2_settings.ACCESS_TOKEN_EXPIRE_SECONDS) + timedelta(
            seconds=oauth2_settings.REFRESH_TOKEN_EXPIRE_SECONDS
        )
        if key_id is None or not prolong_connection(key_id=key_id, until=now + lives, now=now):
            raise errors.InvalidGrantError(request=request)
        # The connection's row is the lock: of two that bring one refresh token at once the second finds it used.
        renewed = getattr(request, "refresh_token_instance", None)
        unused = get_refresh_token_model().objects.filter(revoked__isnull=True)
        if renewed is not None and not unused.filter(pk=renewed.pk).exists():
            raise errors.InvalidGrantError(request=request)
        super()._save_bearer_token(token, request, *args, **more)

    def _create_refresh_token(self, request: Request, code: str, access_token: Any, previous: Any) -> Any:
        created = super()._create_refresh_token(request, code, access_token, previous)
        if previous is None:
            created.token_family = UUID(request.nonce)
            created.save(update_fields=["token_family"])
        return created

    def validate_refresh_token(
        self, refresh_token: str, client: Any, request: Request, *args: Any, **more: Any
    ) -> bool:
        """One that was used before has been stolen, by its first user or by this one: the whole connection ends."""
        if super().validate_refresh_token(refresh_token, client, request, *args, **more):
            return True
        used = get_refresh_token_model().objects.filter(token_checksum=_digest(refresh_token), revoked__isnull=False)
        key_id = used.filter(application=client).values_list("token_family", flat=True).first()
        if key_id is not None:
            disconnect_client(key_id=key_id, now=timezone.now())
        return False

    def revoke_token(self, token: str, token_type_hint: str, request: Request, *args: Any, **more: Any) -> None:
        """The connection ends with its tokens."""
        key_id = _family_of(token, request)
        super().revoke_token(token, token_type_hint, request, *args, **more)
        if key_id is not None:
            disconnect_client(key_id=key_id, now=timezone.now())


def _key_of(request: Request) -> UUID | None:
    refreshed = getattr(request, "refresh_token_instance", None)
    if refreshed is not None:
        return cast("UUID | None", refreshed.token_family)
    return UUID(request.nonce) if request.nonce else None


def _family_of(token: str, request: Request) -> UUID | None:
    """Of a token of this client: another's is the same as none."""
    digest, client = _digest(token), getattr(request.client, "pk", None)
    access = get_access_token_model().objects.filter(token_checksum=digest, application_id=client)
    refresh = get_refresh_token_model().objects.filter(token_checksum=digest, application_id=client)
    found = refresh.values_list("token_family", flat=True).first()
    return cast("UUID | None", found or access.values_list("refresh_token__token_family", flat=True).first())


def _digest(text: str) -> str:
    return digest_of(text).hex()
