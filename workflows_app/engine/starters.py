"""What a new workflow begins with: the smallest one of its format that runs, for its author to change."""

import json
from collections.abc import Mapping

from workflows_app.engine.source import SourceFormat

_STEP = "Say what is to be done, and what the notes should tell of it."


def starter_files(*, source_format: SourceFormat, workflow_id: str, title: str) -> Mapping[str, bytes]:
    match source_format:
        case SourceFormat.STEPS_JSON:
            return {"workflow.json": _document(workflow_id, title)}
        case SourceFormat.ACTIVITY_FOLDER:
            return _folder(workflow_id, title)


def _document(workflow_id: str, title: str) -> bytes:
    document = {
        "id": workflow_id,
        "name": title,
        "version": "0.1.0",
        "description": "Say in one sentence what it is for, and when to use it.",
        "steps": [
            {"id": "first", "title": "The first step", "prompt": _STEP},
            {"id": "second", "title": "The second step", "prompt": _STEP},
        ],
    }
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def _folder(workflow_id: str, title: str) -> Mapping[str, bytes]:
    about = (
        f"id: {workflow_id}\nversion: 0.1.0\ntitle: {json.dumps(title, ensure_ascii=False)}\n"
        "description: Say in one sentence what it is for, and when to use it.\ninitialActivity: begin\n"
    )
    activity = (
        "id: begin\nversion: 0.1.0\nname: Begin\ndescription: What this activity is for.\n"
        f"steps:\n  - id: first\n    name: The first step\n    description: {_STEP}\n"
    )
    return {"workflow.yaml": about.encode(), "activities/01-begin.yaml": activity.encode()}
