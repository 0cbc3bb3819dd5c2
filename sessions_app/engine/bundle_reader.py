"""Reads a bundle record by record, and refuses whatever is not exactly as it was written.

Nothing of the file is held longer than its record. The last part tells who signed; until it has come, nothing that came
before may be believed.
"""

import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

import msgspec

from sessions_app.engine import signatures
from sessions_app.engine.bundles import (
    MANIFEST_KIND,
    MAX_BUNDLE_BYTES,
    MAX_LINE_BYTES,
    SCHEMA_VERSION,
    BundledContent,
    BundledSession,
    BundleEntry,
    BundleIntegrityFailedError,
    BundleInvalidFormatError,
    BundleManifestOrderInvalidError,
    BundleSignatureInvalidError,
    BundleTooLargeError,
    BundleUnsupportedVersionError,
    Digests,
    ListDigest,
    PinnedWorkflow,
    Preamble,
    Signature,
    events_path,
    snapshot_entry,
)
from teams_app.engine.errors import WorkrailError
from workflows_app.engine import canonical
from workflows_app.engine.canonical import UnreadableJsonError, loads_strict

ReadLine = Callable[[int], bytes]
T = TypeVar("T")

_NAMED = re.compile(rb'"(sha256:[0-9a-f]{64})":(\{.*\})', re.DOTALL)
_ASK_AGAIN = "Ask whoever sent the file to export it again, and to send it unchanged."
_SNAPSHOTS = b',"snapshots":{'
_MANIFEST = b'"integrity":{"kind":"' + MANIFEST_KIND.encode() + b'","entries":['
_DEPTH = 96


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPart:
    """A snapshot of the session that came last."""

    digest: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPart:
    """An event of the session that came last. `digest` is that of its bytes."""

    body: bytes
    digest: str
    event: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd:
    """All of the session that came last has come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedBundle:
    """The signature holds: `signer` is the public key, `signature` names these very bytes."""

    signer: str
    signature: str
    size_bytes: int


Part = Preamble | PinnedWorkflow | BundledSession | SnapshotPart | EventPart | SessionEnd | SealedBundle


def read_bundle(*, read_line: ReadLine, max_bytes: int = MAX_BUNDLE_BYTES) -> Iterator[Part]:
    """The parts in the order of the file; `Sealed` is the last one."""
    yield from _Reader(lines=_Lines(read_line=read_line, left=max_bytes)).parts()


@dataclass(slots=True, kw_only=True)
class _Lines:
    """Every line is bounded before it is read, and so are all of them together."""

    read_line: ReadLine
    left: int
    number: int = 0

    def next(self) -> bytes:
        line = self.read_line(min(MAX_LINE_BYTES, self.left) + 1)
        self.number += 1
        if len(line) > MAX_LINE_BYTES or len(line) > self.left:
            raise BundleTooLargeError(
                f"The bundle is too large at line {self.number}.",
                suggestion="Import it from the command line of a server that allows more.",
            )
        self.left -= len(line)
        if not line.endswith(b"\n"):
            refuse(f"The file ends in its line {self.number}.")
        return line


@dataclass(slots=True, kw_only=True)
class _Reader:
    lines: _Lines
    digests: Digests = field(default_factory=Digests)
    closed_by: bytes = b""

    def parts(self) -> Iterator[Part]:
        yield self._preamble()
        self._expect(b'"pinnedWorkflows":{')
        for name, body in self._named(b"},"):
            yield self._pinned(name, body)
        self._expect(b'"sessions":[')
        more = True
        while more:
            head = self._opened()
            yield head
            yield from self._snapshots(head)
            more = yield from self._events(head)
            yield SessionEnd()
        self._expect(b"],")
        self._manifest()
        yield self._signature()

    def _line(self) -> bytes:
        line = self.lines.next()
        self.digests.feed(line)
        return line[:-1]

    def _expect(self, text: bytes) -> None:
        if self._line() != text:
            refuse(f"Line {self.lines.number} does not say {text.decode()}.")

    def _preamble(self) -> Preamble:
        line = self._line()
        if not line.endswith(b","):
            refuse("The first line is not that of a bundle.")
        data = line[:-1] + b"}"
        value = self._value(data)
        version = value.get("bundleSchemaVersion") if isinstance(value, dict) else None
        if isinstance(version, int) and version != SCHEMA_VERSION:
            raise BundleUnsupportedVersionError(
                f"The bundle is of version {version}; this server reads version {SCHEMA_VERSION}.",
                suggestion="Import it on a server of the version that exported it, or a newer one.",
                details={"supportedVersions": [SCHEMA_VERSION]},
            )
        self.digests.add("preamble", data)
        return self._shaped(value, Preamble)

    def _pinned(self, name: str, body: bytes) -> PinnedWorkflow:
        value = self._value(body)
        self.digests.add(f"pinnedWorkflows/{name}", body)
        if not isinstance(value, dict) or value.keys() != {"contents", "program"}:
            refuse(f"Line {self.lines.number} is not a pinned workflow.")
        program = canonical.canonical_bytes(value["program"])
        if canonical.digest(program) != name:
            raise _damaged(f"pinnedWorkflows/{name}")
        contents = self._shaped(value["contents"], tuple[BundledContent, ...])
        return PinnedWorkflow(workflow_hash=name, program=program, contents=contents)

    def _opened(self) -> BundledSession:
        line = self._line()
        if not line.endswith(_SNAPSHOTS):
            refuse(f"Line {self.lines.number} does not begin a session.")
        data = line.removesuffix(_SNAPSHOTS) + b"}"
        head = self._shaped(self._value(data), BundledSession)
        self.digests.add(f"sessions/{head.session_id}", data)
        return head

    def _snapshots(self, head: BundledSession) -> Iterator[SnapshotPart]:
        for name, data in self._named(b'},"events":['):
            if canonical.digest(data) != name:
                raise _damaged(f"sessions/{head.session_id}/snapshots/{name}")
            self._value(data)
            self.digests.entries.append(snapshot_entry(head.session_id, name, len(data)))
            yield SnapshotPart(digest=name, data=data)

    def _events(self, head: BundledSession) -> Generator[Part, None, bool]:
        """Returns whether another session follows."""
        whole = ListDigest()
        for body in self._items(b"]}", b"]},"):
            event = self._value(body)
            if not isinstance(event, dict):
                refuse(f"Line {self.lines.number} is not an event.")
            whole.add(body)
            yield EventPart(body=body, digest=canonical.digest(body), event=event)
        self.digests.entries.append(whole.entry(events_path(head.session_id)))
        return self.closed_by == b"]},"

    def _manifest(self) -> None:
        self._expect(_MANIFEST)
        told = [self._shaped(self._value(body), BundleEntry) for body in self._items(b"]},")]
        found = self.digests.entries
        if [entry.path for entry in told] != [entry.path for entry in found]:
            raise BundleManifestOrderInvalidError(
                "The manifest does not list the parts of the bundle as they stand in it.", suggestion=_ASK_AGAIN
            )
        wrong = next((mine.path for mine, theirs in zip(found, told, strict=True) if mine != theirs), None)
        if wrong is not None:
            raise _damaged(wrong)

    def _signature(self) -> SealedBundle:
        message = self.digests.message()
        line = self.lines.next()[:-1]
        if not (line.startswith(b'"signature":') and line.endswith(b"}}")):
            refuse("The last line has no signature.")
        signature = self._shaped(self._value(line[len(b'"signature":') : -1]), Signature)
        if signature.algorithm != signatures.ALGORITHM:
            refuse(f"The bundle is signed by {signature.algorithm[:32]}; {signatures.ALGORITHM} is read.")
        if self.lines.read_line(1):
            refuse("Something follows the end of the bundle.")
        if not signatures.is_signed_by(public=signature.public_key, signature=signature.value, message=message):
            raise BundleSignatureInvalidError("The signature is not of this bundle.", suggestion=_ASK_AGAIN)
        return SealedBundle(
            signer=signature.public_key, signature=signature.value, size_bytes=self.digests.size + len(line) + 1
        )

    def _items(self, *closings: bytes) -> Iterator[bytes]:
        """The records up to one of the closing lines: all but the last have a comma behind them."""
        may_end, must_end = True, False
        while True:
            line = self._line()
            if line in closings:
                if not may_end:
                    refuse(f"A record is missing before line {self.lines.number}.")
                self.closed_by = line
                return
            if must_end:
                refuse(f"Line {self.lines.number} follows the last record.")
            must_end = not line.endswith(b",")
            may_end = must_end
            yield line if must_end else line[:-1]

    def _named(self, closing: bytes) -> Iterator[tuple[str, bytes]]:
        seen: set[str] = set()
        for line in self._items(closing):
            found = _NAMED.fullmatch(line)
            if found is None:
                refuse(f"Line {self.lines.number} is not a record with a name.")
            name = found[1].decode()
            if name in seen:
                refuse(f"{name} stands twice in the bundle.")
            seen.add(name)
            yield name, found[2]

    def _value(self, data: bytes) -> Any:
        """The record behind its canonical bytes; another spelling of it is refused."""
        try:
            value = loads_strict(data, max_bytes=MAX_LINE_BYTES, max_depth=_DEPTH)
        except UnreadableJsonError as error:
            refuse(f"Line {self.lines.number} cannot be read: {error.message}")
        if canonical.canonical_bytes(value) != data:
            refuse(f"Line {self.lines.number} is not in canonical form.")
        return value

    def _shaped(self, value: object, shape: type[T]) -> T:
        try:
            return msgspec.convert(value, shape, strict=True)
        except msgspec.ValidationError as error:
            refuse(f"Line {self.lines.number} does not have the form of a bundle: {error}")


def refuse(message: str) -> NoReturn:
    raise BundleInvalidFormatError(message, suggestion=_ASK_AGAIN)


def _damaged(path: str) -> WorkrailError:
    return BundleIntegrityFailedError(
        f"What the bundle has at {path} is not what was written.", suggestion=_ASK_AGAIN, details={"path": path}
    )
