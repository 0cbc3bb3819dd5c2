"""A bundle: sessions in one file that tells all that is needed to go on with them elsewhere, and proves who wrote it.

The file is JSON, laid out with one record on a line, so that it is written and read without being held. Every record is
in canonical form; a manifest has the digest of each part, and a signature covers every byte before it. No token and no key
is in it. `docs/bundles.md` describes it.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import msgspec
import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sessions_app.engine import signatures
from teams_app.engine.errors import WorkrailError
from workflows_app.engine import canonical

SCHEMA_VERSION = 1
MANIFEST_KIND = "sha256_manifest_v1"
MEDIA_TYPE = "application/vnd.workrail.bundle+json"
MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_BUNDLE_BYTES = 1024 * 1024 * 1024

_SIGNED = b"workrail bundle v1\n"


class BundleJobKind(StrEnum):
    """An archive is the export of a session that was deleted after it."""

    EXPORT = "export"
    IMPORT = "import"
    ARCHIVE = "archive"


class BundleJobState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class BundleInvalidFormatError(WorkrailError):
    """The file is not a bundle as we write them."""

    code = "BUNDLE_INVALID_FORMAT"


class BundleUnsupportedVersionError(WorkrailError):
    """The bundle is of a version that is not read here."""

    code = "BUNDLE_UNSUPPORTED_VERSION"


class BundleIntegrityFailedError(WorkrailError):
    """Some bytes of the bundle are not those that were written."""

    code = "BUNDLE_INTEGRITY_FAILED"


class BundleSignatureInvalidError(WorkrailError):
    """The signature is not of these bytes."""

    code = "BUNDLE_SIGNATURE_INVALID"


class BundleUntrustedSignerError(WorkrailError):
    """The bundle was signed by an installation that is not trusted here."""

    code = "BUNDLE_UNTRUSTED_SIGNER"


class BundleTooLargeError(WorkrailError):
    """The bundle, or one record of it, is larger than what is read."""

    code = "BUNDLE_TOO_LARGE"


class BundleMissingSnapshotError(WorkrailError):
    """A node stands for a snapshot that the bundle does not have."""

    code = "BUNDLE_MISSING_SNAPSHOT"


class BundleMissingPinnedWorkflowError(WorkrailError):
    """A run is pinned to a program that the bundle does not have."""

    code = "BUNDLE_MISSING_PINNED_WORKFLOW"


class BundleEventOrderInvalidError(WorkrailError):
    """The events are not one chain from the first to the head."""

    code = "BUNDLE_EVENT_ORDER_INVALID"


class BundleManifestOrderInvalidError(WorkrailError):
    """The manifest does not list the parts as they stand in the file."""

    code = "BUNDLE_MANIFEST_ORDER_INVALID"


class BundleContentInvalidError(WorkrailError):
    """The log tells something that cannot have happened."""

    code = "BUNDLE_CONTENT_INVALID"


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    pass


class Producer(_Record, frozen=True, kw_only=True):
    application: str
    version: str


class Preamble(_Record, frozen=True, kw_only=True):
    """`root` is the session that was exported; the others are of runs that it triggered."""

    bundle_schema_version: int
    bundle_id: str
    exported_at: str
    producer: Producer
    root: str


class BundledRun(_Record, frozen=True, kw_only=True):
    """What the log does not tell of a run."""

    run_id: str
    dialect: str


class BundledHead(_Record, frozen=True, kw_only=True):
    next_index: int
    digest: str


class BundledSession(_Record, frozen=True, kw_only=True):
    session_id: str
    created_at: str
    head: BundledHead
    runs: tuple[BundledRun, ...]


class BundledContent(_Record, frozen=True, kw_only=True):
    """A skill, resource, template or rules that a program attaches. `document` is JSON text in its author's order."""

    kind: str
    digest: str
    text: str
    document: str | None = None


class BundleEntry(_Record, frozen=True, kw_only=True):
    path: str
    sha256: str
    bytes: int


