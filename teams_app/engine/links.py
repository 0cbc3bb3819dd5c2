"""The text of a one-time link: `wr_link_`, and thirty-two characters and more that prove it. Only its digest is kept."""

import base64
import re
from datetime import timedelta

LINK_RANDOM_BYTES = 25
INVITATION_LIFE = timedelta(days=7)
RESET_LIFE = timedelta(hours=24)

_MARK = "wr_link_"
_LINK = re.compile(r"wr_link_[a-z2-7]{40}")


def mint_link(*, random: bytes) -> str:
    if len(random) != LINK_RANDOM_BYTES:
        raise ValueError(f"a link is made of {LINK_RANDOM_BYTES} random bytes")
    return _MARK + base64.b32encode(random).decode("ascii").lower()


def is_link(text: str) -> bool:
    return _LINK.fullmatch(text) is not None
