"""The official SDKs, of Python and of TypeScript, of both their versions, walk runs over HTTP and by lines.

Version 1 of each speaks 2025-11-25, version 2 speaks 2026-07-28. Questions are answered both ways: those of the user in a form where
there is one, and those of a signed-in person at their address. What npm or the index of packages cannot deliver is skipped aloud.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sessions_app.models import CheckpointRequest
from sessions_app.services.people import checkpoints
from tests import checkpoint_cast
from tests.activity_folders import activity, checkpoint, folder, step
from tests.checkpoint_cast import ABOUT, publish_folder
from tests.mcp.conftest import agent_of, environ_of_site, running_site

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
ROOT = Path(__file__).parents[2]
WALKS = Path(__file__).parent / "sdk"
PUBLIC = {
    "WORKRAIL_PUBLIC_URL": "https://rails.example.com",
    "WORKRAIL_ALLOWED_HOSTS": "127.0.0.1,rails.example.com",
    "WORKRAIL_CHECKPOINT_MIN_RESPONSE_MS": "0",
}
PACKAGES = ["@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/client@2.4.0", "zod@4"]
PYTHON_1 = "mcp>=1.30,<2"
SDKS = ["python-1", "python-2", "typescript-1", "typescript-2"]


@pytest.fixture(scope="session")
def tried(tmp_path_factory):
    """`tried(sdk)`: the command that walks with it, installed when it is first asked for."""
    made = {}

    def command(sdk):
        kind = sdk.partition("-")[0]
        if sdk == "python-2":
            return [sys.executable, str(WALKS / "walk.py")]
        if kind not in made:
            folder = tmp_path_factory.mktemp(kind)
            made[kind] = _with_npm(folder) if kind == "typescript" else _with_uv(folder)
        if isinstance(made[kind], str):
            pytest.skip(made[kind])
        return made[kind]

    return command


def _with_npm(folder):
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        return "the SDKs of TypeScript were not tried: there is no npm"
    install = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), *PACKAGES]
    try:
        done = subprocess.run(install, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return "the SDKs of TypeScript were not tried: npm has not brought them within 300 seconds"
    if done.returncode != 0:
        return f"the SDKs of TypeScript were not tried: npm cannot have them. {done.stderr[-200:]}"
    # Imports are looked for beside the script.
    return [node, str(shutil.copy(WALKS / "walk.mjs", folder))]


def _with_uv(folder):
    uv = [sys.executable, "-m", "uv"]
    python = folder / "bin" / "python"
    for step_ in (
        ["venv", "--python", sys.executable, "--clear", str(folder)],
        ["pip", "install", "--python", str(python), PYTHON_1],
    ):
        done = subprocess.run([*uv, *step_], capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0:
            return f"version 1 of the SDK of Python was not tried: it cannot be had. {done.stderr[-200:]}"
    return [str(python), str(WALKS / "walk.py")]


@pytest.fixture(scope="session")
def public_site(django_db_setup, tmp_path_factory):
    with running_site(tmp_path_factory.mktemp("sdks"), PUBLIC) as found:
        yield found


@pytest.fixture
def walk(desk, public_site, tried):
    """`walk(sdk, where, workflow)`: what happened, in its order. Whoever is asked at an address answers yes there."""
    key = agent_of(public_site, desk.owner).key

    def walking(sdk, where, workflow_id):
        plan = {"sdk": sdk, "workflowId": workflow_id, "answer": "yes", "key": key}
        if where == "http":
            plan["url"] = f"{public_site.url}/mcp/rail"
        else:
            plan |= {
                "command": sys.executable,
                "args": ["manage.py", "mcp", "--dialect", "rail"],
                "env": {**environ_of_site(), **PUBLIC, "WORKRAIL_KEY": key},
                "cwd": str(ROOT),
            }
        command = [*tried(sdk), json.dumps(plan)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                happened = list(_happening(process, desk))
                assert process.wait(timeout=60) == 0, process.stderr.read()[-2000:]
            finally:
                process.kill()
        return happened

    return walking


def _happening(process, desk):
    for line in process.stdout:
        said = json.loads(line)
        if said.get("url"):
            _answer_as_a_person(desk)
            process.stdin.write("been there\n")
            process.stdin.flush()
        yield said


def _answer_as_a_person(desk):
    row = CheckpointRequest.objects.get(checkpoint_id="shipped")
    checkpoints.answer_checkpoint(
        actor=desk.person,
        request_id=row.pk,
        option_id="yes",
        digest=row.digest,
        reason="",
        now=checkpoint_cast.SOON,
        entropy=os.urandom,
    )


def both_questions():
    """A step, a question for the user, one for a signed-in person, and a step."""
    return folder(
        activity(
            "plan",
            checkpoints=[
                checkpoint("agreed", message="Is the plan right?", options=OPTIONS),
                checkpoint("shipped", message="Ship it?", options=OPTIONS, human=True),
            ],
            steps=[
                step("draft"),
                {"id": "ask", "name": "Ask", "checkpoint": "agreed"},
                {"id": "sign", "name": "Sign", "checkpoint": "shipped"},
                step("last"),
            ],
        ),
        about=ABOUT,
    )


OPTIONS = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]


@pytest.mark.parametrize("where", ["http", "lines"])
@pytest.mark.parametrize("sdk", SDKS)
def test_a_run_is_walked_to_its_end_and_its_questions_reach_those_they_are_for(walk, desk, sdk, where):
    """The user's stands in a form where the revision has one within a call; else the agent passes the answer on."""
    publish_folder(desk, both_questions())

    tools, *asked, end = walk(sdk, where, "team.plan")

    ways = ["form", "url"] if sdk.endswith("2") else ["error"]
    assert {"start_workflow", "continue_workflow"} <= set(tools["tools"])
    assert [each["asked"] for each in asked] == ways
    assert asked[-1]["url"].startswith("https://rails.example.com/studio/")
    assert end["complete"]
    assert end["seen"][0].endswith("draft")
    rows = CheckpointRequest.objects.order_by("presented_at").values_list("checkpoint_id", "answered_as", "door")
    door = "client_form" if sdk.endswith("2") else "mcp"
    assert list(rows) == [("agreed", "relayed", door), ("shipped", "human", "rest")]
