"""The addresses under which a client reads what its user may want to see: workflows, what they teach, schemas, and runs."""

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote, unquote

SCHEME = "workrail://"


class OfferShelf(StrEnum):
    WORKFLOW = "workflow"
    SKILL = "skills"
    RESOURCE = "resources"
    TEMPLATE = "templates"
    SCHEMA = "schema"
    RUN = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """`name` is the workflow, schema or run; `item` what of a workflow is meant."""

    shelf: OfferShelf
    name: str
    item: str = ""

    def as_uri(self) -> str:
        match self.shelf:
            case OfferShelf.WORKFLOW:
                return f"{SCHEME}workflows/{quote(self.name)}"
            case OfferShelf.SCHEMA:
                return f"{SCHEME}schemas/{quote(self.name)}"
            case OfferShelf.RUN:
                return f"{SCHEME}runs/{quote(self.name)}"
            case OfferShelf.SKILL | OfferShelf.RESOURCE | OfferShelf.TEMPLATE:
                return f"{SCHEME}workflows/{quote(self.name)}/{self.shelf.value}/{quote(self.item)}"


def read_address(uri: str) -> Address | None:
    """None for an address that nothing here can have."""
    kind, _, rest = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or not rest:
        return None
    name, _, more = rest.partition("/")
    match kind:
        case "workflows" if not more:
            return Address(shelf=OfferShelf.WORKFLOW, name=unquote(name))
        case "workflows":
            return _within(unquote(name), more)
        case "schemas" if not more:
            return Address(shelf=OfferShelf.SCHEMA, name=unquote(name))
        case "runs" if not more:
            return Address(shelf=OfferShelf.RUN, name=unquote(name))
        case _:
            return None


def _within(workflow_id: str, more: str) -> Address | None:
    shelf, _, item = more.partition("/")
    if shelf not in {OfferShelf.SKILL, OfferShelf.RESOURCE, OfferShelf.TEMPLATE} or not item:
        return None
    return Address(shelf=OfferShelf(shelf), name=workflow_id, item=unquote(item))
