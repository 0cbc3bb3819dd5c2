"""The tools of the lookup dialect, by the names of its contract. The client keeps its place; nothing is begun here."""

from collections.abc import Mapping
from typing import Any, ClassVar, assert_never

import orjson

from sessions_app.engine.steering_refusals import StepNotFoundError
from teams_app.engine.errors import PreconditionFailedError
from workflows_app.engine import lookup, step_documents
from workflows_app.engine.activities.prompts import what_holds_in
from workflows_app.engine.activities.references import SkillNames, readable_leading_skills
from workflows_app.engine.budgets import fit_bytes
from workflows_app.engine.json_schemas import SCHEMAS
from workflows_app.engine.placeholders import render
from workflows_app.engine.problems import WorkflowProblem, did_you_mean
from workflows_app.engine.program import Program, Step
from workflows_app.engine.source import Source, SourceFormat
from workflows_app.engine.values import WorkflowValue
from workflows_app.engine.walks import Failure, FailureKind
from workflows_app.selectors.catalog import count_published, list_published, read_published
from workflows_app.selectors.handed_out import HandedOut, attachment_of
from workflows_app.services.workflows import validate_source
from workrail_site.dialects.activities.printing import fits
from workrail_site.dialects.activities.resources import part_in, parts_of
from workrail_site.dialects.inherited import told_whole
from workrail_site.dialects.introductions import INTRODUCTIONS
from workrail_site.dialects.lookup import declared, parameters as given
from workrail_site.dialects.lookup.faults import fault_of
from workrail_site.dialects.lookup.sessions import check_session
from workrail_site.mcp.answers import MAX_REPLY_BYTES, ToolReply, as_many_as_fit
from workrail_site.mcp.calling import acting
from workrail_site.mcp.library import MCPToolset
from workrail_site.mcp.toolsets import DialectServer, Hints, hinted

# What a list keeps of each description, and of all of them together.
_DESCRIPTION_BYTES, _DESCRIPTIONS_BYTES = 300, 24_000
_NO_CATEGORY = "default"
_OF_THE_CLIENT = frozenset({FailureKind.MISSING_CONTEXT, FailureKind.MAX_ITERATIONS, FailureKind.UNMET})
_OF_THE_AUTHOR = "No call mends this. Show it to the author of the workflow."
_ADJUST = "Change the output so that it does what the step asks for, then validate it again."

server = DialectServer(INTRODUCTIONS["lookup"], faults=fault_of)


