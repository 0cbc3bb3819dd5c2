"""Workflows by REST."""

from typing import Any

from rest_framework.request import Request
from rest_framework.views import APIView

from teams_app.api.endpoints import Call, Download, operation
from teams_app.engine.counting import read_count
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.pages import Page
from workflows_app.api.answers import (
    BindingAnswer,
    BindingsAnswer,
    CheckedAnswer,
    ContractAnswer,
    ContractsAnswer,
    DiffAnswer,
    ImportedAnswer,
    PublicationAnswer,
    RevisionAnswer,
    SavedAnswer,
    WorkflowAnswer,
    WorkflowDetailAnswer,
)
from workflows_app.api.bodies import (
    AliasBody,
    BindingBody,
    BindingQuery,
    ContractBody,
    CreateBody,
    DiffQuery,
    ExportQuery,
    ForkBody,
    ImportBody,
    ImportQuery,
    ListQuery,
    PublishBody,
    ReadQuery,
    ReviseBody,
    SourceBody,
)
from workflows_app.api.held import AliasAnswer
from workflows_app.api.parsers import FormParser, GzipParser, TarParser, ZipParser, take_read_form
from workflows_app.selectors import (
    details,
    exports,
    extensions as extensions_read,
    sources,
    workflows as workflows_read,
)
from workflows_app.selectors.workflows import WorkflowFilters
from workflows_app.services import extensions, importing, publishing, workflows


class WorkflowsView(APIView):
    @operation(summary="The workflows that the team has, its own and the bundled ones")
    def get(self, *, call: Call, query: ListQuery) -> Page[WorkflowAnswer]:
        filters = WorkflowFilters(text=query.text, tags=query.tag_list(), kind=query.kind, state=query.state)
        found = workflows_read.list_workflows(actor=call.actor, filters=filters, page=call.page)
        return found.map(WorkflowAnswer.of)

    @operation(summary="Create a workflow, as a draft", status=201)
    def post(self, *, call: Call, body: CreateBody) -> SavedAnswer:
        saved = workflows.create_workflow(actor=call.actor, source=body.source(), message=body.message, now=call.now)
        return SavedAnswer.of(saved)


class ValidationView(APIView):
    @operation(summary="What saving a source would say, without saving it")
    def post(self, *, call: Call, body: SourceBody) -> CheckedAnswer:
        return CheckedAnswer.of(workflows.validate_source(actor=call.actor, source=body.source()))


class ImportView(APIView):
    parser_classes = (*APIView.parser_classes, ZipParser, TarParser, GzipParser, FormParser)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        take_read_form(request)

    @operation(summary="Import one workflow or several, as drafts, from an archive or from files", status=201)
    def post(self, *, call: Call, body: ImportBody, query: ImportQuery) -> ImportedAnswer:
        options = query.options(body)
        if body.archive is None:
            done = importing.import_files(actor=call.actor, files=body.plain_files(), options=options, now=call.now)
        else:
            done = importing.import_archive(
                actor=call.actor, data=body.archive, filename=body.filename, options=options, now=call.now
            )
        return ImportedAnswer.of(done)


class WorkflowView(APIView):
    @operation(summary="One workflow; its source, program and history when they are asked for")
    def get(self, *, call: Call, workflow: str, query: ReadQuery) -> WorkflowDetailAnswer:
        detail = details.read_workflow(
            actor=call.actor, workflow_id=workflow, number=query.revision, include=query.included()
        )
        return WorkflowDetailAnswer.of(detail)

    @operation(summary="Save a new revision on top of the latest one", headers=("If-Match",))
    def put(self, *, call: Call, workflow: str, body: ReviseBody) -> SavedAnswer:
        saved = workflows.revise_workflow(
            actor=call.actor,
            workflow_id=workflow,
            source=body.source(),
            base_revision=_base(body.base_revision, self.request.headers.get("If-Match")),
            message=body.message,
            now=call.now,
        )
        return SavedAnswer.of(saved)


class PublicationView(APIView):
    represents = WorkflowView

    @operation(summary="Publish a revision: runs start with it from now on")
    def post(self, *, call: Call, workflow: str, body: PublishBody) -> PublicationAnswer:
        done = publishing.publish_revision(
            actor=call.actor, workflow_id=workflow, number=body.revision, base=body.base, now=call.now
        )
        return PublicationAnswer.of(done)


class RetirementView(APIView):
    represents = WorkflowView

    @operation(summary="Retire a workflow: no run starts with it any more")
    def post(self, *, call: Call, workflow: str) -> WorkflowAnswer:
        retired = publishing.retire_workflow(actor=call.actor, workflow_id=workflow, now=call.now)
        return WorkflowAnswer.of(retired)


