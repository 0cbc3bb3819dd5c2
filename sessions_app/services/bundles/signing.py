"""The key with which this installation signs what leaves it. Its public half is no secret; see `/.well-known/`."""

from collections.abc import Iterable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings

from sessions_app.engine.signatures import public_text, signing_key


def installation_key() -> Ed25519PrivateKey:
    return signing_key(secret=settings.TOKEN_KEY)


def own_signers() -> tuple[str, ...]:
    """The public keys of this installation: the one in force, and the one before a rotation."""
    return _signers([settings.TOKEN_KEY, settings.TOKEN_KEY_PREVIOUS])


def signers_ever() -> tuple[str, ...]:
    """With those of the keys that are retired: an anchor is kept for longer than two rotations."""
    return (*own_signers(), *_signers(settings.RETIRED_KEYS))


def _signers(secrets: Iterable[bytes | None]) -> tuple[str, ...]:
    return tuple(public_text(signing_key(secret=secret)) for secret in secrets if secret is not None)
