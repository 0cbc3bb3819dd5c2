"""The kinds of gates, each in a small workflow of one shape: what leads to the gate, what is gated, and what stands behind it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from tests.activity_folders import activity, checkpoint, folder, step as activity_step, workflow
from tests.checkpoint_cast import publish_folder
from tests.gate_play import APPROVAL, COMPLETE, asking_folder
from tests.run_cast import notes_free, published
from tests.step_documents import loop, step, workflow as step_workflow
from tests.workflow_cast import NOW, publish, source_of
from workflows_app.engine.contracts import BUILT_IN
from workflows_app.engine.source import Source, SourceFormat
from workflows_app.models import Revision
from workflows_app.services.workflows import revise_workflow

VERDICT = "wr.contracts.review_verdict"
CHILD, PARENT = "team.child", "team.parent"
PROBE = "wr-probe.web_browsing"
SHOWS_RESULT = {"type": "contains", "value": "Result:", "message": "Say what came of it."}
OBSERVED = {"kind": "wr.capability_observation", "capability": "web_browsing", "status": "available"}


class Kind(StrEnum):
    """What an answer, an artifact or a value is waited for by."""

    APPROVAL = "approval"
    CONDITIONAL_APPROVAL = "conditional_approval"
    LOOP_APPROVAL = "loop_approval"
    PEOPLES_QUESTION = "peoples_question"
    UNNAMED_QUESTION = "unnamed_question"
    RELAYED_QUESTION = "relayed_question"
    CONTRACT = "contract"
    JUDGED_NOTES = "judged_notes"
    CAPABILITY = "capability"
    CONTEXT = "context"


@dataclass(frozen=True, kw_only=True)
class Gated:
    """A workflow with one gate. `lead` is done before it, `gated` waits at it, `after` and `onward` are behind it.

    `question` is the id that the question has, where one is asked; `loop` the loop around the gate; `hands_in` the artifacts,
    `notes` the words and `context` the values that satisfy what a program demands.
    """

    publish: Callable[[object, str], str]
    lead: tuple[str, ...] = ("before",)
    gated: str = "gated"
    activity: str = "main"
    onward: str = "workflow-end"
    question: str = ""
    loop: str = ""
    behind: frozenset[str] = frozenset({"after", COMPLETE})
    hands_in: tuple[dict, ...] = ()
    notes: str = ""
    context: dict = field(default_factory=dict)


def _steps(*middle, **fields):
    def publish(desk, workflow_id):
        items = (notes_free("before"), *middle, notes_free("after"))
        return published(desk, *items, workflow_id=workflow_id, **fields)

    return publish


def _folder(**question):
    def publish(desk, workflow_id):
        return asking_folder(desk, workflow_id=workflow_id, triggers=[CHILD], **question)

    return publish


def _unnamed(desk, workflow_id):
    """No step names what a person is asked, and one names what the agent's user may answer whenever it is asked."""
    other = checkpoint("other", required=False)
    steps = [activity_step("draft", checkpoint="other"), activity_step("after")]
    return asking_folder(
        desk, workflow_id=workflow_id, triggers=[CHILD], steps=steps, others=[other], authority="human"
    )


_BEHIND_QUESTION = frozenset({"after", "make", "again", COMPLETE})

KINDS = {
    Kind.APPROVAL: Gated(publish=_steps(notes_free("gated", requireConfirmation=APPROVAL)), question="gated"),
    Kind.CONDITIONAL_APPROVAL: Gated(
        publish=_steps(
            notes_free("gated", requireConfirmation={**APPROVAL, "condition": {"var": "risk", "not_equals": "none"}})
        ),
        question="gated",
    ),
    Kind.LOOP_APPROVAL: Gated(
        publish=_steps(
            loop("rounds", [notes_free("inner")], type="for", count=1, maxIterations=3)
            | {"requireConfirmation": APPROVAL}
        ),
        gated="inner",
        question="rounds",
        loop="rounds",
    ),
    Kind.PEOPLES_QUESTION: Gated(
        publish=_folder(authority="human"),
        lead=("draft",),
        gated="",
        question="agreed",
        activity="plan",
        onward="build",
        behind=_BEHIND_QUESTION,
    ),
    Kind.UNNAMED_QUESTION: Gated(
        publish=_unnamed,
        lead=(),
        gated="",
        question="agreed",
        activity="plan",
        onward="build",
        behind=_BEHIND_QUESTION | {"draft"},
    ),
    Kind.RELAYED_QUESTION: Gated(
        publish=_folder(),
        lead=("draft",),
        gated="",
        question="agreed",
        activity="plan",
        onward="build",
        behind=_BEHIND_QUESTION,
    ),
    Kind.CONTRACT: Gated(
        publish=_steps(notes_free("gated", outputContract={"contractRef": VERDICT})),
        hands_in=(BUILT_IN[VERDICT].example,),
    ),
    Kind.JUDGED_NOTES: Gated(
        publish=_steps(step("gated", validationCriteria=[SHOWS_RESULT])),
        notes="Result: 3 tests passed.",
    ),
    Kind.CAPABILITY: Gated(
        publish=_steps(capabilities={"web_browsing": "required"}),
        lead=(),
        gated=PROBE,
        behind=frozenset({"before", "after", COMPLETE}),
        hands_in=(OBSERVED,),
    ),
    Kind.CONTEXT: Gated(
        publish=_steps(loop("rounds", [notes_free("inner")], type="forEach", items="files")),
        lead=(),
        gated="before",
        loop="rounds",
        behind=frozenset({"inner", "after", COMPLETE}),
        context={"files": ["one"]},
    ),
}


def publish_ungated(desk, workflow_id, gate):
    """The next revision of a gated workflow, with the same steps and nothing that waits for anybody."""
    if gate.activity == "plan":
        plan = activity("plan", steps=[activity_step("draft"), activity_step("after")], transitions=[{"to": "build"}])
        about = workflow(id=workflow_id, description="Asks nothing.", initialActivity="plan")
        files = folder(plan, activity("build", steps=[activity_step("make")]), about=about)
        source = Source(format=SourceFormat.ACTIVITY_FOLDER, files=files)
    else:
        ids = dict.fromkeys(("before", gate.gated, "after"))
        source = source_of(
            step_workflow(*(notes_free(name) for name in ids if name and "." not in name), id=workflow_id)
        )
    latest = Revision.objects.filter(workflow__workflow_id=workflow_id).count()
    saved = revise_workflow(
        actor=desk.person, workflow_id=workflow_id, source=source, base_revision=latest, message="", now=NOW
    )
    publish(desk.person, workflow_id, number=saved.revision.number)


def publish_parent(desk, child_id, workflow_id=PARENT):
    """`plan` of it may trigger the child; `build` follows."""
    plan = activity(
        "plan", steps=[activity_step("draft")], triggers=[{"workflow": child_id}], transitions=[{"to": "build"}]
    )
    about = workflow(id=workflow_id, title=workflow_id, initialActivity="plan")
    return publish_folder(
        desk, folder(plan, activity("build", steps=[activity_step("make")]), about=about), workflow_id
    )


def publish_child(desk, workflow_id=CHILD):
    """Nothing in it is gated."""
    only = activity("only", steps=[activity_step("do")])
    about = workflow(id=workflow_id, title=workflow_id, initialActivity="only")
    return publish_folder(desk, folder(only, about=about), workflow_id)
