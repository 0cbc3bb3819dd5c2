"""The manifest of a folder with everything of a team: its files with their digests, signed by who wrote them.

`docs/retention.md` says what is promised of such a folder.
"""

import hashlib
from collections.abc import Iterator, Mapping

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sessions_app.engine import signatures
from sessions_app.engine.bundles import (
    BundleEntry,
    BundleIntegrityFailedError,
    BundleInvalidFormatError,
    BundleSignatureInvalidError,
    BundleUnsupportedVersionError,
    Producer,
    Signature,
)
from workflows_app.engine import canonical

MANIFEST = "manifest.json"
SCHEMA_VERSION = 1
MAX_MANIFEST_BYTES = 256 * 1024 * 1024
_SIGNED = b"workrail team folder v1\n"
_MOST_NAMED = 20
_ASK_AGAIN = "Have the folder exported again by ./workrail teams export."


class FolderManifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`not_vouched_for` names what is not as it was once written, and so is no file of which this says anything."""

    folder_schema_version: int
    team: str
    exported_at: str
    producer: Producer
    files: tuple[BundleEntry, ...]
    not_vouched_for: tuple[str, ...] = ()


class _Signed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    manifest: FolderManifest
    signature: Signature


def write_manifest(*, manifest: FolderManifest, key: Ed25519PrivateKey) -> bytes:
    signature = Signature(
        algorithm=signatures.ALGORITHM,
        public_key=signatures.public_text(key),
        value=signatures.sign(key=key, message=_message(manifest)),
    )
    return _bytes_of(_Signed(manifest=manifest, signature=signature))


def read_manifest(data: bytes) -> tuple[FolderManifest, str]:
    """With who signed exactly these bytes; raises one of the `BUNDLE_*` errors."""
    try:
        read = msgspec.json.decode(data, type=_Signed)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BundleInvalidFormatError(f"{MANIFEST} is none: {error}.", suggestion=_ASK_AGAIN) from error
    signature = read.signature
    if read.manifest.folder_schema_version != SCHEMA_VERSION:
        raise BundleUnsupportedVersionError(
            f"The folder is of version {read.manifest.folder_schema_version}, and {SCHEMA_VERSION} is read.",
            suggestion="Check it with the release that wrote it, or a later one.",
        )
    holds = signature.algorithm == signatures.ALGORITHM and signatures.is_signed_by(
        public=signature.public_key, signature=signature.value, message=_message(read.manifest)
    )
    if not holds or _bytes_of(read) != data:
        raise BundleSignatureInvalidError(f"The signature is not of this {MANIFEST}.", suggestion=_ASK_AGAIN)
    return read.manifest, signature.public_key


def check_files(manifest: FolderManifest, *, found: Mapping[str, BundleEntry]) -> None:
    """Raises where a file is another one, is gone, or was added. What nobody vouches for may be there."""
    wrong = list(_differences({entry.path: entry for entry in manifest.files}, found, manifest.not_vouched_for))
    if wrong:
        shown = "; ".join(wrong[:_MOST_NAMED])
        raise BundleIntegrityFailedError(
            f"The folder is not what was written: {shown}.",
            suggestion=_ASK_AGAIN,
            details={"files": wrong[:_MOST_NAMED]},
        )


def _differences(
    written: Mapping[str, BundleEntry], found: Mapping[str, BundleEntry], unvouched: tuple[str, ...]
) -> Iterator[str]:
    for path in sorted(written.keys() | found.keys()):
        if path not in found:
            yield f"{path} is gone"
        elif path not in written:
            if path not in unvouched:
                yield f"{path} was added"
        elif written[path] != found[path]:
            yield f"{path} was changed"


def _message(manifest: FolderManifest) -> bytes:
    return _SIGNED + hashlib.sha256(_bytes_of(manifest)).digest()


def _bytes_of(record: msgspec.Struct) -> bytes:
    return canonical.canonical_bytes(msgspec.to_builtins(record))
