"""The public keys of this installation, for whoever holds a bundle and asks who signed it."""

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from sessions_app.engine.signatures import ALGORITHM
from sessions_app.services.bundles.signing import own_signers


@require_safe
def signing_keys(_request: HttpRequest) -> JsonResponse:
    """The first one signs now; what the others have signed is ours as well."""
    return JsonResponse({"algorithm": ALGORITHM, "publicKeys": list(own_signers())})
