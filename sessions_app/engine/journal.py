"""Writes down one decision: its events in the order of the log, its outputs and its gaps."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from sessions_app.engine import checkpoints, drafts, outputs
from sessions_app.engine.checkpoints import Authority, CheckpointState, Closing, Shown, Voice
from sessions_app.engine.decisions import (
    Decision,
    IdentifiedGap,
    NewlyAsked,
    Outcome,
    OutputDraft,
    Place,
    PreferenceSource,
    Warned,
    derive_id,
)
from sessions_app.engine.findings import Artifact, Findings, Graded
from sessions_app.engine.log import EdgeCause, EdgeKind, EventDraft, EventKind, NodeKind
from sessions_app.engine.reasons import Gap, GapSeverity
from sessions_app.engine.runs import OutputChannel, RunStatus, status_of
from sessions_app.engine.state import (
    CapabilityProvenance,
    HandedIn,
    OpenQuestion,
    Preferences,
    Snapshot,
    Stop,
    snapshot_bytes,
)
from sessions_app.engine.submissions import Submission
from teams_app.engine.ids import Prefix, to_text, uuid7
from workflows_app.engine import canonical
from workflows_app.engine.program import Program
from workflows_app.engine.walks import Note

MAX_TRACE_ENTRIES = 25
MAX_TRACE_BYTES = 8192
MAX_TRACE_SUMMARY_BYTES = 512


class Journal:
    """Collects the drafts of one decision in the order in which they stand in the log."""

    def __init__(self, place: Place, *, asked: OpenQuestion | None = None, voice: Voice = checkpoints.NOBODY) -> None:
        """`asked` is the question that is open where the decision is taken, `voice` whoever may answer it with it."""
        self.place = place
        self.asked = asked
        self.voice = voice
        self.drafts: list[EventDraft] = []
        self._after: list[EventDraft] = []
        self._asked: list[NewlyAsked] = []
        self._closings: list[Closing] = []
        self.run = to_text(Prefix.RUN, place.run_id)
        self.node = to_text(Prefix.NODE, place.node_id) if place.node_id else ""
        self.next = to_text(Prefix.NODE, place.next_node)
        self.attempt = to_text(Prefix.ATTEMPT, place.attempt_id)

    def _add(self, kind: EventKind, parts: str, data: Mapping[str, Any], *, node: UUID | None = None) -> None:
        self.drafts.append(
            EventDraft(
                kind=kind,
                dedupe=f"{kind.value}:{parts}",
                data=data,
                run_id=self.place.run_id,
                node_id=node or self.place.node_id,
            ),
        )

    def run_started(self, program: Program, goal: str, *, bundled: bool, trigger: str) -> None:
        data = {
            "workflowId": self.place.workflow_id,
            "workflowHash": self.place.workflow_hash,
            "workflowSourceKind": "bundled" if bundled else "team",
            "triggerSource": trigger,
            "title": program.title,
            "goal": goal,
        }
        self._add(EventKind.RUN_STARTED, self.run, data)

    def advance_recorded(self, outcome: Outcome, blockers: Iterable[Any]) -> None:
        said: dict[str, Any] = {"kind": outcome.value, "toNodeId": self.next}
        if outcome is Outcome.BLOCKED:
            said["blockers"] = [blocker.as_json() for blocker in blockers]
        data = {"attemptId": self.attempt, "intent": "ack_pending", "outcome": said}
        self._add(EventKind.ADVANCE_RECORDED, f"{self.node}:{self.attempt}", data)

    def gaps(self, gaps: tuple[Gap, ...]) -> tuple[IdentifiedGap, ...]:
        identified = []
        for index, gap in enumerate(gaps):
            gap_id = derive_id("gap", self.place.attempt_id.bytes, str(index).encode())
            draft = drafts.gap_draft(gap_id=gap_id, gap=gap, run_id=self.place.run_id, node_id=self._at())
            self.drafts.append(draft)
            identified.append(IdentifiedGap(gap_id=gap_id, gap=gap))
        return tuple(identified)

    def preferences(
        self, now: Preferences, before: Preferences, source: PreferenceSource, warnings: Iterable[Warned]
    ) -> None:
        delta = [
            {"key": key, "value": value}
            for key, value in now.as_json().items()
            if source is PreferenceSource.SYSTEM or before.as_json().get(key) != value
        ]
        data = {
            "changeId": f"pref_{self.attempt}",
            "source": source.value,
            "delta": delta,
            "effective": now.as_json(),
            "warnings": [warned.as_json() for warned in warnings],
        }
        self._add(EventKind.PREFERENCES_CHANGED, f"{self.run}:{self.next}", data, node=self._at())

    def context(self, delta: Mapping[str, Any], *, source: str) -> None:
        data = {"contextId": f"ctx_{self.attempt}", "source": source, "delta": dict(delta)}
        self._add(EventKind.CONTEXT_SET, f"{self.run}:{self.attempt}", data, node=self._at())

    def findings(
        self,
        findings: Findings,
        submission: Submission,
        *,
        contract: str = "",
        retried: bool = False,
        answered_by: Authority | None = Authority.RELAYED,
    ) -> None:
        """What was handed in said. `retried` tells that the attempt before this one failed a check; `answered_by` on
        whose authority an answer is taken, None when it is not.
        """
        if submission.context:
            self.context(submission.context, source="agent_delta")
        if findings.issues or retried:
            self._validated(findings, contract)
        for index, artifact in enumerate(findings.observations):
            self._observed(index, artifact)
        for index, artifact in enumerate(findings.divergences):
            said = {key: value for key, value in artifact.items() if key != "kind"}
            self._add(
                EventKind.DIVERGENCE_RECORDED,
                f"{self.attempt}:{index}",
                {"divergenceId": f"div_{self.attempt}_{index}", "attemptId": self.attempt, **said},
            )
        for graded in findings.graded:
            self._graded(graded)
        for index, applied in enumerate(findings.applied):
            self._add(
                EventKind.ASSESSMENT_CONSEQUENCE_APPLIED,
                f"{self.attempt}:{index}",
                {
                    "attemptId": self.attempt,
                    "assessmentId": applied.assessment,
                    "trigger": {"dimensionId": applied.dimension, "level": applied.level},
                    "effect": {"kind": "require_followup", "guidance": applied.guidance},
                },
            )
        chosen = checkpoints.APPROVE if findings.approved else findings.answer.id if findings.answer else ""
        if chosen and answered_by:
            self.answered(chosen, authority=answered_by)

    def answered(self, option_id: str, *, authority: Authority) -> None:
        """The question that is open here is answered; without an option its condition dismissed it."""
        data: dict[str, Any] = {"attemptId": self.attempt, "optionId": option_id, "authority": authority.value}
        if self.asked is not None:
            request = UUID(hex=self.asked.request)
            data |= {"request": to_text(Prefix.CHECKPOINT, request), "digest": self.asked.digest, "toNodeId": self.next}
            said = {"actor": self.voice.who, "door": self.voice.door, "reason": self.voice.reason}
            data |= {key: text for key, text in said.items() if text}
            self._closings.append(
                Closing(
                    request=request,
                    state=CheckpointState.ANSWERED,
                    option=option_id,
                    authority=authority,
                    voice=self.voice,
                )
            )
        self._add(EventKind.CHECKPOINT_ANSWERED, f"{self.node}:{self.attempt}", data)

    def ask(self, program: Program, snapshot: Snapshot, *, stays: bool = False) -> Snapshot:
        """The snapshot of a new node, with the question that is open there. `stays` tells that the same item is pending.

        A question that stays is not asked again, unless it reads differently now: then the old one is stale. One that is
        left without an answer waits where it was asked. A run that is handed over asks by `present`.
        """
        if snapshot.is_handed_over:
            return snapshot
        held = self.asked if stays else None
        shown = checkpoints.shown_at(program=program, snapshot=snapshot, default_due_ms=self.place.due_ms)
        if held is not None and shown is not None and held.digest == shown.digest:
            return replace(snapshot, questions=(held,))
        if self.asked is not None and not self._closings:
            # Only what a newer question replaces is stale: without one the log tells of nothing that changed.
            state = CheckpointState.STALE if stays and shown is not None else CheckpointState.WITHDRAWN
            self._closings = [Closing(request=UUID(hex=self.asked.request), state=state)]
        if shown is None:
            return replace(snapshot, questions=())
        data = shown.as_json()
        if held is not None:
            data["replaces"] = to_text(Prefix.CHECKPOINT, UUID(hex=held.request))
        self._presented(self.place.next_node, shown, self.next, data)
        return replace(snapshot, questions=(self._open(self.place.next_node, shown),))

    def present(self, shown: Shown, *, in_place_of: OpenQuestion | None = None) -> OpenQuestion:
        """One of several questions that are asked at the new node; each has a row and a name of its own. One that was asked in
        other words is stale.
        """
        unique = hashlib.sha256(self.place.next_node.bytes + shown.instance.encode("utf-8")).digest()
        request = uuid7(unix_ms=self.place.at_ms, random=unique[:10])
        name = to_text(Prefix.CHECKPOINT, request)
        data = {**shown.as_json(), "request": name}
        if in_place_of is not None:
            held = UUID(hex=in_place_of.request)
            self._closings.append(Closing(request=held, state=CheckpointState.STALE))
            data["replaces"] = to_text(Prefix.CHECKPOINT, held)
        self._presented(request, shown, name, data)
        return self._open(request, shown)

    def _open(self, request: UUID, shown: Shown) -> OpenQuestion:
        return OpenQuestion(
            checkpoint=shown.checkpoint_id,
            instance=shown.instance,
            request=request.hex,
            digest=shown.digest,
            presented_ms=self.place.at_ms,
            human=shown.authority is Authority.HUMAN,
        )

    def withdraw(self, question: OpenQuestion) -> None:
        """Nobody has to answer it any more: the run is led elsewhere."""
        self._closings.append(Closing(request=UUID(hex=question.request), state=CheckpointState.WITHDRAWN))

    def stopped(self, stop: Stop) -> None:
        self._add(EventKind.RUN_STOPPED, f"{self.run}:{self.next}", stop.as_json(), node=self._at())

    def resumed(self, by: str) -> None:
        self._add(EventKind.RUN_RESUMED, f"{self.run}:{self.next}", {"by": by}, node=self._at())

    def preferred(self, voice: Voice) -> None:
        said = {"by": voice.who, **({"reason": voice.reason} if voice.reason else {})}
        self._add(EventKind.BRANCH_PREFERRED, f"{self.run}:{self.next}", said)

    def activity_entered(self, activity_id: str, visit: int, *, claim: str | None) -> None:
        data: dict[str, Any] = {"activityId": activity_id, "visit": visit, "attemptId": self.attempt}
        if claim is not None:
            data["claimedCondition"] = claim
        self._add(EventKind.ACTIVITY_ENTERED, f"{self.attempt}:{activity_id}", data, node=self._at())

    def _presented(self, request: UUID, shown: Shown, name: str, data: Mapping[str, Any]) -> None:
        self._asked.append(NewlyAsked(request=request, shown=shown))
        self._after.append(
            EventDraft(
                kind=EventKind.CHECKPOINT_PRESENTED,
                dedupe=f"{EventKind.CHECKPOINT_PRESENTED.value}:{name}",
                data=data,
                run_id=self.place.run_id,
                node_id=self.place.next_node,
            ),
        )

    def _validated(self, findings: Findings, contract: str) -> None:
        result = {
            "valid": not findings.issues,
            "issues": _bounded(findings.issues),
            "suggestions": _bounded(findings.suggestions),
        }
        data = {
            "validationId": f"val_{self.attempt}",
            "attemptId": self.attempt,
            "contractRef": contract,
            "result": result,
        }
        self._add(EventKind.VALIDATION_PERFORMED, self.attempt, data)

    def _observed(self, index: int, artifact: Artifact) -> None:
        provenance = {"kind": artifact.get("provenance", CapabilityProvenance.MANUAL_CLAIM.value)}
        provenance |= {key: artifact[key] for key in ("detail", "failureCode") if key in artifact}
        self._add(
            EventKind.CAPABILITY_OBSERVED,
            f"{self.attempt}:{index}",
            {
                "capObsId": f"cap_{self.attempt}_{index}",
                "attemptId": self.attempt,
                "capability": artifact["capability"],
                "status": artifact["status"],
                "provenance": provenance,
            },
        )

    def _graded(self, graded: Graded) -> None:
        dimensions = [
            {
                "dimensionId": dimension,
                "level": level,
                "rationale": graded.rationales.get(dimension, ""),
                "normalization": "normalized" if dimension in graded.normalized else "exact",
            }
            for dimension, level in sorted(graded.levels.items())
        ]
        data = {
            "attemptId": self.attempt,
            "assessmentId": graded.assessment,
            "summary": graded.summary,
            "dimensions": dimensions,
        }
        self._add(EventKind.ASSESSMENT_RECORDED, f"{self.attempt}:{_dedupe_part(graded.assessment)}", data)

    def trace(self, notes: tuple[Note, ...]) -> None:
        entries = _trace_entries(notes)
        if self.place.has_children:
            entries.insert(
                0, {"kind": "detected_non_tip_advance", "summary": "The acknowledged node had a successor already."}
            )
        if entries:
            said = entries[:MAX_TRACE_ENTRIES]
            data = {"traceId": f"trace_{self.attempt}", "attemptId": self.attempt, "entries": said}
            self._add(EventKind.DECISION_TRACE_APPENDED, self.attempt, data, node=self._at())

    def prepare_outputs(self, submission: Submission, earlier: tuple[HandedIn, ...] = ()) -> tuple[OutputDraft, ...]:
        """Notes first, then artifacts by digest; what a retry hands in supersedes what was blocked, kind by kind."""
        prepared = (*self._recap(submission, earlier), *self._artifacts(submission, earlier))
        for output in prepared:
            self._output(output)
        return prepared

    def _recap(self, submission: Submission, earlier: tuple[HandedIn, ...]) -> tuple[OutputDraft, ...]:
        if not submission.notes.strip():
            return ()
        notes = outputs.cut_notes(submission.notes)
        return (
            OutputDraft(
                output_id=derive_id("recap", self.place.attempt_id.bytes),
                channel=OutputChannel.RECAP,
                body=notes,
                sha256=canonical.digest(notes.encode("utf-8")),
                supersedes=next((UUID(hex=before.output) for before in earlier if not before.artifact_kind), None),
            ),
        )

    def _artifacts(self, submission: Submission, earlier: tuple[HandedIn, ...]) -> tuple[OutputDraft, ...]:
        bodies = sorted(
            (canonical.digest(body), body, str(artifact.get("kind", "")))
            for artifact in submission.artifacts
            for body in [canonical.canonical_bytes(dict(artifact))]
        )
        replaced = list(earlier)
        return tuple(
            OutputDraft(
                output_id=derive_id("artifact", self.place.attempt_id.bytes, str(index).encode()),
                channel=OutputChannel.ARTIFACT,
                body=body.decode("utf-8"),
                sha256=sha256,
                artifact_kind=kind,
                supersedes=_taken(replaced, kind),
            )
            for index, (sha256, body, kind) in enumerate(bodies)
        )

    def _output(self, output: OutputDraft) -> None:
        name = outputs.output_name(channel=output.channel, output_id=output.output_id)
        data: dict[str, Any] = {"outputId": name, "outputChannel": output.channel.value}
        if output.supersedes is not None:
            data["supersedesOutputId"] = outputs.output_name(channel=output.channel, output_id=output.supersedes)
        data["payload"] = outputs.payload(
            channel=output.channel, body=output.body, sha256=output.sha256, kind=output.artifact_kind
        )
        self._after.append(
            EventDraft(
                kind=EventKind.NODE_OUTPUT_APPENDED,
                dedupe=f"{EventKind.NODE_OUTPUT_APPENDED.value}:{name}",
                data=data,
                run_id=self.place.run_id,
                node_id=self.place.node_id,
            ),
        )

    def decision(
        self,
        *,
        outcome: Outcome,
        snapshot: Snapshot,
        node_kind: NodeKind,
        outputs: tuple[OutputDraft, ...] = (),
        gaps: tuple[IdentifiedGap, ...] = (),
        warnings: tuple[Warned, ...] = (),
        step_context: Mapping[str, Any] | None = None,
    ) -> Decision:
        data = snapshot_bytes(snapshot)
        digest = canonical.digest(data)
        if (
            snapshot.is_complete
            and snapshot.stop is None
            and node_kind is NodeKind.STEP
            and outcome is not Outcome.PREFERENCES_CHANGED
        ):
            self._add(EventKind.RUN_COMPLETED, f"{self.run}:{self.next}", {"nodeId": self.next}, node=self._at())
        node_draft = len(self.drafts)
        self._node(node_kind, snapshot, digest)
        edge_kind, edge_cause = self._edge(node_kind)
        self.drafts.extend(self._after)
        return Decision(
            place=self.place,
            outcome=outcome,
            snapshot=snapshot,
            snapshot_data=data,
            snapshot_digest=digest,
            node_kind=node_kind,
            edge_kind=edge_kind,
            edge_cause=edge_cause,
            drafts=tuple(self.drafts),
            status=self._status(snapshot, gaps),
            outputs=outputs,
            gaps=gaps,
            warnings=warnings,
            node_draft=node_draft,
            step_context=step_context,
            asked=tuple(self._asked),
            closings=tuple(self._closings),
        )

    def _node(self, kind: NodeKind, snapshot: Snapshot, digest: str) -> None:
        data: dict[str, Any] = {
            "nodeKind": kind.value,
            "parentNodeId": self.node or None,
            "workflowHash": self.place.workflow_hash,
            "snapshotRef": digest,
            "preferences": snapshot.preferences.as_json(),
            "pending": snapshot.position.pending,
        }
        names = [to_text(Prefix.CHECKPOINT, UUID(hex=request)) for request in snapshot.requests]
        if names:
            data["asked"] = names
        if snapshot.stop is not None:
            data["stopped"] = snapshot.stop.kind.value
        self._add(EventKind.NODE_CREATED, self.next, data, node=self.place.next_node)

    def _edge(self, kind: NodeKind) -> tuple[EdgeKind | None, EdgeCause | None]:
        if not self.node:
            return None, None
        edge = EdgeKind.BOOKMARK if kind is NodeKind.BOOKMARK else EdgeKind.ACKED_STEP
        if edge is EdgeKind.BOOKMARK:
            cause = EdgeCause.CHECKPOINT_CREATED
        else:
            cause = EdgeCause.NON_TIP_ADVANCE if self.place.has_children else EdgeCause.TIP_ADVANCE
        data = {
            "edgeKind": edge.value,
            "fromNodeId": self.node,
            "toNodeId": self.next,
            "cause": {"kind": cause.value, "attemptId": self.attempt},
        }
        self._add(EventKind.EDGE_CREATED, f"{self.node}->{self.next}:{edge.value}", data)
        return edge, cause

    def _status(self, snapshot: Snapshot, gaps: tuple[IdentifiedGap, ...]) -> RunStatus:
        critical = any(identified.gap.severity is GapSeverity.CRITICAL for identified in gaps)
        return status_of(
            stop=snapshot.stop.kind if snapshot.stop else None,
            has_questions=bool(snapshot.questions),
            is_blocked=snapshot.blocked is not None,
            is_complete=snapshot.position.complete,
            has_gaps=critical or self.place.has_critical_gaps,
        )

    def _at(self) -> UUID:
        return self.place.node_id or self.place.next_node


def _taken(replaced: list[HandedIn], kind: str) -> UUID | None:
    """The first of that kind, which is thereby replaced."""
    found = next((before for before in replaced if kind and before.artifact_kind == kind), None)
    if found is None:
        return None
    replaced.remove(found)
    return UUID(hex=found.output)


def _bounded(issues: list[str]) -> list[str]:
    return [outputs.cut_text(issue, max_bytes=512, marker="…") for issue in issues[:8]]


def _dedupe_part(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def _trace_entries(notes: tuple[Note, ...]) -> list[dict[str, Any]]:
    """The last notes that fit: where the walk arrived says more than what it passed by first."""
    entries: list[dict[str, Any]] = []
    room = MAX_TRACE_BYTES
    for note in reversed(notes):
        entry = _trace_entry(note)
        room -= len(entry["summary"].encode("utf-8")) + 64
        if room < 0 or len(entries) == MAX_TRACE_ENTRIES - 1:
            break
        entries.append(entry)
    entries.reverse()
    return entries


def _trace_entry(note: Note) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "kind": note.kind.value,
        "summary": outputs.cut_text(note.summary, max_bytes=MAX_TRACE_SUMMARY_BYTES, marker="…"),
    }
    refs = {"stepId": note.item, "loopId": note.loop}
    said = {key: value for key, value in refs.items() if value}
    if note.iteration is not None:
        said["iteration"] = str(note.iteration)
    if said:
        entry["refs"] = said
    return entry
