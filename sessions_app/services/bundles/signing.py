"""The key with which this installation signs what leaves it. Its public half is no secret; see `/.well-known/`."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings

from sessions_app.engine.signatures import public_text, signing_key


def installation_key() -> Ed25519PrivateKey:
    return signing_key(secret=settings.TOKEN_KEY)


def own_signers() -> tuple[str, ...]:
    """The public keys of this installation: the one in force, and the one before a rotation."""
    secrets = [settings.TOKEN_KEY, settings.TOKEN_KEY_PREVIOUS]
    return tuple(public_text(signing_key(secret=secret)) for secret in secrets if secret is not None)
