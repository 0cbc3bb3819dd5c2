"""Ed25519: what an installation says of what leaves it. Whoever holds the public key checks it without a server."""

import base64
import binascii
import hashlib
import hmac

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ALGORITHM = "Ed25519"
PUBLIC_KEY_BYTES = 32
SIGNATURE_BYTES = 64
_LABEL = b"workrail signs what leaves it v1"


def signing_key(*, secret: bytes) -> Ed25519PrivateKey:
    """The key of an installation: one secret always gives the same one, and tells nothing of the secret."""
    return Ed25519PrivateKey.from_private_bytes(hmac.digest(secret, _LABEL, hashlib.sha256))


def public_text(key: Ed25519PrivateKey | Ed25519PublicKey) -> str:
    """The public key as it is printed: base64url without padding."""
    public = key.public_key() if isinstance(key, Ed25519PrivateKey) else key
    return to_text(public.public_bytes(Encoding.Raw, PublicFormat.Raw))


def sign(*, key: Ed25519PrivateKey, message: bytes) -> str:
    return to_text(key.sign(message))


def is_signed_by(*, public: str, signature: str, message: bytes) -> bool:
    """Every text has one spelling: a signature that was written otherwise is none."""
    key_bytes, signature_bytes = from_text(public, PUBLIC_KEY_BYTES), from_text(signature, SIGNATURE_BYTES)
    if key_bytes is None or signature_bytes is None:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key_bytes).verify(signature_bytes, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def to_text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def from_text(text: str, length: int) -> bytes | None:
    """The bytes behind the text, or None when they are not so many or the text is not how we write them."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if len(data) == length and to_text(data) == text else None
