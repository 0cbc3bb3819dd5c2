"""What django-oauth-toolkit is told to make texts with, by name, in the settings."""

import os
from collections.abc import Mapping

from oauthlib.common import Request

from teams_app.admin.words import SCOPES
from teams_app.engine.actors import USUAL_SCOPES, Scope
from teams_app.engine.credentials import RANDOM_BYTES, Mark, mint_credential


def access_token(_request: Request, refresh_token: bool = False) -> str:  # noqa: FBT001, FBT002  the library's signature
    return mint_credential(
        mark=Mark.REFRESH_TOKEN if refresh_token else Mark.ACCESS_TOKEN, random=os.urandom(RANDOM_BYTES)
    )


def refresh_token(_request: Request, refresh_token: bool = True) -> str:  # noqa: FBT001, FBT002  as above
    return access_token(_request, refresh_token)


class KeyScopes:
    """The scopes are those of an agent key, in the words in which the Studio says them."""

    def get_all_scopes(self) -> Mapping[str, str]:
        return {scope.value: f"{may}: {hint}" for scope, (may, hint) in SCOPES.items()}

    def get_available_scopes(self, **_of: object) -> list[str]:
        return [scope.value for scope in Scope]

    def get_default_scopes(self, **_of: object) -> list[str]:
        return [scope.value for scope in USUAL_SCOPES]
