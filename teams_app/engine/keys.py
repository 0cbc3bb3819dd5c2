"""The text of an agent key: `wr_key_`, eight characters to find its row, thirty-two that prove it."""

import base64
import hashlib
import re

KEY_RANDOM_BYTES = 25
DIGEST_BYTES = 32

_LOCATOR_CHARACTERS = 8
_MARK = "wr_key_"
_KEY = re.compile(r"wr_key_[a-z2-7]{40}")


def mint_key(*, random: bytes) -> str:
    if len(random) != KEY_RANDOM_BYTES:
        raise ValueError(f"a key is made of {KEY_RANDOM_BYTES} random bytes")
    return _MARK + base64.b32encode(random).decode("ascii").lower()


def is_key(text: str) -> bool:
    return _KEY.fullmatch(text) is not None


def prefix_of(key: str) -> str:
    """The part that may be shown and stored."""
    return key[: len(_MARK) + _LOCATOR_CHARACTERS]


def digest_of(key: str) -> bytes:
    """A plain hash is enough: a key is 160 bits of chance, not a password that could be guessed."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
