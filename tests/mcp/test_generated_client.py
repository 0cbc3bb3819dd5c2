"""A client that is generated from the OpenAPI document walks a run, in types of its own.

The generator comes from the index of packages into an environment of its own; where it cannot be had, the test is skipped aloud.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import run_cast
from tests.step_documents import step

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
DOCUMENT = Path(__file__).parents[2] / "docs" / "contracts" / "openapi.json"
PINNED = "openapi-python-client==0.29.1"
WALK = """
import json, sys
from rails.api.runs import get_runs_by_run, post_runs, post_runs_continue
from rails.client import AuthenticatedClient
from rails.models import ContinueBody, OutputBody, StartBody

url, key = sys.argv[1:3]
client = AuthenticatedClient(base_url=url, token=key)
reply = post_runs.sync(client=client, body=StartBody(workflow_id="team.sample", goal="Try it"), idempotency_key="one")
again = post_runs.sync(client=client, body=StartBody(workflow_id="team.sample", goal="Try it"), idempotency_key="one")
seen = []
while not reply.is_complete:
    seen.append(reply.pending["stepId"] if isinstance(reply.pending, dict) else reply.pending.additional_properties["stepId"])
    output = OutputBody(notes_markdown="Did what the step says.")
    body = ContinueBody(state_token=reply.state_token, ack_token=reply.ack_token, output=output)
    reply = post_runs_continue.sync(client=client, body=body)
run = get_runs_by_run.sync(client=client, run=reply.session.run_id)
nowhere = get_runs_by_run.sync(client=client, run="run_nothing")
print(json.dumps({
    "seen": seen, "status": str(run.run.status), "once": again.session.run_id == reply.session.run_id, "refused": nowhere.code
}))
"""


@pytest.fixture(scope="session")
def generated(tmp_path_factory):
    """The folder of an environment that has the generated package."""
    folder = tmp_path_factory.mktemp("generated")
    python = folder / "venv" / "bin" / "python"
    uv = [sys.executable, "-m", "uv"]
    for command in (
        [*uv, "venv", "--python", sys.executable, str(folder / "venv")],
        [*uv, "pip", "install", "--python", str(python), PINNED],
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0:
            pytest.skip(f"no client was generated: {PINNED} cannot be had. {done.stderr[-200:]}")
    command = [str(python), "-m", "openapi_python_client", "generate", "--path", str(DOCUMENT)]
    command += ["--output-path", str(folder / "rails"), "--meta", "none"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=folder)
    assert (folder / "rails" / "client.py").is_file(), done.stdout[-2000:]
    return folder


def test_a_generated_client_walks_a_run(generated, wire, desk):
    run_cast.published(desk, step("one"), step("two"))
    command = [str(generated / "venv" / "bin" / "python"), "-c", WALK, wire.url, wire.key]

    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=generated)

    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == {
        "seen": ["one", "two"],
        "status": "complete",
        "once": True,
        "refused": "NOT_FOUND",
    }
