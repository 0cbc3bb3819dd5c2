"""Bundles in a word each: written, read, compared but for their ids, and forged by somebody who can sign."""

import io
import re
from dataclasses import dataclass, replace
from datetime import timedelta

import orjson

from sessions_app.engine import signatures
from sessions_app.engine.bundle_reader import EventPart, SnapshotPart, read_bundle
from sessions_app.engine.bundles import BundledHead, BundledSession, PinnedWorkflow, Preamble, SessionPart, write_bundle
from sessions_app.engine.log import GENESIS
from tests.workflow_cast import NOW
from workflows_app.engine import canonical

LATER = NOW + timedelta(days=1)
STRANGER = signatures.signing_key(secret=b"another installation")

_IDS = re.compile(
    r"(?:sess|run|node|attempt|evt|cp|hold)_[a-z2-7]{26}|sha256:[0-9a-f]{64}|(?<![0-9a-f:])[0-9a-f]{32}(?![0-9a-f])"
)
_MOMENT = re.compile(r'"exportedAt":"[^"]+"')


def export(actor, session_id, *, now=NOW):
    from sessions_app.services.bundles import files

    written = []
    files.export_session(actor=actor, session_id=session_id, write=written.append, now=now)
    return b"".join(written)


def take_in(actor, data, *, now=LATER):
    from sessions_app.services.bundles import files

    return files.import_bundle(actor=actor, source=io.BytesIO(data), now=now)


def examine(data):
    from sessions_app.engine.bundle_checks import examine_bundle

    return examine_bundle(read_bundle(read_line=io.BytesIO(data).readline))


def told(data):
    """The bundle with every id and digest replaced by its place in the order in which they are met."""
    text = data.decode().partition('"integrity":')[0]
    places = {}
    named = _IDS.sub(lambda found: f"#{places.setdefault(found[0], len(places))}", text)
    return _MOMENT.sub("", re.sub(r'"bundleId":"[^"]+"', "", named))


def ids_in(data):
    """Of all that is made anew where ids are taken: sessions, runs, nodes, attempts, events, questions and holders."""
    return set(re.findall(rb"(?:sess|run|node|attempt|evt|cp|hold)_[a-z2-7]{26}", data))


@dataclass(kw_only=True)
class Forged:
    """What a bundle is made of, to be changed and signed again."""

    preamble: Preamble
    pinned: list
    sessions: list

    @classmethod
    def of(cls, data):
        made = cls(preamble=None, pinned=[], sessions=[])
        for part in read_bundle(read_line=io.BytesIO(data).readline):
            match part:
                case Preamble():
                    made.preamble = part
                case PinnedWorkflow():
                    made.pinned.append(part)
                case BundledSession():
                    made.sessions.append(ForgedSession(head=part, snapshots=[], events=[]))
                case SnapshotPart():
                    made.sessions[-1].snapshots.append((part.digest, part.data))
                case EventPart():
                    made.sessions[-1].events.append(part.event)
        return made

    def is_of(self, session):
        """All that the file tells is said to be of another session."""
        head, told = self.sessions[0].head, self.preamble
        self.sessions[0].head = BundledSession(
            session_id=session, created_at=head.created_at, head=head.head, runs=head.runs
        )
        self.preamble = Preamble(
            bundle_schema_version=1,
            bundle_id=told.bundle_id,
            exported_at=told.exported_at,
            producer=told.producer,
            root=session,
        )
        for event in self.sessions[0].events:
            event["sessionId"] = session

    def signed(self, key=STRANGER, *, chained=True):
        sessions = [session.part(chained=chained) for session in self.sessions]
        return b"".join(write_bundle(preamble=self.preamble, pinned=self.pinned, sessions=sessions, key=key))


@dataclass(kw_only=True)
class ForgedSession:
    head: BundledSession
    snapshots: list
    events: list

    def part(self, *, chained):
        bodies, digest = [], GENESIS
        for index, event in enumerate(self.events):
            if chained:
                event |= {"previousDigest": digest, "eventIndex": index}
            bodies.append(canonical.canonical_bytes(event))
            digest = canonical.digest(bodies[-1])
        head = BundledHead(next_index=len(bodies), digest=digest) if chained else self.head.head
        return SessionPart(
            head=BundledSession(
                session_id=self.head.session_id, created_at=self.head.created_at, head=head, runs=self.head.runs
            ),
            snapshots=self.snapshots,
            events=bodies,
        )


def pinned_with(item, **changes):
    """The pinned workflow with other fields of its program."""
    program = canonical.canonical_bytes({**orjson.loads(item.program), **changes})
    return replace(item, program=program, workflow_hash=canonical.digest(program))
