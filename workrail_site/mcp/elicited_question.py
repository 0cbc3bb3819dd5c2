"""A question that a client is to put to its user, as every dialect words it. Without the SDK, which only the web server loads."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ElicitedQuestion:
    """`url` is where a signed-in person answers; empty where the user of the client does."""

    key: str
    name: str
    title: str
    message: str
    options: tuple[tuple[str, str], ...]
    session_id: UUID
    url: str = ""
