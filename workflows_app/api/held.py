"""What a workflow holds beside its steps, its other names, and a walk through it, by REST."""

from typing import Annotated, Any

import msgspec
from rest_framework.views import APIView

from teams_app.api.endpoints import Call, Shape, operation
from teams_app.engine.errors import NotFoundError
from workflows_app.engine.program import Attachment
from workflows_app.engine.simulate import SimulatedOutcome, Simulation
from workflows_app.engine.values import AliasValue
from workflows_app.engine.walks import FailureKind
from workflows_app.selectors import extensions, sources
from workflows_app.selectors.handed_out import AttachmentText, HandedOut, list_attachments, read_attachment
from workflows_app.services.editing import MAX_ROUNDS, try_out


class AttachmentAnswer(Shape, frozen=True):
    """`index` is what a guide or a template is read by: its number, or its name where it has none of its own."""

    id: str
    index: str
    title: str
    summary: str
    version: str
    format: str
    owner: str
    digest: str

    @staticmethod
    def of(value: Attachment) -> "AttachmentAnswer":
        return AttachmentAnswer.taken(value)


class AttachmentsAnswer(Shape, frozen=True):
    items: list[AttachmentAnswer]


class AttachmentTextAnswer(Shape, frozen=True):
    """`text` is as it was written."""

    attachment: AttachmentAnswer
    text: str

    @staticmethod
    def of(value: AttachmentText) -> "AttachmentTextAnswer":
        return AttachmentTextAnswer(attachment=AttachmentAnswer.of(value.attachment), text=value.text)


class AliasAnswer(Shape, frozen=True):
    alias: str
    workflow: str

    @staticmethod
    def of(value: AliasValue) -> "AliasAnswer":
        return AliasAnswer(alias=value.alias, workflow=value.workflow_id)


class AliasesAnswer(Shape, frozen=True):
    items: list[AliasAnswer]


class SimulationBody(Shape, frozen=True):
    """`answers` by the id of a step or a checkpoint: `context`, `artifacts`, or the `option` that is chosen there."""

    revision: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)] | None = None
    context: dict[str, Any] = msgspec.field(default_factory=dict)
    answers: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    rounds: Annotated[int, msgspec.Meta(ge=1, le=MAX_ROUNDS)] = 1


class StopAnswer(Shape, frozen=True):
    """One item on the way, and why the walk came to it."""

    key: str
    kind: str
    title: str
    activity: str
    why: list[str]


class FailureAnswer(Shape, frozen=True):
    """`keys` are the variables whose value would let the walk go on."""

    kind: FailureKind
    message: str
    item: str
    keys: list[str]


class SimulationAnswer(Shape, frozen=True):
    outcome: SimulatedOutcome
    path: list[StopAnswer]
    variables: dict[str, Any]
    failure: FailureAnswer | None

    @staticmethod
    def of(value: Simulation) -> "SimulationAnswer":
        failed = value.failure
        return SimulationAnswer(
            outcome=value.outcome,
            path=[
                StopAnswer(
                    key=stop.key,
                    kind=stop.kind,
                    title=stop.title,
                    activity=stop.activity,
                    why=[note.summary for note in stop.why],
                )
                for stop in value.path
            ],
            variables=dict(value.variables),
            failure=None
            if failed is None
            else FailureAnswer(kind=failed.kind, message=failed.message, item=failed.item, keys=list(failed.keys)),
        )


class AttachmentsView(APIView):
    @operation(summary="The skills, guides (resources) or templates of a published workflow")
    def get(self, *, call: Call, workflow: str, held: str) -> AttachmentsAnswer:
        found = list_attachments(actor=call.actor, workflow_id=workflow, held=_held(held))
        return AttachmentsAnswer(items=[AttachmentAnswer.of(each) for each in found])


class AttachmentView(APIView):
    @operation(summary="A skill by its name, a guide or a template by its number or name, as it was written")
    def get(self, *, call: Call, workflow: str, held: str, name: str) -> AttachmentTextAnswer:
        found = read_attachment(actor=call.actor, workflow_id=workflow, held=_held(held), name=name)
        return AttachmentTextAnswer.of(found)


class AliasesView(APIView):
    @operation(summary="The other names that the team has given to workflows")
    def get(self, *, call: Call) -> AliasesAnswer:
        return AliasesAnswer(items=[AliasAnswer.of(each) for each in extensions.list_aliases(actor=call.actor)])


class SimulationView(APIView):
    @operation(summary="Walk a revision with a context and answers of your own; nothing is written")
    def post(self, *, call: Call, workflow: str, body: SimulationBody) -> SimulationAnswer:
        program = sources.read_program(actor=call.actor, workflow_id=workflow, number=body.revision)
        walked = try_out(
            actor=call.actor, program=program, variables=body.context, answers=body.answers, rounds=body.rounds
        )
        return SimulationAnswer.of(walked)


def _held(word: str) -> HandedOut:
    if word not in {each.value for each in HandedOut}:
        raise NotFoundError(
            "There is nothing at this address.",
            suggestion=f"A workflow has: {', '.join(each.value for each in HandedOut)}.",
        )
    return HandedOut(word)
