"""Every REST answer that a test sees is held to what its endpoint declares in the OpenAPI document."""

from typing import Any

import msgspec

from teams_app.api import endpoints
from teams_app.api.endpoints import Download, Listing, Operation

NOT_MODIFIED = 304


def hold(patch: Any) -> None:
    """From now on, for as long as the patch is in place."""
    answer = endpoints._answer

    def held(found: object, described: Operation, *rest: Any) -> Any:
        response = answer(found, described, *rest)
        refuse_undeclared(response, described)
        return response

    patch.setattr(endpoints, "_answer", held)


def refuse_undeclared(response: Any, described: Operation) -> None:
    if response.status_code == NOT_MODIFIED:
        assert response.content == b"", described.summary
        return
    if described.answer is Download:
        assert response["Content-Type"] in described.files, f"{described.summary}: {response['Content-Type']}"
        return
    if described.answer is None:
        assert response.content == b"", described.summary
        return
    shape = described.answer if described.item is None else Listing[described.item]  # type: ignore[name-defined]
    try:
        msgspec.json.decode(response.content, type=shape)
    except msgspec.ValidationError as error:
        raise AssertionError(f"{described.summary}: the answer is not as declared. {error}") from error
