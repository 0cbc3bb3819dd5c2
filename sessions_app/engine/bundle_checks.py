"""Whether what a bundle tells can have happened: one chain of events, every node with its snapshot, every run with its program.

The views that it makes are those of the tables: what may be imported can be rebuilt.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn
from uuid import UUID

import msgspec

from sessions_app.engine.bundle_reader import EventPart, Part, SealedBundle, SessionEnd, SnapshotPart, refuse
from sessions_app.engine.bundles import (
    BundleContentInvalidError,
    BundledContent,
    BundledSession,
    BundleEventOrderInvalidError,
    BundleIntegrityFailedError,
    BundleMissingPinnedWorkflowError,
    BundleMissingSnapshotError,
    PinnedWorkflow,
    Preamble,
)
from sessions_app.engine.log import ENVELOPE_VERSION, MAX_DEDUPE_CHARACTERS, EventKind, Head, NodeKind
from sessions_app.engine.projections import ProjectedNode, ProjectedRun, ProjectedSession, fold, output_body
from sessions_app.engine.prompts import title_of
from sessions_app.engine.runs import Dialect
from sessions_app.engine.session_tokens import handle_of
from sessions_app.engine.state import Snapshot, snapshot_bytes, snapshot_from_bytes
from teams_app.engine.ids import Prefix, birth_ms, from_text
from workflows_app.engine import canonical
from workflows_app.engine.program import Program, program_bytes, program_from_bytes
from workflows_app.engine.source import attached_to, is_named_by_content

# What an object of the wrong shape makes the readers of our own logs raise.
_STRANGE = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, msgspec.MsgspecError)
_LATEST_MS = 4_102_444_800_000
_TITLE_CHARACTERS = 256
_NO_NOTES = {"payloadKind": "notes", "notesMarkdown": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoodNode:
    """What a node has to say of the snapshot that it stands for. `titles` are what is pending there, by program."""

    pending: str
    preferences: Mapping[str, str]
    blocked: bool
    titles: Mapping[str, str]


@dataclass(slots=True, kw_only=True)
class ExaminedSession:
    """`view` has what the tables keep, but for the bodies of the outputs. `leads_outside` tells of a parent elsewhere."""

    session_id: UUID
    head: BundledSession
    dialects: Mapping[UUID, Dialect]
    view: ProjectedSession = field(default_factory=ProjectedSession)
    snapshots: dict[str, StoodNode] = field(default_factory=dict)
    parents: set[UUID] = field(default_factory=set)
    at: Head = field(default_factory=Head)
    first_ms: int = 0
    last_ms: int = 0

    def title_at(self, run: ProjectedRun, node: ProjectedNode) -> str:
        return self.snapshots[node.snapshot].titles[run.workflow_hash]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    preamble: Preamble
    pinned: tuple[str, ...]
    sessions: tuple[ExaminedSession, ...]
    seal: SealedBundle

    @property
    def leads_outside(self) -> bool:
        """Whether a session names a parent that is not in the bundle."""
        here = {session.session_id for session in self.sessions}
        return any(session.parents - here for session in self.sessions)

    @property
    def event_count(self) -> int:
        return sum(session.at.next_index for session in self.sessions)


def examine_bundle(parts: Iterable[Part]) -> Examined:
    """Reads all of it, and refuses what cannot be true. Only then is anything of it believed."""
    return _Examination().examine(parts)


@dataclass(slots=True, kw_only=True)
class _Examination:
    programs: dict[str, Program] = field(default_factory=dict)
    sessions: list[ExaminedSession] = field(default_factory=list)
    said: set[str] = field(default_factory=set)

    def examine(self, parts: Iterable[Part]) -> Examined:
        preamble: Preamble | None = None
        seal: SealedBundle | None = None
        for part in parts:
            match part:
                case Preamble():
                    preamble = part
                case SealedBundle():
                    seal = part
                case _:
                    self._take(part)
        if preamble is None or seal is None:
            refuse("The file is not whole.")
        self._check_whole(preamble)
        return Examined(preamble=preamble, pinned=tuple(self.programs), sessions=tuple(self.sessions), seal=seal)

    def _take(self, part: PinnedWorkflow | BundledSession | SnapshotPart | EventPart | SessionEnd) -> None:
        match part:
            case PinnedWorkflow():
                self.programs[part.workflow_hash] = checked_program(part)
            case BundledSession():
                self.sessions.append(_opened(part))
                self.said = set()
            case SnapshotPart():
                session = self.sessions[-1]
                session.snapshots[part.digest] = self._stood(part)
            case EventPart():
                self._event(self.sessions[-1], part)
            case SessionEnd():
                self._close(self.sessions[-1])

    def _stood(self, part: SnapshotPart) -> StoodNode:
        try:
            snapshot = snapshot_from_bytes(part.data)
            same = snapshot_bytes(snapshot) == part.data
        except _STRANGE as error:
            _cannot_be(f"The snapshot {part.digest} is not a state of a run.", cause=error)
        if not same:
            _cannot_be(f"The snapshot {part.digest} is not a state of a run as it is written here.")
        return StoodNode(
            pending=snapshot.position.pending,
            preferences=snapshot.preferences.as_json(),
            blocked=snapshot.blocked is not None,
            titles=dict(self._titles(snapshot)),
        )

    def _titles(self, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
        """Under each program in which the position exists."""
        for workflow_hash, program in self.programs.items():
            try:
                title = title_of(program=program, snapshot=snapshot)
            except _STRANGE:
                continue
            yield workflow_hash, title[:_TITLE_CHARACTERS]

    def _event(self, session: ExaminedSession, part: EventPart) -> None:
        try:
            self._chained(session, part)
            told = _without_body(part.event)
            fold(session.view, told)
            self._told(session, told)
        except _STRANGE as error:
            _cannot_be(f"Event {session.at.next_index} cannot be read.", cause=error)
        session.last_ms = part.event["timestampMs"]
        session.first_ms = session.first_ms or session.last_ms
        session.at = Head(next_index=session.at.next_index + 1, digest=part.digest)

    def _chained(self, session: ExaminedSession, part: EventPart) -> None:
        event, at = part.event, session.at
        place = (event["v"], event["eventIndex"], event["previousDigest"], event["sessionId"])
        if place != (ENVELOPE_VERSION, at.next_index, at.digest, session.head.session_id):
            raise BundleEventOrderInvalidError(
                f"Event {at.next_index} of {session.head.session_id} does not follow the event before it.",
                suggestion="Ask whoever sent the file to export it again, and to send it unchanged.",
                details={"session": session.head.session_id, "eventIndex": at.next_index},
            )
        dedupe, unix_ms = event["dedupeKey"], event["timestampMs"]
        if (
            type(unix_ms) is not int
            or not 0 < unix_ms < _LATEST_MS
            or from_text(Prefix.EVENT, event["eventId"]) is None
        ):
            _cannot_be(f"Event {at.next_index} has no moment or no id.")
        if not isinstance(dedupe, str) or len(dedupe) > MAX_DEDUPE_CHARACTERS or dedupe in self.said:
            _cannot_be(f"Event {at.next_index} says again what was said.")
        if (EventKind(event["kind"]) is EventKind.SESSION_CREATED) != (at.next_index == 0):
            _cannot_be("A session begins once.")
        self.said.add(dedupe)

    def _told(self, session: ExaminedSession, event: Mapping[str, Any]) -> None:
        kind, scope = EventKind(event["kind"]), event.get("scope", {})
        run_id = from_text(Prefix.RUN, scope["runId"]) if "runId" in scope else None
        run = session.view.runs.get(run_id) if run_id else None
        if "runId" in scope and run is None:
            _cannot_be(f"Event {session.at.next_index} is of a run that has not begun.")
        if kind is EventKind.SESSION_CREATED and "parentSessionId" in event["data"]:
            session.parents.add(_session_of(event["data"]["parentSessionId"]))
        if kind is EventKind.HANDLE_ISSUED and "parent" in event["data"]:
            session.parents.add(_session_of(event["data"]["parent"]["sessionId"]))
        if kind is EventKind.HANDLE_ISSUED and run is not None:
            self._held(session, run, event["data"])
        if kind is EventKind.RUN_STARTED and run is not None:
            self._begun(session, run)
        if kind is EventKind.NODE_CREATED:
            self._node(session, run, event)

    def _held(self, session: ExaminedSession, run: ProjectedRun, told: Mapping[str, Any]) -> None:
        """Whoever holds a run is named by it: under another name nobody could join the run that is named so."""
        dialect = session.dialects[run.run_id]
        holder = handle_of(session_id=session.session_id, run_id=run.run_id, dialect=dialect, agent_id=told["agentId"])
        if from_text(Prefix.HANDLE, told["handleId"]) != holder.id:
            _cannot_be(f"Event {session.at.next_index} gives the holder of a run a name that is not theirs.")

    def _begun(self, session: ExaminedSession, run: ProjectedRun) -> None:
        if run.workflow_hash not in self.programs:
            raise BundleMissingPinnedWorkflowError(
                f"The bundle does not have the program {run.workflow_hash[:80]}.",
                suggestion="Ask whoever sent the file to export the session again.",
                details={"workflowHash": run.workflow_hash},
            )
        if run.run_id not in session.dialects:
            _cannot_be("The bundle does not say how a run is driven.")

    def _node(self, session: ExaminedSession, run: ProjectedRun | None, event: Mapping[str, Any]) -> None:
        node_id = from_text(Prefix.NODE, event["scope"]["nodeId"])
        node = run.nodes.get(node_id) if run is not None and node_id is not None else None
        if run is None or node is None or event["data"]["workflowHash"] != run.workflow_hash:
            _cannot_be(f"Event {session.at.next_index} makes a node of no run.")
        parent = event["data"]["parentNodeId"]
        if (parent is not None) != (node.parent_id is not None) or node.parent_id not in {None, *run.nodes}:
            _cannot_be(f"{event['scope']['nodeId']} follows a node that is not there.")
        stood = session.snapshots.get(node.snapshot)
        if stood is None:
            raise BundleMissingSnapshotError(
                f"The bundle does not have the snapshot {str(node.snapshot)[:80]}.",
                suggestion="Ask whoever sent the file to export the session again.",
                details={"snapshot": node.snapshot},
            )
        # Who notes something at a blocked step is as blocked as before.
        noted_at = run.nodes.get(node.parent_id) if node.kind is NodeKind.BOOKMARK and node.parent_id else None
        is_blocked = session.snapshots[noted_at.snapshot].blocked if noted_at else node.kind is NodeKind.BLOCKED_ATTEMPT
        said = (node.pending, event["data"]["preferences"], is_blocked)
        if said != (stood.pending, stood.preferences, stood.blocked) or run.workflow_hash not in stood.titles:
            _cannot_be(f"{event['scope']['nodeId']} does not stand where its snapshot says.")

    def _close(self, session: ExaminedSession) -> None:
        if session.at != Head(next_index=session.head.head.next_index, digest=session.head.head.digest):
            raise BundleIntegrityFailedError(
                f"The log of {session.head.session_id} does not end where the bundle says.",
                suggestion="Ask whoever sent the file to export it again, and to send it unchanged.",
                details={"session": session.head.session_id},
            )
        if session.dialects.keys() != session.view.runs.keys() or any(
            run.tip is None for run in session.view.runs.values()
        ):
            _cannot_be(f"The runs of {session.head.session_id} are not those of its log.")
        for run in session.view.runs.values():
            of_nodes = {asked.to_node_id for asked in run.questions.values()} | {each.node_id for each in run.outputs}
            if not of_nodes <= {None, *run.nodes}:
                _cannot_be(f"What {session.head.session_id} tells of a run belongs to a node of another one.")
        used = {node.snapshot for run in session.view.runs.values() for node in run.nodes.values()}
        if used != session.snapshots.keys():
            _cannot_be(f"{session.head.session_id} has snapshots that no node stands for.")

    def _check_whole(self, preamble: Preamble) -> None:
        ids = [session.session_id for session in self.sessions]
        if len(set(ids)) != len(ids) or preamble.root != self.sessions[0].head.session_id:
            _cannot_be("A session stands twice in the bundle, or the first one is not its root.")
        if any(not session.parents & set(ids) for session in self.sessions[1:]):
            _cannot_be("A session of the bundle has nothing to do with the one that was exported.")
        pinned = {run.workflow_hash for session in self.sessions for run in session.view.runs.values()}
        if pinned != self.programs.keys():
            _cannot_be("The bundle has programs that no run is pinned to.")


def checked_program(part: PinnedWorkflow) -> Program:
    """The program, when the bytes are those of one and all that it attaches is there."""
    try:
        program = program_from_bytes(part.program)
        same = program_bytes(program) == part.program
        sound = all(map(_is_sound, part.contents))
    except _STRANGE as error:
        _cannot_be(f"{part.workflow_hash} is not a program.", cause=error)
    if not same:
        _cannot_be(f"{part.workflow_hash} is not a program as it is written here.")
    if not sound:
        raise BundleIntegrityFailedError(
            f"What {part.workflow_hash} attaches is not what was written.",
            suggestion="Ask whoever sent the file to export it again, and to send it unchanged.",
        )
    wanted, brought = attached_to(program), [(content.digest, content.kind) for content in part.contents]
    if not wanted <= set(brought):
        raise BundleMissingPinnedWorkflowError(
            f"The bundle does not have all that {part.workflow_hash} attaches.",
            suggestion="Ask whoever sent the file to export the session again.",
        )
    if len(brought) != len(wanted):
        # They would be kept for all teams under their names.
        _cannot_be(f"The bundle has contents that {part.workflow_hash} does not attach, or one of them twice.")
    return program


def _is_sound(content: BundledContent) -> bool:
    document = None if content.document is None else msgspec.json.decode(content.document.encode())
    return is_named_by_content(digest=content.digest, text=content.text, document=document)


def _opened(head: BundledSession) -> ExaminedSession:
    try:
        dialects = {_run_of(run.run_id): Dialect(run.dialect) for run in head.runs}
    except ValueError as error:
        _cannot_be(f"The runs of {head.session_id[:80]} cannot be read.", cause=error)
    return ExaminedSession(session_id=_session_of(head.session_id), head=head, dialects=dialects)


def _run_of(text: str) -> UUID:
    found = from_text(Prefix.RUN, text)
    if found is None:
        raise ValueError(text)
    return found


def _session_of(text: str) -> UUID:
    found = from_text(Prefix.SESSION, text)
    if found is None or not 0 < birth_ms(found) < _LATEST_MS:
        _cannot_be("The bundle names a session by what is no id.")
    return found


def _without_body(event: dict[str, Any]) -> dict[str, Any]:
    """An output whose text is not held while the rest is read. What its digest says of it is checked now."""
    if event.get("kind") != EventKind.NODE_OUTPUT_APPENDED.value:
        return event
    data = event["data"]
    payload = data["payload"]
    body = output_body(payload)
    if payload.get("sha256", canonical.digest(body.encode())) != canonical.digest(body.encode()):
        raise BundleIntegrityFailedError(
            f"The output {str(data.get('outputId'))[:80]} is not what was handed in.",
            suggestion="Ask whoever sent the file to export it again, and to send it unchanged.",
        )
    kind = payload.get("artifactKind", "")
    if not isinstance(kind, str):
        raise TypeError(kind)
    return {**event, "data": {**data, "payload": {**_NO_NOTES, "artifactKind": kind}}}


def _cannot_be(message: str, *, cause: Exception | None = None) -> NoReturn:
    raise BundleContentInvalidError(
        message, suggestion="The file was not made by exporting a session. Import one that was."
    ) from cause
