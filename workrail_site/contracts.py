"""The wire contracts as files: what is committed under docs/contracts must be what the code would write."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from django.conf import settings

from workrail_site import openapi
from workrail_site.mcp.toolsets import tools_document

CONTRACTS: Mapping[str, Callable[[], bytes]] = {
    "openapi.json": openapi.document,
    "rail.tools.json": partial(tools_document, dialect="rail"),
    "lookup.tools.json": partial(tools_document, dialect="lookup"),
    "navigation.tools.json": partial(tools_document, dialect="navigation"),
    "session.tools.json": partial(tools_document, dialect="session"),
    "orchestrator.tools.json": partial(tools_document, dialect="orchestrator"),
}


def contract_path(*, name: str) -> Path:
    return Path(settings.BASE_DIR) / "docs" / "contracts" / name
