"""The public workflows of the third generation, every activity of them entered and everything in it read, by both dialects."""

from pathlib import Path

import pytest
import time_machine
import toon_format
from django.utils import timezone

from sessions_app.models import Run
from sessions_app.selectors.integrity import verify_session
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests import run_cast
from tests.handover_play import caller, text_of
from tests.workflow_cast import NOW, publish
from workflows_app.engine.source import Origin, Strictness
from workflows_app.selectors.bundled import read_folder
from workflows_app.services.bundled import load_bundled
from workflows_app.services.importing import ImportOptions, import_files
from workrail_site.mcp.answers import MAX_REPLY_BYTES

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "orchestrator" / "workflows"
# Skills of folders that are not in the corpus, or that nobody has written.
NOWHERE = {"prism/structural-analysis", "portfolio-analysis"}
NAMES = ("meta", "work-package", "work-packages", "workflow-design")

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout"),
]


@pytest.fixture
def clock():
    with time_machine.travel(timezone.now(), tick=False) as moved:
        yield moved


@pytest.fixture
def corpus(transactional_db, clock):
    """The team, and the ids that its workflows were imported under."""
    load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())
    desk = run_cast.make_desk()
    files = {f"{name}/{path}": data for name in NAMES for path, data in read_folder(CORPUS / name).items()}
    options = ImportOptions(origin=Origin.PROJECT, strictness=Strictness.LEGACY, rename=True)
    imported = import_files(actor=desk.person, files=files, options=options, now=NOW)
    for saved in imported.workflows:
        publish(desk.person, saved.revision.workflow_id, saved.revision.number)
    return desk, {
        saved.revision.workflow_id.rpartition(".")[2]: saved.revision.workflow_id for saved in imported.workflows
    }


def read_all(call, token, activity, *, resource):
    """Everything that the activity names; the references that lead nowhere."""
    lost = []
    inner = [step for loop in activity.get("loops", ()) for step in loop.get("steps", ()) if "id" in step]
    for step in [step for step in [*activity.get("steps", ()), *inner] if "skill" in step]:
        result = call.raw("get_skill", session_token=token, step_id=step["id"])
        assert len(text_of(result).encode()) <= MAX_REPLY_BYTES
        if result.get("isError"):
            assert result["structuredContent"]["message"].startswith("Skill not found"), text_of(result)
            lost.append(step["skill"])
            continue
        for each in result["structuredContent"]["skill"].get("_resources", ()):
            call(*resource(each["index"])[:1], session_token=token, **resource(each["index"])[1])
    return lost


def entered(call, token, activity_id):
    """None where the activity is left out of the run, since an option chose its mode, and leads nowhere."""
    result = call.raw("next_activity", session_token=token, activity_id=activity_id, step_manifest=[])
    if result.get("isError"):
        assert result["structuredContent"]["code"] == "INVALID_TRANSITION", text_of(result)
        return None
    return result["structuredContent"]


def assert_in_order():
    for run in Run.objects.all():
        assert [str(finding) for finding in verify_session(run.session_id)] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_activity_is_handed_over_in_a_session(corpus, clock, name):
    desk, ids = corpus
    call = caller("session", desk.agent)
    token = call("start_session", workflow_id=ids[name])["session_token"]
    workflow = call("get_workflow", session_token=token)
    lost = []

    for stub in workflow["activities"]:
        activity = entered(call, token, stub["id"])
        if activity is None:
            continue
        token = activity["session_token"]
        lost += read_all(call, token, activity, resource=lambda index: ("get_resource", {"resource_index": index}))
        clock.shift(5)
        for pending in list(activity["pending_checkpoints"]):
            question = call("get_checkpoint", session_token=token, activity_id=activity["id"], checkpoint_id=pending)
            if not question["pending"]:
                continue
            chosen = question["options"][0]["id"]
            answer = call("respond_checkpoint", session_token=token, checkpoint_id=pending, option_id=chosen)
            token = answer["session_token"]
            if not answer["remaining_checkpoints"]:
                break

    assert set(lost) <= NOWHERE
    assert_in_order()


@pytest.mark.parametrize("name", NAMES)
def test_every_activity_is_worked_on_in_an_orchestrated_session(corpus, clock, name):
    desk, ids = corpus
    call = caller("orchestrator", desk.agent)
    token = call("start_session", workflow_id=ids[name])["session_token"]
    workflow = call("get_workflow", session_token=token)
    whole = call.text("get_workflow", session_token=token, summary=False)
    assert len(whole.encode()) <= MAX_REPLY_BYTES
    assert toon_format.loads(whole.split("\n\n---\n\n")[-1])["id"] == ids[name]
    lost = []

    for stub in workflow["activities"]:
        moved = entered(call, token, stub["id"])
        if moved is None:
            continue
        token = moved["session_token"]
        told = call.text("get_activity", session_token=token).partition("\n\n")[2]
        activity = toon_format.loads(told)
        assert activity["id"] == moved["activity_id"]
        lost += read_all(call, token, activity, resource=lambda index: ("get_resource", {"resource_id": index}))
        for checkpoint in activity.get("checkpoints", ()):
            asked = call("yield_checkpoint", session_token=token, checkpoint_id=checkpoint["id"])
            if asked["status"] == "replayed":
                continue
            handle = asked["checkpoint_handle"]
            question = call("present_checkpoint", checkpoint_handle=handle)
            clock.shift(5)
            call("respond_checkpoint", checkpoint_handle=handle, option_id=question["options"][0]["id"])
            token = call("resume_checkpoint", session_token=token)["session_token"]

    assert set(lost) <= NOWHERE
    assert_in_order()