class Signature(_Record, frozen=True, kw_only=True):
    algorithm: str
    public_key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedWorkflow:
    """`program` are the stored canonical bytes, whose digest `workflow_hash` is."""

    workflow_hash: str
    program: bytes
    contents: tuple[BundledContent, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPart:
    """One session as it is written: `snapshots` are pairs of a digest and its bytes, `events` the bodies in order."""

    head: BundledSession
    snapshots: Iterable[tuple[str, bytes]]
    events: Iterable[bytes]


class Digests:
    """The manifest while it grows, and the digest of every byte so far."""

    def __init__(self) -> None:
        self.entries: list[BundleEntry] = []
        self.whole = hashlib.sha256(_SIGNED)
        self.size = 0

    def feed(self, line: bytes) -> None:
        self.whole.update(line)
        self.size += len(line)

    def add(self, path: str, data: bytes) -> None:
        self.entries.append(BundleEntry(path=path, sha256=canonical.digest(data), bytes=len(data)))

    def message(self) -> bytes:
        """What is signed."""
        return _SIGNED + self.whole.digest()


class ListDigest:
    """The digest of a JSON array whose items come one by one."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256(b"[")
        self._bytes = 1
        self._first = True

    def add(self, item: bytes) -> None:
        if not self._first:
            self._hash.update(b",")
            self._bytes += 1
        self._first = False
        self._hash.update(item)
        self._bytes += len(item)

    def entry(self, path: str) -> BundleEntry:
        self._hash.update(b"]")
        return BundleEntry(path=path, sha256=f"sha256:{self._hash.hexdigest()}", bytes=self._bytes + 1)


def write_bundle(
    *,
    preamble: Preamble,
    pinned: Iterable[PinnedWorkflow],
    sessions: Iterable[SessionPart],
    key: Ed25519PrivateKey,
) -> Iterator[bytes]:
    """The lines of the file."""
    digests = Digests()
    for line in _content(preamble, pinned, sessions, digests):
        digests.feed(line)
        yield line
    signature = Signature(
        algorithm=signatures.ALGORITHM,
        public_key=signatures.public_text(key),
        value=signatures.sign(key=key, message=digests.message()),
    )
    yield b'"signature":' + record_bytes(signature) + b"}\n"


def _content(
    preamble: Preamble, pinned: Iterable[PinnedWorkflow], sessions: Iterable[SessionPart], digests: Digests
) -> Iterator[bytes]:
    first = record_bytes(preamble)
    digests.add("preamble", first)
    yield first[:-1] + b",\n"
    yield b'"pinnedWorkflows":{\n'
    yield from _joined(_pinned_record(item, digests) for item in pinned)
    yield b'},\n"sessions":[\n'
    separator = b""
    for part in sessions:
        yield separator + _opened(part, digests)
        yield from _joined(_snapshot_records(part, digests))
        yield b'},"events":[\n'
        yield from _joined(_event_records(part, digests))
        yield b"]}"
        separator = b",\n"
    yield b'\n],\n"integrity":{"kind":"' + MANIFEST_KIND.encode() + b'","entries":[\n'
    yield from _joined(record_bytes(entry) for entry in digests.entries)
    yield b"]},\n"


def _joined(records: Iterable[bytes]) -> Iterator[bytes]:
    """One a line, with a comma behind each but the last."""
    waiting: bytes | None = None
    for record in records:
        if waiting is not None:
            yield waiting + b",\n"
        waiting = record
    if waiting is not None:
        yield waiting + b"\n"


def _pinned_record(item: PinnedWorkflow, digests: Digests) -> bytes:
    contents = canonical.canonical_bytes([msgspec.to_builtins(content) for content in item.contents])
    body = b'{"contents":' + contents + b',"program":' + item.program + b"}"
    digests.add(f"pinnedWorkflows/{item.workflow_hash}", body)
    return _named(item.workflow_hash, body)


def _opened(part: SessionPart, digests: Digests) -> bytes:
    head = record_bytes(part.head)
    digests.add(f"sessions/{part.head.session_id}", head)
    return head[:-1] + b',"snapshots":{\n'


def _snapshot_records(part: SessionPart, digests: Digests) -> Iterator[bytes]:
    for name, data in part.snapshots:
        digests.entries.append(snapshot_entry(part.head.session_id, name, len(data)))
        yield _named(name, data)


def _event_records(part: SessionPart, digests: Digests) -> Iterator[bytes]:
    whole = ListDigest()
    for body in part.events:
        whole.add(body)
        yield body
    digests.entries.append(whole.entry(events_path(part.head.session_id)))


def snapshot_entry(session_id: str, digest: str, size: int) -> BundleEntry:
    """A snapshot is named by its digest, so the manifest repeats it."""
    return BundleEntry(path=f"sessions/{session_id}/snapshots/{digest}", sha256=digest, bytes=size)


def events_path(session_id: str) -> str:
    return f"sessions/{session_id}/events"


def _named(name: str, body: bytes) -> bytes:
    return b'"' + name.encode("ascii") + b'":' + body


def record_bytes(record: _Record) -> bytes:
    """In canonical form, as every record of the file is."""
    return canonical.canonical_bytes(msgspec.to_builtins(record))


def bundle_id_of(heads: Iterable[str]) -> str:
    """The same sessions at the same place of their logs are the same bundle."""
    return f"bundle_{hashlib.sha256(orjson.dumps(sorted(heads))).hexdigest()[:32]}"
