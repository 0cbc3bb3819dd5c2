"""The wire contracts as files: what is committed under docs/contracts must be what the code would write."""

from collections.abc import Callable, Mapping
from pathlib import Path

from django.conf import settings

from workrail_site import openapi

CONTRACTS: Mapping[str, Callable[[], bytes]] = {"openapi.json": openapi.document}


def contract_path(*, name: str) -> Path:
    return Path(settings.BASE_DIR) / "docs" / "contracts" / name