class LookupTools(MCPToolset):  # type: ignore[misc]  # the library has no types
    mcp_server = server
    renamed: ClassVar[Mapping[str, Mapping[str, str]]] = {"workflow_get": {"workflowId": "id"}}

    @hinted(Hints(title="List workflows", read_only=True, idempotent=True, bounds=True, declares=declared.LIST))
    def workflow_list(self, *, session_id: given.SessionId = None) -> ToolReply:
        """Lists all available workflows"""
        check_session(session_id)
        actor = acting()
        found = list_published(actor=actor)
        omitted = count_published(actor=actor) - len(found)
        told = [_summary(each, len(found)) for each in found]
        kept = as_many_as_fit(told, lambda kept: _told({"workflows": kept}), omitted=omitted).value
        return _told(kept)

    @hinted(Hints(title="Read a workflow", read_only=True, idempotent=True, bounds=True, declares=declared.GET))
    def workflow_get(
        self,
        *,
        id_: given.Id,
        mode: given.GetMode = given.Mode.FULL,
        skill: given.Skill = None,
        session_id: given.SessionId = None,
    ) -> ToolReply:
        """Retrieves a specific workflow by ID"""
        check_session(session_id)
        program = read_published(actor=acting(), workflow_id=id_)
        if skill is not None:
            return _skill_told(program, id_, skill)
        match mode:
            case given.Mode.FULL:
                whole = _told(_with_leading(step_documents.workflow_document(program), program, id_))
                return whole if len(whole.text.encode()) <= MAX_REPLY_BYTES else _shortened(program, id_)
            case given.Mode.PREVIEW:
                return _told(_with_leading(step_documents.workflow_preview(program), program, id_))
            case given.Mode.METADATA:
                counted = {**step_documents.overview(program), "totalSteps": step_documents.count_steps(program)}
                return _told(_with_leading(counted, program, id_))
            case _:
                assert_never(mode)

    @hinted(Hints(title="The next step", read_only=True, idempotent=True, bounds=True, declares=declared.NEXT))
    def workflow_next(
        self,
        *,
        workflow_id: given.WorkflowId,
        completed_steps: given.CompletedSteps,
        current_step: given.CurrentStep = None,
        context: given.Context = None,
        session_id: given.SessionId = None,
    ) -> ToolReply:
        """Gets the next step guidance based on workflow state"""
        check_session(session_id)
        program = read_published(actor=acting(), workflow_id=workflow_id)
        named = completed_steps if current_step is None else [*completed_steps, current_step]
        _check_steps(program, lookup.unknown_steps(program=program, named=named))
        ahead = lookup.find_next(program=program, completed=completed_steps, context=context or {})
        if ahead.failure is not None:
            raise PreconditionFailedError(
                ahead.failure.message,
                suggestion=_mended(ahead.failure, loop=ahead.key),
                details={"workflowId": workflow_id, "missingContext": list(ahead.failure.keys)},
            )
        said = _with_activity(step_documents.next_json(program, ahead), program, ahead, workflow_id)
        said = _with_skill(said, program, ahead, workflow_id)
        leading = "" if completed_steps else _leading(program, workflow_id)
        return _told(_beginning(said, leading) if leading and ahead.item is not None else said)

    @hinted(
        Hints(title="Check a step's output", read_only=True, idempotent=True, bounds=True, declares=declared.VALIDATE)
    )
    def workflow_validate(
        self,
        *,
        workflow_id: given.WorkflowId,
        step_id: given.StepId,
        output: given.StepOutput,
        context: given.Context = None,
        session_id: given.SessionId = None,
    ) -> ToolReply:
        """Validates step output against workflow requirements"""
        check_session(session_id)
        program = read_published(actor=acting(), workflow_id=workflow_id)
        item = lookup.find_item(program=program, step_id=step_id)
        if item is None:
            raise _no_step(program, step_id)
        issues = step_documents.issues_of(program=program, item=item, output=output, context=context or {})
        suggestions = [_ADJUST, *step_documents.expected_of(program, item)] if issues else []
        return _told({"valid": not issues, "issues": list(issues), "suggestions": suggestions})

    @hinted(
        Hints(title="Check a workflow", read_only=True, idempotent=True, bounds=True, declares=declared.VALIDATE_JSON)
    )
    def workflow_validate_json(
        self, *, workflow_json: given.WorkflowJson, session_id: given.SessionId = None
    ) -> ToolReply:
        """Validates a whole workflow of steps, given as the text of its JSON, without saving it"""
        check_session(session_id)
        source = Source(format=SourceFormat.STEPS_JSON, files={"workflow.json": workflow_json.encode()})
        checked = validate_source(actor=acting(), source=source)
        suggestions = dict.fromkeys(problem.suggestion for problem in checked.problems if problem.suggestion)
        return _told(
            {
                "valid": checked.workflow_hash is not None,
                "issues": [_issue(problem) for problem in checked.problems],
                "suggestions": list(suggestions),
            }
        )

    @hinted(
        Hints(
            title="The form of a workflow", read_only=True, idempotent=True, bounds=True, declares=declared.GET_SCHEMA
        )
    )
    def workflow_get_schema(self, *, session_id: given.SessionId = None) -> ToolReply:
        """Tells the JSON Schema that a workflow of steps is written to"""
        check_session(session_id)
        return _told({"schema": SCHEMAS[_FORM](), "version": declared.WORKFLOW_SCHEMA_VERSION})


# The version that the contract of these tools knows.
_FORM = f"steps-{declared.WORKFLOW_SCHEMA_VERSION}"


def _skill_told(program: Program, workflow_id: str, reference: str) -> ToolReply:
    """One that does not fit into a reply comes in parts."""
    asked = part_in(reference)
    read = attachment_of(actor=acting(), program=program, held=HandedOut.SKILLS, name=asked.whole)
    onward = f"Read what else they say with workflow_get: id {workflow_id}, and the name as skill."
    text = told_whole(read, how_to_read=onward)
    parts = parts_of(text) if not fits(text) else [text]
    number = asked.number_among(parts)
    said: dict[str, Any] = {"id": asked.whole, "text": parts[number - 1]}
    if len(parts) > 1:
        said |= {"part": number, "parts": len(parts)}
    if number < len(parts):
        following = {"id": workflow_id, "skill": asked.after(number, parts)}
        said["next_action"] = {"tool": "workflow_get", "parameters": following}
    return _told({"id": program.id, "name": program.title, "skill": said})


