"""What agents and a person of a storm work with: keys, a person's token that answers, and workflows that are published.

Run as `python -m workrail_site.storms.stage KEY AGENTS` on the storm's own database; the last line that it prints is the stage.
"""

import json
import sys
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import django

PREFIX = "stage: "
STEPS, ACTIVITIES = "storm.steps", "storm.activities"
THERE, BACK = "there", "back"
WORK = ("look", "mend")
APPROVED_AT = 4
_STEPS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class StormStage:
    keys: tuple[str, ...]
    token: str


def read_stage(text: str) -> StormStage:
    line = next(line for line in reversed(text.splitlines()) if line.startswith(PREFIX))
    told = json.loads(line.removeprefix(PREFIX))
    return StormStage(keys=tuple(told["keys"]), token=told["token"])


def steps_document() -> dict[str, Any]:
    """Ten steps, at one of which a person approves."""
    steps = [{"id": f"step-{number}", "title": f"Step {number}", "prompt": "Do it."} for number in range(_STEPS)]
    steps[APPROVED_AT] |= {"requireConfirmation": {"kind": "human_approval"}}  # type: ignore[dict-item]
    about = {"id": STEPS, "name": "Steps", "description": "A workflow of a storm.", "version": "1.0.0"}
    return {**about, "steps": steps}


def activities_files() -> dict[str, bytes]:
    """Two activities that lead to each other. The files are JSON, which YAML holds."""
    about = {"id": ACTIVITIES, "version": "1.0.0", "title": "To and fro", "initialActivity": THERE}
    files: dict[str, dict[str, Any]] = {"workflow.yaml": about}
    for here in (THERE, BACK):
        files[f"activities/01-{here}.yaml" if here == THERE else f"activities/02-{here}.yaml"] = {
            "id": here,
            "version": "1.0.0",
            "name": here.title(),
            "steps": [{"id": step, "name": step.title()} for step in WORK],
            "transitions": [{"to": other_of(here), "isDefault": True}],
        }
    return {path: json.dumps(document).encode() for path, document in files.items()}


def other_of(activity_id: str) -> str:
    """The first at the beginning."""
    return BACK if activity_id == THERE else THERE


def main(key: str, agents: int) -> None:
    django.setup()
    print(f"{PREFIX}{json.dumps(asdict(_set(key, agents)))}")


def _set(key: str, agents: int) -> StormStage:
    """Imports wait for Django."""
    from django.contrib.auth import get_user_model  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from teams_app.engine.actors import ActorKind, Door, Role, TokenScope  # noqa: PLC0415
    from teams_app.engine.ids import Prefix, to_text  # noqa: PLC0415
    from teams_app.services.keys import authenticate_key, issue_key  # noqa: PLC0415
    from teams_app.services.teams import change_team  # noqa: PLC0415
    from teams_app.services.tokens import issue_token  # noqa: PLC0415

    now = timezone.now()
    first = authenticate_key(text=key, door=Door.CLI, now=now)
    person = to_text(Prefix.PERSON, get_user_model().objects.get().pk)
    owner = replace(first, kind=ActorKind.PERSON, id=person, role=Role.OWNER, scopes=frozenset())
    _publish(owner, now)
    change_team(actor=owner, tokens_answer_human=True, now=now)
    keys = [
        issue_key(actor=owner, name=f"agent {number}", scopes=first.scopes, expires_at=None, now=now).text
        for number in range(agents)
    ]
    answers = frozenset({TokenScope.ANSWER})
    until = now + timedelta(days=7)
    token = issue_token(actor=owner, name="storm", scopes=answers, expires_at=until, now=now)
    return StormStage(keys=tuple(keys), token=token.text)


def _publish(owner: Any, now: datetime) -> None:
    from workflows_app.engine.source import Source, SourceFormat  # noqa: PLC0415
    from workflows_app.services.publishing import publish_revision  # noqa: PLC0415
    from workflows_app.services.workflows import create_workflow  # noqa: PLC0415

    steps = Source(format=SourceFormat.STEPS_JSON, files={"steps.json": json.dumps(steps_document()).encode()})
    folder = Source(format=SourceFormat.ACTIVITY_FOLDER, files=activities_files())
    for source in (steps, folder):
        saved = create_workflow(actor=owner, source=source, message="", now=now)
        publish_revision(
            actor=owner, workflow_id=saved.workflow.workflow_id, number=saved.revision.number, base=None, now=now
        )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
