"""The texts of what people hold beside their password: a mark of its kind, eight characters to find its row, thirty-two that prove it.

Only the digest is kept (`keys.digest_of`). The marks stand in the table of `redaction` too.
"""

import base64
import re
from enum import StrEnum

RANDOM_BYTES = 25
_LOCATOR_CHARACTERS = 8
_REST = re.compile(r"[a-z2-7]{40}")


class Mark(StrEnum):
    PERSONAL_TOKEN = "wr_pat_"  # noqa: S105  how one begins, and none
    ACCESS_TOKEN = "wr_oat_"  # noqa: S105  as above
    REFRESH_TOKEN = "wr_ort_"  # noqa: S105  as above


def mint_credential(*, mark: Mark, random: bytes) -> str:
    if len(random) != RANDOM_BYTES:
        raise ValueError(f"a credential is made of {RANDOM_BYTES} random bytes")
    return mark.value + base64.b32encode(random).decode("ascii").lower()


def is_marked(*, mark: Mark, text: str) -> bool:
    """Whether it is of that kind, by its look; it need not be whole."""
    return text.startswith(mark.value)


def is_credential(*, mark: Mark, text: str) -> bool:
    return is_marked(mark=mark, text=text) and _REST.fullmatch(text.removeprefix(mark.value)) is not None


def locator_of(*, mark: Mark, text: str) -> str:
    """The part that may be shown and stored."""
    return text[: len(mark.value) + _LOCATOR_CHARACTERS]