def _told(value: Mapping[str, Any]) -> ToolReply:
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2)
    return ToolReply(
        text=(text if len(text) <= MAX_REPLY_BYTES else orjson.dumps(value)).decode("utf-8"), value=dict(value)
    )


def _mended(failure: Failure, *, loop: str) -> str:
    """By what the client sends: its context, or that the loop is left where it is spent."""
    if failure.kind not in _OF_THE_CLIENT:
        return _OF_THE_AUTHOR
    names = ", ".join(dict.fromkeys(key.partition(".")[0] for key in failure.keys))
    ways = [f"context that sets {names} {failure.so_that}".strip()] if names else []
    if failure.kind is FailureKind.MAX_ITERATIONS:
        ways.append(f"{loop or failure.item!r} in completedSteps, which leaves the loop")
    return f"Call it again with {', or with '.join(ways)}."


def _shortened(program: Program, workflow_id: str) -> ToolReply:
    """Too long for a reply: its steps by name. Their prompts come one by one with workflow_next."""
    stubs = _with_leading(step_documents.workflow_stubs(program), program, workflow_id)
    return _told({**stubs, "summarized": True})


def _with_leading(told: dict[str, Any], program: Program, workflow_id: str) -> dict[str, Any]:
    """What the workflow has to be read by whoever leads it stands with what holds throughout it."""
    said = _leading(program, workflow_id)
    return {**told, "metaGuidance": [*told.get("metaGuidance", ()), said]} if said else told


def _leading(program: Program, workflow_id: str) -> str:
    names = readable_leading_skills(program)
    read = f"Read one with workflow_get: id {workflow_id}, and its name as skill."
    return f"Skills of whoever leads this workflow: {', '.join(names)}. {read}" if names else ""


def _with_activity(told: dict[str, Any], program: Program, ahead: lookup.Ahead, workflow_id: str) -> dict[str, Any]:
    """What holds throughout the activity, with each step: nothing here knows what was told before."""
    if ahead.activity is None or ahead.item is None:
        return told
    read = f"Read one with workflow_get: id {workflow_id}, and its name as skill."
    held = [render(text, variables=ahead.scope) for text in what_holds_in(program, ahead.activity, how_to_read=read)]
    if not held:
        return told
    return _beginning(told, "\n".join(["## Activity Guidance", *(f"- {text}" for text in held)]))


def _beginning(told: dict[str, Any], words: str) -> dict[str, Any]:
    """With words that go before what is to be done."""
    guidance = told["guidance"]
    return {**told, "guidance": {**guidance, "prompt": f"{words}\n\n{guidance['prompt']}"}}


def _with_skill(told: dict[str, Any], program: Program, ahead: lookup.Ahead, workflow_id: str) -> dict[str, Any]:
    """What a step says to apply can be read, and the guidance says how."""
    if not isinstance(ahead.item, Step) or not ahead.item.skill:
        return told
    guidance = told["guidance"]
    home = ahead.activity.borrowed_from if ahead.activity else ""
    name = SkillNames(program).read_as(ahead.item.skill, home=home)
    read = f"Read the skill with workflow_get: id {workflow_id}, skill {name}."
    return {**told, "guidance": {**guidance, "prompt": f"{guidance['prompt']}\n\n{read}"}}


def _summary(workflow: WorkflowValue, count: int) -> dict[str, Any]:
    room = min(_DESCRIPTION_BYTES, _DESCRIPTIONS_BYTES // count)
    return {
        "id": workflow.workflow_id,
        "name": workflow.title,
        "description": fit_bytes(workflow.description, max_bytes=room),
        "category": workflow.tags[0] if workflow.tags else _NO_CATEGORY,
        "version": workflow.version,
    }


def _check_steps(program: Program, unknown: tuple[str, ...]) -> None:
    if unknown:
        raise _no_step(program, unknown[0])


def _no_step(program: Program, step_id: str) -> StepNotFoundError:
    known = lookup.step_ids(program)
    return StepNotFoundError(
        f"The workflow {program.id} has no step {step_id!r}.",
        suggestion=did_you_mean(step_id, known) or "workflow_get names its steps.",
        details={"workflowId": program.id, "stepId": step_id},
    )


def _issue(problem: WorkflowProblem) -> str:
    return f"{problem.path}: {problem.message}" if problem.path else problem.message
