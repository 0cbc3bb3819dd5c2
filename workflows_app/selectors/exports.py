"""A revision as a file that can be imported elsewhere: the same revision is always the same bytes."""

from teams_app.engine.actors import Actor, Permission
from workflows_app.engine.packing import pack_zip, with_schema
from workflows_app.engine.source import SourceFormat
from workflows_app.engine.values import ExportedWorkflow
from workflows_app.models import Workflow
from workflows_app.selectors.sources import read_source


def own_workflows(*, actor: Actor) -> list[str]:
    """The ids of the team's own, and none of the library."""
    actor.require(Permission.READ_WORKFLOWS)
    rows = Workflow.objects.filter(team_id=actor.team_id).order_by("workflow_id")
    return list(rows.values_list("workflow_id", flat=True))


def export_workflow(*, actor: Actor, workflow_id: str, number: int | None = None) -> ExportedWorkflow:
    """One JSON document for a workflow of steps, a zip for a folder; of the latest revision when no number is given.

    A document whose schema is known from beside it says it itself, or it would be of another one where it is imported.
    """
    source = read_source(actor=actor, workflow_id=workflow_id, number=number)
    match source.format:
        case SourceFormat.STEPS_JSON:
            data = next(iter(source.files.values()))
            if source.schema is not None:
                data = with_schema(data, schema=source.schema)
            return ExportedWorkflow(filename=f"{source.workflow_id}.json", media_type="application/json", data=data)
        case SourceFormat.ACTIVITY_FOLDER:
            return ExportedWorkflow(
                filename=f"{source.workflow_id}.zip", media_type="application/zip", data=pack_zip(source.files)
            )