class ForkView(APIView):
    @operation(summary="Fork a workflow under an id of the team's own, as a draft", status=201)
    def post(self, *, call: Call, workflow: str, body: ForkBody) -> SavedAnswer:
        saved = workflows.fork_workflow(
            actor=call.actor,
            workflow_id=workflow,
            new_id=body.id,
            number=body.revision,
            message=body.message,
            now=call.now,
        )
        return SavedAnswer.of(saved)


class RevisionsView(APIView):
    @operation(summary="The revisions of a workflow, the newest first")
    def get(self, *, call: Call, workflow: str) -> Page[RevisionAnswer]:
        found = workflows_read.list_revisions(actor=call.actor, workflow_id=workflow, page=call.page)
        return found.map(RevisionAnswer.of)


class DiffView(APIView):
    @operation(summary="What one revision changes against another, in the source and in the program")
    def get(self, *, call: Call, workflow: str, query: DiffQuery) -> DiffAnswer:
        diff = sources.diff_revisions(
            actor=call.actor, workflow_id=workflow, number=query.revision, base=query.base or None
        )
        return DiffAnswer.of(diff)


class ExportView(APIView):
    @operation(
        summary="A revision as a file: a JSON document, or an archive of its folder",
        files=("application/json", "application/zip"),
    )
    def get(self, *, call: Call, workflow: str, query: ExportQuery) -> Download:
        done = exports.export_workflow(actor=call.actor, workflow_id=workflow, number=query.revision)
        return Download(data=done.data, media_type=done.media_type, filename=done.filename)


class AliasView(APIView):
    @operation(summary="The workflow that another name leads to")
    def get(self, *, call: Call, alias: str) -> AliasAnswer:
        return AliasAnswer.of(extensions_read.read_alias(actor=call.actor, alias=alias))

    @operation(summary="Let another name lead to the workflow")
    def put(self, *, call: Call, alias: str, body: AliasBody) -> AliasAnswer:
        workflow_id = extensions.set_alias(actor=call.actor, alias=alias, workflow_id=body.workflow, now=call.now)
        return AliasAnswer(alias=alias, workflow=workflow_id)

    @operation(summary="Remove another name of a workflow", status=204)
    def delete(self, *, call: Call, alias: str) -> None:
        extensions.remove_alias(actor=call.actor, alias=alias, now=call.now)


class ContractsView(APIView):
    @operation(summary="The output contracts that a workflow may ask for, the bundled ones and the team's own")
    def get(self, *, call: Call) -> ContractsAnswer:
        found = extensions_read.list_contracts(actor=call.actor)
        return ContractsAnswer(items=[ContractAnswer.of(contract) for contract in found])


class ContractView(APIView):
    @operation(summary="Register an output contract of the team, or put another in its place")
    def put(self, *, call: Call, contract: str, body: ContractBody) -> ContractAnswer:
        registered = extensions.register_contract(
            actor=call.actor,
            contract_id=contract,
            artifact_kind=body.artifact_kind,
            schema=body.schema,
            example=body.example,
            summary=body.summary,
            now=call.now,
        )
        return ContractAnswer.of(registered)

    @operation(summary="Remove an output contract of the team", status=204)
    def delete(self, *, call: Call, contract: str) -> None:
        extensions.remove_contract(actor=call.actor, contract_id=contract, now=call.now)


class BindingsView(APIView):
    @operation(summary="Which routines the team puts into extension slots")
    def get(self, *, call: Call) -> BindingsAnswer:
        found = extensions_read.list_bindings(actor=call.actor)
        return BindingsAnswer(items=[BindingAnswer.of(binding) for binding in found])

    @operation(summary="Put a routine into an extension slot")
    def put(self, *, call: Call, body: BindingBody) -> BindingAnswer:
        bound = extensions.bind_slot(
            actor=call.actor, workflow_id=body.workflow, slot=body.slot, routine=body.routine, now=call.now
        )
        return BindingAnswer.of(bound)

    @operation(summary="Give an extension slot back to the workflow's own routine", status=204)
    def delete(self, *, call: Call, query: BindingQuery) -> None:
        extensions.unbind_slot(actor=call.actor, workflow_id=query.workflow, slot=query.slot, now=call.now)


def _base(in_body: int | None, if_match: str | None) -> int:
    """The revision that the client built upon, said once."""
    in_header = None if if_match is None else if_match.strip().removeprefix("W/").strip('"').partition(".")[0]
    said = {str(base) for base in (in_body, in_header) if base is not None}
    text = said.pop() if len(said) == 1 else ""
    base = read_count(text)
    if base is not None:
        return base
    raise InvalidInputError(
        "The request does not say which revision it builds upon, or says two.",
        suggestion="Send baseRevision with the number of the latest revision, or the header If-Match.",
    )
