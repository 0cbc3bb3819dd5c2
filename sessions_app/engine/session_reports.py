"""A session as a person reads it on paper: what was asked, done, noted, answered and left open. The same log, the same text."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sessions_app.engine.checkpoints import CheckpointState
from sessions_app.engine.log import NodeKind
from sessions_app.engine.projections import (
    GapView,
    OutputView,
    ProjectedNode,
    ProjectedRun,
    ProjectedSession,
    QuestionView,
)
from sessions_app.engine.runs import OutputChannel
from teams_app.engine import markdown
from teams_app.engine.ids import Prefix, to_text

_TICK = "`"
_FENCE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedOutput:
    """Notes are Markdown, an artifact is JSON of a kind."""

    body: str
    artifact_kind: str = ""
    is_artifact: bool = False
    superseded: bool = False

    @property
    def html(self) -> str:
        """Notes as HTML that can do nothing."""
        return markdown.render_markdown(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedStep:
    title: str
    at: str
    what: str
    outputs: tuple[ReportedOutput, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedQuestion:
    title: str
    message: str
    state: str
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedRun:
    name: str
    workflow_id: str
    workflow_hash: str
    goal: str
    status: str
    started: str
    steps: tuple[ReportedStep, ...]
    questions: tuple[ReportedQuestion, ...]
    gaps: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReport:
    title: str
    name: str
    events: int
    observed: Mapping[str, str]
    outputs: tuple[ReportedOutput, ...]
    runs: tuple[ReportedRun, ...]


def report_session(*, session_id: UUID, view: ProjectedSession, titles: Mapping[UUID, str]) -> SessionReport:
    """`titles` are what was pending at each node."""
    return SessionReport(
        title=view.title or "A session without a title",
        name=to_text(Prefix.SESSION, session_id),
        events=view.event_count,
        observed={key.value.replace("_", " "): value for key, value in sorted(view.observed.items())},
        outputs=tuple(_output(output) for output in view.outputs),
        runs=tuple(_run(run, titles) for run in view.runs.values()),
    )


def _run(run: ProjectedRun, titles: Mapping[UUID, str]) -> ReportedRun:
    handed_in: dict[UUID | None, list[OutputView]] = {}
    for output in run.outputs:
        handed_in.setdefault(output.to_node_id, []).append(output)
    return ReportedRun(
        name=to_text(Prefix.RUN, run.run_id),
        workflow_id=run.workflow_id,
        workflow_hash=run.workflow_hash,
        goal=run.goal,
        status=run.status.value.replace("_", " "),
        started=_moment(run.started_ms),
        steps=tuple(_step(run, node, titles, handed_in) for node in run.nodes.values()),
        questions=tuple(_question(run, question) for question in run.questions.values()),
        gaps=tuple(_gap(gap) for gap in run.gaps),
    )


def _step(
    run: ProjectedRun,
    node: ProjectedNode,
    titles: Mapping[UUID, str],
    handed_in: Mapping[UUID | None, list[OutputView]],
) -> ReportedStep:
    """What a node brought: the work that led to it, under the title of what was pending before."""
    before = titles.get(node.parent_id, "") if node.parent_id else ""
    return ReportedStep(
        title=before or run.workflow_id,
        at=_moment(node.created_ms),
        what=_WHAT[node.kind] if node.parent_id else "Begun",
        outputs=tuple(_output(output) for output in handed_in.get(node.node_id, ())),
    )


_WHAT = {
    NodeKind.STEP: "Done",
    NodeKind.BOOKMARK: "Noted on the way",
    NodeKind.BLOCKED_ATTEMPT: "Not accepted",
    NodeKind.GATE: "Asked",
}


def _output(output: OutputView) -> ReportedOutput:
    return ReportedOutput(
        body=output.body,
        artifact_kind=output.artifact_kind,
        is_artifact=output.channel is OutputChannel.ARTIFACT,
        superseded=output.superseded,
    )


def _question(run: ProjectedRun, question: QuestionView) -> ReportedQuestion:
    state = run.state_of(question)
    answer = ""
    if state is CheckpointState.ANSWERED:
        labels = {option["id"]: option["label"] for option in question.shown["options"]}
        answer = labels.get(question.option_id, question.option_id)
        answer += f" ({question.answered_as}{f', {question.answered_by}' if question.answered_by else ''})"
        answer += f": {question.reason}" if question.reason else ""
    return ReportedQuestion(
        title=question.shown["title"], message=question.shown["message"], state=state.value, answer=answer
    )


def _gap(gap: GapView) -> str:
    return f"{gap.severity.value}: {gap.summary}{' (resolved)' if gap.resolved_by else ''}"


def _moment(unix_ms: int) -> str:
    return datetime.fromtimestamp(unix_ms / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def write_markdown(report: SessionReport) -> str:
    """Markdown in which what agents wrote is quoted, so that it cannot pass for the report's own words."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: SessionReport) -> Iterator[str]:
    yield f"# {_line(report.title)}"
    yield ""
    yield f"{report.name}, {report.events} events."
    for key, value in report.observed.items():
        yield f"- {key}: {_line(value)}"
    for output in report.outputs:
        yield from _output_lines(output)
    for run in report.runs:
        yield ""
        yield f"## {_line(run.workflow_id)}: {run.status}"
        yield ""
        yield f"{run.name}, begun {run.started}, program {run.workflow_hash}."
        if run.goal:
            yield from ("", "Goal:", "", *_quoted(run.goal))
        for step in run.steps:
            yield from _step_lines(step)
        if run.questions:
            yield from ("", "### Questions", "")
        for question in run.questions:
            yield f"- {_line(question.title)} ({question.state}): {_line(question.message)}"
            if question.answer:
                yield f"  - {_line(question.answer)}"
        if run.gaps:
            yield from ("", "### Gaps", "", *(f"- {_line(gap)}" for gap in run.gaps))


def _step_lines(step: ReportedStep) -> Iterator[str]:
    yield ""
    yield f"### {_line(step.title)}"
    yield ""
    yield f"{step.what}, {step.at}."
    for output in step.outputs:
        yield from _output_lines(output)


def _output_lines(output: ReportedOutput) -> Iterator[str]:
    yield ""
    if output.superseded:
        yield from ("Replaced by a later one:", "")
    if output.is_artifact:
        fence = _TICK * max(_FENCE, _longest_run(output.body) + 1)
        yield from (f"Artifact {_line(output.artifact_kind)}:", "", f"{fence}json", output.body, fence)
    else:
        yield from _quoted(output.body)


def _quoted(text: str) -> Iterator[str]:
    yield from (f"> {line}".rstrip() for line in text.splitlines())


def _line(text: str) -> str:
    return " ".join(text.split())


def _longest_run(text: str) -> int:
    longest = at = 0
    for character in text:
        at = at + 1 if character == _TICK else 0
        longest = max(longest, at)
    return longest
